"""The plan: every file that will be requested, with its day, size and price."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from liqdata.endpoints.contract import endpoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .sources import Source

ESTIMATES = ("heatmap", "liqmap", "levels", "maxpain")
"""Answers of the contract that need bars; all others need orders."""

OF_TOTALS = ("overview", "coins", "exchanges", "chart")
"""Answers for which totals of periods are enough."""


@dataclass(frozen=True)
class PlannedFile:
    """A file to request.

    A checksum is a file of its own: every row of the plan is one request.
    """

    source: Source
    stage: int
    """Files of a stage are fetched together, the newest days first."""
    file: str
    """Path below the address of the source."""
    url: str
    table: str
    exchange: str
    coins: tuple[str, ...]
    first: date
    last: date
    size: int | None = None
    is_listed: bool = False
    """Whether the size is that of a listing or an answer to HEAD, and not that of a similar file."""
    sha256: str | None = None
    checksum_of: str | None = None

    @property
    def usd(self) -> float:
        """What the download costs; 0 for sources that are free."""
        return (self.size or 0) / 1e9 * self.source.usd_per_gb


@dataclass(frozen=True)
class Gap:
    """Days that a source does not give, and why."""

    source: str
    exchange: str
    table: str
    coin: str
    first: date
    last: date
    reason: str
    again: bool = False


@dataclass
class Plan:
    """The files to request, and the days that no file has."""

    files: list[PlannedFile] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def minutes(self) -> float:
        """The time that the requests take at the rates of the hosts."""
        per_host: dict[str, float] = {}
        for one in self.files:
            for host, rate in one.source.rates().items():
                if host and f"//{host}/" in one.url:
                    per_host[host] = per_host.get(host, 0.0) + 1.0 / rate
        return sum(per_host.values())

    def answers(self) -> list[tuple[str, list[tuple[date, date]], list[str]]]:
        """Which answers will be known for which days, and of which exchanges."""
        found = []
        for name, endpoint in endpoints().items():
            if not endpoint.extension:
                tables = {"bars"} if name in ESTIMATES else {"orders", *(["totals"] if name in OF_TOTALS else [])}
                used = [one for one in self.files if one.table in tables and one.checksum_of is None]
                names = sorted({one.exchange or "several" for one in used})
                found.append((name, joined((one.first, one.last) for one in used), names))
        return found


def days_of(first: date, last: date) -> list[date]:
    """The days from the first to the last one, newest first."""
    return [last - timedelta(days=back) for back in range((last - first).days + 1)]


def day_of(text: str) -> date:
    """The date of ISO text."""
    return date.fromisoformat(text)


def millis(day: date) -> int:
    """The instant at which a UTC day begins."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def month_end(day: date) -> date:
    """The last day of the month."""
    following = day.replace(day=28) + timedelta(days=4)
    return following.replace(day=1) - timedelta(days=1)


def joined(spans: Iterable[tuple[date, date]]) -> list[tuple[date, date]]:
    """Spans of days without overlaps, oldest first."""
    found: list[tuple[date, date]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + timedelta(days=1):
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def merged(gaps: Sequence[Gap]) -> list[Gap]:
    """Gaps of which those that differ only in their days are one."""
    kinds: dict[tuple[str, str, str, str, str, bool], list[tuple[date, date]]] = {}
    for gap in gaps:
        kind = (gap.source, gap.exchange, gap.table, gap.coin, gap.reason, gap.again)
        kinds.setdefault(kind, []).append((gap.first, gap.last))
    return [
        Gap(source, exchange, table, coin, first, last, reason, again)
        for (source, exchange, table, coin, reason, again), spans in kinds.items()
        for first, last in joined(spans)
    ]


def not_published(missing: int, of: int) -> str:
    """The reason for a day of which some files do not exist."""
    if missing < of:
        return "hours not published (404), perhaps because they had no liquidations"
    return "not published (404)"
