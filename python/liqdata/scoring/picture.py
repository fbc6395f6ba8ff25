"""A card as one picture: what each map adds to the reference, beside what its nulls and the baselines add."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from liqdata.plot import colours, paper

from . import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .card import Scorecard

_MAP = "#f2b134"


def picture(card: Scorecard) -> Figure:
    """Draw a card on a figure of its own, without a window system."""
    figure = Figure(figsize=(12, 6.75), dpi=150, layout="constrained")
    scores(card, paper.dress(figure))
    return figure


def scores(card: Scorecard, ax: Axes | None = None) -> Axes:
    """Draw dIG with its interval, one line each, maps above, both sides together."""
    ax = paper.fresh() if ax is None else ax
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
    ax.set_xlabel(f"nats per liquidated USD over the {card.meta['reference']} path, 95 % of days drawn anew")
    # The names of the lines stand to the left of what a title may be as wide as.
    said = textwrap.fill(text.head(card), 90)
    ax.set_title(f"liquidation maps scored\n{said}", loc="left", fontsize=10, color=ax.yaxis.label.get_color())
    return ax
