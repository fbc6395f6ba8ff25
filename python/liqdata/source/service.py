"""A service over HTTP as a source, blocking or for asyncio."""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from liqdata import _core
from liqdata.calls.arguments import datetime_of, instant, resolved, switch, time_range, usd
from liqdata.calls.progress import bar
from liqdata.calls.traceback import public_call
from liqdata.endpoints.cascades import gap_text
from liqdata.endpoints.requests import joined, least_usd
from liqdata.errors import BadQuery, LiqdataError, UnexpectedReply
from liqdata.results.answers import answers
from liqdata.stream import AsyncCascadeStream, AsyncOrderStream, CascadeStream, OrderStream
from liqdata.walk import AsyncOrderIterator, OrderIterator

from .convert import rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence

    from liqdata.features.question import FeatureQuestion
    from liqdata.results.rows import Rows
    from liqdata.types import BarRow

    from .convert import Origin
    from .options import Options
    from .request import Request

A = TypeVar("A")

_BATCH = 4
"""Number of historical answers that are requested concurrently; a server computes only a few in parallel."""


class Service:
    """Base of the blocking and the async service: the options, and the origin of a reply.

    Parameters
    ----------
    options : Options
        The checked options, with the connection pool.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.core = options.core
        self._has_bars = True  # until the service replies that it has none

    @property
    def closed(self) -> bool:
        """Whether the client was closed."""
        return self.core.closed

    @property
    def identity(self) -> tuple[object, ...]:
        """What sources with equal answers have in common."""
        return "service", self.options.identity

    def origin(self, at: int | None) -> Origin:
        """The origin of a reply, with a function that downloads the bars over the time of a heatmap."""
        origin = self.options.origin(at)

        def bars(coin: str, start: int, end: int) -> Rows[BarRow] | None:
            if not self._has_bars:
                return None
            question = _core.question("bars", symbol=coin, **time_range(datetime_of(start), datetime_of(end)))
            try:
                found: Rows[BarRow] = rows(self.core.ask(_extended(question, at, explain=False)), origin)
                check_bars(found, coin, start, end)
            except BadQuery:
                self._has_bars = False
            except (LiqdataError, RuntimeError) as error:
                # Log the error instead of raising it: a heatmap can be drawn without bars.
                logging.getLogger("liqdata").warning("no price line: %s", error)
            else:
                return found
            return None

        return origin._replace(bars=bars, far=True)

    def _walk(self, given: Mapping[str, Any]) -> tuple[_core.Walk, Any, bool]:
        """A walk over all orders, the origin of its rows as a function, and whether it has the group column."""
        at, groups = instant(given["as_of"], "as_of"), switch(given["groups"], "groups")
        if switch(given["oldest_first"], "oldest_first"):
            msg = (
                "oldest_first: True is not allowed for a client, because a service gives its newest orders first; "
                "allowed: False, or a market of this machine, such as liqdata.open(folder)"
            )
            raise BadQuery(msg, parameter="oldest_first")
        walk = self.core.walk(
            given["symbol"],
            given["exchange"],
            least_usd(given["min_usd"]),
            given["page_size"],
            given["max_rows"],
            *resolved(given["start"], given["end"], None),
            at,
            groups,
        )
        return walk, lambda: self.options.origin(at)._replace(time_unit=walk.time_unit), groups

    def _order_stream(self, given: Mapping[str, Any]) -> _core.Stream:
        """A stream of new orders."""
        least = least_usd(given["min_usd"])
        return self.core.stream(given["symbol"], given["exchange"], least, given["last_event_id"])

    def _cascade_stream(self, given: Mapping[str, Any]) -> _core.Stream:
        """A stream of cascades as they end."""
        gap, least = gap_text(given["gap"]), usd(given["min_usd"])
        return self.core.cascade_stream(joined(given["symbol"]), gap, least, given["last_event_id"])


class BlockingService(Service):
    """Sends requests and waits for the replies on the caller's thread."""

    def ask(self, request: Request[A]) -> A:
        """The answer to a request about one symbol."""
        at, explain = instant(request.as_of, "as_of"), switch(request.explain, "explain")
        reply = self.core.ask(_extended(request.question(), at, explain=explain))
        return request.convert(reply, self.origin(at).of_question(request.endpoint, request.parameters).of_reply(reply))

    def ask_each(self, request: Request[A]) -> A | dict[str, A]:
        """The answer to a request; for several symbols a dict from symbol to answer."""
        if not request.has_symbols:
            return self.ask(request)
        at, explain = instant(request.as_of, "as_of"), switch(request.explain, "explain")
        questions = request.questions()
        if not questions and not self.core.closed:
            return {}
        extended = [_extended(question, at, explain=explain) for question in questions.values()]
        replies = self.core.begin_many(extended, [f"symbol: {name}" for name in questions]).wait()
        return _converted(request, questions, replies, self.origin(at))

    def ask_lazily(self, request: Request[A]) -> A | Iterator[A] | dict[str, A] | dict[str, Iterator[A]]:
        """As :meth:`ask_each`, but for several instants return an iterator of answers instead of each answer."""
        if not request.has_instants:
            return self.ask_each(request)
        series = _series(request)
        if request.has_symbols:
            return {name: self._iterate(one, request) for name, one in series.items()}
        return self._iterate(series[""], request)

    def _iterate(self, series: _Series, request: Request[A]) -> Iterator[A]:
        for start in range(0, len(series.instants), _BATCH):
            part = series.part(start)
            replies = self._replies(part.questions, part.notes)
            yield from part.converted(replies, request, self)

    def ask_list(self, request: Request[A]) -> A | Sequence[A] | dict[str, A] | dict[str, Sequence[A]]:
        """As :meth:`ask_each`, but for several instants return a sequence of answers instead of each answer."""
        if not request.has_instants:
            return self.ask_each(request)
        found = {name: self._answers(one, request) for name, one in _series(request).items()}
        return found if request.has_symbols else found[""]

    def ask_at(self, request: Request[A]) -> A | Sequence[A]:
        """The answer to a request that is about no sequence of symbols; for several instants a sequence of answers."""
        return self._answers(_series(request)[""], request) if request.has_instants else self.ask(request)

    def _answers(self, series: _Series, request: Request[A]) -> Sequence[A]:
        """The answers to one query as of each instant."""

        def compute(start: int, end: int) -> list[A]:
            part = series.part(start, end)
            return part.converted(self._replies(part.questions, part.notes), request, self)

        return answers(len(series.instants), compute)

    @public_call
    def _replies(self, questions: list[_core.Question], notes: list[str]) -> list[Any]:
        found: list[Any] = self.core.begin_many(questions, notes, at_once=_BATCH).wait()
        return found

    def iter_orders(self, given: Mapping[str, Any]) -> OrderIterator[Any]:
        """Iterate over all orders."""
        walk, origin, groups = self._walk(given)
        shown = bar(wanted=given["progress"], total=given["max_rows"])
        return OrderIterator(lambda: walk.begin_next().wait(), shown, origin, lambda: walk.end, groups=groups)

    def features(self, given: Mapping[str, Any]) -> Rows[Any]:
        """What was known at decision instants."""
        asked, flow, request = _features(given)
        try:
            while True:
                request = flow.send(self.core.begin_features(request).wait())
        except StopIteration as end:
            table, units, views = end.value
            return asked.rows(table, units, views, self.origin(None))

    def stream_orders(self, given: Mapping[str, Any]) -> OrderStream[Any]:
        """Iterate over new orders."""
        return OrderStream(self._order_stream(given), decimals=self.options.decimals)

    def stream_cascades(self, given: Mapping[str, Any]) -> CascadeStream[Any]:
        """Iterate over cascades as they end."""
        return CascadeStream(self._cascade_stream(given), decimals=self.options.decimals)


class AsyncService(Service):
    """Sends requests and awaits the replies, on the running event loop."""

    async def ask(self, request: Request[A]) -> A:
        """The answer to a request about one symbol."""
        from liqdata.calls.event_loop import answer

        at, explain = instant(request.as_of, "as_of"), switch(request.explain, "explain")
        question = _extended(request.question(), at, explain=explain)
        reply = await answer(lambda bridge, token: self.core.begin(question, bridge, token))
        return request.convert(reply, self.origin(at).of_question(request.endpoint, request.parameters).of_reply(reply))

    async def ask_each(self, request: Request[A]) -> A | dict[str, A]:
        """The answer to a request; for several symbols a dict from symbol to answer."""
        from liqdata.calls.event_loop import answer

        if not request.has_symbols:
            return await self.ask(request)
        at, explain = instant(request.as_of, "as_of"), switch(request.explain, "explain")
        questions = request.questions()
        if not questions and not self.core.closed:
            return {}
        extended = [_extended(question, at, explain=explain) for question in questions.values()]
        notes = [f"symbol: {name}" for name in questions]
        replies = await answer(lambda bridge, token: self.core.begin_many(extended, notes, bridge, token))
        return _converted(request, questions, replies, self.origin(at))

    async def ask_lazily(
        self, request: Request[A]
    ) -> A | AsyncIterator[A] | dict[str, A] | dict[str, AsyncIterator[A]]:
        """As :meth:`ask_each`, but for several instants return an async iterator of answers instead of each answer."""
        if not request.has_instants:
            return await self.ask_each(request)
        series = _series(request)
        if request.has_symbols:
            return {name: self._iterate(one, request) for name, one in series.items()}
        return self._iterate(series[""], request)

    async def _iterate(self, series: _Series, request: Request[A]) -> AsyncIterator[A]:
        for start in range(0, len(series.instants), _BATCH):
            part = series.part(start)
            for converted in part.converted(await self._replies(part.questions, part.notes), request, self):
                yield converted

    async def ask_list(self, request: Request[A]) -> A | Sequence[A] | dict[str, A] | dict[str, Sequence[A]]:
        """As :meth:`ask_each`, but for several instants return a list of answers instead of each answer."""
        if not request.has_instants:
            return await self.ask_each(request)
        series = _series(request)
        questions, notes = _flattened(series)
        found = _lists(series, iter(await self._replies(questions, notes)), request, self)
        return found if request.has_symbols else found[""]

    async def ask_at(self, request: Request[A]) -> A | Sequence[A]:
        """The answer to a request that is about no sequence of symbols; for several instants a list of answers."""
        if not request.has_instants:
            return await self.ask(request)
        series = _series(request)
        questions, notes = _flattened(series)
        return _lists(series, iter(await self._replies(questions, notes)), request, self)[""]

    @public_call
    async def _replies(self, questions: list[_core.Question], notes: list[str]) -> list[Any]:
        from liqdata.calls.event_loop import answer

        def begin(bridge: _core.Bridge | None, token: int) -> _core.Call:
            return self.core.begin_many(questions, notes, bridge, token, at_once=_BATCH)

        found: list[Any] = await answer(begin)
        return found

    def iter_orders(self, given: Mapping[str, Any]) -> AsyncOrderIterator[Any]:
        """Iterate over all orders."""
        from liqdata.calls.event_loop import answer

        walk, origin, groups = self._walk(given)
        shown = bar(wanted=given["progress"], total=given["max_rows"])
        return AsyncOrderIterator(lambda: answer(walk.begin_next), shown, origin, lambda: walk.end, groups=groups)

    async def features(self, given: Mapping[str, Any]) -> Rows[Any]:
        """What was known at decision instants."""
        from liqdata.calls.event_loop import answer

        asked, flow, request = _features(given)
        while True:
            reply = await answer(partial(self.core.begin_features, request))
            try:
                request = flow.send(reply)
            except StopIteration as end:
                table, units, views = end.value
                return asked.rows(table, units, views, self.origin(None))

    def stream_orders(self, given: Mapping[str, Any]) -> AsyncOrderStream[Any]:
        """Iterate over new orders."""
        return AsyncOrderStream(self._order_stream(given), decimals=self.options.decimals)

    def stream_cascades(self, given: Mapping[str, Any]) -> AsyncCascadeStream[Any]:
        """Iterate over cascades as they end."""
        return AsyncCascadeStream(self._cascade_stream(given), decimals=self.options.decimals)


def _features(given: Mapping[str, Any]) -> tuple[FeatureQuestion, Generator[dict[str, Any], Any, Any], dict[str, Any]]:
    """A question for features, its requests, and the parameters of the first one."""
    from liqdata.features.parts import requests
    from liqdata.features.question import question

    asked = question(given)
    flow = requests(asked)
    return asked, flow, next(flow)


class _Series(NamedTuple):
    """One query as of several instants."""

    question: _core.Question
    instants: list[int]
    explain: bool
    parameters: dict[str, object]
    symbol: str

    def part(self, start: int, end: int | None = None) -> _Series:
        """The same query as of the instants from index ``start`` on and before ``end``; by default a few of them."""
        return self._replace(instants=self.instants[start : start + _BATCH if end is None else end])

    @property
    def questions(self) -> list[_core.Question]:
        return [self.question.with_extra(at, self.explain) for at in self.instants]

    @property
    def notes(self) -> list[str]:
        """For each instant, the note that is added to an error of its query."""
        named = f"symbol: {self.symbol}, " if self.symbol else ""
        return [f"{named}as_of: {_iso(at)}" for at in self.instants]

    def converted(self, replies: list[Any], request: Request[A], service: Service) -> list[A]:
        """Convert the replies, one for each instant, to the objects that the caller gets."""
        return [
            request.convert(reply, service.origin(at).of_question(request.endpoint, self.parameters).of_reply(reply))
            for at, reply in zip(self.instants, replies, strict=True)
        ]


def _series(request: Request[Any]) -> dict[str, _Series]:
    """One series per symbol; without a sequence of symbols, one series with an empty key."""
    explain = switch(request.explain, "explain")
    instants = request.instants()
    if not request.has_symbols:
        return {"": _Series(request.question(), instants, explain, dict(request.parameters), "")}
    return {
        name: _Series(question, instants, explain, request.about(name), name)
        for name, question in request.questions().items()
    }


def _flattened(series: dict[str, _Series]) -> tuple[list[_core.Question], list[str]]:
    """All queries of all series, and their notes."""
    questions = [question for one in series.values() for question in one.questions]
    return questions, [note for one in series.values() for note in one.notes]


def _lists(
    series: dict[str, _Series], replies: Iterator[Any], request: Request[A], service: Service
) -> dict[str, Sequence[A]]:
    """Convert the replies to a list per series."""
    return {
        name: one.converted(list(islice(replies, len(one.instants))), request, service) for name, one in series.items()
    }


def _converted(
    request: Request[A], questions: dict[str, _core.Question], replies: list[Any], origin: Origin
) -> dict[str, A]:
    """Convert the replies to a dict from symbol to answer."""
    return {
        name: request.convert(reply, origin.of_question(request.endpoint, request.about(name)).of_reply(reply))
        for name, reply in zip(questions, replies, strict=True)
    }


def _iso(at: int) -> str:
    spec = "milliseconds" if at % 1000 else "seconds"
    return datetime_of(at).isoformat(timespec=spec).replace("+00:00", "Z")


def _extended(question: _core.Question, at: int | None, *, explain: bool) -> _core.Question:
    """Add the parameters that only ``liqdata serve`` understands to a query, if they are set."""
    return question if at is None and not explain else question.with_extra(at, explain)


def check_bars(bars: Rows[BarRow], coin: str, start: int, end: int) -> None:
    """Check that a service sent bars of the requested coin and time.

    Parameters
    ----------
    bars : Rows
        The bars of the reply.
    coin : str
        The requested coin.
    start, end : int
        The requested time, epoch ms.

    Raises
    ------
    UnexpectedReply
        For bars of another coin or another time.
    """
    others = {name for name in set(bars["symbol"]) if _core.coin(name) != _core.coin(coin)}
    if others:
        msg = f"the service was asked for bars of {coin!r}, but returned bars of {str(min(others))[:80]!r}"
        raise UnexpectedReply(msg, path="data")
    opens, closes = (bars[name].astype("int64") for name in ("timestamp", "closes_at"))
    if ((opens < start) | (closes > end) | (closes <= opens)).any():
        msg = f"the service returned bars of {coin!r} outside the requested time"
        raise UnexpectedReply(msg, path="data")
