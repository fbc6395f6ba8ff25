"""The asyncio bridge: awaits calls of the Rust core on the running event loop.

The Rust core queues finished calls and writes one byte to a socket pair, which wakes the event loop. The loop then
completes the futures of these calls on its own thread, so no other thread uses the interpreter.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import weakref
from collections.abc import Callable
from typing import Any

from liqdata import _core
from liqdata.errors import WrongState

Begin = Callable[["_core.Bridge | None", int], _core.Call]


class _Link:
    """The bridge of one event loop, with the futures that wait for calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.pid = os.getpid()
        self.bridge = _core.Bridge()
        self.waiting: dict[int, asyncio.Future[None]] = {}
        self.tokens = itertools.count(1)
        loop.add_reader(self.bridge.fileno(), self.settle)

    def settle(self) -> None:
        for token in self.bridge.drain():
            future = self.waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


# The loop references its link until the loop is closed. A strong reference here would leak the loop, the link and two
# file descriptors, because the link has futures of abandoned calls, which reference the loop.
_links: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Link]] = weakref.WeakKeyDictionary()


def _link(loop: asyncio.AbstractEventLoop) -> _Link | None:
    known = _links.get(loop)
    link = None if known is None else known()
    if link is None or link.pid != os.getpid():
        try:
            link = _Link(loop)
        except NotImplementedError:
            # This loop cannot watch file descriptors (the default on Windows), so the caller waits on a thread.
            return None
        _links[loop] = weakref.ref(link)
    return link


async def answer(begin: Begin) -> Any:
    """Await one call of the Rust core; cancelling the await cancels the call."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        msg = (
            "no asyncio event loop is running: AsyncClient needs asyncio; in trio and elsewhere call a Client on a "
            "thread, as in await trio.to_thread.run_sync(client.coins)"
        )
        raise WrongState(msg) from None
    link = _link(loop)
    if link is None:
        call = begin(None, 0)
        try:
            return await asyncio.to_thread(call.wait)
        except asyncio.CancelledError:
            call.cancel()
            raise
    token = next(link.tokens)
    future = link.waiting[token] = loop.create_future()
    try:
        call = begin(link.bridge, token)
        try:
            await future
        except asyncio.CancelledError:
            call.cancel()
            raise
    finally:
        link.waiting.pop(token, None)
    return call.wait()
