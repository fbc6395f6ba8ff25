"""A liquidation map with plotly: bars stacked by leverage, sums from the current price outward."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import numpy as np

from liqdata.plot import amounts, colours, layout
from liqdata.plot.marks import marked
from liqdata.plot.view import bound_of, outside, view_of
from liqdata.results.units import unit_in_words

from .figure import currency, draw_marks, figure, mark_price

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from liqdata.results.map import LiquidationMap

__all__ = ["liqmap"]


def liqmap(grid: LiquidationMap, *, interval: bool, levels: Any, maxpain: Any) -> go.Figure:
    """Draw a liquidation map; see :func:`liqdata.plot.liqmap`."""
    ends = (bound_of(grid, "low"), bound_of(grid, "high")) if interval else None
    marks = marked(grid.symbol, levels, maxpain)
    low, high = view_of(grid)
    found = figure(
        [f"{amounts.name(grid.symbol)} liquidation map", layout.estimate(grid.meta)],
        [
            grid.range,
            "longs below the price, shorts above",
            outside(grid, grid.total, low, high),
            f"{grid.updated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        ],
    )
    for side, colour in (("long", colours.LONG), ("short", colours.SHORT)):
        mine = grid.sides == side
        shades = colours.shades(len(grid.leverages), colour, dark=True)
        for place, leverage in enumerate(grid.leverages.tolist()):
            found.add_bar(
                x=grid.prices[mine],
                y=np.nan_to_num(grid.tiers[mine, place]),
                width=grid.bin_width,
                marker={"color": shades[place], "line": {"width": 0}},
                name=f"{side}s, {leverage}×",
                hovertemplate="price %{x:,.8~r}<br>%{y:,.0f} USD",
            )
    if grid.exact_share is not None and grid.exact_share.any():
        found.add_bar(
            x=grid.prices,
            y=np.nan_to_num(grid.total) * grid.exact_share,
            base=0.0,
            width=grid.bin_width,
            marker={"color": "rgba(255, 255, 255, 0.45)", "line": {"width": 0}},
            name="known positions",
            hovertemplate="price %{x:,.8~r}<br>%{y:,.0f} USD of known positions",
        )
    highest = 0.0
    for side, order, running in grid._outward():  # noqa: SLF001 - the public frame needs pandas
        inside = (grid.prices[order] >= low) & (grid.prices[order] <= high)
        highest = max(highest, float(running[inside].max(initial=0.0)))
        found.add_scatter(
            x=np.append(grid.current_price, grid.prices[order]),
            y=np.append(0.0, running),
            yaxis="y2",
            mode="lines",
            line={"color": colours.light(colours.LONG if side == "long" else colours.SHORT), "width": 2},
            name=f"{side}s, cumulative",
            hovertemplate="price %{x:,.8~r}<br>%{y:,.0f} USD from the current price",
        )
    if ends is not None:
        bounded = np.isfinite(ends[1])
        total = grid.total[bounded]
        found.add_scatter(
            x=grid.prices[bounded],
            y=total,
            mode="markers",
            marker={"size": 1, "color": "#ffffff"},
            error_y={
                "type": "data",
                "array": ends[1][bounded] - total,
                "arrayminus": total - ends[0][bounded],
                "width": 0,
                "thickness": 1,
            },
            name="interval, 80 %",
        )
    mark_price(found, grid.current_price, vertical=True)
    draw_marks(found, marks, (low, high), vertical=True)
    seen = (grid.prices >= low) & (grid.prices <= high)
    tallest = float(np.nan_to_num(grid.total[seen]).max(initial=0.0))
    found.update_layout(
        barmode="stack",
        bargap=0.0,
        legend={"font": {"size": 10}, "y": 1.3 if marks else 1.0},
        margin={"t": 230 if marks else 150, "r": 110},
        yaxis={
            "title": {
                "text": f"per {amounts.price(grid.bin_width)} USD bin · {unit_in_words(grid)}",
                "font": {"size": 11},
            },
            "range": [0.0, 1.06 * tallest or 1.0],
            **currency,
        },
        yaxis2={
            "title": {"text": "cumulative from the current price, USD", "font": {"size": 11}},
            "overlaying": "y",
            "side": "right",
            "range": [0.0, 1.06 * highest or 1.0],
            "tickmode": "auto",
            "showgrid": False,
            **currency,
        },
        xaxis={"title": f"{amounts.name(grid.symbol)} price, USD", "range": [low, high], "tickformat": ",~r"},
    )
    return found
