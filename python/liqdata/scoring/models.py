"""The engine's own estimates as something to be scored: the map that a market would have served at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from liqdata.errors import Refused

if TYPE_CHECKING:
    from datetime import datetime

    from liqdata.grids import LiquidationMap
    from liqdata.market import Market
    from liqdata.types import MapRange

RANGE: MapRange = "7d"
"""Positions opened in the last so much time: the longest range of the map that is served."""


@dataclass(frozen=True)
class Served:
    """A market, asked for the map of a coin; it pickles with the market."""

    market: Market
    symbol: str

    def __call__(self, at: datetime) -> LiquidationMap | None:
        """The map as of an instant; ``None`` where the market has no bars for it."""
        try:
            return self.market.liqmap(self.symbol, RANGE, as_of=at)
        except Refused:
            return None
