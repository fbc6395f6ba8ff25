"""New rows of a collector's archive, read by position."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.request import pathname2url

from liqdata.cloud.manifest import JOURNAL
from liqdata.files.atomic_write import atomic_write

from .stream import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["RowSource"]

_PAGE = 1000


class RowSource:
    """The rows that a collector stored, each at least once.

    The position is the id of the last row of each table in the journal. Rows that left the journal for a file before
    they were read are read from the file. Rows of an ingest are left out.

    Only for a process without a writer of the archive: SQLite's locks belong to the process, and closing this
    connection would drop those of another SQLite library.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._state = folder / "state" / f"published-{name}.json"
        try:
            found = json.loads(self._state.read_bytes())
        except (FileNotFoundError, ValueError):
            found = {}
        self._ids: dict[str, int] = {table: found.get(table, 0) for table in TABLES}
        self._files: int = found.get("files", 0)  # epoch ms of the last file that was looked at

    def read(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield pages of new rows with their table; the position moves on when the next page is requested."""
        seen = 0
        for table in TABLES:
            while True:
                rows, ids, files, seen = self._page(table)
                for path in files:
                    yield from ((table, page) for page in self._file_pages(table, path))
                if rows:
                    yield table, rows
                self._ids[table] = ids
                if len(rows) < _PAGE:
                    break
        self._files = max(self._files, seen)
        self._save()

    def _page(self, table: str) -> tuple[list[dict[str, Any]], int, list[str], int]:
        """New rows, the id of the last one, files with rows that were not read, and the time of the newest file."""
        columns = TABLES[table]
        named = ", ".join(f'"{one}"' for one in columns)
        before = self._ids[table]
        # In one transaction each row is in the journal or in a file.
        with closing(self._connected()) as journal:
            found = journal.execute(
                f"SELECT id, ingest IS NULL, {named} FROM {table} WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608 - constants
                (before, _PAGE),
            ).fetchall()
            given = journal.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
            seen = journal.execute("SELECT max(rolled_at) FROM manifest").fetchone()[0] or 0
            last = found[-1][0] if len(found) == _PAGE else max(before, given[0] if given else 0)
            files = []
            if last - before > len(found):  # some ids are not in the journal
                files = journal.execute(
                    "SELECT path FROM manifest WHERE holds = ? AND ingest IS NULL AND rolled_at >= ?",
                    (table, self._files),
                ).fetchall()
        rows = [dict(zip(columns, row[2:], strict=True)) for row in found if row[1]]
        return rows, last, [path for (path,) in files], seen

    def _connected(self) -> sqlite3.Connection:
        address = f"file:{pathname2url(str(self._folder / JOURNAL))}?mode=ro"
        journal = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30)
        journal.execute("BEGIN")
        return journal

    def _file_pages(self, table: str, path: str) -> Iterator[list[dict[str, Any]]]:
        import pyarrow.parquet as pq

        interval = path.split("/")[1].removeprefix("interval=") if table == "bars" else None
        with closing(pq.ParquetFile(self._folder / path)) as file:
            for batch in file.iter_batches(_PAGE):
                yield [_row(table, row, interval) for row in batch.to_pylist()]

    def _save(self) -> None:
        state = {**self._ids, "files": self._files}
        self._state.parent.mkdir(exist_ok=True)
        with atomic_write(self._state) as unfinished:
            unfinished.write_text(json.dumps(state), encoding="utf-8")


def _row(table: str, row: dict[str, Any], interval: str | None) -> dict[str, Any]:
    """A row of a file with the cells that the journal has."""
    from liqdata.calls.arguments import length, millis_of

    row |= {} if interval is None else {"interval": length(interval)}
    found = {name: row[name] for name in TABLES[table]}
    return {name: millis_of(cell) if hasattr(cell, "tzinfo") else _plain(cell) for name, cell in found.items()}


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | None) else format(cell.normalize(), "f")
