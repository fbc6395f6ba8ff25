"""Figure, layout, heading and price tag of a plot.

The space of a plot is the grid cell of its axes in the figure, which is known before drawing. It determines font sizes,
line breaks and the number of ticks. The layout engine of the figure sets the margins. If the figure has none,
:class:`Fit` sets them, so that labels of adjacent axes do not overlap.

:func:`head` draws the title, the details and the legend, and :func:`tag` marks the current price on an axis.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.legend_handler import HandlerTuple
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox, TransformedBbox

from liqdata.errors import BadQuery
from liqdata.results.units import as_served

from .amounts import Apart, name, price, prices
from .colours import INK, NOW, PAPER, faint, ink

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap

__all__ = [
    "Fit",
    "Room",
    "bare",
    "broken",
    "dress",
    "estimate",
    "fit",
    "fresh",
    "head",
    "known",
    "lower",
    "note",
    "on",
    "room",
    "tag",
    "wide",
]

_FULL = (8.0, 4.6)  # minimum width and height in inches of a cell with full-size text
_SMALLEST = 0.62  # minimum scale of text
_HINTED = 1.05  # hinted letters are a little wider than their outlines
_EDGE = 4.0  # distance between the labels and the edge of the cell, in points
_DRAWN = "liqdata"  # group id of the title, which marks axes with a plot
_SMALL = (2.6, 1.9)  # width and height in inches of a cell below which only essential labels are drawn


class Room(NamedTuple):
    """The space for axes and their labels, in inches."""

    width: float
    height: float

    @property
    def scale(self) -> float:
        """Scale of text and lines, at most 1."""
        share = min(1.0, self.width / _FULL[0], self.height / _FULL[1])
        return max(_SMALLEST, 0.42 + 0.58 * share)

    @property
    def small(self) -> bool:
        """Whether there is only room for essential labels."""
        return self.width < _SMALL[0] or self.height < _SMALL[1]

    def ticks(self, inches: float, *, upright: bool = False, most: int = 9) -> int:
        """The number of labels that fit on an axis, if each needs ``inches`` at full scale."""
        length = self.height - 1.2 * self.scale if upright else self.width - 1.4 * self.scale
        return max(2, min(most, int(length / (inches * self.scale))))


def fresh() -> Axes:
    """Create axes on a new pyplot figure, in matplotlib's current style."""
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(10.0, 5.6), layout="constrained").add_subplot()


def on(ax: Axes | None) -> Axes:
    """The axes to draw on: new ones by default; refused if this package has drawn on them already."""
    if ax is None:
        return fresh()
    if any(artist.get_gid() == _DRAWN for artist in ax.get_children()):
        msg = (
            "ax: it already has a plot of liqdata, and a second one would cover its title and axes; "
            "allowed: other axes, ax.clear() before, or liqdata.plot.compare for several liquidation maps"
        )
        raise BadQuery(msg, parameter="ax")
    return ax


def dress(figure: Figure) -> Axes:
    """Add dark axes to a figure that this package created."""
    figure.set_facecolor(PAPER)
    ax = figure.add_subplot()
    ax.set_facecolor(PAPER)
    ax.tick_params(colors=INK, which="both")
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(INK)
    for spine in ax.spines.values():
        spine.set_color("#2b2d3f")
    return ax


def room(ax: Axes) -> Room:
    """Measure the grid cell of the axes."""
    figure = cast("Figure", ax.figure)  # may be a subfigure
    width, height = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    spec = ax.get_subplotspec()
    if spec is None:
        box = ax.get_position()
        return Room(1.2 * box.width * width, 1.25 * box.height * height)
    cell = _cell(spec)
    return Room(cell.width * width, cell.height * height)


def _cell(spec: SubplotSpec) -> Bbox:
    """The part of the figure that belongs to a grid cell, including its share of the gaps."""
    grid: Any = spec.get_gridspec()
    outer = _cell(grid._subplot_spec) if hasattr(grid, "_subplot_spec") else Bbox.unit()  # noqa: SLF001 - no public access to the parent of a nested grid
    rows, columns = grid.get_geometry()
    heights = grid.get_height_ratios() or [1] * rows
    widths = grid.get_width_ratios() or [1] * columns
    x0, x1 = sum(widths[: spec.colspan.start]) / sum(widths), sum(widths[: spec.colspan.stop]) / sum(widths)
    y0, y1 = 1 - sum(heights[: spec.rowspan.stop]) / sum(heights), 1 - sum(heights[: spec.rowspan.start]) / sum(heights)
    return Bbox.from_extents(
        outer.x0 + x0 * outer.width,
        outer.y0 + y0 * outer.height,
        outer.x0 + x1 * outer.width,
        outer.y0 + y1 * outer.height,
    )


class Fit:
    """Locator that fits axes and labels into their grid cell if the figure has no layout engine.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    twin : matplotlib.axes.Axes, optional
        Twin axes with labels that also need space.
    """

    def __init__(self, ax: Axes, twin: Axes | None = None) -> None:
        self._all = [ax] if twin is None else [ax, twin]
        self._spec = ax.get_subplotspec()
        self._busy = False

    def get_subplotspec(self) -> SubplotSpec | None:
        """Return the grid cell; matplotlib's layout engines call this."""
        return self._spec

    def __call__(self, ax: Axes, renderer: Any) -> Bbox:
        """Return the position of the axes; matplotlib calls this before drawing."""
        figure = ax.figure
        if self._busy:  # called again by the measurement below
            return ax.get_position()
        if figure is None or not self._is_unmanaged(figure):
            return ax.get_position(original=True)
        if ax is not self._all[0]:  # the call for the first axes has placed the twin too
            return self._all[0].get_position()
        self._busy = True
        try:
            return self._place(figure, renderer)
        finally:
            self._busy = False

    def _is_unmanaged(self, figure: Any) -> bool:
        """Whether neither a layout engine nor the caller sets the position."""
        if self._spec is None or figure.get_layout_engine() is not None:
            return False
        grid: Any = self._spec.get_gridspec()
        if any(getattr(grid, side, None) is not None for side in ("left", "right", "top", "bottom")):
            return False
        pars = figure.subplotpars
        return all(
            getattr(pars, name) == mpl.rcParams[cast("Any", f"figure.subplot.{name}")]
            for name in ("left", "right", "top", "bottom", "wspace", "hspace")
        )

    def _place(self, figure: Any, renderer: Any) -> Bbox:
        assert self._spec is not None  # noqa: S101 - checked by the caller
        whole = figure.bbox
        cell = TransformedBbox(_cell(self._spec), figure.transSubfigure).frozen()
        edge = _EDGE * renderer.points_to_pixels(1.0)
        top = cell.y1
        if (title := figure._suptitle) is not None:  # noqa: SLF001 - no public access to the extent of the title
            top = min(top, title.get_window_extent(renderer).y0)
        found = cell
        for _ in range(3):  # repeated, because the space that ticks need changes with the size of the axes
            inner = self._all[0].get_window_extent(renderer)
            words = Bbox.union([cast("Bbox", one.get_tightbbox(renderer)) for one in self._all])
            x0, x1 = cell.x0 + edge + inner.x0 - words.x0, cell.x1 - edge - (words.x1 - inner.x1)
            y0, y1 = cell.y0 + edge + inner.y0 - words.y0, top - edge - (words.y1 - inner.y1)
            if x1 - x0 < 0.2 * cell.width:
                x0, x1 = cell.x0 + 0.3 * cell.width, cell.x0 + 0.5 * cell.width
            if y1 - y0 < 0.15 * cell.height:
                y0, y1 = cell.y0 + 0.3 * cell.height, cell.y0 + 0.45 * cell.height
            found = Bbox.from_extents(
                (x0 - whole.x0) / whole.width,
                (y0 - whole.y0) / whole.height,
                (x1 - whole.x0) / whole.width,
                (y1 - whole.y0) / whole.height,
            )
            settled = np.allclose(found.extents, self._all[0].get_position().extents, atol=1e-4)
            for one in self._all:
                one._set_position(found, which="active")  # type: ignore[attr-defined]  # noqa: SLF001 - set_position would take the axes out of every layout
            if settled:
                break
        return found


def fit(ax: Axes, twin: Axes | None = None) -> None:
    """Fit axes and their twin axes into their grid cell."""
    locator = Fit(ax, twin)
    for one in (ax,) if twin is None else (ax, twin):
        one.set_axes_locator(cast("Any", locator))


def wide(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in inches."""
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text.replace("\\$", "S"), font, ismath=False)
    return _HINTED * float(width) / 72.0


def broken(parts: Iterable[str], inches: float, size: float, *, bold: bool = False) -> str:
    """Join parts with dots.

    Break lines between parts, and at spaces within a part that is too long.
    """
    pieces: list[str] = []
    for part in parts:
        length = wide(part, size, bold=bold)
        letters = max(8, int(len(part) * inches / max(length, 1e-9)))
        pieces += [part] if length <= inches else textwrap.wrap(part, letters, break_long_words=False)
    lines: list[str] = []
    for piece in pieces:
        longer = f"{lines[-1]} · {piece}" if lines else piece
        if lines and wide(longer, size, bold=bold) <= inches:
            lines[-1] = longer
        else:
            lines.append(piece)
    return "\n".join(lines)


def head(
    ax: Axes, subject: Sequence[str], details: Sequence[str], *, entries: Sequence[Any] = (), margin: float = 1.1
) -> None:
    """Draw the heading above the axes: title, details and legend.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    subject, details : sequence of str
        Parts of the title and of the details; lines are broken between parts.
    entries : sequence of matplotlib artists
        Labelled artists for the legend; a tuple of artists is one entry with the label of the first.
    margin : float
        Width of the labels left and right of the axes, in inches at full scale.
    """
    have = room(ax)
    scale = have.scale
    inches = max(0.8, have.width - margin * scale)
    above = 5.0 * scale
    if entries and not have.small:
        above = _legend(ax, entries, inches, above)
    size = 8.6 * scale
    words = broken([part for part in details if part], inches, size)
    if words and not have.small:
        ax.annotate(
            words,
            (0.0, 1.0),
            xycoords="axes fraction",
            xytext=(0.0, above),
            textcoords="offset points",
            va="bottom",
            ha="left",
            fontsize=size,
            color=faint(ax),
            linespacing=1.25,
            annotation_clip=False,
        )
        above += 1.32 * size * (1 + words.count("\n")) + 2.0
    size = 11.5 * scale
    ax.set_title(
        broken(subject, inches, size, bold=True),
        loc="left",
        fontsize=size,
        fontweight="bold",
        color=ink(ax),
        pad=above + 1.0,
        linespacing=1.2,
        gid=_DRAWN,
    )


def _legend(ax: Axes, entries: Sequence[Any], inches: float, above: float) -> float:
    """Draw the legend above the axes, and return its top in points."""
    size = 8.6 * room(ax).scale
    labels = [str((entry[0] if isinstance(entry, tuple) else entry).get_label()) for entry in entries]
    widest = max(wide(label, size) for label in labels) + 3.2 * size / 72.0
    columns = max(1, min(len(entries), int(inches / widest)))
    rows = -(-len(entries) // columns)
    legend = ax.legend(
        handles=list(entries),
        labels=labels,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.0)},
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=-(-len(entries) // rows),
        frameon=False,
        fontsize=size,
        borderaxespad=above / size,
        borderpad=0.0,
        handlelength=1.0,
        handleheight=0.8,
        handletextpad=0.5,
        columnspacing=1.4,
        labelspacing=0.35,
        labelcolor=ink(ax),
    )
    legend.set_in_layout(True)
    return above + rows * 1.4 * size + 4.0


def bare(ax: Axes, grid: str) -> None:
    """Remove the frame, and draw faint grid lines for one axis."""
    scale = room(ax).scale
    ax.tick_params(labelsize=8.6 * scale, length=0.0)
    lower(ax)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.grid(visible=True, axis=cast("Any", grid), color=faint(ax, 0.22), linewidth=0.7)
    ax.set_axisbelow(True)


def lower(ax: Axes) -> None:
    """Move the labels below the axes down, so that they do not touch the labels at the side."""
    ax.tick_params(axis="x", which="both", pad=7.0 * room(ax).scale)


def note(ax: Axes, text: str) -> None:
    """Write a text in the centre of the axes, such as why the plot is empty."""
    ax.text(
        0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=faint(ax), fontsize=9 * room(ax).scale
    )


def tag(axis: Any, value: float, most: int) -> None:
    """Mark the current price on a price axis with a tag, and omit other labels near it."""
    ax: Axes = axis.axes
    have = room(ax)
    size = 8.6 * have.scale
    upright = axis.axis_name == "y"
    text = price(value)
    apart = 1.9 * size if upright else 72.0 * wide(text, size) + 1.2 * size
    axis.set_major_locator(Apart(most, value, apart))
    axis.set_major_formatter(prices())
    axis.set_minor_locator(FixedLocator([value]))
    axis.set_minor_formatter(prices())
    axis.set_tick_params(which="minor", length=0.0, labelsize=size, labelcolor="#ffffff", pad=5.0)
    for tick in axis.get_minor_ticks(1):
        for label in (tick.label1, tick.label2):
            label.set_fontweight("bold")
            label.set_bbox({"boxstyle": "round,pad=0.18", "facecolor": NOW, "edgecolor": "none"})


def estimate(meta: Mapping[str, Any]) -> str:
    """The part of a title that says whether a map is estimated, measured or simulated."""
    if meta.get("view") == "measured":
        return f"measured, {seen(meta)}"
    what = as_served(meta) or "estimate"
    return f"{what}, simulated market" if meta.get("simulated") else what


def seen(meta: Mapping[str, Any]) -> str:
    """The share of open interest that the observed positions cover, as text."""
    share = meta.get("seen_share")
    if isinstance(share, Mapping):  # one share per exchange
        least = [each for each in share.values() if each is not None]
        share = min(least) if least and len(least) == len(share) else None
    return "of an unknown share of open interest" if share is None else f"{100 * share:.3g} % of open interest seen"


def known(meta: Mapping[str, Any]) -> list[str]:
    """The source and the instant of an answer with realised data, as texts."""
    said = ["simulated market"] if meta.get("simulated") else []
    if not said and (source := meta.get("source")):
        said.append(f"source: {name(source, 60)}")
    if (when := meta.get("as_of")) is not None:
        said.append(f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
    return said


def unit(grid: Heatmap | LiquidationMap) -> str:
    """The unit of a grid's amounts in words, such as ``USD of open interest exposed``."""
    return grid._unit  # noqa: SLF001 - the words that its repr uses
