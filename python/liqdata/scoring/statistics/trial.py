"""Trials of predictions: each one alone, and as an additional term of a reference.

Predictions for a day use only periods that closed before the day. The work is split into tasks: pure functions of
arrays and a range of days, with the same result on any machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, Flags, Floats, Millis

from . import fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from .path import Path

    Run = Callable[[Callable[..., Any], list[tuple[Any, ...]]], list[Any]]

PATHS = ("weak", "strong", "adaptive")
HORIZONS = (DAY // 4, DAY, 5 * DAY)
"""Decay times in milliseconds of the averages of reported USD over the prediction of the strong path."""

_WEAK = (0, 1)


class Paths(NamedTuple):
    """Predictions of the path models, shape (n, 2) each; NaN without enough data."""

    weak: Floats
    strong: Floats
    adaptive: Floats
    features: Floats
    """Logarithmic features of the adaptive path, (n, 2, F)."""


class Trial(NamedTuple):
    """The results of one prediction, shape (n, 2) each; NaN without a prediction or enough data."""

    crossed: Floats
    """USD of the map that the price crossed."""
    alone: Floats
    """Prediction from the map alone: a multiple of the crossed USD plus a constant, both fitted to the past."""
    full: Floats
    """Prediction of the reference with the map as an additional term."""


def paths(path: Path, run: Run) -> Paths:
    """The predictions of the path models."""
    from .path import PARENTS

    weak, strong = _sums(path, [(path.weak, _WEAK), (path.strong, PARENTS)], run)
    features = _features(path, strong)
    (adaptive,) = _stacks(path, [(features, strong)], run)
    return Paths(weak, strong, adaptive, features)


def trials(path: Path, known: Paths, predictions: list[Floats], reference: str, run: Run) -> list[Trial]:
    """Try predictions, each of which is an array of crossed USD.

    Its shape is (n, 2) by period and side, or (n, 2, M) for M maps together.
    """
    from .path import PARENTS

    terms, parents = (path.weak, _WEAK) if reference == "weak" else (path.strong, PARENTS)
    base = known.weak if reference == "weak" else known.strong
    asked: list[tuple[Floats, tuple[int, ...]]] = []
    several = [crossed.reshape(len(crossed), 2, -1) for crossed in predictions]
    whole = [crossed.sum(axis=2) for crossed in several]
    for crossed in several:
        # -1: until the price has crossed USD of a map, its term is assumed to have the size of the reported USD.
        sizes = (-1,) * crossed.shape[2]
        constant = np.ones((*crossed.shape[:2], 1))
        asked += [
            (np.concatenate([crossed, constant], axis=2), (*sizes, len(sizes))),
            (np.concatenate([terms, crossed], axis=2), (*parents, *sizes)),
        ]
    # Fit the reference without the map to the same periods as with it. Otherwise a map that starts late would change
    # the reference too, by leaving it fewer periods.
    late = [place for place, crossed in enumerate(whole) if not np.isfinite(crossed).all()]
    asked += [(np.where(np.isfinite(whole[place])[:, :, None], terms, np.nan), parents) for place in late]
    made = _sums(path, asked, run)
    count = 2 * len(predictions)
    alone, joint = made[:count:2], made[1:count:2]
    bare = dict(zip(late, made[count:], strict=True))
    with np.errstate(invalid="ignore"):
        added = [one / bare.get(place, base) for place, one in enumerate(joint)]
    if reference == "adaptive":
        raised = [np.where(np.isfinite(one), one, 1.0) for one in added]
        features = [np.concatenate([known.features, np.log(one)[:, :, None]], axis=2) for one in raised]
        # The fit of the sum gives a factor that the map adds. The base includes the square root of this factor, so the
        # prior expects the exponent 1/2 for it.
        full = _stacks(
            path, [(one, known.strong * np.sqrt(more)) for one, more in zip(features, raised, strict=True)], run
        )
    else:
        full = [base * one for one in added]
    return [Trial(*one) for one in zip(whole, alone, full, strict=True)]


def _sums(path: Path, asked: list[tuple[Floats, tuple[int, ...]]], run: Run) -> list[Floats]:
    """Fit sums of terms of shape (n, 2, K), each side separately."""
    calendar = fit.Calendar.of(path.opens, path.period)
    chunks = calendar.chunks()
    sides = [path.usd[:, side] for side in (0, 1)]
    fits = [(terms[:, side], usd, parents) for terms, parents in asked for side, usd in enumerate(sides)]
    tasks = [(*one, calendar, days) for one in fits for days in chunks]
    made = _whole(run(fit.summed, tasks), len(chunks))
    return [np.column_stack(made[at : at + 2]) for at in range(0, len(made), 2)]


def _stacks(path: Path, asked: list[tuple[Floats, Floats]], run: Run) -> list[Floats]:
    """Fit products of powers of features, both sides together."""
    calendar = fit.Calendar.of(path.opens, path.period)
    chunks = calendar.chunks()
    tasks = [(features, path.usd, base, calendar, days) for features, base in asked for days in chunks]
    return _whole(run(fit.stacked, tasks), len(chunks))


def _whole(parts: list[Floats], chunks: int) -> list[Floats]:
    """Merge the ranges of days of each fit; each row is predicted in only one of them."""
    return [np.fmax.reduce(parts[at : at + chunks]) for at in range(0, len(parts), chunks)]


def _features(path: Path, strong: Floats) -> Floats:
    """Logarithms of the strong path, the excursion, the relative volume and recently reported USD."""
    there: Flags = np.isfinite(strong.sum(axis=1))
    mu = np.where(there[:, None], strong, 1.0)
    late = _recent(path.opens[there], path.usd[there], strong[there])
    ratios = np.zeros((len(strong), 2, len(HORIZONS)))
    ratios[there] = late
    volume = np.broadcast_to(np.log(np.clip(path.volume, 0.05, 50.0))[:, None], strong.shape)
    logs = np.stack([np.log(mu), np.log(path.excursion), volume], axis=2)
    return np.concatenate([logs, ratios, ratios[:, ::-1]], axis=2)


def _recent(opens: Millis, usd: Floats, mu: Floats) -> Floats:
    """Log ratio of reported to predicted USD before each open, (n, 2, H).

    There is one ratio per decay time; each is shrunk towards 0.
    """
    scales = np.asarray(HORIZONS, dtype=np.float64)
    found = np.zeros((len(opens), 2, len(scales)))
    above, below = np.zeros((2, len(scales))), np.zeros((2, len(scales)))
    weight = np.zeros(len(scales))
    for row in range(1, len(opens)):
        remaining = np.exp((opens[row - 1] - opens[row]) / scales)
        above = (above + usd[row - 1, :, None]) * remaining
        below = (below + mu[row - 1, :, None]) * remaining
        weight = (weight + 1.0) * remaining
        usual = below[:, -1:] / weight[-1]
        found[row] = np.log((above + usual) / (below + usual))
    return found


def scored(path: Path, known: Paths, made: list[Trial], start: int | None, end: int | None) -> Flags:
    """Which periods are scored: those between ``start`` and ``end`` for which every prediction is known."""
    everything = np.concatenate([known.strong, *(trial.alone for trial in made)], axis=1)
    rows: Flags = np.isfinite(everything.sum(axis=1))
    if start is not None:
        rows &= path.opens >= start
    if end is not None:
        rows &= path.opens + path.period <= end
    return rows
