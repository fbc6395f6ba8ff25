"""A heatmap with plotly: cells with a logarithmic colour scale, the price over them, and levels."""

from __future__ import annotations

import math
from datetime import UTC
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.colors import Colormap, to_hex

from liqdata.plot import amounts, colours, layout
from liqdata.plot.marks import marked
from liqdata.plot.view import bound_of, outside, price_of, starts, view_of_heatmap
from liqdata.results.units import unit_in_words

from .figure import draw_marks, figure, mark_price

if TYPE_CHECKING:
    from liqdata.frames.price import Course
    from liqdata.plot.heat import Scale
    from liqdata.results.heatmap import Heatmap

__all__ = ["heatmap"]

_CANDLES = 240
"""Most candles in a figure; more are merged."""


def heatmap(
    grid: Heatmap,
    *,
    price: Any,
    candles: bool,
    bound: str | None,
    scale: Scale,
    levels: Any,
    maxpain: Any,
) -> go.Figure:
    """Draw a heatmap; see :func:`liqdata.plot.heatmap`."""
    scale = scale.checked()
    shown = grid.matrix if bound is None else bound_of(grid, bound)
    marks = marked(grid.symbol, levels, maxpain)
    line = price_of(grid, price, starts(grid.times) if len(grid.times) else None)
    line = None if line is None else line.coarser(_CANDLES)
    cells = np.where(np.isfinite(shown) & (shown > 0.0) & (shown >= (scale.threshold or 0.0)), shown, np.nan)
    filled = np.nan_to_num(cells)
    low, high = view_of_heatmap(grid, filled.sum(axis=1) if filled.any() else None, line)
    last = filled[:, -1] if filled.any() else np.zeros(len(grid.prices))
    expected = "expected liquidations" if grid.model == 3 else "open interest exposed"  # noqa: PLR2004 - the model
    drawn = "" if line is None or not line.span else f"price: {amounts.span(line.span)}"
    found = figure(
        [f"{amounts.name(grid.symbol)} liquidation heatmap", layout.estimate(grid.meta)],
        [
            f"{grid.range} · model {grid.model}, {expected}",
            outside(grid, last, low, high) if bound is None else f"{bound} end of the interval",
            "" if scale.threshold is None else f"cells from {amounts.short(scale.threshold)}",
            drawn,
            f"{grid.updated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        ],
    )
    if filled.any():
        found.add_trace(_cells(grid, cells, scale, scale.ends(shown, grid.prices, (low, high))))
    if line is not None:
        found.add_trace(_candles(line) if candles and line.bars is not None else _closes(line))
    mark_price(found, grid.current_price, vertical=False)
    draw_marks(found, marks, (low, high), vertical=False)
    if marks:
        found.update_layout(margin={"l": 140})
    found.update_xaxes(title="time, UTC", rangeslider={"visible": False}, showgrid=False)
    found.update_yaxes(
        title={"text": f"{amounts.name(grid.symbol)} price, USD", "standoff": 24},
        range=[low, high],
        side="right",
        showgrid=False,
        tickformat=",~r",
    )
    found.update_layout(plot_bgcolor=colours.BACKGROUND, showlegend=False)
    return found


def _cells(grid: Heatmap, cells: Any, scale: Scale, found: colours.Peaks) -> go.Heatmap:
    """The cells; plotly has no logarithmic colour scale, so that colours are of the logarithm."""
    bottom, _, top = found
    ends = math.log10(bottom), math.log10(top)
    ticks = [
        digit * 10.0**power
        for power in range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
        for digit in (1, 2, 5)
        if bottom <= digit * 10.0**power <= top
    ]
    # Each column is drawn around the middle of its time.
    edges = starts(grid.times)
    return go.Heatmap(
        x=edges[:-1] + np.diff(edges) / 2,
        y=grid.prices,
        z=np.log10(cells),
        customdata=cells,
        zmin=ends[0],
        zmax=ends[1],
        colorscale=_colours(scale.map(found)),
        hovertemplate="%{x} UTC<br>price %{y:,.8~r}<br>%{customdata:,.0f} USD<extra></extra>",
        colorbar={
            "title": {"text": f"{unit_in_words(grid)} per cell", "side": "right"},
            "tickvals": [math.log10(tick) for tick in ticks],
            "ticktext": [amounts.short(tick) for tick in ticks],
            "thickness": 12,
            "x": 1.16,
        },
        name="estimate",
    )


def _colours(map_: Colormap) -> list[list[Any]]:
    return [[place / 64, to_hex(map_(place / 64))] for place in range(65)]


def _candles(line: Course) -> go.Candlestick:
    assert line.bars is not None  # noqa: S101 - checked by the caller
    opens, highs, lows = line.bars
    middles = line.times - np.timedelta64((line.span or 0) // 2, "ms")
    return go.Candlestick(
        x=middles,
        open=opens,
        high=highs,
        low=lows,
        close=line.closes,
        increasing={"line": {"color": colours.PRICE, "width": 1}, "fillcolor": colours.PRICE},
        decreasing={"line": {"color": colours.PRICE, "width": 1}, "fillcolor": colours.PAPER},
        name="price",
    )


def _closes(line: Course) -> go.Scatter:
    look = {"color": colours.PRICE, "width": 1.4}
    return go.Scatter(x=line.times, y=line.closes, mode="lines", line=look, name="price")
