"""Cumulative curves of a map: the USD that a price move would cross, by side.

A bin is a price interval with evenly spread USD: a move that ends inside a bin crosses a part of it
(``docs/explanation/scoring.md`` says why). A bin ends at its width, half way to a closer neighbour, or at the price
of the map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from liqdata.scoring.columns import LONG, SHORT, Floats, Millis

if TYPE_CHECKING:
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap


class Curve(NamedTuple):
    """USD of one side below each price."""

    prices: Floats
    below: Floats

    def over(self, price: float) -> float:
        """USD at prices of at least ``price``."""
        if not len(self.prices):
            return 0.0
        return float(self.below[-1] - np.interp(price, self.prices, self.below))

    def under(self, price: float) -> float:
        """USD at prices of at most ``price``."""
        return float(np.interp(price, self.prices, self.below)) if len(self.prices) else 0.0


class MapCurves(NamedTuple):
    """The curves of longs and shorts of a map at an instant."""

    at: int
    long: Curve
    short: Curve

    def crossed(self, low: float, high: float) -> tuple[float, float]:
        """USD of longs at prices of at least ``low``, and of shorts at prices of at most ``high``."""
        return self.long.over(low), self.short.under(high)


def of_map(grid: LiquidationMap, at: int) -> MapCurves:
    """Curves of a liquidation map, from its fine grid if it has one."""
    if grid.fine is not None:
        return _of_cells(*grid.fine, at=at)
    total = np.nan_to_num(np.asarray(grid.total, dtype=np.float64))
    price = float(grid.current_price)
    width = float(grid.bin_width)
    sides = []
    for side, name in ((LONG, "long"), (SHORT, "short")):
        chosen = grid.sides == name
        sides.append(_curve(grid.prices[chosen], total[chosen], price, side, width))
    return MapCurves(at, *sides)


def _of_cells(start: float, width: float, first: int, turn: int, tiers: Floats, *, at: int) -> MapCurves:
    """Curves from the cells of a logarithmic price grid.

    Cells below the index ``turn`` have longs, the other cells have shorts.
    """
    usd = tiers.sum(axis=0)
    edges = start * np.exp((first + np.arange(len(usd) + 1)) * width)
    longs = first + np.arange(len(usd)) < turn
    below = [np.concatenate(([0.0], np.cumsum(np.where(mine, usd, 0.0)))) for mine in (longs, ~longs)]
    return MapCurves(at, *(Curve(edges, sums) for sums in below))


def of_columns(grid: Heatmap, prices: Floats, *, last: bool) -> list[MapCurves]:
    """Curves of the columns of a heatmap, given the price at the end of each.

    With ``last`` only the last column.
    """
    times = np.asarray(grid.times).astype("datetime64[ms]").astype(np.int64)
    cells = np.nan_to_num(np.asarray(grid.matrix, dtype=np.float64))
    halves = [getattr(grid, name, None) for name in ("long", "short")]
    found = []
    for column in range(len(times) - 1 if last else 0, len(times)):
        price = float(prices[column])
        if not np.isfinite(price):
            continue
        sides = []
        for side, half in zip((LONG, SHORT), halves, strict=True):
            usd = cells[:, column] if half is None else np.nan_to_num(half[:, column])
            mine = (grid.prices < price) == (side == LONG) if half is None else np.ones(len(grid.prices), dtype=bool)
            sides.append(_curve(grid.prices, np.where(mine, usd, 0.0), price, side, np.inf))
        found.append(MapCurves(int(times[column]), *sides))
    return found


def _curve(prices: Floats, usd: Floats, price: float, side: int, width: float) -> Curve:
    """Spread the USD of each bin evenly over its interval."""
    centres, place = np.unique(prices, return_inverse=True)
    if not len(centres):
        return Curve(centres, centres)
    mass = np.bincount(place, usd, len(centres)).astype(np.float64, copy=False)
    half = width / 2.0 if width > 0 else np.inf
    between = (centres[1:] + centres[:-1]) / 2.0
    nearest = np.diff(centres).min() / 2.0 if len(centres) > 1 else 0.0
    lower = np.maximum(centres - half, np.concatenate(([centres[0] - min(half, nearest)], between)))
    upper = np.minimum(centres + half, np.concatenate((between, [centres[-1] + min(half, nearest)])))
    if side == LONG:
        upper = np.where(centres < price, np.minimum(upper, price), upper)
    else:
        lower = np.where(centres > price, np.maximum(lower, price), lower)
    edges = np.column_stack([lower, upper]).ravel()
    sums = np.cumsum(mass)
    below = np.column_stack([np.concatenate(([0.0], sums[:-1])), sums]).ravel()
    return Curve(edges, below)


def newest(maps: list[MapCurves], instants: Millis) -> Millis:
    """The index of the newest map that existed at each instant, or -1.

    The maps are sorted by time.
    """
    times = np.asarray([one.at for one in maps], dtype=np.int64)
    found: Millis = np.searchsorted(times, instants, side="right") - 1
    return found
