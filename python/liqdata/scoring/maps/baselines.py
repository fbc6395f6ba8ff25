"""Baselines: simplified liquidation maps of other publishers, written from their descriptions.

They appear among the references of a score card. All use bars, ``interest`` also uses open interest; none is fitted.
``template`` is a fixed shape. In the other baselines, positions open at a bar's close in equal parts with four
leverages. Their USD lie at their liquidation price, shrink over time, and disappear when the price reaches them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liqdata.scoring.columns import DAY, LONG, SHORT, Floats, Millis, Table, mine, refuse

from .curves import Curve, MapCurves

if TYPE_CHECKING:
    from liqdata.scoring.statistics.path import Bars, Path

NAMES = ("template", "prints", "interest", "turnover")

_DISTANCES = 1.0 / np.arange(125.0, 1.0, -1.0)  # of the lines of the template from the price, as shares of it
_WORTH = 1e8  # USD of a template line are this times its distance
_LEVERAGES = np.asarray([10.0, 25.0, 50.0, 100.0])
_MARGIN = 0.005
_STEP = 5e-4  # width of a cell in log price
_HALF_LIFE = DAY
_LARGE = 3.0  # `prints` uses only bars with more than this multiple of the usual volume
_FRESH = DAY // 96  # how long an open-interest reading stays valid, in milliseconds


def made(name: str, path: Path, open_interest: Any, symbol: str) -> tuple[Floats, Floats | None]:
    """Crossed USD of a baseline, shape (n, 2), frozen and refreshed.

    The first array is as of the opens; the second one includes positions opened inside the periods.
    """
    if name == "template":
        return template(path), None
    return _replay(path, *_deposits(name, path.bars, open_interest, symbol))


def standing(name: str, bars: Bars, open_interest: Any, symbol: str) -> MapCurves:
    """The curves of a baseline at the close of the last bar."""
    cells = _Cells(bars)
    if name == "template":
        places = cells.cell(bars.close[cells.bars[-1]] * np.asarray([1 - _DISTANCES, 1 + _DISTANCES]))
        for side in (LONG, SHORT):
            np.add.at(cells.usd[side], places[side], _DISTANCES * _WORTH)
    else:
        opened, fading = _deposits(name, bars, open_interest, symbol)
        for bar in cells.bars:
            cells.sweep(bar)
            cells.open(bar, opened[bar], fading[bar])
    edges = cells.floor * np.exp(np.arange(cells.usd.shape[1] + 1) * _STEP)
    below = [np.concatenate(([0.0], np.cumsum(cells.scale * usd))) for usd in cells.usd]
    end = bars.start + bars.interval * (cells.bars[-1] + 1)
    return MapCurves(end, *(Curve(edges, sums) for sums in below))


def _deposits(name: str, bars: Bars, open_interest: Any, symbol: str) -> tuple[Floats, Floats]:
    """USD of longs and shorts that open in each bar, and the share of earlier positions that remains."""
    usd = np.nan_to_num(bars.volume * bars.close)
    fading = np.full(len(usd), 0.5 ** (bars.interval / _HALF_LIFE))
    if name == "interest":
        return _interest(bars, _readings(open_interest, symbol, bars))
    if name == "prints":
        usd = np.where(usd > _LARGE * _usual(usd, 7 * DAY // bars.interval), usd, 0.0)
    return usd[:, None].repeat(2, axis=1), fading


def template(path: Path) -> Floats:
    """Crossed USD of a fixed shape.

    On both sides there are lines at the distances 1/L, for L from 2 to 125. The USD of a line are in proportion to 1/L.
    """
    worth = np.concatenate(([0.0], np.cumsum(_DISTANCES))) * _WORTH
    reached = [1.0 - path.low / path.price, path.high / path.price - 1.0]
    return np.column_stack([worth[np.searchsorted(_DISTANCES, far, side="right")] for far in reached])


def _usual(usd: Floats, width: int) -> Floats:
    """Mean over the ``width`` bars before each bar; infinite for the first bar."""
    sums = np.concatenate(([0.0], np.cumsum(usd)))
    start = np.maximum(np.arange(len(usd)) - width, 0)
    count = np.arange(len(usd)) - start
    found = np.full(len(usd), np.inf)
    found[count > 0] = (sums[: len(usd)] - sums[start])[count > 0] / count[count > 0]
    return found


def _interest(bars: Bars, level: Floats) -> tuple[Floats, Floats]:
    """USD that open, and the share that remains, from changes of the open interest.

    Rising open interest opens longs in a rising bar and shorts in a falling bar. Falling open interest shrinks all
    positions.
    """
    change = np.diff(level, prepend=level[:1])
    change = np.where(np.isfinite(change), change, 0.0)
    rising = np.diff(bars.close, prepend=bars.close[:1]) >= 0
    opened = np.maximum(change, 0.0) * np.nan_to_num(bars.close)
    with np.errstate(invalid="ignore", divide="ignore"):
        remaining = np.where(change < 0, level / (level - change), 1.0)
    return np.column_stack([np.where(rising, opened, 0.0), np.where(rising, 0.0, opened)]), remaining


def _readings(value: Any, symbol: str, bars: Bars) -> Floats:
    """Open interest in base units at each bar's close, summed over exchanges.

    NaN without a valid reading.
    """
    if value is None:
        refuse("open_interest", "None", "a table of open interest, which the baseline 'interest' needs")
    data = Table(value, "open_interest")
    name = "open_interest_usd" if "open_interest_usd" in data else "open_interest"
    data.need("timestamp", name)
    if name == "open_interest_usd" and "open_interest" in data:
        refuse("open_interest", "columns 'open_interest' and 'open_interest_usd'", "one of the two")
    at, level = data.instants("timestamp"), data.floats(name, least=0.0)
    if name == "open_interest_usd":
        level = level / bars.closed(at)
    exchanges = np.asarray(
        list(map(str, data.cells("exchange"))) if "exchange" in data else [""] * len(at), dtype=object
    )
    chosen = mine(data, symbol)
    if chosen is not None:
        at, level, exchanges = at[chosen], level[chosen], exchanges[chosen]
    closes: Millis = bars.start + bars.interval * (np.arange(len(bars.close), dtype=np.int64) + 1)
    total, known = np.zeros(len(closes)), np.zeros(len(closes), dtype=bool)
    for exchange in dict.fromkeys(exchanges.tolist()):
        rows = np.flatnonzero(exchanges == exchange)
        rows = rows[np.argsort(at[rows], kind="stable")]
        place = np.searchsorted(at[rows], closes, side="right") - 1
        there = (place >= 0) & (closes - at[rows][place] <= _FRESH) & np.isfinite(level[rows][place])
        total[there] += level[rows][place[there]]
        known |= there
    return np.where(known, total, np.nan)


def _steps(ratio: Floats) -> Millis:
    """The number of grid cells between two prices, given their ratio."""
    found: Millis = np.floor(np.log(ratio) / _STEP).astype(np.int64)
    return found


class _Cells:
    """USD by liquidation price, in cells of log price.

    A common factor ``scale`` applies to all cells.
    """

    def __init__(self, bars: Bars) -> None:
        whole = np.isfinite(bars.close)
        self.bars: list[int] = np.flatnonzero(whole).tolist()
        self.floor = np.nanmin(bars.low) / 2.0
        prices = (np.where(whole, prices, self.floor) for prices in (bars.low, bars.high, bars.close))
        self.low, self.high, self.close = map(self.cell, prices)
        self.away = {
            LONG: _steps((1 - 1 / _LEVERAGES) / (1 - _MARGIN)),
            SHORT: _steps((1 + 1 / _LEVERAGES) / (1 + _MARGIN)),
        }
        self.usd = np.zeros((2, int(self.high.max() + _steps(np.asarray(2.0))) + 2))
        self.scale = 1.0

    def cell(self, price: Floats) -> Millis:
        """The indexes of the cells with these prices, at least 0."""
        return np.maximum(_steps(price / self.floor), 0)

    def over(self, cell: int) -> float:
        """USD of longs in this cell and all higher ones."""
        return float(self.scale * self.usd[LONG, cell:].sum())

    def under(self, cell: int) -> float:
        """USD of shorts in this cell and all lower ones."""
        return float(self.scale * self.usd[SHORT, : cell + 1].sum())

    def sweep(self, bar: int) -> None:
        """Remove the USD in cells that the prices of a bar reach."""
        self.usd[LONG, self.low[bar] :] = 0.0
        self.usd[SHORT, : self.high[bar] + 1] = 0.0

    def open(self, bar: int, opened: Floats, fading: float) -> None:
        """Shrink all positions by the factor ``fading``, then open new positions at a bar's close."""
        self.scale *= fading
        if self.scale < 1e-100:  # noqa: PLR2004 - far from underflow
            self.usd *= self.scale
            self.scale = 1.0
        for side, limit in ((LONG, np.minimum), (SHORT, np.maximum)):
            edge = self.close[bar] + (-1 if side == LONG else 1)
            places = np.maximum(limit(self.close[bar] + self.away[side], edge), 0)
            np.add.at(self.usd[side], places, opened[side] / (len(places) * self.scale))


def _replay(path: Path, opened: Floats, fading: Floats) -> tuple[Floats, Floats]:
    """Crossed USD of each period, from a replay of the bars.

    A position that opens at a close counts from the next bar on.
    """
    bars, size = path.bars, path.period // path.bars.interval
    cells = _Cells(bars)
    starts = {int(bar): row for row, bar in enumerate((path.opens - bars.start) // bars.interval)}
    lows, highs = cells.cell(path.low), cells.cell(path.high)
    frozen, inside = np.zeros((len(path.opens), 2)), np.zeros((len(path.opens), 2))
    row = until = -1
    for bar in cells.bars:
        if bar in starts:
            row, until = starts[bar], bar + size
            frozen[row] = cells.over(lows[row]), cells.under(highs[row])
        if bar < until:
            inside[row] += cells.over(cells.low[bar]), cells.under(cells.high[bar])
        cells.sweep(bar)
        cells.open(bar, opened[bar], fading[bar])
    return frozen, inside
