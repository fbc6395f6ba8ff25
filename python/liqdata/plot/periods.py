"""Draws realised totals over time: shorts upward and longs downward, or stacked groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from matplotlib.patches import Patch

from . import amounts, colours, layout
from .clock import clock

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from liqdata.results.rows import Rows

    Floats: TypeAlias = npt.NDArray[np.float64]
    Times: TypeAlias = npt.NDArray[np.datetime64]

__all__ = ["chart", "groups_of", "history", "lacking", "name_of", "span_of", "title_of"]

_HOUR = 3_600_000
_MONTH = 30 * 24 * _HOUR  # width of a bar of a calendar month
_BAR = 0.035  # minimum width of a bar, in inches
_KEYS = ("coin", "symbol", "exchange")
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168, 336, 720)


def chart(rows: Rows[Any], ax: Axes | None) -> Axes:
    """Draw the hours; see :func:`liqdata.plot.chart`."""
    usd, sides = rows["total_usd"], rows["side"]
    long, short = np.where(sides == "LONG", usd, 0.0), np.where(sides == "SHORT", usd, 0.0)
    symbol = rows.meta.get("question", {}).get("symbol")
    title = f"{amounts.name(symbol)} liquidated by hour" if symbol else "Liquidated by hour"
    ax = layout.on(ax)
    return _mirrored(rows["hour"], long, short, _HOUR, ax=ax, title=title, meta=rows.meta, details=[])


def history(rows: Rows[Any], ax: Axes | None, *, interval: Any) -> Axes:
    """Draw a history; see :func:`liqdata.plot.history`."""
    ax = layout.on(ax)
    times = rows["timestamp"]
    span = span_of(rows, interval)
    names = groups_of(rows)
    title = title_of(rows, names)
    details = _uncovered(rows, span, ax)
    if len(set(names)) <= 1:
        return _mirrored(
            times, rows["long_usd"], rows["short_usd"], span, ax=ax, title=title, meta=rows.meta, details=details
        )
    return _stacked(times, rows["total_usd"], names, span, ax=ax, title=title, meta=rows.meta, details=details)


def groups_of(rows: Rows[Any]) -> Any:
    """The coin or exchange of each row, as text; empty for totals."""
    keys = [key for key in _KEYS if key in rows.columns]
    return np.array(
        [" ".join(amounts.name(one) for one in several) for several in zip(*(rows[key] for key in keys), strict=True)]
        if keys
        else [""] * len(rows),
        dtype=object,
    )


def title_of(rows: Rows[Any], names: Any) -> str:
    """The title of a history: its coin or exchange, if it has one."""
    question = rows.meta.get("question", {})
    alone = sorted(set(names))
    known = [name for name in [question.get("symbol"), question.get("exchange")] if name]
    asked = [amounts.name(str(name).replace(",", ", ")) for name in known]
    single = alone if len(alone) == 1 and any(key in rows.columns for key in _KEYS) else []
    of = ", ".join([*(one for one in asked if one not in alone), *single])
    return f"{of} liquidated over time" if of else "Liquidated over time"


def span_of(rows: Rows[Any], interval: Any) -> int:
    """Length of a period in milliseconds: ``interval``, that of the query, or the smallest distance of two periods.

    A calendar month counts as 30 days.
    """
    interval = interval if interval is not None else rows.meta.get("question", {}).get("interval")
    if interval is not None:
        from liqdata.calls.arguments import MONTH, length

        if interval == MONTH:
            return _MONTH
        return int(length(int(interval) if isinstance(interval, str) and interval.isdigit() else interval))
    apart = np.diff(np.unique(rows["timestamp"])).astype(np.int64)
    return int(apart.min()) if len(apart) else _HOUR


def lacking(rows: Rows[Any]) -> tuple[float | None, Times]:
    """The covered share of time, and the periods in which orders may be missing."""
    none = np.array([], dtype="datetime64[ms]")
    if "covered" not in rows.columns or not len(rows):
        return None, none
    covered = rows["covered"]
    known_share = ~np.isnan(covered)
    if not known_share.any():
        return None, none
    periods, inverse = np.unique(rows["timestamp"][known_share], return_inverse=True)
    share = np.bincount(inverse, covered[known_share]) / np.bincount(inverse)
    return float(share.mean()), periods[share < 0.995]  # noqa: PLR2004 - rounds to less than 100 %


def _uncovered(rows: Rows[Any], span: int, ax: Axes) -> list[str]:
    """Shade periods in which orders may be missing, and describe the covered share of time."""
    share, periods = lacking(rows)
    if share is None:
        return []
    if len(periods):
        _shade(periods, np.timedelta64(span, "ms"), ax)
    return [f"{share:.0%} of the time covered" + (", less where shaded" if len(periods) else "")]


def _shade(periods: Times, span: np.timedelta64, ax: Axes) -> None:
    """Shade periods as one artist, with adjacent periods merged; thousands of artists take seconds to draw."""
    ends = np.flatnonzero(np.append(np.diff(periods) > span, True))
    starts = np.append(0, ends[:-1] + 1)
    opens, lasts = periods[starts], periods[ends]
    ranges: list[Any] = list(zip(opens, lasts + span - opens, strict=True))
    shaded = ax.broken_barh(ranges, (0.0, 1.0), transform=ax.get_xaxis_transform(), zorder=0)
    shaded.set(color=colours.faint(ax), alpha=0.13, linewidth=0)


def are_months(times: Times, span: int) -> bool:
    """Whether periods are calendar months."""
    return span % _MONTH == 0 and bool((times == times.astype("datetime64[M]")).all())


def name_of(times: Times, span: int) -> str:
    """The length of a period in words."""
    months = span // _MONTH
    return (f"{months} months" if months > 1 else "month") if are_months(times, span) else amounts.span(span)


def _merged(times: Times, columns: list[Floats], span: int, ax: Axes) -> tuple[Times, list[Floats], int]:
    """Add up adjacent periods if there are too many to draw."""
    have = layout.room(ax)
    most = max(6, int((have.width - 1.0 * have.scale) / _BAR))
    millis = times.astype("datetime64[ms]").astype(np.int64)
    whole = int(millis.max() - millis.min()) // span + 1
    factor = next((one for one in _MULTIPLES if whole <= most * one), -(-whole // most))
    period = span * factor
    if are_months(times, span):
        month = times.astype("datetime64[M]").astype(np.int64)
        starts, inverse = np.unique(month // factor * factor, return_inverse=True)
        starts = starts.astype("datetime64[M]").astype("datetime64[ms]")
    else:
        # Weeks begin on Mondays, other periods at multiples of their length.
        phase = int(millis.min()) % span
        starts, inverse = np.unique((millis - phase) // period * period + phase, return_inverse=True)
    sums = [np.bincount(inverse, np.nan_to_num(column), len(starts)).astype(np.float64) for column in columns]
    return cast("Times", starts.astype("datetime64[ms]")), sums, period


def _mirrored(
    times: Times,
    long: Floats,
    short: Floats,
    span: int,
    *,
    ax: Axes,
    title: str,
    meta: Mapping[str, Any],
    details: list[str],
) -> Axes:
    most = 0.0
    if len(times):
        times, (long, short), span = _merged(times, [long, short], span, ax)
        width = np.timedelta64(int(0.86 * span), "ms")
        middle = times + np.timedelta64(span // 2, "ms")
        ax.bar(middle, short, width, color=colours.SHORT, linewidth=0)
        ax.bar(middle, -long, width, color=colours.LONG, linewidth=0)
        most = float(max(short.max(), long.max()))
    ax.axhline(0.0, color=colours.faint(ax), linewidth=0.8)
    entries = [Patch(color=colours.SHORT, label="shorts, upward"), Patch(color=colours.LONG, label="longs, downward")]
    low = -float(long.max(initial=0.0)) if len(times) else -1.0
    high = float(short.max(initial=0.0)) if len(times) else 1.0
    margin = 0.06 * (high - low) or 1.0
    ax.set_ylim(low - margin if low else -margin, high + margin)
    _finish(times, span, ax, title=title, meta=meta, details=details, entries=entries, empty=not most)
    return ax


def _stacked(
    times: Times,
    usd: Floats,
    names: Any,
    span: int,
    *,
    ax: Axes,
    title: str,
    meta: Mapping[str, Any],
    details: list[str],
) -> Axes:
    known, inverse = np.unique(names.astype(str), return_inverse=True)
    sums = np.bincount(inverse, np.nan_to_num(usd))
    order = np.argsort(-sums, kind="stable")
    shown = order if len(order) <= len(colours.GROUPS) else order[: len(colours.GROUPS) - 1]
    columns = [np.where(inverse == one, usd, 0.0) for one in shown]
    labels = [str(known[one]) for one in shown]
    if len(shown) < len(order):
        columns.append(np.where(np.isin(inverse, shown), 0.0, usd))
        labels.append(f"{len(order) - len(shown)} others")
    times, columns, span = _merged(times, columns, span, ax)
    width = np.timedelta64(int(0.86 * span), "ms")
    middle = times + np.timedelta64(span // 2, "ms")
    floor = np.zeros(len(times))
    entries = []
    for place, (column, label) in enumerate(zip(columns, labels, strict=True)):
        colour = colours.GROUPS[place] if place < len(shown) else colours.OTHERS
        ax.bar(middle, column, width, floor, color=colour, linewidth=0)
        entries.append(Patch(color=colour, label=label))
        floor = floor + column
    ax.set_ylim(0.0, 1.06 * float(floor.max()) or 1.0)
    _finish(times, span, ax, title=title, meta=meta, details=details, entries=entries, empty=not floor.any())
    return ax


def _finish(
    times: Times,
    span: int,
    ax: Axes,
    *,
    title: str,
    meta: Mapping[str, Any],
    details: list[str],
    entries: list[Any],
    empty: bool,
) -> None:
    have = layout.room(ax)
    size = 8.6 * have.scale
    layout.bare(ax, "y")
    ax.yaxis.set_major_locator(amounts.rounded(have.ticks(0.45, upright=True)))
    ax.yaxis.set_major_formatter(amounts.dollars())
    if len(times):
        period = np.timedelta64(span, "ms")
        edge = period // 2 if len(times) < 3 else np.timedelta64(0, "ms")  # noqa: PLR2004 - few bars need a margin
        ax.set_xlim(cast("Any", times.min() - edge), cast("Any", times.max() + period + edge))
        clock(ax, have.ticks(0.72))
    else:
        ax.set_xticks([])
        ax.set_yticks([])
    if empty:
        layout.note(ax, "no liquidations")
    if not have.small:
        ax.set_ylabel("USD liquidated", fontsize=size)
        ax.set_xlabel("time, UTC", fontsize=size, labelpad=2.0)
    caveat = ["simulated market"] if meta.get("simulated") else []
    layout.head(
        ax,
        [title, *caveat],
        [f"per {name_of(times, span)}", *details, *layout.known(meta)[len(caveat) :]],
        entries=entries,
        margin=0.9,
    )
    layout.fit(ax)
