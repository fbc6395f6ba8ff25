"""The interval of an estimate: how far off maps have been, by distance from the price, put around a map's own cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

# Beyond the last distance, and where too little is known, nothing is validated: anything from nothing on may come.
_ANYTHING = (0.0, np.inf)


def told(meta: dict[str, Any]) -> dict[str, Any] | None:
    """What the engine says of the interval of an estimate; ``None`` where it tells none."""
    fit = meta.get("explain", {}).get("fit")
    return None if fit is None else fit.get("interval")


def ends(interval: dict[str, Any], cells: Floats, distances: Floats, side: str) -> tuple[Floats, Floats]:
    """Low and high of the cells of one side, at distances from the price that are shares of it.

    None lie at a distance below 0, on the other side of the price.
    """
    factors = np.array([_ANYTHING if one is None else one for one in interval[side]] + [_ANYTHING])
    found = factors[np.searchsorted(interval["ends"], distances, side="right")]
    low, high = found[..., 0], found[..., 1]
    nothing = np.where((distances < 0.0) | np.isfinite(high), 0.0, np.inf)
    with np.errstate(invalid="ignore"):  # nothing times infinity
        return cells * low, np.where(cells == 0.0, nothing, cells * high)
