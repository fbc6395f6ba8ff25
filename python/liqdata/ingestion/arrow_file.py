"""Feather and Arrow IPC files with the interface of pyarrow's Parquet files.

Record batches act as row groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class _Rows:
    num_rows: int


class ArrowFile:
    """A Feather file of either version, an Arrow IPC file or an Arrow IPC stream."""

    def __init__(self, path: str, content: str) -> None:
        import pyarrow as pa
        from pyarrow import feather, ipc

        if content == "arrow":
            # The file is memory-mapped, so only one batch at a time is read into memory.
            opened = ipc.open_file(pa.memory_map(path))
            self._batch = opened.get_batch
            self._lengths = [opened.get_batch(place).num_rows for place in range(opened.num_record_batches)]
            self.schema_arrow = opened.schema
            return
        if content == "feather":
            table = feather.read_table(path)
        else:
            with pa.memory_map(path) as source:
                table = ipc.open_stream(source).read_all()
        batches = table.to_batches()
        self._batch = batches.__getitem__
        self._lengths = [batch.num_rows for batch in batches]
        self.schema_arrow = table.schema

    @property
    def metadata(self) -> ArrowFile:
        """The object with the counts of rows, as in a Parquet file."""
        return self

    @property
    def num_rows(self) -> int:
        """Number of rows in the file."""
        return sum(self._lengths)

    @property
    def num_row_groups(self) -> int:
        """Number of batches in the file."""
        return len(self._lengths)

    def row_group(self, place: int) -> _Rows:
        """An object with the number of rows in a batch, as for a row group of Parquet."""
        return _Rows(self._lengths[place])

    def iter_batches(self, *, batch_size: int, row_groups: list[int], columns: list[str]) -> Iterator[Any]:
        """Yield the rows of some batches, at most ``batch_size`` at a time, with dictionary columns as plain cells."""
        import pyarrow as pa

        for group in row_groups:
            batch = self._batch(group)
            cells = {name: _plain(batch.column(name)) for name in columns}
            whole = pa.RecordBatch.from_pydict(cells)
            for start in range(0, whole.num_rows, batch_size):
                yield whole.slice(start, batch_size)


def _plain(cells: Any) -> Any:
    """Convert a dictionary column to plain cells, as pyarrow does for Parquet; return other columns unchanged."""
    return cells.dictionary_decode() if hasattr(cells, "dictionary_decode") else cells


def opened_arrow(path: str, content: str, name: str) -> ArrowFile:
    """Open the file at ``path``; messages call it ``name``."""
    try:
        import pyarrow as pa
    except ImportError:
        what = "Feather and Arrow files are read with pyarrow (pip install pyarrow)"
        msg = f"files: {name}: {what}; allowed: the same as a table, such as bars=polars.read_ipc(…)"
        raise BadQuery(msg, parameter="files") from None
    try:
        return ArrowFile(path, content)
    except (OSError, pa.ArrowException) as error:
        msg = f"files: {name}: it cannot be read as Feather or Arrow: {error}"
        raise BadQuery(msg, parameter="files") from None
