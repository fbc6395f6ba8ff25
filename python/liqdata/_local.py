"""A market in this process as all of them have it, and the way of asking it."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from . import _answers, _core
from ._answers import Convert, Origin, batch
from ._doors import doors
from ._inputs import datetime_of, instant, many, millis_of, named_instant, spelled, switch
from .errors import ArchiveError, LiqdataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from ._mirror import Mirror
    from .rows import Rows
    from .types import BarRow, Instant, Instants

A = TypeVar("A")


class _Mirrored(NamedTuple):
    """An archive of the cache, and what it was fetched by."""

    mirror: Mirror
    addresses: list[str]
    start: int | None
    cache: str | None


class _Moves(NamedTuple):
    """How a market that moves is made again: by what, of what, and how fast; where it stands is told beside it."""

    made_by: Callable[..., Any]
    made_of: tuple[Any, ...]
    speed: float | None


class _Local:
    """Asks the native half's engine; every question may be as of an instant."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        doors(cls)

    def _set_up(
        self,
        core: _core.Market,
        *,
        archive: tuple[str, int | None] | None = None,
        demo: tuple[int, int, tuple[float, float, float] | None] | None = None,
        moves: _Moves | None = None,
    ) -> Self:
        """Be this market: of tables, of an archive at a path as of an instant, or simulated from a seed."""
        self._core = core
        self._archive = archive
        self._demo = demo
        self._moves = moves
        self._mirror: _Mirrored | None = None
        self._pid = os.getpid()
        self._closed = False
        return self

    @property
    def simulated(self) -> bool:
        """Whether the market is a simulated one."""
        return self._core.simulated

    @property
    def replayed(self) -> bool:
        """Whether the market tells again what an archive has (:func:`liqdata.replay`)."""
        return self._core.replayed

    @property
    def now(self) -> datetime | Any:  # None so seldom that nobody is to be made to ask for it
        """The instant the windows end at, UTC; it moves as observations arrive, never with the clock alone.

        None as long as nothing has been observed, as in an archive that has just been made.
        """
        now = self._core.now
        return None if now is None else datetime_of(now)

    @property
    def symbols(self) -> list[str]:
        """The coins an estimate can be given for, by name: those that have bars.

        An archive of orders or of positions alone has none: :meth:`coins` ranks what was liquidated, and a coin that is
        known has its :meth:`positions`.

        Examples
        --------
        >>> import liqdata
        >>> "BTC" in liqdata.demo().symbols
        True
        """
        return list(self._core.coins)

    def _origin(self, as_of: int | None) -> Origin:
        at = self.now if as_of is None else datetime_of(as_of)
        core = self._core

        def bars(coin: str, start: int, end: int) -> Rows[BarRow] | None:
            question = _core.question("bars", symbol=coin, **spelled(datetime_of(start), datetime_of(end)))
            try:
                return _answers.rows(core.ask(question, None if at is None else millis_of(at)), known)
            except LiqdataError as error:  # such as an archive that was opened before a fork
                # A map is drawn, copied and pickled without the line rather than not at all.
                logging.getLogger("liqdata").warning("no price line: %s", error)
                return None

        known = Origin(core.source, at, self.simulated, damaged=core.damaged, replayed=self.replayed)
        return known._replace(bars=bars)

    def _open(self) -> _core.Market:
        if self._closed:
            msg = "market is closed"
            raise RuntimeError(msg)
        if self._archive is not None and self._pid != os.getpid():
            # A thread of the parent may have held the archive's locks at the fork, and none of them is here to let go.
            path, _ = self._archive
            msg = f"{path} was opened in process {self._pid}, before a fork; open it again in this process"
            raise ArchiveError(msg, path=path)
        return self._core

    def _ask(self, endpoint: str, convert: Convert[A], as_of: Instant | None, **parameters: object) -> A:
        question = _core.question(endpoint, **parameters)
        at = instant(as_of, "as_of")
        answer = self._open().ask(question, at)
        origin = self._origin(at).about(endpoint, parameters).beside(answer)
        return convert(answer, origin._replace(coverage=self._coverage(question, at)))

    def _coverage(self, question: _core.Question, at: int | None) -> _core.Table | None:
        """What the totals cover that a question is about."""
        if question.covered is None:
            return None
        found: _core.Table = self._core.ask(_core.question("coverage", range=question.covered), at)
        return found

    def _each(
        self, endpoint: str, symbol: object, convert: Convert[A], as_of: Instant | None, **parameters: object
    ) -> A | dict[str, A]:
        """The answer about one symbol, or about each of several."""
        symbols = many(symbol)
        if symbols is None:
            return self._ask(endpoint, convert, as_of, symbol=symbol, **parameters)
        questions = batch(endpoint, symbols, parameters)
        at = instant(as_of, "as_of")
        core = self._open()
        if not questions:
            return {}
        answers = core.ask_many(list(questions.values()), list(questions), at)
        origin = self._origin(at)
        coverage = self._coverage(next(iter(questions.values())), at)

        def told(name: str, answer: Any) -> Origin:
            about = origin.about(endpoint, {"symbol": name, **parameters})
            return about.beside(answer)._replace(coverage=coverage)

        return {name: convert(answer, told(name, answer)) for name, answer in zip(questions, answers, strict=True)}

    def _when(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instants | None,
        *,
        explain: bool,
        **parameters: object,
    ) -> Any:
        """As :meth:`_each`; where ``as_of`` is several instants, an iterator of answers in place of each answer.

        Answers are made a few at a time, as they are taken.
        """
        switch(explain, "explain")  # what an estimate rests on is told in any case
        instants = many(as_of)
        if instants is None:
            return self._each(endpoint, symbol, convert, cast("Instant | None", as_of), **parameters)
        ats = [named_instant(one) for one in instants]
        self._open()
        symbols = many(symbol)
        if symbols is None:
            asked = {"symbol": symbol, **parameters}
            return self._walked(_core.question(endpoint, **asked), convert, ats, (endpoint, asked))
        return {
            name: self._walked(question, convert, ats, (endpoint, {"symbol": name, **parameters}))
            for name, question in batch(endpoint, symbols, parameters).items()
        }

    def _walked(
        self, question: _core.Question, convert: Convert[A], ats: list[int], asked: tuple[str, dict[str, object]]
    ) -> Iterator[A]:
        for start in range(0, len(ats), _AT_ONCE):
            some = ats[start : start + _AT_ONCE]
            (answers,) = self._open().ask_at([question], [""], some)
            for at, answer in zip(some, answers, strict=True):
                yield convert(answer, self._origin(at).about(*asked))

    def _listed(
        self,
        endpoint: str,
        symbol: object,
        convert: Convert[A],
        as_of: Instants | None,
        *,
        explain: bool,
        **parameters: object,
    ) -> Any:
        """As :meth:`_each`; where ``as_of`` is several instants, a list of answers in place of each answer."""
        switch(explain, "explain")
        instants = many(as_of)
        if instants is None:
            return self._each(endpoint, symbol, convert, cast("Instant | None", as_of), **parameters)
        ats = [named_instant(one) for one in instants]
        core = self._open()
        symbols = many(symbol)
        if symbols is None:
            questions = {"": _core.question(endpoint, symbol=symbol, **parameters)}
        else:
            questions = batch(endpoint, symbols, parameters)
        origins = [self._origin(at) for at in ats]
        found = {
            name: [
                convert(answer, origin.about(endpoint, {"symbol": name or symbol, **parameters}))
                for answer, origin in zip(answers, origins, strict=True)
            ]
            for name, answers in zip(
                questions, core.ask_at(list(questions.values()), list(questions), ats), strict=True
            )
        }
        return found[""] if symbols is None else found


# Answers that are made ahead of whoever takes them.
_AT_ONCE = 16
