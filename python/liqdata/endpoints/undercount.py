"""Estimates of liquidations that exchanges omit because they publish only a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from liqdata.results.rows import Rows
    from liqdata.types import Instant, Window


def undercount(range: Window, *, as_of: Instant | None) -> Request[Rows[Any]]:
    """Request published and estimated USD by exchange."""
    return Request("undercount", convert.rows, {"range": range}, as_of)
