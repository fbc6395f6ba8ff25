"""Answers the messages of agents that ``/mcp`` of a server receives, on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings

from .server import agent_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from liqdata import Market, _core

__all__ = ["answer_until_end"]

_ANY = (b"accept", b"application/json, text/event-stream")


async def answer_until_end(numbers: Iterable[int], bridge: _core.Bridge, agents: _core.Agents, market: Market) -> None:
    """Answer messages until the server ends.

    Parameters
    ----------
    numbers : iterable of int
        The numbers that were announced before.
    bridge : _core.Bridge
        Announces the numbers of messages: when one arrives, and when its client has gone or has its answer. 0 is the
        end.
    agents : _core.Agents
        The messages.
    market : Market
        The market of the server.
    """
    server = agent_server(market, open_world=False)
    # The server has checked host, origin and token.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(json_response=True, stateless_http=True, transport_security=unchecked)
    handle = server.session_manager.handle_request
    # A thread goes on after its client has gone, so threads are not more than computations may run.
    anyio.to_thread.current_default_thread_limiter().total_tokens = os.cpu_count() or 1
    loop, announced = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(bridge.fileno(), announced.set)
    running: dict[int, anyio.CancelScope] = {}

    async def answer(number: int, message: _core.AgentMessage) -> None:
        with running[number]:
            try:
                await _answer(handle, message)
            except Exception:
                # The server answers with an internal error once the message is released.
                logging.getLogger("liqdata.server").exception("a message of an agent could not be answered")
            finally:
                message.release()
                running.pop(number, None)

    try:
        async with server.session_manager.run(), anyio.create_task_group() as tasks:
            while True:
                for number in numbers:
                    if number in running:
                        running[number].cancel()
                    elif (message := agents.take(number)) is not None:
                        running[number] = anyio.CancelScope()
                        tasks.start_soon(answer, number, message)
                if 0 in numbers:
                    tasks.cancel_scope.cancel()
                    return
                await announced.wait()
                announced.clear()
                numbers = bridge.drain()
    finally:
        loop.remove_reader(bridge.fileno())


async def _answer(handle: Any, message: _core.AgentMessage) -> None:
    """Pass a message to the SDK as a request of ASGI."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [*message.headers, _ANY],
        "client": None,
        "server": None,
    }
    received = False
    status, kind, body = 500, None, b""

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:  # a client that goes away cancels this task
            await anyio.sleep_forever()
        received = True
        return {"type": "http.request", "body": message.body, "more_body": False}

    async def send(event: dict[str, Any]) -> None:
        nonlocal status, kind, body
        if event["type"] == "http.response.start":
            status = event["status"]
            kind = dict(event["headers"]).get(b"content-type", b"").decode("latin-1") or None
            return
        body += event.get("body", b"")
        if not event.get("more_body"):
            message.answer(status, kind if body else None, body)

    await handle(scope, receive, send)
