"""Draws key levels and max pain: the strongest price levels, with distance and strength."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.patches import Patch

from . import amounts, colours, layout
from .view import REACH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

__all__ = ["levels", "maxpain"]


class _Rung(NamedTuple):
    """A price level to draw: column, side, price, strength (0 to 1) and label.

    A far rung is drawn at the edge of the visible range.
    """

    column: int
    side: str
    price: float
    strength: float
    words: str
    far: bool = False


def levels(answer: Mapping[str, Any], ax: Axes | None) -> Axes:
    """Draw key levels; see :func:`liqdata.plot.levels`."""
    price = float(answer["price"])
    tiers = sorted(answer["tiers"].items(), key=lambda tier: float(tier[0]))
    rungs = [
        _Rung(
            column,
            side,
            float(tier[f"{side}Price"]),
            float(tier.get(f"{side}Intensity", 0.0)),
            _distance(float(tier[f"{side}Price"]), price),
        )
        for column, (_, tier) in enumerate(tiers)
        for side in ("long", "short")
        if f"{side}Price" in tier
    ]
    columns = [f"{amounts.name(leverage)}×" for leverage, _ in tiers]
    return _ladder(
        answer, ax, rungs, columns, subject="key levels", details=["area of a dot: intensity, 0 to 1"], below="leverage"
    )


def maxpain(answer: Mapping[str, Any], ax: Axes | None) -> Axes:
    """Draw max pain; see :func:`liqdata.plot.maxpain`."""
    price = float(answer["price"])
    spans = [(key, words) for key, words in (("d1", "1 day"), ("d7", "7 days")) if key in answer]
    found = [
        (column, side, answer[key][side])
        for column, (key, _) in enumerate(spans)
        for side in ("long", "short")
        if side in answer[key]
    ]
    most = max((float(cluster["usd"]) for _, _, cluster in found), default=0.0)
    rungs = [
        _Rung(
            column,
            side,
            float(cluster["price"]),
            float(cluster["usd"]) / most if most > 0 else 0.0,
            f"{_distance(float(cluster['price']), price)}\n{amounts.brief(float(cluster['usd']))} USD",
        )
        for column, side, cluster in found
    ]
    ax = layout.on(ax)
    columns = [
        words.replace(" days", " d").replace(" day", " d")
        if layout.room(ax).small
        else f"{words}\nlongs {amounts.brief(float(answer[key]['totalLong']))}, "
        f"shorts {amounts.brief(float(answer[key]['totalShort']))}"
        if {"totalLong", "totalShort"} <= answer[key].keys()
        else words
        for key, words in spans
    ]
    return _ladder(
        answer,
        ax,
        rungs,
        columns,
        subject="max pain",
        details=["area of a dot: USD of the cluster"],
        below="positions opened within",
    )


def _distance(at: float, price: float) -> str:
    return f"{amounts.price(at)}  {_percent(at, price)}"


def _percent(at: float, price: float) -> str:
    return f"{100.0 * (at / price - 1.0):+.1f} %".replace("-", "−")


def _fitting(rungs: Sequence[_Rung], columns: int, price: float, ax: Axes) -> list[_Rung]:
    """Fit all labels into the column width: in one line, two lines, as distance only, or not at all."""
    size = 7.8 * layout.room(ax).scale
    inches = (layout.room(ax).width - 1.3 * layout.room(ax).scale) / (columns + 0.2)
    for words in (
        [rung.words for rung in rungs],
        [rung.words.replace("  ", "\n") for rung in rungs],
        [_percent(rung.price, price) for rung in rungs],
    ):
        widest = max((layout.wide(line, size) for several in words for line in several.split("\n")), default=0.0)
        if widest + 0.05 < inches:
            return [rung._replace(words=label) for rung, label in zip(rungs, words, strict=True)]
    return [rung._replace(words="") for rung in rungs]


def _within_reach(rungs: Sequence[_Rung], price: float) -> list[_Rung]:
    """Move far rungs to the edge of the visible range, or they would leave no room for the near ones."""
    distances = [abs(rung.price / price - 1.0) for rung in rungs]
    reach = max(REACH, 1.05 * min(distances, default=0.0))
    return [
        rung
        if distance <= reach
        else rung._replace(
            price=price * (1.0 + reach if rung.price > price else 1.0 - reach),
            words=f"{'↑' if rung.price > price else '↓'} {rung.words}".strip(),
            far=True,
        )
        for rung, distance in zip(rungs, distances, strict=True)
    ]


def _ladder(
    answer: Mapping[str, Any],
    ax: Axes | None,
    rungs: Sequence[_Rung],
    columns: Sequence[str],
    *,
    subject: str,
    details: Sequence[str],
    below: str,
) -> Axes:
    price = float(answer["price"])
    meta = getattr(answer, "meta", {})
    ax = layout.on(ax)
    have = layout.room(ax)
    size = 8.6 * have.scale
    rungs = _within_reach(_fitting(rungs, len(columns), price, ax), price)
    layout.bare(ax, "y")
    ax.axhline(price, color=colours.NOW, linestyle=(0, (5, 3)), linewidth=1.2 * have.scale)
    for rung in rungs:
        colour = colours.LONG if rung.side == "long" else colours.SHORT
        ax.plot([rung.column, rung.column], [price, rung.price], color=colour, linewidth=2.0 * have.scale)
        marker = "o" if not rung.far else "^" if rung.price > price else "v"
        area = 14.0 + 260.0 * have.scale**2 * rung.strength
        ax.scatter([rung.column], [rung.price], area, color=colour, marker=marker, zorder=3)
        if not have.small:
            outward = 1.0 if rung.price >= price else -1.0
            reach = 3.0 + (14.0 + 260.0 * have.scale**2 * rung.strength) ** 0.5 / 2.0
            ax.annotate(
                rung.words,
                (rung.column, rung.price),
                xytext=(0.0, outward * reach),
                textcoords="offset points",
                ha="center",
                va="bottom" if outward > 0 else "top",
                fontsize=7.8 * have.scale,
                color=colours.ink(ax),
            )
    far = [rung.far for rung in rungs]
    _frame(ax, rungs, price)
    ax.set_xticks(range(len(columns)), list(columns))
    ax.set_xlim(-0.6, max(len(columns), 1) - 0.4)
    if not rungs:
        layout.note(ax, "no estimated liquidations")
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    layout.tag(ax.yaxis, price, have.ticks(0.42, upright=True))
    ax.tick_params(axis="y", length=0.0)
    symbol = amounts.name(answer["symbol"])
    if not have.small:
        ax.set_ylabel(f"{symbol} price, USD", fontsize=size, labelpad=7.0 * have.scale)
        ax.set_xlabel(below, fontsize=size)
    when = datetime.fromtimestamp(int(answer["updatedAt"]) / 1000, UTC) if "updatedAt" in answer else None
    layout.head(
        ax,
        [f"{symbol} {subject}", layout.estimate(meta)],
        [
            "longs below the price, shorts above",
            *details,
            *(["arrows: farther away"] if any(far) else []),
            "" if when is None else f"{when:%Y-%m-%d %H:%M} UTC",
        ],
        entries=[Patch(color=colours.LONG, label="longs"), Patch(color=colours.SHORT, label="shorts")],
        margin=1.0,
    )
    layout.fit(ax)
    return ax


def _frame(ax: Axes, rungs: Sequence[_Rung], price: float) -> None:
    """Set the price range, with room for the labels above and below."""
    have = layout.room(ax)
    low = min([price, *(rung.price for rung in rungs)])
    high = max([price, *(rung.price for rung in rungs)])
    lines = max((1 + rung.words.count("\n") for rung in rungs), default=1)
    points = 72.0 * max(0.6, have.height - 1.5 * have.scale)
    need = min(0.38, (10.0 * lines + 18.0) * have.scale / points)
    extent = (high - low) or 0.02 * price
    air = extent * need / (1.0 - 2.0 * need)
    ax.set_ylim(low - air, high + air)
