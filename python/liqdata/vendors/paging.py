"""Pages of orders and of series from services.

A page is asked for from where the page before it ended. Services send rows of any time, so only a row within the asked
time moves that place, and a page that does not move it is an error.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Protocol

from liqdata.calls.arguments import datetime_of
from liqdata.errors import BadQuery, UnexpectedReply

from .vocabulary import means

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from liqdata.results.rows import Rows

    from .reply import Node


ORDERS_AT_ONCE = 1000
"""Maximum number of rows of ``orders``, and of those that it skips."""
_FRUITLESS, _MOST_FRUITLESS = 50, 200
"""Pages in a row without a wanted order, after which ``orders`` ends, and after which ``iter_orders`` needs a start."""

_DAY = 24 * 60 * 60 * 1000
_WEEK = 7 * _DAY
_FAR = 30 * _DAY
"""An older row behind a gap of this many milliseconds is left to a later page: its time may be wrong."""

_MOST_STUCK = 2
"""Number of pages in a row with new orders of the same oldest instant, after which a walk does not go on."""


class OrderPages:
    """Pages of the orders of one exchange, or of several together, newest first.

    Ask for ``exchange`` from ``first`` to ``end``, and ``accept`` the page, until it is ``done``.

    Parameters
    ----------
    exchanges : sequence of str
        The exchanges.
    first, last : int, optional
        The bounds of the orders, epoch milliseconds.
    page : int, optional
        Rows of a full page of the service, if that is known.
    most : int, optional
        Maximum number of orders.
    wanted : callable, optional
        Whether an order belongs to the answer.
    patience : float, optional
        Seconds without a wanted order after which the search in an exchange ends, as it does after 50 such pages; the
        pages are then ``cut``. Without it, 200 such pages are an error unless ``first`` bounds the search.
    """

    def __init__(
        self,
        exchanges: Sequence[str],
        first: int | None,
        last: int | None,
        *,
        page: int | None,
        most: int | None,
        wanted: Callable[[dict[str, Any]], bool] = lambda _: True,
        patience: float | None = None,
    ) -> None:
        self.first = first
        self.faults: Faults | None = None
        """Gets the errors of orders that cannot be read; without it they are raised."""
        self._unread = 0
        self.left = math.inf if most is None else most
        self.missing: list[str] = []
        """The exchanges that the service does not have."""
        self.cut = False
        """Whether older orders were not searched to the end."""
        self._patience = patience
        self._fruitless = 0
        self._since = time.monotonic()
        self._wanted = wanted
        self._asked = {name: ExchangePages(first, last, page) for name in exchanges}
        self._waiting: dict[str, deque[dict[str, Any]]] = {name: deque() for name in exchanges}
        self._next()

    def _next(self) -> None:
        empty = [name for name, pages in self._asked.items() if not pages.done and not self._waiting[name]]
        self.done = not empty or self.left <= 0
        self.exchange = empty[0] if empty else ""
        self.end = self._asked[self.exchange].end if empty else None

    @property
    def is_alone(self) -> bool:
        """Whether only one exchange is asked."""
        return len(self._asked) == 1

    def read(self, items: Sequence[Node], row: Callable[[Node], dict[str, Any]]) -> list[dict[str, Any]]:
        """The orders of a page, newest first; those that cannot be read are faults.

        Raises
        ------
        UnexpectedReply
            For an order that cannot be read, if faults are not wanted or no order can be read.
        """
        made: list[dict[str, Any]] = []
        wrong: list[UnexpectedReply] = []
        for item in items:
            try:
                made.append(row(item))
            except UnexpectedReply as error:
                if self.faults is None:
                    raise
                wrong.append(error)
        if wrong and not made:
            raise wrong[0]
        self._unread = len(wrong)
        if self.faults is not None:
            for fault in wrong:
                self.faults.append(fault)
        made.sort(key=lambda order: -order["timestamp"])
        return made

    def skip(self) -> None:
        """Leave out the exchange, because the service does not have it."""
        self.missing.append(self.exchange)
        self._asked[self.exchange].done = True
        self._next()

    def accept(self, page: Rows[Any] | None) -> list[dict[str, Any]]:
        """The orders that are known to be the next ones, after a page of the exchange.

        ``None`` leaves out the exchange, because the service does not have it.
        """
        if page is None:
            self.skip()
        else:
            name = self.exchange
            # A service that ignores the exchange of a request would send the same orders for each of several.
            fresh = self._asked[name].accept(page, self._unread)
            mine = (row for row in fresh if self.is_alone or row["exchange"] == name)
            wanted = list(filter(self._wanted, mine))
            self._waiting[name].extend(wanted)
            self._search(name, found=bool(wanted))
            self._next()
        found: list[dict[str, Any]] = []
        while self.left > 0 and not self.exchange:
            waiting = [rows for rows in self._waiting.values() if rows]
            if not waiting:
                break
            found.append(max(waiting, key=lambda rows: rows[0]["timestamp"]).popleft())
            self.left -= 1
            self._next()
        return found

    def _search(self, name: str, *, found: bool) -> None:
        """Count the pages without a wanted order, and end the search in an exchange that has too many."""
        pages = self._asked[name]
        if found or pages.done:
            self._fruitless = 0
            self._since = time.monotonic() if found else self._since
            return
        self._fruitless += 1
        back = pages.end or 0
        if self._patience is None:
            if self._fruitless >= _MOST_FRUITLESS and self.first is None:
                msg = (
                    f"start: is not given, and {self._fruitless} pages of {name} have no such order, back to "
                    f"{datetime_of(back):%Y-%m-%dT%H:%MZ}; allowed: a start, which bounds the search"
                )
                raise BadQuery(msg, parameter="start")
        elif self._fruitless >= _FRUITLESS or time.monotonic() - self._since > self._patience:
            # Older orders of the others would not be the next ones.
            self.cut, self._fruitless, pages.done = True, 0, True
            for one, asked in self._asked.items():
                asked.first = back if asked.first is None else max(asked.first, back)
                self._waiting[one] = deque(row for row in self._waiting[one] if row["timestamp"] >= back)


class Faults(Protocol):
    """What takes the errors of rows that cannot be read."""

    def append(self, error: UnexpectedReply, /) -> None:
        """Take an error."""
        ...


class ExchangePages:
    """Pages backwards through orders: each page ends at the oldest instant of the page before it.

    The pages overlap by that instant. Orders there may be equal, so they are counted, not compared.
    """

    def __init__(self, first: int | None, last: int | None, page: int | None) -> None:
        self.first = first
        self.last = last
        self.end = last
        self.page = page
        self.done = False
        self._seen: Counter[tuple[Any, ...]] = Counter()
        self._stuck = 0

    def accept(self, page: Rows[Any], unread: int = 0) -> list[dict[str, Any]]:
        """The orders of a page, newest first, that no page before it had; ``unread`` more could not be read.

        Raises
        ------
        UnexpectedReply
            If the page does not go back in time, because the service ignores the requested end.
        """
        within = [row for row in page if self.end is None or row["timestamp"] <= self.end]
        if len(page) and not within:
            raise self._ignored(page)
        fresh = self._new(within)
        oldest = _nearest([row["timestamp"] for row in within])
        self.done = (
            not within
            or (self.page is not None and len(page) + unread < self.page)
            or (self.first is not None and oldest < self.first)
        )
        if not self.done:
            near = [row for row in fresh if row["timestamp"] >= oldest]
            if near:
                fresh = near
            elif fresh:
                oldest = fresh[-1]["timestamp"]
            elif len(within) < len(page):
                raise self._ignored(page)
            elif self.page is None:
                self.done = True  # the size of a page is not documented: a page without new orders is the last one
            else:
                msg = f"data: has {len(page)} orders at one instant, {oldest}, and no way to ask for the next ones"
                raise UnexpectedReply(msg, path="data")
        # Whether the end belongs to the page is not documented, so it is one millisecond later.
        end = oldest + 1
        self._stuck = self._stuck + 1 if self.end is not None and end >= self.end else 0
        if self._stuck > _MOST_STUCK and not self.done:
            raise self._ignored(page)
        self.end = end
        self._seen = Counter({key: count for key, count in self._seen.items() if key[-1] <= end})
        self._seen.update(tuple(row.values()) for row in fresh if row["timestamp"] <= end)
        # Whether the end belongs to a range of the service is not documented either.
        return [
            row
            for row in fresh
            if (self.first is None or row["timestamp"] >= self.first)
            and (self.last is None or row["timestamp"] < self.last)
        ]

    def _new(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        again = Counter(self._seen)
        fresh = []
        for row in rows:
            key = tuple(row.values())
            if again[key] > 0:
                again[key] -= 1
            else:
                fresh.append(row)
        return fresh

    def _ignored(self, page: Rows[Any]) -> UnexpectedReply:
        return _no_progress("orders", "end", self.end or 0, [row["timestamp"] for row in page])


def _nearest(times: Sequence[int]) -> int:
    """The oldest of some instants, newest first, before a gap that a wrong time may have made; 0 if there are none."""
    for newer, older in itertools.pairwise(times):
        if newer - older > _FAR:
            return newer
    return times[-1] if times else 0


def _no_progress(what: str, bound: str, at: int, times: Sequence[int]) -> UnexpectedReply:
    """The error for a page that does not go on in time."""
    asked, first, last = (datetime_of(one).isoformat(timespec="milliseconds") for one in (at, min(times), max(times)))
    msg = (
        f"data: the {bound} of the period was {asked}, but the page has {what} from {first} to {last}: the service "
        f"ignores the {bound}, so there is no way to ask for the next page"
    )
    return UnexpectedReply(msg, path="data")


def next_start(
    made: dict[int, dict[str, Any]], page: Sequence[dict[str, Any]], first: int | None, last: int | None, *, full: bool
) -> int | None:
    """Add a page of a series that is read forwards; the start of the next page, ``None`` at the end.

    Parameters
    ----------
    made : dict
        The rows so far, by ``timestamp``.
    page : sequence of dict
        The rows of the page.
    first, last : int, optional
        The requested bounds, epoch milliseconds.
    full : bool
        Whether there may be another page.

    Raises
    ------
    UnexpectedReply
        If the page lies outside the requested time.
    """
    times = [row["timestamp"] for row in page]
    if last is not None and times and min(times) > last:
        raise _no_progress("rows", "end", last, times)
    if first is not None and times and full and max(times) < first:
        raise _no_progress("rows", "start", first, times)
    newest = max(times, default=0)
    # The period that contains the start begins before it.
    least, most = (first or 0) - _WEEK, newest if last is None else last
    made |= {row["timestamp"]: row for row in page if least <= row["timestamp"] <= most}
    is_last = first is None or not full or (last is not None and newest >= last)
    return None if is_last else newest + 1


def earlier_end(
    made: dict[int, dict[str, Any]], page: Sequence[dict[str, Any]], first: int | None, last: int | None
) -> int | None:
    """Add a page of a series that is read backwards; the end of the next page, ``None`` at the end.

    The parameters and errors are those of :func:`next_start`.
    """
    times = [row["timestamp"] for row in page]
    fresh = {at: row for at, row in zip(times, page, strict=True) if at not in made and (last is None or at <= last)}
    if times and not fresh and last is not None and max(times) > last:
        raise _no_progress("rows", "end", last, times)
    made |= fresh
    if not fresh or first is None:
        return None
    oldest = _nearest(sorted(fresh, reverse=True))
    return None if oldest <= first else oldest


def order_of(symbol: str) -> Callable[[dict[str, Any]], bool]:
    """Whether an order is of the requested coin or pair."""
    known: dict[str, bool] = {}

    def wanted(row: dict[str, Any]) -> bool:
        pair = row["symbol"]
        if pair not in known:
            known[pair] = means(symbol, pair)
        return known[pair]

    return wanted
