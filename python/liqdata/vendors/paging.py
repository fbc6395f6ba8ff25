"""Pages of orders from services that only know an end."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import datetime_of
from liqdata.errors import BadQuery, UnexpectedReply

from .vocabulary import means

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from liqdata.results.rows import Rows


ORDERS_AT_ONCE = 1000
"""Maximum number of rows of ``orders``, and of those that it skips."""
_FRUITLESS, _MOST_FRUITLESS = 50, 200
"""Pages in a row without a wanted order, after which ``orders`` ends, and after which ``iter_orders`` needs a start."""


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
            fresh = (row for row in self._asked[name].accept(page) if self.is_alone or row["exchange"] == name)
            wanted = list(filter(self._wanted, fresh))
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

    def accept(self, page: Rows[Any]) -> list[dict[str, Any]]:
        """The orders of a page that no page before it had."""
        again = Counter(self._seen)
        fresh = []
        for row in page:
            key = tuple(row.values())
            if again[key] > 0:
                again[key] -= 1
            else:
                fresh.append(row)
        oldest = min((row["timestamp"] for row in page), default=0)
        if (
            not len(page)
            or (self.page is not None and len(page) < self.page)
            or (self.first is not None and oldest < self.first)
        ):
            self.done = True
        elif not fresh and self.page is None:
            self.done = True  # the size of a page is not documented: a page without new orders is the last one
        elif not fresh:
            msg = f"data: has {len(page)} orders at one instant, {oldest}, and no way to ask for the next ones"
            raise UnexpectedReply(msg, path="data")
        # Whether the end belongs to the page is not documented, so it is one millisecond later.
        self.end = oldest + 1
        self._seen = Counter({key: count for key, count in self._seen.items() if key[-1] <= self.end})
        self._seen.update(tuple(row.values()) for row in fresh if row["timestamp"] <= self.end)
        # Whether the end belongs to a range of the service is not documented either.
        return [
            row
            for row in fresh
            if (self.first is None or row["timestamp"] >= self.first)
            and (self.last is None or row["timestamp"] < self.last)
        ]


def order_of(symbol: str) -> Callable[[dict[str, Any]], bool]:
    """Whether an order is of the requested coin or pair."""
    known: dict[str, bool] = {}

    def wanted(row: dict[str, Any]) -> bool:
        pair = row["symbol"]
        if pair not in known:
            known[pair] = means(symbol, pair)
        return known[pair]

    return wanted
