"""The parts that all figures of plotly have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from liqdata.plot import amounts, colours
from liqdata.plot.marks import apart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from liqdata.plot.marks import Mark

__all__ = ["currency", "draw_marks", "figure", "mark_price"]

currency: dict[str, Any] = {"exponentformat": "B"}
"""Settings of an axis of USD: ``5M``, ``1B``."""


def figure(title: Sequence[str], details: Sequence[str]) -> go.Figure:
    """A dark figure with a title and details below it.

    Parameters
    ----------
    title, details : sequence of str
        Parts of the two lines; empty parts are left out.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    first, second = (" · ".join(part for part in parts if part) for parts in (title, details))
    found = go.Figure()
    found.update_layout(
        template="plotly_dark",
        paper_bgcolor=colours.PAPER,
        plot_bgcolor=colours.PAPER,
        font={"family": "system-ui, sans-serif", "size": 12},
        title={"text": first, "subtitle": {"text": second}, "x": 0.01, "y": 0.97, "yanchor": "top"},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0.0, "traceorder": "normal"},
        margin={"l": 70, "r": 90, "t": 100, "b": 50},
    )
    return found


def mark_price(into: go.Figure, price: float, *, vertical: bool) -> None:
    """Add a dashed line with a tag at the current price.

    Parameters
    ----------
    into : plotly.graph_objects.Figure
        The figure.
    price : float
        The current price.
    vertical : bool
        Whether prices are on the horizontal axis.
    """
    look: Mapping[str, Any] = {"line": {"color": colours.NOW, "dash": "dash", "width": 1.3}}
    tag: dict[str, Any] = {
        "text": f"<b>{amounts.price(price)}</b>",
        "showarrow": False,
        "bgcolor": colours.NOW,
        "font": {"color": "#ffffff", "size": 11},
    }
    if vertical:
        into.add_vline(price, **look)
        into.add_annotation(x=price, y=0.0, yref="paper", yanchor="top", **tag)
    else:
        into.add_hline(price, **look)
        into.add_annotation(x=1.0, xref="paper", xanchor="left", y=price, **tag)


def draw_marks(into: go.Figure, marks: Sequence[Mark], view: tuple[float, float], *, vertical: bool) -> None:
    """Add a line and a label for each mark in view; labels do not overlap.

    Parameters
    ----------
    into : plotly.graph_objects.Figure
        The figure.
    marks : sequence of Mark
        Levels and max pain.
    view : tuple of float
        The lowest and the highest price in view.
    vertical : bool
        Whether prices are on the horizontal axis.
    """
    low, high = view
    seen = sorted(mark for mark in marks if low <= mark.price <= high)
    places = apart([(mark.price - low) / (high - low) for mark in seen], 0.02 if vertical else 0.045)
    for mark, place in zip(seen, places, strict=True):
        colour = colours.LONG if mark.side == "long" else colours.SHORT
        line = {"color": colour, "width": 1.2, "dash": "solid" if mark.strong else "dot"}
        text = {"text": mark.words, "showarrow": False, "font": {"size": 10, "color": colours.light(colour)}}
        if vertical:
            into.add_vline(mark.price, line=line)
            into.add_annotation(x=place, xref="paper", y=1.0, yref="paper", yanchor="bottom", textangle=-90, **text)
        else:
            into.add_hline(mark.price, line=line)
            into.add_annotation(x=-0.005, xref="paper", xanchor="right", y=place, yref="paper", **text)
