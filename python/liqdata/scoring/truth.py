"""What was realised: reported liquidations as USD by period and side, of a table of totals or of single orders.

Nothing is filled in. A period that a table has no row of is not scored: unknown is not nothing. Of orders every period
between the first and the last is known, and one without any is a silent one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from liqdata import _core

from .columns import DAY, LENGTHS, LONG, MINUTE, SHORT, Floats, Millis, Table, mine, refuse, span


class Parts(NamedTuple):
    """Periods that were told twice: as wholes, and by their parts."""

    wholes: Floats
    sums: Floats
    length: int


class Truth(NamedTuple):
    """Realised USD, shape (n, 2) for long and short, of periods by their opens in order."""

    opens: Millis
    usd: Floats
    period: int
    kind: str
    incomplete: int
    parts: Parts | None


def period_of(value: Any) -> int:
    """Milliseconds of a period, which is to divide a day."""
    found = span(value)
    if found is None or DAY % found:
        refuse("period", f"{value!r} is not allowed", f"{LENGTHS}, of which a day is a multiple")
    return found


def realised(value: Any, symbol: str, period: int) -> Truth:
    """Read totals or orders."""
    held = Table(value, "realised")
    if "side" in held:
        return _orders(held, symbol, period)
    held.need("timestamp", "long_usd", "short_usd")
    opens = held.instants("timestamp")
    usd = np.column_stack([held.floats(name, least=0.0, unknown=True) for name in ("long_usd", "short_usd")])
    chosen = mine(held, symbol)
    lengths = held.spans("interval") if "interval" in held else None
    if chosen is not None:
        opens, usd = opens[chosen], usd[chosen]
        lengths = None if lengths is None else lengths[chosen]
    known = ~np.isnan(usd).any(axis=1)
    opens, usd = opens[known], usd[known]
    if not len(opens):
        refuse("realised", "it has no rows with both sides known", "at least one period")
    lengths = np.full(len(opens), _spacing(opens, period)) if lengths is None else lengths[known]
    return _totals(opens, usd, lengths, period)


def _spacing(opens: Millis, period: int) -> int:
    """The commonest spacing of rows; that of one row alone is the period."""
    gaps = np.diff(np.unique(opens))
    if not len(gaps):
        return period
    lengths, counts = np.unique(gaps, return_counts=True)
    return int(lengths[np.argmax(counts)])


def _totals(opens: Millis, usd: Floats, lengths: Millis, period: int) -> Truth:
    """Periods of totals that are as long, or of shorter ones whose parts are all there."""
    kinds = [int(length) for length in np.unique(lengths)]
    for length in kinds:
        at = opens[lengths == length]
        if (off := at % length != 0).any():
            row = int(at[np.argmax(off)])
            refuse(
                "realised", f"timestamp {row} is no multiple of {length} ms", "opens of whole periods since the epoch"
            )
        if len(np.unique(at)) != len(at):
            values, counts = np.unique(at, return_counts=True)
            refuse("realised", f"timestamp {int(values[np.argmax(counts)])} stands twice", "one row a period")
    fitting = [length for length in kinds if period % length == 0]
    if not fitting:
        what = f"its periods of {min(kinds) // MINUTE} minutes do not make up one of {period // MINUTE}"
        refuse("realised", what, "periods that divide the one that is scored, or orders")
    built = {length: _built(opens[lengths == length], usd[lengths == length], length, period) for length in fitting}
    chosen = max(fitting)
    at, sums, incomplete = built[chosen]
    parts = None
    if len(fitting) > 1:
        finer = sorted(fitting)[-2]
        fine_at, fine_sums, _ = built[finer]
        _, left, right = np.intersect1d(at, fine_at, return_indices=True)
        parts = Parts(sums[left], fine_sums[right], finer)
    return Truth(at, sums, period, "totals", incomplete, parts)


def _built(opens: Millis, usd: Floats, length: int, period: int) -> tuple[Millis, Floats, int]:
    """Sums over periods whose parts are all there, in order, and how many others there are."""
    order = np.argsort(opens, kind="stable")
    whole = opens[order] // period * period
    at, first, counts = np.unique(whole, return_index=True, return_counts=True)
    sums = np.add.reduceat(usd[order], first, axis=0)
    full = counts == period // length
    return at[full], sums[full], int((~full).sum())


def _orders(held: Table, symbol: str, period: int) -> Truth:
    held.need("timestamp", "side", "value_usd")
    at = held.instants("timestamp")
    value = held.floats("value_usd", least=0.0)
    sides = np.asarray([_side(row, text) for row, text in enumerate(held.texts("side"))], dtype=np.int64)
    chosen = _of_coin(held, symbol)
    at, value, sides = at[chosen], value[chosen], sides[chosen]
    # The periods of the first and of the last order are known in part only.
    first, last = int(at.min()) // period + 1, int(at.max()) // period
    if last <= first:
        refuse("realised", "its orders span less than one whole period", "orders of several periods")
    opens = np.arange(first, last, dtype=np.int64) * period
    place = at // period - first
    inside = (place >= 0) & (place < len(opens))
    usd = np.zeros((len(opens), 2))
    np.add.at(usd, (place[inside], sides[inside]), value[inside])
    return Truth(opens, usd, period, "orders", 0, None)


def _side(row: int, text: str) -> int:
    place = {"long": LONG, "short": SHORT}.get(text.lower())
    if place is None:
        refuse("realised", f"column 'side', row {row}: {text!r} is not a side", "'LONG' or 'SHORT'")
    return place


def _of_coin(held: Table, symbol: str) -> Any:
    """Which orders are of the coin, by their coin where they tell it, else by their pair."""
    if "coin" in held:
        texts = held.texts("coin")
    else:
        held.need("symbol")
        texts = held.texts("symbol")
    coins = {text: _core.coin(text) for text in set(texts)}
    names = [coins[text] for text in texts]
    chosen = np.asarray(names, dtype=object) == symbol
    if not chosen.any():
        refuse("realised", f"none of its orders is of {symbol!r}", f"orders of it; there are {sorted(set(names))[:5]}")
    return chosen
