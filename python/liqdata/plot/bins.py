"""Draws the liquidation map: bars stacked by leverage, cumulative curves and intervals."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, Stroke

from . import amounts, colours, layout
from .marks import marked
from .view import bound_of, outside, view_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from liqdata.results.map import LiquidationMap

    Flags: TypeAlias = npt.NDArray[np.bool_]
    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["liqmap"]

_INTERVAL = "interval, 80 %"
_EXACT = "known positions"


def liqmap(grid: LiquidationMap, ax: Axes | None, *, interval: bool, levels: Any, maxpain: Any) -> Axes:
    """Draw a liquidation map; see :func:`liqdata.plot.liqmap`."""
    ends = (bound_of(grid, "low"), bound_of(grid, "high")) if interval else None
    marks = marked(grid.symbol, levels, maxpain)
    ax = layout.on(ax)
    have = layout.room(ax)
    low, high = view_of(grid)
    seen = (grid.prices >= low) & (grid.prices <= high)
    sides = "sides unknown" if (grid.sides == "unknown").any() else "longs below the price, shorts above"
    entries: list[Any] = []
    floor = np.zeros(len(grid.prices))
    # The legend starts with the lowest leverage, which lies farthest from the price.
    shades = [colours.tiers(len(grid.leverages), side, ax) for side in (colours.LONG, colours.SHORT)]
    if not len(grid.leverages):  # a map that has no leverages is drawn in one colour per side
        floor = np.nan_to_num(grid.total)
        plain = [colours.tiers(1, side, ax)[0] for side in (colours.LONG, colours.SHORT)]
        entries.append(tuple(Patch(color=colour, label="all leverages") for colour in plain))
        colour = np.where(grid.sides == "long", *plain).tolist()
        ax.add_collection(_bars(grid, np.zeros(len(grid.prices)), floor, colour), autolim=False)
    for i, leverage in enumerate(grid.leverages.tolist()):
        entries.append(tuple(Patch(color=of_side[i], label=f"{leverage}×") for of_side in shades))
        if len(grid.prices):
            usd = np.nan_to_num(grid.tiers[:, i])
            colour = np.where(grid.sides == "long", *(of_side[i] for of_side in shades)).tolist()
            ax.add_collection(_bars(grid, floor, floor + usd, colour), autolim=False)
            floor = floor + usd

    if grid.exact_share is not None and grid.exact_share.any():
        exact = np.nan_to_num(grid.total) * grid.exact_share
        tone: Any = {"facecolors": colours.ink(ax), "alpha": 0.45, "linewidths": 0, "zorder": 1.5}
        ax.add_collection(_bars(grid, np.zeros(len(exact)), exact, **tone), autolim=False)
        entries.append(Patch(color=colours.ink(ax), alpha=0.45, label=_EXACT))

    curves = ax.twinx()
    highest = _curves(grid, (low, high), ax, curves, entries)
    tops = floor if ends is None else _whiskers(grid, ends, seen, (low, high), ax, entries=entries)
    for axes, tallest in ((ax, float(np.max(tops[seen], initial=0.0))), (curves, highest)):
        axes.set_ylim(0.0, 1.06 * tallest / marks.fitting(ax)[1] or 1.0)
    if np.isfinite(grid.current_price):
        ax.axvline(grid.current_price, color=colours.NOW, linestyle=(0, (5, 3)), linewidth=1.2 * have.scale)
    if not len(grid.prices):
        layout.note(ax, "no estimated liquidations")
    ax.set_xlim(low, high)
    if marks:
        marks.draw(ax, (low, high), upright=False)
    _axes(grid, ax, curves)
    layout.head(
        ax,
        [f"{amounts.name(grid.symbol)} liquidation map", layout.estimate(grid.meta)],
        [
            f"{grid.range} · {sides}",
            outside(grid, grid.total, low, high),
            f"{grid.updated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        ],
        entries=entries,
        margin=1.5,
    )
    layout.fit(ax, curves)
    return ax


def _bars(
    grid: LiquidationMap, foot: Floats, top: Floats, colour: list[str] | None = None, **look: Any
) -> PolyCollection:
    """The bars of one leverage as one artist; a thousand rectangles would take seconds to draw."""
    left, right = _edges(grid)
    corners = np.stack([left, foot, left, top, right, top, right, foot], axis=1).reshape(-1, 4, 2)
    look = {"facecolors": colour, "linewidths": 0} | look
    return PolyCollection(list(corners), **look)


def _edges(grid: LiquidationMap) -> tuple[Floats, Floats]:
    """The low and the high end of each bin; without a width, bins meet in the middle between their prices."""
    if np.isfinite(grid.bin_width):
        return grid.prices - grid.bin_width / 2, grid.prices + grid.bin_width / 2
    known, place = np.unique(grid.prices, return_inverse=True)
    middles = (known[:-1] + known[1:]) / 2
    if not len(middles):
        return grid.prices * 0.9995, grid.prices * 1.0005
    low = np.concatenate(([2 * known[0] - middles[0]], middles))
    high = np.concatenate((middles, [2 * known[-1] - middles[-1]]))
    return low[place], high[place]


def _curves(grid: LiquidationMap, view: tuple[float, float], ax: Axes, curves: Axes, entries: list[Any]) -> float:
    """Draw the cumulative curve of each side, and return the highest visible value."""
    highest = 0.0
    for side, order, running in grid._outward():  # noqa: SLF001 - the public frame needs pandas
        colour = colours.LONG if side == "long" else colours.SHORT
        entries.append(Line2D([], [], color=colour, linewidth=1.8, label=f"{side}s, cumulative"))
        if not len(order):
            continue
        reach = np.concatenate(([grid.current_price], grid.prices[order]))
        usd = np.concatenate(([0.0], running))
        highest = max(highest, float(np.max(usd[(reach >= view[0]) & (reach <= view[1])])))
        outlined = [Stroke(linewidth=3.4, foreground=ax.get_facecolor()), Normal()]
        curves.plot(reach, usd, color=colour, linewidth=1.8, label=f"{side}s, cumulative", path_effects=outlined)
        # Fill the curve behind the bars, so that it does not change their colours, which show the leverage.
        behind: Any = {"transform": curves.transData, "zorder": 0}
        outline = np.append(reach, reach[[-1, 0]]), np.append(usd, [0.0, 0.0])
        ax.fill(*outline, color=colour, alpha=0.10, linewidth=0, **behind)
    return highest


def _axes(grid: LiquidationMap, ax: Axes, curves: Axes) -> None:
    """Set up the axes: prices below, USD per bin on the left, cumulative USD on the right."""
    have = layout.room(ax)
    size = 8.6 * have.scale
    layout.bare(ax, "y")
    layout.bare(curves, "y")
    curves.grid(visible=False)
    curves.tick_params(colors=colours.ink(ax))
    for axes in (ax, curves):
        axes.yaxis.set_major_locator(amounts.rounded(have.ticks(0.45, upright=True)))
        axes.yaxis.set_major_formatter(amounts.dollars())
    if np.isfinite(grid.current_price):
        layout.tag(ax.xaxis, grid.current_price, have.ticks(0.8))
    layout.lower(ax)
    if not have.small:
        tall = have.height - 1.3 * have.scale
        ax.set_xlabel(f"{amounts.name(grid.symbol)} price, USD", fontsize=size)
        width = f"per {amounts.price(grid.bin_width)} USD bin" if np.isfinite(grid.bin_width) else "per bin"
        unit = layout.broken([width, layout.unit(grid)], tall, size)
        ax.set_ylabel(unit, fontsize=size)
        curves.set_ylabel(layout.broken(["cumulative from the current price, USD"], tall, size), fontsize=size)
        curves.yaxis.label.set_color(colours.ink(ax))


def _whiskers(
    grid: LiquidationMap,
    ends: tuple[Floats, Floats],
    seen: Flags,
    view: tuple[float, float],
    ax: Axes,
    *,
    entries: list[Any],
) -> Floats:
    """Draw intervals, and hatch prices at which they are not validated.

    Returns the highest drawn value of each bin.
    """
    below, above = ends
    there = seen & np.isfinite(above)
    dark = colours.ink(ax)
    ax.vlines(grid.prices[there], below[there], above[there], color=dark, linewidth=0.8, alpha=0.6, label=_INTERVAL)
    entries.append(Line2D([], [], color=dark, linewidth=0.8, alpha=0.6, label=_INTERVAL))
    validated = grid.prices[np.isfinite(above)]
    half = grid.bin_width / 2
    edges = (float(validated.min()) - half, float(validated.max()) + half) if len(validated) else (view[1], view[1])
    beyond = [(start, end) for start, end in ((view[0], edges[0]), (edges[1], view[1])) if start < end]
    look: Any = {"facecolor": "none", "edgecolor": dark, "hatch": "//", "alpha": 0.15, "linewidth": 0}
    for start, end in beyond:
        ax.axvspan(start, end, **look)
    if beyond:
        entries.append(Patch(**look, label="not validated"))
    return np.where(there, above, grid.total)
