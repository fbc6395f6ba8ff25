"""The two causal fits: a sum of terms with a Gamma prior, and a product of powers with a ridge.

Both are quasi-Poisson and are fitted to convergence at the start of every UTC day on the periods closed by then, with
smaller weights for older ones. No data of a day or later enter its predictions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, Flags, Floats, Millis

if TYPE_CHECKING:
    from collections.abc import Callable

HALF_LIFE = 30 * DAY
"""In the fit of the sum, a period of this age has half the weight of a new one."""

LEVEL_HALF_LIFE = 3 * DAY
"""In the level of a map, a period of this age has half the weight of a new one."""

LUCK = 8.0
"""Number of typical periods that move the level of the last days half way to their ratio."""

STACK_HALF_LIFE = 60 * DAY
"""In the fit of the product, a period of this age has half the weight of a new one."""

NU = 2.0
"""Weight of the prior of a term, in periods of mean size."""

RIDGE = 20.0
"""Weight of the prior of an exponent, in periods of mean size."""

WARM = 200
"""Number of known periods before the first prediction."""

CHUNK = 32
"""Days of a chunk, which are fitted in sequence from the previous solution; the first one from the prior."""

_SEEN = 0.1  # assumed size of a term without data, relative to its parent
_CLOSE = 1e-10  # smallest expected improvement of a Newton step, in periods of mean size
_STEPS = 60


class Calendar(NamedTuple):
    """The UTC days of periods: the rows to predict on each, and the rows known at its start."""

    opens: Millis
    starts: Millis
    rows: Millis
    """First row of each day, and the end of all, shape (D + 1,)."""
    known: Millis
    """Number of rows with periods closed at the start of the day, shape (D,)."""

    @classmethod
    def of(cls, opens: Millis, period: int) -> Calendar:
        """The days of periods that are sorted by open."""
        starts = np.unique(opens // DAY * DAY)
        rows = np.append(np.searchsorted(opens, starts), len(opens))
        return cls(opens, starts, rows, np.searchsorted(opens + period, starts, side="right"))

    def chunks(self) -> list[range]:
        """Ranges of days that are fitted independently."""
        return [range(at, min(at + CHUNK, len(self.starts))) for at in range(0, len(self.starts), CHUNK)]


def summed(terms: Floats, usd: Floats, parents: tuple[int, ...], calendar: Calendar, days: range) -> Floats:
    """Predict ``usd`` on these days as a sum of terms with non-negative weights.

    ``terms`` has shape (n, K), ``usd`` (n,). Rows with a NaN term are neither used nor predicted (NaN). ``parents`` is,
    for each term, the index of the term that gives its size while it has no data; -1 stands for ``usd`` itself.
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
    """Scale the USD of a map to the recently reported level, as model 3 does; shapes (n,).

    NaN with fewer than 200 known periods, and without a map.
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
    """Predict ``usd`` on these days as ``base`` times a product of powers, equal for both sides.

    ``features`` are logarithms of shape (n, 2, F); ``usd`` and ``base`` have shape (n, 2). Rows without a base are
    skipped. Without data all exponents are 0.
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
    """The weights of a sum fitted to all rows; only for description, not for prediction."""
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
