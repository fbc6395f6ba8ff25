"""The two causal fits: a sum of terms with a Gamma prior, and a product of powers with a ridge.

Both are quasi-Poisson, are fitted anew at the beginning of every UTC day on the periods that had closed by then, older
ones weighing less, and converge each time. Nothing of a day, nor of any later one, enters what is predicted for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, Flags, Floats, Millis

if TYPE_CHECKING:
    from collections.abc import Callable

HALF_LIFE = 30 * DAY
"""In the sum, a period so long ago counts half."""

LEVEL_HALF_LIFE = 3 * DAY
"""For the level of a map likewise."""

LUCK = 8.0
"""How many typical periods it takes to move the level of the last days half of the way."""

STACK_HALF_LIFE = 60 * DAY
"""In the product likewise."""

NU = 2.0
"""What the prior of a term weighs, in periods of mean size."""

RIDGE = 20.0
"""What the prior of an exponent weighs, in periods of mean size."""

WARM = 200
"""Periods to be known before anything is predicted."""

CHUNK = 32
"""Days that are fitted one after the other, each from the last one's solution; chunks begin at the prior."""

_SEEN = 0.1  # a term that was not seen yet is taken to be of a tenth of its parent's size
_CLOSE = 1e-10  # what a step of Newton's may still promise, in periods of mean size
_STEPS = 60


class Calendar(NamedTuple):
    """The UTC days of periods: what is predicted in each, and what was known when it began."""

    opens: Millis
    starts: Millis
    rows: Millis
    """First row of each day, and one past the last of all, (D + 1,)."""
    known: Millis
    """Rows whose period had closed when the day began, (D,)."""

    @classmethod
    def of(cls, opens: Millis, period: int) -> Calendar:
        """The days of periods in order of their opens."""
        starts = np.unique(opens // DAY * DAY)
        rows = np.append(np.searchsorted(opens, starts), len(opens))
        return cls(opens, starts, rows, np.searchsorted(opens + period, starts, side="right"))

    def chunks(self) -> list[range]:
        """Stretches of days that can be fitted apart from each other."""
        return [range(at, min(at + CHUNK, len(self.starts))) for at in range(0, len(self.starts), CHUNK)]


def summed(terms: Floats, usd: Floats, parents: tuple[int, ...], calendar: Calendar, days: range) -> Floats:
    """Predict ``usd`` as a sum of terms, each times a weight that is not negative, in the rows of these days.

    ``terms`` is (n, K), ``usd`` (n,). A row with a NaN term is neither learnt from nor predicted (NaN). ``parents``
    names of each term the one that tells its size while it has not been seen; -1 is the size of ``usd`` itself.
    """
    found = np.full(len(usd), np.nan)
    there: Flags = np.isfinite(terms.sum(axis=1))
    start: Floats | None = None
    for day in days:
        known = np.flatnonzero(there[: calendar.known[day]])
        if len(known) < WARM:
            continue
        weight = _forgotten(calendar.opens[known], int(calendar.starts[day]), HALF_LIFE)
        x, y = terms[known], usd[known]
        total = weight.sum()
        mean = max(float(weight @ y) / total, 1.0)
        sizes = weight @ x / total
        least = np.asarray([mean if parent < 0 else _SEEN * sizes[parent] for parent in parents])
        prior = 1.0 / (len(parents) * np.maximum(sizes, least))
        start = _most_likely_sum(x * prior, y / mean, weight, start)
        rows = slice(calendar.rows[day], calendar.rows[day + 1])
        found[rows] = terms[rows] @ (mean * prior * start)
    return found


def levelled(crossed: Floats, usd: Floats, calendar: Calendar) -> Floats:
    """Put what a map told on the level of what was realised of late, (n,) each: as model 3 sets its own.

    NaN where fewer than 200 periods are known, and where the map is not.
    """
    found = np.full(len(usd), np.nan)
    there: Flags = np.isfinite(crossed)
    for day, start in enumerate(calendar.starts.tolist()):
        known = np.flatnonzero(there[: calendar.known[day]])
        if len(known) < WARM:
            continue
        weight = _forgotten(calendar.opens[known], start, LEVEL_HALF_LIFE)
        told = float(weight @ crossed[known])
        rows = slice(calendar.rows[day], calendar.rows[day + 1])
        level = 1.0
        if told > 0.0:
            long = _forgotten(calendar.opens[known], start, HALF_LIFE)
            usual = float(long @ usd[known]) / float(long @ crossed[known])
            luck = LUCK * float(((weight * crossed[known]) ** 2).sum()) / told
            level = (float(weight @ usd[known]) + luck * usual) / (told + luck)
        found[rows] = crossed[rows] * level
    return found


def stacked(features: Floats, usd: Floats, base: Floats, calendar: Calendar, days: range) -> Floats:
    """Predict ``usd`` as ``base`` times a product of powers, both sides alike, in the rows of these days.

    ``features`` is (n, 2, F) of logarithms, ``usd`` and ``base`` are (n, 2). A row without a base is left out. Where
    nothing is known yet all exponents are 0.
    """
    found = np.full(usd.shape, np.nan)
    there: Flags = np.isfinite(base.sum(axis=1))
    start: Floats | None = None
    for day in days:
        known = np.flatnonzero(there[: calendar.known[day]])
        rows = slice(calendar.rows[day], calendar.rows[day + 1])
        if len(known) < WARM:
            found[rows] = base[rows]
            continue
        weight = np.repeat(_forgotten(calendar.opens[known], int(calendar.starts[day]), STACK_HALF_LIFE), 2)
        y = usd[known].ravel()
        mean = max(float(weight @ y) / float(weight.sum()), 1.0)
        x = features[known].reshape(len(y), -1)
        centre = weight @ x / weight.sum()
        start = _most_likely_product(x - centre, y / mean, np.log(base[known].ravel() / mean), weight, start)
        exponent = (features[rows] - centre) @ start[1:] + start[0]
        found[rows] = base[rows] * np.exp(np.clip(exponent, -20.0, 20.0))
    return found


def together(terms: Floats, usd: Floats) -> Floats:
    """The weights of a sum fitted to all rows alike: for looking back, nothing is predicted with it."""
    mean = max(float(usd.mean()), 1.0)
    prior = 1.0 / (terms.shape[1] * np.maximum(terms.mean(axis=0), np.finfo(np.float64).tiny))
    found: Floats = mean * prior * _most_likely_sum(terms * prior, usd / mean, np.ones(len(usd)), None)
    return found


def _forgotten(opens: Millis, now: int, half_life: int) -> Floats:
    found: Floats = 0.5 ** ((now - opens) / half_life)
    return found


def _most_likely_sum(x: Floats, y: Floats, weight: Floats, start: Floats | None) -> Floats:
    """The weights u, prior mean 1 each, at which w (y log xu - xu) + nu (log u - u) is largest."""
    u = np.ones(x.shape[1]) if start is None else start
    wy = weight * y
    sums = weight @ x

    def value(at: Floats) -> float:
        return float(wy @ np.log(x @ at) - sums @ at + NU * (np.log(at) - at).sum())

    best = value(u)
    for _ in range(_STEPS):
        expected = x @ u
        ratio = wy / expected
        slope = ratio @ x - sums + NU * (1.0 / u - 1.0)
        bend = (x * (ratio / expected)[:, None]).T @ x + np.diag(NU / u**2)
        step: Floats = np.linalg.solve(bend, slope).astype(np.float64, copy=False)
        if slope @ step < _CLOSE:
            break
        shrinking = step < 0
        length = min(1.0, 0.95 * float(np.min(-u[shrinking] / step[shrinking], initial=np.inf)))
        u, best = _along(value, u, step, length, best)
    return u


def _most_likely_product(x: Floats, y: Floats, base: Floats, weight: Floats, start: Floats | None) -> Floats:
    """The exponents b at which w (y log m - m) - ridge b²/2 is largest, m being exp(base + xb); a constant first."""
    x = np.column_stack([np.ones(len(x)), x])
    ridge = np.full(x.shape[1], RIDGE)
    ridge[0] = 1.0
    b = np.zeros(x.shape[1]) if start is None else start
    wy = weight * y

    def value(at: Floats) -> float:
        power = np.minimum(base + x @ at, 50.0)
        return float(wy @ power - weight @ np.exp(power) - 0.5 * ridge @ at**2)

    best = value(b)
    for _ in range(_STEPS):
        expected = weight * np.exp(np.minimum(base + x @ b, 50.0))
        slope = (wy - expected) @ x - ridge * b
        bend = (x * expected[:, None]).T @ x + np.diag(ridge)
        step: Floats = np.linalg.solve(bend, slope).astype(np.float64, copy=False)
        if slope @ step < _CLOSE:
            break
        b, best = _along(value, b, step, 1.0, best)
    return b


def _along(
    value: Callable[[Floats], float], at: Floats, step: Floats, length: float, best: float
) -> tuple[Floats, float]:
    """Go along a step as far as it leads upward."""
    for _ in range(_STEPS):
        there = at + length * step
        reached = value(there)
        if reached >= best:
            return there, reached
        length /= 2.0
    return at, best
