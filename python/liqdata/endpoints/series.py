"""The inputs of the estimates: price bars and open interest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import length, time_range
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from liqdata.results.rows import Rows
    from liqdata.types import Bound, Instant


def bars(
    symbol: str | Sequence[str],
    *,
    start: Bound | None,
    end: Bound | None,
    interval: str | timedelta | int | None,
    as_of: Instant | None,
) -> Request[Rows[Any]]:
    """Request the price bars of a coin."""
    size = None if interval is None else str(length(interval))
    return Request("bars", convert.rows, {"symbol": symbol, "interval": size, **time_range(start, end)}, as_of)


def open_interest(
    symbol: str | Sequence[str], *, start: Bound | None, end: Bound | None, as_of: Instant | None
) -> Request[Rows[Any]]:
    """Request the open-interest readings of a coin."""
    return Request("open_interest", convert.rows, {"symbol": symbol, **time_range(start, end)}, as_of)
