"""How completely orders were recorded, and known gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import time_range
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from liqdata.results.rows import Rows
    from liqdata.types import Bound, Instant, Window


def coverage(range: Window, *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request the coverage of a window by exchange."""
    return Request("coverage", convert.rows, {"range": range}, as_of)


def gaps(start: Bound | None, end: Bound | None, *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request the known gaps between two instants."""
    return Request("gaps", convert.rows, time_range(start, end), as_of)
