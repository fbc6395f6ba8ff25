"""Realised totals: by window, by coin, by exchange, by hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, overload

from . import _answers
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rows import Rows
    from .types import ChartRow, CoinRow, ExchangeRow, Instant, Overview, Window


@told(OF_SERVICE)
class _Totals(_Blocking, Generic[Amount]):
    """Realised totals, asked of a service."""

    def overview(self, *, as_of: Instant | None = None) -> Overview:
        """Long, short and total USD and the count of the last 1, 4, 12 and 24 hours.

        Parameters
        ----------
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        dict
            By window; ``long_usd``, ``short_usd``, ``total_usd`` as float (USD) and ``cnt`` as int. A window that the
            service leaves out is absent. ``["1d"]`` is ``["24h"]``; the keys are the contract's.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.overview())
        ['1h', '4h', '12h', '24h']
        """
        answer: Overview = self._ask("overview", _answers.plain, as_of)
        return answer

    def coins(self, range: Window = "24h", limit: int = 30, *, as_of: Instant | None = None) -> Rows[CoinRow]:
        """Coins by liquidated USD within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window; ``"1d"`` is ``"24h"``.
        limit : int
            Most rows wanted, 1 to 200.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (float, USD), ``cnt``.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.coins(limit=5))
        5
        """
        return self._ask("coins", _answers.rows, as_of, range=range, limit=limit)

    def exchanges(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[ExchangeRow[Amount]]:
        """Liquidated USD per exchange within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (USD, exact to 28 digits), ``cnt``.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     type(client.exchanges()[0]["total_usd"]).__name__
        'Decimal'
        """
        return self._ask("exchanges", _answers.rows, as_of, range=range)

    @overload
    def chart(self, symbol: str = "BTCUSDT", *, as_of: Instant | None = None) -> Rows[ChartRow[Amount]]: ...
    @overload
    def chart(self, symbol: Sequence[str], *, as_of: Instant | None = None) -> dict[str, Rows[ChartRow[Amount]]]: ...
    def chart(
        self, symbol: str | Sequence[str] = "BTCUSDT", *, as_of: Instant | None = None
    ) -> Rows[ChartRow[Amount]] | dict[str, Rows[ChartRow[Amount]]]:
        """Liquidated USD per hour and side over the last 24 hours.

        Parameters
        ----------
        symbol : str or sequence of str
            Trading pair, such as ``BTCUSDT``, or a coin for all its pairs; in any spelling.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``hour`` (epoch ms), ``side``, ``total_usd`` (exact decimal, USD); an hour may have one side only.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.chart(["BTCUSDT", "ETHUSDT"]))
        ['BTCUSDT', 'ETHUSDT']
        """
        return self._each("chart", symbol, _answers.rows, as_of)


@told(OF_SERVICE, _Totals)
class _AsyncTotals(_Awaiting, Generic[Amount]):
    """Realised totals, awaited from a service."""

    async def overview(self, *, as_of: Instant | None = None) -> Overview:
        """As :meth:`liqdata.Client.overview`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def totals(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.overview()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     list(asyncio.run(totals(server.url)))
        ['1h', '4h', '12h', '24h']
        """
        answer: Overview = await self._ask("overview", _answers.plain, as_of)
        return answer

    async def coins(self, range: Window = "24h", limit: int = 30, *, as_of: Instant | None = None) -> Rows[CoinRow]:
        """As :meth:`liqdata.Client.coins`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def coins(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.coins("1h", limit=2)
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(coins(server.url)))
        2
        """
        return await self._ask("coins", _answers.rows, as_of, range=range, limit=limit)

    async def exchanges(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[ExchangeRow[Amount]]:
        """As :meth:`liqdata.Client.exchanges`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def exchanges(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.exchanges()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(exchanges(server.url))[0]["exchange"]
        'binance'
        """
        return await self._ask("exchanges", _answers.rows, as_of, range=range)

    @overload
    async def chart(self, symbol: str = "BTCUSDT", *, as_of: Instant | None = None) -> Rows[ChartRow[Amount]]: ...
    @overload
    async def chart(
        self, symbol: Sequence[str], *, as_of: Instant | None = None
    ) -> dict[str, Rows[ChartRow[Amount]]]: ...
    async def chart(
        self, symbol: str | Sequence[str] = "BTCUSDT", *, as_of: Instant | None = None
    ) -> Rows[ChartRow[Amount]] | dict[str, Rows[ChartRow[Amount]]]:
        """As :meth:`liqdata.Client.chart`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def charts(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.chart(["BTC", "ETH"])
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     list(asyncio.run(charts(server.url)))
        ['BTC', 'ETH']
        """
        return await self._each("chart", symbol, _answers.rows, as_of)


@told(OF_MARKET, _Totals)
class _LocalTotals(_Local):
    """Realised totals, asked of a market in this process."""

    def overview(self, *, as_of: Instant | None = None) -> Overview:
        """As :meth:`liqdata.Client.overview`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.overview(as_of="2026-05-31T12:00Z")["24h"]["cnt"] < market.overview()["24h"]["cnt"]
        True
        """
        answer: Overview = self._ask("overview", _answers.plain, as_of)
        return answer

    def coins(self, range: Window = "24h", limit: int = 30, *, as_of: Instant | None = None) -> Rows[CoinRow]:
        """As :meth:`liqdata.Client.coins`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> [row["coin"] for row in market.coins("24h", limit=3)]
        ['BTC', 'SOL', 'ETH']
        """
        return self._ask("coins", _answers.rows, as_of, range=range, limit=limit)

    def exchanges(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[ExchangeRow]:
        """As :meth:`liqdata.Client.exchanges`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.exchanges()[0]["exchange"], market.exchanges("1h", as_of="2026-05-31T12:00Z").columns[0]
        ('binance', 'exchange')
        """
        return self._ask("exchanges", _answers.rows, as_of, range=range)

    @overload
    def chart(self, symbol: str = "BTCUSDT", *, as_of: Instant | None = None) -> Rows[ChartRow]: ...
    @overload
    def chart(self, symbol: Sequence[str], *, as_of: Instant | None = None) -> dict[str, Rows[ChartRow]]: ...
    def chart(
        self, symbol: str | Sequence[str] = "BTCUSDT", *, as_of: Instant | None = None
    ) -> Rows[ChartRow] | dict[str, Rows[ChartRow]]:
        """As :meth:`liqdata.Client.chart`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.chart("BTC").columns
        ['hour', 'side', 'total_usd']
        """
        return self._each("chart", symbol, _answers.rows, as_of)
