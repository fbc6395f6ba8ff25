"""The visible price range of an estimate, and the share of the estimate outside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from liqdata.errors import BadQuery
from liqdata.frames.price import Course, course

if TYPE_CHECKING:
    import numpy.typing as npt

    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap

    Floats: TypeAlias = npt.NDArray[np.float64]
    Times: TypeAlias = npt.NDArray[np.datetime64]

__all__ = ["MASS", "REACH", "bound_of", "bulk", "outside", "price_of", "starts", "view_of", "view_of_heatmap"]

MASS = 0.98
"""Share of the estimated USD that the visible range includes, unless :data:`REACH` limits the range."""

REACH = 0.12
"""Maximum distance of a visible price from the current price and the price line, as a share of the price.

Positions with low leverage are liquidated as far away as half the price. Estimates are not validated there, and their
large bars would make the bars near the price hard to see. The heading shows the share outside the visible range."""


def bulk(prices: Floats, mass: Floats, low: float, high: float) -> tuple[float, float]:
    """Widen a price range to contain the share :data:`MASS` of ``mass``.

    Equal shares are cut off at both ends.
    """
    order = np.argsort(prices)
    running = np.cumsum(np.nan_to_num(mass[order]))
    if not running[-1] > 0:
        return low, high
    cut = (1.0 - MASS) / 2.0
    first, last = np.searchsorted(running / running[-1], (cut, 1.0 - cut))
    last = min(last, len(order) - 1)
    return min(low, float(prices[order[first]])), max(high, float(prices[order[last]]))


def outside(grid: Heatmap | LiquidationMap, mass: Floats, low: float, high: float) -> str:
    """The share of the estimate outside the visible range, as text; empty if it is small."""
    mass = np.nan_to_num(mass)
    # Of a heatmap, the amounts of the last column.
    unshown = sum(float(np.nan_to_num(np.ravel(usd)[-1])) for usd in (grid.outside or {}).values())
    beyond = float(mass[(grid.prices < low) | (grid.prices > high)].sum()) + unshown
    share = beyond / (float(mass.sum()) + unshown) if beyond else 0.0
    return f"{share:.0%} lie beyond the view" if share > 1.0 - MASS else ""


def bound_of(grid: Heatmap | LiquidationMap, bound: str) -> Floats:
    """The low or the high end of the interval of each cell.

    Refused if the map has no interval.
    """
    found = {"low": grid.low, "high": grid.high}.get(bound)
    if bound not in ("low", "high"):
        msg = f"bound: {bound!r} is not allowed; allowed: 'low', 'high' or None"
        raise BadQuery(msg, parameter="bound")
    if found is None:
        msg = "bound: the map has no interval; allowed: maps of model 3 in this process, once it is fitted"
        raise BadQuery(msg, parameter="bound")
    return found


def view_of(grid: LiquidationMap) -> tuple[float, float]:
    """The lowest and highest price to show."""
    price = grid.current_price
    if not np.isfinite(price):  # the middle of the map, if the service sent no price
        price = float(np.average(grid.prices, weights=grid.total)) if grid.total.sum() > 0 else 1.0
    low, high = bulk(grid.prices, grid.total, price, price) if len(grid.prices) else (price, price)
    low, high = max(low, (1.0 - REACH) * price), min(high, (1.0 + REACH) * price)
    margin = 0.03 * (high - low) or 0.01 * high
    return low - margin, high + margin


def view_of_heatmap(grid: Heatmap, mass: Floats | None, line: Course | None) -> tuple[float, float]:
    """The lowest and highest price to show.

    The range includes most of the estimate and the whole price line, as far as :data:`REACH` allows.
    """
    low = high = grid.current_price
    if not np.isfinite(low):  # the middle of the newest column, if the service sent no price
        newest = np.nan_to_num(grid.matrix[:, -1])
        low = high = float(np.average(grid.prices, weights=newest if newest.sum() > 0 else None))
    if line is not None:
        lows, highs = (line.closes, line.closes) if line.bars is None else (line.bars[2], line.bars[1])
        low, high = min(low, float(np.nanmin(lows))), max(high, float(np.nanmax(highs)))
    if mass is not None:
        least, most = (1.0 - REACH) * low, (1.0 + REACH) * high
        low, high = bulk(grid.prices, mass, low, high)
        low, high = max(low, least), min(high, most)
    margin = 0.03 * (high - low) or 0.01 * high
    return low - margin, high + margin


def price_of(grid: Heatmap, price: Any, edges: Times | None) -> Course | None:
    """The price to draw over a heatmap: of the caller, or the bars of the map."""
    if price is False:
        return None
    if price is not None:
        return course(grid.symbol, price, edges)
    own = grid.price
    return None if own is None or not len(own) or edges is None else course(grid.symbol, own, edges)


def starts(times: Times) -> Times:
    """The edges of the columns, computed from the end time of each column."""
    stride = np.diff(times[:2])[0] if len(times) > 1 else np.timedelta64(1, "h")
    return np.concatenate((times[:1] - stride, times))
