"""Selects the plot of an answer, and draws any answer on a new figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["kind_of", "of_kind", "on_figure"]

_WINDOWS = ("1h", "4h", "12h", "24h")
# Columns that identify a kind of rows, most specific kind first.
_COLUMNS = {
    "cascades": {"start", "end", "coin", "side", "usd"},
    "history": {"timestamp", "long_usd", "short_usd", "largest_usd"},
    "chart": {"hour", "side", "total_usd"},
    "coins": {"coin", "long_usd", "short_usd", "cnt"},
    "exchanges": {"exchange", "long_usd", "short_usd", "cnt"},
}


def kind_of(answer: Any) -> str:
    """The name of the plot function for an answer."""
    # Grids and rows have an attribute with their kind. This file cannot import their classes, which import this file.
    picture = getattr(answer, "_picture", None)
    if picture in {"heatmap", "liqmap", "compare"}:
        return str(picture)
    if picture == "rows":
        for kind, columns in _COLUMNS.items():
            if columns <= set(answer.columns):
                return kind
        what = f"rows of {', '.join(answer.columns)}"
    elif isinstance(answer, Mapping):
        if "tiers" in answer:
            return "levels"
        if "d1" in answer or "d7" in answer or "price" in answer:
            return "maxpain"
        if not answer or set(_WINDOWS) & answer.keys():
            return "overview"
        what = f"a mapping of {', '.join(map(repr, list(answer)[:5]))}"
    else:
        what = f"a {type(answer).__name__}"
    allowed = f"the answers of overview, heatmap, liqmap, levels, maxpain, compare, {', '.join(_COLUMNS)}"
    msg = f"answer: {what} has no plot; allowed: {allowed}"
    raise BadQuery(msg, parameter="answer")


def of_kind(kind: str, answer: Any, name: str) -> None:
    """Refuse an answer that another plot function draws."""
    found = kind_of(answer)
    if found != kind:
        msg = f"{name}: the answer of {found}() is drawn by liqdata.plot.{found}; allowed: the answer of {kind}()"
        raise BadQuery(msg, parameter=name)


def on_figure(
    answer: Any,
    draw: Callable[..., Axes],
    options: Mapping[str, Any],
    *,
    dark: bool,
    size: tuple[float, float],
    dpi: float,
) -> Figure:
    """Draw on a new figure that is not registered with pyplot."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from .layout import dress

    with mpl.rc_context():
        mpl.rcdefaults()
        figure = Figure(figsize=size, dpi=dpi, layout="constrained")
        ax = dress(figure) if dark else figure.add_subplot()
        draw(answer, ax, **options)
    return figure
