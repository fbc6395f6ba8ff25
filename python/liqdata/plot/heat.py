"""Draws the heatmap with a log colour scale, the price and a colour bar.

The axes contain all cells; only the visible range is limited.
"""

from __future__ import annotations

import math
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import matplotlib as mpl
import numpy as np
from matplotlib.colors import Colormap, LogNorm, to_hex
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import Bbox, TransformedBbox

from liqdata.calls.arguments import number
from liqdata.errors import BadQuery

from . import amounts, colours, layout
from .clock import clock
from .marks import marked
from .view import bound_of, outside, price_of, starts, view_of_heatmap

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from liqdata.frames.price import Course
    from liqdata.results.heatmap import Heatmap

    Floats: TypeAlias = npt.NDArray[np.float64]
    Times: TypeAlias = npt.NDArray[np.datetime64]

__all__ = ["Scale", "heatmap"]

_EXPECTED = 3  # the number of the model that estimates expected liquidations
_CANDLE = 0.05  # minimum width of a candle, in inches
_CLOSE = 0.02  # minimum distance between two closes, in inches


class Scale(NamedTuple):
    """Colour settings that the caller chose."""

    cmap: str | Colormap | None = None
    vmin: float | None = None
    vmax: float | None = None
    threshold: float | None = None

    def checked(self) -> Scale:
        """Check the settings, and return them as floats."""
        usd = "USD above 0, or None"
        least, most, threshold = (
            None if value is None else number(value, name, usd)
            for name, value in (("vmin", self.vmin), ("vmax", self.vmax), ("threshold", self.threshold))
        )
        for name, value in (("vmin", least), ("vmax", most), ("threshold", threshold)):
            if value is not None and not 0.0 < value < math.inf:
                msg = f"{name}: {value!r} is not allowed; allowed: {usd}, because the scale is logarithmic"
                raise BadQuery(msg, parameter=name)
        if least is not None and most is not None and least >= most:
            msg = f"vmin: {least!r} is not below vmax {most!r}; allowed: less"
            raise BadQuery(msg, parameter="vmin")
        if self.cmap is not None and not isinstance(self.cmap, Colormap) and self.cmap not in mpl.colormaps:
            msg = (
                f"cmap: {self.cmap!r} is not allowed; allowed: a colour map of matplotlib or its name, such as 'magma'"
            )
            raise BadQuery(msg, parameter="cmap")
        return Scale(self.cmap, least, most, threshold)

    def ends(self, matrix: Floats, prices: Floats, view: tuple[float, float]) -> colours.Peaks:
        """The scale for the rows in view, with the ends that the caller chose."""
        found = colours.peaks_of(matrix, prices, *view)
        bottom = found.floor if self.vmin is None else self.vmin
        top = found.top if self.vmax is None else self.vmax
        if not bottom < top:
            bottom, top = (top / 10.0, top) if self.vmin is None else (bottom, bottom * 10.0)
        return colours.Peaks(bottom, found.knee, top)

    def map(self, ends: colours.Peaks) -> Colormap:
        """The colour map.

        In a map of the caller without a colour for empty cells, they get its lowest colour.
        """
        if self.cmap is None:
            return colours.colours_of(ends).with_extremes(bad=colours.BACKGROUND)
        chosen = self.cmap if isinstance(self.cmap, Colormap) else mpl.colormaps[self.cmap]
        own = chosen.get_bad()
        return chosen if own[3] > 0 else chosen.with_extremes(bad=chosen(0.0))


def heatmap(
    grid: Heatmap,
    ax: Axes | None,
    *,
    price: Any,
    candles: bool,
    bound: str | None,
    scale: Scale,
    levels: Any,
    maxpain: Any,
) -> Axes:
    """Draw a heatmap; see :func:`liqdata.plot.heatmap`."""
    scale = scale.checked()
    shown = grid.matrix if bound is None else bound_of(grid, bound)
    marks = marked(grid.symbol, levels, maxpain)
    edges = starts(grid.times) if len(grid.times) else None
    line = price_of(grid, price, edges)
    ax = layout.on(ax)
    have = layout.room(ax)
    if line is not None:
        line = line.coarser(
            max(8, int((have.width - 1.6 * have.scale) / (_CANDLE if candles and line.bars else _CLOSE)))
        )
    layout.fit(ax)
    cells = np.ma.masked_invalid(shown)
    cells = np.ma.masked_less_equal(cells, 0.0)
    if scale.threshold is not None:
        cells = np.ma.masked_less(cells, scale.threshold)
    low, high = view_of_heatmap(grid, cells.sum(axis=1).filled(0.0) if cells.count() else None, line)
    ends = scale.ends(shown, grid.prices, (low, high))
    map_ = scale.map(ends)
    ax.set_facecolor(to_hex(cast("Any", map_.get_bad())))
    ax.tick_params(labelsize=8.6 * have.scale, length=3.0 * have.scale, width=0.6)
    if cells.count():
        _mesh(grid, cells, ax, ends=ends, map_=map_)
    else:
        layout.note(ax, "no estimated liquidations" if scale.threshold is None else "no cell reaches the threshold")
        ax.texts[-1].set_color(colours.FAINT)

    if line is not None:
        _candles(line, ax) if candles and line.bars else _line(line, ax)
    if np.isfinite(grid.current_price):
        ax.axhline(grid.current_price, color=colours.NOW, linestyle=(0, (5, 3)), linewidth=1.2 * have.scale)
    _crop(grid, low, high, ax)
    if marks:
        marks.draw(ax, (low, high))
    _axes(grid, ax)
    _head(grid, ax, cells, (low, high), bound=bound, scale=scale, line=line, candles=candles)
    return ax


def _axes(grid: Heatmap, ax: Axes) -> None:
    """Set up the axes: prices with a tag at the current price, and times."""
    have = layout.room(ax)
    layout.lower(ax)
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    if np.isfinite(grid.current_price):
        layout.tag(ax.yaxis, grid.current_price, have.ticks(0.42, upright=True))
    if not have.small:
        ax.set_xlabel("time, UTC", fontsize=8.6 * have.scale, labelpad=2.0)
        ax.set_ylabel(f"{amounts.name(grid.symbol)} price, USD", fontsize=8.6 * have.scale, labelpad=7.0 * have.scale)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _head(
    grid: Heatmap,
    ax: Axes,
    cells: np.ma.MaskedArray[Any, Any],
    view: tuple[float, float],
    *,
    bound: str | None,
    scale: Scale,
    line: Course | None,
    candles: bool,
) -> None:
    what = "expected liquidations" if grid.model == _EXPECTED else "open interest exposed"
    last = cells[:, -1].filled(0.0) if cells.count() else np.zeros(len(grid.prices))
    # The share outside the visible range is shown only for the estimate, not for an end of the interval.
    beyond = outside(grid, last, *view) if bound is None else f"{bound} end of the interval"
    drawn = ""
    if line is not None and line.span:
        drawn = f"price: {amounts.span(line.span)} {'candles' if candles and line.bars else 'closes'}"
    layout.head(
        ax,
        [f"{amounts.name(grid.symbol)} liquidation heatmap", layout.estimate(grid.meta)],
        [
            f"{grid.range} · model {grid.model}, {what}",
            beyond,
            "" if scale.threshold is None else f"cells from {amounts.short(scale.threshold)}",
            drawn,
            f"{grid.updated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        ],
        margin=1.3,
    )


def _mesh(
    grid: Heatmap,
    cells: np.ma.MaskedArray[Any, Any],
    ax: Axes,
    *,
    ends: colours.Peaks,
    map_: Colormap,
) -> None:
    """Draw the cells and the colour bar."""
    bottom, _, top = ends
    mesh = ax.pcolormesh(
        starts(grid.times),
        _edges(grid.prices),
        cells,
        norm=LogNorm(bottom, top),
        cmap=map_,
        shading="flat",
        rasterized=True,
    )
    fainter, stronger = float(cells.min()) < bottom, float(cells.max()) > top
    more = ("both" if stronger else "min") if fainter else "max" if stronger else "neither"
    have = layout.room(ax)
    inset = ax.inset_axes((1.1, 0.0, 0.02, 1.0))
    inset.set_axes_locator(cast("Any", _ColourBarLocator(ax, have.scale)))
    bar = cast("Any", ax.figure).colorbar(mesh, cax=inset, extend=more, extendfrac=0.03)
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=have.ticks(0.4, upright=True)))
    bar.ax.yaxis.set_major_formatter(amounts.dollars())
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.tick_params(which="both", length=0.0)
    bar.ax.tick_params(colors=colours.ink(ax), labelsize=7.6 * have.scale, pad=2.0)
    bar.outline.set_visible(False)
    if not have.small:
        size = 8.0 * have.scale
        words = layout.broken(
            [f"{layout.unit(grid)} per cell", "comparable only inside one map"], have.height - 1.1 * have.scale, size
        )
        bar.set_label(words, color=colours.faint(ax), fontsize=size, labelpad=3.0)


class _ColourBarLocator:
    """Places the colour bar to the right of the axis labels."""

    def __init__(self, ax: Axes, scale: float) -> None:
        self._ax = ax
        self._scale = scale

    def __call__(self, _: Axes, renderer: Any) -> Bbox:
        figure: Any = self._ax.figure
        inner = self._ax.get_window_extent(renderer)
        words = self._ax.yaxis.get_tightbbox(renderer)
        point = renderer.points_to_pixels(1.0)
        left = max(inner.x1, inner.x1 if words is None else words.x1) + 6.0 * self._scale * point
        box = Bbox.from_extents(left, inner.y0, left + 7.0 * self._scale * point, inner.y1)
        return TransformedBbox(box, figure.transSubfigure.inverted()).frozen()


def _line(line: Course, ax: Axes) -> None:
    """Draw the price as a line.

    A single close between two gaps is drawn as a point.
    """
    times, values = line.times, line.closes
    ax.plot(times, values, color=colours.PAPER, linewidth=2.8, solid_joinstyle="round")
    ax.plot(times, values, color=colours.PRICE, linewidth=1.3, solid_joinstyle="round", label="price")
    gaps = np.concatenate(([True], np.isnan(values), [True]))
    alone = ~gaps[1:-1] & gaps[:-2] & gaps[2:]
    if alone.any():
        ax.plot(times[alone], values[alone], ".", color=colours.PRICE, markeredgecolor=colours.PAPER, markersize=7)


def _candles(line: Course, ax: Axes) -> None:
    """Draw candles: white if the price rose, black if it fell.

    Other colours have a meaning in the map.
    """
    assert line.bars is not None  # noqa: S101 - checked by the caller
    assert line.span is not None  # noqa: S101 - bars always have a span
    there = ~np.isnan(np.vstack((line.closes, *line.bars))).any(axis=0)
    opens, highs, lows = (values[there] for values in line.bars)
    closes, times = line.closes[there], line.times[there]
    middles = times - np.timedelta64(line.span // 2, "ms")
    ax.vlines(middles, lows, highs, color=colours.PAPER, linewidth=2.4)
    ax.vlines(middles, lows, highs, color=colours.PRICE, linewidth=0.9, label="price")
    for rose, face, edge in ((True, colours.PRICE, colours.PAPER), (False, colours.PAPER, colours.PRICE)):
        some = (closes >= opens) if rose else (closes < opens)
        if not some.any():
            continue
        ax.bar(
            middles[some],
            (closes - opens)[some],
            np.timedelta64(int(0.68 * line.span), "ms"),
            opens[some],
            color=face,
            edgecolor=edge,
            linewidth=0.5,
            zorder=3,
        )


def _edges(prices: Floats) -> Floats:
    """The edges of the rows, half way between their centres on a log scale."""
    logs = np.log(prices)
    inner = (logs[1:] + logs[:-1]) / 2.0
    half = (logs[1] - logs[0]) / 2.0 if len(logs) > 1 else 5e-4
    last = (logs[-1] - logs[-2]) / 2.0 if len(logs) > 1 else half
    return np.exp(np.concatenate(([logs[0] - half], inner, [logs[-1] + last])))


def _crop(grid: Heatmap, low: float, high: float, ax: Axes) -> None:
    """Limit the axes to the visible range."""
    ax.set_ylim(low, high)
    if len(grid.times):
        edges = starts(grid.times)
        ax.set_xlim(cast("Any", edges[0]), cast("Any", edges[-1]))
        clock(ax, layout.room(ax).ticks(0.72))
    else:
        ax.set_xticks([])
