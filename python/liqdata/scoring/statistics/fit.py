"""The two fits of reported USD, which use only past data.

One fits a sum of terms with a Gamma prior, the other one a product of powers with a ridge prior. Both are quasi-Poisson
fits. They are repeated at the start of every UTC day, until convergence, on the periods that have closed by then; older
periods have smaller weights. The prediction for a day uses only data from before this day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, Flags, Floats, Millis

if TYPE_CHECKING:
    from collections.abc import Callable

HALF_LIFE = 30 * DAY
"""Half-life of weights in the fit of the sum: a period of this age (ms) has half the weight of a new period."""

LEVEL_HALF_LIFE = 3 * DAY
"""Half-life of weights in the level of a map: a period of this age (ms) has half the weight of a new period."""

LUCK = 8.0
"""Weight of the long-term level against that of the last days, in typical periods.

With this many typical periods in the last days, both levels have equal weight."""

STACK_HALF_LIFE = 60 * DAY
"""Half-life of weights in the fit of the product: a period of this age (ms) has half the weight of a new period."""

NU = 2.0
"""Weight of the Gamma prior of a term, as a number of periods with mean USD."""

RIDGE = 20.0
"""Weight of the ridge prior of an exponent, as a number of periods with mean USD."""

WARM = 200
"""Number of known periods that are needed before the first prediction."""

CHUNK = 32
"""Number of days in a chunk.

The fit of a day starts from the solution of the previous day; the first day of a chunk starts from the prior."""

_SEEN = 0.1  # smallest size that a term is assumed to have, relative to its parent term
_CLOSE = 1e-10  # a fit ends when a Newton step is expected to improve the objective by less than this
_STEPS = 60


class Calendar(NamedTuple):
    """The UTC days of periods: the rows to predict on each day, and the rows known before it."""

    opens: Millis
    starts: Millis
    rows: Millis
    """First row of each day, followed by the number of rows, shape (D + 1,)."""
    known: Millis
    """For each day, the number of rows with periods that closed by the start of the day, shape (D,)."""

    @classmethod
    def of(cls, opens: Millis, period: int) -> Calendar:
        """The calendar of periods that are sorted by open."""
        starts = np.unique(opens // DAY * DAY)
        rows = np.append(np.searchsorted(opens, starts), len(opens))
        return cls(opens, starts, rows, np.searchsorted(opens + period, starts, side="right"))

    def chunks(self) -> list[range]:
        """Ranges of days that are fitted independently."""
        return [range(at, min(at + CHUNK, len(self.starts))) for at in range(0, len(self.starts), CHUNK)]


def summed(terms: Floats, usd: Floats, parents: tuple[int, ...], calendar: Calendar, days: range) -> Floats:
    """Predict ``usd`` on these days as a sum of terms with non-negative weights.

    ``terms`` has shape (n, K), ``usd`` (n,). Rows with a NaN term are neither used nor predicted (NaN). While a term
    has no data, its size is assumed relative to its parent. ``parents`` has the index of the parent of each term; -1
    stands for ``usd``.
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
    """Scale the crossed USD of a map to the USD reported recently, as model 3 does.

    All arrays have shape (n,).

    The result is NaN for days with fewer than 200 known periods, and for periods without a map.
    """
    found = np.full(len(usd), np.nan)
    there: Flags = np.isfinite(crossed)
    for day, start in enumerate(calendar.starts.tolist()):
        known = np.flatnonzero(there[: calendar.known[day]])
        if len(known) < WARM:
            continue
        weight = _forgotten(calendar.opens[known], start, LEVEL_HALF_LIFE)
        predicted = float(weight @ crossed[known])
        rows = slice(calendar.rows[day], calendar.rows[day + 1])
        level = 1.0
        if predicted > 0.0:
            long = _forgotten(calendar.opens[known], start, HALF_LIFE)
            usual = float(long @ usd[known]) / float(long @ crossed[known])
            luck = LUCK * float(((weight * crossed[known]) ** 2).sum()) / predicted
            level = (float(weight @ usd[known]) + luck * usual) / (predicted + luck)
        found[rows] = crossed[rows] * level
    return found


def stacked(features: Floats, usd: Floats, base: Floats, calendar: Calendar, days: range) -> Floats:
    """Predict ``usd`` on these days as ``base`` times a product of powers.

    Both sides have the same exponents.
    ``features`` are the logarithms of the factors, shape (n, 2, F); ``usd`` and ``base`` have shape (n, 2). Rows with a
    NaN base are skipped. With too few periods for a fit, the prediction is ``base``.
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
    """Fit the weights of a sum to all rows together.

    Not causal, so not for predictions.
    """
    mean = max(float(usd.mean()), 1.0)
    prior = 1.0 / (terms.shape[1] * np.maximum(terms.mean(axis=0), np.finfo(np.float64).tiny))
    found: Floats = mean * prior * _most_likely_sum(terms * prior, usd / mean, np.ones(len(usd)), None)
    return found


def _forgotten(opens: Millis, now: int, half_life: int) -> Floats:
    found: Floats = 0.5 ** ((now - opens) / half_life)
    return found


def _most_likely_sum(x: Floats, y: Floats, weight: Floats, start: Floats | None) -> Floats:
    """The weights u, with prior mean 1, that maximise w (y log xu - xu) + nu (log u - u)."""
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
    """The exponents b (the first is a constant) that maximise w (y log m - m) - ridge b²/2 with m = exp(base + xb)."""
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
    """Shorten a step until it improves the objective."""
    for _ in range(_STEPS):
        there = at + length * step
        reached = value(there)
        if reached >= best:
            return there, reached
        length /= 2.0
    return at, best
