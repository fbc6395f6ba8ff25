"""A service as both clients have it, and their two ways of asking it: waiting and awaiting."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from . import _core
from ._answers import Convert, Origin, batch, rows
from ._doors import door, doors
from ._inputs import choice, datetime_of, instant, many, named_instant, number, spelled, switch
from .errors import BadQuery, LiqdataError, UnexpectedReply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from .rows import Rows
    from .types import BarRow, Instant, Instants, RowDecimals

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

    def origin(self, as_of: int | None = None) -> Origin:
        """Where an answer that has just arrived came from, as of the service's clock rather than this machine's."""
        told = self.core.told_at if as_of is None else as_of
        # A service of ours says 0 where nothing has been observed yet.
        at = datetime.now(UTC) if told is None else datetime_of(told) if told else None
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

    _has_bars = True  # until a service says that it has none

    def _origin(self, at: int | None) -> Origin:
        """Where an answer came from, with what brings the bars of its time: whoever draws waits for them."""
        origin = self._options.origin(at)

        def bars(coin: str, start: int, end: int) -> Rows[BarRow] | None:
            if not self._has_bars:
                return None
            question = _core.question("bars", symbol=coin, **spelled(datetime_of(start), datetime_of(end)))
            try:
                found: Rows[BarRow] = rows(self._core.ask(_beside(question, at, explain=False)), origin)
                _refuse_others(found, coin, start, end)
            except BadQuery:
                self._has_bars = False
            except (LiqdataError, RuntimeError) as error:
                # A picture is drawn without the line rather than not at all.
                logging.getLogger("liqdata").warning("no price line: %s", error)
            else:
                return found
            return None

        return origin._replace(bars=bars, far=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}{', closed' if self._core.closed else ''})"


def remake(kind: type[A], options: dict[str, Any]) -> A:
    """A client of these options: what a pickle calls."""
    return kind(**options)


class _Asked(NamedTuple):
    """A question as of each of some instants, and what its answers are about."""

    question: _core.Question
    ats: list[int]
    explain: bool
    endpoint: str
    parameters: dict[str, object]
    symbol: str | None

    def part(self, start: int) -> _Asked:
        """The same of a few of the instants."""
        return self._replace(ats=self.ats[start : start + _AT_ONCE])

    @property
    def questions(self) -> list[_core.Question]:
        return [self.question.beside(at, self.explain) for at in self.ats]

    @property
    def notes(self) -> list[str]:
        """What a failure of each is about."""
        named = "" if self.symbol is None else f"symbol: {self.symbol}, "
        return [f"{named}as_of: {_shown(at)}" for at in self.ats]

    def made(self, answers: list[Any], convert: Convert[A], origin: Callable[[int | None], Origin]) -> list[A]:
        """What callers get of the answers."""
        return [
            convert(answer, origin(at).about(self.endpoint, self.parameters).beside(answer))
            for at, answer in zip(self.ats, answers, strict=True)
        ]


# Answers as of an instant that are asked for at once: a server makes few of them side by side.
_AT_ONCE = 4


def _shown(at: int) -> str:
    """An instant as messages have it."""
    spec = "milliseconds" if at % 1000 else "seconds"
    return datetime_of(at).isoformat(timespec=spec).replace("+00:00", "Z")


def _beside(question: _core.Question, at: int | None, *, explain: bool) -> _core.Question:
    """The question with what only our server is asked beside it."""
    return question if at is None and not explain else question.beside(at, explain)


def _each_at(
    endpoint: str, symbol: object, instants: list[Any], parameters: dict[str, object], *, explain: bool
) -> dict[str | None, _Asked]:
    """The questions about each of several symbols, or about one (``None``), as of each of several instants."""
    ats = [named_instant(one) for one in instants]
    symbols = many(symbol)
    if symbols is None:
        asked = {"symbol": symbol, **parameters}
        return {None: _Asked(_core.question(endpoint, **asked), ats, explain, endpoint, asked, None)}
    questions = batch(endpoint, symbols, parameters)
    return {
        name: _Asked(question, ats, explain, endpoint, {"symbol": name, **parameters}, name)
        for name, question in questions.items()
    }


def _refuse_others(bars: Rows[BarRow], coin: str, start: int, end: int) -> None:
    """Refuse bars that are not of the coin and the time that were asked for."""
    others = {name for name in set(bars["symbol"]) if _core.coin(name) != _core.coin(coin)}
    if others:
        msg = f"the service was asked for bars of {coin!r} and gave some of {str(min(others))[:80]!r}"
        raise UnexpectedReply(msg, path="data")
    opens, closes = (bars[name].astype("int64") for name in ("timestamp", "closes_at"))
    if ((opens < start) | (closes > end) | (closes <= opens)).any():
        msg = f"the service gave bars of {coin!r} outside of the time that was asked for"
        raise UnexpectedReply(msg, path="data")


class _Blocking(_Service):
    """Asks and waits, on the caller's own thread."""

    def _ask(
        self,
        endpoint: str,
        convert: Convert[A],
        as_of: Instant | None = None,
        *,
        explain: object = False,
        **parameters: object,
    ) -> A:
        at, wanted = instant(as_of, "as_of"), switch(explain, "explain")
        question = _beside(_core.question(endpoint, **parameters), at, explain=wanted)
        answer = self._core.ask(question)
        return convert(answer, self._origin(at).about(endpoint, parameters).beside(answer))

    def _each(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instant | None = None,
        *,
        explain: object = False,
        **parameters: object,
    ) -> A | dict[str, A]:
        """The answer about one symbol, or about each of several."""
        symbols = many(symbol)
        if symbols is None:
            return self._ask(endpoint, convert, as_of, explain=explain, symbol=symbol, **parameters)
        at, wanted = instant(as_of, "as_of"), switch(explain, "explain")
        questions = batch(endpoint, symbols, parameters)
        if not questions and not self._core.closed:
            return {}
        asked = [_beside(question, at, explain=wanted) for question in questions.values()]
        answers = self._core.begin_many(asked, [f"symbol: {name}" for name in questions]).wait()
        origin = self._origin(at)
        return {
            name: convert(answer, origin.about(endpoint, {"symbol": name, **parameters}).beside(answer))
            for name, answer in zip(questions, answers, strict=True)
        }

    def _when(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instants | None,
        *,
        explain: bool = False,
        **parameters: object,
    ) -> Any:
        """As :meth:`_each`; where ``as_of`` is several instants, an iterator of answers in place of each answer."""
        instants = many(as_of)
        if instants is None:
            at = cast("Instant | None", as_of)
            return self._each(endpoint, symbol, convert, at, explain=explain, **parameters)
        asked = _each_at(endpoint, symbol, instants, parameters, explain=switch(explain, "explain"))
        found = {name: self._walked(one, convert) for name, one in asked.items()}
        return found.get(None, found)

    def _walked(self, asked: _Asked, convert: Convert[A]) -> Iterator[A]:
        for start in range(0, len(asked.ats), _AT_ONCE):
            some = asked.part(start)
            answers = self._core.begin_many(some.questions, some.notes, at_once=_AT_ONCE).wait()
            yield from some.made(answers, convert, self._origin)

    def _listed(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instants | None,
        *,
        explain: bool = False,
        **parameters: object,
    ) -> Any:
        """As :meth:`_each`; where ``as_of`` is several instants, a list of answers in place of each answer."""
        instants = many(as_of)
        if instants is None:
            at = cast("Instant | None", as_of)
            return self._each(endpoint, symbol, convert, at, explain=explain, **parameters)
        asked = _each_at(endpoint, symbol, instants, parameters, explain=switch(explain, "explain"))
        questions = [question for one in asked.values() for question in one.questions]
        notes = [note for one in asked.values() for note in one.notes]
        answers = iter(self._core.begin_many(questions, notes, at_once=_AT_ONCE).wait())
        found = {
            name: one.made(list(islice(answers, len(one.ats))), convert, self._origin) for name, one in asked.items()
        }
        return found.get(None, found)


class _Awaiting(_Service):
    """Asks and awaits, on the running event loop."""

    async def _ask(
        self,
        endpoint: str,
        convert: Convert[A],
        as_of: Instant | None = None,
        *,
        explain: object = False,
        **parameters: object,
    ) -> A:
        from ._loop import answer

        at, wanted = instant(as_of, "as_of"), switch(explain, "explain")
        question = _beside(_core.question(endpoint, **parameters), at, explain=wanted)
        told = await answer(lambda bridge, token: self._core.begin(question, bridge, token))
        return convert(told, self._origin(at).about(endpoint, parameters).beside(told))

    async def _each(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instant | None = None,
        *,
        explain: object = False,
        **parameters: object,
    ) -> A | dict[str, A]:
        """The answer about one symbol, or about each of several."""
        from ._loop import answer

        symbols = many(symbol)
        if symbols is None:
            return await self._ask(endpoint, convert, as_of, explain=explain, symbol=symbol, **parameters)
        at, wanted = instant(as_of, "as_of"), switch(explain, "explain")
        questions = batch(endpoint, symbols, parameters)
        if not questions and not self._core.closed:
            return {}
        asked = [_beside(question, at, explain=wanted) for question in questions.values()]
        notes = [f"symbol: {name}" for name in questions]
        answers = await answer(lambda bridge, token: self._core.begin_many(asked, notes, bridge, token))
        origin = self._origin(at)
        return {
            name: convert(told, origin.about(endpoint, {"symbol": name, **parameters}).beside(told))
            for name, told in zip(questions, answers, strict=True)
        }

    async def _when(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instants | None,
        *,
        explain: bool = False,
        **parameters: object,
    ) -> Any:
        """As :meth:`_each`; where ``as_of`` is several instants, an iterator of answers in place of each answer."""
        instants = many(as_of)
        if instants is None:
            at = cast("Instant | None", as_of)
            return await self._each(endpoint, symbol, convert, at, explain=explain, **parameters)
        asked = _each_at(endpoint, symbol, instants, parameters, explain=switch(explain, "explain"))
        found = {name: self._walked(one, convert) for name, one in asked.items()}
        return found.get(None, found)

    async def _walked(self, asked: _Asked, convert: Convert[A]) -> AsyncIterator[A]:
        for start in range(0, len(asked.ats), _AT_ONCE):
            some = asked.part(start)
            for made in some.made(await self._answers(some.questions, some.notes), convert, self._origin):
                yield made

    async def _answers(self, questions: list[_core.Question], notes: list[str]) -> list[Any]:
        from ._loop import answer

        def begin(bridge: _core.Bridge | None, token: int) -> _core.Call:
            return self._core.begin_many(questions, notes, bridge, token, at_once=_AT_ONCE)

        found: list[Any] = await answer(begin)
        return found

    async def _listed(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instants | None,
        *,
        explain: bool = False,
        **parameters: object,
    ) -> Any:
        """As :meth:`_each`; where ``as_of`` is several instants, a list of answers in place of each answer."""
        instants = many(as_of)
        if instants is None:
            at = cast("Instant | None", as_of)
            return await self._each(endpoint, symbol, convert, at, explain=explain, **parameters)
        asked = _each_at(endpoint, symbol, instants, parameters, explain=switch(explain, "explain"))
        questions = [question for one in asked.values() for question in one.questions]
        notes = [note for one in asked.values() for note in one.notes]
        answers = iter(await self._answers(questions, notes))
        found = {
            name: one.made(list(islice(answers, len(one.ats))), convert, self._origin) for name, one in asked.items()
        }
        return found.get(None, found)
