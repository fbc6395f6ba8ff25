"""The units of estimates and the services of recorded maps, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .heatmap import Heatmap
    from .map import LiquidationMap

__all__ = ["as_served", "open_interest_age", "unit_in_words"]

EXPOSED = "USD of open interest exposed"
EXPECTED = "USD expected to be reported liquidated"
MEASURED = "USD of observed positions"
ESTIMATED = "USD"
# The number of the model that estimates USD expected to be reported.
EXPECTING = 3

RELATIVE = "relative units: open interest is unknown, a multiple of the volume replaces it"

VENDOR = "relative units of the service"

VIEWS: dict[Any, str] = {"exposed": EXPOSED, "expected": EXPECTED, "measured": MEASURED}

OLD = 24 * 60 * 60 * 1000
"""Age of the open interest in milliseconds above which ``units`` mentions the age."""


def open_interest_age(meta: Mapping[str, Any]) -> str | None:
    """The age of the open interest of an estimate, if it is more than a day.

    Parameters
    ----------
    meta : mapping
        The ``meta`` of an estimate.

    Returns
    -------
    str or None
        Such as ``"open interest 26 h old"``.
    """
    explain = meta.get("explain") or {}
    age = explain.get("openInterestAgeMs")
    if age is None or age <= OLD or explain.get("openInterestScale") == "relative":
        return None
    return f"open interest {age // (60 * 60 * 1000)} h old"


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
