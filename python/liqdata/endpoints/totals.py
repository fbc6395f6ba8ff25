"""Realised totals: by window, by coin, by exchange, by hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.results.record import Record
    from liqdata.results.rows import Rows
    from liqdata.types import Instant, Window


def overview(*, as_of: Instant | None) -> Request[Record]:
    """Request totals and order counts by window."""
    return Request("overview", convert.record, as_of=as_of)


def coins(range: Window, limit: int, *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request totals by coin."""
    return Request("coins", convert.rows, {"range": range, "limit": limit}, as_of)


def exchanges(range: Window, *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request totals by exchange."""
    return Request("exchanges", convert.rows, {"range": range}, as_of)


def chart(symbol: str | Sequence[str], *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request totals by hour and side."""
    return Request("chart", convert.rows, {"symbol": symbol}, as_of)
