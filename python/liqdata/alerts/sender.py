"""Where alerts go: :class:`Sender`."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from liqdata.calls.traceback import public_methods
from liqdata.errors import BadQuery

from .messages import format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Sender"]


@public_methods
class Sender:
    """A receiver of alerts: a webhook, a program or a function.

    Text of an exchange or a service is never executed: the program runs without a shell.

    Parameters
    ----------
    webhook : str, optional
        An ``http`` or ``https`` address to which an alert is posted as JSON, with exact amounts as text, or as a
        message of the service at its host. It is posted again after a failure that may pass, until it is ten minutes
        old.
    command : str or sequence of str, optional
        A program with its arguments. A string is split like in a shell. The program gets the alert as JSON on its
        standard input, and ``LIQDATA_COIN``, ``LIQDATA_SIDE``, ``LIQDATA_USD`` and so on in its environment. If it
        fails, it is run again like a webhook.
    function : callable, optional
        A function that gets the alert as a dict. It is called in a thread of its own.
    format : {"json", "telegram", "discord", "slack"}, optional
        Of a webhook: the body to post; by default that of the service at the host of the address, or JSON.
    secret : bytes, optional
        Of a webhook: key of a signature, which is sent in ``X-Liqdata-Signature``: ``sha256=`` and the HMAC with
        SHA-256, in hex, of the header ``X-Liqdata-Timestamp``, a full stop and the body.

    Raises
    ------
    BadQuery
        If not exactly one receiver is given, and for one that is not allowed. No message has the address of a webhook,
        which may contain a secret.

    Examples
    --------
    >>> from liqdata import alerts
    >>> alerts.Sender(command="cat")
    Sender(command cat)
    """

    def __init__(
        self,
        *,
        webhook: str | None = None,
        command: str | Sequence[str] | None = None,
        function: Callable[[dict[str, Any]], object] | None = None,
        format: str | None = None,
        secret: bytes | None = None,
    ) -> None:
        receivers = {"webhook": webhook, "command": command, "function": function}
        given = [name for name, value in receivers.items() if value is not None]
        if len(given) != 1:
            msg = f"sender: {' and '.join(given) or 'no receiver'} given; allowed: one of {', '.join(receivers)}"
            raise BadQuery(msg, parameter=given[1] if given else "webhook")
        for name, value in (("format", format), ("secret", secret)):
            if value is not None and webhook is None:
                msg = f"{name}: only for a webhook; allowed: with webhook=…"
                raise BadQuery(msg, parameter=name)
        if webhook is not None:
            format = format_of(_checked_webhook(webhook), format)[0].name
        if secret is not None and not (isinstance(secret, bytes) and secret):
            msg = "secret: the value is not a key; allowed: bytes, at least one"
            raise BadQuery(msg, parameter="secret")
        if function is not None and not callable(function):
            msg = f"function: a {type(function).__name__} is not a function; allowed: a function of one alert"
            raise BadQuery(msg, parameter="function")
        self.webhook, self.format, self.secret = webhook, format, secret
        self.command = None if command is None else _program(command)
        self.function = function

    def __repr__(self) -> str:
        if self.webhook is not None:
            return f"Sender(webhook of {urlsplit(self.webhook).hostname}, {self.format})"
        if self.command is not None:
            return f"Sender(command {self.command[0]})"
        return f"Sender(function {getattr(self.function, '__name__', self.function)})"


def _checked_webhook(webhook: Any) -> str:
    """Check a webhook address; the error does not show it."""
    try:
        parts = urlsplit(webhook)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
        valid = valid and parts.port != 0 and webhook.isascii() and webhook.isprintable() and " " not in webhook
    except (ValueError, AttributeError, TypeError):
        valid = False
    if valid:
        return str(webhook)
    msg = "webhook: the value is not a valid address; allowed: an http or https address without user name and spaces"
    raise BadQuery(msg, parameter="webhook")


def _program(command: str | Sequence[str]) -> list[str]:
    """Split a command into words and check that the program exists."""
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        msg = f"command: {command!r} cannot be split ({error}); allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command") from None
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words):
        msg = f"command: {command!r} is not allowed; allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command")
    if shutil.which(words[0]) is None:
        msg = f"command: {words[0]!r} is not an executable program; allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command")
    return words
