"""Levels and max pain: the prices with the most estimated liquidations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from liqdata.model import native
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.model import Model
    from liqdata.records import Record
    from liqdata.types import Instants, ModelNumber


def levels(
    symbol: str | Sequence[str], *, model: ModelNumber | Model | None, as_of: Instants | None, explain: bool
) -> Request[Record]:
    """Request the strongest price level on each side, for each leverage tier."""
    return Request("levels", convert.record, {"symbol": symbol, "model": native(model)}, as_of, explain)


def maxpain(
    symbol: str | Sequence[str], *, model: ModelNumber | Model | None, as_of: Instants | None, explain: bool
) -> Request[Record]:
    """Request the strongest price level on each side, for a day and a week."""
    return Request("maxpain", convert.record, {"symbol": symbol, "model": native(model)}, as_of, explain)
