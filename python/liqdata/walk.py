"""Iterators over all orders: dict rows, or all remaining rows as a frame or file."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from . import _core
from .calls.arguments import choice
from .calls.traceback import public_call
from .files.atomic_write import atomic_write
from .source import convert
from .types import Amount

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from .calls.progress import ProgressBar
    from .results.rows import Rows
    from .source.convert import Origin
    from .types import OrderRow

    Following = Callable[[], _core.Table | None]  # returns the next table of rows; None at the end

__all__ = ["AsyncOrderIterator", "OrderIterator"]

F = TypeVar("F")

_Frame = Literal["float", "decimal"]
_Pandas = Literal["float", "decimal", "arrow"]


class _Buffer(Generic[Amount]):
    """Fetched tables, and the place of the next row in the first table."""

    def __init__(self, bar: ProgressBar, origin: Callable[[], Origin], *, groups: bool) -> None:
        self._bar = bar
        self._groups = groups
        self._origin = origin
        self._tables: list[_core.Table] = []
        self._rows: Iterator[OrderRow[Amount]] = iter(())
        self._open: _core.Table | None = None  # the table of those rows

    def put(self, table: _core.Table) -> None:
        self._tables.append(table)
        self._bar.update(len(table))

    def row(self) -> OrderRow[Amount] | None:
        """Remove and return the next row; ``None`` if another table must be fetched."""
        while True:
            for row in self._rows:
                return row
            if not self._tables:
                return None
            # Only one table at a time is converted to dicts. If Ctrl-C interrupts the conversion, the table is still in
            # the list.
            table = self._tables[0]
            rows = iter(cast("list[OrderRow[Amount]]", table.dicts(self._origin().decimals)))
            self._rows, self._open, self._tables = rows, table, self._tables[1:]

    def _shut(self) -> None:
        """Put the rows of the current table that were not returned back into the list of tables."""
        left = operator.length_hint(self._rows)
        if self._open is not None and left:
            self._tables.insert(0, self._open.slice(len(self._open) - left, 1, left))
        self._rows, self._open = iter(()), None

    def table(self) -> _core.Table | None:
        """Remove and return the next table of rows; ``None`` if there is none."""
        self._shut()
        return self._tables.pop(0) if self._tables else None

    def rest(self) -> Rows[OrderRow[Amount]]:
        """Remove and return all rows that were fetched but not returned yet."""
        self._shut()
        table = _core.Table.joined_orders(self._tables, self._groups)
        self._tables = []
        return convert.rows(table, self._origin())

    def close(self) -> None:
        self._bar.close()


class _Status:
    """The state that an iterator reports about its walk over the orders."""

    _following: Any
    _origin: Callable[[], Origin]
    _end: Callable[[], tuple[bool, str | None] | None]

    @property
    def complete(self) -> bool | None:
        """Whether all requested rows were yielded; ``None`` before the end.

        False if the source has no older orders, or if files of an archive are damaged; :attr:`meta` has the reason.

        Examples
        --------
        >>> import liqdata
        >>> walk = liqdata.demo().iter_orders(max_rows=10)
        >>> walk.complete, len(list(walk)), walk.complete
        (None, 10, True)
        """
        return self._ended()[0]

    @property
    def meta(self) -> dict[str, Any]:
        """Source, as_of, simulated, ``complete``, and the reason in ``why`` if rows are missing."""
        origin = self._origin()
        complete, why = self._ended()
        said = {} if why is None else {"why": why}
        return {**origin.meta(None), "complete": complete, **said}

    def _ended(self) -> tuple[bool | None, str | None]:
        end = self._end() if self._following is None else None
        if end is None:
            return None, None
        damaged = self._origin().damaged
        if end[0] and damaged:
            are = "file of the archive is" if damaged == 1 else "files of the archive are"
            return False, f"{damaged} {are} damaged: rows may be missing"
        return end


class OrderIterator(_Status, Iterator["OrderRow[Amount]"], Generic[Amount]):
    """The rows of an order feed, newest first; made by ``iter_orders``.

    Iterating yields dicts. ``to_pandas``, ``to_polars`` and ``to_arrow`` read the remaining rows as columns, which is
    many times faster. The iterator is also an Arrow stream, fetched in pieces: ``polars.DataFrame(it)``,
    ``pyarrow.table(it)``, duckdb. :meth:`to_parquet` can write a feed that is larger than memory. After an error,
    further iteration continues after the last yielded row.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
    ...     frame = client.iter_orders(max_rows=2500).to_pandas()
    >>> len(frame), str(frame["price"].dtype)
    (2500, 'float64')
    """

    def __init__(
        self,
        following: Following,
        bar: ProgressBar,
        origin: Callable[[], Origin],
        end: Callable[[], tuple[bool, str | None] | None] = lambda: (True, None),
        *,
        groups: bool = False,
    ) -> None:
        self._groups = groups
        self._following: Following | None = following
        self._origin = origin
        self._end = end
        self._buffer: _Buffer[Amount] = _Buffer(bar, origin, groups=groups)

    def __next__(self) -> OrderRow[Amount]:
        while (row := self._buffer.row()) is None:
            if not self._more():
                raise StopIteration
        return row

    @public_call
    def _more(self) -> bool:
        """Fetch the next rows; return whether there were any."""
        if self._following is None:
            return False
        # If this raises, the next call fetches the same rows again.
        table = self._following()
        if table is None:
            self._following = None
            self._buffer.close()
            return False
        self._buffer.put(table)
        return True

    def _rest(self) -> Rows[OrderRow[Amount]]:
        while self._more():
            pass
        return self._buffer.rest()

    def to_pandas(self, *, decimals: _Pandas = "float", scale: int | None = None) -> pd.DataFrame:
        """All remaining rows as a pandas frame, like :meth:`liqdata.Rows.to_pandas`.

        Parameters
        ----------
        decimals : {"float", "decimal", "arrow"}
            Money and prices as float64, as exact :class:`~decimal.Decimal` objects, or as exact columns of the type
            ``decimal128(38, 18)[pyarrow]``.
        scale : int, optional
            Digits after the point of exact values, 0 to 38; 18 by default.

        Returns
        -------
        pandas.DataFrame
            Without rows, but with all columns, if no row remains.

        Raises
        ------
        BadQuery
            For a value that has more digits than ``scale`` after the point, or than 38 - ``scale`` before it.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().iter_orders(max_rows=10).to_pandas().shape
        (10, 8)
        """
        return self._rest().to_pandas(decimals=decimals, scale=scale)

    def to_polars(self, *, decimals: _Frame = "float", scale: int | None = None) -> pl.DataFrame:
        """All remaining rows as a polars frame, like :meth:`liqdata.Rows.to_polars`.

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as Float64, or as exact ``Decimal(38, 18)``.
        scale : int, optional
            Digits after the point of exact values, 0 to 38; 18 by default.

        Returns
        -------
        polars.DataFrame
            Without rows, but with all columns, if no row remains.

        Raises
        ------
        BadQuery
            For a value that has more digits than ``scale`` after the point, or than 38 - ``scale`` before it.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().iter_orders(max_rows=10).to_polars().shape
        (10, 8)
        """
        return self._rest().to_polars(decimals=decimals, scale=scale)

    def to_arrow(self, *, decimals: _Frame = "float", scale: int | None = None) -> pa.Table:
        """All remaining rows as a pyarrow table, like :meth:`liqdata.Rows.to_arrow`.

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as float64, or as exact ``decimal128(38, 18)``.
        scale : int, optional
            Digits after the point of exact values, 0 to 38; 18 by default.

        Returns
        -------
        pyarrow.Table
            Without rows, but with all columns, if no row remains.

        Raises
        ------
        BadQuery
            For a value that has more digits than ``scale`` after the point, or than 38 - ``scale`` before it.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().iter_orders(max_rows=10).to_arrow().shape
        (10, 8)
        """
        return self._rest().to_arrow(decimals=decimals, scale=scale)

    def to_parquet(self, path: str | os.PathLike[str], *, decimals: _Frame = "float") -> int:
        """Write all remaining rows to a Parquet file, in pieces; they may be larger than memory.

        The rows are written to a temporary file in the same folder, which is renamed to ``path`` when it is complete
        and deleted after an error. An existing file at ``path`` is replaced.

        Parameters
        ----------
        path : str or path-like
            The file.
        decimals : {"float", "decimal"}
            Money and prices as double, or as exact ``decimal(38, 18)``.

        Returns
        -------
        int
            Number of rows written.

        Raises
        ------
        OSError
            If the file cannot be written.
        ValueError
            With ``decimals="decimal"``, for an amount with more than 18 digits after the point or 20 before it.

        Notes
        -----
        After an error this iterator does not yield the rows of the unfinished file again: make another iterator.

        Examples
        --------
        >>> import os, tempfile
        >>> import liqdata
        >>> file = os.path.join(tempfile.mkdtemp(), "orders.parquet")
        >>> liqdata.demo().iter_orders(max_rows=1000).to_parquet(file)
        1000
        """
        exact = choice(decimals, "decimals", ("float", "decimal")) == "decimal"
        rows = 0
        with atomic_write(path) as unfinished:
            file = _core.ParquetFile(unfinished, exact, self._groups)
            while (table := self._table()) is not None:
                file.write(table)
                rows += len(table)
            file.close()
        return rows

    def _table(self) -> _core.Table | None:
        """Remove and return the next rows as columns."""
        while (table := self._buffer.table()) is None:
            if not self._more():
                return None
        return table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C stream of the remaining rows (money as float64); each piece is fetched when it is read.

        Rows that the stream yields are removed from the iterator. If a fetch fails, the library that reads the stream
        raises its own type of error, with the message of this package's error.
        """
        return _core.ArrowBatches(self._piece, self._groups).__arrow_c_stream__(requested_schema)

    def _piece(self) -> _core.Table | None:
        """As :meth:`_table`, but raise a Ctrl-C also in the main thread, because Arrow readers suppress it."""
        try:
            return self._table()
        except KeyboardInterrupt:
            import _thread

            _thread.interrupt_main()
            raise


class AsyncOrderIterator(_Status, AsyncIterator["OrderRow[Amount]"], Generic[Amount]):
    """The rows of an order feed for ``async for``, newest first; exports are coroutines.

    Otherwise like :class:`OrderIterator`.

    Examples
    --------
    >>> import asyncio, liqdata
    >>> async def usd(url):
    ...     async with liqdata.AsyncClient(url) as client:
    ...         return sum([row["value_usd"] async for row in client.iter_orders("BTC", max_rows=10)])
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     asyncio.run(usd(server.url)) > 0
    True
    """

    def __init__(
        self,
        following: Callable[[], Awaitable[_core.Table | None]],
        bar: ProgressBar,
        origin: Callable[[], Origin],
        end: Callable[[], tuple[bool, str | None] | None] = lambda: (True, None),
        *,
        groups: bool = False,
    ) -> None:
        self._groups = groups
        self._following: Callable[[], Awaitable[_core.Table | None]] | None = following
        self._origin = origin
        self._end = end
        self._buffer: _Buffer[Amount] = _Buffer(bar, origin, groups=groups)

    async def __anext__(self) -> OrderRow[Amount]:
        while (row := self._buffer.row()) is None:
            if not await self._more():
                raise StopAsyncIteration
        return row

    @public_call
    async def _more(self) -> bool:
        if self._following is None:
            return False
        table = await self._following()
        if table is None:
            self._following = None
            self._buffer.close()
            return False
        self._buffer.put(table)
        return True

    async def _rest(self) -> Rows[OrderRow[Amount]]:
        while await self._more():
            pass
        return self._buffer.rest()

    async def to_pandas(self, *, decimals: _Pandas = "float", scale: int | None = None) -> pd.DataFrame:
        """All remaining rows as a pandas frame; parameters are those of :meth:`OrderIterator.to_pandas`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def frame(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.iter_orders("BTC", max_rows=10).to_pandas()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(frame(server.url)).shape
        (10, 8)
        """
        return await _to_thread((await self._rest()).to_pandas, decimals, scale)

    async def to_polars(self, *, decimals: _Frame = "float", scale: int | None = None) -> pl.DataFrame:
        """All remaining rows as a polars frame; parameters are those of :meth:`OrderIterator.to_polars`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def frame(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.iter_orders("BTC", max_rows=10).to_polars()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(frame(server.url)).shape
        (10, 8)
        """
        return await _to_thread((await self._rest()).to_polars, decimals, scale)

    async def to_arrow(self, *, decimals: _Frame = "float", scale: int | None = None) -> pa.Table:
        """All remaining rows as a pyarrow table; parameters are those of :meth:`OrderIterator.to_arrow`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def table(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.iter_orders("BTC", max_rows=10).to_arrow()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(table(server.url)).shape
        (10, 8)
        """
        return await _to_thread((await self._rest()).to_arrow, decimals, scale)

    async def to_parquet(self, path: str | os.PathLike[str], *, decimals: _Frame = "float") -> int:
        """Write all remaining rows to a Parquet file, on another thread.

        Parameters and result are those of :meth:`OrderIterator.to_parquet`.

        Examples
        --------
        >>> import asyncio, os, tempfile
        >>> import liqdata
        >>> async def save(url, file):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.iter_orders("BTC", max_rows=10).to_parquet(file)
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(save(server.url, os.path.join(tempfile.mkdtemp(), "orders.parquet")))
        10
        """
        import asyncio

        exact = choice(decimals, "decimals", ("float", "decimal")) == "decimal"
        rows = 0
        with atomic_write(path) as unfinished:
            file = _core.ParquetFile(unfinished, exact, self._groups)
            while (table := await self._table()) is not None:
                await asyncio.to_thread(file.write, table)
                rows += len(table)
            await asyncio.to_thread(file.close)
        return rows

    async def _table(self) -> _core.Table | None:
        while (table := self._buffer.table()) is None:
            if not await self._more():
                return None
        return table


async def _to_thread(export: Callable[..., F], decimals: _Pandas, scale: int | None) -> F:
    """Call an export on another thread, because large frames would block the event loop."""
    import asyncio

    return await asyncio.to_thread(export, decimals=decimals, scale=scale)


def at_most(following: Following, most: int | None) -> Following:
    """Limit successive tables to a total number of rows."""
    given = 0
    found: _core.Table | None = None

    def table() -> _core.Table | None:
        nonlocal given, found
        if most is not None and given >= most:
            return None
        # A table that was fetched but not returned, because of an interrupt, is returned now.
        found = following() if found is None else found
        if found is None:
            return None
        rows = len(found) if most is None else min(len(found), most - given)
        part = found.slice(0, 1, rows)
        found, given = None, given + rows
        return part

    return table


def pages(page_of: Callable[[int], _core.Table], chunk: int, start: int | None, end: int | None) -> Following:
    """Read successive pages of ``chunk`` rows from a feed that does not change during the walk."""
    offset = 0
    ended = False

    def page() -> _core.Table | None:
        nonlocal offset, ended
        while not ended:
            found = page_of(offset)
            read = len(found)
            if start is not None or end is not None:
                found = _within(found, start, end)
            some = len(found) > 0
            # Set last, so that after an interrupt the same page is read again.
            offset, ended = offset + read, read < chunk
            if some:
                return found
        return None

    return page


def turned(following: Following) -> Following:
    """The rows of a walk in the reverse order: the first call reads all of them."""
    tables: list[_core.Table] | None = None

    def table() -> _core.Table | None:
        nonlocal tables
        if tables is None:
            tables = list(iter(following, None))
        if not tables:
            return None
        last = tables.pop()
        return last.slice(len(last) - 1, -1, len(last))

    return table


def _within(table: _core.Table, start: int | None, end: int | None) -> _core.Table:
    """The rows from ``start`` (inclusive) to ``end`` (exclusive) of a table sorted newest first."""
    ages = [-time for time in table.objects("timestamp", "decimal")]
    first = 0 if end is None else bisect_right(ages, -end)
    last = len(ages) if start is None else bisect_right(ages, -start)
    return table.slice(first, 1, max(last - first, 0))
