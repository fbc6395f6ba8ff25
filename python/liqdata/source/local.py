"""A market in this process as a source: tables, an archive, a replay or a simulation."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from liqdata import _core
from liqdata.calls.arguments import datetime_of, instant, millis_of, resolved, switch, time_range, usd
from liqdata.calls.progress import bar
from liqdata.endpoints.cascades import gap_text
from liqdata.endpoints.requests import joined, least_usd
from liqdata.errors import ArchiveError, LiqdataError, WrongState
from liqdata.results.answers import answers
from liqdata.stream import CascadeStream, OrderStream
from liqdata.walk import OrderIterator, at_most, pages, turned

from . import convert
from .convert import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from liqdata.cloud.mirror import Mirror
    from liqdata.market import Market
    from liqdata.results.rows import Rows
    from liqdata.types import BarRow

    from .request import Request

A = TypeVar("A")

_BATCH = 16
"""Number of historical answers that an iterator computes at a time."""

_CHUNK = 2**16
"""Number of rows that an iterator reads from the Rust core at a time."""


_JOURNAL = ("journal.sqlite", "journal.sqlite-wal")
"""The files of an archive that every commit changes."""


class MirroredArchive(NamedTuple):
    """An archive in the download cache, and the arguments with which it was downloaded."""

    mirror: Mirror
    addresses: list[str]
    start: int | None
    cache: str | None


class Clock(NamedTuple):
    """How to recreate a live simulation or a replay from a pickle.

    The pickle also stores the time of the market's clock.
    """

    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    speed: float | None


class LocalSource:
    """Passes queries to the Rust core in this process; each query may have ``as_of``.

    Parameters
    ----------
    core : _core.Market
        The market in the Rust core.
    archive : tuple of str and int, optional
        Path of the archive, and the instant at which the market is fixed (epoch ms, or ``None``).
    demo : tuple, optional
        Seed, end and trader habits of a simulation.
    clock : Clock, optional
        How to recreate a market with a clock of its own.
    """

    def __init__(
        self,
        core: _core.Market,
        *,
        archive: tuple[str, int | None] | None = None,
        demo: tuple[int, int, tuple[float, float, float] | None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.core = core
        self.archive = archive
        self.demo = demo
        self.clock = clock
        self.mirrored: MirroredArchive | None = None
        self.recorded: dict[str, Market] = {}
        """The markets of recorded services that were used so far, by name."""
        self.closed = False
        self._pid = os.getpid()

    @property
    def now(self) -> datetime | None:
        """The instant at which the windows end, UTC; ``None`` while there are no data."""
        now = self.core.now
        return None if now is None else datetime_of(now)

    @property
    def identity(self) -> tuple[object, ...]:
        """What sources with equal answers have in common."""
        return ("market", id(self)) if self.archive is None or self.clock is not None else ("archive", *self.archive)

    @property
    def revision(self) -> object:
        """What a pickle holds of the content of an archive, so that caches that pickle their arguments see changes.

        Commits change the size or the time of a file of the journal; reading changes neither. The folder of a download
        is named by its content.
        """
        if self.archive is None:
            return None
        folder = self.archive[0]
        if self.mirrored is not None:
            return os.path.basename(folder)  # noqa: PTH119 - a text as the path
        states = []
        for name in _JOURNAL:
            with suppress(OSError):
                state = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - as above
                states.append((state.st_size, state.st_mtime_ns if state.st_size else 0))
        return tuple(state for state in states if state[0])

    def open_core(self) -> _core.Market:
        """The market in the Rust core.

        Raise an error if it is closed, or was opened before a fork.
        """
        if self.closed:
            msg = "market is closed"
            raise WrongState(msg)
        if self.archive is not None and self._pid != os.getpid():
            # At the fork a thread of the parent may have had a lock of the archive, which stays locked in this process.
            path, _ = self.archive
            msg = f"{path} was opened in process {self._pid}, before a fork; open it again in this process"
            raise ArchiveError(msg, path=path)
        return self.core

    def origin(self, as_of: int | None) -> Origin:
        """The origin of an answer, with a function that reads the bars over the time of a heatmap."""
        at = self.now if as_of is None else datetime_of(as_of)
        core = self.core

        def bars(coin: str, start: int, end: int) -> Rows[BarRow] | None:
            question = _core.question("bars", symbol=coin, **time_range(datetime_of(start), datetime_of(end)))
            try:
                return convert.rows(core.ask(question, None if at is None else millis_of(at)), known)
            except LiqdataError as error:  # such as an archive that was opened before a fork
                # Log the error instead of raising it: a heatmap can be drawn and pickled without bars.
                logging.getLogger("liqdata").warning("no price line: %s", error)
                return None

        def more(parameters: dict[str, object]) -> bool:
            return bool(len(core.ask(_core.question("orders", **parameters), as_of)))

        known = Origin(core.source, at, core.simulated, damaged=core.damaged, replayed=core.replayed)
        return known._replace(bars=bars, more=more)

    def ask(self, request: Request[A]) -> A:
        """The answer to a request about one symbol."""
        question = request.question()
        at = instant(request.as_of, "as_of")
        reply = self.open_core().ask(question, at)
        origin = self.origin(at).of_question(request.endpoint, request.parameters).of_reply(reply)
        return request.convert(reply, origin._replace(coverage=self._coverage(question, at)))

    def _coverage(self, question: _core.Question, at: int | None) -> _core.Table | None:
        """The coverage of realised totals; ``None`` for queries that return no realised totals."""
        return self.core.coverage(question, at)

    def ask_each(self, request: Request[A]) -> A | dict[str, A]:
        """The answer to a request; for several symbols a dict from symbol to answer."""
        if not request.has_symbols:
            return self.ask(request)
        questions = request.questions()
        at = instant(request.as_of, "as_of")
        core = self.open_core()
        if not questions:
            return {}
        replies = core.ask_many(list(questions.values()), list(questions), at)
        origin = self.origin(at)
        coverage = self._coverage(next(iter(questions.values())), at)

        def of(name: str, reply: Any) -> Origin:
            about = origin.of_question(request.endpoint, request.about(name))
            return about.of_reply(reply)._replace(coverage=coverage)

        return {name: request.convert(reply, of(name, reply)) for name, reply in zip(questions, replies, strict=True)}

    def ask_lazily(self, request: Request[A]) -> A | Iterator[A] | dict[str, A] | dict[str, Iterator[A]]:
        """As :meth:`ask_each`, but for several instants return an iterator of answers instead of each answer.

        The iterator computes a few answers at a time.
        """
        switch(request.explain, "explain")  # only checked: a market in this process always adds `explain`
        if not request.has_instants:
            return self.ask_each(request)
        instants = request.instants()
        self.open_core()
        if not request.has_symbols:
            return self._iterate(request.question(), request, instants, dict(request.parameters))
        return {
            name: self._iterate(question, request, instants, request.about(name))
            for name, question in request.questions().items()
        }

    def _iterate(
        self, question: _core.Question, request: Request[A], instants: list[int], parameters: dict[str, object]
    ) -> Iterator[A]:
        for start in range(0, len(instants), _BATCH):
            part = instants[start : start + _BATCH]
            (replies,) = self.open_core().ask_at([question], [""], part)
            for at, reply in zip(part, replies, strict=True):
                yield request.convert(reply, self.origin(at).of_question(request.endpoint, parameters))

    def ask_list(self, request: Request[A]) -> A | Sequence[A] | dict[str, A] | dict[str, Sequence[A]]:
        """As :meth:`ask_each`, but for several instants return a sequence of answers instead of each answer."""
        switch(request.explain, "explain")
        if not request.has_instants:
            return self.ask_each(request)
        instants = request.instants()
        self.open_core()
        if not request.has_symbols:
            return self._answers(request.question(), "", request, instants)
        return {
            name: self._answers(question, name, request, instants) for name, question in request.questions().items()
        }

    def ask_at(self, request: Request[A]) -> A | Sequence[A]:
        """The answer to a request that is about no sequence of symbols; for several instants a sequence of answers."""
        if not request.has_instants:
            return self.ask(request)
        instants = request.instants()
        self.open_core()
        return self._answers(request.question(), "", request, instants)

    def _answers(self, question: _core.Question, symbol: str, request: Request[A], instants: list[int]) -> Sequence[A]:
        """The answers to one query as of each instant."""
        about = request.about(symbol) if symbol else dict(request.parameters)

        def compute(start: int, end: int) -> list[A]:
            part = instants[start:end]
            (replies,) = self.open_core().ask_at([question], [symbol], part)
            return [
                request.convert(
                    reply,
                    self.origin(at)
                    .of_question(request.endpoint, about)
                    .of_reply(reply)
                    ._replace(coverage=self._coverage(question, at)),
                )
                for at, reply in zip(part, replies, strict=True)
            ]

        return answers(len(instants), compute)

    def iter_orders(self, given: Mapping[str, Any]) -> OrderIterator[Any]:
        """Iterate over all orders."""
        symbol, exchange, least = given["symbol"], given["exchange"], least_usd(given["min_usd"])
        most = _core.walk_bounds(symbol, exchange, least, given["page_size"], given["max_rows"])
        at = instant(given["as_of"], "as_of")
        core = self.open_core()
        first, last = resolved(given["start"], given["end"], core.now if at is None else at)
        groups = switch(given["groups"], "groups")
        switch(given["oldest_first"], "oldest_first")
        history = core.history(symbol, exchange, least, first, last, at, groups, given["oldest_first"])
        if history is not None:
            following = history.next
        else:
            bounded = most is not None and (first, last) == (None, None) and not given["oldest_first"]
            chunk = min(_CHUNK, most) if most is not None and bounded else _CHUNK
            page = partial(core.page, symbol, exchange, least, chunk)
            following = pages(lambda offset: page(offset, at, groups), chunk, first, last)
            if given["oldest_first"]:
                following = turned(following)
        shown = bar(wanted=given["progress"], total=given["max_rows"])
        return OrderIterator(at_most(following, most), shown, lambda: self.origin(at), groups=groups)

    def features(self, given: Mapping[str, Any]) -> Rows[Any]:
        """What was known at decision instants."""
        from liqdata.features.question import question

        core = self.open_core()
        asked = question(given).at(core.now)
        return asked.rows(*asked.ask(core), self.origin(None))

    def stream_orders(self, given: Mapping[str, Any]) -> OrderStream[Any]:
        """Iterate over new orders."""
        least = least_usd(given["min_usd"])
        core = self.open_core().stream(given["symbol"], given["exchange"], least, given["last_event_id"])
        return OrderStream(core, decimals="decimal")

    def stream_cascades(self, given: Mapping[str, Any]) -> CascadeStream[Any]:
        """Iterate over cascades as they end."""
        gap, least = gap_text(given["gap"]), usd(given["min_usd"])
        core = self.open_core().cascade_stream(joined(given["symbol"]), gap, least, given["last_event_id"])
        return CascadeStream(core, decimals="decimal")
