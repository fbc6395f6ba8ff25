"""Observed positions of single accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.results.rows import Rows
    from liqdata.types import Instant


def positions(symbol: str | Sequence[str], *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request the positions of a coin in the last snapshot."""
    return Request("positions", convert.positions, {"symbol": symbol}, as_of)
