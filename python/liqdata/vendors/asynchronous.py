"""The clients of vendors for asyncio.

Written by ``tests/lint/faces.py`` from the blocking ones.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from .coinalyze import CoinalyzeDialect, coinalyze_access
from .coinank import CoinAnkDialect, coinank_access, coinank_pages
from .coinglass import CoinGlassDialect, coinglass_access, coinglass_pages
from .datamaxi import DataMaxiDialect, datamaxi_access
from .hyblock import HyblockDialect, hyblock_access
from .service import AsyncVendor, vendor_methods
from .velo import VeloDialect, velo_access
from .vocabulary import refuse_others

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import timedelta
    from decimal import Decimal

    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.record import Record
    from liqdata.results.rows import Rows
    from liqdata.types import Bound, Window

    from .coinalyze import CoinalyzeInterval
    from .coinank import CoinAnkInterval, CoinAnkMapRange, CoinAnkRange
    from .coinglass import CoinGlassInterval, CoinGlassMapRange, CoinGlassPainRange, CoinGlassRange, Sides
    from .datamaxi import DataMaxiWindow
    from .hyblock import HyblockInterval, HyblockMapRange, HyblockRange
    from .velo import VeloExchange

__all__ = ["AsyncCoinAnk", "AsyncCoinGlass", "AsyncCoinalyze", "AsyncDataMaxi", "AsyncHyblock", "AsyncVelo"]


@vendor_methods
class AsyncCoinalyze(AsyncVendor[CoinalyzeDialect]):
    """Coinalyze: liquidations, bars and open interest of single markets, for asyncio.

    The methods are those of :class:`~liqdata.vendors.Coinalyze`, as coroutines.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$COINALYZE_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.AsyncCoinalyze("key")
    AsyncCoinalyze('https://api.coinalyze.net/v1')
    """

    _connect = staticmethod(coinalyze_access)

    async def history(
        self,
        symbol: str | Sequence[str],
        *,
        exchange: str | None = None,
        interval: CoinalyzeInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``, or pair; or markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each market counts as
            one request, and the list of markets is asked for once.
        exchange : str, optional
            Only the markets of a coin on this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``coin``, ``symbol``, ``long_usd``, ``short_usd``, ``total_usd``
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing. A coin or pair is the sum
            over its markets, which are in ``meta["markets"]``; given markets that the service leaves out are in
            ``meta["missing"]``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinalyze("key") as service:
        ...         try:
        ...             await service.history("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'
        """
        refuse_others("Coinalyze", "history", others)
        return await self._run(
            self._dialect.history(
                symbol, exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )

    async def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        exchange: str | None = None,
        interval: CoinalyzeInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Price bars by market.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``, or pair; or markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each market counts as
            one request, and the list of markets is asked for once.
        exchange : str, optional
            Only the markets of a coin on this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol`` (the market), ``exchange``, ``timestamp`` (open), ``closes_at``, ``open``, ``high``, ``low``,
            ``close``, ``volume`` (in the unit of the market), ``interval``, oldest first; ``exchange`` is missing for
            given markets. Only closed bars, as everywhere; ``end`` is when the last one closes at most.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinalyze("key") as service:
        ...         try:
        ...             await service.bars("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'
        """
        refuse_others("Coinalyze", "bars", others)
        return await self._run(
            self._dialect.bars(symbol, exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000))
        )

    async def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        exchange: str | None = None,
        interval: CoinalyzeInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Open interest by market, in USD.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``, or pair; or markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each market counts as
            one request, and the list of markets is asked for once.
        exchange : str, optional
            Only the markets of a coin on this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol``, ``timestamp`` (end of the period, from which on the reading is known), ``closes_at`` (the same),
            ``open_interest_usd``, oldest first; ``exchange`` is missing for given markets. The reading of the open
            period is left out.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinalyze("key") as service:
        ...         try:
        ...             await service.open_interest("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'
        """
        refuse_others("Coinalyze", "open_interest", others)
        return await self._run(
            self._dialect.open_interest(
                symbol, exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )


@vendor_methods
class AsyncCoinAnk(AsyncVendor[CoinAnkDialect]):
    """CoinAnk: heatmaps, maps, orders and history, for asyncio.

    The methods are those of :class:`~liqdata.vendors.CoinAnk`, as coroutines.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$COINANK_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.AsyncCoinAnk("key")
    AsyncCoinAnk('https://open-api.coinank.com')
    """

    _connect = staticmethod(coinank_access)

    async def heatmap(
        self, symbol: str = "BTC", range: CoinAnkRange = "24h", *, exchange: str = "binance", **others: Any
    ) -> Heatmap:
        """Liquidation heatmap of a pair on one exchange.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str
            The exchange; the service has no map of all together.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Heatmap
            ``units`` is ``relative``: cells compare within the map only. Axes are those of the service, ``times`` are
            the ends of columns, and a cell that is not sent is 0.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinAnk("key") as service:
        ...         try:
        ...             await service.heatmap("BTC", "2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '12h', '24h', '3d', '7d', '2w', '1M', '3M', '6M', '1y'
        """
        refuse_others("CoinAnk", "heatmap", others)
        return await self._run(self._dialect.heatmap(symbol=symbol, range=range, exchange=exchange))

    async def liqmap(
        self, symbol: str = "BTC", range: CoinAnkMapRange = "1d", *, exchange: str | None = None, **others: Any
    ) -> LiquidationMap:
        """Liquidation levels by price.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str, optional
            Only this exchange, by leverage; without it all exchanges, without leverages.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            ``units`` is ``relative``. Sides are read from the price. ``meta["exchanges"]`` has the part of each
            exchange.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinAnk("key") as service:
        ...         try:
        ...             await service.liqmap("BTC", "2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '1d', '7d'
        """
        refuse_others("CoinAnk", "liqmap", others)
        return await self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange))

    async def orders(
        self,
        symbol: str,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        side: Literal["LONG", "SHORT"] | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """The newest liquidation orders.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; without it all known ones, one after the other.
        limit : int
            Maximum number of rows, 1 to 1000.
        offset : int
            Number of newest rows to skip, 0 to 1000.
        side : {"LONG", "SHORT"}, optional
            Only this side.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``exchange``, ``symbol``, ``side``, ``price``, ``qty``, ``value_usd``, ``timestamp``, newest first.
            ``meta["more"]`` says whether more match, ``meta["missing"]`` names exchanges that the service refused. The
            service has orders of coins: the search for those of a pair ends after ``timeout`` seconds, or 50 pages, in
            which there was none; ``meta["more"]`` is then true, and ``iter_orders`` with a start goes on.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinAnk("key") as service:
        ...         try:
        ...             await service.orders("BTC", "binance", min_usd=-1)
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        min_usd: -1 is not allowed; allowed: USD from 0 on
        """
        refuse_others("CoinAnk", "orders", others)
        return await self._run(
            self._dialect.orders(symbol, exchange, limit, offset, side=side, min_usd=min_usd, start=start, end=end)
        )

    async def iter_orders(
        self,
        symbol: str,
        exchange: str | None = None,
        *,
        side: Literal["LONG", "SHORT"] | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        max_rows: int | None = None,
        **others: Any,
    ) -> AsyncIterator[dict[str, Any]]:
        """All liquidation orders, newest first, page by page.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; without it all known ones.
        side : {"LONG", "SHORT"}, optional
            Only this side.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        max_rows : int, optional
            Stop after this many orders.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        iterator of dict
            Rows as dicts; none is lost or given twice where pages meet. Orders of a pair that is not among 200 pages of
            its coin need a ``start``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinAnk("key") as service:
        ...         try:
        ...             [row async for row in service.iter_orders("BTC", "binance", max_rows=0)]
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        max_rows: 0 is not allowed; allowed: a whole number from 1 to 9223372036854775807
        """
        refuse_others("CoinAnk", "iter_orders", others)
        pages = coinank_pages(symbol, exchange, start, end, max_rows)
        pages.faults = self._faults
        while not pages.done:
            page = await self._run(self._dialect.page(symbol, pages, side, min_usd))
            for row in pages.accept(page):
                yield row

    async def history(
        self,
        symbol: str,
        *,
        exchange: str | None = None,
        interval: CoinAnkInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets; or a pair of one exchange, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange, with a pair.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start, the last 500 periods.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``coin``, ``symbol``, ``long_usd``, ``short_usd``, ``total_usd``
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinAnk("key") as service:
        ...         try:
        ...             await service.history("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '5m', '15m', '30m', '1h', '4h', '12h', '1d'
        """
        refuse_others("CoinAnk", "history", others)
        return await self._run(
            self._dialect.history(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )


@vendor_methods
class AsyncCoinGlass(AsyncVendor[CoinGlassDialect]):
    """CoinGlass, API version 4: heatmaps, maps, orders and totals, for asyncio.

    The methods are those of :class:`~liqdata.vendors.CoinGlass`, as coroutines.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$COINGLASS_API_KEY`` by default. Never shown.
    %(base_url)s
    sides : {"documented", "position", "checked"}
        How the side of an order is read: ``documented`` (1 is a short, 2 a long), ``position`` (1 is a long, 2 a
        short), or ``checked``: the one that fits the totals of the same hours better, for one more request.
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.AsyncCoinGlass("key")
    AsyncCoinGlass('https://open-api-v4.coinglass.com')
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        sides: Sides = "documented",
        timeout: float = 10.0,
        retries: int = 4,
        proxy: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._use(
            coinglass_access(
                api_key, sides, base_url=base_url, timeout=timeout, retries=retries, proxy=proxy, headers=headers
            )
        )

    def _options(self) -> dict[str, Any]:
        return {"sides": self._dialect.sides}

    async def heatmap(
        self,
        symbol: str = "BTC",
        range: CoinGlassRange = "24h",
        model: Literal[1, 2, 3] = 2,
        *,
        exchange: str | None = None,
        **others: Any,
    ) -> Heatmap:
        """Liquidation heatmap of a coin, or of a pair on one exchange.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        model : {1, 2, 3}
            Model of the service.
        exchange : str, optional
            Only this exchange, and its pair; without it all exchanges together.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Heatmap
            ``units`` is ``relative``: cells compare within the map only. Axes are those of the service, ``times`` are
            the ends of columns, and a cell that is not sent is 0. The candles that come along are ``price``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.heatmap("BTC", "2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '12h', '24h', '3d', '7d', '1M', '3M', '6M', '1y'
        """
        refuse_others("CoinGlass", "heatmap", others)
        return await self._run(self._dialect.heatmap(symbol=symbol, range=range, model=model, exchange=exchange))

    async def liqmap(
        self,
        symbol: str = "BTC",
        range: CoinGlassMapRange = "1d",
        *,
        exchange: str | None = None,
        price: float | None = None,
        **others: Any,
    ) -> LiquidationMap:
        """Liquidation levels by price and leverage.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str, optional
            Only this exchange, and its pair; without it all exchanges together.
        price : float, optional
            The current price, for a reply without one. Without a price ``sides`` is ``unknown``.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            ``units`` is ``relative``. Sides are read from the price. ``meta["exchanges"]`` has the part of each
            exchange, if the service sends it.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.liqmap("BTC", "2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '1d', '7d', '1M'
        """
        refuse_others("CoinGlass", "liqmap", others)
        return await self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange, price=price))

    async def maxpain(self, symbol: str = "BTC", range: CoinGlassPainRange = "24h", **others: Any) -> Record:
        """The strongest liquidation level on each side.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the levels.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Record
            As :meth:`liqdata.Client.maxpain`; the key is ``d1``, ``d7`` and so on by range. The level below the price
            is that of longs, whatever the service calls it. ``usd`` is relative.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.maxpain("BTC", "2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '12h', '24h', '48h', '3d', '7d', '14d', '1M'
        """
        refuse_others("CoinGlass", "maxpain", others)
        return await self._run(self._dialect.maxpain(symbol=symbol, range=range))

    async def orders(
        self,
        symbol: str,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """The newest liquidation orders.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; without it all known ones, one after the other.
        limit : int
            Maximum number of rows, 1 to 1000.
        offset : int
            Number of newest rows to skip, 0 to 1000.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``exchange``, ``symbol``, ``side``, ``price``, ``qty``, ``value_usd``, ``timestamp``, newest first.
            ``meta["more"]`` says whether more match, ``meta["missing"]`` names exchanges that the service refused. The
            service has orders of coins: the search for those of a pair ends after ``timeout`` seconds, or 50 pages, in
            which there was none; ``meta["more"]`` is then true, and ``iter_orders`` with a start goes on.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.orders("BTC", "binance", min_usd=-1)
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        min_usd: -1 is not allowed; allowed: USD from 0 on
        """
        refuse_others("CoinGlass", "orders", others)
        return await self._run(
            self._dialect.orders(symbol, exchange, limit, offset, min_usd=min_usd, start=start, end=end)
        )

    async def iter_orders(
        self,
        symbol: str,
        exchange: str | None = None,
        *,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        max_rows: int | None = None,
        **others: Any,
    ) -> AsyncIterator[dict[str, Any]]:
        """All liquidation orders, newest first, page by page.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; without it all known ones.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        max_rows : int, optional
            Stop after this many orders.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        iterator of dict
            Rows as dicts; none is lost or given twice where pages meet. Orders of a pair that is not among 200 pages of
            its coin need a ``start``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             [row async for row in service.iter_orders("BTC", "binance", max_rows=0)]
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        max_rows: 0 is not allowed; allowed: a whole number from 1 to 9223372036854775807
        """
        refuse_others("CoinGlass", "iter_orders", others)
        pages = coinglass_pages(symbol, exchange, start, end, max_rows)
        pages.faults = self._faults
        while not pages.done:
            page = await self._run(self._dialect.page(symbol, pages, min_usd))
            for row in pages.accept(page):
                yield row

    async def history(
        self,
        symbol: str,
        *,
        exchange: str | Sequence[str] | None = None,
        interval: CoinGlassInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets; or a pair of one exchange, such as ``BTCUSDT``.
        exchange : str or sequence of str, optional
            Only these exchanges, added up by the service; all known ones by default.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``coin``, ``symbol``, ``long_usd``, ``short_usd``, ``total_usd``
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.history("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '3m', '5m', '15m', '30m', '1h', '4h', '6h', '8h', '12h', '1d',
        '1w'
        """
        refuse_others("CoinGlass", "history", others)
        return await self._run(
            self._dialect.history(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )

    async def coins(
        self, range: Window = "24h", limit: int | None = None, *, exchange: str = "binance", **others: Any
    ) -> Rows[Any]:
        """Coins by liquidated USD on one exchange, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        limit : int, optional
            Maximum number of rows.
        exchange : str
            The exchange, by default Binance alone: the service has no ranking over all exchanges.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (USD); ``cnt`` is missing. ``meta["exchange"]`` is the
            exchange.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.coins("2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '1h', '4h', '12h', '24h'
        """
        refuse_others("CoinGlass", "coins", others)
        return await self._run(self._dialect.coins(range=range, limit=limit, exchange=exchange))

    async def exchanges(self, range: Window = "24h", *, symbol: str | None = None, **others: Any) -> Rows[Any]:
        """Liquidated USD by exchange, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        symbol : str, optional
            Only this coin.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact, USD); ``cnt`` is missing. The row of all
            exchanges is in ``meta["all"]``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.exchanges("2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '1h', '4h', '12h', '24h'
        """
        refuse_others("CoinGlass", "exchanges", others)
        return await self._run(self._dialect.exchanges(range=range, symbol=symbol))

    async def bars(
        self,
        symbol: str = "BTC",
        *,
        exchange: str = "binance",
        interval: CoinGlassInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Price bars of a pair.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str
            The exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol``, ``exchange``, ``timestamp`` (open), ``closes_at``, ``open``, ``high``, ``low``, ``close``,
            ``volume`` (base units: ``volume_usd`` at the middle of the bar's range, as in its CSV files),
            ``volume_usd`` (as sent), ``interval``, oldest first. Only closed bars, as everywhere; ``end`` is when the
            last one closes at most.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.bars("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '3m', '5m', '15m', '30m', '1h', '4h', '6h', '8h', '12h', '1d',
        '1w'
        """
        refuse_others("CoinGlass", "bars", others)
        return await self._run(
            self._dialect.bars(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )

    async def open_interest(
        self,
        symbol: str = "BTC",
        *,
        exchange: str = "binance",
        interval: CoinGlassInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Open interest of a pair, in USD.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str
            The exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol``, ``exchange``, ``timestamp`` (end of the period, from which on the reading is known),
            ``closes_at`` (the same), ``open_interest_usd``, oldest first. The reading of the open period is left out.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key") as service:
        ...         try:
        ...             await service.open_interest("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '3m', '5m', '15m', '30m', '1h', '4h', '6h', '8h', '12h', '1d',
        '1w'
        """
        refuse_others("CoinGlass", "open_interest", others)
        return await self._run(
            self._dialect.open_interest(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )

    async def plan(self) -> Record:
        """The plan of the key.

        Returns
        -------
        Record
            ``level``, ``expires_at`` (UTC datetime) and ``expired``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncCoinGlass("key", base_url="http://127.0.0.1:1", retries=0) as service:
        ...         try:
        ...             await service.plan()
        ...         except ConnectionError as error:
        ...             print(type(error).__name__)
        >>> asyncio.run(example())
        NoAnswer
        """
        return await self._run(self._dialect.plan())


@vendor_methods
class AsyncDataMaxi(AsyncVendor[DataMaxiDialect]):
    """DataMaxi+: a modelled map, and totals by coin and exchange, for asyncio.

    The methods are those of :class:`~liqdata.vendors.DataMaxi`, as coroutines.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$DATAMAXI_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.AsyncDataMaxi("key")
    AsyncDataMaxi('https://api.datamaxiplus.com/api/v1')
    """

    _connect = staticmethod(datamaxi_access)

    async def liqmap(
        self,
        symbol: str = "BTC",
        range: Literal["all"] = "all",
        *,
        exchange: str = "binance",
        quote: str = "USDT",
        **others: Any,
    ) -> LiquidationMap:
        """The service's modelled map of a pair, by price and leverage.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : {"all"}
            The map is of all open interest; the service has no other range.
        exchange : str
            The exchange; the service has no map of all together.
        quote : str
            Quote currency of the pair.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            In USD. ``meta["assumptions"]`` has the assumptions of the model.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncDataMaxi("key") as service:
        ...         try:
        ...             await service.liqmap("")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        symbol: '' is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT
        """
        refuse_others("DataMaxi", "liqmap", others)
        return await self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange, quote=quote))

    async def coins(self, range: DataMaxiWindow = "24h", limit: int | None = None, **others: Any) -> Rows[Any]:
        """Coins by liquidated USD, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        limit : int, optional
            Maximum number of rows, 1 to 1000.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (USD); ``cnt`` is missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncDataMaxi("key") as service:
        ...         try:
        ...             await service.coins("2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '1h', '4h', '24h'
        """
        refuse_others("DataMaxi", "coins", others)
        return await self._run(self._dialect.coins(range=range, limit=limit))

    async def exchanges(self, range: DataMaxiWindow = "24h", *, symbol: str | None = None, **others: Any) -> Rows[Any]:
        """Liquidated USD by exchange, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        symbol : str, optional
            Only this coin.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact, USD) and ``cnt``, which is missing without
            ``symbol``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncDataMaxi("key") as service:
        ...         try:
        ...             await service.exchanges("2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '1h', '4h', '24h'
        """
        refuse_others("DataMaxi", "exchanges", others)
        return await self._run(self._dialect.exchanges(range=range, symbol=symbol))


@vendor_methods
class AsyncHyblock(AsyncVendor[HyblockDialect]):
    """Hyblock Capital: heatmaps, open levels and history, for asyncio.

    The methods are those of :class:`~liqdata.vendors.Hyblock`, as coroutines.

    Parameters
    ----------
    client_id : str, optional
        Id of the client; ``$HYBLOCK_CLIENT_ID`` by default.
    client_secret : str, optional
        Secret of the client; ``$HYBLOCK_CLIENT_SECRET`` by default. Never shown.
    api_key : str, optional
        Key of the service; ``$HYBLOCK_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.AsyncHyblock("id", "key", "key")
    AsyncHyblock('https://api.hyblockcapital.com/v2')
    """

    def __init__(
        self,
        client_id: str | None = None,
        client_secret: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        proxy: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._use(
            hyblock_access(
                client_id,
                client_secret,
                api_key,
                base_url=base_url,
                timeout=timeout,
                retries=retries,
                proxy=proxy,
                headers=headers,
            )
        )

    async def heatmap(
        self, symbol: str = "BTC", range: HyblockRange = "7d", *, exchange: str | None = None, **others: Any
    ) -> Heatmap:
        """Liquidation heatmap of a coin.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str, optional
            Only this exchange; all known ones by default, added up.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Heatmap
            ``units`` is ``relative``: cells compare within the map only. Axes are those of the service, ``times``
            as they are sent, and a cell that is not sent is 0. ``meta["bins"]`` has the low and high end of each row,
            ``meta["by_side"]`` the sums of the sides.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncHyblock("id", "key", "key") as service:
        ...         try:
        ...             await service.heatmap("BTC", "2h")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        range: '2h' is not allowed; allowed: '12h', '7d', '1M', '3M', '6M', '1y', '2y'
        """
        refuse_others("Hyblock", "heatmap", others)
        return await self._run(self._dialect.heatmap(symbol=symbol, range=range, exchange=exchange))

    async def liqmap(
        self, symbol: str = "BTC", range: HyblockMapRange = "1d", *, exchange: str | None = None, **others: Any
    ) -> LiquidationMap:
        """Open liquidation levels by price and leverage.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Only levels that were created in this time before now.
        exchange : str, optional
            Only this exchange; all known ones by default, added up.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            ``units`` is ``relative``; ``current_price`` is NaN, because the service sends none.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncHyblock("id", "key", "key") as service:
        ...         try:
        ...             await service.liqmap("")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        symbol: '' is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT
        """
        refuse_others("Hyblock", "liqmap", others)
        return await self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange))

    async def history(
        self,
        symbol: str,
        *,
        exchange: str | None = None,
        interval: HyblockInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidations by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets.
        exchange : str, optional
            Only this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``coin``, ``symbol``, ``long_usd``, ``short_usd``, ``total_usd``
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncHyblock("id", "key", "key") as service:
        ...         try:
        ...             await service.history("BTC", interval="2m")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '4h', '1d'
        """
        refuse_others("Hyblock", "history", others)
        return await self._run(
            self._dialect.history(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )


@vendor_methods
class AsyncVelo(AsyncVendor[VeloDialect]):
    """Velo: liquidations by period, for asyncio.

    The methods are those of :class:`~liqdata.vendors.Velo`, as coroutines.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$VELO_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.AsyncVelo("key")
    AsyncVelo('https://api.velo.xyz/api/v1')
    """

    _connect = staticmethod(velo_access)

    async def history(
        self,
        symbol: str,
        *,
        exchange: VeloExchange | None = None,
        interval: str | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets; or a pair of one exchange, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; all known ones by default.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start, the last 1000 periods.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``coin``, ``symbol``, ``long_usd``, ``short_usd``, ``total_usd``
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def example():
        ...     async with vendors.AsyncVelo("key") as service:
        ...         try:
        ...             await service.history("BTC", interval="2s")
        ...         except ValueError as error:
        ...             print(error)
        >>> asyncio.run(example())
        interval: '2s' is not allowed; allowed: whole minutes, such as "5m", "4h", "1d", "1w", a timedelta, or
        milliseconds
        """
        refuse_others("Velo", "history", others)
        return await self._run(
            self._dialect.history(
                symbol=symbol, exchange=exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )
