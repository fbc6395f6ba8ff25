"""Reported liquidations: USD by period and side, from a table of totals or from single orders.

In a table of totals, a period without a row is unknown and not scored. With orders, every period between the first and
the last order is known, and a period without orders has zero USD. Of a market, periods that were
not covered are unknown. Where an archive has no orders, its totals of periods are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata import _core

from .columns import DAY, LENGTHS, LONG, MINUTE, SHORT, Floats, Millis, Table, mine, refuse, span

if TYPE_CHECKING:
    from liqdata.market import Market


class Parts(NamedTuple):
    """Periods that a table reports twice: as a whole and in parts."""

    wholes: Floats
    sums: Floats
    length: int


class Truth(NamedTuple):
    """Reported USD of periods, sorted by open; ``usd`` has shape (n, 2) for long and short."""

    opens: Millis
    usd: Floats
    period: int
    kind: str
    incomplete: int
    parts: Parts | None


def period_of(value: Any) -> int:
    """Read the length of a period, in milliseconds; it must divide a day."""
    found = span(value)
    if found is None or DAY % found:
        refuse("period", f"{value!r} is not allowed", f"{LENGTHS}, of which a day is a multiple")
    return found


COVERED = 0.9
"""Covered share of a period from which on the orders of a market are taken for all of its orders."""


def realised(value: Any, symbol: str, period: int) -> Truth:
    """Read the reported USD from a table of totals or of orders, or from a market."""
    from liqdata.market import Market

    if isinstance(value, Market):
        return _of_market(value, symbol, period)
    data = Table(value, "realised")
    if "side" in data:
        return _orders(data, symbol, period)
    data.need("timestamp", "long_usd", "short_usd")
    opens = data.instants("timestamp")
    usd = np.column_stack([data.floats(name, least=0.0, unknown=True) for name in ("long_usd", "short_usd")])
    chosen = mine(data, symbol)
    lengths = data.spans("interval") if "interval" in data else None
    if chosen is not None:
        opens, usd = opens[chosen], usd[chosen]
        lengths = None if lengths is None else lengths[chosen]
    known = ~np.isnan(usd).any(axis=1)
    opens, usd = opens[known], usd[known]
    if not len(opens):
        refuse("realised", "it has no rows with both sides known", "at least one period")
    lengths = np.full(len(opens), _spacing(opens, period)) if lengths is None else lengths[known]
    return _totals(opens, usd, lengths, period)


def _of_market(market: Market, symbol: str, period: int) -> Truth:
    """The totals of a market that was made from them, or its orders and archived totals in covered periods."""
    core = market._source.open_core()  # noqa: SLF001 - raises if the market is closed
    totals = core.liquidations()
    if len(totals):
        return realised(totals, symbol, period)
    if core.has_totals():
        return _of_history(market, symbol, period, core.first)
    orders = market.iter_orders(symbol)._rest()  # noqa: SLF001 - the rows without a frame library
    if not len(orders):
        refuse("realised", f"the market has no orders of {symbol!r}", "a market with orders of it")
    found = _orders(Table(orders, "realised"), symbol, period)
    start, end = int(found.opens[0]), int(found.opens[-1]) + period
    rows = market.history(symbol, interval=period, by=(), start=start, end=end)
    unknown = [row["timestamp"] for row in rows if row["covered"] is not None and row["covered"] < COVERED]
    known = ~np.isin(found.opens, unknown)
    return found._replace(opens=found.opens[known], usd=found.usd[known], incomplete=len(unknown))


def _of_history(market: Market, symbol: str, period: int, first: int | None) -> Truth:
    """The covered periods of an archive with totals."""
    start = ((first or 0) - DAY) // period * period  # the first total became known when its period ended
    rows = market.history(symbol, interval=period, by=(), start=start, end=market.now)
    now = int(market.now.timestamp() * 1000)
    ended = [row for row in rows if row["timestamp"] + period <= now and row["total_usd"] is not None]
    known = [row for row in ended if row["covered"] is None or row["covered"] >= COVERED]
    if not known:
        refuse("realised", f"no period of {symbol!r} is covered", "a market with orders or totals of it")
    opens = np.asarray([row["timestamp"] for row in known], dtype=np.int64)
    usd = np.asarray([(float(row["long_usd"] or 0), float(row["short_usd"] or 0)) for row in known])
    return Truth(opens, usd, period, "totals", len(ended) - len(known), None)


def _spacing(opens: Millis, period: int) -> int:
    """The most common spacing of rows; the period for a single row."""
    gaps = np.diff(np.unique(opens))
    if not len(gaps):
        return period
    lengths, counts = np.unique(gaps, return_counts=True)
    return int(lengths[np.argmax(counts)])


def _totals(opens: Millis, usd: Floats, lengths: Millis, period: int) -> Truth:
    """Use rows of the length ``period``, or add up shorter rows to complete periods."""
    kinds = [int(length) for length in np.unique(lengths)]
    for length in kinds:
        at = opens[lengths == length]
        if (off := at % length != 0).any():
            row = int(at[np.argmax(off)])
            refuse(
                "realised",
                f"timestamp {row} is not a multiple of {length} ms",
                "opens of whole periods since the epoch",
            )
        if len(np.unique(at)) != len(at):
            values, counts = np.unique(at, return_counts=True)
            refuse("realised", f"timestamp {int(values[np.argmax(counts)])} is given twice", "one row per period")
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
    """Opens and sums of the complete periods, in order, and the number of incomplete periods."""
    order = np.argsort(opens, kind="stable")
    whole = opens[order] // period * period
    at, first, counts = np.unique(whole, return_index=True, return_counts=True)
    sums = np.add.reduceat(usd[order], first, axis=0)
    full = counts == period // length
    return at[full], sums[full], int((~full).sum())


def _orders(data: Table, symbol: str, period: int) -> Truth:
    data.need("timestamp", "side", "value_usd")
    at = data.instants("timestamp")
    value = data.floats("value_usd", least=0.0)
    sides = np.asarray([_side(row, text) for row, text in enumerate(data.texts("side"))], dtype=np.int64)
    chosen = _of_coin(data, symbol)
    at, value, sides = at[chosen], value[chosen], sides[chosen]
    # The periods with the first and with the last order are incomplete, so they are left out.
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


def _of_coin(data: Table, symbol: str) -> Any:
    """Which orders belong to the coin, according to the column ``coin`` or else the pair."""
    if "coin" in data:
        texts = data.texts("coin")
    else:
        data.need("symbol")
        texts = data.texts("symbol")
    coins = {text: _core.coin(text) for text in set(texts)}
    names = [coins[text] for text in texts]
    chosen = np.asarray(names, dtype=object) == symbol
    if not chosen.any():
        refuse(
            "realised",
            f"no order has the symbol {symbol!r}",
            f"orders with this symbol; the table has {sorted(set(names))[:5]}",
        )
    return chosen
