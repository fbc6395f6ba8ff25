"""Draws maps of several sources over the distance from the price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from . import amounts, colours, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from liqdata.vendors.comparison import Comparison

__all__ = ["compare"]


def compare(comparison: Comparison, ax: Axes | None) -> Axes:
    """Draw a comparison; see :func:`liqdata.plot.compare`."""
    ax = layout.fresh() if ax is None else ax
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
