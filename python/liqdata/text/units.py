"""Units and makers of maps in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from liqdata.grids import Heatmap, LiquidationMap

__all__ = ["as_served", "unit_in_words"]


def unit_in_words(grid: Heatmap | LiquidationMap) -> str:
    """The unit of a grid's amounts in words, such as ``USD of open interest exposed``."""
    return grid._unit  # noqa: SLF001 - the classes of grids say it themselves


def as_served(meta: Mapping[str, Any]) -> str | None:
    """Say which service served a recorded map, and when.

    Parameters
    ----------
    meta : mapping
        The ``meta`` of a map.

    Returns
    -------
    str or None
        Such as ``"as served by coinglass at 2026-06-01T00:00:00Z"``; ``None`` for other maps.
    """
    if "recording" not in meta:
        return None
    at = meta["recorded_at"].isoformat(timespec="auto").replace("+00:00", "Z")
    return f"as served by {meta['recording']} at {at}"
