"""Liquidations over time: sums by period, of any stretch of a market's history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic

from . import _answers
from ._inputs import length, spelled, symbols, usd
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .errors import BadQuery
from .types import Amount

if TYPE_CHECKING:
    from datetime import timedelta
    from decimal import Decimal

    from . import _core
    from ._answers import Convert, Origin
    from .rows import Rows
    from .types import HistoryGroup, HistoryRow, Instant

_GROUPS = ("coin", "symbol", "exchange", "side")


@told(OF_SERVICE)
class _History(_Blocking, Generic[Amount]):
    """Liquidations over time, asked of a service."""

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
        as_of: Instant | None = None,
    ) -> Rows[HistoryRow[Amount]]:
        """What was liquidated, period by period. An extension of ``liqdata serve`` beside the ten endpoints.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            A coin (``BTC``), a trading pair (``BTCUSDT``) or several, also with commas between them; everything by
            default.
        interval : str, timedelta or int
            Length of a period, whole minutes up to 366 days: ``"5m"``, ``"1h"``, ``"1d"``, ``"1M"`` (which is
            ``"30d"``, and no month of the calendar), or milliseconds. Periods begin at whole multiples of it since
            1970, UTC.
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
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            ``timestamp`` (open of the period, epoch ms), the columns of ``by``, ``long_usd``, ``short_usd``,
            ``total_usd`` (USD, exact to 28 digits), ``cnt``, ``largest_usd`` (largest order), ``covered``: the share
            of the period, as far as it was asked about, in which the exchange was listened to and nothing is known to
            be missing; of several exchanges the mean; ``None`` where nobody kept a record, as of tables. In order of
            time, then by coin, symbol, exchange and side. A period without an order has no row, so a row that is not
            there does not say that nothing happened: see :meth:`Market.gaps`.

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, for several symbols that ``by`` does not tell apart, for more than two
            million rows, and where the service has no history.

        Notes
        -----
        Of an archive, the days that are asked for are read once, side by side; memory holds the sums only.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.history("BTC", interval="4h", by="side").columns[:4]
        ['timestamp', 'side', 'long_usd', 'short_usd']
        """
        asked = _asked(symbol, interval, by, (start, end), (exchange, min_usd))
        return self._ask("history", _grouped(by), as_of, **asked)


@told(OF_SERVICE, _History)
class _AsyncHistory(_Awaiting, Generic[Amount]):
    """Liquidations over time, awaited from a service."""

    async def history(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        interval: str | timedelta | int = "1h",
        by: HistoryGroup | Iterable[HistoryGroup] = ("coin",),
        start: Instant | None = None,
        end: Instant | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        as_of: Instant | None = None,
    ) -> Rows[HistoryRow[Amount]]:
        """As :meth:`liqdata.Client.history`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def hours(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.history("BTC", interval="4h", by="side")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(hours(server.url)).columns[:2]
        ['timestamp', 'side']
        """
        asked = _asked(symbol, interval, by, (start, end), (exchange, min_usd))
        return await self._ask("history", _grouped(by), as_of, **asked)


@told(OF_MARKET, _History)
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
        as_of: Instant | None = None,
    ) -> Rows[HistoryRow]:
        """As :meth:`liqdata.Client.history`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> rows = market.history("BTC", interval="4h", by="exchange")
        >>> sum(row["cnt"] for row in rows) == len(list(market.iter_orders("BTC")))
        True
        """
        asked = _asked(symbol, interval, by, (start, end), (exchange, min_usd))
        return self._ask("history", _grouped(by), as_of, **asked)


def _asked(
    symbol: object, interval: object, by: object, between: tuple[Any, Any], only: tuple[object, object]
) -> dict[str, str | None]:
    """The parameters as a query string has them, checked as far as one can without the market."""
    exchange, min_usd = only
    groups = _groups(by)
    names = symbols(symbol)
    if len(names) > 1 and not {"coin", "symbol"} & set(groups):
        msg = f"by: {by!r} does not tell {len(names)} symbols apart; allowed: with 'coin' or 'symbol' among them"
        raise BadQuery(msg, parameter="by")
    if exchange is not None and not (isinstance(exchange, str) and exchange.strip()):
        msg = f"exchange: {exchange!r} is not allowed; allowed: the name of an exchange, such as binance"
        raise BadQuery(msg, parameter="exchange")
    return {
        "symbol": ",".join(names) if names else None,
        "interval": str(length(interval)),
        "by": ",".join(groups) or "none",
        **spelled(*between),
        "exchange": None if exchange is None else str(exchange),
        "min_usd": None if min_usd is None else usd(min_usd),
    }


def _grouped(by: object) -> Convert[Rows[Any]]:
    """Makes rows whose columns are those asked for."""
    groups = _groups(by)

    def converted(answer: _core.Table, origin: Origin) -> Rows[Any]:
        return _answers.rows(answer.keeping(_GROUPS, groups), origin)

    return converted


def _groups(by: Any) -> list[str]:
    """The columns that rows are grouped by."""
    if isinstance(by, str):
        by = () if by == "none" else by.split(",")
    names: list[Any] = list(by) if isinstance(by, Iterable) else [by]
    for name in names:
        if name not in _GROUPS or names.count(name) > 1:
            allowed = f"one of {', '.join(map(repr, _GROUPS))}, several of them, or none (in Python ()) for totals"
            msg = f"by: {by!r} is not allowed; allowed: {allowed}"
            raise BadQuery(msg, parameter="by")
    return names
