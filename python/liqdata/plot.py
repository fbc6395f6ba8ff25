"""Pictures of the two estimated grids, with matplotlib (``pip install "liqdata[plot]"``).

The heatmap follows the field's norm: dark to yellow, a log colour scale, cells without mass left dark, the price over
it, the current price dashed, prices on the right. Only the view is cropped, never the data.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ._price import points
from .errors import BadQuery

try:
    import matplotlib as mpl
except ModuleNotFoundError as error:
    message = 'pictures need matplotlib: pip install "liqdata[plot]"'
    raise ModuleNotFoundError(message, name=error.name) from error

from matplotlib.colors import LogNorm
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ._price import Price
    from .grids import Heatmap, LiquidationMap

    Flags: TypeAlias = npt.NDArray[np.bool_]
    Floats: TypeAlias = npt.NDArray[np.float64]
    Times: TypeAlias = npt.NDArray[np.datetime64]

__all__ = ["heatmap", "liqmap", "picture"]

_EXPECTED = 3  # the model whose maps tell expected liquidations
_NO_CENTS = 1000  # from this price on, cents say nothing
_PLAIN = 1e-3  # below this price, five digits need an exponent

PAPER = "#0b0c14"
GROUND = "#150826"
INK = "#d9dce6"
FAINT = "#8d91a5"
PRICE = "#f5f7ff"
NOW = "#ff5c8a"
LONG = "#a8ec5c"
SHORT = "#cbb0ff"
TIERS = ("#3f7fd6", "#35b5c9", "#f2b134", "#ef6f53", "#a9745b", "#7f8fa6", "#e88fc2", "#b8b8c8")

DECADES = 1.6
"""How many powers of ten below the strongest cell the colours tell apart; fainter cells share the darkest colour."""

WIDE = 6.5
"""Inches from which on axes have room for all words in one line; on narrower ones lines are broken and smaller."""

MASS = 0.98
"""Share of the estimated mass that the view holds, where that lies within :data:`REACH`."""

REACH = 0.12
"""How far the view reaches from the current price and the line, as a share of it: low leverages lie as far out as half
the price, where they would flatten what is near and nothing is validated. What is left out is told beside it."""


def heatmap(
    grid: Heatmap, ax: Axes | None = None, *, price: Price | None = None, bound: Literal["low", "high"] | None = None
) -> Axes:
    """Draw a heatmap; see :meth:`liqdata.Heatmap.plot`.

    Parameters
    ----------
    grid : Heatmap
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    price : optional
        The price to draw over the map, such as ``market.bars("BTC")``. A close that is missing (NaN) is a gap in
        the line.
    bound : {"low", "high"}, optional
        Draw this end of each cell's interval instead of the cell.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        If ``price`` has no time or no close to read, or none within the map, and for a ``bound`` of a map without one.
    """
    edges = _starts(grid.times) if len(grid.times) else None
    line = None if price is None else points(grid.symbol, price, edges)
    ax = dark_axes() if ax is None else ax
    ax.set_facecolor(GROUND)

    cells = np.ma.masked_invalid(grid.matrix if bound is None else _bound(grid, bound))
    cells = np.ma.masked_less_equal(cells, 0.0)
    low, high = _view(grid, cells.sum(axis=1).filled(0.0) if cells.count() else None, line)
    if cells.count():
        _mesh(grid, cells, (low, high), ax)
    else:
        _nothing(ax)

    if line is not None:
        _line(line, ax)
    ax.axhline(grid.current_price, color=NOW, linestyle=(0, (5, 3)), linewidth=1.1)

    _crop(grid, low, high, ax)
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.yaxis.set_major_formatter(_prices())
    _tag(ax, grid.current_price)
    ax.set_xlabel("time, UTC")
    ax.set_ylabel(f"{grid.symbol} price, USD")
    view = "expected liquidations" if grid.model == _EXPECTED else "open interest exposed"
    last = cells[:, -1].filled(0.0) if cells.count() else np.zeros(len(grid.prices))
    # What lies beyond the view is told of what is estimated; of an end of the interval it is not known.
    beyond = _outside(grid, last, low, high) if bound is None else f" · {bound} end of the interval"
    _title(ax, f"{grid.symbol} liquidation heatmap", f"{grid.range} · model {grid.model}, {view}{beyond}", grid)
    return ax


def _bound(grid: Heatmap | LiquidationMap, bound: str) -> Floats:
    """One end of the interval of each cell, which a map may not have."""
    found = {"low": grid.low, "high": grid.high}.get(bound)
    if bound not in ("low", "high"):
        msg = f"bound: {bound!r} is not allowed; allowed: 'low', 'high' or None"
        raise BadQuery(msg, parameter="bound")
    if found is None:
        msg = "bound: the map tells no interval; allowed: maps of model 3 in this process, once it is fitted"
        raise BadQuery(msg, parameter="bound")
    return found


def liqmap(grid: LiquidationMap, ax: Axes | None = None, *, interval: bool = False) -> Axes:
    """Draw a liquidation map; see :meth:`liqdata.LiquidationMap.plot`.

    Parameters
    ----------
    grid : LiquidationMap
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    interval : bool
        Draw the interval of each bin, and where nothing is validated.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For the ``interval`` of a map without one.
    """
    ends = (_bound(grid, "low"), _bound(grid, "high")) if interval else None
    ax = dark_axes() if ax is None else ax
    ax.set_facecolor(GROUND)
    low, high = _view(grid, grid.total if len(grid.prices) else None)
    seen = (grid.prices >= low) & (grid.prices <= high)
    floor = np.zeros(len(grid.prices))
    # Weak leverages lie far out and strong ones near the price, so the legend reads outward-in.
    for i, leverage in enumerate(grid.leverages.tolist() if len(grid.prices) else ()):
        usd = np.nan_to_num(grid.tiers[:, i])
        colour = TIERS[i % len(TIERS)]
        ax.bar(grid.prices, usd, grid.bin_width, floor, color=colour, linewidth=0, label=f"{leverage}×")
        floor = floor + usd

    curves = ax.twinx()
    highest = 0.0
    for side, order, running in grid._outward():  # noqa: SLF001 - the frame of the same numbers would need pandas
        if not len(order):
            continue
        colour = LONG if side == "long" else SHORT
        reach = np.concatenate(([grid.current_price], grid.prices[order]))
        usd = np.concatenate(([0.0], running))
        highest = max(highest, float(np.max(usd[(reach >= low) & (reach <= high)])))
        curves.plot(reach, usd, color=colour, linewidth=1.8, label=f"{side}s, cumulative")
        curves.fill_between(reach, usd, color=colour, alpha=0.07, linewidth=0)
    rows = 1 if _width(ax) >= WIDE else 2
    tops = floor if ends is None else _whiskers(grid, ends, seen, (low, high), ax)
    # Head room for the legend.
    for axes, tallest in ((ax, float(np.max(tops[seen], initial=0.0))), (curves, highest)):
        axes.set_ylim(0.0, (1.02 + 0.12 * rows) * tallest or 1.0)
    ax.axvline(grid.current_price, color=NOW, linestyle=(0, (5, 3)), linewidth=1.2)
    _tag(ax, grid.current_price, vertical=False)
    if not len(grid.prices):
        _nothing(ax)

    ax.set_xlim(low, high)
    ax.xaxis.set_major_formatter(_prices())
    for axes in (ax, curves):
        axes.yaxis.set_major_formatter(_dollars())
    ax.xaxis.set_major_locator(MaxNLocator(_ticks(ax)))
    ax.set_xlabel(f"{grid.symbol} price, USD", loc="right")
    between = " · " if _width(ax) >= WIDE else "\n"
    ax.set_ylabel(f"per {_amount(grid.bin_width)} USD bin{between}{grid.units}", fontsize=_size(ax, 10))
    curves.set_ylabel("cumulative from the current price, USD", fontsize=_size(ax, 10))
    _match(curves, ax)
    _legend(ax, curves, rows)
    ax.set_zorder(curves.get_zorder() - 1)
    detail = f"{grid.range} · longs below the price, shorts above{_outside(grid, grid.total, low, high)}"
    _title(ax, f"{grid.symbol} liquidation map", detail, grid)
    return ax


def _whiskers(
    grid: LiquidationMap, ends: tuple[Floats, Floats], seen: Flags, view: tuple[float, float], ax: Axes
) -> Floats:
    """Draw the interval of each bin that has one, and hatch where nothing is validated; the tops of what is drawn."""
    below, above = ends
    there = seen & np.isfinite(above)
    ax.vlines(
        grid.prices[there], below[there], above[there], color=INK, linewidth=0.8, alpha=0.6, label="interval, 80 %"
    )
    validated = grid.prices[np.isfinite(above)]
    half = grid.bin_width / 2
    edges = (float(validated.min()) - half, float(validated.max()) + half) if len(validated) else (view[1], view[1])
    beyond = [(start, end) for start, end in ((view[0], edges[0]), (edges[1], view[1])) if start < end]
    for place, (start, end) in enumerate(beyond):
        label = None if place else "not validated"
        ax.axvspan(start, end, facecolor="none", edgecolor=INK, hatch="//", alpha=0.15, linewidth=0, label=label)
    return np.where(there, above, grid.total)


def picture(grid: Heatmap | LiquidationMap, *, price: Price | None = None) -> Figure:
    """Draw a grid on a figure of its own, without a window system.

    Parameters
    ----------
    grid : Heatmap or LiquidationMap
        What to draw.
    price : optional
        The price to draw over a heatmap.

    Returns
    -------
    matplotlib.figure.Figure
        Ready for ``savefig``.
    """
    figure = Figure(figsize=(12, 6.75), dpi=150, layout="constrained")
    ax = dress(figure)
    drawn: Any = grid
    if hasattr(grid, "matrix"):
        heatmap(drawn, ax, price=price)
    else:
        liqmap(drawn, ax)
    return figure


def dark_axes() -> Axes:
    """Give axes on a new dark figure that the running front end knows."""
    from matplotlib import pyplot as plt

    return dress(plt.figure(figsize=(12, 6.75), layout="constrained"))


def dress(figure: Figure) -> Axes:
    """Add dark axes to a figure of our own; a figure of the caller's keeps its colours."""
    figure.set_facecolor(PAPER)
    ax = figure.add_subplot()
    ax.tick_params(colors=INK, labelsize=9)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(INK)
    for spine in ax.spines.values():
        spine.set_color("#2b2d3f")
    return ax


def _width(ax: Axes) -> float:
    """Give the width of these axes in inches, before a layout engine has placed them as good as it is known."""
    return float(ax.get_window_extent().width / ax.figure.dpi)


def _size(ax: Axes, points: float) -> float:
    """Give a size of text that suits the width of the axes."""
    return points if _width(ax) >= WIDE else 0.8 * points


def _ticks(ax: Axes) -> int:
    """Give how many labels have room along these axes."""
    return max(3, min(9, int(1.2 * _width(ax))))


def _ink(ax: Axes) -> Any:
    """Give the colour that text beside these axes is to have."""
    return ax.yaxis.label.get_color()


def _match(twin: Axes, ax: Axes) -> None:
    """Give the twin's right side the colours of the left."""
    twin.tick_params(colors=_ink(ax), labelsize=9)
    twin.yaxis.label.set_color(_ink(ax))
    for spine in twin.spines.values():
        spine.set_visible(False)


def _mesh(grid: Heatmap, cells: np.ma.MaskedArray[Any, Any], view: tuple[float, float], ax: Axes) -> None:
    """Draw the cells and their colour bar, the colours by what is seen."""
    seen = cells[(grid.prices >= view[0]) & (grid.prices <= view[1])]
    seen = seen if seen.count() else cells
    top = float(seen.max())
    low = float(seen.min())
    bottom = max(low, top / 10**DECADES)
    if not bottom < top:
        bottom = top / 10.0
    colours = mpl.colormaps["viridis"].with_extremes(bad=GROUND)
    mesh = ax.pcolormesh(
        _starts(grid.times),
        _edges(grid.prices),
        cells,
        norm=LogNorm(bottom, top),
        cmap=colours,
        shading="flat",
        rasterized=True,
    )
    figure = ax.figure
    # The price axis stands between map and bar; only a layout engine knows how wide it is.
    gap = 0.01 if figure.get_layout_engine() else max(0.14, 0.8 / _width(ax))
    fainter, stronger = low < bottom, float(cells.max()) > top
    more = ("both" if stronger else "min") if fainter else "max" if stronger else "neither"
    bar = figure.colorbar(mesh, ax=ax, pad=gap, fraction=0.035, aspect=32, extend=more)
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter(_dollars())
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.tick_params(colors=_ink(ax), labelsize=8, which="both")
    bar.outline.set_visible(False)
    bar.set_label(
        f"{grid.units} per cell\nintensity compares only inside one map", color=_ink(ax), fontsize=_size(ax, 9)
    )


def _line(line: tuple[Times, Floats], ax: Axes) -> None:
    """Draw the price; a close between two gaps, which no line reaches, is a point."""
    times, values = line
    ax.plot(times, values, color=PAPER, linewidth=2.8, solid_joinstyle="round")
    ax.plot(times, values, color=PRICE, linewidth=1.3, solid_joinstyle="round", label="price")
    gaps = np.concatenate(([True], np.isnan(values), [True]))
    alone = ~gaps[1:-1] & gaps[:-2] & gaps[2:]
    if alone.any():
        ax.plot(times[alone], values[alone], ".", color=PRICE, markeredgecolor=PAPER, markersize=7)


def _starts(times: Times) -> Times:
    """Give the edges of columns that are named by their ends."""
    stride = np.diff(times[:2])[0] if len(times) > 1 else np.timedelta64(1, "h")
    return np.concatenate((times[:1] - stride, times))


def _edges(prices: Floats) -> Floats:
    """Give the edges of rows that are named by their centres on a log axis."""
    logs = np.log(prices)
    inner = (logs[1:] + logs[:-1]) / 2.0
    half = (logs[1] - logs[0]) / 2.0 if len(logs) > 1 else 5e-4
    last = (logs[-1] - logs[-2]) / 2.0 if len(logs) > 1 else half
    return np.exp(np.concatenate(([logs[0] - half], inner, [logs[-1] + last])))


def _view(
    grid: Heatmap | LiquidationMap, mass: Floats | None, line: tuple[Times, Floats] | None = None
) -> tuple[float, float]:
    """Lowest and highest price to show: where the mass and the price are, as far as :data:`REACH`."""
    low = high = grid.current_price
    if line is not None:
        low, high = min(low, float(np.nanmin(line[1]))), max(high, float(np.nanmax(line[1])))
    if mass is not None:
        least, most = (1.0 - REACH) * low, (1.0 + REACH) * high
        low, high = _bulk(grid.prices, mass, low, high)
        low, high = max(low, least), min(high, most)
    margin = 0.03 * (high - low) or 0.01 * high
    return low - margin, high + margin


def _outside(grid: Heatmap | LiquidationMap, mass: Floats, low: float, high: float) -> str:
    """What share of the estimate the view does not show, where it is worth a word."""
    mass = np.nan_to_num(mass)
    beyond = float(mass[(grid.prices < low) | (grid.prices > high)].sum())
    share = beyond / float(mass.sum()) if beyond else 0.0
    return f" · {share:.0%} lie beyond the view" if share > 1.0 - MASS else ""


def _crop(grid: Heatmap, low: float, high: float, ax: Axes) -> None:
    """Show the view."""
    ax.set_ylim(low, high)
    if len(grid.times):
        edges = _starts(grid.times)
        ax.set_xlim(edges[0], edges[-1])
        _clock(ax)
    else:
        ax.set_xticks([])


def _bulk(prices: Floats, mass: Floats, low: float, high: float) -> tuple[float, float]:
    """Widen a price band until :data:`MASS` of the mass lies in it, the same share cut on either end."""
    order = np.argsort(prices)
    running = np.cumsum(np.nan_to_num(mass[order]))
    if not running[-1] > 0:
        return low, high
    cut = (1.0 - MASS) / 2.0
    first, last = np.searchsorted(running / running[-1], (cut, 1.0 - cut))
    last = min(last, len(order) - 1)
    return min(low, float(prices[order[first]])), max(high, float(prices[order[last]]))


def _clock(ax: Axes) -> None:
    """Put readable UTC times on the horizontal axis, whatever matplotlib's time zone is set to."""
    locator = AutoDateLocator(tz=UTC, minticks=3, maxticks=_ticks(ax) + 1)  # type: ignore[no-untyped-call]  # matplotlib's
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]  # matplotlib's
    ax.xaxis.get_offset_text().set_color(_ink(ax))


def _nothing(ax: Axes) -> None:
    ax.text(0.5, 0.6, "no estimated liquidations", transform=ax.transAxes, ha="center", color=FAINT)


def _tag(ax: Axes, price: float, *, vertical: bool = True) -> None:
    """Write the current price at the price axis: over the labels of a vertical one, below those of the other."""
    ax.annotate(
        _amount(price),
        (1.0, price) if vertical else (price, 0.0),
        xycoords=("axes fraction", "data") if vertical else ("data", "axes fraction"),
        xytext=(5, 0) if vertical else (0, -21),
        textcoords="offset points",
        ha="left" if vertical else "center",
        va="center" if vertical else "top",
        fontsize=9,
        color=PAPER,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": NOW, "edgecolor": "none"},
        zorder=10,
    )


def _legend(ax: Axes, curves: Axes, rows: int) -> None:
    handles, labels = ax.get_legend_handles_labels()
    more, names = curves.get_legend_handles_labels()
    if names:
        legend = curves.legend(
            handles + more,
            labels + names,
            loc="upper center",
            ncols=-(-len(labels + names) // rows),
            frameon=False,
            fontsize=_size(ax, 8.5),
            columnspacing=2.0 / rows,
            handlelength=1.2,
        )
        for text in legend.get_texts():
            text.set_color(INK)


def _title(ax: Axes, subject: str, detail: str, grid: Heatmap | LiquidationMap) -> None:
    """Say what is shown, and that it is an estimate, of a simulated market where it is one."""
    label = "estimate, simulated market" if grid.simulated else "estimate"
    when = grid.updated_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    between = " · " if _width(ax) >= WIDE else "\n"
    ax.set_title(
        f"{subject} · {label}\n{detail}{between}{when}", loc="left", fontsize=_size(ax, 11), color=_ink(ax), pad=8
    )


def _prices() -> Any:
    return FuncFormatter(lambda value, _: _amount(value))


def _dollars() -> Any:
    return FuncFormatter(lambda value, _: short(value))


def _amount(value: float) -> str:
    """Write a price with the digits it needs."""
    size = abs(value)
    if size >= _NO_CENTS:
        return f"{value:,.0f}"
    if size >= _PLAIN or not size:
        return f"{value:,.5g}"
    digits, power = f"{value:.4e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def short(usd: float) -> str:
    """Write an amount of money briefly.

    Parameters
    ----------
    usd : float
        The amount.

    Returns
    -------
    str

    Examples
    --------
    >>> short(1_234_567.0), short(45_600), short(12.0), short(0)
    ('1.23M', '45.6k', '12', '0')
    """
    for scale, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(usd) >= scale:
            return f"{usd / scale:.3g}{unit}"
    return f"{usd:.3g}"
