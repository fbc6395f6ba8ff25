"""Draws key levels and max pain as marks on a map of the same coin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.errors import BadQuery

from . import amounts, colours, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Mark", "Marks", "marked"]


_LEAST = 0.4
"""Least share of the height of a liquidation map that its bars keep."""


class Mark(NamedTuple):
    """A marked price with its label."""

    price: float
    side: str
    words: str
    strong: bool


class Marks(list[Mark]):
    """The marks of one map."""

    def fitting(self, ax: Axes) -> tuple[list[Mark], float]:
        """The marks of a liquidation map with labels that fit, and the share of the height left below them.

        Without enough height, labels lose their amount; without enough for that, they are not drawn.
        """
        have = layout.room(ax)
        height = max(0.6, have.height - 1.7 * have.scale)
        for marks in (self, [mark._replace(words=mark.words.partition(",")[0]) for mark in self]):
            widest = max(
                (layout.wide(f"← {each.words} {amounts.price(each.price)}", _size(have)) for each in marks), default=0.0
            )
            left = 1.0 - (widest + 0.1) / height
            if not self or (left > _LEAST and not have.small):
                return list(marks), left if self else 1.0
        return [mark._replace(words="") for mark in self], 1.0

    def draw(self, ax: Axes, view: tuple[float, float], *, upright: bool = True) -> None:
        """Draw each mark as a line with a label at its end.

        Labels of a heatmap are on the left of the axes, labels of a liquidation map above the bars. If the price of a
        mark is not visible, its label is at the edge and has an arrow.
        """
        have = layout.room(ax)
        low, high = view
        marks, below = (list(self), 1.0) if upright else self.fitting(ax)
        end = below if below == 1.0 else below - 0.02
        labels = []
        for mark in sorted(marks):
            colour = colours.LONG if mark.side == "long" else colours.SHORT
            words = mark.words
            seen = low <= mark.price <= high
            if seen:
                style: Any = "-" if mark.strong else (0, (1, 2))
                look: Any = {
                    "color": colour,
                    "linewidth": (1.4 if mark.strong else 1.1) * have.scale,
                    "linestyle": style,
                }
                if upright:
                    ax.axhline(mark.price, **look)
                else:
                    ax.axvline(mark.price, 0.0, end, **look)
            elif words:
                arrow = ("↓" if upright else "←") if mark.price < low else ("↑" if upright else "→")
                words = f"{arrow} {words} {amounts.price(mark.price)}"
            if not words:
                continue
            labels.append(_Label(min(max((mark.price - low) / (high - low), 0.0), 1.0), words, colour, seen))
        if not have.small:
            _spread(ax, labels, end, upright=upright)


class _Label(NamedTuple):
    """A label: its place along the axis (0 to 1), text, colour, and whether a line ends there."""

    place: float
    words: str
    colour: str
    leader: bool


def _size(have: layout.Room) -> float:
    return 7.4 * have.scale


def _spread(ax: Axes, labels: list[_Label], end: float, *, upright: bool) -> None:
    """Write labels along an edge of the axes, moved apart so that they do not overlap, each with a leader."""
    have = layout.room(ax)
    size = _size(have)
    length = 72.0 * ((have.height - 1.3 * have.scale) if upright else (have.width - 1.6 * have.scale))
    gap = 1.7 * size / length
    places = apart([label.place for label in labels], gap)
    dark = colours.is_dark(ax)
    for place, label in zip(places, labels, strict=True):
        colour = colours.light(label.colour) if dark else label.colour
        ends = ((0.0, label.place), (-0.012, place)) if upright else ((label.place, end), (place, end + 0.018))
        if label.leader:
            across, along = zip(*ends, strict=True)
            ax.plot(
                across,
                along,
                transform=ax.transAxes,
                color=colour,
                linewidth=0.8,
                clip_on=False,
                scalex=False,
                scaley=False,
            )
        ax.text(
            -0.016 if upright else place,
            place if upright else end + 0.024,
            label.words,
            transform=ax.transAxes,
            fontsize=size,
            color=colour,
            ha="right" if upright else "center",
            va="center" if upright else "bottom",
            rotation=0 if upright else 90,
            zorder=9,
        )


def apart(places: list[float], gap: float) -> list[float]:
    """Move sorted places (0 to 1) at least ``gap`` apart."""
    places = [max(0.5 * gap, min(1.0 - 0.5 * gap, place)) for place in places]
    for one in range(1, len(places)):
        places[one] = max(places[one], places[one - 1] + gap)
    if places and places[-1] > 1.0 - 0.5 * gap:
        places[-1] = 1.0 - 0.5 * gap
        for one in range(len(places) - 2, -1, -1):
            places[one] = min(places[one], places[one + 1] - gap)
    return places


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
