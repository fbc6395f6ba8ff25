"""The price path: price moves in every period, from which the path models predict liquidations.

An *excursion* is the move of the price beyond the previous close in the direction that liquidates a side, in basis
points. There are three path models. The weak path uses the excursion of the period. The strong path uses thirteen terms
from price moves inside and before the period. The adaptive path (in ``trial``) also uses recently reported USD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata.scoring.columns import DAY, LONG, MINUTE, SHORT, Floats, Millis, Table, mine, refuse

if TYPE_CHECKING:
    from liqdata.scoring.truth import Truth

BP = 1e4
FINE = 15 * MINUTE
"""Length of the parts of a period in milliseconds, if the bars are not longer."""

POWERS = (1.0, 1.5, 2.0)
FRESH = (4 * 60 * MINUTE, DAY, 7 * DAY)
"""Look-back times in milliseconds; a price beyond all prices of such a time is a new extreme."""

STRONG = 1 + 3 * len(POWERS) + len(FRESH)
PARENTS = (*range(1 + 3 * len(POWERS)), 1, 1, 1)
"""For each term of the strong path, the index of its parent term (see ``fit.summed``)."""


class Bars(NamedTuple):
    """Bars of one coin on a regular grid; missing values are NaN."""

    start: int
    interval: int
    high: Floats
    low: Floats
    close: Floats
    volume: Floats

    def closed(self, instants: Millis) -> Floats:
        """The close of the last bar that closed by each instant.

        NaN if that bar is missing.
        """
        place = (instants - self.start) // self.interval - 1
        inside = (place >= 0) & (place < len(self.close))
        found = np.full(len(instants), np.nan)
        found[inside] = self.close[place[inside]]
        return found


class Path(NamedTuple):
    """The periods with both reported USD and bars, and the price moves in them."""

    opens: Millis
    usd: Floats
    period: int
    price: Floats
    """Close before the open, (n,)."""
    low: Floats
    high: Floats
    excursion: Floats
    """1 + basis points beyond the previous close, (n, 2)."""
    weak: Floats
    """Terms of the weak path, shape (n, 2, 2): period, side, term."""
    strong: Floats
    """Terms of the strong path, (n, 2, 13)."""
    volume: Floats
    """Volume relative to the mean of the 7 days before, (n,)."""
    inside: Floats
    """Basis points beyond the previous close at the end of each part of a period, (n, 2, parts)."""
    bars: Bars


def read_bars(value: Any, symbol: str) -> Bars:
    """Read a table of bars: timestamp (open), high, low, close, and optionally volume, symbol, closes_at or interval.

    Bars of several lengths are joined to the longest one.
    """
    data = Table(value, "bars")
    data.need("timestamp", "high", "low", "close")
    opens = data.instants("timestamp")
    columns = [data.floats(name) for name in ("high", "low", "close")]
    columns.append(data.floats("volume", least=0.0, unknown=True) if "volume" in data else np.full(len(opens), np.nan))
    chosen = mine(data, symbol)
    if chosen is not None:
        opens, columns = opens[chosen], [column[chosen] for column in columns]
    if len(opens) < 2:  # noqa: PLR2004 - one bar has no spacing
        refuse("bars", f"{len(opens)} rows", "the bars of at least one period and one before")
    order = np.argsort(opens, kind="stable")
    lengths = None
    if "interval" in data:
        lengths = data.spans("interval")
    elif "closes_at" in data:
        lengths = data.instants("closes_at") - data.instants("timestamp")
    if lengths is not None:
        lengths = (lengths if chosen is None else lengths[chosen])[order]
    opens, columns = _of_one_length(opens[order], [column[order] for column in columns], lengths)
    high, low, close, volume = columns
    gaps = np.diff(opens)
    if not gaps.all():
        refuse("bars", f"timestamp {int(opens[int(np.argmin(gaps))])} is given twice", "one bar per instant")
    lengths, counts = np.unique(gaps, return_counts=True)
    interval = int(lengths[np.argmax(counts)])
    if (off := (opens - opens[0]) % interval != 0).any():
        row = int(opens[np.argmax(off)])
        refuse(
            "bars",
            f"timestamp {row} does not fit the spacing of {interval} ms",
            "bars with one spacing; gaps are allowed",
        )
    wrong = (low <= 0) | (low > close) | (close > high)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"the bar at {int(opens[row])} has low {low[row]:g}, close {close[row]:g}, high {high[row]:g}"
        refuse("bars", what, "0 < low <= close <= high")
    place = (opens - opens[0]) // interval

    def spread(cells: Floats) -> Floats:
        grid = np.full(int(place[-1]) + 1, np.nan)
        grid[place] = cells
        return grid

    return Bars(int(opens[0]), interval, spread(high), spread(low), spread(close), spread(volume))


def _of_one_length(opens: Millis, columns: list[Floats], lengths: Millis | None) -> tuple[Millis, list[Floats]]:
    """Sorted bars, with the shorter ones joined to bars of the longest length; incomplete ones are left out."""
    if lengths is None or not len(lengths) or (lengths == lengths[0]).all():
        return opens, columns
    longest = int(lengths.max())
    wholes, first = np.unique(opens // longest, return_index=True)
    high, low, close, volume = columns
    joined = [
        np.maximum.reduceat(high, first),
        np.minimum.reduceat(low, first),
        close[np.append(first[1:], len(opens)) - 1],
        np.add.reduceat(volume, first),
    ]
    full = np.add.reduceat(lengths, first) == longest
    return wholes[full] * longest, [column[full] for column in joined]


def read_path(truth: Truth, bars: Bars) -> Path:
    """Select the periods with reported USD and complete bars, and compute the price moves in them."""
    period, interval = truth.period, bars.interval
    if period % interval:
        what = f"bars of {interval // MINUTE} minutes do not make up a period of {period // MINUTE}"
        refuse("bars", what, "bars of a length that divides the period")
    if (bars.start - int(truth.opens[0])) % interval:
        refuse(
            "bars",
            f"the bar at {bars.start} does not open at the start of a period",
            "bars that open when periods start",
        )
    size = period // interval
    first = (truth.opens - bars.start) // interval
    fits = (first >= 1) & (first + size <= len(bars.close))
    first = np.where(fits, first, 1)
    spans = first[:, None] + np.arange(size)
    whole = np.isfinite(np.append(bars.close, [np.nan] * size)[spans]).all(axis=1)
    fits &= whole & np.isfinite(bars.close[first - 1])
    if not fits.any():
        span = f"{int(bars.start)} to {int(bars.start + interval * len(bars.close))}"
        what = (
            f"no period of `realised` ({int(truth.opens[0])} to {int(truth.opens[-1]) + period}) lies in the bars "
            f"({span})"
        )
        refuse("bars", what, "bars that cover the realised periods and the bar before")
    opens, usd, first, spans = truth.opens[fits], truth.usd[fits], first[fits], spans[fits]
    price = bars.close[first - 1]
    low, high = bars.low[spans].min(axis=1), bars.high[spans].max(axis=1)
    beyond = np.column_stack([_beyond(LONG, price, low), _beyond(SHORT, price, high)])
    excursion = 1.0 + beyond
    fine = _fine(period, interval)
    parts, inside, relative = _parts(bars, first, size, fine)
    strong = np.empty((len(opens), 2, STRONG))
    strong[:, :, 0] = 1.0
    for at, power in enumerate(POWERS):
        raised = (parts / 10.0) ** power
        strong[:, :, 1 + at] = raised.sum(axis=2)
        strong[:, :, 1 + len(POWERS) + at] = (raised * relative[:, None, :]).sum(axis=2)
        strong[:, :, 1 + 2 * len(POWERS) + at] = (beyond / 10.0) ** power
    for at, window in enumerate(FRESH, 1 + 3 * len(POWERS)):
        fresh = np.maximum(_fresh(bars, first, window, low, high), 0.0) / price[:, None] * BP
        strong[:, :, at] = fresh / 10.0
    weak = np.stack([excursion, excursion**1.5], axis=2)
    return Path(opens, usd, period, price, low, high, excursion, weak, strong, relative.mean(axis=1), inside, bars)


def _beyond(side: int, price: Floats, extreme: Floats) -> Floats:
    """Basis points that the price moved in the direction that liquidates ``side``, at least 0."""
    way = price - extreme if side == LONG else extreme - price
    return np.maximum(way, 0.0) / price * BP


def _fine(period: int, interval: int) -> int:
    """The longest duration up to :data:`FINE` that is a multiple of the bar length and divides the period."""
    longest = max(FINE, interval)
    lengths = [interval * n for n in range(1, longest // interval + 1) if period % (interval * n) == 0]
    return max(lengths)


def _parts(bars: Bars, first: Millis, size: int, fine: int) -> tuple[Floats, Floats, Floats]:
    """Excursions and relative volume of the parts of each period.

    Returns the excursion in each part, the excursion from the open to the end of each part, and the volume.
    """
    inner = fine // bars.interval
    count = size // inner
    spans = first[:, None, None] + (np.arange(count)[:, None] * inner + np.arange(inner))[None]
    before = bars.close[spans[:, :, 0] - 1]
    low, high = bars.low[spans].min(axis=2), bars.high[spans].max(axis=2)
    found = np.stack([_beyond(LONG, before, low), _beyond(SHORT, before, high)], axis=1)
    price, so_far = before[:, :1], (np.minimum.accumulate(low, axis=1), np.maximum.accumulate(high, axis=1))
    inside = np.stack([_beyond(LONG, price, so_far[0]), _beyond(SHORT, price, so_far[1])], axis=1)
    volume = np.nan_to_num(bars.volume)
    known = np.isfinite(bars.volume).astype(np.float64)
    sums = np.concatenate(([0.0], np.cumsum(volume)))
    counts = np.concatenate(([0.0], np.cumsum(known)))
    back = 7 * DAY // bars.interval
    start = np.maximum(first - back, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        usual = (sums[first] - sums[start]) / (counts[first] - counts[start])
        relative = volume[spans].sum(axis=2) / (usual[:, None] * inner)
    relative = np.where(np.isfinite(relative) & known[spans].all(axis=2), relative, 1.0)
    return found, inside, relative


def _fresh(bars: Bars, first: Millis, window: int, low: Floats, high: Floats) -> Floats:
    """How far the price moved beyond the extremes of a look-back time, (n, 2).

    Negative if it stayed within them.
    """
    width = window // bars.interval
    lows = np.concatenate((np.full(width, np.inf), np.nan_to_num(bars.low, nan=np.inf)))
    highs = np.concatenate((np.full(width, -np.inf), np.nan_to_num(bars.high, nan=-np.inf)))
    # The arrays are padded by one window, so the window that ends before bar `first` has the index `first`.
    return np.column_stack(
        [_sliding(lows, width, np.minimum)[first] - low, high - _sliding(highs, width, np.maximum)[first]]
    )


def _sliding(cells: Floats, width: int, of: np.ufunc) -> Floats:
    """The minimum or maximum of every window, computed from windows of doubling length."""
    found, length = cells, 1
    while 2 * length <= width:
        found = of(found[:-length], found[length:])
        length *= 2
    rest = width - length
    return of(found[: len(found) - rest], found[rest:]) if rest else found
