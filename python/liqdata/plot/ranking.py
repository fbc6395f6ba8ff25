"""Draws realised totals as horizontal bars: windows, coins or exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.patches import Patch

from . import amounts, colours, layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from liqdata.results.rows import Rows

__all__ = ["coins", "exchanges", "overview"]


class _Bar(NamedTuple):
    """One bar of a ranking."""

    name: str
    long: float
    short: float
    orders: int


def overview(totals: Mapping[str, Any], ax: Axes | None) -> Axes:
    """Draw the windows; see :func:`liqdata.plot.overview`."""
    bars = [
        _Bar(window.replace("h", " h"), float(sums["long_usd"]), float(sums["short_usd"]), int(sums["cnt"]))
        for window, sums in totals.items()
        if isinstance(sums, dict) and "total_usd" in sums
    ]
    return _ranked(bars, ax, "Liquidated, last hours", getattr(totals, "meta", {}), [])


def coins(rows: Rows[Any], ax: Axes | None) -> Axes:
    """Draw the coins; see :func:`liqdata.plot.coins`."""
    return _of_rows(rows, ax, "coin", "Liquidated by coin", "coins")


def exchanges(rows: Rows[Any], ax: Axes | None) -> Axes:
    """Draw the exchanges; see :func:`liqdata.plot.exchanges`."""
    return _of_rows(rows, ax, "exchange", "Liquidated by exchange", "exchanges")


def _of_rows(rows: Rows[Any], ax: Axes | None, key: str, title: str, several: str) -> Axes:
    ax = layout.on(ax)
    have = layout.room(ax)
    bars = [
        _Bar(amounts.name(name, 14 if have.small else 26), float(long), float(short), int(count))
        for name, long, short, count in zip(rows[key], rows["long_usd"], rows["short_usd"], rows["cnt"], strict=True)
    ]
    window = rows.meta.get("question", {}).get("range")
    most = max(2, int((have.height - 1.15 * have.scale) / (0.2 * have.scale)))
    rest = bars[most:]
    details = []
    if rest:
        usd = sum(bar.long + bar.short for bar in rest)
        details.append(f"{most} of {len(bars)} {several}, the others {amounts.brief(usd)}")
    return _ranked(
        bars[:most], ax, title + (f", last {window.replace('h', ' h')}" if window else ""), rows.meta, details
    )


def _ranked(bars: Sequence[_Bar], ax: Axes | None, title: str, meta: Mapping[str, Any], details: Sequence[str]) -> Axes:
    """Draw longs and shorts as stacked bars labelled with their total, the first bar on top."""
    ax = layout.on(ax)
    have = layout.room(ax)
    size = 8.6 * have.scale
    longs, shorts = np.array([bar.long for bar in bars]), np.array([bar.short for bar in bars])
    places = np.arange(len(bars), dtype=float)
    layout.bare(ax, "x")
    margin = 0.6
    if bars:
        ax.barh(places, longs, 0.68, color=colours.LONG)
        ax.barh(places, shorts, 0.68, longs, color=colours.SHORT)
        ends = [amounts.brief(bar.long + bar.short) + ("" if have.small else f"  {bar.orders:,}×") for bar in bars]
        for place, bar, words in zip(places, bars, ends, strict=True):
            ax.annotate(
                words,
                (bar.long + bar.short, place),
                xytext=(4.0 * have.scale, 0.0),
                textcoords="offset points",
                va="center",
                fontsize=size,
                color=colours.ink(ax),
            )
        ax.set_yticks(places, [bar.name for bar in bars])
        ax.set_ylim(len(bars) - 0.4, -0.6)
        margin = (max(layout.wide(bar.name, size) for bar in bars) + 0.15) / have.scale
        # Leave room inside the axes for the widest label to the right of the longest bar.
        inner = max(0.5, have.width - (margin + 0.1) * have.scale)
        need = max(layout.wide(words, size) for words in ends) + 0.1
        most = float((longs + shorts).max()) or 1.0
        ax.set_xlim(0.0, most / max(0.25, 1.0 - need / inner))
    else:
        ax.set_yticks([])
        ax.tick_params(labelbottom=False)
        layout.note(ax, "no liquidations")
    ax.xaxis.set_major_locator(amounts.rounded(have.ticks(0.8)))
    ax.xaxis.set_major_formatter(amounts.dollars())
    if not have.small:
        ax.set_xlabel("USD liquidated", fontsize=size)
    entries = [Patch(color=colours.LONG, label="longs"), Patch(color=colours.SHORT, label="shorts")]
    caveat = ["simulated market"] if meta.get("simulated") else []
    layout.head(
        ax,
        [title, *caveat],
        ["total and number of orders", *details, *layout.known(meta)[len(caveat) :]],
        entries=entries,
        margin=margin + 0.1,
    )
    layout.fit(ax)
    return ax
