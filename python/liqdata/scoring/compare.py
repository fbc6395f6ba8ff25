"""The tables of a score card, which compare predictions on the same days.

Predictions are compared with the weak path, with the reference and with each other.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .columns import DAY, LONG, SHORT, Flags, Floats, Millis
from .statistics import fit, gain, trial

if TYPE_CHECKING:
    from .statistics.path import Path
    from .statistics.trial import Paths

    Line = dict[str, Any]

SIDES = {"LONG": [LONG], "SHORT": [SHORT], "both": [LONG, SHORT]}

_WEEK = 7 * DAY
_MONDAY = 4 * DAY  # the epoch was a Thursday


class Scored(NamedTuple):
    """One prediction on the card, with the arrays of its trial, shape (n, 2)."""

    name: str
    state: str
    alone: Floats
    full: Floats
    crossed: Floats

    def head(self, side: str) -> Line:
        """The cells that identify a row of a table."""
        return {"map": self.name, "state": self.state, "side": side}


class Comparison(NamedTuple):
    """The data on which predictions are compared."""

    path: Path
    known: Paths
    base: Floats
    """The prediction of the reference, (n, 2)."""
    rows: Flags
    drawn: gain.Resampled

    def tables(self, maps: list[Scored], others: list[Scored]) -> dict[str, list[Line]]:
        """All tables except the checks of the reported USD.

        A row is for one side or for both sides together.
        """
        paths = [
            Scored(name, "path", predicted, predicted, predicted)
            for name, predicted in zip(trial.PATHS, self.known, strict=False)
        ]
        pairs = [(left, right) for left, right in combinations(maps, 2) if left.state == right.state]
        return {
            "rows": [self._line(one, side) for one in maps for side in SIDES],
            "references": [self._line(one, side) for one in [*paths, *others] for side in SIDES],
            "paired": [self._pair(left, right, side) for left, right in pairs for side in SIDES],
            "deciles": [line for one in maps for side in SIDES for line in self._deciles(one, side)],
            "kappa": [line for one in maps for side in SIDES for line in self._weekly(one, side)],
        }

    def _line(self, one: Scored, side: str) -> Line:
        # A null starts later than its map, because it needs past maps: only periods with a prediction count.
        there: Flags = np.isfinite(one.alone.sum(axis=1))
        rows = self.rows & there
        places = SIDES[side]
        usd, alone = self.path.usd[:, places], one.alone[:, places]
        y, mu = usd[rows].ravel(), alone[rows].ravel()
        total = float(y.sum())
        return {
            **one.head(side),
            "n": int(rows.sum()),
            "usd": total,
            **_cells("ig", self.drawn.gain(usd, alone, self.known.weak[:, places], rows)),
            **_cells("dig", self.drawn.gain(usd, one.full[:, places], self.base[:, places], rows)),
            "spearman": gain.spearman(mu, y),
            **{f"top{share}": gain.captured(y, mu, share / 100.0) for share in (1, 5, 10)},
            "calibration": self._calibration(one, rows, places),
        }

    def _calibration(self, one: Scored, rows: Flags, places: list[int]) -> float:
        """Ratio of predicted to reported USD.

        USD of maps are first scaled to the USD reported on previous days.
        """
        if one.state == "path":
            return _ratio(float(one.alone[rows][:, places].sum()), float(self.path.usd[rows][:, places].sum()))
        calendar = fit.Calendar.of(self.path.opens, self.path.period)
        predicted, seen = 0.0, 0.0
        for place in places:
            levelled = fit.levelled(one.crossed[:, place], self.path.usd[:, place], calendar)[rows]
            there = np.isfinite(levelled)
            predicted += float(levelled[there].sum())
            seen += float(self.path.usd[rows, place][there].sum())
        return _ratio(predicted, seen)

    def _pair(self, left: Scored, right: Scored, side: str) -> Line:
        """The gain of the left prediction over the right one.

        It equals the difference of their gains over any reference.
        """
        places = SIDES[side]
        usd = self.path.usd[:, places]
        return {
            "map": left.name,
            "other": right.name,
            "state": left.state,
            "side": side,
            **_cells("ig", self.drawn.gain(usd, left.alone[:, places], right.alone[:, places], self.rows)),
            **_cells("dig", self.drawn.gain(usd, left.full[:, places], right.full[:, places], self.rows)),
        }

    def _deciles(self, one: Scored, side: str) -> list[Line]:
        places = SIDES[side]
        y, mu = self.path.usd[self.rows][:, places].ravel(), one.alone[self.rows][:, places].ravel()
        found = []
        for place, part in enumerate(np.array_split(np.argsort(mu, kind="stable"), 10), 1):
            predicted, seen = float(mu[part].sum()), float(y[part].sum())
            line = {**one.head(side), "decile": place, "n": len(part), "predicted_usd": predicted, "realised_usd": seen}
            found.append({**line, "calibration": _ratio(predicted, seen)})
        return found

    def _weekly(self, one: Scored, side: str) -> list[Line]:
        places = SIDES[side]
        weeks: Millis = (self.path.opens[self.rows] - _MONDAY) // _WEEK * _WEEK + _MONDAY
        y, x = (cells[self.rows][:, places].sum(axis=1) for cells in (self.path.usd, one.crossed))
        found = []
        for week in np.unique(weeks):
            swept, seen = float(x[weeks == week].sum()), float(y[weeks == week].sum())
            line = {**one.head(side), "week": int(week), "swept_usd": swept, "realised_usd": seen}
            found.append({**line, "kappa": _ratio(seen, swept)})
        return found


def _cells(name: str, found: gain.Gain) -> Line:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else float("nan")
