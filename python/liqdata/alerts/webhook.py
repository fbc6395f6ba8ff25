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

from .failure import Again
from .messages import format_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .messages import Format

__all__ = ["poster"]

_TIMEOUT = 10.0  # maximum time of one delivery, in seconds
_SUCCESS = range(200, 300)
_REFUSED = 429
_TRANSIENT = {408, 425, _REFUSED, *range(500, 600)}
_LONGEST_WAIT = 120.0  # maximum time to wait if a service asks for it, in seconds

Event = dict[str, Any]


def poster(webhook: str, name: str | None, secret: bytes | None) -> tuple[Format, Callable[[list[Event]], None]]:
    """The format of a webhook, and a function that posts events to it.

    The function raises :class:`Again` without an answer, and for statuses that say that another attempt may succeed. A
    redirect counts as a failure, so no other host receives the event.
    """
    format_, address, chat = format_of(webhook, name)

    def deliver(events: list[Event]) -> None:
        body = format_.body(events, chat)
        try:
            status, wait = _post(address, body, _signed(body, secret))
        except ssl.SSLCertVerificationError as error:
            msg = (
                f"the certificate of {urlsplit(address).hostname} is not trusted: {error.verify_message} (behind a "
                "proxy that inspects TLS, set SSL_CERT_FILE to a PEM file with the proxy's root certificate)"
            )
            raise Again(msg) from None
        except (OSError, http.client.HTTPException) as error:
            raise Again(str(error) or type(error).__name__) from None
        if status in _SUCCESS:
            return
        msg = f"{urlsplit(address).hostname} answered {status}"
        if status in _TRANSIENT:
            raise Again(msg, wait)
        raise ValueError(msg)

    return format_, deliver


def _signed(body: bytes, secret: bytes | None) -> dict[str, str]:
    """The headers of a signature: HMAC with SHA-256 of the time, a full stop and the body."""
    if secret is None:
        return {}
    now = str(int(time.time()))
    digest = hmac.new(secret, f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Liqdata-Timestamp": now, "X-Liqdata-Signature": f"sha256={digest}"}


def _post(address: str, body: bytes, headers: dict[str, str]) -> tuple[int, float | None]:
    """Post a body, and return the status and the seconds that the service asks to wait."""
    connection = _connection(address)
    outcome: list[tuple[int, float | None] | Exception] = []

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
        raise Again(msg)
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
) -> tuple[int, float | None]:
    parts = urlsplit(address)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"Content-Type": "application/json", "User-Agent": "liqdata", **headers}
    try:
        connection.request("POST", path, body, sent)
        reply = connection.getresponse()
        return reply.status, _wait_of(reply) if reply.status in _TRANSIENT else None
    finally:
        connection.close()


def _wait_of(reply: http.client.HTTPResponse) -> float | None:
    """The seconds that a service asks to wait: in a header (Discord, Slack) or in the body (Telegram)."""
    asked: Any = reply.headers["Retry-After"]
    if asked is None and reply.status == _REFUSED:
        # A body may be anything: no JSON, another shape, or nested so deeply that it cannot be parsed.
        with suppress(ValueError, TypeError, KeyError, RecursionError, OSError, http.client.HTTPException):
            asked = json.loads(reply.read(65_536))["parameters"]["retry_after"]
    if asked is None:
        return None
    with suppress(ValueError, TypeError, OverflowError):
        wait = float(asked)
        if math.isfinite(wait):
            return min(max(1.0, wait), _LONGEST_WAIT)
    return None
