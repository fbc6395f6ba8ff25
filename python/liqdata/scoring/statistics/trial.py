"""One prediction after the other through the same trial: alone on its own scale, and as a further term of a reference.

Every number that is predicted for a day rests on what had closed when it began. The work is cut into tasks, pure
functions of arrays and a stretch of days, so that they may run anywhere and give the same.
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
"""How far back the ratio of what was realised to what the strong path said is looked at."""

_WEAK = (0, 1)


class Paths(NamedTuple):
    """What the paths predict, (n, 2) each; NaN while too little is known."""

    weak: Floats
    strong: Floats
    adaptive: Floats
    features: Floats
    """Logarithms the adaptive path is made of, (n, 2, F)."""


class Trial(NamedTuple):
    """What one prediction came to, (n, 2) each; NaN where it was not there or too little was known."""

    crossed: Floats
    """USD as the map tells them."""
    alone: Floats
    """On its own scale, that and a floor fitted to the past."""
    full: Floats
    """The reference with the map as a further term."""


def paths(path: Path, run: Run) -> Paths:
    """What the path alone says."""
    from .path import PARENTS

    weak, strong = _sums(path, [(path.weak, _WEAK), (path.strong, PARENTS)], run)
    features = _features(path, strong)
    (adaptive,) = _stacks(path, [(features, strong)], run)
    return Paths(weak, strong, adaptive, features)


def trials(path: Path, known: Paths, predictions: list[Floats], reference: str, run: Run) -> list[Trial]:
    """Put predictions to the trial: USD crossed by period and side, (n, 2), or of several maps at once, (n, 2, M)."""
    from .path import PARENTS

    terms, parents = (path.weak, _WEAK) if reference == "weak" else (path.strong, PARENTS)
    base = known.weak if reference == "weak" else known.strong
    asked: list[tuple[Floats, tuple[int, ...]]] = []
    several = [crossed.reshape(len(crossed), 2, -1) for crossed in predictions]
    whole = [crossed.sum(axis=2) for crossed in several]
    for crossed in several:
        # The size of a map that was not crossed yet is that of the USD.
        sizes = (-1,) * crossed.shape[2]
        constant = np.ones((*crossed.shape[:2], 1))
        asked += [
            (np.concatenate([crossed, constant], axis=2), (*sizes, len(sizes))),
            (np.concatenate([terms, crossed], axis=2), (*parents, *sizes)),
        ]
    # What a map adds is told by the same periods with and without it: one that begins late would otherwise also bring
    # a shorter memory.
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
        # Half of what the sum says of the map is believed before anything is known of the map itself.
        full = _stacks(
            path, [(one, known.strong * np.sqrt(more)) for one, more in zip(features, raised, strict=True)], run
        )
    else:
        full = [base * one for one in added]
    return [Trial(*one) for one in zip(whole, alone, full, strict=True)]


def _sums(path: Path, asked: list[tuple[Floats, tuple[int, ...]]], run: Run) -> list[Floats]:
    """Fit sums of terms (n, 2, K), each side by itself."""
    calendar = fit.Calendar.of(path.opens, path.period)
    chunks = calendar.chunks()
    sides = [path.usd[:, side] for side in (0, 1)]
    fits = [(terms[:, side], usd, parents) for terms, parents in asked for side, usd in enumerate(sides)]
    tasks = [(*one, calendar, days) for one in fits for days in chunks]
    made = _whole(run(fit.summed, tasks), len(chunks))
    return [np.column_stack(made[at : at + 2]) for at in range(0, len(made), 2)]


def _stacks(path: Path, asked: list[tuple[Floats, Floats]], run: Run) -> list[Floats]:
    """Fit products of powers of features on bases, both sides alike."""
    calendar = fit.Calendar.of(path.opens, path.period)
    chunks = calendar.chunks()
    tasks = [(features, path.usd, base, calendar, days) for features, base in asked for days in chunks]
    return _whole(run(fit.stacked, tasks), len(chunks))


def _whole(parts: list[Floats], chunks: int) -> list[Floats]:
    """Put the stretches of days of each fit together: of each row only one of them has a prediction."""
    return [np.fmax.reduce(parts[at : at + chunks]) for at in range(0, len(parts), chunks)]


def _features(path: Path, strong: Floats) -> Floats:
    """Power of the strong path and of the excursion, relative volume, and how much was realised of late."""
    there: Flags = np.isfinite(strong.sum(axis=1))
    mu = np.where(there[:, None], strong, 1.0)
    late = _recent(path.opens[there], path.usd[there], strong[there])
    ratios = np.zeros((len(strong), 2, len(HORIZONS)))
    ratios[there] = late
    volume = np.broadcast_to(np.log(np.clip(path.volume, 0.05, 50.0))[:, None], strong.shape)
    logs = np.stack([np.log(mu), np.log(path.excursion), volume], axis=2)
    return np.concatenate([logs, ratios, ratios[:, ::-1]], axis=2)


def _recent(opens: Millis, usd: Floats, mu: Floats) -> Floats:
    """Log ratio of realised to predicted USD over the horizons before each open, (n, 2, H), drawn to 0 a little."""
    scales = np.asarray(HORIZONS, dtype=np.float64)
    found = np.zeros((len(opens), 2, len(scales)))
    above, below = np.zeros((2, len(scales))), np.zeros((2, len(scales)))
    weight = np.zeros(len(scales))
    for row in range(1, len(opens)):
        kept = np.exp((opens[row - 1] - opens[row]) / scales)
        above = (above + usd[row - 1, :, None]) * kept
        below = (below + mu[row - 1, :, None]) * kept
        weight = (weight + 1.0) * kept
        usual = below[:, -1:] / weight[-1]
        found[row] = np.log((above + usual) / (below + usual))
    return found


def scored(path: Path, known: Paths, made: list[Trial], start: int | None, end: int | None) -> Flags:
    """Which periods are scored: those that all of these have a prediction for, from ``start`` until before ``end``."""
    everything = np.concatenate([known.strong, *(trial.alone for trial in made)], axis=1)
    rows: Flags = np.isfinite(everything.sum(axis=1))
    if start is not None:
        rows &= path.opens >= start
    if end is not None:
        rows &= path.opens + path.period <= end
    return rows
