"""The client for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Self, overload

from .calls.traceback import public_methods
from .endpoints import (
    cascades,
    coverage,
    heatmap,
    history,
    levels,
    liqmap,
    maps,
    orders,
    positions,
    series,
    totals,
    undercount,
)
from .source.options import Options, remake
from .source.service import AsyncService
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from datetime import timedelta
    from decimal import Decimal
    from typing import Unpack

    from .model import Model
    from .results.heatmap import Heatmap
    from .results.map import LiquidationMap
    from .results.record import Record
    from .results.rows import Rows
    from .stream import AsyncCascadeStream, AsyncOrderStream
    from .types import (
        BarRow,
        Bound,
        CascadeRow,
        ChartRow,
        ClientOptions,
        CoinRow,
        CoverageRow,
        ExchangeRow,
        GapRow,
        Headline,
        HeatmapRange,
        HistoryGroup,
        HistoryRow,
        Instant,
        Instants,
        MapKind,
        MapRange,
        MapRow,
        MapSource,
        ModelNumber,
        Opened,
        OpenInterestRow,
        OrderRow,
        Progress,
        SeenPositionRow,
        Span,
        UndercountRow,
        Window,
    )
    from .walk import AsyncOrderIterator

__all__ = ["AsyncClient"]


@public_methods
class AsyncClient(Generic[Amount]):
    """A client for asyncio: the methods of :class:`~liqdata.Client` as coroutines.

    ``iter_orders``, ``stream_orders`` and ``stream_cascades`` are async iterators. Use ``async with`` or
    :meth:`aclose`. A cancelled await cancels its request.

    Parameters
    ----------
    base_url : str, optional
        Address of the service, http or https, with or without a path prefix. Default: ``$LIQDATA_BASE_URL``.
    timeout : float
        Deadline of a call in seconds, including retries and the waits between them.
    connect_timeout : float
        Deadline of one attempt to connect, in seconds.
    retries : int
        Maximum number of attempts after the first one. Only errors that may be temporary are retried.
    rate_limit : float, optional
        Maximum requests per second, over all threads. Waiting for this limit does not count against ``timeout``.
    max_body : int
        Maximum size of a reply in bytes, after decompression.
    decimals : {"decimal", "float", "text"}
        Type of decimal amounts in dict rows: exact :class:`~decimal.Decimal`, ``float``, or exact text.
    headers : mapping of str to str, optional
        HTTP headers to send with every request. Their values never appear in a repr, a log or an error.
    proxy : str, optional
        Address of a proxy; replaces the proxy of the environment variables. Loopback addresses never use a proxy.
    token : str, optional
        Token to send as ``Authorization: Bearer`` with every request; ``$LIQDATA_TOKEN`` by default. Never shown. A
        client with a token from the environment can be pickled; the process that unpickles it reads its own variable.

    Raises
    ------
    BadQuery
        For an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> import asyncio, liqdata
    >>> async def main(url):
    ...     async with liqdata.AsyncClient(url) as client:
    ...         coins, map = await asyncio.gather(client.coins(limit=3), client.heatmap("ETH", "12h"))
    ...         return len(coins), map.symbol
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     asyncio.run(main(server.url))
    (3, 'ETH')
    """

    @overload
    def __init__(
        self: AsyncClient[Decimal],
        base_url: str | None = None,
        *,
        decimals: Literal["decimal"] = "decimal",
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncClient[float],
        base_url: str | None = None,
        *,
        decimals: Literal["float"],
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncClient[str],
        base_url: str | None = None,
        *,
        decimals: Literal["text"],
        **options: Unpack[ClientOptions],
    ) -> None: ...
    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        retries: int = 4,
        rate_limit: float | None = None,
        max_body: int = 64 * 2**20,
        decimals: Literal["decimal", "float", "text"] = "decimal",
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        token: str | None = None,
    ) -> None:
        self._source = AsyncService(
            Options(
                base_url,
                timeout=timeout,
                connect_timeout=connect_timeout,
                retries=retries,
                rate_limit=rate_limit,
                max_body=max_body,
                decimals=decimals,
                headers=headers,
                proxy=proxy,
                token=token,
            )
        )

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._source.core.base_url

    async def overview(self, *, as_of: Instant | None = None) -> Record:
        """Long, short and total USD and order counts of the last 1, 4, 12 and 24 hours.

        Parameters and result are those of :meth:`liqdata.Client.overview`.

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
        return await self._source.ask(totals.overview(as_of=as_of))

    async def coins(self, range: Window = "24h", limit: int = 30, *, as_of: Instant | None = None) -> Rows[CoinRow]:
        """Coins by liquidated USD within a window, largest first.

        Parameters and result are those of :meth:`liqdata.Client.coins`.

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
        return await self._source.ask(totals.coins(range, limit, as_of=as_of))

    async def exchanges(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[ExchangeRow[Amount]]:
        """Liquidated USD per exchange within a window.

        Parameters and result are those of :meth:`liqdata.Client.exchanges`.

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
        return await self._source.ask(totals.exchanges(range, as_of=as_of))

    @overload
    async def largest(
        self,
        range: Window = "24h",
        limit: int = 20,
        *,
        symbol: str | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]]: ...
    @overload
    async def largest(
        self,
        range: Window = "24h",
        limit: int = 20,
        *,
        symbol: Sequence[str],
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OrderRow[Amount]]]: ...
    async def largest(
        self,
        range: Window = "24h",
        limit: int = 20,
        *,
        symbol: str | Sequence[str] | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]] | dict[str, Rows[OrderRow[Amount]]]:
        """The largest liquidation orders within a window.

        Parameters and result are those of :meth:`liqdata.Client.largest`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def largest(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.largest(limit=3)
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(largest(server.url)))
        3
        """
        return await self._source.ask_each(
            orders.largest(range, limit, symbol=symbol, exchange=exchange, min_usd=min_usd, as_of=as_of)
        )

    @overload
    async def orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]]: ...
    @overload
    async def orders(
        self,
        symbol: Sequence[str],
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OrderRow[Amount]]]: ...
    async def orders(
        self,
        symbol: str | Sequence[str] | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]] | dict[str, Rows[OrderRow[Amount]]]:
        """One page of liquidation orders, newest first.

        Parameters and result are those of :meth:`liqdata.Client.orders`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def page(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.orders("BTCUSDT", limit=5)
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     {row["symbol"] for row in asyncio.run(page(server.url))}
        {'BTCUSDT'}
        """
        return await self._source.ask_each(
            orders.orders(
                symbol, exchange, limit, offset, min_usd=min_usd, start=start, end=end, groups=groups, as_of=as_of
            )
        )

    @overload
    async def chart(self, symbol: str = "BTCUSDT", *, as_of: Instant | None = None) -> Rows[ChartRow[Amount]]: ...
    @overload
    async def chart(
        self, symbol: Sequence[str], *, as_of: Instant | None = None
    ) -> dict[str, Rows[ChartRow[Amount]]]: ...
    async def chart(
        self, symbol: str | Sequence[str] = "BTCUSDT", *, as_of: Instant | None = None
    ) -> Rows[ChartRow[Amount]] | dict[str, Rows[ChartRow[Amount]]]:
        """Liquidated USD per hour and side over the last 24 hours.

        Parameters and result are those of :meth:`liqdata.Client.chart`.

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
        return await self._source.ask_each(totals.chart(symbol, as_of=as_of))

    @overload
    async def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Heatmap: ...
    @overload
    async def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> AsyncIterator[Heatmap]: ...
    @overload
    async def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Heatmap]: ...
    @overload
    async def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, AsyncIterator[Heatmap]]: ...
    async def heatmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Heatmap | AsyncIterator[Heatmap] | dict[str, Heatmap] | dict[str, AsyncIterator[Heatmap]]:
        """Estimated liquidations over price and time.

        Parameters and result are those of :meth:`liqdata.Client.heatmap`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.heatmap("BTC", "12h")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(ask(server.url)).times.size
        144
        """
        return await self._source.ask_lazily(
            heatmap.heatmap(
                symbol,
                range,
                model,
                span=span,
                opened=opened,
                exchange=exchange,
                source=source,
                as_of=as_of,
                explain=explain,
            )
        )

    @overload
    async def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> LiquidationMap: ...
    @overload
    async def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[LiquidationMap]: ...
    @overload
    async def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, LiquidationMap]: ...
    @overload
    async def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[LiquidationMap]]: ...
    async def liqmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> LiquidationMap | list[LiquidationMap] | dict[str, LiquidationMap] | dict[str, list[LiquidationMap]]:
        """Estimated liquidations by price and leverage tier.

        Parameters and result are those of :meth:`liqdata.Client.liqmap`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.liqmap("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(ask(server.url)).leverages.tolist()
        [2, 3, 5, 10, 25, 50, 100]
        """
        return await self._source.ask_list(
            liqmap.liqmap(
                symbol,
                range,
                model=model,
                bin=bin,
                span=span,
                opened=opened,
                exchange=exchange,
                source=source,
                as_of=as_of,
                explain=explain,
            )
        )

    @overload
    async def levels(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Record: ...
    @overload
    async def levels(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Record]: ...
    @overload
    async def levels(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Record]: ...
    @overload
    async def levels(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Record]]: ...
    async def levels(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Record | list[Record] | dict[str, Record] | dict[str, list[Record]]:
        """The price levels with the most estimated liquidations, per leverage tier.

        Parameters and result are those of :meth:`liqdata.Client.levels`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.levels(["BTC", "ETH"])
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     list(asyncio.run(ask(server.url)))
        ['BTC', 'ETH']
        """
        return await self._source.ask_list(
            levels.levels(symbol, model=model, headline=headline, as_of=as_of, explain=explain)
        )

    @overload
    async def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Record: ...
    @overload
    async def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Record]: ...
    @overload
    async def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Record]: ...
    @overload
    async def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Record]]: ...
    async def maxpain(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Record | list[Record] | dict[str, Record] | dict[str, list[Record]]:
        """The price levels with the most estimated liquidations over a day and a week.

        Parameters and result are those of :meth:`liqdata.Client.maxpain`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.maxpain("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(ask(server.url))["d1"]["long"]["distPct"] < 0
        True
        """
        return await self._source.ask_list(
            levels.maxpain(symbol, model=model, headline=headline, source=source, as_of=as_of, explain=explain)
        )

    def iter_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        page_size: int = 1000,
        max_rows: int | None = None,
        progress: Progress = False,
        min_usd: float | Decimal | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> AsyncOrderIterator[Amount]:
        """Iterate over all orders, newest first, each exactly once.

        Parameters and result are those of :meth:`liqdata.Client.iter_orders`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def walk(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return [row async for row in client.iter_orders("BTCUSDT", max_rows=250, page_size=100)]
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(walk(server.url)))
        250
        """
        return orders.iter_orders_async(
            self._source,
            symbol,
            exchange,
            page_size=page_size,
            max_rows=max_rows,
            progress=progress,
            min_usd=min_usd,
            start=start,
            end=end,
            groups=groups,
            as_of=as_of,
        )

    def stream_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        min_usd: float | Decimal | None = None,
        last_event_id: str | None = None,
    ) -> AsyncOrderStream[Amount]:
        """Iterate over new orders as they arrive, oldest first.

        Parameters and result are those of :meth:`liqdata.Client.stream_orders`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def watch(url, most):
        ...     async with liqdata.AsyncClient(url) as client, client.stream_orders("BTCUSDT") as stream:
        ...         async for row in stream:
        ...             if row["value_usd"] > most:
        ...                 return row, stream.last_event_id
        """
        return orders.stream_orders_async(self._source, symbol, exchange, min_usd=min_usd, last_event_id=last_event_id)

    async def history(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        interval: str | timedelta | int = "1h",
        by: HistoryGroup | Iterable[HistoryGroup] = ("coin",),
        start: Bound | None = None,
        end: Bound | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        sparse: bool = False,
        as_of: Instant | None = None,
    ) -> Rows[HistoryRow[Amount]]:
        """Liquidated USD per period and group.

        Parameters and result are those of :meth:`liqdata.Client.history`.

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
        return await self._source.ask(
            history.history(
                symbol,
                interval=interval,
                by=by,
                start=start,
                end=end,
                exchange=exchange,
                min_usd=min_usd,
                sparse=sparse,
                as_of=as_of,
            )
        )

    async def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CascadeRow[Amount]]:
        """Cascades: liquidations in quick succession.

        Parameters and result are those of :meth:`liqdata.Client.cascades`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def events(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.cascades("BTC", gap="5m", min_usd=1_000_000)
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(events(server.url)))
        17
        """
        return await self._source.ask(
            cascades.cascades(symbol, gap=gap, min_usd=min_usd, start=start, end=end, as_of=as_of)
        )

    def stream_cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        last_event_id: str | None = None,
    ) -> AsyncCascadeStream[Amount]:
        """Iterate over cascades as they end.

        Parameters and result are those of :meth:`liqdata.Client.stream_cascades`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def watch(url):
        ...     async with liqdata.AsyncClient(url) as client, client.stream_cascades("BTC") as stream:
        ...         async for row in stream:
        ...             print(row["side"], row["usd"], row["cnt"])
        """
        return cascades.stream_cascades_async(
            self._source, symbol, gap=gap, min_usd=min_usd, last_event_id=last_event_id
        )

    @overload
    async def bars(
        self,
        symbol: str = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow]: ...
    @overload
    async def bars(
        self,
        symbol: Sequence[str],
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[BarRow]]: ...
    async def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow] | dict[str, Rows[BarRow]]:
        """The closed price bars of a coin.

        Parameters and result are those of :meth:`liqdata.Client.bars`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def days(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.bars("BTC", interval="1d")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(days(server.url)))
        30
        """
        return await self._source.ask_each(series.bars(symbol, start=start, end=end, interval=interval, as_of=as_of))

    @overload
    async def open_interest(
        self,
        symbol: str = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow]: ...
    @overload
    async def open_interest(
        self,
        symbol: Sequence[str],
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OpenInterestRow]]: ...
    async def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow] | dict[str, Rows[OpenInterestRow]]:
        """The open-interest readings of a coin.

        Parameters and result are those of :meth:`liqdata.Client.open_interest`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def readings(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.open_interest("BTC", start="2026-05-31")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(readings(server.url)).columns[:2]
        ['symbol', 'exchange']
        """
        return await self._source.ask_each(series.open_interest(symbol, start=start, end=end, as_of=as_of))

    @overload
    async def positions(
        self, symbol: str = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow[Amount]]: ...
    @overload
    async def positions(
        self, symbol: Sequence[str], *, as_of: Instant | None = None
    ) -> dict[str, Rows[SeenPositionRow[Amount]]]: ...
    async def positions(
        self, symbol: str | Sequence[str] = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow[Amount]] | dict[str, Rows[SeenPositionRow[Amount]]]:
        """The observed positions of single accounts, from the last snapshot of a coin.

        Parameters and result are those of :meth:`liqdata.Client.positions`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def seen(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.positions("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(seen(server.url)).meta["seen_share"] is None
        True
        """
        return await self._source.ask_each(positions.positions(symbol, as_of=as_of))

    async def coverage(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[CoverageRow]:
        """How completely the orders of a window were recorded, per exchange.

        Parameters and result are those of :meth:`liqdata.Client.coverage`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def covered(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.coverage("1h")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(covered(server.url)).columns[0]
        'exchange'
        """
        return await self._source.ask(coverage.coverage(range, as_of=as_of))

    async def gaps(
        self, start: Bound | None = None, end: Bound | None = None, *, as_of: Instant | None = None
    ) -> Rows[GapRow]:
        """Intervals in which orders are known to be missing.

        Parameters and result are those of :meth:`liqdata.Client.gaps`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def missed(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.gaps()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(missed(server.url)))
        1
        """
        return await self._source.ask(coverage.gaps(start, end, as_of=as_of))

    async def undercount(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[UndercountRow[Amount]]:
        """USD that each exchange published, and an estimate of all it liquidated.

        Parameters and result are those of :meth:`liqdata.Client.undercount`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def estimated(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.undercount("1h")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     sorted({row["sampling"] for row in asyncio.run(estimated(server.url))})
        ['complete', 'latest_or_largest']
        """
        return await self._source.ask(undercount.undercount(range, as_of=as_of))

    @overload
    async def maps(
        self,
        symbol: str | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow]: ...
    @overload
    async def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[MapRow]]: ...
    async def maps(
        self,
        symbol: str | Sequence[str] | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow] | dict[str, Rows[MapRow]]:
        """The estimated maps that servers of an archive sent, unchanged.

        Parameters and result are those of :meth:`liqdata.Client.maps`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def kept(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.maps("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(kept(server.url)))
        0
        """
        return await self._source.ask_each(
            maps.maps(symbol, kind=kind, version=version, start=start, end=end, as_of=as_of)
        )

    async def aclose(self) -> None:
        """Refuse further calls, and close the connections when running calls have ended.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def once(url):
        ...     client = liqdata.AsyncClient(url)
        ...     try:
        ...         return len(await client.coins(limit=3))
        ...     finally:
        ...         await client.aclose()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(once(server.url))
        3
        """
        self._source.core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (
            type(self),
            self._source.options.portable(type(self).__name__),
        )

    def __repr__(self) -> str:
        return f"AsyncClient({self.base_url!r}{', closed' if self._source.core.closed else ''})"
