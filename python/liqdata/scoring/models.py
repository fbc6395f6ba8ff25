"""The engine's own estimates as something to be scored: what a model holds between the price and the extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from .columns import Floats, Millis, refuse

if TYPE_CHECKING:
    from liqdata.market import Market

    from .path import Path


class Estimated(NamedTuple):
    """A model on a market's bars and open interest."""

    name: str
    market: Market
    model: Any
    symbol: str
    period: int
    version: str | None = None

    def crossed(self, instants: Millis, lows: Floats, highs: Floats) -> Floats | None:  # noqa: ARG002 - see below
        """USD that a move to each low and high would have crossed at each instant, (n, 2); NaN where no map is."""
        _sweeps(self.name)

    def refreshed(self, path: Path) -> Floats | None:  # noqa: ARG002 - see below
        """As :meth:`crossed`, with what was opened inside the period."""
        _sweeps(self.name)


def _sweeps(name: str) -> NoReturn:
    refuse("maps", f"{name!r}: a market or a model cannot be swept yet", "a function of an instant, or maps")
