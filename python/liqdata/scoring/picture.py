"""Score cards as pictures: the gains of maps, nulls and baselines over the reference."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from liqdata.plot import colours, layout

from . import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .card import Scorecard

_MAP = "#f2b134"


def picture(card: Scorecard) -> Figure:
    """Draw a card on a new figure, without a window system."""
    figure = Figure(figsize=(12, 6.75), dpi=150, layout="constrained")
    scores(card, layout.dress(figure))
    return figure


def scores(card: Scorecard, ax: Axes | None = None) -> Axes:
    """Draw each prediction's gain over the reference with its interval, for both sides together; maps first."""
    ax = layout.fresh() if ax is None else ax
    lines: list[tuple[dict[str, Any], str]] = [(row, _MAP) for row in card.rows() if row["side"] == "both"]
    lines += [
        (row, colours.OTHERS)
        for row in card.references()
        if row["side"] == "both" and row["state"] != "path" and row["n"]
    ]
    names = []
    for place, (row, colour) in enumerate(lines):
        ax.plot([row["dig_low"], row["dig_high"]], [place, place], color=colour, linewidth=2.2, solid_capstyle="round")
        ax.plot([row["dig"]], [place], "o", color=colour, markersize=6)
        names.append(f"{row['map']}, {row['state']}")
    ax.axvline(0.0, color=colours.NOW, linestyle=(0, (5, 3)), linewidth=1.1)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel(f"nats per liquidated USD over the {card.meta['reference']} path, 95 % of resampled days")
    # Wrap the title, because the row labels take up width to its left.
    title = textwrap.fill(text.head(card), 90)
    ax.set_title(f"liquidation maps scored\n{title}", loc="left", fontsize=10, color=ax.yaxis.label.get_color())
    return ax
