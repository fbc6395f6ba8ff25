"""Checks of the reported USD: equal rates at all times of day, and consistent sums.

An *excursion* is how far the price moves beyond the previous close, in the direction that liquidates a side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, MINUTE, Flags

from . import fit

if TYPE_CHECKING:
    from liqdata.scoring.truth import Parts

    from .path import Path

_ODD = 0.6
"""A time slot is marked as odd if its USD per unit of excursion are below this share of the usual value.

Values above the inverse of this share are also odd."""

_OFF = 0.01  # largest relative difference at which a whole and the sum of its parts count as equal
_TERM = 1  # index of the sum of excursions among the terms of the strong path


def checks(path: Path, parts: Parts | None, rows: Flags) -> list[dict[str, Any]]:
    """The checks as rows.

    They compare USD by part of the period, USD by time of day, and sums of parts with wholes.
    """
    found = [*_inside(path, rows), *_hours(path, rows)]
    if parts is not None:
        found.append(_halves(parts))
    return [one.line() for one in found]


class _Odd(NamedTuple):
    """One check."""

    check: str
    slot: str
    n: int
    usd: float
    relative: float
    differing: float = np.nan

    def line(self) -> dict[str, Any]:
        """The check as a row."""
        odd = bool(np.isfinite(self.relative) and not _ODD <= self.relative <= 1.0 / _ODD)
        return {**self._asdict(), "odd": odd}


def _inside(path: Path, rows: Flags) -> list[_Odd]:
    """USD per new price extreme in each part of a period.

    Low values at the end of periods show that data are lost.

    The usual USD of a new extreme depend on its distance from the previous close, as in the weak path.
    """
    count = path.inside.shape[2]
    if count == 1 or rows.sum() < fit.WARM:
        return []
    weights = np.zeros(count)
    for side in (0, 1):
        usd = path.usd[rows, side]
        linear, bent = fit.together(path.weak[rows, side], usd)
        reached = 1.0 + np.concatenate([np.zeros((len(usd), 1)), path.inside[rows, side]], axis=1)
        usual = np.diff(linear * reached + bent * reached**1.5, axis=1)
        weights += fit.together(np.column_stack([usual, np.ones(len(usd))]), usd)[:count]
    mean = weights.mean()
    length = path.period // count // MINUTE
    total = float(path.usd[rows].sum())
    return [
        _Odd("part of the period", f"+{place * length} min", int(rows.sum()), total, float(weights[place] / mean))
        for place in range(count)
    ]


def _hours(path: Path, rows: Flags) -> list[_Odd]:
    """USD per unit of excursion for each slot of the day.

    A slot is an hour, or a longer period.
    """
    length = max(path.period, 60 * MINUTE)
    slots = path.opens % DAY // length
    moved = path.strong[:, :, _TERM].sum(axis=1)
    usd = path.usd.sum(axis=1)
    usual = usd[rows].sum() / moved[rows].sum() if moved[rows].sum() > 0 else np.nan
    found = []
    for slot in range(DAY // length):
        mine = rows & (slots == slot)
        if mine.any():
            rate = usd[mine].sum() / moved[mine].sum() if moved[mine].sum() > 0 else np.nan
            name = f"{slot * length // (60 * MINUTE):02}:00"
            found.append(_Odd("time of the day", name, int(mine.sum()), float(usd[mine].sum()), float(rate / usual)))
    return found


def _halves(parts: Parts) -> _Odd:
    """Ratio of the sums of parts to the wholes, and the share of wholes that differ from their parts."""
    wholes, sums = parts.wholes, parts.sums
    differ = np.abs(sums - wholes) > _OFF * np.maximum(wholes, sums)
    total = float(wholes.sum())
    share = float(differ.any(axis=1).mean()) if len(wholes) else float("nan")
    relative = float(sums.sum()) / total if total > 0 else float("nan")
    return _Odd("parts against wholes", f"{parts.length // MINUTE} min", len(wholes), total, relative, share)
