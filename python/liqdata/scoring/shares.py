""":func:`liqdata.fit_shares`: how much of what the price crosses is liquidated, by exchange, coin and side.

For each day, the USD liquidated on an exchange are compared with the crossed USD: those between the price at the start
of the day and its extremes, in the map of all open positions on that exchange. Only ratios are used, so a constant
share of orders that an exchange leaves out has no effect.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata.calls.traceback import public_call, public_methods
from liqdata.errors import NotCovered
from liqdata.model import Model

from .columns import DAY, Table, refuse
from .columns import rows as table_of
from .statistics.path import read_bars
from .truth import COVERED, realised

if TYPE_CHECKING:
    from liqdata.market import Market
    from liqdata.results.rows import Rows
    from liqdata.types import ShareRow

    from .columns import Floats, Millis

__all__ = ["Shares", "fit_shares"]

RESAMPLES = 2000
GROUPS = (("exchange", "coin"), ("exchange", "coin", "side"))
SIDES = ("LONG", "SHORT")
_INTERVAL = (0.025, 0.975)
_KINDS = {
    **dict.fromkeys(("exchange", "coin", "side"), "text"),
    **dict.fromkeys(("share", "lower", "upper"), "float"),
    "days": "int",
    **dict.fromkeys(("start", "end"), "time"),
    **dict.fromkeys(("realised_usd", "crossed_usd", "ratio"), "float"),
}


@public_methods
@dataclass(frozen=True, repr=False)
class Shares(Sequence["ShareRow"]):
    """Liquidatable shares by exchange, coin and side; the result of :func:`liqdata.fit_shares`.

    A sequence of rows, and the ``shares`` of a :class:`~liqdata.Model`.

    Parameters
    ----------
    lines : tuple of dict
        The rows; :meth:`rows` describes them.
    meta : dict
        ``by`` (what was fitted together), ``references`` (by exchange, the coin with the share 1) and ``left_out`` (by
        exchange and coin, why there is no share).

    Examples
    --------
    >>> import liqdata
    >>> row = {"exchange": "hyperliquid", "coin": "ETH", "side": None, "share": 0.3}
    >>> own = liqdata.Model(shares=liqdata.scoring.Shares((row,), {}))
    >>> own == liqdata.Model(shares=[row])
    True
    """

    lines: tuple[dict[str, Any], ...]
    meta: dict[str, Any]

    def rows(self) -> Rows[ShareRow]:
        """The shares as rows.

        Returns
        -------
        Rows
            ``exchange``; ``coin``; ``side`` (``LONG`` or ``SHORT``); ``share`` of new positions that gets a liquidation
            price, 0 to 1, relative to the reference of the exchange; ``lower`` and ``upper``, its 95 % interval over
            resampled days; ``days`` (number), ``start`` and ``end`` (of the first and the last day); ``realised_usd``,
            ``crossed_usd`` and ``ratio``, the one over the other.

        Examples
        --------
        >>> def poor(shares):  # the result of liqdata.fit_shares
        ...     return [row["coin"] for row in shares.rows() if row["upper"] < 0.5]
        """
        return table_of({name: (kind, [line[name] for line in self.lines]) for name, kind in _KINDS.items()})

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.lines)

    def __getitem__(self, place: Any) -> Any:
        """The row at a place."""
        return self.lines[place]

    def __iter__(self) -> Iterator[Any]:
        """The rows."""
        return iter(self.lines)

    def __repr__(self) -> str:
        """One line for each share."""
        lines = [
            f"{line['exchange']} {line['coin']} {line['side']}: {line['share']:.2f} "
            f"[{line['lower']:.2f}, {line['upper']:.2f}], {line['days']} days"
            for line in self.lines
        ]
        return "\n".join([f"Shares({len(lines)} rows)", *lines])


class _Days(NamedTuple):
    """USD of one exchange and coin by day, in columns for longs and shorts."""

    opens: Millis
    realised: Floats
    crossed: Floats

    def on(self, opens: Millis) -> tuple[Floats, Floats]:
        """Realised and crossed USD of these days."""
        place = np.searchsorted(self.opens, opens)
        return self.realised[place], self.crossed[place]


@public_call
def fit_shares(market: Market, *, by: Sequence[str] = ("exchange", "coin")) -> Shares:
    """Fit liquidatable shares: how much of the crossed USD is liquidated, relative to the largest coin of the exchange.

    The reference of an exchange is the coin with the most liquidated USD, on its side with the larger ratio of
    liquidated to crossed USD; it has the share 1. Other coins are compared with it on the days that both have.

    Parameters
    ----------
    market : Market
        A market with bars, open interest that names its exchanges, and liquidations: orders, or totals of whole days if
        the open interest is of one exchange. An archive has all of them.
    by : ("exchange", "coin") or ("exchange", "coin", "side")
        With the first, the shares of a coin are its ratio, both sides together, times the share of the side, which is
        that of the reference coin: few numbers, for few days. With the second, each coin and side has a ratio of its
        own.

    Returns
    -------
    Shares
        One row per exchange, coin and side, with a 95 % interval over resampled days; ``Model(shares=...)`` uses them.

    Raises
    ------
    BadQuery
        If no exchange and coin has a day with bars, open interest and liquidations; ``parameter`` names the input.

    Examples
    --------
    >>> import liqdata
    >>> demo = liqdata.demo()
    >>> orders = demo.iter_orders("ETH").to_arrow(decimals="decimal")
    >>> bars, interest = demo.bars("ETH", interval="1h", start="-30d"), demo.open_interest("ETH", start="-30d")
    >>> with liqdata.Market(orders=orders, bars=bars, open_interest=interest, now=demo.now) as market:
    ...     shares = liqdata.fit_shares(market)
    ...     own = liqdata.Model(shares=shares)
    ...     grid = market.liqmap("ETH", "all", model=own)
    >>> len(shares) > 0 and all(0 <= row["lower"] <= row["share"] <= row["upper"] <= 1 for row in shares)
    True
    """
    if not hasattr(market, "iter_orders") or not hasattr(market, "liqmap"):
        refuse("market", f"a {type(market).__name__} is not allowed", "a liqdata.Market")
    groups = tuple(by) if not isinstance(by, str) else (by,)
    if groups not in GROUPS:
        refuse("by", f"{by!r} is not allowed", " or ".join(map(str, GROUPS)))
    days: dict[str, dict[str, _Days]] = {}
    left_out: dict[tuple[str, str], str] = {}
    for coin in market.symbols:
        for exchange, reported in _reported(market, coin).items():
            found = _days(market, coin, exchange, reported)
            if isinstance(found, str):
                left_out[exchange, coin] = found
            else:
                days.setdefault(exchange, {})[coin] = found
    if not days:
        why = "; ".join(f"{exchange} {coin}: {text}" for (exchange, coin), text in left_out.items())
        what = f"nothing to fit ({why})" if why else "no open interest that names its exchange, with liquidations"
        refuse("market", what, "whole days with bars, open interest of an exchange, and its liquidations")
    lines: list[dict[str, Any]] = []
    references = {}
    for exchange, coins in days.items():
        references[exchange] = max(coins, key=lambda coin: coins[coin].realised.sum())
        lines += _fitted(exchange, coins, references[exchange], by_side="side" in groups)
    return Shares(tuple(lines), {"by": groups, "references": references, "left_out": left_out})


def _reported(market: Market, coin: str) -> dict[str, tuple[Millis, Floats]]:
    """Days with their reported USD, by exchange with open interest."""
    readings = Table(market.open_interest(coin), "market")
    names = {name for name in readings.texts("exchange") if name} if "exchange" in readings else set()
    bars = market.bars(coin)
    if not names or not len(bars):
        return {}
    totals = market._source.open_core().liquidations()  # noqa: SLF001 - raises if the market is closed
    if len(totals):
        # Totals name no exchange, so they are those of the only one.
        found = realised(totals, coin, DAY) if len(names) == 1 and _has(totals, coin) else None
        return {} if found is None else {names.pop(): (found.opens, found.usd)}
    reported = {}
    first = bars[0]["timestamp"]
    for exchange in sorted(names):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCovered)  # an exchange may have open interest only
            rows = market.history(coin, interval="1d", by=(), exchange=exchange, start=first, end=market.now)
        known = [row for row in rows if row["total_usd"] is not None and _is_covered(row["covered"])]
        opens = np.asarray([row["timestamp"] for row in known], dtype=np.int64)
        usd = np.asarray([(float(row["long_usd"] or 0), float(row["short_usd"] or 0)) for row in known]).reshape(-1, 2)
        if usd.sum() > 0:
            reported[exchange] = (opens, usd)
    return reported


def _is_covered(share: float | None) -> bool:
    return share is None or share >= COVERED


def _has(totals: Any, coin: str) -> bool:
    """Whether totals have rows of a coin."""
    data = Table(totals, "market")
    return "symbol" not in data or coin in data.texts("symbol")


def _days(market: Market, coin: str, exchange: str, reported: tuple[Millis, Floats]) -> _Days | str:
    """The days of an exchange and coin, or why there are none."""
    bars = read_bars(market.bars(coin), coin)
    if DAY % bars.interval:
        return f"bars of {bars.interval // 60_000} minutes do not divide a day"
    readings = Table(market.open_interest(coin), "market")
    of_exchange = np.asarray([name == exchange for name in readings.texts("exchange")], dtype=np.bool_)
    opens, usd = reported
    place = (opens - bars.start) // bars.interval
    count = DAY // bars.interval
    first = int(readings.instants("timestamp")[of_exchange].min())
    # The map needs a bar that closed, and a reading, by the start of the day.
    usable = (
        (place > 0) & (place + count <= len(bars.low)) & (opens >= first) & ((opens - bars.start) % bars.interval == 0)
    )
    opens, usd, place = opens[usable], usd[usable], place[usable]
    inside = place[:, None] + np.arange(count)
    low, high = bars.low[inside].min(axis=1, initial=np.inf), bars.high[inside].max(axis=1, initial=0.0)
    whole = ~np.isnan(bars.low[inside]).any(axis=1) & ~np.isnan(bars.close[place - 1])
    opens, usd, low, high = opens[whole], usd[whole], low[whole], high[whole]
    if not len(opens):
        return "no whole day with bars, open interest and liquidations"
    model = Model(shares=[])
    maps = market.liqmap(coin, "all", model=model, exchange=exchange, as_of=opens.tolist())
    crossed = np.zeros_like(usd)
    for row, grid in enumerate(maps):
        price = grid.current_price
        swept = grid.swept(low=min(float(low[row]), price), high=max(float(high[row]), price))
        crossed[row] = swept["long_usd"], swept["short_usd"]
    if not crossed.sum() > 0:
        return "the price crossed no position"
    return _Days(opens, usd, crossed)


def _fitted(exchange: str, coins: dict[str, _Days], reference: str, *, by_side: bool) -> list[dict[str, Any]]:
    """The rows of an exchange."""
    of_reference = coins[reference]
    lines = []
    for coin in sorted(coins, key=lambda coin: (coin != reference, coin)):
        days = coins[coin]
        common = np.intersect1d(days.opens, of_reference.opens)
        if not len(common):
            continue
        usd = np.stack([*days.on(common), *of_reference.on(common)])
        chance = np.random.default_rng(0)
        draws = chance.multinomial(len(common), np.full(len(common), 1.0 / len(common)), size=RESAMPLES)
        # Sums over the days by draw, of the four kinds of USD and both sides. The first draw has each day once.
        sums = np.einsum("rd,kds->rks", np.vstack([np.ones(len(common), dtype=np.int64), draws]), usd)
        shares = _of_sums(sums, by_side=by_side or coin == reference)
        known = np.nan_to_num(shares, nan=0.0, posinf=1.0).clip(0.0, 1.0)
        lower, upper = np.quantile(known[1:], _INTERVAL, axis=0)
        for place, side in enumerate(SIDES):
            realised_usd, crossed_usd = (float(sums[0, kind, place]) for kind in range(2))
            share = float(known[0, place])
            lines.append(
                {
                    "exchange": exchange,
                    "coin": coin,
                    "side": side,
                    "share": share,
                    "lower": min(float(lower[place]), share),
                    "upper": max(float(upper[place]), share),
                    "days": len(common),
                    "start": int(common[0]),
                    "end": int(common[-1]) + DAY,
                    "realised_usd": realised_usd,
                    "crossed_usd": crossed_usd,
                    "ratio": realised_usd / crossed_usd if crossed_usd > 0 else float("nan"),
                }
            )
    return lines


def _of_sums(sums: Floats, *, by_side: bool) -> Floats:
    """Shares of longs and shorts by draw, from sums of USD: realised and crossed, of the coin and of the reference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        of_reference = sums[:, 2] / sums[:, 3]
        # The side of the reference with the share 1 is that of all days, so that the draws compare alike.
        best = int(np.nanargmax(of_reference[0]))
        if by_side:
            return np.asarray(sums[:, 0] / sums[:, 1] / of_reference[:, [best]], dtype=np.float64)
        sides = np.minimum(of_reference / of_reference[:, [best]], 1.0)
        coin = sums[:, 0].sum(axis=1) / (sums[:, 1] * sides).sum(axis=1)
        reference = sums[:, 2].sum(axis=1) / (sums[:, 3] * sides).sum(axis=1)
        return np.asarray((coin / reference)[:, None] * sides, dtype=np.float64)
