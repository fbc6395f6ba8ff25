"""Draws each cascade as a line from its start to its end, at its USD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from liqdata.errors import BadQuery
from liqdata.frames.price import course

from . import amounts, colours, layout
from .clock import clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from liqdata.results.rows import Rows

__all__ = ["cascades"]

_NAMED = 8  # maximum number of cascades that get a label, largest first

_BEHIND = 0.45  # opacity of the price line behind the cascades


def cascades(rows: Rows[Any], ax: Axes | None, *, price: Any) -> Axes:
    """Draw cascades; see :func:`liqdata.plot.cascades`."""
    starts, ends, usd, sides = rows["start"], rows["end"], rows["usd"].astype(float), rows["side"]
    names = [amounts.name(coin) for coin in rows["coin"]]
    alone = sorted(set(names))
    line = None
    if price is not None and len(rows):
        coin = str(rows["coin"][0])
        if len(alone) > 1:
            msg = f"price: the cascades are of {', '.join(alone[:5])}; allowed: with cascades of one coin"
            raise BadQuery(msg, parameter="price")
        line = course(coin, price, np.array(_reach(starts, ends)), "cascades")
    ax = layout.on(ax)
    have = layout.room(ax)
    size = 8.6 * have.scale
    layout.bare(ax, "y")
    entries = []
    for side, words in (("LONG", "longs"), ("SHORT", "shorts")):
        colour = colours.LONG if side == "LONG" else colours.SHORT
        some = np.array([str(one).upper() == side for one in sides], dtype=bool)
        entries.append(Line2D([], [], color=colour, marker="o", linewidth=2.0, markersize=4.5, label=words))
        if not some.any():
            continue
        ax.hlines(usd[some], starts[some], ends[some], color=colour, linewidth=2.2 * have.scale, zorder=3)
        ax.scatter(starts[some], usd[some], 26.0 * have.scale, color=colour, linewidth=0, zorder=4, alpha=0.9)
    if len(rows):
        _scale(ax, starts, ends, usd)
        _names(ax, starts, usd, names if len(alone) > 1 else [""] * len(names))
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        layout.note(ax, "no cascades")
    if not have.small:
        ax.set_ylabel("USD liquidated, log scale", fontsize=size)
        ax.set_xlabel("time, UTC", fontsize=size, labelpad=2.0)
    if line is not None:
        _price(ax, line)
        entries.append(Line2D([], [], color=colours.faint(ax, _BEHIND), linewidth=1.0, label="price, right"))
    caveat = ["simulated market"] if rows.meta.get("simulated") else []
    title = f"{alone[0]} liquidation cascades" if len(alone) == 1 else "Liquidation cascades"
    several = f"{len(rows):,} cascade{'s' if len(rows) != 1 else ''}"
    layout.head(
        ax,
        [title, *caveat],
        [f"{several}, each from its start to its end", *layout.known(rows.meta)[len(caveat) :]],
        entries=entries,
        margin=0.9 if line is None else 1.5,
    )
    if line is None:
        layout.fit(ax)
    return ax


def _reach(starts: Any, ends: Any) -> tuple[Any, Any]:
    """The time range of the plot, with a margin."""
    first, last = starts.min(), ends.max()
    air = max((last - first) // 25, np.timedelta64(5, "m"))
    return first - air, last + air


def _scale(ax: Axes, starts: Any, ends: Any, usd: Any) -> None:
    have = layout.room(ax)
    ax.set_yscale("log")
    there = usd[usd > 0]
    low, high = (float(there.min()), float(there.max())) if len(there) else (1.0, 10.0)
    ax.set_ylim(low / 1.6, high * 2.2)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=have.ticks(0.45, upright=True)))
    ax.yaxis.set_major_formatter(amounts.dollars())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="y", which="minor", length=0.0)
    ax.set_xlim(*cast("Any", _reach(starts, ends)))
    clock(ax, have.ticks(0.72))


def _names(ax: Axes, starts: Any, usd: Any, names: list[str]) -> None:
    """Label the largest cascades, without overlaps."""
    have = layout.room(ax)
    if have.small:
        return
    size = 7.6 * have.scale
    inner = (max(0.8, have.width - 1.0 * have.scale), max(0.6, have.height - 1.5 * have.scale))
    (left, right), (low, high) = ax.get_xlim(), np.log(ax.get_ylim())
    taken: list[tuple[float, float, float]] = []
    days = ax.xaxis.convert_units(starts)  # type: ignore[no-untyped-call]  # matplotlib's
    for one in np.argsort(-usd, kind="stable")[:_NAMED]:
        words = f"{names[one]} {amounts.brief(float(usd[one]))}".strip()
        half = layout.wide(words, size) / 2.0 + 0.04
        x = (float(days[one]) - left) / (right - left) * inner[0]
        y = (float(np.log(usd[one])) - low) / (high - low) * inner[1]
        high_enough = 1.5 * size / 72.0
        if any(abs(x - other) < half + width and abs(y - at) < high_enough for other, at, width in taken):
            continue
        taken.append((x, y, half))
        place = "center" if half < x < inner[0] - half else "left" if x <= half else "right"
        ax.annotate(
            words,
            (starts[one], usd[one]),
            xytext=(0.0, 4.5 * have.scale),
            textcoords="offset points",
            ha=place,
            va="bottom",
            fontsize=size,
            color=colours.ink(ax),
            zorder=6,
            # The price line passes behind the label, not through it.
            bbox={"boxstyle": "round,pad=0.1", "facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.9},
        )


def _price(ax: Axes, line: Any) -> None:
    """Draw the price behind the cascades, with its axis on the right."""
    have = layout.room(ax)
    twin = ax.twinx()
    twin.set_facecolor(ax.get_facecolor())
    layout.bare(twin, "y")
    twin.grid(visible=False)
    line = line.coarser(max(8, int(have.width / 0.02)))
    twin.plot(line.times, line.closes, color=colours.faint(ax, _BEHIND), linewidth=1.0)
    twin.set_xlim(*ax.get_xlim())
    clock(twin, have.ticks(0.72))
    twin.yaxis.set_major_locator(amounts.rounded(have.ticks(0.45, upright=True)))
    twin.yaxis.set_major_formatter(amounts.prices())
    twin.tick_params(colors=colours.ink(ax))
    if not have.small:
        twin.set_ylabel("price, USD", fontsize=8.6 * have.scale, color=colours.ink(ax))
    ax.set_zorder(twin.get_zorder() + 1)
    ax.patch.set_visible(False)
    layout.fit(ax, twin)
