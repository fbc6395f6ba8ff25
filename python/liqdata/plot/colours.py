"""Colours of all plots, safe for colour-blind readers.

Longs are blue and shorts are orange. This pair is distinct in every kind of colour blindness, and visible on white and
on black backgrounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.colors import to_hex, to_rgb

if TYPE_CHECKING:
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
    "faint",
    "ink",
    "is_dark",
    "light",
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
