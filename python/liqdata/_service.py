"""A service as both clients have it, and their two ways of asking it: waiting and awaiting."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from . import _core
from ._answers import Convert, Origin, batch
from ._doors import door, doors
from ._inputs import choice, datetime_of, many, number
from .errors import BadQuery

if TYPE_CHECKING:
    from .types import RowDecimals

A = TypeVar("A")


class Options:
    """What a client was made with: checked, picklable unless it holds secrets."""

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
                '"https://example.org" (without one, liqdata.demo() gives a simulated market and liqdata.Market(...) '
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
        self._made: dict[str, Any] = {
            "base_url": base_url,
            "timeout": number(timeout, "timeout", seconds),
            "connect_timeout": number(connect_timeout, "connect_timeout", seconds),
            "retries": retries,
            "rate_limit": None
            if rate_limit is None
            else number(rate_limit, "rate_limit", "requests a second above 0, or None"),
            "max_body": max_body,
            "headers": _pairs(headers),
            "proxy": proxy,
        }
        self._own_token = token is not None
        bearer = _bearer(token, self._made["headers"])
        self.core = _core.Client(**{**self._made, "headers": self._made["headers"] + bearer})

    def portable(self, kind: str) -> dict[str, Any]:
        """The keyword arguments that make the same client elsewhere; never secrets."""
        # A token of the environment stays here: the other process reads its own.
        if self._own_token or self._made["headers"] or self.core.holds_credentials:
            msg = (
                f"cannot pickle a {kind} that carries headers, a token or proxy credentials; make it in the worker "
                "instead, or let $LIQDATA_TOKEN hold the token there"
            )
            raise TypeError(msg)
        return {**self._made, "headers": None, "decimals": self.decimals}

    def origin(self) -> Origin:
        """Where an answer that has just arrived came from, as of the service's clock rather than this machine's."""
        told = self.core.told_at
        at = datetime.now(UTC) if told is None else datetime_of(told)
        return Origin(self.core.base_url, at, self.core.simulated, self.decimals, self.core.damaged)


def _bearer(token: object, headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The header that carries the token that was given, or that of the environment where nothing else says who asks."""
    named = any(name.lower() == "authorization" for name, _ in headers)
    if token is None:
        token = None if named else os.environ.get("LIQDATA_TOKEN") or None
        if token is None:
            return []
    elif named:
        msg = "token: the headers carry an Authorization already; allowed: one of them"
        raise BadQuery(msg, parameter="token")
    # It is a secret: what is wrong with it is told, it is not.
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable() or " " in token:
        what = "a text" if isinstance(token, str) else f"a {type(token).__name__}"
        msg = f"token: {what} that cannot be sent; allowed: visible ASCII characters without blanks"
        raise BadQuery(msg, parameter="token")
    return [("Authorization", f"Bearer {token}")]


def _pairs(headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
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


class _Service:
    """What both clients share: the options and the connections."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        doors(cls)

    @door
    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        retries: int = 4,
        rate_limit: float | None = None,
        max_body: int = 64 * 2**20,
        decimals: Literal["decimal", "float", "text"] = "decimal",
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        token: str | None = None,
    ) -> None:
        self._options = Options(
            base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            retries=retries,
            rate_limit=rate_limit,
            max_body=max_body,
            decimals=decimals,
            headers=headers,
            proxy=proxy,
            token=token,
        )
        self._core = self._options.core

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._core.base_url

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (type(self), self._options.portable(type(self).__name__))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}{', closed' if self._core.closed else ''})"


def remake(kind: type[A], options: dict[str, Any]) -> A:
    """A client of these options: what a pickle calls."""
    return kind(**options)


class _Blocking(_Service):
    """Asks and waits, on the caller's own thread."""

    def _ask(self, endpoint: str, convert: Convert[A], **parameters: object) -> A:
        answer = self._core.ask(_core.question(endpoint, **parameters))
        return convert(answer, self._options.origin().about(endpoint, parameters))

    def _each(self, endpoint: str, symbol: object, convert: Convert[A], **parameters: object) -> A | dict[str, A]:
        """The answer about one symbol, or about each of several."""
        symbols = many(symbol)
        if symbols is None:
            return self._ask(endpoint, convert, symbol=symbol, **parameters)
        questions = batch(endpoint, symbols, parameters)
        if not questions and not self._core.closed:
            return {}
        answers = self._core.begin_many(list(questions.values()), list(questions)).wait()
        origin = self._options.origin()
        return {
            name: convert(answer, origin.about(endpoint, {"symbol": name, **parameters}))
            for name, answer in zip(questions, answers, strict=True)
        }


class _Awaiting(_Service):
    """Asks and awaits, on the running event loop."""

    async def _ask(self, endpoint: str, convert: Convert[A], **parameters: object) -> A:
        from ._loop import answer

        question = _core.question(endpoint, **parameters)
        told = await answer(lambda bridge, token: self._core.begin(question, bridge, token))
        return convert(told, self._options.origin().about(endpoint, parameters))

    async def _each(self, endpoint: str, symbol: object, convert: Convert[A], **parameters: object) -> A | dict[str, A]:
        """The answer about one symbol, or about each of several."""
        from ._loop import answer

        symbols = many(symbol)
        if symbols is None:
            return await self._ask(endpoint, convert, symbol=symbol, **parameters)
        questions = batch(endpoint, symbols, parameters)
        if not questions and not self._core.closed:
            return {}
        asked, names = list(questions.values()), list(questions)
        answers = await answer(lambda bridge, token: self._core.begin_many(asked, names, bridge, token))
        origin = self._options.origin()
        return {
            name: convert(told, origin.about(endpoint, {"symbol": name, **parameters}))
            for name, told in zip(names, answers, strict=True)
        }
