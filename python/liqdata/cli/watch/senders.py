"""Sends alerts of ``liqdata watch`` to a webhook and to a command.

Each receiver (webhook or command) has its own thread and queue, so the two do not wait for each other. Every alert that
was not delivered is reported.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

_QUEUE_LENGTH = 1000  # maximum number of alerts in a queue
_TIMEOUT = 10.0  # maximum time of one delivery, in seconds
_SUCCESS = range(200, 300)

Event = dict[str, Any]


class Alerts:
    """Passes alerts on to the webhook and the command, if they are given."""

    def __init__(self, webhook: str | None, command: list[str] | None, say: Callable[[str], None]) -> None:
        self._senders: list[_Sender] = []
        if webhook is not None:
            self._senders.append(_Sender("webhook", _poster(webhook), say))
        if command is not None:
            self._senders.append(_Sender("command", _runner(command), say))

    def put(self, event: Event) -> None:
        """Queue an event for each receiver, without waiting."""
        for sender in self._senders:
            sender.put(event)

    def finish(self) -> None:
        """Deliver all queued alerts, then end the threads."""
        for sender in self._senders:
            sender.finish()

    def abort(self) -> None:
        """Drop all queued alerts, and report their number."""
        for sender in self._senders:
            sender.abort()


class _Sender:
    """Delivers alerts to one receiver from a daemon thread, in order.

    Parameters
    ----------
    receiver : str
        Name of the receiver in messages: ``webhook`` or ``command``.
    deliver : callable
        Delivers one event, which it gets as a dict and as JSON. It returns within 10 seconds.
    say : callable
        Called with a message about each alert that was not delivered.
    """

    def __init__(self, receiver: str, deliver: Callable[[Event, bytes], None], say: Callable[[str], None]) -> None:
        self._receiver, self._deliver, self._say = receiver, deliver, say
        self._waiting: queue.Queue[Event | None] = queue.Queue(_QUEUE_LENGTH)
        self._busy = False  # whether a delivery is under way
        self._thread = threading.Thread(target=self._run, name=f"liqdata-watch-{receiver}", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queue an event; it is dropped with a message if the queue is full."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._say(f"alert for {event['coin']} not sent: {_QUEUE_LENGTH} alerts wait for the {self._receiver}")

    def finish(self) -> None:
        """Deliver all queued alerts, then end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def abort(self) -> None:
        """Drop all queued alerts, and report their number."""
        count = self._waiting.qsize() + self._busy
        if count:
            self._say(f"{count} alerts may not have reached the {self._receiver}: the watch ended first")

    def _run(self) -> None:
        while (event := self._waiting.get()) is not None:
            text = json.dumps(event, default=str, allow_nan=False).encode()
            self._busy = True
            try:
                self._deliver(event, text)
            except (OSError, http.client.HTTPException, ValueError, subprocess.SubprocessError) as error:
                self._say(f"alert for {event['coin']}: the {self._receiver} failed: {error}")
            self._busy = False


def _poster(webhook: str) -> Callable[[Event, bytes], None]:
    """Return a function that posts an event as JSON to ``webhook``.

    A redirect counts as a failure, so no other host receives the event.
    """

    def deliver(_: Event, text: bytes) -> None:
        connection = _connection(webhook)
        outcome: list[int | Exception] = []

        def exchange() -> None:
            try:
                outcome.append(_status(connection, webhook, text))
            except (OSError, http.client.HTTPException, ValueError) as error:
                outcome.append(error)

        # A socket timeout limits only a single read, and a name lookup has no timeout. Joining the thread with a
        # timeout limits the whole delivery.
        thread = threading.Thread(target=exchange, name="liqdata-watch-post", daemon=True)
        thread.start()
        thread.join(_TIMEOUT)
        if not outcome:
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
            msg = f"{connection.host} took longer than {_TIMEOUT:.0f} s"
            raise ValueError(msg)
        status = outcome[0]
        if isinstance(status, Exception):
            raise status
        if status not in _SUCCESS:
            msg = f"{connection.host} answered {status}"
            raise ValueError(msg)

    return deliver


def _connection(webhook: str) -> http.client.HTTPConnection:
    parts = urlsplit(webhook)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=_TIMEOUT)


def _status(connection: http.client.HTTPConnection, webhook: str, text: bytes) -> int:
    parts = urlsplit(webhook)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", path, text, {"Content-Type": "application/json", "User-Agent": "liqdata"})
        return connection.getresponse().status
    finally:
        connection.close()


def _runner(command: list[str]) -> Callable[[Event, bytes], None]:
    """Return a function that runs ``command`` with an event: JSON on standard input, and environment variables."""

    def deliver(event: Event, text: bytes) -> None:
        # An environment variable cannot contain NUL.
        cells = {f"LIQDATA_{name.upper()}": str(cell) for name, cell in event.items() if cell is not None}
        environment = os.environ | {name: text.replace("\0", "") for name, text in cells.items()}
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as running:  # noqa: S603 - there is no shell
            try:
                running.communicate(text, timeout=_TIMEOUT)
            except subprocess.TimeoutExpired:
                running.kill()
                msg = f"{command[0]} took longer than {_TIMEOUT:.0f} s and was ended"
                raise ValueError(msg) from None
        if running.returncode:
            msg = f"{command[0]} ended with {running.returncode}"
            raise ValueError(msg)

    return deliver
