"""Pages of orders from services that only know an end."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from liqdata.errors import UnexpectedReply

if TYPE_CHECKING:
    from liqdata.results.rows import Rows


class OrderPages:
    """Pages backwards through orders: each page ends at the oldest instant of the page before it.

    The pages overlap by that instant. Orders there may be equal, so they are counted, not compared.
    """

    def __init__(self, first: int | None, last: int | None, page: int | None, most: int | None) -> None:
        self.first = first
        self.end = last
        self.page = page
        self.left = math.inf if most is None else most
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
        if self.first is not None:
            fresh = [row for row in fresh if row["timestamp"] >= self.first]
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
        fresh = fresh[: int(min(self.left, len(fresh)))]
        self.left -= len(fresh)
        self.done = self.done or self.left <= 0
        return fresh
