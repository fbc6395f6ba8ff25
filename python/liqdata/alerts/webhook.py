"""Posts alerts to a webhook."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import math
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .messages import format_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .messages import Format

__all__ = ["poster"]

_TIMEOUT = 10.0  # maximum time of one delivery, in seconds
_SUCCESS = range(200, 300)
_REFUSED = 429
_ATTEMPTS = 5  # maximum number of times that a message is sent if the service refuses it for its rate
_LONGEST_WAIT = 120.0  # maximum time to wait before a message is sent again, in seconds

Event = dict[str, Any]


def poster(
    webhook: str, name: str | None, secret: bytes | None, stopped: threading.Event
) -> tuple[Format, Callable[[list[Event]], None]]:
    """The format of a webhook, and a function that posts events to it.

    A message that the service refuses for its rate (429) is sent again after the time that the service names. A
    redirect counts as a failure, so no other host receives the event.
    """
    format_, address, chat = format_of(webhook, name)

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

    return format_, deliver


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
        except Exception as error:  # noqa: BLE001 - whatever a receiver answers is a failure of this delivery
            outcome.append(error)

    # A socket timeout limits only a single read, and a name lookup has no timeout. Joining the thread with a
    # timeout limits the whole delivery.
    thread = threading.Thread(target=exchange, name="liqdata-alerts-post", daemon=True)
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
    stated = _seconds(reply.headers["Retry-After"])
    if stated is None:
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            stated = _seconds(json.loads(reply.read(65_536))["parameters"]["retry_after"])
    return 1.0 if stated is None else stated


def _seconds(value: Any) -> float | None:
    """A finite number from 0; ``None`` for anything else."""
    try:
        found = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return found if 0 <= found < math.inf else None
