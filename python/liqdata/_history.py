"""Liquidations over time: sums by period, of any stretch of a market's history."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

from . import _answers
from ._inputs import length, many, stretch
from ._local import _Local
from .errors import BadQuery

if TYPE_CHECKING:
    from datetime import timedelta

    from .rows import Rows
    from .types import HistoryGroup, HistoryRow, Instant

_GROUPS = ("coin", "symbol", "exchange", "side")
_DAY = 24 * 60 * 60_000


class _LocalHistory(_Local):
    """Liquidations over time, asked of a market in this process."""

    def history(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        interval: str | timedelta | int = "1h",
        by: HistoryGroup | Iterable[HistoryGroup] = ("coin",),
        start: Instant | None = None,
        end: Instant | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
    ) -> Rows[HistoryRow]:
        """What was liquidated, period by period.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            A coin (``BTC``), a trading pair (``BTCUSDT``) or several; everything by default.
        interval : str, timedelta or int
            Length of a period, whole minutes up to 366 days: ``"5m"``, ``"1h"``, ``"1d"``, or milliseconds. Periods
            begin at whole multiples of it since 1970, UTC.
        by : {"coin", "symbol", "exchange", "side"} or several
            What else rows are grouped by, a column each, in this order; ``()`` for totals.
        start : int, datetime or str, optional
            Only orders from then on, by event time; 24 hours before ``end`` by default.
        end : int, datetime or str, optional
            Only orders before then; by default all up to and with the market's *now*.
        exchange : str, optional
            Only orders of this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least so many USD.

        Returns
        -------
        Rows
            ``timestamp`` (open of the period, epoch ms), the columns of ``by``, ``long_usd``, ``short_usd``,
            ``total_usd`` (exact decimals, USD), ``cnt``, ``largest_usd`` (the largest order) and ``covered``: the share
            of the period, as far as it was asked about, in which the exchange was listened to and nothing is known to
            be missing; of several exchanges the mean; ``None`` where nobody kept a record, as of tables. In order of
            time, then by coin, symbol, exchange and side. A period without an order has no row, so a row that is not
            there does not say that nothing happened: see :meth:`gaps`.

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, and for several symbols that ``by`` does not tell apart.

        Notes
        -----
        Of an archive, the days that are asked for are read once, side by side; memory holds the sums only.

        Examples
        --------
        >>> import liqdata
        >>> rows = liqdata.demo().history("BTC", interval="4h", by="side")
        >>> rows.columns[:4], {row["side"] for row in rows} <= {"LONG", "SHORT"}
        (['timestamp', 'side', 'long_usd', 'short_usd'], True)
        """
        size = length(interval)
        groups = _groups(by)
        symbols = [symbol] if isinstance(symbol, str) else many(symbol) or []
        if symbol is not None and not symbols:
            msg = f"symbol: {symbol!r} names none; allowed: a coin, a pair or several, or None for everything"
            raise BadQuery(msg, parameter="symbol")
        for one in symbols:
            if not isinstance(one, str):
                msg = f"symbol: {one!r} is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT"
                raise BadQuery(msg, parameter="symbol")
        if len(symbols) > 1 and not {"coin", "symbol"} & set(groups):
            msg = f"by: {by!r} does not tell {len(symbols)} symbols apart; allowed: with 'coin' or 'symbol' among them"
            raise BadQuery(msg, parameter="by")
        if exchange is not None and not (isinstance(exchange, str) and exchange.strip()):
            msg = f"exchange: {exchange!r} is not allowed; allowed: the name of an exchange, such as binance"
            raise BadQuery(msg, parameter="exchange")
        core = self._open()
        first, last = stretch(start, end)
        last = core.now + 1 if last is None else last
        first = last - _DAY if first is None else first
        if first >= last:
            now = f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
            msg = f"start: {start!r} is after the market's now, {now}; allowed: an earlier instant"
            raise BadQuery(msg, parameter="start")
        table = core.timeline(symbols, groups, size, first, last, exchange, _usd(min_usd))
        return _answers.rows(table, self._origin(None))


def _groups(by: Any) -> list[str]:
    """The columns that rows are grouped by."""
    names: list[Any] = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
    for name in names:
        if name not in _GROUPS or names.count(name) > 1:
            allowed = ", ".join(map(repr, _GROUPS))
            msg = f"by: {by!r} is not allowed; allowed: one of {allowed}, several of them, or () for totals"
            raise BadQuery(msg, parameter="by")
    return names


def _usd(amount: object) -> str | None:
    """An amount as text with every digit."""
    if amount is None:
        return None
    if isinstance(amount, (Real, Decimal)) and not isinstance(amount, bool):
        exact = amount if isinstance(amount, Decimal) else Decimal(repr(float(amount)))
        if exact.is_finite():
            return format(exact, "f")
    msg = f"min_usd: {amount!r} is not allowed; allowed: USD from 0 on"
    raise BadQuery(msg, parameter="min_usd")
