"""The queries of clients and markets, each once: its signature, what it returns, and an example.

A method passes ``locals()``, which are its arguments. :mod:`liqdata.endpoints.requests` makes a request of them by the
table of endpoints, so a parameter stands only in the signature and in the docstring. ``tests/lint/faces.py`` writes the
overloads, which follow from the signature below them, and the classes of ``async_queries.py`` and
``recorded_queries.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from .calls.traceback import public_methods
from .endpoints.requests import heatmap, liqmap, record, rows
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta
    from decimal import Decimal

    from .live import Live
    from .model import Model
    from .results.heatmap import Heatmap
    from .results.map import LiquidationMap
    from .results.record import Record
    from .results.rows import Rows
    from .source.local import LocalSource
    from .source.service import BlockingService
    from .stream import CascadeStream, OrderStream
    from .types import (
        BarRow,
        Bound,
        CascadeRow,
        ChartRow,
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
        MapView,
        ModelNumber,
        Opened,
        OpenInterestRow,
        OrderRow,
        Progress,
        SeenPositionRow,
        Span,
        TotalsRange,
        UndercountRow,
        Window,
    )
    from .walk import OrderIterator

__all__ = ["Queries"]


@public_methods
class Queries(Generic[Amount]):
    """What :class:`~liqdata.Client` and :class:`~liqdata.Market` can be asked.

    Parameters and methods marked "Needs ``liqdata serve``" are extensions of the liqdata server. With another service,
    a client raises :class:`~liqdata.BadQuery` for them. A market has all of them.

    Examples
    --------
    >>> import liqdata
    >>> isinstance(liqdata.demo(), liqdata.queries.Queries)
    True
    """

    _source: BlockingService | LocalSource

    @overload
    def overview(
        self,
        *,
        range: TotalsRange | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Record: ...
    @overload
    def overview(
        self,
        *,
        range: TotalsRange | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Iterable[Instant],
    ) -> Sequence[Record]: ...
    def overview(
        self,
        *,
        range: TotalsRange | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instants | None = None,
    ) -> Record | Sequence[Record]:
        """Long, short and total USD and order counts of the last 1, 4, 12 and 24 hours, and of one more period.

        Parameters
        ----------
        range : {"3d", "7d", "1M", "3M", "6M", "1y"}, optional
            A longer range that ends now; the totals have its name as a further key. ``"1M"`` is 30 days, ``"3M"`` 90,
            ``"6M"`` 180 and ``"1y"`` 365. Needs ``liqdata serve``.
        start, end : int, datetime, str or timedelta, optional
            Instead of ``range``: the key ``"period"`` has the orders from ``start`` (inclusive) to ``end`` (exclusive).
            The end is *now*, included, by default, and the start 24 hours before the end. Need ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order. Needs ``liqdata serve``.

        Returns
        -------
        Record or sequence of Record
            A dict per window: ``long_usd``, ``short_usd``, ``total_usd`` (float, USD) and ``cnt`` (number of orders).
            Its keys are the window names in the reply; ``["1d"]`` also finds ``["24h"]``. A window that the service
            omits is absent. ``range`` adds a key of its name, and ``start`` and ``end`` add the key ``"period"``.
            ``meta["covered_windows"]`` has the covered share of each key, if the service sends it, and
            ``meta["covered"]`` that of the last.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> list(market.overview(range="7d"))
        ['1h', '4h', '12h', '24h', '7d']
        """
        return self._source.ask_at(record("overview", locals()))

    def coins(
        self,
        range: TotalsRange = "24h",
        limit: int = 30,
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CoinRow]:
        """Coins by liquidated USD within a window, largest first.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h", "3d", "7d", "1M", "3M", "6M", "1y"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``, ``"1w"`` is ``"7d"``, ``"1M"`` is 30 days, ``"3M"`` 90,
            ``"6M"`` 180 and ``"1y"`` 365. Windows longer than 24 hours need ``liqdata serve``.
        limit : int
            Maximum number of rows, 1 to 200.
        start, end : int, datetime, str or timedelta, optional
            Instead of ``range``: only orders from ``start`` (inclusive) to ``end`` (exclusive). The end is *now*,
            included, by default, and the start 24 hours before the end. A ``range`` other than the default is refused
            with them. Need ``liqdata serve``.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (float, USD), ``cnt``.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> [row["coin"] for row in market.coins("24h", limit=3)]
        ['SOL', 'BTC', 'ETH']
        """
        return self._source.ask(rows("coins", locals()))

    def exchanges(
        self,
        range: TotalsRange = "24h",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[ExchangeRow[Amount]]:
        """Liquidated USD per exchange within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h", "3d", "7d", "1M", "3M", "6M", "1y"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``, ``"1w"`` is ``"7d"``, ``"1M"`` is 30 days, ``"3M"`` 90,
            ``"6M"`` 180 and ``"1y"`` 365. Windows longer than 24 hours need ``liqdata serve``.
        start, end : int, datetime, str or timedelta, optional
            Instead of ``range``: only orders from ``start`` (inclusive) to ``end`` (exclusive). The end is *now*,
            included, by default, and the start 24 hours before the end. A ``range`` other than the default is refused
            with them. Need ``liqdata serve``.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact decimals, USD, 28 digits), ``cnt``.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.exchanges()[0]["exchange"], market.exchanges("1h", as_of="2026-05-31T12:00Z").columns[0]
        ('binance', 'exchange')
        """
        return self._source.ask(rows("exchanges", locals()))

    @overload
    def largest(
        self,
        range: TotalsRange = "24h",
        limit: int = 20,
        *,
        symbol: str | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]]: ...
    @overload
    def largest(
        self,
        range: TotalsRange = "24h",
        limit: int = 20,
        *,
        symbol: Sequence[str],
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OrderRow[Amount]]]: ...
    def largest(
        self,
        range: TotalsRange = "24h",
        limit: int = 20,
        *,
        symbol: str | Sequence[str] | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]] | dict[str, Rows[OrderRow[Amount]]]:
        """The largest liquidation orders within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h", "3d", "7d", "1M", "3M", "6M", "1y"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``, ``"1w"`` is ``"7d"``, ``"1M"`` is 30 days, ``"3M"`` 90,
            ``"6M"`` 180 and ``"1y"`` 365. Windows longer than 24 hours need ``liqdata serve``.
        limit : int
            Maximum number of rows, 1 to 1000.
        symbol : str or sequence of str, optional
            Only this trading pair, or all pairs of a coin. Needs ``liqdata serve``.
        exchange : str, optional
            Only this exchange. Needs ``liqdata serve``.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD. Needs ``liqdata serve``.
        start, end : int, datetime, str or timedelta, optional
            Instead of ``range``: only orders from ``start`` (inclusive) to ``end`` (exclusive). The end is *now*,
            included, by default, and the start 24 hours before the end. A ``range`` other than the default is refused
            with them. Need ``liqdata serve``.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms).

        Raises
        ------
        BadQuery
            For a wrong parameter, and for a parameter that needs ``liqdata serve`` if the service does not announce it.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.largest(limit=1)[0]["symbol"]
        'ETHUSDT'
        """
        return self._source.ask_each(rows("largest", locals()))

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
            Number of newest rows to skip.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD. Needs ``liqdata serve``.
        start, end : int, datetime, str or timedelta, optional
            Only orders with an event time from ``start`` (inclusive) to ``end`` (exclusive), of any age. The last 24
            hours if neither is given. Need ``liqdata serve``.
        groups : bool
            Add the column ``group_id``, which is equal for all fills of one liquidation. Needs ``liqdata serve``.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms); with ``groups`` also ``group_id``, which is ``None`` if the exchange publishes
            no such id. Frames made from the rows also have the column ``coin``.

        Raises
        ------
        BadQuery
            For a wrong parameter, and for a parameter that needs ``liqdata serve`` if the service does not announce it.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> len(market.orders("BTC", limit=5)), len(market.orders("BTC", start="-2h"))
        (5, 3)
        """
        return self._source.ask_each(rows("orders", locals()))

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
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``hour`` (epoch ms), ``side``, ``total_usd`` (exact decimal, USD). A side without orders has no row.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.chart("BTC").columns
        ['hour', 'side', 'total_usd']
        """
        return self._source.ask_each(rows("chart", locals()))

    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
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
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
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
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
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
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Iterator[Heatmap]]: ...
    def heatmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: HeatmapRange = "24h",
        model: ModelNumber | Model = 2,
        *,
        span: Span | tuple[float, float] = "reach",
        opened: Opened = "ever",
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
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
            2: USD of open interest that a price move would liquidate. 3: USD of it that exchanges are expected to
            report. A :class:`Model` sets your own parameters.
        span : {"reach", "all"} or tuple of float
            Prices to show. ``"reach"``: from the lowest to the highest price of the range, and four standard deviations
            of its moves around the current price. ``"all"``: all prices; this is also shown for ``"3M"`` and longer,
            and with less than a day of bars. Or a lowest and a highest price. :attr:`~Heatmap.outside` has the sums of
            what is not shown. Needs ``liqdata serve``.
        opened : {"ever", "range"}
            Which positions count: all that are open, or those that were opened within the range. With ``"ever"`` a
            column is what the map was at its end, and does not change later; the last one is ``liqmap(symbol,
            "all")``. With ``"range"`` the first columns are nearly empty, because nothing was opened yet. Needs
            ``liqdata serve``.
        view : {"modelled", "blended"}
            ``"blended"``: where positions of accounts are known (:meth:`positions`), they stand at their own
            liquidation prices, and the model spreads the rest of the open interest. Each column has the positions known
            at its end. :attr:`~Heatmap.exact_share` has their share of each row of the last column,
            ``meta["exact_share"]`` that of the whole last column, and ``meta["measured_exchanges"]`` the exchanges with
            known positions. Without known positions, and without open interest, it is the modelled heatmap. Needs
            ``liqdata serve``.
        exchange : str, optional
            Use only open interest and orders of this exchange; bars and relative volume cover all exchanges of the
            coin. All exchanges by default. Needs ``liqdata serve``.
        source : str, optional
            ``"estimate"``, which is the default, or the name of a recorded source, such as ``"coinglass"``
            (:func:`liqdata.record`): its newest map of this coin and range as it was served, or with ``as_of`` the
            newest one at that instant. ``meta["recording"]`` and ``meta["recorded_at"]`` have the name and the instant
            of the recording. It cannot be combined with ``span``, ``opened``, ``view`` or a :class:`Model`. Needs
            ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            an iterator of heatmaps in the same order, which requests or computes a few heatmaps at a time (an async
            iterator with :class:`AsyncClient`). Needs ``liqdata serve``.
        explain : bool
            Describe the inputs of the estimate in ``meta["explain"]``, and fill :attr:`~Heatmap.long`,
            :attr:`~Heatmap.short`, :attr:`~Heatmap.low` and :attr:`~Heatmap.high`. A :class:`Market` always does. Needs
            ``liqdata serve``.

        Returns
        -------
        Heatmap or dict of str to Heatmap
            ``matrix`` (float64) has shape (P, T), ``prices`` (float64) shape (P,) and ``times`` (datetime64[ms]) shape
            (T,).
            Columns end at multiples of their length, the last one at the last close; ``meta["partial"]`` says whether
            the last one is shorter. Columns before the first reading of open interest are NaN.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        With the range ``"all"`` on tables or a simulation, the ledger (the estimated open positions, bar by bar) is
        replayed only once for the few instants that an iterator computes at a time.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> map = market.heatmap("BTC", "12h")
        >>> map.matrix.shape == (map.prices.size, map.times.size)
        True
        """
        return self._source.ask_lazily(heatmap(locals()))

    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        view: MapView = "modelled",
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
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> Sequence[LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        view: MapView = "modelled",
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
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Sequence[LiquidationMap]]: ...
    def liqmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: MapRange = "1d",
        *,
        model: ModelNumber | Model | None = None,
        bin: float | None = None,
        span: Span | tuple[float, float] = "reach",
        opened: Opened | None = None,
        view: MapView = "modelled",
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> LiquidationMap | Sequence[LiquidationMap] | dict[str, LiquidationMap] | dict[str, Sequence[LiquidationMap]]:
        """Estimated liquidations by price and leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        range : {"1d", "7d"}
            Time before *now* in which the included positions were opened; ``meta["opened_since"]`` is its start. With
            ``liqdata serve`` also the other ranges of :meth:`heatmap`.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        bin : float, optional
            Price width of a bin. It must not exceed the current price or lead to more than 100,000 bins. By default 1,
            2 or 5 times a power of ten, whichever is nearest to 0.1 % of the price. Needs ``liqdata serve``.
        span : {"reach", "all"} or tuple of float
            As for :meth:`heatmap`; :attr:`~LiquidationMap.outside` has the sums of what is not shown.
        opened : {"ever", "range"}, optional
            As for :meth:`heatmap`. By default ``"ever"`` for the range ``"all"``, and ``"range"`` for the others.
        view : {"modelled", "blended"}
            As for :meth:`heatmap`. A blended map counts all open positions (``opened="ever"``), and exposed open
            interest unless ``model`` is given. :attr:`~LiquidationMap.exact_share` has the share of known positions in
            each bin, ``meta["exact_share"]`` that in the whole map, and ``meta["exact_within"]`` that up to 1, 2, 5 and
            10 percent from the price. Needs ``liqdata serve``.
        exchange : str, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        source : {"estimate", "positions"} or str, optional
            ``"positions"`` returns observed positions (:meth:`positions`) instead of an estimate: measured, but only a
            part of all positions. It cannot be combined with ``model``, nor with a ``range`` other than ``"all"``,
            because it is unknown when the positions were opened. The name of a recorded source as for :meth:`heatmap`.
            Needs ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order; a long one is computed while it is read. Needs ``liqdata serve``.
        explain : bool
            Describe the inputs of the estimate in ``meta["explain"]``, and fill :attr:`~LiquidationMap.low`,
            :attr:`~LiquidationMap.high` and the fine grid that :meth:`~LiquidationMap.swept` uses. A :class:`Market`
            always does. Needs ``liqdata serve``.

        Returns
        -------
        LiquidationMap or dict of str to LiquidationMap
            ``tiers`` (float64, USD) has shape (N, L); ``prices``, ``sides`` and ``total`` have shape (N,);
            ``leverages`` has shape (L,). With ``source="positions"`` ``meta`` has ``view`` (``"measured"``),
            ``seen_share`` (observed share of the open interest of longs and shorts, ``None`` if unknown) and
            ``measured``: the number of ``positions`` and of ``accounts``, ``observed_at`` (epoch ms), ``unplaced_usd``
            (USD of positions that no price liquidates) and ``crossed_usd`` (USD of positions with a liquidation price
            that the market has passed since the observation).

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        With the range ``"all"`` on tables or a simulation, several instants need only one replay of the ledger (the
        estimated open positions, bar by bar).

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> map = market.liqmap("BTC", "7d")
        >>> map.swept(low=0.95 * map.current_price)["long_usd"] > 0
        True
        """
        return self._source.ask_list(liqmap(locals()))

    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Record: ...
    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> Sequence[Record]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Record]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Sequence[Record]]: ...
    def levels(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        exchange: str | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Record | Sequence[Record] | dict[str, Record] | dict[str, Sequence[Record]]:
        """The price levels with the most estimated liquidations, per leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        headline : {"reach", "strongest"}
            How a price is chosen. ``"reach"``: the most USD near the price, times the chance that the market gets
            there. ``"strongest"``: the bin with the most USD at any distance. With less than a day of bars, the
            strongest is used. ``meta["explain"]["headline"]`` says which, and ``meta["explain"]["reach"]`` has the
            chance of each price. Needs ``liqdata serve``.
        exchange : str, optional
            The levels of this exchange alone, as for :meth:`liqmap`; by default of all exchanges together. Needs
            ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order; a long one is computed while it is read. Needs ``liqdata serve``.
        explain : bool
            Describe the inputs of the estimate in ``meta["explain"]``. A :class:`Market` always does. Needs ``liqdata
            serve``.

        Returns
        -------
        Record or dict of str to Record
            The keys of the JSON reply: ``symbol``, ``price``, ``updatedAt`` (epoch ms) and ``tiers``, a dict with the
            leverage as key. A tier has ``longPrice``, ``longIntensity``, ``shortPrice`` and ``shortIntensity``: the
            headline price of each side, and its intensity: USD times reach, relative to the largest of all tiers.
            The attributes ``units`` and ``simulated`` say what the amounts are.
            :func:`liqdata.frame` puts the answers about several symbols into one frame.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> list(market.levels("ETH")["tiers"])
        ['10', '25', '50', '100']
        """
        return self._source.ask_list(record("levels", locals()))

    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Record: ...
    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> Sequence[Record]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Record]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Sequence[Record]]: ...
    def maxpain(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: ModelNumber | Model | None = None,
        headline: Headline = "reach",
        source: MapSource | None = None,
        exchange: str | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Record | Sequence[Record] | dict[str, Record] | dict[str, Sequence[Record]]:
        """The price levels with the most estimated liquidations over a day and a week.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`. Needs ``liqdata serve``.
        headline : {"reach", "strongest"}
            How a price is chosen. ``"reach"``: the most USD near the price, times the chance that the market gets
            there. ``"strongest"``: the bin with the most USD at any distance. With less than a day of bars, the
            strongest is used. ``meta["explain"]["headline"]`` says which, and ``meta["explain"]["reach"]`` has the
            chance of each price. Needs ``liqdata serve``.
        source : str, optional
            As for :meth:`heatmap`, without ``model`` and ``headline``. Needs ``liqdata serve``.
        exchange : str, optional
            The max pain of this exchange alone, as for :meth:`liqmap`; by default of all exchanges together. Needs
            ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order; a long one is computed while it is read. Needs ``liqdata serve``.
        explain : bool
            Describe the inputs of the estimate in ``meta["explain"]``. A :class:`Market` always does. Needs ``liqdata
            serve``.

        Returns
        -------
        Record or dict of str to Record
            The keys of the JSON reply: ``symbol``, ``price``, ``updatedAt`` (epoch ms), ``d1`` (a day) and ``d7`` (a
            week). ``d1`` and ``d7`` have ``long`` and ``short``, the headline of each side (``price``, ``usd`` near
            it, and ``distPct``, its signed distance from the price in percent), and ``totalLong`` and ``totalShort``
            (USD of the bins that :meth:`liqmap` of this range shows). The attribute ``within`` has USD by side up to 1,
            2, 5 and 10 % from the price; compare the sides by it, because the totals lean to shorts. ``units`` and
            ``simulated`` say what the amounts are.
            ``["1d"]`` and ``["7d"]`` also find ``["d1"]`` and ``["d7"]``.
            :func:`liqdata.frame` puts the answers about several symbols into one frame.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> answers = market.maxpain("BTC", as_of=["2026-05-30", "2026-05-31"])
        >>> [answer["d1"]["short"]["distPct"] > 0 for answer in answers]
        [True, True]
        """
        return self._source.ask_list(record("maxpain", locals()))

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
        oldest_first: bool = False,
        as_of: Instant | None = None,
    ) -> OrderIterator[Amount]:
        """Iterate over all orders, newest first by default, each exactly once.

        Orders that arrive during the iteration do not disturb it. It yields the orders of the feed (the last 24 hours),
        then older orders if the service announces them, as ``liqdata serve`` of an archive does. With any other service
        it ends with the feed, and :attr:`~liqdata.walk.OrderIterator.complete` is False. A market yields its whole
        history. It reads an archive one day at a time, so the history may be larger than memory.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        page_size : int
            Rows per request, 1 to 1000; without effect on a market.
        max_rows : int, optional
            Stop after this many rows.
        progress : bool or callable
            Show a progress bar of the rows (needs tqdm; on a terminal or in a notebook), or call a function with the
            number of rows done and the total (``None`` if unknown).
        min_usd : float or Decimal, optional
            Only orders of at least this many USD. Needs ``liqdata serve``.
        start, end : int, datetime or str, optional
            Only orders with an event time from ``start`` (inclusive) to ``end`` (exclusive). Need ``liqdata serve``.
        groups : bool
            Add the column ``group_id``, as in :meth:`orders`. Needs ``liqdata serve``.
        oldest_first : bool
            Begin with the oldest order. A market of tables then reads all orders first, an archive one day at a time.
            A client refuses it: a service gives its newest orders first.
        as_of : int, datetime or str, optional
            Only orders received by this instant. Needs ``liqdata serve``.

        Returns
        -------
        OrderIterator
            Yields dict rows as in :meth:`orders`. Its ``to_pandas()``, ``to_polars()`` and ``to_arrow()`` read the
            remaining rows as columns, without dicts. After the last row ``complete`` says whether all rows were
            yielded, and ``meta["why"]`` says why rows are missing.

        Raises
        ------
        BadQuery
            On reading the first row, for a parameter that needs ``liqdata serve`` if the service does not announce it.
        UnexpectedReply
            If a whole page consists of equal rows; if more than a thousand orders older than a day have the same event
            time; if rows that were already read change, disappear or move; if new orders arrive faster than pages can
            be read.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        A feed may sort late orders by arrival or by event time, so successive pages overlap and are joined at the rows
        that both contain. Orders older than the feed are requested by event time: each page starts at the oldest event
        time read so far, and rows of that time that were already yielded are skipped.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> len([row for row in market.iter_orders("BTCUSDT", max_rows=250)])
        250
        """
        return self._source.iter_orders(locals())

    def stream_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        min_usd: float | Decimal | None = None,
        last_event_id: str | None = None,
    ) -> OrderStream[Amount]:
        """Iterate over new orders as they arrive, oldest first.

        The iterator waits for the next order and never ends. A broken or silent connection is replaced by a new one
        that continues after the last received order. Tables, and a simulation that is not live, receive no new orders:
        their stream ends after the last order. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD, 0 or more.
        last_event_id : str, optional
            Continue after the order with this id: the ``last_event_id`` of an earlier stream. By default the stream
            starts with the next new order.

        Returns
        -------
        OrderStream
            Yields rows as in :meth:`orders`; its ``last_event_id`` is the id of the last yielded row. Use the stream in
            a ``with`` statement, or ``close()`` it.

        Raises
        ------
        NoAnswer
            If no connection succeeds within the client's retries. Further iteration continues after the last order.
        Refused
            With status 410 if the service no longer stores ``last_event_id``, so that orders are missing from the
            stream. :meth:`iter_orders` returns these orders, and the stream continues after them.
        UnexpectedReply
            For a stream event that breaks the contract. Further iteration skips this event.
        BadQuery
            For a wrong parameter, and if the service does not announce streams, or ``min_usd`` for them.
        WrongState
            If the client or market is closed before or during the iteration.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.demo(live=True, speed=3600) as market, market.stream_orders("BTC") as stream:
        ...     next(stream)["symbol"].startswith("BTC")
        True
        """
        return self._source.stream_orders(locals())

    @overload
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
    ) -> Rows[HistoryRow[Amount]]: ...
    @overload
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
        as_of: Iterable[Instant],
    ) -> Sequence[Rows[HistoryRow[Amount]]]: ...
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
        as_of: Instants | None = None,
    ) -> Rows[HistoryRow[Amount]] | Sequence[Rows[HistoryRow[Amount]]]:
        """Liquidated USD per period and group.

        Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin (``BTC``), trading pair (``BTCUSDT``) or several of them, as a sequence or separated by commas. All
            coins by default.
        interval : str, timedelta or int
            Length of a period: whole minutes up to 366 days, such as ``"5m"``, ``"1h"``, ``"1d"``, ``"1w"``,
            ``"1M"`` (a calendar month), names of pandas such as ``"5min"``, ``"5T"`` and ``"1H"``, a timedelta, or
            milliseconds. Whole weeks start on Mondays, other lengths at their multiples since 1970-01-01 UTC.
        by : {"coin", "symbol", "exchange", "side"} or several
            Grouping columns, in this order; ``()`` for one total per period.
        start : int, datetime, str or timedelta, optional
            Only orders with an event time at or after this instant; 24 hours before ``end`` by default. ``"-7d"`` and
            ``timedelta(days=7)`` are 7 days before the market's *now*.
        end : int, datetime, str or timedelta, optional
            Only orders with an event time before this instant. By default orders up to and including the market's
            *now*.
        exchange : str, optional
            Only orders of this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        sparse : bool
            Leave out periods without orders.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period, epoch ms), the columns of ``by``, ``long_usd``, ``short_usd``,
            ``total_usd`` (USD, exact to 28 digits), ``cnt`` (orders), ``largest_usd`` (USD of the largest order) and
            ``covered``: the share of the period, within ``start`` and ``end``, in which the exchange was recorded
            without a known gap (the mean over exchanges). A table of orders covers the time between its first and its
            last row. Sorted by time, coin, symbol, exchange and side. Each group with an order has a row for every
            period; totals have all periods even without an order, and so have the coins that ``symbol`` names in rows
            by coin alone. Amounts of a period without orders are zero if part of it was covered, else ``None``
            (missing in frames). Known orders count even where nothing was covered.
            ``meta["covered"]`` is the covered share of the whole range, ``meta["data_from"]`` the instant from which
            orders are known. Without ``start``, ``meta["range"]`` has the start and end of the 24 hours that were
            taken.

        Raises
        ------
        BadQuery
            For a wrong parameter, for several symbols without ``"coin"`` or ``"symbol"`` in ``by``, for more than two
            million rows (``sparse=True`` may help), and if the service does not offer this method.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        An archive reads each requested day once, several days in parallel; only the sums stay in memory.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.history("BTC", interval="4h", by="side").columns[:4]
        ['timestamp', 'side', 'long_usd', 'short_usd']
        """
        return self._source.ask_at(rows("history", locals()))

    @overload
    def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100000,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CascadeRow[Amount]]: ...
    @overload
    def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100000,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Iterable[Instant],
    ) -> Sequence[Rows[CascadeRow[Amount]]]: ...
    def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instants | None = None,
    ) -> Rows[CascadeRow[Amount]] | Sequence[Rows[CascadeRow[Amount]]]:
        """Cascades: liquidations in quick succession.

        Successive orders of one coin and side that are at most ``gap`` apart, on any exchange, form one cascade. Only
        cascades of at least ``min_usd`` in total are returned. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin (``BTC``), trading pair (``BTCUSDT``; then only orders of this pair count) or several of them, as a
            sequence or separated by commas. All coins by default.
        gap : str, timedelta or int
            Maximum time between two successive orders of a cascade, by event time: ``"1ms"`` to ``"1d"``, or a number
            of milliseconds, at least 1000 (write a shorter gap as text with a unit).
        min_usd : float or Decimal
            Only cascades of at least this many USD, 0 or more.
        start : int, datetime, str or timedelta, optional
            Only cascades that started at or after this instant; 24 hours before ``end`` by default.
        end : int, datetime, str or timedelta, optional
            Only cascades that started before this instant; their orders after it are included. By default cascades that
            started up to and including *now*.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            Sorted by ``start``: ``start`` and ``end`` (event times of the first and last order, epoch ms), ``coin``,
            ``side``, ``usd`` (exact decimal), ``cnt`` (number of orders), ``exchanges`` (number of exchanges),
            ``largest_usd`` (exact decimal, the largest order), ``price_before`` (last bar close before the start),
            ``price_after`` (close of the bar that contains the end), ``change_1m``, ``change_5m``, ``change_1h``
            (relative price change from ``price_after`` to 1 minute, 5 minutes and 1 hour later) and ``percentile_7d``
            (share of the coin's cascades of the 7 days before, ended by the start of this one, that had less USD).
            Values for which bars are missing, or have not closed yet, are ``None``.

        Raises
        ------
        BadQuery
            For a wrong parameter, for more than a million cascades, and if the service does not offer this method.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        Prices are bar closes. With 5-minute bars ``price_before`` is up to five minutes older than the start,
        ``price_after`` is up to five minutes newer than the end, and ``change_1m`` is ``None``. A cascade with its last
        order at most ``gap`` before *now* may still grow.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> events = market.cascades("BTC", gap="5m", min_usd=1_000_000)
        >>> len(events), all(event["usd"] >= event["largest_usd"] for event in events)
        (17, True)
        """
        return self._source.ask_at(rows("cascades", locals()))

    def stream_cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        last_event_id: str | None = None,
    ) -> CascadeStream[Amount]:
        """Iterate over cascades as they end.

        The iterator waits for the next cascade and never ends. It yields a cascade once: as soon as any order has an
        event time more than ``gap`` after the last order of the cascade. The row is what :meth:`cascades` returns at
        that instant, so values about later prices, such as the price changes, are ``None``. An order that arrives late
        may change what :meth:`cascades` returns, but the cascade is not yielded again. The stream ignores orders that
        arrive more than two hours late. The stream of tables, or of a simulation that is not live, ends without a row.
        Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Only this coin or trading pair (of a pair only its own orders count), or several of them.
        gap : str, timedelta or int
            Maximum time between two successive orders of a cascade, as in :meth:`cascades`.
        min_usd : float or Decimal
            Only cascades of at least this many USD, 0 or more.
        last_event_id : str, optional
            Continue after the cascade with this id: the ``last_event_id`` of an earlier stream with the same
            parameters. By default the stream starts now and includes cascades that have begun but not ended.

        Returns
        -------
        CascadeStream
            Yields rows as in :meth:`cascades`; its ``last_event_id`` is the id of the last yielded row. Use the stream
            in a ``with`` statement, or ``close()`` it.

        Raises
        ------
        BadQuery
            For a wrong parameter, and if the service does not announce a stream of cascades (``events``).
        NoAnswer
            If no connection succeeds within the client's retries. Further iteration continues after the last cascade.
        Refused
            With status 410 if the service no longer stores ``last_event_id``, so that cascades are missing from the
            stream. :meth:`cascades` returns these cascades, and the stream continues after them.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.demo(live=True, speed=36_000) as market, market.stream_cascades(min_usd=0) as stream:
        ...     next(stream)["cnt"] > 0
        True
        """
        return self._source.stream_cascades(locals())

    @overload
    def bars(
        self,
        symbol: str = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        running: bool = False,
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
        running: bool = False,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[BarRow]]: ...
    def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        interval: str | timedelta | int | None = None,
        running: bool = False,
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
            Length of the bars in whole minutes: such as ``"15m"``, ``"4h"``, ``"1d"`` or ``"1w"``, ``"1M"`` for
            calendar months, a timedelta, or milliseconds. Bars open as the periods of :meth:`history`. They are
            resampled from stored bars with a length that divides ``interval``; missing stored bars are left out. By
            default bars have their stored length: the shortest available one at each time, without overlap.
        running : bool
            Add the bar of the period that has not ended, if ``interval`` is given and ``end`` is not before *now*. It
            is made of the newest stored bars: its ``closes_at`` is the close of the last of them, which is before the
            end of its period, ``timestamp + interval``. Needs ``liqdata serve``.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``symbol``, ``timestamp`` (open, epoch ms), ``closes_at`` (when the bar closes and becomes visible, epoch
            ms), ``open``, ``high``, ``low``, ``close`` (float), ``volume`` (base units), ``interval`` (ms). Empty for a
            known coin without bars. An archive merges its exchanges: the price is that of the exchange observed
            longest, the volume is the sum of all. With ``interval``, ``meta["earlier"]`` describes the first stored bar
            before the returned ones that cannot be resampled to ``interval``, if there is one: its ``timestamp``
            (datetime) and ``interval`` (ms).

        Raises
        ------
        BadQuery
            For an ``interval`` that is not a whole number of minutes, for an unknown coin, and if the service does
            not offer this method.
        Refused
            With status 400 if no stored bar length divides ``interval``.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> len(market.bars("BTC", interval="1d")), len(market.bars("BTC", start="2026-05-31", interval="1h"))
        (30, 24)
        """
        return self._source.ask_each(rows("bars", locals()))

    @overload
    def open_interest(
        self, symbol: str = "BTC", *, start: Bound | None = None, end: Bound | None = None, as_of: Instant | None = None
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
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            Sorted by time: ``symbol``, ``exchange`` (``None`` for a total over exchanges), ``timestamp`` (epoch ms) and
            ``open_interest`` (base units; longs only, which equal the shorts). Empty for a known coin without readings.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> bool(market.open_interest("BTC", start="2026-05-31")["open_interest"].min() > 0)
        True
        """
        return self._source.ask_each(rows("open_interest", locals()))

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

        Only exchanges that publish positions are included, and of these only the watched accounts: ``liqdata collect
        --positions`` watches the most active and largest accounts of Hyperliquid. Nothing is estimated. Only archives
        have snapshots; :meth:`Market.true_positions` has the positions of a simulation. Needs ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            Sorted by exchange and account: ``exchange``, ``account``, ``coin``, ``side``, ``qty`` (base units),
            ``entry_price``, ``leverage`` (float), ``margin_mode`` (``"cross"``, ``"isolated"``), ``liquidation_price``
            (``None`` if no price liquidates the position), ``value_usd`` and ``observed_at`` (epoch ms). Unknown values
            are ``None``. Empty without a snapshot of the coin. ``meta`` has ``seen_share`` (observed share of the open
            interest of longs and shorts, 0 to 1, ``None`` if unknown; for several exchanges a dict with the exchange as
            key) and ``snapshot`` (when the snapshot was complete, UTC).

        Raises
        ------
        BadQuery
            For an unknown coin, and if the service does not offer this method.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.positions("BTC").columns[:3]  # a simulation has no snapshots
        ['exchange', 'account', 'coin']
        """
        return self._source.ask_each(rows("positions", locals()))

    @overload
    def coverage(
        self,
        range: TotalsRange = "24h",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CoverageRow]: ...
    @overload
    def coverage(
        self,
        range: TotalsRange = "24h",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Iterable[Instant],
    ) -> Sequence[Rows[CoverageRow]]: ...
    def coverage(
        self,
        range: TotalsRange = "24h",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        as_of: Instants | None = None,
    ) -> Rows[CoverageRow] | Sequence[Rows[CoverageRow]]:
        """How completely the orders of a window were recorded, per exchange.

        Needs ``liqdata serve``.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h", "3d", "7d", "1M", "3M", "6M", "1y"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``, ``"1w"`` is ``"7d"``, ``"1M"`` is 30 days, ``"3M"`` 90,
            ``"6M"`` 180 and ``"1y"`` 365.
        start, end : int, datetime, str or timedelta, optional
            Instead of ``range``: the coverage from ``start`` to ``end``. The end is *now* by default, and the start 24
            hours before the end. A ``range`` other than the default is refused with them.
        as_of : int, datetime or str, or several of them, optional
            Compute as of this instant, from data received by then; *now* by default. Several instants return
            a sequence of answers in the same order. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``connected_share`` (share of the window with a connection and without a known gap, 0 to 1;
            ``None`` for tables), ``completeness`` (``complete``, ``sampled`` or ``unknown``: whether the exchange
            publishes every liquidation; totals of a sampled exchange are a lower bound), ``known_by`` (evidence for the
            completeness: ``documented`` by the exchange, ``verified`` by its sequence numbers, or ``unknown``),
            ``last_event`` (event time of the last order, epoch ms or ``None``), ``gaps`` (number of gaps) and ``cnt``
            (orders). The next columns come from the records of a collector and are ``None`` without one: ``topics``
            (number of subscribed channels of the exchange) and ``topics_covered`` (number of those that were live at
            the end of the window); orders ``recovered`` by backfill; counted over whole UTC days, rows ``rejected`` as
            unreadable or out of range, orders ``unpriced`` (without a value in USD), ``quarantined`` (not stored as
            orders because their unit is in doubt) and ``unjudged`` (without a reference price to check their unit);
            ``holes`` in sequence numbers, and ``numbered`` orders that were checked for holes; ``clock_ahead`` (ms by
            which the collector's clock was ahead of the exchange's); ``compared_usd`` and ``exchange_usd`` (stored USD
            and the exchange's own total, for the same hours and contracts; of Hyperliquid, the estimated total of its
            liquidations). The last columns count the rows in the
            window that estimates leave out as outliers: ``open_interest_outliers``, and ``bar_outliers`` of the
            exchange that provides the price; they are ``None`` in ``meta["coverage"]`` of other answers and for other
            windows than those of up to 24 hours. A topic
            without data reduces ``connected_share`` by its share of all topics.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> {row["exchange"] for row in market.coverage()} == {row["exchange"] for row in market.exchanges()}
        True
        """
        return self._source.ask_at(rows("coverage", locals()))

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
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            Sorted by ``start``: ``exchange``, ``start`` and ``end`` (epoch ms), ``reason``, ``topic`` (``None`` for the
            whole exchange), ``state``, ``recovered_at`` (epoch ms), ``recovered`` (number of orders) and ``holds``.
            ``holds`` is ``None`` if orders may be missing. Otherwise it names the table that lost rows by damage to a
            file: ``"bars"``, ``"open_interest"``, ``"positions"`` or ``"maps"`` (with an empty ``exchange``). ``state``
            is ``"open"`` until backfill ends, then ``"recovered"``, or ``"lost"`` if the exchange no longer publishes
            data of that time. Gaps filled by the same backfill all show its total in ``recovered``.

        Raises
        ------
        BadQuery
            For a wrong parameter.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.gaps()
        Rows(1 × exchange, start, end, reason, topic, state, recovered_at, recovered, holds; simulated)
        """
        return self._source.ask(rows("gaps", locals()))

    def undercount(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[UndercountRow[Amount]]:
        """USD that each exchange published, and an estimate of all it liquidated.

        Some exchanges publish at most one liquidation per symbol and second. The omitted share is measured on exchanges
        that publish everything: their orders of the same window are thinned by the same rule. Needs ``liqdata serve``.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window that ends now; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows
            Sorted by name: ``exchange``, ``sampling`` (which liquidations it publishes), ``observed_usd`` (exact
            decimal), ``estimated_usd``, ``low_usd``, ``high_usd`` (float, USD; ends of a 90 % interval) and ``method``
            (how the estimate was made, as text). Without enough data of exchanges that publish everything, or if the
            exchange does not document its sampling, the estimate is ``None`` and ``method`` starts with ``unknown``. If
            an exchange publishes everything, all amounts are equal.

        Raises
        ------
        BadQuery
            For a wrong parameter, and if the service does not offer this method.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        The estimate does not include orders from times when nothing was recorded (see :meth:`coverage`). Totals of
        other methods do not include the estimate.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> sorted({row["sampling"] for row in market.undercount("1h")})  # one exchange publishes a sample
        ['complete', 'latest_or_largest']
        """
        return self._source.ask(rows("undercount", locals()))

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

        A server that runs with the collector stores the maps of chosen queries
        (``liqdata serve DIR --collect --keep-maps QUERY``; ``docs/how-to/upgrade.md``). To compare, call the estimate's
        own method with ``as_of``: it computes the map again from data received by then.
        Needs ``liqdata serve``; only archives have stored maps.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin, such as ``BTC``; all coins by default.
        kind : {"heatmap", "liqmap", "levels", "maxpain"}, optional
            Only estimates of this method.
        version : str or Model, optional
            Only maps of this model version (:attr:`Model.version`); ``"unknown"`` for maps without a stored version.
        start : int, datetime, str or timedelta, optional
            Only maps with a last bar that closed at or after this instant.
        end : int, datetime, str or timedelta, optional
            Only maps with a last bar that closed before this instant.
        as_of : int, datetime or str, optional
            Compute as of this instant, from data received by then; *now* by default. Needs ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            Sorted by time: ``kind``, ``symbol``, ``params`` (the other parameters, such as ``range=24h&model=2``),
            ``timestamp`` (close of the last bar, epoch ms), ``computed_at`` (epoch ms), ``reply`` (the JSON that was
            sent, as text), ``explain`` (the inputs of the estimate, JSON as text) and ``version`` (``None`` if not
            stored). ``meta["versions"]`` lists all versions; :func:`liqdata.score` scores each version separately. A
            map that was computed again for the same bar, because data arrived late, has a row for each computation.

        Raises
        ------
        BadQuery
            If the maps exceed 1 GiB (64 MiB over HTTP). Request a shorter time range.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.maps("BTC", kind="levels")  # only archives have any
        Rows(0 × kind, symbol, params, timestamp, computed_at, reply, explain, version; simulated)
        """
        return self._source.ask_each(rows("maps", locals()))

    def features(
        self,
        symbols: str | Iterable[str],
        at: Any,
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        columns: Literal["all"] | Iterable[str] = "all",
        windows: Iterable[str | timedelta | int] = ("1h", "24h"),
        within: Iterable[float] = (1, 2, 5),
        range: MapRange = "7d",
        model: ModelNumber | Model | None = None,
        exchange: str | None = None,
        latency: str | timedelta | int = 0,
    ) -> Rows[Any]:
        """One row per decision instant and coin, from only what was known by then. Needs ``liqdata serve``.

        Parameters
        ----------
        symbols : str or iterable of str
            Coins, such as ``BTC``; a trading pair stands for its coin.
        at : instants, str, timedelta or table
            When decisions are taken: several instants; the length of a step, such as ``"1h"``, with ``start`` and
            ``end``; or bars (rows of :meth:`bars`, or a table with ``timestamp``), the closes of which are the
            instants.
        start, end : int, datetime, str or timedelta, optional
            With a step: the multiples of the step from ``start`` (inclusive) to ``end`` (exclusive); up to and
            including *now* by default. ``start`` is required.
        columns : "all" or iterable of str
            Which columns to return; ``at`` and ``coin`` always come.
        windows : iterable of str, timedelta or int
            Lengths of the windows of realised orders: whole minutes.
        within : iterable of float
            Moves of the price, in percent.
        range : {"1d", "7d", ...}
            The range of :meth:`liqmap`, which limits the prices that clusters come from. If the last bar is older than
            the range, the columns of the map are missing.
        model : {2, 3} or Model, optional
            As for :meth:`liqmap`: 3 where it is fitted by then, else 2, by default.
        exchange : str, optional
            Only orders, open interest and coverage of this exchange.
        latency : str, timedelta or int
            The delay of your own pipeline: rows count only if they were received this long before the instant.

        Returns
        -------
        Rows
            Ordered by ``at``, then as ``symbols``; floats are ``None`` (NaN in frames) where unknown:

            * ``at`` (the decision instant, epoch ms), ``coin``, and with bars ``bar_open`` (the open of the bar that
              closes at ``at``: the key for engines that label bars by their open)
            * ``known_at``: the newest instant of a row that was used, at or before ``at`` minus ``latency``
            * ``price``: USD, the close of the last closed bar
            * for each window W ``long_usd_W``, ``short_usd_W`` (USD) and ``cnt_W`` (orders) with an event time after
              ``at`` minus W and up to ``at``, missing if nothing of the window is covered; ``covered_W``: the covered
              share as known then, 0 to 1
            * for each move N ``long_usd_Npct``, ``short_usd_Npct``: USD that a fall or a rise of N % would liquidate
              (:meth:`LiquidationMap.swept`)
            * ``below_dist_pct``, ``below_usd``, ``below_leverage``, and ``above_…``: the nearest cluster of longs below
              and of shorts above the price (:meth:`LiquidationMap.clusters`): the distance of its near end in percent,
              its USD, and the leverage with the most USD in it
            * ``pain_long_dist_pct``, ``pain_long_usd``, ``pain_short_…``: the headline level of each side within a day,
              as :meth:`maxpain` chooses it by ``"reach"``
            * ``map_age_s``, ``oi_age_s``: seconds since the last bar closed and since the last open-interest reading;
              ``model_version``

            ``meta["units"]`` says what the USD of the maps are (``"usd"`` or ``"relative"``), and ``meta["view"]`` what
            they count, as in :meth:`liqmap`; ``"mixed"`` if the rows differ, ``None`` without a map.

        Raises
        ------
        BadQuery
            For a wrong parameter, and for an instant before the first observation or after *now*.
        LiqdataError
            If the call fails; :class:`Client` and :class:`Market` list the classes.

        Notes
        -----
        The map is that of all open positions (``liqmap(..., opened="ever")``), so one walk through the bars serves all
        instants and all columns. Each row equals, bit for bit, that of a market of only the rows received by ``at``
        minus ``latency``: orders by their ``received_at``, bars by their close, readings by their time.
        Archives filter bars and readings by their receipt too, so there each instant continues a ledger of its own. An
        hour of imported orders counts as covered once its last order was received, so ``covered_W`` may be lower there.

        A client asks for a few instants at a time, each time with its own deadline. The rows of a client equal those of
        the market that the service serves.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> rows = market.features(["BTC", "ETH"], "6h", start="-1d", windows=["1h"], within=[1])
        >>> rows.columns[:5], len(rows)
        (['at', 'coin', 'known_at', 'price', 'long_usd_1h'], 10)
        """
        return self._source.features(locals())

    def live(
        self,
        symbol: str = "BTC",
        *,
        range: HeatmapRange = "24h",
        model: int | Model = 2,
        source: str | None = None,
        exchange: str | None = None,
        as_of: Instant | None = None,
        height: int = 480,
        min_usd: float | Decimal | None = None,
    ) -> Live:
        """Show a live chart in a notebook. Needs anywidget (``pip install "liqdata[live]"``).

        The kernel follows the market; the notebook opens no connection. A saved notebook shows a picture.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``.
        range : str
            As in :meth:`heatmap`.
        model : int or Model
            As in :meth:`heatmap`.
        source : str, optional
            ``estimate``, the only source of a heatmap.
        exchange : str, optional
            Exchange to which the estimate and the orders are limited.
        as_of : datetime, str or int, optional
            Show the map as of an instant; nothing is followed then.
        height : int
            Height of the chart in pixels.
        min_usd : float or Decimal, optional
            Minimum value of a shown order in USD.

        Returns
        -------
        Live
            A widget; :meth:`liqdata.live.Live.close` ends it.

        Raises
        ------
        ModuleNotFoundError
            Without anywidget.
        BadQuery
            As :meth:`heatmap`, and for another ``source``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> live = market.live("BTC", range="12h")
        >>> live.snapshot().units
        'usd'
        >>> live.close()
        """
        from .live import live_of

        return live_of(
            self,
            symbol,
            range=range,
            model=model,
            source_name=source,
            exchange=exchange,
            as_of=as_of,
            height=height,
            min_usd=min_usd,
        )
