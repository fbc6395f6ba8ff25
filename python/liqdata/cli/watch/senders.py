"""Sends alerts of ``liqdata watch`` to a webhook and to a command.

Each receiver (webhook or command) has its own thread and queue, so the two do not wait for each other. Every alert that
was not delivered is reported. Messages to Telegram, Discord and Slack keep the rate limits of these services: alerts
that wait are joined to one message, and a refused message (429) is sent again after the time that the service names.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import queue
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from .messages import FORMATS, format_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .messages import Format

_QUEUE_LENGTH = 1000  # maximum number of alerts in a queue
_TIMEOUT = 10.0  # maximum time of one delivery, in seconds
_SUCCESS = range(200, 300)
_REFUSED = 429
_ATTEMPTS = 5  # maximum number of times that a message is sent if the service refuses it for its rate
_LONGEST_WAIT = 120.0  # maximum time to wait before a message is sent again, in seconds

Event = dict[str, Any]


class Alerts:
    """Passes alerts on to the webhook and the command, if they are given.

    Parameters
    ----------
    webhook : Webhook, optional
        Where alerts are posted.
    command : list of str, optional
        Program with its arguments.
    say : callable
        Called with a message about each alert that was not delivered.
    """

    def __init__(self, webhook: Webhook | None, command: list[str] | None, say: Callable[[str], None]) -> None:
        self._senders: list[_Sender] = []
        if webhook is not None:
            stopped = threading.Event()
            format_, address, chat = format_of(webhook.address, webhook.format)
            poster = _poster(address, format_, chat, webhook.secret, stopped)
            self._senders.append(_Sender("webhook", poster, say, format_, stopped))
        if command is not None:
            runner = _runner(command)
            self._senders.append(_Sender("command", lambda events: runner(events[0]), say))

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


class Webhook(NamedTuple):
    """Where alerts are posted.

    Parameters
    ----------
    address : str
        A checked address.
    format : str, optional
        Name of the format of the body.
    secret : bytes, optional
        Key of the signature.
    """

    address: str
    format: str | None = None
    secret: bytes | None = None


class _Sender:
    """Delivers alerts to one receiver from a daemon thread, in order.

    Parameters
    ----------
    receiver : str
        Name of the receiver in messages: ``webhook`` or ``command``.
    deliver : callable
        Delivers events: one, or as many as its format allows in a message.
    say : callable
        Called with a message about each alert that was not delivered.
    format_ : Format
        How many events are delivered together, and how often.
    stopped : threading.Event, optional
        Set to end a delivery that waits.
    """

    def __init__(
        self,
        receiver: str,
        deliver: Callable[[list[Event]], None],
        say: Callable[[str], None],
        format_: Format = FORMATS["json"],
        stopped: threading.Event | None = None,
    ) -> None:
        self._receiver, self._deliver, self._say, self._format = receiver, deliver, say, format_
        self._waiting: queue.Queue[Event | None] = queue.Queue(_QUEUE_LENGTH)
        self._busy = 0  # the number of alerts that are being delivered
        self._stopped = threading.Event() if stopped is None else stopped
        self._thread = threading.Thread(target=self._run, name=f"liqdata-watch-{receiver}", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queue an event; it is dropped with a message if the queue is full."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._say(f"alert for {_subject(event)} not sent: {_QUEUE_LENGTH} alerts wait for the {self._receiver}")

    def finish(self) -> None:
        """Deliver all queued alerts, then end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def abort(self) -> None:
        """Drop all queued alerts, and report their number."""
        count = self._waiting.qsize() + self._busy
        self._stopped.set()
        if count:
            self._say(f"{count} alerts may not have reached the {self._receiver}: the watch ended first")

    def _run(self) -> None:
        event, sent = self._waiting.get(), -self._format.pause
        while event is not None and not self._stopped.is_set():
            # Its place in the queue is free, so that it counts as busy from here on.
            self._busy = 1
            self._stopped.wait(max(0.0, sent + self._format.pause - time.monotonic()))
            if self._stopped.is_set():
                return
            events, event = self._together(event)
            self._busy = len(events)
            try:
                self._deliver(events)
            except (OSError, http.client.HTTPException, ValueError, subprocess.SubprocessError) as error:
                for failed in events:
                    self._say(f"alert for {_subject(failed)}: the {self._receiver} failed: {error}")
            self._busy = 0
            sent = time.monotonic()
            if event is _NEXT:
                event = self._waiting.get()

    def _together(self, event: Event) -> tuple[list[Event], Event | None]:
        """The events of the next message, and the event after them: ``None`` ends the thread."""
        events, length = [event], len(words_of(event)) if self._format.most else 0
        while self._format.most:
            try:
                another = self._waiting.get_nowait()
            except queue.Empty:
                break
            if another is None:
                return events, None
            length += 1 + 2 * len(words_of(another))  # an escaped character takes two
            if length > self._format.most:
                return events, another
            events.append(another)
        return events, _NEXT


_NEXT: Event = {}
"""Stands for the next event of the queue."""


def _subject(event: Event) -> str:
    """What an alert is about."""
    return str(event.get("coin") or event.get("symbol") or event.get("exchange") or "the source")


def _poster(
    address: str, format_: Format, chat: str | None, secret: bytes | None, stopped: threading.Event
) -> Callable[[list[Event]], None]:
    """Return a function that posts events to ``address``.

    A redirect counts as a failure, so no other host receives the event.
    """

    def deliver(events: list[Event]) -> None:
        body, status = format_.body(events, chat), _REFUSED
        for attempt in range(_ATTEMPTS):
            status, wait = _post(address, body, _signed(body, secret))
            if status in _SUCCESS:
                return
            if status != _REFUSED or attempt == _ATTEMPTS - 1 or stopped.wait(min(wait, _LONGEST_WAIT)):
                break
        msg = f"{urlsplit(address).hostname} answered {status}"
        raise ValueError(msg)

    return deliver


def _signed(body: bytes, secret: bytes | None) -> dict[str, str]:
    """The headers of a signature: HMAC with SHA-256 of the time, a full stop and the body."""
    if secret is None:
        return {}
    now = str(int(time.time()))
    digest = hmac.new(secret, f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Liqdata-Timestamp": now, "X-Liqdata-Signature": f"sha256={digest}"}


def _post(address: str, body: bytes, headers: dict[str, str]) -> tuple[int, float]:
    """Post a body, and return the status and the seconds to wait before the next attempt."""
    connection = _connection(address)
    outcome: list[tuple[int, float] | Exception] = []

    def exchange() -> None:
        try:
            outcome.append(_status(connection, address, body, headers))
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
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _connection(webhook: str) -> http.client.HTTPConnection:
    parts = urlsplit(webhook)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=_TIMEOUT)


def _status(
    connection: http.client.HTTPConnection, address: str, body: bytes, headers: dict[str, str]
) -> tuple[int, float]:
    parts = urlsplit(address)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"Content-Type": "application/json", "User-Agent": "liqdata", **headers}
    try:
        connection.request("POST", path, body, sent)
        reply = connection.getresponse()
        return reply.status, _wait_of(reply) if reply.status == _REFUSED else 0.0
    finally:
        connection.close()


def _wait_of(reply: http.client.HTTPResponse) -> float:
    """The seconds that a service asks to wait: in a header (Discord, Slack) or in the body (Telegram)."""
    with suppress(ValueError, TypeError):
        return max(0.0, float(reply.headers["Retry-After"]))
    with suppress(ValueError, TypeError, KeyError):
        return max(0.0, float(json.loads(reply.read(65_536))["parameters"]["retry_after"]))
    return 1.0


def _runner(command: list[str]) -> Callable[[Event], None]:
    """Return a function that runs ``command`` with an event: JSON on standard input, and environment variables."""

    def deliver(event: Event) -> None:
        text = json.dumps(event, default=str, allow_nan=False).encode()
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
