"""Checks of the truth itself: what is realised ought not to depend on the clock, and parts ought to make up wholes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, MINUTE, Flags

from . import fit

if TYPE_CHECKING:
    from liqdata.scoring.truth import Parts

    from .path import Path

_ODD = 0.6
"""A slot that tells less than this share of the usual USD per unit of excursion is marked, or more than its inverse."""

_OFF = 0.01  # wholes and parts that differ by less than this share agree
_TERM = 1  # the strong path's sum of excursions


def checks(path: Path, parts: Parts | None, rows: Flags) -> list[dict[str, Any]]:
    """Rows of what was checked: by the part of a period the price moved in, by the hour, and parts against wholes."""
    found = [*_inside(path, rows), *_hours(path, rows)]
    if parts is not None:
        found.append(_halves(parts))
    return [one.line() for one in found]


class _Odd(NamedTuple):
    """One thing that was looked at."""

    check: str
    slot: str
    n: int
    usd: float
    relative: float
    differing: float = np.nan

    def line(self) -> dict[str, Any]:
        """As a row of the card."""
        odd = bool(np.isfinite(self.relative) and not _ODD <= self.relative <= 1.0 / _ODD)
        return {**self._asdict(), "odd": odd}


def _inside(path: Path, rows: Flags) -> list[_Odd]:
    """USD per fresh extreme of each part of a period: a feed that loses the end of its bars shows here.

    What a fresh extreme is usually worth grows with how far it lies out, as the weak path says of all periods.
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
    """USD per unit of excursion by the slot of the day, at most an hour long."""
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
    """Sums of the parts over the wholes, and how many differ."""
    wholes, sums = parts.wholes, parts.sums
    differ = np.abs(sums - wholes) > _OFF * np.maximum(wholes, sums)
    told = float(wholes.sum())
    share = float(differ.any(axis=1).mean()) if len(wholes) else float("nan")
    relative = float(sums.sum()) / told if told > 0 else float("nan")
    return _Odd("parts against wholes", f"{parts.length // MINUTE} min", len(wholes), told, relative, share)
