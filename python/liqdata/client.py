"""The blocking client of a service that speaks the contract."""

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
from .source.service import BlockingService
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from decimal import Decimal
    from typing import Unpack

    from .grids import Heatmap, LiquidationMap
    from .model import Model
    from .records import Record
    from .rows import Rows
    from .stream import CascadeStream, OrderStream
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
        UndercountRow,
        Window,
    )
    from .walk import OrderIterator

__all__ = ["Client"]


@public_methods
class Client(Generic[Amount]):
    """A blocking client of a service that speaks the contract.

    It works in notebooks (also beneath a running event loop), in threads and after a fork, and Ctrl-C interrupts it.
    Connections are reused; close the client, or use it in a ``with`` statement.

    Parameters
    ----------
    base_url : str, optional
        Address of the service, http or https, with or without a path prefix. Default: ``$LIQDATA_BASE_URL``.
    timeout : float
        Deadline of a call in seconds, including retries and the waits between them.
    connect_timeout : float
        Deadline of one attempt to connect, in seconds.
    retries : int
        Further attempts after the first. Only errors that may pass are retried.
    rate_limit : float, optional
        Maximum requests per second over all threads. Waiting does not count against ``timeout``.
    max_body : int
        Largest accepted reply in bytes, after decompression.
    decimals : {"decimal", "float", "text"}
        Type of decimal amounts in dict rows: exact :class:`~decimal.Decimal`, ``float``, or exact text.
    headers : mapping of str to str, optional
        Sent with every request; never shown in a repr, a log or an error.
    proxy : str, optional
        Address of a proxy, in place of the environment's. Loopback addresses are always contacted directly.
    token : str, optional
        Sent as ``Authorization: Bearer`` with every request; ``$LIQDATA_TOKEN`` by default. Never shown. A client with
        a token from the environment can be pickled; the other process reads its own.

    Raises
    ------
    BadQuery
        For an option outside its bounds; nothing is sent.

    Notes
    -----
    Methods that accept a sequence as ``symbol`` return a dict by upper-case symbol then, in the order given. The
    symbols are requested concurrently, eight at a time, duplicates once. The first error ends the rest; its notes name
    the symbol.

    Parameters and methods that need ``liqdata serve`` are extensions of our server: with a service that does not
    announce them they raise :class:`~liqdata.BadQuery`. A :class:`~liqdata.Market` has all of them.

    ``start=`` and ``end=`` take an instant (epoch milliseconds, a datetime or ISO 8601 text), or a time before the
    market's *now*: ``"-7d"``, ``"-90min"`` or a timedelta.

    Realised answers say how much of their period is covered, if the service says it: ``meta["covered"]``, 0 to 1. If
    nothing of it is, they warn with :class:`~liqdata.NotCovered`, because their zeros are unknown.

    Every method raises :class:`~liqdata.BadQuery` before anything is sent. Then it raises :class:`~liqdata.NoAnswer` if
    the service cannot be reached, after all retries; :class:`~liqdata.TooSlow` if the deadline passes;
    :class:`~liqdata.Refused` if the service replies with an error (``status`` and ``body`` hold it);
    :class:`~liqdata.UnexpectedReply` if the reply breaks the contract; and ``RuntimeError`` if the client is closed.

    Over https, certificates of the system's authorities are trusted, or those of the PEM file that ``$SSL_CERT_FILE``
    names when the client is made.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
    ...     client.coins("1h", limit=2).columns
    ['coin', 'long_usd', 'short_usd', 'total_usd', 'cnt']
    """

    @overload
    def __init__(
        self: Client[Decimal],
        base_url: str | None = None,
        *,
        decimals: Literal["decimal"] = "decimal",
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Client[float],
        base_url: str | None = None,
        *,
        decimals: Literal["float"],
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Client[str],
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
        self._source = BlockingService(
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

    def overview(self, *, as_of: Instant | None = None) -> Record:
        """Long, short and total USD and order counts of the last 1, 4, 12 and 24 hours.

        Parameters
        ----------
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Record
            A dict by window: ``long_usd``, ``short_usd``, ``total_usd`` (float, USD) and ``cnt`` (int). Keys are those
            of the service; ``["1d"]`` finds ``["24h"]``. A window that the service omits is absent.
            ``meta["covered_windows"]`` has the covered share of each window, if the service says it.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.overview())
        ['1h', '4h', '12h', '24h']
        """
        return self._source.ask(totals.overview(as_of=as_of))

    def coins(self, range: Window = "24h", limit: int = 30, *, as_of: Instant | None = None) -> Rows[CoinRow]:
        """Coins by liquidated USD within a window, largest first.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``.
        limit : int
            Maximum number of rows, 1 to 200.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (float, USD), ``cnt``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.coins(limit=5))
        5
        """
        return self._source.ask(totals.coins(range, limit, as_of=as_of))

    def exchanges(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[ExchangeRow[Amount]]:
        """Liquidated USD per exchange within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact decimals, USD, 28 digits), ``cnt``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     type(client.exchanges()[0]["total_usd"]).__name__
        'Decimal'
        """
        return self._source.ask(totals.exchanges(range, as_of=as_of))

    @overload
    def largest(
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
    def largest(
        self,
        range: Window = "24h",
        limit: int = 20,
        *,
        symbol: Sequence[str],
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OrderRow[Amount]]]: ...
    def largest(
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

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``.
        limit : int
            Maximum number of rows, 1 to 1000.
        symbol : str or sequence of str, optional
            Only this trading pair, or all pairs of a coin. Needs ``liqdata serve``.
        exchange : str, optional
            Only this exchange. Needs ``liqdata serve``.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD. Needs ``liqdata serve``.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms).

        Raises
        ------
        BadQuery
            For a wrong parameter, and for an extension that the service does not announce.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.largest("24h", limit=3)), {row["symbol"] for row in client.largest(symbol="ETH", limit=3)}
        (3, {'ETHUSDT'})
        """
        return self._source.ask_each(
            orders.largest(range, limit, symbol=symbol, exchange=exchange, min_usd=min_usd, as_of=as_of)
        )

    @overload
    def orders(
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
    def orders(
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
    def orders(
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

        Use :meth:`iter_orders` to read all of them.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Only this trading pair, such as ``BTCUSDT``, or all pairs of a coin, such as ``BTC``; in any spelling.
        exchange : str, optional
            Only this exchange, such as ``binance``.
        limit : int
            Maximum number of rows, 1 to 1000.
        offset : int
            ModelNumber of newest rows to skip.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD. Needs ``liqdata serve``.
        start, end : int, datetime, str or timedelta, optional
            Only orders from ``start`` until before ``end``, by event time and of any age; the last 24 hours if neither
            is given. Need ``liqdata serve``.
        groups : bool
            Add the column ``group_id``, which is equal for all fills of one liquidation. Needs ``liqdata serve``.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms); with ``groups`` also ``group_id``, ``None`` if the exchange publishes none.
            Frames also have the column ``coin``.

        Raises
        ------
        BadQuery
            For a wrong parameter, and for an extension that the service does not announce.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     {row["symbol"] for row in client.orders("BTCUSDT", limit=5)}
        {'BTCUSDT'}
        """
        return self._source.ask_each(
            orders.orders(
                symbol, exchange, limit, offset, min_usd=min_usd, start=start, end=end, groups=groups, as_of=as_of
            )
        )

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
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``hour`` (epoch ms), ``side``, ``total_usd`` (exact decimal, USD). A side without orders has no row.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.chart(["BTCUSDT", "ETHUSDT"]))
        ['BTCUSDT', 'ETHUSDT']
        """
        return self._source.ask_each(totals.chart(symbol, as_of=as_of))

    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        opened: Opened = "ever",
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Heatmap: ...
    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        opened: Opened = "ever",
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> Iterator[Heatmap]: ...
    @overload
    def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        opened: Opened = "ever",
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Heatmap]: ...
    @overload
    def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        opened: Opened = "ever",
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Iterator[Heatmap]]: ...
    def heatmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        opened: Opened = "ever",
        exchange: str | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Heatmap | Iterator[Heatmap] | dict[str, Heatmap] | dict[str, Iterator[Heatmap]]:
        """Estimated liquidations over price and time.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        range : {"12h", "24h", "3d", "7d", "1M"}
            Time that the columns cover; ``"1d"``, ``"1w"`` and ``"30d"`` are accepted too. With ``liqdata serve``
            also ``"3M"`` (90 days), ``"6M"``, ``"1y"`` and ``"all"``, as far as bars reach back.
        model : {2, 3} or Model
            2: USD of open interest exposed. 3: USD expected to be reported as liquidated. Or your own parameters.
        opened : {"ever", "range"}
            Which positions count: all that are open, or those that were opened within the range. With ``"ever"`` a
            column is what the map was at its end, and does not change later; the last one is ``liqmap(symbol,
            "all")``. With ``"range"`` the first columns are nearly empty, because nothing was opened yet. Needs
            ``liqdata serve``.
        exchange : str, optional
            Only open interest and orders of this exchange; bars and the relative volume are those of the coin. All
            exchanges by default. Needs ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Answer as of this instant, from what had been received by then; now by default. Several instants give an
            iterator of heatmaps in the same order, which requests a few at a time (:class:`AsyncClient`: an async
            iterator). Needs ``liqdata serve``.
        explain : bool
            Put what the estimate is based on into ``meta["explain"]``, and fill :attr:`~Heatmap.long`,
            :attr:`~Heatmap.short`, :attr:`~Heatmap.low` and :attr:`~Heatmap.high`. A :class:`Market` always does. Needs
            ``liqdata serve``.

        Returns
        -------
        Heatmap or dict of str to Heatmap
            ``matrix`` has shape (P, T), float64; ``prices`` (P,), float64; ``times`` (T,), datetime64[ms]. Columns end
            at multiples of their length, the last one at the last close; ``meta["partial"]`` says whether that one is
            shorter. Columns before the first reading of open interest are NaN.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     map = client.heatmap("BTC", "12h")
        >>> map.matrix.shape == (map.prices.size, map.times.size)
        True
        """
        return self._source.ask_lazily(
            heatmap.heatmap(symbol, range, model, opened=opened, exchange=exchange, as_of=as_of, explain=explain)
        )

    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> LiquidationMap: ...
    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[LiquidationMap]]: ...
    def liqmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        opened: Opened | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> LiquidationMap | list[LiquidationMap] | dict[str, LiquidationMap] | dict[str, list[LiquidationMap]]:
        """Estimated liquidations by price and leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        range : {"1d", "7d"}
            Positions opened in this time; ``meta["opened_since"]`` has its start. With ``liqdata serve`` all ranges of
            :meth:`heatmap`.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        bin : float, optional
            Price width of a bin, at most the current price and at most 100,000 bins. By default the step 1, 2 or 5
            times a power of ten that is nearest to 0.1 % of the price. Needs ``liqdata serve``.
        opened : {"ever", "range"}, optional
            As for :meth:`heatmap`. By default ``"ever"`` for the range ``"all"``, and ``"range"`` for the others.
        exchange : str, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        source : {"estimate", "positions"}, optional
            ``"positions"`` shows observed positions (:meth:`positions`) in place of an estimate: measured, but only a
            part of all positions. Leave out ``model``, and ``range`` or set it to ``"all"``: it is unknown when
            positions were opened. Needs ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Answer as of this instant, from what had been received by then; now by default. Several instants give a list
            of answers in the same order. Needs ``liqdata serve``.
        explain : bool
            Put what the estimate is based on into ``meta["explain"]``, and fill :attr:`~LiquidationMap.low`,
            :attr:`~LiquidationMap.high` and the fine grid that :meth:`~LiquidationMap.swept` uses. A :class:`Market`
            always does. Needs ``liqdata serve``.

        Returns
        -------
        LiquidationMap or dict of str to LiquidationMap
            ``tiers`` has shape (N, L), float64, USD; ``prices``, ``sides`` and ``total`` (N,); ``leverages`` (L,). With
            ``source="positions"`` ``meta`` has ``view`` (``"measured"``), ``seen_share`` (share of the open interest of
            both sides, ``None`` if unknown) and ``measured``: ``positions``, ``accounts``, ``observed_at`` (epoch ms),
            ``unplaced_usd`` (of positions that no price liquidates) and ``crossed_usd`` (of positions at a price that
            was passed since).

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.liqmap("BTC").leverages.tolist()
        [10, 25, 50, 100]
        """
        return self._source.ask_list(
            liqmap.liqmap(
                symbol,
                range,
                model=model,
                bin=bin,
                opened=opened,
                exchange=exchange,
                source=source,
                as_of=as_of,
                explain=explain,
            )
        )

    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Record: ...
    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Record]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Record]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Record]]: ...
    def levels(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Record | list[Record] | dict[str, Record] | dict[str, list[Record]]:
        """The strongest long and short cluster of each leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Answer as of this instant, from what had been received by then; now by default. Several instants give a list
            of answers in the same order. Needs ``liqdata serve``.
        explain : bool
            Put what the estimate is based on into ``meta["explain"]``. A :class:`Market` always does. Needs ``liqdata
            serve``.

        Returns
        -------
        Record or dict of str to Record
            A dict as on the wire: ``symbol``, ``price``, ``updatedAt`` (epoch ms) and ``tiers`` by leverage, each with
            ``longPrice``, ``longIntensity``, ``shortPrice``, ``shortIntensity`` (intensities 0 to 1).
            :func:`liqdata.frame` puts the answers about several symbols into one frame.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.levels("ETH")["tiers"])
        ['10', '25', '50', '100']
        """
        return self._source.ask_list(levels.levels(symbol, model=model, as_of=as_of, explain=explain))

    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Record: ...
    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Record]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Record]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Record]]: ...
    def maxpain(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Record | list[Record] | dict[str, Record] | dict[str, list[Record]]:
        """The strongest long and short cluster of a day and of a week.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Answer as of this instant, from what had been received by then; now by default. Several instants give a list
            of answers in the same order. Needs ``liqdata serve``.
        explain : bool
            Put what the estimate is based on into ``meta["explain"]``. A :class:`Market` always does. Needs ``liqdata
            serve``.

        Returns
        -------
        Record or dict of str to Record
            A dict as on the wire: ``symbol``, ``price``, ``updatedAt`` (epoch ms), ``d1`` and ``d7`` with ``long`` and
            ``short`` (``price``, ``usd``, signed ``distPct``), ``totalLong`` and ``totalShort`` (USD). ``["1d"]`` and
            ``["7d"]`` find ``["d1"]`` and ``["d7"]``. :func:`liqdata.frame` puts the answers about several symbols
            into one frame.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.maxpain("BTC")["d1"]["long"]["distPct"] < 0
        True
        """
        return self._source.ask_list(levels.maxpain(symbol, model=model, as_of=as_of, explain=explain))

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
    ) -> OrderIterator[Amount]:
        """Iterate over all orders, newest first, each exactly once.

        Orders that arrive meanwhile do not disturb the iteration. It yields what the feed holds (the last 24 hours),
        then older orders if the service announces them, as ``liqdata serve`` of an archive does. With any other service
        it ends there, and the iterator's :attr:`~liqdata.walk.OrderIterator.complete` is False.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        page_size : int
            Rows per request, 1 to 1000.
        max_rows : int, optional
            Stop after this many rows.
        progress : bool or callable
            Show a progress bar of the rows (needs tqdm; on a terminal or in a notebook), or call a function with the
            number of rows done and the total (``None`` if unknown).
        min_usd : float or Decimal, optional
            Only orders of at least this many USD. Needs ``liqdata serve``.
        start, end : int, datetime or str, optional
            Only orders from ``start`` until before ``end``, by event time. Need ``liqdata serve``.
        groups : bool
            Add the column ``group_id``, as in :meth:`orders`. Needs ``liqdata serve``.
        as_of : int, datetime or str, optional
            Only orders received by this instant. Needs ``liqdata serve``.

        Returns
        -------
        OrderIterator
            Yields dict rows as in :meth:`orders`. Its ``to_pandas()``, ``to_polars()`` and ``to_arrow()`` read the
            remaining rows as columns, without dicts. At the end ``complete`` says whether all rows were yielded, and
            ``meta`` why not.

        Raises
        ------
        BadQuery
            When the first row is read, for an extension that the service does not announce.
        UnexpectedReply
            If equal rows fill a whole page; if more than a thousand orders older than a day share one instant; if rows
            that were read change, disappear or move; if the feed moves faster than it can be read.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Notes
        -----
        Pages of the feed are joined by the rows that they share, because a feed may list late orders by arrival or by
        event time. Older orders are requested by time, each page from the oldest known instant; rows of that instant
        that were already yielded are skipped.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     sum(1 for row in client.iter_orders("BTCUSDT", max_rows=250, page_size=100))
        250
        """
        return orders.iter_orders(
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
    ) -> OrderStream[Amount]:
        """Iterate over new orders as they arrive, oldest first.

        The iterator waits for the next order and has no end. A broken or silent connection is replaced by a new one
        that continues after the last order. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD, 0 or more.
        last_event_id : str, optional
            Continue after this order: the ``last_event_id`` of an earlier stream. Starts now by default.

        Returns
        -------
        OrderStream
            Yields rows as in :meth:`orders`; ``last_event_id`` is the id of the last one. Use it in ``with``, or
            ``close()`` it.

        Raises
        ------
        NoAnswer
            If no connection succeeds within the client's retries; the next row continues after the last order.
        Refused
            With status 410 if the service no longer knows ``last_event_id``, so that orders are missing;
            :meth:`iter_orders` has them, and the stream continues after the gap.
        UnexpectedReply
            For an event that breaks the contract; it is skipped.
        BadQuery
            For a wrong parameter, and if the service announces no stream or not ``min_usd``.
        RuntimeError
            If the client is or gets closed.

        Examples
        --------
        >>> import liqdata
        >>> def watch(url, most):
        ...     with liqdata.Client(url) as client, client.stream_orders("BTCUSDT") as stream:
        ...         for row in stream:
        ...             if row["value_usd"] > most:
        ...                 return row, stream.last_event_id
        """
        return orders.stream_orders(self._source, symbol, exchange, min_usd=min_usd, last_event_id=last_event_id)

    def history(
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

        Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin (``BTC``), trading pair (``BTCUSDT``) or several, also separated by commas; everything by default.
        interval : str, timedelta or int
            Length of a period: whole minutes up to 366 days, such as ``"5m"``, ``"1h"``, ``"1d"``, ``"1M"`` (30 days),
            names of pandas such as ``"5min"``, ``"5T"`` and ``"1H"``, a timedelta, or milliseconds. Periods start at
            multiples of it since 1970, UTC.
        by : {"coin", "symbol", "exchange", "side"} or several
            Grouping columns, in this order; ``()`` for totals.
        start : int, datetime, str or timedelta, optional
            Only orders from this instant on, by event time; 24 hours before ``end`` by default. ``"-7d"`` and
            ``timedelta(days=7)`` are 7 days before the market's *now*.
        end : int, datetime, str or timedelta, optional
            Only orders before this instant; up to and including the market's *now* by default.
        exchange : str, optional
            Only orders of this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        sparse : bool
            Leave out periods without orders.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period, epoch ms), the columns of ``by``, ``long_usd``, ``short_usd``,
            ``total_usd`` (USD, exact to 28 digits), ``cnt``, ``largest_usd`` (largest order) and ``covered``: the share
            of the requested part of the period in which the exchange was recorded without a known gap (the mean over
            exchanges). A table of orders covers the time between its first and its last row. Sorted by time, coin,
            symbol, exchange and side. Each group with an order has a row for every period, totals also without one:
            zeros if part of the period was covered, else ``None`` (missing in frames). Orders that are known count even
            where nothing was covered. ``meta["covered"]`` is the share of the whole range, ``meta["data_from"]`` the
            instant from which on orders are known.

        Raises
        ------
        BadQuery
            For a wrong parameter, for several symbols that ``by`` does not separate, for more than two million rows
            (``sparse=True`` may help), and if the service has no history.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Notes
        -----
        An archive reads the requested days once, in parallel; memory holds only the sums.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.history("BTC", interval="4h", by="side").columns[:4]
        ['timestamp', 'side', 'long_usd', 'short_usd']
        """
        return self._source.ask(
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

    def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CascadeRow[Amount]]:
        """Events of liquidations that followed each other closely.

        Orders of one coin and side at most ``gap`` apart, on any exchange, form one event. It counts if they reach
        ``min_usd`` together. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin (``BTC``), trading pair (``BTCUSDT``; then only its orders count) or several, also separated by commas;
            everything by default.
        gap : str, timedelta or int
            Longest time between two orders of an event, by event time: ``"1ms"`` to ``"1d"``, or milliseconds from 1000
            on (fewer need the unit).
        min_usd : float or Decimal
            Only events of at least this many USD, 0 or more.
        start : int, datetime, str or timedelta, optional
            Only events that started at or after this instant; 24 hours before ``end`` by default.
        end : int, datetime, str or timedelta, optional
            Only events that started before this instant, followed to their end; up to and including *now* by default.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            Sorted by ``start``: ``start`` and ``end`` (event times of the first and last order, epoch ms), ``coin``,
            ``side``, ``usd`` (exact decimal), ``cnt`` (orders), ``exchanges`` (exchanges), ``largest_usd`` (exact
            decimal, the largest order), ``price_before`` (last bar close before the start), ``price_after`` (close of
            the bar that contains the end), ``change_1m``, ``change_5m``, ``change_1h`` (relative price change after
            ``price_after``) and ``percentile_7d`` (share of the coin's events of the 7 days before, finished by the
            start, with less USD). Values that bars do not give, or not yet, are ``None``.

        Raises
        ------
        BadQuery
            For a wrong parameter, for more than a million events, and if the service has no cascades.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Notes
        -----
        Prices are bar closes: with 5-minute bars ``price_before`` is up to five minutes older than the start,
        ``price_after`` up to five minutes newer than the end, and ``change_1m`` is ``None``. An event that ended no
        more than ``gap`` before *now* may still grow.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     rows = client.cascades("BTC", gap="5m", min_usd=1_000_000)
        >>> all(row["usd"] >= row["largest_usd"] and row["end"] >= row["start"] for row in rows)
        True
        """
        return self._source.ask(cascades.cascades(symbol, gap=gap, min_usd=min_usd, start=start, end=end, as_of=as_of))

    def stream_cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        last_event_id: str | None = None,
    ) -> CascadeStream[Amount]:
        """Iterate over cascades as they close.

        The iterator waits for the next cascade and has no end. It yields a cascade once, when the newest event time of
        all orders has passed its end by ``gap``. Its row is that of :meth:`cascades` at that instant, so later values
        such as the price changes are ``None``. A late order may change what :meth:`cascades` returns, but the cascade
        is not yielded again; orders more than two hours late have no effect here. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Only this coin, this trading pair (then only its orders count), or several.
        gap : str, timedelta or int
            Longest time between two orders of an event, as in :meth:`cascades`.
        min_usd : float or Decimal
            Only cascades of at least this many USD, 0 or more.
        last_event_id : str, optional
            Continue after this cascade: the ``last_event_id`` of an earlier stream with the same parameters. Starts now
            by default, including cascades that are under way.

        Returns
        -------
        CascadeStream
            Yields rows as in :meth:`cascades`; ``last_event_id`` is the id of the last one. Use it in ``with``, or
            ``close()`` it.

        Raises
        ------
        BadQuery
            For a wrong parameter, and if the service does not announce ``events`` of its stream.
        NoAnswer
            If no connection succeeds within the client's retries; the next row continues after the last cascade.
        Refused
            With status 410 if the service no longer knows ``last_event_id``, so that cascades are missing;
            :meth:`cascades` has them, and the stream continues after the gap.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> def watch(url):
        ...     with liqdata.Client(url) as client, client.stream_cascades("BTC", min_usd=1_000_000) as stream:
        ...         for row in stream:
        ...             print(row["side"], row["usd"], row["cnt"])
        """
        return cascades.stream_cascades(self._source, symbol, gap=gap, min_usd=min_usd, last_event_id=last_event_id)

    @overload
    def bars(
        self,
        symbol: str = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow]: ...
    @overload
    def bars(
        self,
        symbol: Sequence[str],
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[BarRow]]: ...
    def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow] | dict[str, Rows[BarRow]]:
        """The closed price bars of a coin.

        Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        start : int, datetime, str or timedelta, optional
            Only bars that opened at or after this instant.
        end : int, datetime, str or timedelta, optional
            Only bars that closed at or before this instant.
        interval : str, timedelta or int, optional
            Length of the bars in whole minutes: such as ``"15m"``, ``"4h"``, ``"1d"`` or ``"1M"`` (30 days), a
            timedelta, or milliseconds. Bars open at multiples of it since the epoch and are resampled from stored bars
            that divide it, from those present if some are missing. By default bars have their stored length: the
            shortest available at each time, without overlap.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``symbol``, ``timestamp`` (open, epoch ms), ``closes_at`` (when the bar is known, epoch ms), ``open``,
            ``high``, ``low``, ``close`` (float), ``volume`` (base units), ``interval`` (ms). Empty for a known coin
            without bars. An archive merges its exchanges: the price of the one observed longest, the volume of all.
            With ``interval``, ``meta["earlier"]`` describes the first earlier bar that cannot be resampled to it, if
            there is one: ``timestamp`` (datetime) and ``interval`` (ms).

        Raises
        ------
        BadQuery
            For an ``interval`` that is not whole minutes, an unknown coin, and if the service has no bars.
        Refused
            400 for an ``interval`` that no stored bar length divides.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> from datetime import timedelta
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        ...     len(client.bars("BTC", interval="1h", start=market.now - timedelta(days=1)))
        24
        """
        return self._source.ask_each(series.bars(symbol, start=start, end=end, interval=interval, as_of=as_of))

    @overload
    def open_interest(
        self,
        symbol: str = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow]: ...
    @overload
    def open_interest(
        self,
        symbol: Sequence[str],
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OpenInterestRow]]: ...
    def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow] | dict[str, Rows[OpenInterestRow]]:
        """The open-interest readings of a coin.

        Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        start : int, datetime, str or timedelta, optional
            Only readings at or after this instant.
        end : int, datetime, str or timedelta, optional
            Only readings before this instant.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            Sorted by time: ``symbol``, ``exchange`` (``None`` for a total), ``timestamp`` (epoch ms) and
            ``open_interest`` (base units, one side). Empty for a known coin without readings.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.open_interest("BTC").columns
        ['symbol', 'exchange', 'timestamp', 'open_interest']
        """
        return self._source.ask_each(series.open_interest(symbol, start=start, end=end, as_of=as_of))

    @overload
    def positions(self, symbol: str = "BTC", *, as_of: Instant | None = None) -> Rows[SeenPositionRow[Amount]]: ...
    @overload
    def positions(
        self, symbol: Sequence[str], *, as_of: Instant | None = None
    ) -> dict[str, Rows[SeenPositionRow[Amount]]]: ...
    def positions(
        self, symbol: str | Sequence[str] = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow[Amount]] | dict[str, Rows[SeenPositionRow[Amount]]]:
        """The observed positions of single accounts, from the last snapshot of a coin.

        Only exchanges that publish positions have any, and only the watched accounts are included: ``liqdata collect
        --positions`` watches the most active and largest of Hyperliquid. Nothing is estimated. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            Sorted by exchange and account: ``exchange``, ``account``, ``coin``, ``side``, ``qty`` (base units),
            ``entry_price``, ``leverage`` (float), ``margin_mode`` (``"cross"``, ``"isolated"``), ``liquidation_price``
            (``None`` if no price liquidates it), ``value_usd`` and ``observed_at`` (epoch ms). Unknown values are
            ``None``. Empty without a snapshot of the coin. ``meta`` has ``seen_share`` (share of the open interest of
            both sides, 0 to 1, ``None`` if unknown; a dict by exchange for several) and ``snapshot`` (when the snapshot
            was complete, UTC).

        Raises
        ------
        BadQuery
            For an unknown coin, and if the service has no positions.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.positions("BTC"))  # a simulation has no snapshots
        0
        """
        return self._source.ask_each(positions.positions(symbol, as_of=as_of))

    def coverage(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[CoverageRow]:
        """Coverage of the realised totals of a window, per exchange.

        Needs ``liqdata serve``.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``connected_share`` (0 to 1, ``None`` for tables), ``completeness`` (``complete``, ``sampled``
            or ``unknown``; totals of a sampled exchange are a lower bound), ``known_by`` (``documented`` by the
            exchange, ``verified`` by its own numbers, or ``unknown``), ``last_event`` (epoch ms or ``None``), ``gaps``
            and ``cnt``. Then the records of a collector, else ``None``: subscribed ``topics`` and ``topics_covered`` at
            the end of the window; orders ``recovered`` by backfill; per whole days, rows ``rejected`` as unreadable or
            out of range, orders ``unpriced``, ``quarantined`` (unit in doubt) and ``unjudged`` (no reference price to
            check the unit); sequence ``holes``, and ``numbered`` orders that were checked for holes; ``clock_ahead``
            (ms by which the collector's clock was ahead of the exchange's); ``compared_usd`` and ``exchange_usd``
            (stored USD, and the exchange's own total, of the same hours and contracts). Last, rows of the window that
            estimates leave out: ``open_interest_outliers``, and ``bar_outliers`` of the exchange that gives the price;
            ``None`` in ``meta["coverage"]`` of other answers. A topic without data reduces ``connected_share`` by its
            part of all topics.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.coverage("1h").columns[:3]
        ['exchange', 'connected_share', 'completeness']
        """
        return self._source.ask(coverage.coverage(range, as_of=as_of))

    def gaps(
        self, start: Bound | None = None, end: Bound | None = None, *, as_of: Instant | None = None
    ) -> Rows[GapRow]:
        """Intervals in which orders are known to be missing.

        Needs ``liqdata serve``; only archives record gaps.

        Parameters
        ----------
        start : int, datetime, str or timedelta, optional
            Only gaps that end after this instant.
        end : int, datetime, str or timedelta, optional
            Only gaps that start before this instant.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            Sorted by ``start``: ``exchange``, ``start`` and ``end`` (epoch ms), ``reason``, ``topic`` (``None`` for the
            whole exchange), ``state``, ``recovered_at`` (epoch ms), ``recovered`` (orders) and ``holds``. ``holds`` is
            ``None`` if orders may be missing, else the table that damage affects: ``"bars"``, ``"open_interest"``,
            ``"positions"`` or ``"maps"`` (with an empty ``exchange``). ``state`` is ``"open"`` until backfill ends,
            then ``"recovered"``, or ``"lost"`` if the exchange no longer serves that time. Gaps that one backfill
            covered share the number in ``recovered``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.gaps()
        Rows(0 × exchange, start, end, reason, topic, state, recovered_at, recovered, holds; simulated)
        """
        return self._source.ask(coverage.gaps(start, end, as_of=as_of))

    def undercount(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[UndercountRow[Amount]]:
        """USD that each exchange published, and an estimate of all it liquidated.

        Exchanges that publish at most one liquidation per symbol and second omit the rest. The loss is measured on
        exchanges that publish everything, thinned in the same way over the same window. Needs ``liqdata serve``.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            Sorted by name: ``exchange``, ``sampling`` (which liquidations it publishes), ``observed_usd`` (exact
            decimal), ``estimated_usd``, ``low_usd``, ``high_usd`` (float, USD; a 90 % interval) and ``method``. Without
            enough complete data, or if the exchange does not document its sampling, the estimate is ``None`` and the
            method starts with ``unknown``. If an exchange publishes everything, all amounts are equal.

        Raises
        ------
        BadQuery
            For a wrong parameter, and if the service has no such estimate.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Notes
        -----
        The estimate does not include orders missed while nothing was recorded (see :meth:`coverage`), and no total
        includes the estimate.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     {row["sampling"] for row in client.undercount("1h")}  # a simulation shows everything
        {'complete'}
        """
        return self._source.ask(undercount.undercount(range, as_of=as_of))

    @overload
    def maps(
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
    def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[MapRow]]: ...
    def maps(
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

        A server that runs with the collector (``liqdata serve DIR --collect``) stores every map that it computes. The
        same question with ``as_of`` computes it again from what was known then, for comparison. Needs ``liqdata
        serve``; only archives have any.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin, such as ``BTC``; all by default.
        kind : {"heatmap", "liqmap", "levels", "maxpain"}, optional
            Only answers of this endpoint.
        version : str or Model, optional
            Only maps of this model version (:attr:`Model.version`); ``"unknown"`` for maps without a stored version.
        start : int, datetime, str or timedelta, optional
            Only maps with a last bar that closed at or after this instant.
        end : int, datetime, str or timedelta, optional
            Only maps with a last bar that closed before this instant.
        as_of : int, datetime or str, optional
            Answer as of this instant, from what had been received by then; now by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            Sorted by time: ``kind``, ``symbol``, ``params`` (the other parameters, such as ``range=24h&model=2``),
            ``timestamp`` (close of the last bar, epoch ms), ``computed_at`` (epoch ms), ``reply`` (the JSON that was
            sent, as text), ``explain`` (what the estimate was based on, JSON as text) and ``version`` (``None`` if not
            stored). ``meta["versions"]`` lists all versions; :func:`liqdata.score` keeps them apart. A map that was
            recomputed for the same bar after late data has a row each time.

        Raises
        ------
        BadQuery
            For maps of more than 1 GiB (64 MiB over HTTP); ask for a shorter time range.
        LiqdataError
            If the call fails; :class:`Client` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.maps("BTC", kind="levels")
        Rows(0 × kind, symbol, params, timestamp, computed_at, reply, explain, version; simulated)
        """
        return self._source.ask_each(maps.maps(symbol, kind=kind, version=version, start=start, end=end, as_of=as_of))

    def close(self) -> None:
        """Refuse further calls; connections are closed when running calls have ended.

        Examples
        --------
        >>> import liqdata
        >>> client = liqdata.Client("http://127.0.0.1:8000")
        >>> client.close()
        >>> client.overview()
        Traceback (most recent call last):
        ...
        RuntimeError: client is closed
        """
        self._source.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (
            type(self),
            self._source.options.portable(type(self).__name__),
        )

    def __repr__(self) -> str:
        return f"Client({self.base_url!r}{', closed' if self._source.core.closed else ''})"
