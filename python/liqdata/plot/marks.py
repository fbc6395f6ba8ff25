"""Draws key levels and max pain as marks on a map of the same coin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.errors import BadQuery

from . import amounts, colours, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Mark", "Marks", "marked"]


class Mark(NamedTuple):
    """A marked price with its label."""

    price: float
    side: str
    words: str
    strong: bool


class Marks(list[Mark]):
    """The marks of one map."""

    def draw(self, ax: Axes, view: tuple[float, float], *, upright: bool = True) -> None:
        """Draw each mark as a labelled line.

        If the price of a mark is not visible, its label is at the edge and has an arrow.
        """
        have = layout.room(ax)
        low, high = view
        labels = []
        for mark in sorted(self):
            colour = colours.LONG if mark.side == "long" else colours.SHORT
            words = mark.words
            if low <= mark.price <= high:
                line = ax.axhline if upright else ax.axvline
                style: Any = "-" if mark.strong else (0, (1, 2))
                line(mark.price, color=colour, linewidth=(1.4 if mark.strong else 1.1) * have.scale, linestyle=style)
            else:
                arrow = ("↓" if upright else "←") if mark.price < low else ("↑" if upright else "→")
                words = f"{arrow} {words} {amounts.price(mark.price)}"
            labels.append([min(max((mark.price - low) / (high - low), 0.0), 1.0), words, colour])
        if not have.small:
            _spread(ax, labels, upright=upright)


def _spread(ax: Axes, labels: list[list[Any]], *, upright: bool) -> None:
    """Write labels along an edge of the axes, moved apart so that they do not overlap."""
    have = layout.room(ax)
    size = 7.4 * have.scale
    length = 72.0 * ((have.height - 1.3 * have.scale) if upright else (have.width - 1.6 * have.scale))
    gap = 1.7 * size / length
    places = [max(0.5 * gap, min(1.0 - 0.5 * gap, label[0])) for label in labels]
    for _ in range(len(places)):
        for one in range(1, len(places)):
            places[one] = max(places[one], places[one - 1] + gap)
        over = places[-1] + 0.5 * gap - 1.0 if places else 0.0
        if over <= 1e-9:  # noqa: PLR2004 - rounding
            break
        places[-1] -= over
        for one in range(len(places) - 2, -1, -1):
            places[one] = min(places[one], places[one + 1] - gap)
    background = colours.PAPER if upright else ax.get_facecolor()
    behind = {
        "boxstyle": "round,pad=0.12",
        "facecolor": background,
        "edgecolor": "none",
        "alpha": 0.6 if upright else 0.85,
    }
    for place, (_, words, colour) in zip(places, labels, strict=True):
        ax.text(
            0.01 if upright else place,
            place if upright else 0.97,
            words,
            transform=ax.transAxes,
            fontsize=size,
            color=_light(colour) if upright else colour,
            ha="left" if upright else "center",
            va="center" if upright else "top",
            rotation=0 if upright else 90,
            bbox=behind,
            zorder=9,
        )


def _light(colour: str) -> str:
    """The text colour of a label on a dark map, for the colour of its side."""
    return {colours.LONG: "#7fd3ec", colours.SHORT: "#ffb48a"}[colour]


def marked(symbol: str, levels: Any, maxpain: Any) -> Marks:
    """Convert the answers of ``levels()`` and ``maxpain()`` to marks; answers for another coin are refused."""
    marks = Marks()
    for leverage, tier in _answer("levels", symbol, levels, "tiers").items():
        for side in ("long", "short"):
            if f"{side}Price" in tier:
                marks.append(Mark(float(tier[f"{side}Price"]), side, f"{leverage}×", strong=False))
    if maxpain is not None:
        _answer("maxpain", symbol, maxpain, None)
        for key, span in (("d1", "1 d"), ("d7", "7 d")):
            for side in ("long", "short"):
                if (cluster := maxpain.get(key, {}).get(side)) is not None:
                    words = f"max pain {span}, {amounts.brief(cluster['usd'])}"
                    marks.append(Mark(float(cluster["price"]), side, words, strong=True))
    return marks


def _answer(name: str, symbol: str, answer: Any, member: str | None) -> Any:
    if answer is None:
        return {}
    allowed = f"the answer of {name}({symbol!r})"
    if not isinstance(answer, Mapping) or "symbol" not in answer or (member and member not in answer):
        msg = f"{name}: {repr(answer)[:60]} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter=name)
    if str(answer["symbol"]) != symbol:
        msg = f"{name}: the answer is for {answer['symbol']!r}, the map for {symbol!r}; allowed: {allowed}"
        raise BadQuery(msg, parameter=name)
    return answer[member] if member else answer
