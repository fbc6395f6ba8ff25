"""Parquet, Feather and Arrow IPC files, read in batches so that memory stays bounded.

All rows of a day are stored in one step, wherever they are in the file. Therefore a file that is not sorted by time is
read several times, each time for some of its days.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import BadQuery
from liqdata.frames.import_order import pandas_first

from .arrow_file import opened_arrow
from .tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .given_files import GivenFile

KINDS = {
    "orders": ({"timestamp", "symbol", "side", "price", "qty"},),
    "bars": ({"timestamp", "symbol", "open", "high", "low", "close", "volume"},),
    "open_interest": ({"timestamp", "symbol", "open_interest"}, {"timestamp", "symbol", "open_interest_usd"}),
    "positions": ({"timestamp", "symbol", "side", "liquidation_price", "value_usd"},),
}
"""For each kind of table, the columns that it needs; several sets are alternatives."""

FILLS = "hyperliquid_fills"
"""Name of the format in which a Hyperliquid node writes fills."""

RESERVOIR = {
    "address": "text",
    "coin": "text",
    "dex": "text",
    "quote_symbol": "text",
    "side": "text",
    "price": "text",
    "size": "text",
    "start_position": "text",
    "direction": "text",
    "trade_id": "number",
    "timestamp": "instant",
}
"""Columns that are read from fills in Parquet files, in addition to ``is_liquidation``, and the kind of their cells."""

BATCH = 1 << 16
"""Number of rows that are read at a time."""
TOGETHER = 1 << 16
"""Number of rows that are stored in one step, unless a single day has more."""
BUFFER = 1 << 20
"""Number of bytes of a column that are read at a time; by default pyarrow reads the column of a whole row group."""


@dataclass
class Part:
    """Rows of a file that are stored in one step."""

    rows: Any
    """An Arrow table."""
    numbers: Any
    """For each row of the table, its row number in the file."""


class ColumnFile:
    """A file of columns, read as a table of one of the :data:`KINDS` or as fills."""

    def __init__(self, file: GivenFile, name: str | None, exchange: str | None) -> None:
        self.path, self._file = file.name, file.path
        self._as_it_was = _stamp(file.path)
        pandas_first()
        if file.content == "parquet":
            self._opened = _opened_parquet(file.path, file.name)
        else:
            self._opened = opened_arrow(file.path, file.content, file.name)
        path, given = file.name, [str(column) for column in self._opened.schema_arrow.names]
        file_symbol, untraded, _ = _core.file_name(file.name)
        self.rows: int = self._opened.metadata.num_rows
        if name in (None, FILLS) and {"is_liquidation", *RESERVOIR} <= set(given):
            self.kind = FILLS
            self._columns = ["is_liquidation", *RESERVOIR]
            return
        meant = {column for column in map(_core.column, given) if column is not None}
        if "symbol" not in meant and ("coin" in meant or file_symbol is not None):
            meant.add("symbol")
        self.kind = _kind(path, name, given, meant)
        if self.kind == "bars" and untraded is not None:
            msg = f"files: {path}: its name says that it contains {untraded}; allowed: bars of trade prices"
            raise BadQuery(msg, parameter="files")
        for column in sorted(meant):
            named = [one.lower() for one in given if _core.column(one) == column]
            if (named.count(column) or len(named)) > 1:
                msg = f'files: {path}: column "{column}" is given twice; allowed: once'
                raise BadQuery(msg, parameter="files")
        if self.kind != "positions" and "exchange" not in meant and exchange is None:
            msg = f'files: {path}: nothing names the exchange of its rows; allowed: a column "exchange", or exchange='
            raise BadQuery(msg, parameter="files")
        self._columns = [column for column in given if _core.column(column) is not None]

    def fills(self) -> Iterator[str]:
        """Yield the fills that liquidated an account, in the JSON that a Hyperliquid node writes."""
        import pyarrow as pa
        from pyarrow import compute

        pandas_first()
        for _, batch in self._batches(self._columns):
            liquidated = batch.filter(compute.fill_null(batch.column("is_liquidation"), fill_value=False))
            columns = {}
            for name, what in RESERVOIR.items():
                column = liquidated.column(name)
                if what == "instant" and pa.types.is_timestamp(column.type):
                    column = column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
                columns[name] = column.cast(pa.string()) if what == "text" else column
            for row in pa.table(columns).to_pylist():
                yield _as_a_node_writes(row)

    def parts(self) -> Iterator[Part]:
        """Yield the rows in parts of whole days."""
        import numpy as np

        if self.rows <= TOGETHER or self.kind == "positions":
            yield Part(self._table([batch for _, batch in self._batches(self._columns)]), np.arange(self.rows))
            return
        days = self._days()
        counts = Counter(days.tolist())
        left = sorted(counts)
        while left:
            wanted: list[int] = []
            room = TOGETHER
            for day in left:
                if wanted and counts[day] > room:
                    break
                wanted.append(day)
                room -= counts[day]
            del left[: len(wanted)]
            numbers = np.flatnonzero((days >= wanted[0]) & (days <= wanted[-1]))
            yield Part(self._picked(numbers), numbers)

    def _days(self) -> Any:
        """The UTC day of each row, counted from 1970; 0 for a row without a time."""
        import numpy as np

        time = next(column for column in self._columns if _core.column(column) == "timestamp")
        batches = (self._table([batch]) for _, batch in self._batches([time]))
        return np.concatenate([_core.days_of(table(batch, self.kind)) for batch in batches])

    def _picked(self, numbers: Any) -> Any:
        """The rows with these numbers, in the order of the file."""
        import numpy as np
        import pyarrow as pa

        found = []
        for first, batch in self._batches(self._columns, int(numbers[0]), int(numbers[-1])):
            here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + batch.num_rows)]
            if len(here) == batch.num_rows:
                found.append(batch)
            elif len(here):
                found.append(batch.take(pa.array(here - first)))
        return self._table(found)

    def _table(self, batches: list[Any]) -> Any:
        import pyarrow as pa

        if batches:
            return pa.Table.from_batches(batches)
        pandas_first()
        schema = self._opened.schema_arrow
        return pa.schema([schema.field(name) for name in self._columns]).empty_table()

    def _batches(self, columns: list[str], first: int = 0, last: int | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the batches of the row groups that overlap these rows, each with the number of its first row."""
        import pyarrow as pa

        if _stamp(self._file) != self._as_it_was:
            raise BadQuery(f"files: {self.path}: it changed while it was read", parameter="files")
        start, last = 0, self.rows if last is None else last
        try:
            for group in range(self._opened.metadata.num_row_groups):
                end = start + self._opened.metadata.row_group(group).num_rows
                if start <= last and end > first:
                    row = start
                    for batch in self._opened.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns):
                        yield row, batch
                        row += batch.num_rows
                start = end
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.path, error) from None


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Inode, size and modification time of a file, which show whether its content changed."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened_parquet(path: str, name: str) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        what = "Parquet files are read with pyarrow (pip install pyarrow)"
        msg = f"files: {name}: {what}; allowed: the same as a table, such as bars=polars.read_parquet(…)"
        raise BadQuery(msg, parameter="files") from None
    try:
        return parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
    except (OSError, ArrowException) as error:
        raise _unreadable(name, error) from None


def _unreadable(path: str, error: Exception) -> BadQuery:
    return BadQuery(f"files: {path}: it cannot be read: {error}", parameter="files")


def _kind(path: str, name: str | None, given: list[str], columns: set[str]) -> str:
    """The kind of table that a file with these columns contains; refused if it is unclear."""
    fits = [kind for kind, needs in KINDS.items() if any(needed <= columns for needed in needs)]
    if name in fits:
        return name
    if name is None and len(fits) == 1:
        return fits[0]
    what = f"as {name}: " if name is not None else ""
    if {"long_usd", "short_usd"} <= columns:
        msg = f"files: {path}: {what}{_core.TOTALS}; allowed: the same as a table, {_core.TAKES_TOTALS}"
        raise BadQuery(msg, parameter="files")
    if name not in (None, FILLS, *KINDS):
        msg = f"files: {path}: {what}this format does not apply to a file of columns; allowed: {', '.join(KINDS)}"
        raise BadQuery(msg, parameter="files")
    what += f"its columns ({', '.join(given)}) do not match exactly one kind of table"
    if not fits or name in KINDS:
        nearest = name if name in KINDS else max(KINDS, key=lambda kind: len(KINDS[kind][0] & columns))
        lacking = [f'"{column}"' for column in sorted(KINDS[nearest][0] - columns)]
        what += f"; as {nearest} they lack {', '.join(lacking)}"
    msg = f"files: {path}: {what}; allowed: {', '.join(KINDS)}"
    raise BadQuery(msg, parameter="files")


def _as_a_node_writes(row: dict[str, Any]) -> str:
    coin, quote = row["coin"], row["quote_symbol"]
    if quote not in (None, "USDC") and coin is not None and ":" not in coin:
        coin = f"{row['dex']}:{coin}"
    fill = {
        "coin": coin,
        "px": row["price"],
        "sz": row["size"],
        "side": {"buy": "B", "sell": "A"}.get(row["side"], row["side"]),
        "time": row["timestamp"],
        "startPosition": row["start_position"],
        "dir": row["direction"] or "",
        "tid": row["trade_id"],
        "liquidation": {"liquidatedUser": row["address"]},
    }
    return json.dumps([row["address"], fill])
