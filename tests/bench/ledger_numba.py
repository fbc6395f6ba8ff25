"""The ledger of the estimate for numba: what a quant who knows both would write, to be raced against.

It does what ``tests/python/support/reference_ledger.py`` does, cell for cell, on dense arrays: a factor for every part
in place of a walk over its cells, and bounds of what is not empty, so that a bar costs what it opens and newly crosses.
"""

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
VANISHING = 1e-150


@numba.njit
def replay(
    bars: Floats,
    ln_ratios: Floats,
    clocks: Floats,
    opening: float,
    h: float,
    entries: int,
    phi0: float,
    origin: int,
    size: int,
) -> tuple[Any, ...]:
    """The cells of every side, tier and clock, their factors, and the bounds of what is not empty, after all bars.

    A bar is low, high, close, relative volume, days, open interest.
    """
    worlds, parts = ln_ratios.shape[1], clocks.shape[0]
    cells = np.zeros((2, worlds, parts, size))
    scale = np.ones((2, worlds, parts))
    unlocated = np.empty((2, worlds, parts))
    mass = np.empty((2, worlds, parts))
    first = np.full((2, worlds, parts), size)
    end = np.zeros((2, worlds, parts), dtype=np.int64)
    flux = np.zeros((2, worlds, parts))
    churn = np.empty(parts)
    bins = np.empty(entries, dtype=np.int64)
    standing = np.empty(parts)
    for part in range(parts):
        standing[part] = clocks[part, 0] / clocks[part, 1] if clocks[part, 1] > 0 else 1.0
    standing /= standing.sum()
    for part in range(parts):
        unlocated[:, :, part] = opening * standing[part]
    mass[:] = unlocated
    level = opening
    for place in range(bars.shape[0]):
        low, high, close, volume, days, then = bars[place]
        low_bin = math.floor(math.log(low) / h) - origin
        high_bin = math.floor(math.log(high) / h) - origin
        close_bin = math.floor(math.log(close) / h) - origin
        ln_low, ln_range = math.log(low), math.log(high / low)
        for part in range(parts):
            churn[part] = min(0.5, clocks[part, 1] * days * volume)
        for side in range(2):
            for world in range(worlds):
                swept = 0.0
                for part in range(parts):
                    row = cells[side, world, part]
                    crossed = 0.0
                    if side == 0:
                        start = max(low_bin, first[side, world, part])
                        for j in range(start, end[side, world, part]):
                            crossed += row[j]
                            row[j] = 0.0
                        end[side, world, part] = min(end[side, world, part], start)
                    else:
                        stop = min(high_bin + 1, end[side, world, part])
                        for j in range(first[side, world, part], stop):
                            crossed += row[j]
                            row[j] = 0.0
                        first[side, world, part] = max(first[side, world, part], stop)
                    flux[side, world, part] = crossed * scale[side, world, part]
                    swept += flux[side, world, part]
                left = max(level - phi0 * swept, 0.0)
                stays = min(left, then) / left if left > 0.0 else 0.0
                opened = max(then - left, 0.0)
                for part in range(parts):
                    liquidated = phi0 * flux[side, world, part]
                    rest = max(mass[side, world, part] - liquidated, 0.0) * stays
                    factor = (1.0 - churn[part]) * stays
                    mass[side, world, part] = (1.0 - churn[part]) * rest
                    unlocated[side, world, part] += flux[side, world, part] - liquidated
                    unlocated[side, world, part] *= factor
                    scale[side, world, part] *= factor
                    if scale[side, world, part] < VANISHING:
                        cells[side, world, part] *= scale[side, world, part]
                        scale[side, world, part] = 1.0
                    opened += churn[part] * rest
                for entry in range(entries):
                    ln = ln_low + ln_range * (entry + 0.5) / entries + ln_ratios[side, world]
                    j = math.floor(ln / h) - origin
                    bins[entry] = min(j, close_bin - 1) if side == 0 else max(j, close_bin + 1)
                for part in range(parts):
                    share = opened * clocks[part, 0]
                    mass[side, world, part] += share
                    each = share / entries / scale[side, world, part]
                    if share > 0.0:
                        for entry in range(entries):
                            cells[side, world, part, bins[entry]] += each
                        if first[side, world, part] >= end[side, world, part]:
                            first[side, world, part] = bins[0]
                            end[side, world, part] = bins[entries - 1] + 1
                        else:
                            first[side, world, part] = min(first[side, world, part], bins[0])
                            end[side, world, part] = max(end[side, world, part], bins[entries - 1] + 1)
        level = then
    return cells, scale, first, end


@numba.njit
def usd(cells: Floats, scale: Floats, first: Any, end: Any, weights: Floats, h: float, origin: int) -> Floats:
    """USD by side and bin, the tiers weighted."""
    found = np.zeros((2, cells.shape[3]))
    for side in range(2):
        for world in range(cells.shape[1]):
            for part in range(cells.shape[2]):
                factor = weights[world] * scale[side, world, part]
                for j in range(first[side, world, part], end[side, world, part]):
                    found[side, j] += factor * cells[side, world, part, j]
        for j in range(cells.shape[3]):
            found[side, j] *= math.exp((j + origin + 0.5) * h)
    return found
