"""Colours of all plots, safe for colour-blind readers.

Longs are blue and shorts are orange. This pair is distinct in every kind of colour blindness, and visible on white and
on black backgrounds.

The default scale of heatmaps shows peaks; ``web/src/chart/peaks.ts`` has the same rule. It is logarithmic, from the
lower quartile of the visible cells to the tenth largest row: the brightest cells are those of the ten largest rows. The
colours of its dark half reach up to a knee, over which few of the visible cells are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap, to_hex, to_rgb

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

__all__ = [
    "BACKGROUND",
    "GROUPS",
    "INK",
    "LONG",
    "NOW",
    "OTHERS",
    "PAPER",
    "PRICE",
    "SHORT",
    "Peaks",
    "colours_of",
    "faint",
    "ink",
    "is_dark",
    "light",
    "peaks_of",
    "shades",
    "tiers",
]

PAPER = "#0b0c14"
BACKGROUND = "#150826"
INK = "#d9dce6"
FAINT = "#8d91a5"
PRICE = "#f5f7ff"
NOW = "#e0457b"
LONG = "#1a8fb0"
SHORT = "#e2642a"

GROUPS = ("#7b61c9", "#3fae7c", "#e0cf5a", "#c774a5", "#717c93", "#a5d6b5", "#8d4f6d")
"""Colours of groups (exchanges or coins), largest group first; further groups have the colour :data:`OTHERS`.

None of them is like :data:`LONG` or :data:`SHORT`, which are the sides."""

OTHERS = "#94979f"

_ON_LIGHT = {LONG: ("#4699b4", "#06303f"), SHORT: ("#d9774a", "#581c04")}
_ON_DARK = {LONG: ("#15687f", "#d4f2fc"), SHORT: ("#a8431a", "#ffe3d3")}
"""Colours of the lowest and the highest leverage of a side; the highest has the most contrast."""


def tiers(count: int, side: str, ax: Axes) -> list[str]:
    """Shades of the colour of a side for ``count`` leverages, lowest leverage first."""
    return shades(count, side, dark=is_dark(ax))


def shades(count: int, side: str, *, dark: bool) -> list[str]:
    """Shades of the colour of a side, weakest first."""
    weak, strong = map(to_rgb, (_ON_DARK if dark else _ON_LIGHT)[side])
    shares = [place / max(count - 1, 1) for place in range(count)]
    return [
        to_hex(tuple((1.0 - share) * a + share * b for a, b in zip(weak, strong, strict=True)))  # type: ignore[arg-type]
        for share in shares
    ]


def light(side: str) -> str:
    """The colour of text on a dark background, for the colour of a side."""
    return {LONG: "#7fd3ec", SHORT: "#ffb48a"}[side]


def ink(ax: Axes) -> str:
    """The text colour of these axes."""
    return to_hex(ax.yaxis.label.get_color())


def faint(ax: Axes, share: float = 0.68) -> str:
    """A colour between text and background, for secondary elements."""
    dark = to_rgb(ink(ax))
    paper = (0.0, 0.0, 0.0) if is_dark(ax) else (1.0, 1.0, 1.0)
    return to_hex(tuple(share * a + (1.0 - share) * b for a, b in zip(dark, paper, strict=True)))  # type: ignore[arg-type]


def is_dark(ax: Axes) -> bool:
    """Whether these axes have light text on a dark background."""
    return sum(to_rgb(ink(ax))) > 1.5  # noqa: PLR2004 - half of white


_FLOOR = 0.25
"""Share of the visible cells that are below the floor, and have the darkest colour."""

_KNEE = 0.9
"""Share of the visible cells that are dark: their colours have a luminance of at most 0.35."""

_DARK = 0.53
"""Share of the colours that are dark."""

_ROWS = 400
"""Most rows that are separate; with more, neighbours count as their largest, as in a picture."""

_LARGEST = 10
"""Rows with the brightest cells; fewer if there are fewer than a hundred rows."""

_DECADES = 3.0
"""Longest scale, in powers of ten."""


class Peaks(NamedTuple):
    """The amounts at the ends of the scale, and where its dark colours end."""

    floor: float
    knee: float
    top: float


def peaks_of(matrix: npt.NDArray[np.float64], prices: npt.NDArray[np.float64], low: float, high: float) -> Peaks:
    """The scale for the rows between two prices.

    Parameters
    ----------
    matrix : numpy.ndarray
        Amounts, shape (P, T); NaN or infinite where unknown.
    prices : numpy.ndarray
        Prices of the rows, shape (P,).
    low, high : float
        The lowest and the highest visible price.

    Returns
    -------
    Peaks
        1, 5 and 10 without an amount above 0.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(1.0, 101.0)
    >>> peaks_of(np.repeat(rows[:, None] ** 2, 3, axis=1), rows, 1.0, 100.0)
    Peaks(floor=676.0, knee=8200.0, top=8280.0)
    """
    seen = matrix[(prices >= low) & (prices <= high)]
    seen = np.where(np.isfinite(seen), seen, np.nan)
    if not seen.size:
        return Peaks(1.0, 5.0, 10.0)
    together = -(-len(seen) // _ROWS)
    missing = -len(seen) % together
    padded = np.concatenate([seen, np.full((missing, seen.shape[1]), np.nan)])
    merged = np.fmax.reduce(padded.reshape(-1, together, seen.shape[1]), axis=1)
    known = np.sort(merged[~np.isnan(merged)])
    if not len(known) or known[-1] <= 0.0:
        return Peaks(1.0, 5.0, 10.0)
    rows = np.sort(np.nan_to_num(merged).max(axis=1))
    count = min(_LARGEST, max(1, len(rows) // 10))
    top = float(rows[-count]) or float(known[-1])
    least = top / 10.0**_DECADES
    knee = min(max(float(known[int(_KNEE * len(known))]), 2.0 * least), 0.99 * top)
    floor = min(max(float(known[int(_FLOOR * len(known))]), least), 0.9 * knee)
    return Peaks(_rounded(floor), _rounded(knee), _rounded(top))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def colours_of(found: Peaks) -> ListedColormap:
    """The colours of the scale, purple to yellow: those of viridis.

    Parameters
    ----------
    found : Peaks
        The scale.

    Returns
    -------
    matplotlib.colors.ListedColormap
        256 colours, equally far apart in the logarithm of the amount.
    """
    knee = np.log(found.knee / found.floor) / np.log(found.top / found.floor)
    shares = np.interp(np.arange(256) / 255.0, [0.0, knee, 1.0], [0.0, _DARK, 1.0])
    # Square, since the dark colours are the first 30 % of viridis.
    table: Any = mpl.colormaps["viridis"](np.floor(255.0 * shares**2 + 0.5).astype(int))
    return ListedColormap(table, name="peaks")
