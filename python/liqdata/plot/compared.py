"""Draws several liquidation maps on the same axes, over the price or over the distance from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from liqdata.errors import BadQuery
from liqdata.results.units import unit_in_words

from . import amounts, colours, layout
from .view import view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from liqdata.results.map import LiquidationMap
    from liqdata.vendors.comparison import Comparison

__all__ = ["compare_maps", "compare_sources"]


def compare_maps(maps: Any, ax: Axes | None) -> Axes:
    """Draw several maps; see :func:`liqdata.plot.compare`."""
    grids = _checked(maps)
    first = next(iter(grids.values()))
    ax = layout.on(ax)
    have = layout.room(ax)
    views = [view_of(grid) for grid in grids.values()]
    low, high = min(view[0] for view in views), max(view[1] for view in views)
    tallest, entries = 0.0, []
    for colour, (name, grid) in zip(colours.GROUPS, grids.items(), strict=False):
        # Amounts per USD of the price axis, so that maps with other bins have the same height for the same density.
        order = np.argsort(grid.prices)
        heights = np.nan_to_num(grid.total[order]) / grid.bin_width * first.bin_width
        seen = (grid.prices[order] >= low) & (grid.prices[order] <= high)
        tallest = max(tallest, float(np.max(heights[seen], initial=0.0)))
        ax.step(grid.prices[order], heights, where="mid", color=colour, linewidth=1.3 * have.scale)
        entries.append(Line2D([], [], color=colour, linewidth=1.8, label=amounts.name(name)))
    ax.axvline(first.current_price, color=colours.NOW, linestyle=(0, (5, 3)), linewidth=1.2 * have.scale)
    ax.set_xlim(low, high)
    ax.set_ylim(0.0, 1.06 * tallest or 1.0)
    layout.bare(ax, "y")
    ax.yaxis.set_major_locator(amounts.rounded(have.ticks(0.45, upright=True)))
    ax.yaxis.set_major_formatter(amounts.dollars())
    layout.tag(ax.xaxis, first.current_price, have.ticks(0.8))
    layout.lower(ax)
    symbol = amounts.name(first.symbol)
    if not have.small:
        size = 8.6 * have.scale
        unit = [f"per {amounts.price(first.bin_width)} USD of the price", unit_in_words(first)]
        ax.set_xlabel(f"{symbol} price, USD", fontsize=size)
        ax.set_ylabel(layout.broken(unit, have.height - 1.3 * have.scale, size), fontsize=size)
    layout.head(
        ax,
        [f"{symbol} liquidation maps", layout.estimate(first.meta)],
        ["longs below the price, shorts above"],
        entries=entries,
        margin=1.2,
    )
    layout.fit(ax)
    return ax


def _checked(maps: Any) -> dict[str, LiquidationMap]:
    allowed = (
        'liquidation maps of one coin by name, such as {"1d": market.liqmap("BTC"), "7d": market.liqmap("BTC", "7d")}'
    )
    if not isinstance(maps, Mapping) or not maps:
        msg = f"maps: {repr(maps)[:60]} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="maps")
    for name, grid in maps.items():
        if getattr(grid, "_picture", None) != "liqmap":
            msg = f"maps: {name!r} is a {type(grid).__name__}; allowed: {allowed}"
            raise BadQuery(msg, parameter="maps")
    for what, found in (
        ("coins", {grid.symbol for grid in maps.values()}),
        ("units", {grid.units for grid in maps.values()}),
    ):
        if len(found) > 1:
            msg = f"maps: they have different {what}: {', '.join(sorted(found))}; allowed: {allowed}"
            raise BadQuery(msg, parameter="maps")
    if len(maps) > len(colours.GROUPS):
        msg = f"maps: {len(maps)} are too many to tell apart; allowed: at most {len(colours.GROUPS)}"
        raise BadQuery(msg, parameter="maps")
    return {str(name): grid for name, grid in maps.items()}


def compare_sources(comparison: Comparison, ax: Axes | None) -> Axes:
    """Draw a comparison; see :func:`liqdata.plot.compare`."""
    ax = layout.on(ax)
    have = layout.room(ax)
    entries = []
    for place, name in enumerate(comparison.names):
        colour = colours.GROUPS[place] if place < len(colours.GROUPS) else colours.OTHERS
        ax.stairs(100.0 * comparison.shares[place], comparison.edges, color=colour, linewidth=1.4 * have.scale)
        ax.axvline(comparison.centres[place], color=colour, linestyle=(0, (2, 3)), linewidth=1.0 * have.scale)
        entries.append(Line2D([], [], color=colour, linewidth=1.8, label=name))
    ax.axvline(0.0, color=colours.NOW, linestyle=(0, (5, 3)), linewidth=1.2 * have.scale)
    ax.set_xlim(comparison.edges[0], comparison.edges[-1])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("distance from the price, %")
    ax.set_ylabel("share of the map, %")
    layout.bare(ax, "y")
    layout.head(
        ax,
        [f"{amounts.name(comparison.symbol)} liquidation maps compared"],
        [comparison.range, "each map as shares of its own sum", "dotted: centre of mass"],
        entries=entries,
    )
    layout.fit(ax)
    return ax
