"""The recorder: asks services again and again, and stores their answers in an archive."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from liqdata import _core
from liqdata.calls.arguments import datetime_of, folder, to_be_made
from liqdata.calls.traceback import public_call, public_methods
from liqdata.errors import BadQuery
from liqdata.text.printable import counted, printable, shortened
from liqdata.vendors.reply import AHEAD

from .sources import ORDERS, Refusals, questions_of, sources_of
from .store import EqualOrders, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .sources import Question, Source

__all__ = ["Recorder", "record"]

OVERLAP = 10 * 60 * 1000
"""Orders of this many milliseconds before the newest one are read again: some arrive late."""

_DAY = 24 * 60 * 60 * 1000
_SHORTEST, _LONGEST = 1000, _DAY
_SHOWN = 160
_BATCH = 200  # orders of one transaction; a page of most services
_log = logging.getLogger("liqdata")


class SourceRecorder:
    """Records one source: a round asks every question once.

    Parameters
    ----------
    source : Source
        The service.
    questions : list of Question
        What is asked.
    store : Store
        Where the answers go.
    every : int
        Milliseconds between two rounds.
    """

    def __init__(self, source: Source, questions: list[Question], store: Store, every: int) -> None:
        self.source = source
        self.questions = questions
        self.store = store
        self.every = every
        self.orders = self.maps = 0
        self.last: int | None = None
        self.trouble: dict[str, str] = {}
        self._day = 0
        self._ended = False

    def round(self, at: int) -> None:
        """Ask every question of the time slot of ``at`` that has not been answered yet; :meth:`end` ends it early.

        Parameters
        ----------
        at : int
            The instant, epoch milliseconds.
        """
        begun = time.monotonic()

        def now() -> int:
            # In whole seconds; a round may take hours.
            return at + 1000 * int(time.monotonic() - begun)

        spans: dict[str, list[tuple[int, int] | None]] = {}
        for question in self.questions:
            found: dict[str, tuple[int, int]] | None = None
            try:
                found = self._record(question, at, now)
            except Exception as error:  # noqa: BLE001 - one question must not end the round
                if not self._ended:
                    self.trouble[question.key] = printable(self.source.shown(error))
            if self._ended:
                return
            if question.kind == ORDERS:
                for name, span in (found or {}).items():
                    spans.setdefault(name, []).append(span)
                if found is None:
                    spans.setdefault(str(dict(question.arguments).get("exchange")), []).append(None)
        self._cover(spans, now())
        self.last = at
        if at // _DAY != self._day:
            self.store.compact(at, lambda: self._ended)
            self._day = at // _DAY

    def _record(self, question: Question, at: int, now: Callable[[], int]) -> dict[str, tuple[int, int]]:
        """Ask a question and store the answer; return the time in which the orders of each exchange are complete."""
        if question.kind == ORDERS:
            return self._record_orders(question, now)
        self._record_map(question, at, now())
        self.trouble.pop(question.key, None)
        return {}

    def _record_map(self, question: Question, at: int, now: int) -> None:
        known = self.store.slot(question)
        if known is not None and known // self.every == at // self.every:
            return
        self.maps += self.store.add_map(question, self.source.served(question), now)

    def _record_orders(self, question: Question, now: Callable[[], int]) -> dict[str, tuple[int, int]]:
        """Store the new orders; return the time in which the orders of each exchange are complete."""
        newest = self.store.newest.get(question.key)
        # A clock that was set back would wait for the orders after the newest one.
        is_first = newest is None or newest > now() + AHEAD
        start = None if newest is None or is_first else min(newest, now()) - max(OVERLAP, 2 * self.every)
        faults = Refusals()
        walk = _Walk(self.source.orders(question, start, faults), self.source.depth if is_first else None, now)
        seen = EqualOrders()
        for orders in walk.batches():
            sides = [self.source.raw_side(order) for order in orders]
            self.orders += self.store.add_orders(orders, sides, now(), seen, faults)
        self.store.advance(question, walk.newest or (None if is_first else newest))
        if faults.count:
            why = printable(self.source.shown(faults.first))
            self.trouble[question.key] = f"{counted(faults.count, 'order')} not stored: {why}"
        else:
            self.trouble.pop(question.key, None)
        given = dict(question.arguments).get("exchange")
        names = {str(given)} if given is not None else walk.exchanges
        end = self.source.now(now())
        begin = start if start is not None else end if walk.oldest is None else walk.oldest
        made = {}
        for name in names | (set(self.store.covered) if given is None else set()):
            known = self.store.covered.get(name, begin)
            if self.source.forgets_after is not None:
                known = max(known, end - self.source.forgets_after)
            made[name] = (min(known, end), end)
        return made

    def _cover(self, spans: Mapping[str, Sequence[tuple[int, int] | None]], at: int) -> None:
        """Store coverage of the exchanges of which every question was answered."""
        whole = {}
        for name, parts in spans.items():
            known = [part for part in parts if part is not None]
            if known and len(known) == len(parts):
                whole[name] = (max(start for start, _ in known), min(end for _, end in known))
        if whole:
            self.store.add_coverage({name: span for name, span in whole.items() if span[0] <= span[1]}, at)

    def status(self) -> dict[str, Any]:
        """Counts and errors."""
        return {
            "source": self.source.name,
            "questions": len(self.questions),
            "orders": self.orders,
            "maps": self.maps,
            "last": self.last,
            "trouble": dict(self.trouble),
        }

    def end(self) -> None:
        """End the running round: what has come is stored, and the running request is cancelled."""
        self._ended = True
        self.source.end()

    def close(self) -> None:
        """Release the archive and the connections."""
        self.store.close()
        self.source.close()


class _Walk:
    """The orders of one reading, newest first, in batches; what an order far ahead of the clock says is not believed.

    Parameters
    ----------
    orders : iterator of dict
        The orders.
    depth : int, optional
        End this many milliseconds before the newest order; without it, read all of them.
    now : callable
        The instant of the clock.
    """

    def __init__(self, orders: Iterator[dict[str, Any]], depth: int | None, now: Callable[[], int]) -> None:
        self._orders, self._depth, self._now = orders, depth, now
        self.newest: int | None = None
        """Time of the newest order."""
        self.oldest: int | None = None
        """The instant from which the orders are complete."""
        self.exchanges: set[str] = set()

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """The orders; those that came before a failure are given before it is raised."""
        batch: list[dict[str, Any]] = []
        try:
            for order in self._orders:
                if self._is_over(order):
                    break
                batch.append(order)
                if len(batch) >= _BATCH:
                    yield batch
                    batch = []
        except Exception:
            if batch:
                yield batch
            raise
        if batch:
            yield batch

    def _is_over(self, order: Mapping[str, Any]) -> bool:
        at, now = order["timestamp"], self._now()
        if at > now + AHEAD:
            return False
        self.newest = max(self.newest or 0, min(at, now))
        if self._depth is not None and at < self.newest - self._depth:
            self.oldest = self.newest - self._depth
            return True
        self.oldest = at
        self.exchanges.add(str(order["exchange"]))
        return False


@public_methods
class Recorder:
    """A running recording of services; made by :func:`liqdata.record`.

    It runs on threads of this process until it is closed or the process ends.

    Parameters
    ----------
    path : str
        The folder of the archive.
    parts : list
        One recorder of each source.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     with liqdata.record(server.url, tempfile.mkdtemp() + "/archive") as recorder:
    ...         recorder.wait(0.01)
    False
    """

    def __init__(self, path: str, parts: list[SourceRecorder]) -> None:
        self._path = path
        self._parts = parts
        self._pid = os.getpid()
        stopped = threading.Event()
        threads = [
            threading.Thread(target=_work, args=(part, stopped), name=f"liqdata-record-{part.source.name}", daemon=True)
            for part in parts
        ]
        self._end = weakref.finalize(self, _stop, stopped, threads, parts)
        self._stopped = stopped
        for thread in threads:
            thread.start()

    @property
    def path(self) -> str:
        """The folder of the archive."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether the recorder has been closed."""
        return not self._end.alive

    def status(self) -> list[dict[str, Any]]:
        """Counts and errors of each source since the start.

        Returns
        -------
        list of dict
            ``source`` (the name for ``market.maps(source=)``), ``questions`` (their number), ``orders`` and ``maps``
            (new ones stored), ``last`` (instant of the last round, epoch ms; ``None`` before the first one) and
            ``trouble`` (for each question that fails now, its last error; for a question about orders also why orders
            were not stored).

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     with liqdata.record(server.url, tempfile.mkdtemp() + "/archive", questions=["coins"]) as recorder:
        ...         recorder.status()[0]["questions"]
        1
        """
        return [part.status() for part in self._parts]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the recorder is closed.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, in seconds; unlimited by default.

        Returns
        -------
        bool
            False if ``timeout`` passed first, otherwise True.

        Raises
        ------
        TypeError
            If ``timeout`` is not a number.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     recorder = liqdata.record(server.url, tempfile.mkdtemp() + "/archive")
        ...     recorder.close()
        ...     recorder.wait()
        True
        """
        return self._stopped.wait(timeout)

    def close(self) -> None:
        """Cancel the running requests, store what has come and release the archive. May be called more than once.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     recorder = liqdata.record(server.url, tempfile.mkdtemp() + "/archive")
        ...     recorder.close()
        ...     recorder.closed
        True
        """
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        msg = f"a recorder cannot be pickled: its threads belong to this process; pickle liqdata.open({self._path!r})"
        raise TypeError(msg)

    def __repr__(self) -> str:
        return f"Recorder({self._path!r}, {line_of(self.status())}{', closed' if self.closed else ''})"


def _work(part: SourceRecorder, stopped: threading.Event) -> None:
    """Run the rounds of a source until it is stopped."""
    while not stopped.is_set():
        at = time.time_ns() // 1_000_000
        try:
            part.round(at)
        except Exception as error:  # noqa: BLE001 - a source must not end the recording of the others
            why = printable(part.source.shown(error))
            if part.trouble.get("the round") != why:
                _log.error("the recording of %s failed: %s", part.source.name, why)
            part.trouble["the round"] = why
        else:
            part.trouble.pop("the round", None)
        begin = (at // part.every + 1) * part.every
        stopped.wait(max(begin / 1000 - time.time(), 0.0))


def _stop(stopped: threading.Event, threads: list[threading.Thread], parts: list[SourceRecorder]) -> None:
    stopped.set()
    for part in parts:
        part.end()
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()
    for part in parts:
        part.close()


def line_of(status: Sequence[Mapping[str, Any]]) -> str:
    """The status of all sources in one line."""
    parts = []
    for one in status:
        text = f"{one['source']}: {counted(one['orders'], 'order')}, {counted(one['maps'], 'map')}"
        if one["last"] is not None:
            text += f", last {datetime_of(one['last']):%H:%M:%S} UTC"
        if one["trouble"]:
            question, why = next(iter(one["trouble"].items()))
            text += f", {len(one['trouble'])} of {one['questions']} failed: {question}: {shortened(why)[:_SHOWN]}"
        parts.append(text)
    return " · ".join(parts)


@public_call
def record(
    source: object,
    path: str | os.PathLike[str],
    *,
    symbols: str | Iterable[str] = ("BTC",),
    every: str | timedelta = "5m",
    questions: object = None,
) -> Recorder:
    """Record what other services answer, in an archive.

    Orders are recorded without gaps and duplicates: each round reads from the newest recorded order on. An order that
    is more than ten minutes ahead of this machine's clock is not stored, and neither is a map. Maps and
    rankings are stored as they were served, with the instant; an answer that equals the one before it is not stored
    again. A recording that was stopped or killed continues. Requests keep to the limits of each service. A refused
    question is asked again in the next round.

    :meth:`liqdata.Market.maps` with ``source=`` returns the recorded maps and rankings. Totals and orders of the market
    are those of its own exchanges; with ``source=`` they are those of the recording.

    Parameters
    ----------
    source : str, client or list
        The name of a vendor (its key comes from the environment), such as ``"coinglass"``; the address of a liqdata
        server; a :class:`~liqdata.Client`; a blocking client of :mod:`liqdata.vendors`; or a list of several of these.
    path : str or path-like
        The folder of the archive, created if missing. A collector may write to it at the same time. Each source has one
        recorder at a time.
    symbols : str or iterable of str
        Coins, such as ``BTC``.
    every : str or timedelta
        Time between two rounds, such as ``"5m"``: from a second to a day.
    questions : sequence, optional
        What to ask: ``"orders"``, ``"heatmap"``, ``"liqmap"``, ``"levels"``, ``"maxpain"``, ``"coins"``,
        ``"exchanges"``, or pairs of such a name and a mapping with arguments of the method, such as
        ``("heatmap", {"range": "12h"})``. By default everything that the source has; orders of CoinGlass and CoinAnk
        are those of Binance, OKX and Bybit.

    Returns
    -------
    Recorder
        A running recorder; a context manager with ``status()``, ``wait()`` and ``close()``.

    Raises
    ------
    BadQuery
        For an unknown source, a missing key, or a question that a source cannot answer; nothing is created.
    ArchiveError
        If the archive cannot be written, or another recorder records the same source.

    Notes
    -----
    The first round reads orders back to seven days before the newest one (a day on a liqdata server), as far as the
    service has them. Orders that a service publishes more than ten minutes (or two rounds) after newer ones are missed.

    Examples
    --------
    >>> import tempfile, time
    >>> import liqdata
    >>> folder = tempfile.mkdtemp() + "/archive"
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     with liqdata.record(server.url, folder, questions=["maxpain"]) as recorder:
    ...         while not recorder.status()[0]["maps"]:
    ...             time.sleep(0.01)
    ...         name = recorder.status()[0]["source"]
    >>> liqdata.open(folder).maps(source=name)[0]["symbol"]
    'BTC'
    """
    place = folder(path)
    step = _step(every)
    coins = [symbols] if isinstance(symbols, str) else symbols
    if not isinstance(coins, Iterable) or not (names := list(coins)):
        msg = f"symbols: {symbols!r} is not allowed; allowed: one coin or several, such as ['BTC', 'ETH']"
        raise BadQuery(msg, parameter="symbols")
    sources = sources_of(source)
    parts: list[SourceRecorder] = []
    try:
        asked = [questions_of(one, names, questions) for one in sources]
        place = os.path.realpath(to_be_made(place))
        for one, mine in zip(sources, asked, strict=True):
            parts.append(SourceRecorder(one, mine, Store(place, one.name), step))
    except BaseException:
        for part in parts:
            part.close()
        for one in sources[len(parts) :]:
            one.close()
        raise
    return Recorder(place, parts)


def _step(every: object) -> int:
    found = None
    if isinstance(every, timedelta):
        found = every // timedelta(milliseconds=1)
    elif isinstance(every, str):
        found = _core.span(every)
    if found is None or not _SHORTEST <= found <= _LONGEST:
        msg = f"every: {every!r} is not allowed; allowed: a length from a second to a day, such as '5m'"
        raise BadQuery(msg, parameter="every")
    return found
