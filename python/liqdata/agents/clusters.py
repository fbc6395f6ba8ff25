"""Clusters of a liquidation map: runs of neighbouring bins that exceed the mean of their side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .schema import column

if TYPE_CHECKING:
    from liqdata.results.map import LiquidationMap

__all__ = ["COLUMNS", "clusters"]

COLUMNS = [
    column("side", "text", "Side of the positions: LONG or SHORT."),
    column("low_price", "float", "Lower edge", "USD"),
    column("high_price", "float", "Upper edge", "USD"),
    column("peak_price", "float", "Centre of its largest bin", "USD"),
    column("distance_pct", "float", "Signed distance of the edge nearest to the price, in percent of the price"),
    column("amount", "float", "Sum of its bins, in `units` of the reply"),
    column("side_share", "float", "Its share of all bins of its side, 0 to 1"),
    column("low_amount", "float", "Sum of the low ends of the 80 % intervals of its bins; null: no validated interval"),
    column("high_amount", "float", "Sum of the high ends of these intervals; null: no validated interval"),
]


def clusters(found: LiquidationMap) -> list[dict[str, Any]]:
    """The clusters of a map, largest first.

    Parameters
    ----------
    found : LiquidationMap
        The map.

    Returns
    -------
    list of dict
        With the keys of :data:`COLUMNS`.

    Examples
    --------
    >>> import liqdata
    >>> found = clusters(liqdata.demo().liqmap("BTC", "7d"))
    >>> found[0]["low_price"] < found[0]["peak_price"] < found[0]["high_price"]
    True
    """
    import numpy as np

    made = []
    low, high, half = found.low, found.high, found.bin_width / 2
    for side in ("long", "short"):
        chosen = np.flatnonzero((found.sides == side) & (found.total > 0))
        if not len(chosen):
            continue
        chosen = chosen[np.argsort(found.prices[chosen])]
        whole = float(found.total[chosen].sum())
        strong = chosen[found.total[chosen] >= found.total[chosen].mean()]
        # Bins are neighbours if their centres are one width apart.
        breaks = np.flatnonzero(np.diff(found.prices[strong]) > 1.5 * found.bin_width) + 1
        for bins in np.split(strong, breaks):
            amount = float(found.total[bins].sum())
            bottom, top = float(found.prices[bins[0]]) - half, float(found.prices[bins[-1]]) + half
            near = top if side == "long" else bottom
            # Without a validated interval a bin reaches from 0 to infinity.
            validated = low is not None and high is not None and bool(np.isfinite(high[bins]).all())
            made.append(
                {
                    "side": side.upper(),
                    "low_price": bottom,
                    "high_price": top,
                    "peak_price": float(found.prices[bins[np.argmax(found.total[bins])]]),
                    "distance_pct": 100 * (near / found.current_price - 1),
                    "amount": amount,
                    "side_share": amount / whole,
                    "low_amount": float(low[bins].sum()) if low is not None and validated else None,
                    "high_amount": float(high[bins].sum()) if high is not None and validated else None,
                }
            )
    return sorted(made, key=lambda each: -each["amount"])
