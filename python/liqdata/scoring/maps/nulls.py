"""Nulls of a map: its past state, its average over past days, and its mirror image.

A useful map must score better than its nulls. A null has a realistic distribution of USD over the distance from the
price (as a share of the price): that of an earlier map, of the average of the maps so far, or of the map mirrored at
the price. A null that is uniform in price would be too easy to beat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from liqdata.scoring.columns import DAY, LONG, SHORT, Flags, Floats

if TYPE_CHECKING:
    from liqdata.scoring.statistics.path import Path

    from .sources import Source

AGES = (1, 3, 7, 14, 30)
"""Ages of the past maps, in days."""

_REACHES = np.concatenate(([0.0], np.geomspace(2e-4, 0.3, 40)))  # log distances at which the average map is sampled


def nulls(source: Source, path: Path) -> dict[str, Floats]:
    """Crossed USD of each null, shape (n, 2).

    NaN if there was no map so many days before.

    Empty for a source that has predictions only for the real price moves.
    """
    found = {}
    for age in AGES:
        then = path.opens - age * DAY
        scale = path.bars.closed(then) / path.price
        crossed = source.crossed(then, path.low * scale, path.high * scale)
        if crossed is None:
            return {}
        crossed[~np.isfinite(scale)] = np.nan
        found[f"{age}d ago"] = crossed
    found["average"] = _average(source, path)
    mirrored = source.crossed(path.opens, path.price**2 / path.high, path.price**2 / path.low)
    if mirrored is not None:
        found["mirrored"] = mirrored[:, ::-1]
    return found


def _average(source: Source, path: Path) -> Floats:
    """Crossed USD of an average map.

    It averages, by distance from the price, the maps at the first open of each day so far.
    """
    days, first = np.unique(path.opens // DAY, return_index=True)
    price = np.repeat(path.price[first], len(_REACHES))
    reach = np.tile(_REACHES, len(days))
    instants = np.repeat(path.opens[first], len(_REACHES))
    crossed = source.crossed(instants, price * np.exp(-reach), price * np.exp(reach))
    profile = np.full((len(days), len(_REACHES), 2), np.nan) if crossed is None else crossed.reshape(len(days), -1, 2)
    known: Flags = np.isfinite(profile.reshape(len(days), -1).sum(axis=1))
    count = np.cumsum(known)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.cumsum(np.where(known[:, None, None], profile, 0.0), axis=0) / count[:, None, None]
    day = np.searchsorted(days, path.opens // DAY)
    far = {LONG: np.log(path.price / path.low), SHORT: np.log(path.high / path.price)}
    found = np.full((len(path.opens), 2), np.nan)
    for row in range(len(path.opens)):
        if count[day[row]]:
            for side in (LONG, SHORT):
                found[row, side] = np.interp(far[side][row], _REACHES, mean[day[row], :, side])
    return found
