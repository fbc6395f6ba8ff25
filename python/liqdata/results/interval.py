"""The 80 % interval of an estimate, by side and distance from the price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def interval_of(meta: dict[str, Any]) -> dict[str, Any] | None:
    """The 80 % interval in the ``explain`` of an estimate; ``None`` if there is none."""
    fit = meta.get("explain", {}).get("fit")
    return None if fit is None else fit.get("interval")


def interval_ends(
    interval: dict[str, Any], cells: npt.NDArray[np.float64], distances: npt.NDArray[np.float64], side: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The low and the high end of the interval of each cell, for one side.

    Distances from the price are shares of the price. A negative distance means the other side of the price, where this
    side has no cells.
    """
    import numpy as np

    # The interval is 0 to infinity beyond the last distance, and at distances with too little data to validate it.
    unbounded = (0.0, np.inf)
    factors = np.array([unbounded if one is None else one for one in interval[side]] + [unbounded])
    found = factors[np.searchsorted(interval["ends"], distances, side="right")]
    low, high = found[..., 0], found[..., 1]
    of_empty = np.where((distances < 0.0) | np.isfinite(high), 0.0, np.inf)
    with np.errstate(invalid="ignore"):  # 0 times infinity
        return cells * low, np.where(cells == 0.0, of_empty, cells * high)
