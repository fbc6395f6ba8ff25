"""Walks over all orders: written as they come, in memory that does not grow."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from liqdata._progress import bar
from liqdata._table import endpoints

from . import formats
from .asked import Asked, check
from .lines import Lines
from .mistakes import lacking, refuse
from .source import told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from liqdata.types import OrderRow
    from liqdata.walk import OrderIterator

__all__ = ["write"]

AT_ONCE = 1024
"""Rows between two looks at the bar."""

GROUP = 2**16
"""Rows of one group of a Parquet file."""


def write(asked: Asked, of: Any, *, everything: bool) -> None:
    """Walk the orders and write them as they are wanted.

    Parameters
    ----------
    asked : Asked
        The question. Its ``limit`` is the most rows; of a walk over everything there is none unless it is given.
    of
        Who is asked.
    everything : bool
        Whether all of them are wanted, as they come; else they are an answer as any other.
    """
    arguments = dict(asked.arguments)
    if "offset" in arguments:
        refuse("offset: a walk begins at the newest order; leave it out, or --all, --start and --end", "offset")
    table = endpoints()["orders"]
    limit = next(each.default for each in table.parameters if each.name == "limit")
    most = arguments.pop("limit", None if everything else limit)
    check(of.iter_orders, asked._replace(arguments=arguments))
    walk: OrderIterator = of.iter_orders(**arguments, max_rows=most)
    form = asked.form
    if not everything:
        rows = walk._rest()  # noqa: SLF001 - the same rows without a frame library
        formats.write(asked, rows, told(of, arguments.get("as_of")), of)
    elif form.parquet is not None:
        _parquet(_counted(walk, most, shown=True), form.parquet)
        print(f"wrote {form.parquet}", file=sys.stderr)
    else:
        # A bar between rows on the same terminal would be read by nobody.
        _lines(asked, of, _counted(walk, most, shown=not sys.stdout.isatty()))


def _lines(asked: Asked, of: Any, rows: Iterator[OrderRow]) -> None:
    table = endpoints()["orders"]
    if asked.form.csv:
        formats.as_csv([column["name"] for column in table.columns], rows)
    elif asked.form.json:
        for row in rows:
            sys.stdout.write(json.dumps(row, default=formats.exact, allow_nan=False) + "\n")
    else:
        first = next(rows, None)
        lines = Lines(table)
        lines.head(asked.title, told(of, asked.arguments.get("as_of")), "newest first")
        lines.write(() if first is None else chain((first,), rows))


def _counted(walk: Iterator[OrderRow], most: int | None, *, shown: bool) -> Iterator[OrderRow]:
    """The same rows, counted by a bar on standard error where that is a terminal."""
    progress = bar(wanted=shown and sys.stderr.isatty() and find_spec("tqdm") is not None, total=most)
    try:
        while rows := list(islice(walk, AT_ONCE)):
            yield from rows
            progress.update(len(rows))
    finally:
        progress.close()


def _parquet(rows: Iterator[OrderRow], file: Path) -> None:
    """Write Parquet, group by group, with the types that :meth:`liqdata.Rows.to_arrow` gives."""
    if find_spec("pyarrow") is None:
        lacking("--parquet of a walk", "pyarrow", "arrow")
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"text": pa.string(), "decimal": pa.float64(), "time": pa.timestamp("ms", "UTC")}
    columns = endpoints()["orders"].columns
    schema = pa.schema([pa.field(column["name"], kinds[column["type"]], nullable=False) for column in columns])
    with parquet.ParquetWriter(file, schema) as writer:
        while some := list(islice(rows, GROUP)):
            arrays = [
                pa.array([_plain(row[name]) for row in some], type=schema.field(name).type)  # type: ignore[literal-required]
                for name in schema.names
            ]
            writer.write_table(pa.table(arrays, schema=schema))


def _plain(value: object) -> object:
    from decimal import Decimal

    return float(value) if isinstance(value, Decimal) else value
