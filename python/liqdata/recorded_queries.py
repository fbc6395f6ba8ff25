"""Queries that a market also answers from recordings.

Written by ``tests/lint/faces.py`` from ``queries.py``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, overload

from .calls.traceback import public_methods
from .endpoints.requests import record, rows
from .queries import Queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from .results.record import Record
    from .results.rows import Rows
    from .source.local import LocalSource
    from .types import (
        Bound,
        CoinRow,
        ExchangeRow,
        HistoryGroup,
        HistoryRow,
        Instant,
        Instants,
        OrderRow,
        Progress,
        TotalsRange,
    )
    from .walk import OrderIterator


__all__ = ["RecordedQueries"]


@public_methods
class RecordedQueries(Queries[Decimal]):
    """What :class:`~liqdata.Market` can be asked: all queries, some of them also about a recording."""

    _source: LocalSource  # pyright: ignore[reportIncompatibleVariableOverride] - a market has no other source

    def _of(self, source: str | None) -> LocalSource:
        """The source of this market, or that of a recording."""
        raise NotImplementedError

    @overload
    def overview(
        self,
        *,
        range: TotalsRange | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> Record: ...
    @overload
    def overview(
        self,
        *,
        range: TotalsRange | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str | None = None,
        as_of: Iterable[Instant],
    ) -> Sequence[Record]: ...
    def overview(
        self,
        *,
        range: TotalsRange | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str | None = None,
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
        source : str, optional
            Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).
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
        return self._of(source).ask_at(record("overview", locals()))

    def coins(
        self,
        range: TotalsRange = "24h",
        limit: int = 30,
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str | None = None,
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
        source : str, optional
            Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).
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
        return self._of(source).ask(rows("coins", locals()))

    def exchanges(
        self,
        range: TotalsRange = "24h",
        *,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> Rows[ExchangeRow]:
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
        source : str, optional
            Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).
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
        return self._of(source).ask(rows("exchanges", locals()))

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
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow]: ...
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
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OrderRow]]: ...
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
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow] | dict[str, Rows[OrderRow]]:
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
        source : str, optional
            Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).
            The column ``source`` names it.
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
        return self._of(source).ask_each(rows("orders", locals()))

    def iter_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        page_size: int = 1000,
        max_rows: int | None = None,
        progress: Progress = False,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        groups: bool = False,
        oldest_first: bool = False,
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> OrderIterator:
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
        source : str, optional
            Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).
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
        return self._of(source).iter_orders(locals())

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
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> Rows[HistoryRow]: ...
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
        source: str | None = None,
        as_of: Iterable[Instant],
    ) -> Sequence[Rows[HistoryRow]]: ...
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
        source: str | None = None,
        as_of: Instants | None = None,
    ) -> Rows[HistoryRow] | Sequence[Rows[HistoryRow]]:
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
        source : str, optional
            Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).
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
        return self._of(source).ask_at(rows("history", locals()))
