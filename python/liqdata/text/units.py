"""Units of amounts in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from liqdata.grids import Heatmap, LiquidationMap

__all__ = ["unit_in_words"]


def unit_in_words(grid: Heatmap | LiquidationMap) -> str:
    """The unit of a grid's amounts in words, such as ``USD of open interest exposed``."""
    return grid._unit  # noqa: SLF001 - the classes of grids say it themselves
