"""Information gain of a prediction over another one, with intervals from resampled days.

The unit is nats per liquidated USD. In formulas, ``y`` is the reported USD, ``mu`` the prediction, and ``mu0``
the prediction that it is compared with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, Flags, Floats, Millis

RESAMPLES = 400
_LOW, _HIGH = 2.5, 97.5


class Gain(NamedTuple):
    """An information gain and its 95 % interval; NaN without liquidations."""

    value: float
    low: float
    high: float


class Resampled:
    """Resamples of the days, drawn with replacement; all comparisons use the same draws."""

    def __init__(self, opens: Millis, seed: int) -> None:
        self.days, self._place = np.unique(opens // DAY, return_inverse=True)
        count = len(self.days)
        chance = np.random.default_rng(seed)
        self._draws = chance.multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES).astype(np.float64)

    def gain(self, usd: Floats, mu: Floats, mu0: Floats, rows: Flags) -> Gain:
        """The gain [Σ y log(mu / mu0) − Σ (mu − mu0)] / Σ y.

        The sums are over the rows and sides of arrays (n, S).
        """
        return self.ratio(np.where(rows[:, None], nats(usd, mu, mu0), 0.0), np.where(rows[:, None], usd, 0.0))

    def ratio(self, above: Floats, below: Floats) -> Gain:
        """The ratio of the sums of two arrays (n, S), with an interval."""
        tops = np.bincount(self._place, above.sum(axis=1), len(self.days))
        bottoms = np.bincount(self._place, below.sum(axis=1), len(self.days))
        if not bottoms.sum() > 0:
            return Gain(np.nan, np.nan, np.nan)
        drawn = self._draws @ bottoms
        ratios = (self._draws @ tops)[drawn > 0] / drawn[drawn > 0]
        low, high = np.percentile(ratios, (_LOW, _HIGH))
        return Gain(float(tops.sum() / bottoms.sum()), float(low), float(high))


def nats(usd: Floats, mu: Floats, mu0: Floats) -> Floats:
    """The contribution of each period and side to the gain; NaN without a prediction."""
    found: Floats = usd * np.log(mu / mu0) - (mu - mu0)
    return found


def spearman(left: Floats, right: Floats) -> float:
    """Spearman's rank correlation, with mean ranks for ties.

    NaN if all values of one array are equal.
    """
    if len(left) < 3:  # noqa: PLR2004 - two points have no informative rank correlation
        return float("nan")
    a, b = _ranks(left), _ranks(right)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else float("nan")


def _ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    found: Floats = (ends - (counts - 1) / 2.0)[place]
    return found


def captured(usd: Floats, mu: Floats, share: float) -> float:
    """The share of all USD that falls into the ``share`` of periods with the highest predictions."""
    total = float(usd.sum())
    if not total > 0:
        return float("nan")
    count = max(1, round(share * len(usd)))
    top = np.argsort(-mu, kind="stable")[:count]
    return float(usd[top].sum()) / total
