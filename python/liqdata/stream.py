"""Streams of new orders and of ended cascades, for ``for`` and ``async for``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from .calls.traceback import public_call
from .types import Amount, CascadeRow, OrderRow

if TYPE_CHECKING:
    from . import _core
    from .types import RowDecimals

__all__ = ["AsyncCascadeStream", "AsyncOrderStream", "CascadeStream", "OrderStream"]

R = TypeVar("R")


class _Batch(Generic[R]):
    """Received rows that were not yielded yet, and the id of the last yielded row."""

    def __init__(self, core: _core.Stream, *, decimals: RowDecimals) -> None:
        self._core = core
        self._decimals: RowDecimals = decimals
        self._rows: Iterator[tuple[R, str | None]] = iter(())
        self._left = 0
        self._given: str | None = None
        self.ended = False

    def put(self, answer: tuple[_core.Table, list[str | None]] | None) -> None:
        """Store received rows; ``None`` marks the end of the stream."""
        if answer is None:
            self.ended = True
            return
        table, ids = answer
        self._rows = zip(cast("list[R]", table.dicts(self._decimals)), ids, strict=True)
        self._left = len(ids)

    def row(self) -> R | None:
        """Remove and return the next row; ``None`` if no received row is left."""
        for row, place in self._rows:
            self._left -= 1
            self._given = place
            return row
        return None

    @property
    def last_event_id(self) -> str | None:
        return self._given if self._left else self._core.last_event_id


class _Stream(Iterator[R]):
    """Base of the blocking streams: it waits until rows arrive."""

    def __init__(self, core: _core.Stream, *, decimals: RowDecimals) -> None:
        self._core = core
        self._batch: _Batch[R] = _Batch(core, decimals=decimals)

    @property
    def last_event_id(self) -> str | None:
        """The id of the last yielded row; another stream can continue after this row.

        ``None`` until the service sends an id.
        """
        return self._batch.last_event_id

    def __next__(self) -> R:
        batch = self._batch
        while not batch.ended:
            row = batch.row()
            if row is not None:
                return row
            self._receive()
        raise StopIteration

    @public_call
    def _receive(self) -> None:
        """Wait for further rows."""
        self._batch.put(self._core.begin_next().wait())

    def close(self) -> None:
        """End the stream, also if another thread waits for a row.

        May be called more than once.

        Examples
        --------
        >>> import liqdata
        >>> stream = liqdata.demo().stream_orders()
        >>> stream.close()
        >>> list(stream)
        []
        """
        self._batch.ended = True
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _AsyncStream(AsyncIterator[R]):
    """Base of the asyncio streams: it awaits rows."""

    def __init__(self, core: _core.Stream, *, decimals: RowDecimals) -> None:
        self._core = core
        self._batch: _Batch[R] = _Batch(core, decimals=decimals)

    @property
    def last_event_id(self) -> str | None:
        """The id of the last yielded row; another stream can continue after this row.

        ``None`` until the service sends an id.
        """
        return self._batch.last_event_id

    async def __anext__(self) -> R:
        batch = self._batch
        while not batch.ended:
            row = batch.row()
            if row is not None:
                return row
            await self._receive()
        raise StopAsyncIteration

    @public_call
    async def _receive(self) -> None:
        """Await further rows."""
        from .calls.event_loop import answer

        self._batch.put(await answer(self._core.begin_next))

    async def aclose(self) -> None:
        """End the stream, also if another task waits for a row.

        May be called more than once.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def placed(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         stream = client.stream_orders()
        ...         await stream.aclose()
        ...         return [row async for row in stream]
        >>> asyncio.run(placed("https://data.example"))
        []
        """
        self._batch.ended = True
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class OrderStream(_Stream[OrderRow[Amount]], Generic[Amount]):
    """New orders as they arrive; made by ``stream_orders``.

    The stream waits for the next order without a time limit; Ctrl-C interrupts the wait. Use it in a ``with``
    statement, or :meth:`close` it. After an error, further iteration continues after the last yielded order.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.demo().stream_orders() as stream:  # this market receives no orders
    ...     list(stream)
    []
    """


class AsyncOrderStream(_AsyncStream[OrderRow[Amount]], Generic[Amount]):
    """New orders, for ``async for`` and ``async with``; a cancelled wait loses no order.

    Otherwise like :class:`OrderStream`.

    Examples
    --------
    >>> import asyncio, liqdata
    >>> async def first(url):
    ...     async with liqdata.AsyncClient(url) as client, client.stream_orders("BTC") as stream:
    ...         async for row in stream:
    ...             return row, stream.last_event_id
    """


class CascadeStream(_Stream[CascadeRow[Amount]], Generic[Amount]):
    """Cascades as they end; made by ``stream_cascades``.

    Otherwise like :class:`OrderStream`.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.demo().stream_cascades("BTC") as stream:  # this market receives no orders
    ...     list(stream)
    []
    """


class AsyncCascadeStream(_AsyncStream[CascadeRow[Amount]], Generic[Amount]):
    """Cascades as they end, for ``async for`` and ``async with``; a cancelled wait loses no cascade.

    Otherwise like :class:`CascadeStream`.

    Examples
    --------
    >>> import asyncio, liqdata
    >>> async def first(url):
    ...     async with liqdata.AsyncClient(url) as client, client.stream_cascades("BTC") as stream:
    ...         async for row in stream:
    ...             return row, stream.last_event_id
    """
