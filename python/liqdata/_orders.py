"""Single liquidation orders: the largest, a page of them, all of them, those to come."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, overload

from . import _answers, _core
from ._inputs import instant, spelled, stretch, switch, usd
from ._local import _Local
from ._progress import bar
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .stream import AsyncOrderStream, OrderStream
from .types import Amount
from .walk import AsyncOrderIterator, OrderIterator, at_most, pages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from .rows import Rows
    from .types import Instant, OrderRow, Progress, Window


def _least(min_usd: object) -> str | None:
    """The least amount of an order as a query string has it, or :class:`~liqdata.BadQuery`."""
    return None if min_usd is None else usd(min_usd)


def _told_groups(groups: object) -> str | None:
    """Whether groups are told, as a query string has it, or :class:`~liqdata.BadQuery`."""
    return "1" if switch(groups, "groups") else None


_CHUNK = 2**16  # rows taken from the native half at a time


@told(OF_SERVICE)
class _Orders(_Blocking, Generic[Amount]):
    """Single liquidation orders, asked of a service."""

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
        """The largest single liquidation orders within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window; ``"1d"`` is ``"24h"``.
        limit : int
            Most rows wanted, 1 to 1000.
        symbol : str or sequence of str, optional
            Only this trading pair, or all pairs of a coin; an extension of ``liqdata serve``, as what follows.
        exchange : str, optional
            Only this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least so many USD, 0 or more.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms).

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, and for ``symbol``, ``exchange``, ``min_usd`` or ``as_of`` where the
            service does not announce it.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.largest("24h", limit=3)), {row["symbol"] for row in client.largest(symbol="ETH", limit=3)}
        (3, {'ETHUSDT'})
        """
        asked: dict[str, object] = {"range": range, "limit": limit, "exchange": exchange, "min_usd": _least(min_usd)}
        return self._each("largest", symbol, _answers.rows, as_of, **asked)

    @overload
    def orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
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
        start: Instant | None = None,
        end: Instant | None = None,
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
        start: Instant | None = None,
        end: Instant | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]] | dict[str, Rows[OrderRow[Amount]]]:
        """One page of the order feed, newest first; :meth:`iter_orders` walks all of it.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Only this trading pair, such as ``BTCUSDT``, or all pairs of a coin, such as ``BTC``; in any spelling.
        exchange : str, optional
            Only this exchange, such as ``binance``.
        limit : int
            Most rows wanted, 1 to 1000.
        offset : int
            Rows to skip from the newest.
        min_usd : float or Decimal, optional
            Only orders of at least so many USD, 0 or more; an extension of ``liqdata serve``, as what follows.
        start : int, datetime or str, optional
            Only orders from then on, by event time, however old they are; of the last day where neither this nor the
            end is given.
        end : int, datetime or str, optional
            Only orders before then, however old they are.
        groups : bool
            Whether a further column ``group_id`` tells what all fills of one liquidation have in common.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms); with ``groups`` also ``group_id``, ``None`` where the exchange tells no such
            thing. Frames of them tell the coin, too.

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, and for ``min_usd``, ``start``, ``end``, ``groups`` or ``as_of``
            where the service does not announce it.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     {row["symbol"] for row in client.orders("BTCUSDT", limit=5)}
        {'BTCUSDT'}
        """
        asked: dict[str, object] = {
            "exchange": exchange,
            "limit": limit,
            "offset": offset,
            "min_usd": _least(min_usd),
            **spelled(start, end),
            "groups": _told_groups(groups),
        }
        return self._each("orders", symbol, _answers.rows, as_of, **asked)

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
        """Every order there is, newest first, each exactly once though more arrive while they are read.

        What the feed holds comes first, by the contract the last 24 hours; then what is older, where the service
        announces that it can be asked for it, as ``liqdata serve`` of an archive does. Another is at its end there, and
        the iterator's :attr:`~liqdata.walk.OrderIterator.complete` is False.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        page_size : int
            Rows per request, 1 to 1000.
        max_rows : int, optional
            Stop after so many rows.
        progress : bool or callable
            Show a bar of the rows (with tqdm, on a terminal or in a notebook), or tell a function how many are done and
            of how many (``None`` where that is unknown).
        min_usd : float or Decimal, optional
            Only orders of at least so many USD, as of :meth:`orders`.
        start, end : int, datetime or str, optional
            Only orders from ``start`` until before ``end``, by event time. An extension of ``liqdata serve``.
        groups : bool
            Whether a further column ``group_id`` tells what all fills of one liquidation have in common, as of
            :meth:`orders`. An extension of ``liqdata serve``.
        as_of : int, datetime or str, optional
            Only orders received by then. An extension of ``liqdata serve``.

        Returns
        -------
        OrderIterator
            An iterator of dict rows as of :meth:`orders`. Its ``to_pandas()``, ``to_polars()`` and ``to_arrow()`` take
            all rows that are left as columns, without going through dicts. ``complete`` says in the end whether all
            were given, and ``meta`` why not.

        Raises
        ------
        BadQuery
            When the first row is taken, for ``min_usd``, ``start``, ``end``, ``groups`` and ``as_of`` where the service
            does not announce them.
        UnexpectedReply
            If equal rows fill a whole page, so that pages cannot be told apart; if more than a thousand orders are of
            one instant, behind the last day; if a page shows rows that were read, but changed, taken back or in another
            order; if the feed moves faster than it can be read.

        Notes
        -----
        Pages of the feed are joined by the rows that they share, not by time: a feed may list its rows as they arrived,
        late ones among them, or by their time. What is older is asked for by time, each page from the oldest instant
        that is known, and rows of that instant are left out as often as they were given.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     sum(1 for row in client.iter_orders("BTCUSDT", max_rows=250, page_size=100))
        250
        """
        at = instant(as_of, "as_of")
        walk = self._core.walk(
            symbol, exchange, _least(min_usd), page_size, max_rows, *stretch(start, end), at, switch(groups, "groups")
        )
        return OrderIterator(
            lambda: walk.begin_next().wait(),
            bar(wanted=progress, total=max_rows),
            lambda: self._options.origin(at),
            lambda: walk.end,
            groups=groups,
        )

    def stream_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        min_usd: float | Decimal | None = None,
        last_event_id: str | None = None,
    ) -> OrderStream[Amount]:
        """The orders as they arrive, oldest first: an iterator that waits for the next and has no end of its own.

        A connection that breaks off or falls silent is replaced by another, which goes on behind the last order. The
        stream is an extension of ``liqdata serve`` beside the ten endpoints.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least so many USD, 0 or more.
        last_event_id : str, optional
            Go on behind this order: an earlier stream's ``last_event_id``. From now on where absent.

        Returns
        -------
        OrderStream
            An iterator of rows as of :meth:`orders`; its ``last_event_id`` is the id of the last one. Use it in
            ``with``, or ``close()`` it.

        Raises
        ------
        NoAnswer
            If no connection can be had within the client's retries; asked again, the stream goes on where it was.
        Refused
            With status 410 if the service no longer knows the place to go on from, so that orders are missing:
            :meth:`iter_orders` has them, and the stream, asked again, goes on behind the gap.
        UnexpectedReply
            For an event outside the contract, which is left out.
        BadQuery
            For a parameter that is not allowed, and where the service does not announce the stream, or ``min_usd`` of
            it.
        RuntimeError
            If the client is closed, also meanwhile.

        Examples
        --------
        >>> import liqdata
        >>> def watch(url, most):
        ...     with liqdata.Client(url) as client, client.stream_orders("BTCUSDT") as stream:
        ...         for row in stream:
        ...             if row["value_usd"] > most:
        ...                 return row, stream.last_event_id
        """
        core = self._core.stream(symbol, exchange, _least(min_usd), last_event_id)
        return OrderStream(core, decimals=self._options.decimals)


@told(OF_SERVICE, _Orders)
class _AsyncOrders(_Awaiting, Generic[Amount]):
    """Single liquidation orders, awaited from a service."""

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
        """As :meth:`liqdata.Client.largest`.

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
        asked: dict[str, object] = {"range": range, "limit": limit, "exchange": exchange, "min_usd": _least(min_usd)}
        return await self._each("largest", symbol, _answers.rows, as_of, **asked)

    @overload
    async def orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
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
        start: Instant | None = None,
        end: Instant | None = None,
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
        start: Instant | None = None,
        end: Instant | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow[Amount]] | dict[str, Rows[OrderRow[Amount]]]:
        """As :meth:`liqdata.Client.orders`.

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
        asked: dict[str, object] = {
            "exchange": exchange,
            "limit": limit,
            "offset": offset,
            "min_usd": _least(min_usd),
            **spelled(start, end),
            "groups": _told_groups(groups),
        }
        return await self._each("orders", symbol, _answers.rows, as_of, **asked)

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
        """As :meth:`liqdata.Client.iter_orders`, for ``async for``.

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
        from ._loop import answer

        at = instant(as_of, "as_of")
        walk = self._core.walk(
            symbol, exchange, _least(min_usd), page_size, max_rows, *stretch(start, end), at, switch(groups, "groups")
        )
        return AsyncOrderIterator(
            lambda: answer(walk.begin_next),
            bar(wanted=progress, total=max_rows),
            lambda: self._options.origin(at),
            lambda: walk.end,
            groups=groups,
        )

    def stream_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        min_usd: float | Decimal | None = None,
        last_event_id: str | None = None,
    ) -> AsyncOrderStream[Amount]:
        """As :meth:`liqdata.Client.stream_orders`, for ``async for``.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def watch(url, most):
        ...     async with liqdata.AsyncClient(url) as client, client.stream_orders("BTCUSDT") as stream:
        ...         async for row in stream:
        ...             if row["value_usd"] > most:
        ...                 return row, stream.last_event_id
        """
        core = self._core.stream(symbol, exchange, _least(min_usd), last_event_id)
        return AsyncOrderStream(core, decimals=self._options.decimals)


@told(OF_MARKET, _Orders)
class _LocalOrders(_Local):
    """Single liquidation orders, asked of a market in this process."""

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
    ) -> Rows[OrderRow]: ...
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
    ) -> dict[str, Rows[OrderRow]]: ...
    def largest(
        self,
        range: Window = "24h",
        limit: int = 20,
        *,
        symbol: str | Sequence[str] | None = None,
        exchange: str | None = None,
        min_usd: float | Decimal | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow] | dict[str, Rows[OrderRow]]:
        """As :meth:`liqdata.Client.largest`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.largest(limit=1)[0]["symbol"]
        'BTCUSDT'
        """
        asked: dict[str, object] = {"range": range, "limit": limit, "exchange": exchange, "min_usd": _least(min_usd)}
        return self._each("largest", symbol, _answers.rows, as_of, **asked)

    @overload
    def orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        min_usd: float | Decimal | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        groups: bool = False,
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
        start: Instant | None = None,
        end: Instant | None = None,
        groups: bool = False,
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
        start: Instant | None = None,
        end: Instant | None = None,
        groups: bool = False,
        as_of: Instant | None = None,
    ) -> Rows[OrderRow] | dict[str, Rows[OrderRow]]:
        """As :meth:`liqdata.Client.orders`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> len(market.orders("BTC", limit=5)), len(market.orders("BTC", as_of="2026-05-01"))
        (5, 0)
        """
        asked: dict[str, object] = {
            "exchange": exchange,
            "limit": limit,
            "offset": offset,
            "min_usd": _least(min_usd),
            **spelled(start, end),
            "groups": _told_groups(groups),
        }
        return self._each("orders", symbol, _answers.rows, as_of, **asked)

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
    ) -> OrderIterator:
        """Every order of the market, newest first, at ``as_of``; of an archive its whole history.

        Parameters
        ----------
        symbol : str, optional
            Trading pair, such as ``BTCUSDT``, or a coin for all its pairs; in any spelling.
        exchange : str, optional
            Exchange, such as ``binance``.
        page_size : int
            Without effect here: nothing is paged.
        max_rows : int, optional
            Most rows.
        progress : bool or callable
            Show a bar of the rows (with tqdm, on a terminal or in a notebook), or tell a function how many are done and
            of how many (``None`` where that is unknown).
        min_usd : float or Decimal, optional
            Only orders of at least so many USD.
        start, end : int, datetime or str, optional
            Only orders from ``start`` until before ``end``, by event time.
        groups : bool
            Whether a further column ``group_id`` tells what all fills of one liquidation have in common.
        as_of : int, datetime or str, optional
            Only orders received by then.

        Returns
        -------
        OrderIterator
            An iterator of dict rows, with ``to_pandas()``, ``to_polars()`` and ``to_arrow()`` for all that are left. A
            day of an archive is read when its turn comes, so a history may be longer than memory holds.

        Examples
        --------
        >>> from datetime import timedelta
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> hour = list(market.iter_orders("BTCUSDT", start=market.now - timedelta(hours=1)))
        >>> all(row["symbol"] == "BTCUSDT" for row in hour)
        True
        """
        least = _least(min_usd)
        most = _core.walk_bounds(symbol, exchange, least, page_size, max_rows)
        first, last = stretch(start, end)
        at = instant(as_of, "as_of")
        core = self._open()
        grouped = switch(groups, "groups")
        history = core.history(symbol, exchange, least, first, last, at, grouped)
        if history is not None:
            following = history.next
        else:
            chunk = _CHUNK if most is None or (first, last) != (None, None) else min(_CHUNK, most)
            page = partial(core.page, symbol, exchange, least, chunk)
            following = pages(lambda offset: page(offset, at, grouped), chunk, first, last)
        shown = bar(wanted=progress, total=max_rows)
        return OrderIterator(at_most(following, most), shown, lambda: self._origin(at), groups=grouped)

    def stream_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        min_usd: float | Decimal | None = None,
        last_event_id: str | None = None,
    ) -> OrderStream:
        """The orders as they arrive, oldest first: an iterator that waits for the next.

        Nothing arrives in tables and in a simulation that is not live: their stream ends behind the last order.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair, or all pairs of a coin.
        exchange : str, optional
            Only this exchange.
        min_usd : float or Decimal, optional
            Only orders of at least so many USD.
        last_event_id : str, optional
            Go on behind this order: an earlier stream's ``last_event_id``. From now on where absent.

        Returns
        -------
        OrderStream
            An iterator of rows as of :meth:`orders`; its ``last_event_id`` is the id of the last one. Use it in
            ``with``, or ``close()`` it.

        Raises
        ------
        Refused
            With status 410 if the market no longer knows the place to go on from, so that orders are missing:
            :meth:`iter_orders` has them, and the stream, asked again, goes on behind the gap.

        Examples
        --------
        >>> import liqdata
        >>> list(liqdata.demo().stream_orders("BTCUSDT"))
        []
        """
        return OrderStream(self._open().stream(symbol, exchange, _least(min_usd), last_event_id), decimals="decimal")
