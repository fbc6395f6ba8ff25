"""Tracks cascades between polls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from liqdata.types import CascadeRow

    from .delivery import Event

__all__ = ["Cascades"]

_HOUR = 60 * 60 * 1000


class _Seen(NamedTuple):
    """An event that has been shown: its time range, whether it is closed, and whether its alert was sent."""

    start: int
    end: int
    closed: bool
    alerted: bool


class Cascades:
    """Tracks cascades between polls.

    Each event is reported when it is large enough, and again when it closes.
    """

    def __init__(self, gap: int, since: int, alert: Decimal) -> None:
        self._gap, self._since, self._alert = gap, since, alert
        self._met: dict[tuple[str, str], list[_Seen]] = {}
        # Events that ended before this are forgotten, and never new.
        self._floor = since

    def start(self) -> int:
        """The start of the time range for the next poll, early enough to include every open event."""
        still = [met.start for line in self._met.values() for met in line if not met.closed]
        return min([self._floor - 2 * self._gap, *still])

    def news(self, rows: Sequence[CascadeRow], now: int) -> Iterator[tuple[Event, bool]]:
        """Yield the events of a poll that must be shown, each with a flag: whether to send an alert."""
        for row in rows:
            line = self._met.setdefault((row["coin"], row["side"]), [])
            # A late order may move the start or the end of an event, or merge two events.
            same = [met for met in line if met.start <= row["end"] and row["start"] <= met.end]
            if row["end"] < self._floor and not same:
                continue
            closed = row["end"] + self._gap < now
            large = row["usd"] >= self._alert
            shown = any(met.closed for met in same) or (bool(same) and not closed)
            alerted = any(met.alerted for met in same)
            if not shown or (large and not alerted):
                yield {**row, "state": "closed" if closed else "open"}, large and not alerted
            remaining = [met for met in line if met not in same]
            met = _Seen(row["start"], row["end"], closed or any(met.closed for met in same), alerted or large)
            self._met[row["coin"], row["side"]] = [*remaining, met]
        self._floor = max(self._floor, now - 2 * _HOUR)
        for key, line in self._met.items():
            self._met[key] = [met for met in line if not met.closed or met.end >= self._floor]
