"""Options of a client, checked when it is made.

They can be pickled unless they contain secrets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from liqdata import _core
from liqdata.calls.arguments import choice, datetime_of, number
from liqdata.errors import BadQuery

from .convert import Origin

if TYPE_CHECKING:
    from liqdata.types import RowDecimals


class Options:
    """The checked options of a client, with the connection pool that they configure."""

    def __init__(
        self,
        base_url: str | None,
        *,
        timeout: float,
        connect_timeout: float,
        retries: int,
        rate_limit: float | None,
        max_body: int,
        decimals: str,
        headers: Mapping[str, str] | None,
        proxy: str | None,
        token: str | None,
    ) -> None:
        if base_url is None:
            base_url = os.environ.get("LIQDATA_BASE_URL") or None
        if base_url is None:
            msg = (
                "base_url: none is given and $LIQDATA_BASE_URL is not set; allowed: the address of a service, such as "
                '"https://example.org" (without one, liqdata.demo() creates a simulated market and liqdata.Market(...) '
                "answers from your own tables)"
            )
            raise BadQuery(msg, parameter="base_url")
        if not isinstance(base_url, str):
            msg = f"base_url: {base_url!r} is not text; allowed: an http or https address"
            raise BadQuery(msg, parameter="base_url")
        if proxy is not None and not isinstance(proxy, str):
            msg = f"proxy: a {type(proxy).__name__} is not text; allowed: the address of a proxy, or None"
            raise BadQuery(msg, parameter="proxy")
        seconds = "a number of seconds above 0"
        self.decimals: RowDecimals = cast("RowDecimals", choice(decimals, "decimals", ("decimal", "float", "text")))
        self.portable_options: dict[str, Any] = {
            "base_url": base_url,
            "timeout": number(timeout, "timeout", seconds),
            "connect_timeout": number(connect_timeout, "connect_timeout", seconds),
            "retries": retries,
            "rate_limit": None
            if rate_limit is None
            else number(rate_limit, "rate_limit", "requests a second above 0, or None"),
            "max_body": max_body,
            "headers": _header_pairs(headers),
            "proxy": proxy,
        }
        self._has_own_token = token is not None
        bearer = _bearer(token, self.portable_options["headers"])
        headers_sent = self.portable_options["headers"] + bearer
        # Clients of equal options get equal answers. The number does not contain the token.
        self.identity = hash(repr({**self.portable_options, "headers": headers_sent}))
        self.core = _core.Client(**{**self.portable_options, "headers": headers_sent})

    def portable(self, kind: str) -> dict[str, Any]:
        """The keyword arguments to create the same client in another process.

        Parameters
        ----------
        kind : str
            Name of the client's class, for the error.

        Raises
        ------
        TypeError
            If the client has headers, a token or proxy credentials.
        """
        # A token from the environment is not pickled: the other process reads its own environment.
        if self._has_own_token or self.portable_options["headers"] or self.core.holds_credentials:
            msg = (
                f"cannot pickle a {kind} that carries headers, a token or proxy credentials; make it in the worker "
                "instead, or let $LIQDATA_TOKEN hold the token there"
            )
            raise TypeError(msg)
        return {**self.portable_options, "headers": None, "decimals": self.decimals}

    def origin(self, as_of: int | None = None) -> Origin:
        """The origin of the last reply.

        Its instant is ``as_of``, or the time that the service sent with the reply.
        """
        served_at = self.core.answered_at if as_of is None else as_of
        # A liqdata server sends 0 while it has no data.
        at = datetime.now(UTC) if served_at is None else datetime_of(served_at) if served_at else None
        return Origin(self.core.base_url, at, self.core.simulated, self.decimals, self.core.damaged)


def _bearer(token: object, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The ``Authorization`` header with ``token``, or with ``$LIQDATA_TOKEN`` unless a header sets it."""
    has_header = any(name.lower() == "authorization" for name, _ in headers)
    if token is None:
        token = None if has_header else os.environ.get("LIQDATA_TOKEN") or None
        if token is None:
            return []
    elif has_header:
        msg = "token: the headers carry an Authorization already; allowed: one of them"
        raise BadQuery(msg, parameter="token")
    # The message must not show the token.
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable() or " " in token:
        what = "a text" if isinstance(token, str) else f"a {type(token).__name__}"
        msg = f"token: {what} that cannot be sent; allowed: visible ASCII characters without blanks"
        raise BadQuery(msg, parameter="token")
    return [("Authorization", f"Bearer {token}")]


def _header_pairs(headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
    if headers is None:
        return []
    allowed = "a mapping of header names to texts"
    if not isinstance(headers, Mapping):
        msg = f"headers: a {type(headers).__name__} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="headers")
    pairs = list(headers.items())
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            msg = f"headers: the value of {name!r} is a {type(value).__name__}, not text; allowed: {allowed}"
            raise BadQuery(msg, parameter="headers")
    return pairs


def remake(kind: type[Any], options: dict[str, Any]) -> Any:
    """Create a client from these options; called by pickle.

    Parameters
    ----------
    kind : type
        The class of the client.
    options : dict
        What :meth:`Options.portable` returned.
    """
    return kind(**options)
