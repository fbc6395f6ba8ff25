"""The record of completely stored files, so that a repeated ingest skips them.

The record has a line of JSON per file, written as soon as all rows of the file are stored. A line is valid only if no
row of the file was refused, because a refused row may be accepted later, and while the following are unchanged: the
path, length and modification time of the file, the options of the ingest, the version of liqdata, and the archive. The
archive must also have all rows that the ingest had stored when the file was finished, all its files, and no folder of
damaged files.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.cloud.manifest import JOURNAL, ArchiveFile, manifest_of
from liqdata.errors import ArchiveError
from liqdata.files.safe_open import naming_failures, open_file, read_file

from .given_files import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FINISHED = "finished.jsonl"
"""Name of the file in the archive's folder that contains this record."""

DAMAGED = "damaged"
SUM = "sum"
COUNTS = ("rows", "refused", "first", "files")
FIELDS = {"file", "of", "ingest", "stored", *COUNTS}


class Finished:
    """The record of finished files, for the files of one ingest."""

    def __init__(self, folder: str, files: Iterable[str], asked: Mapping[str, object]) -> None:
        self._folder = Path(folder)
        self._asked = {**asked, "version": _core.__version__}
        # Sizes and times are read before the files: a file that changes during the ingest then does not match.
        self._signs = {_normal(file): self._sign(file) for file in files}
        self._lines: dict[str, dict[str, Any]] | None = None

    def known(self, file: str) -> dict[str, Any] | None:
        """The recorded outcome of a file that has not changed.

        ``None`` for a file without a valid line.
        """
        sign = self._signs[_normal(file)]
        if self._lines is None:
            self._lines = self._read()
        line = self._lines.get(os.path.realpath(file))
        if sign is None or line is None or line["of"] != {**sign, "archive": self._archive()}:
            return None
        return {name: line[name] for name in COUNTS}

    def add(self, file: str, outcome: Mapping[str, object]) -> None:
        """Record a file of which all rows are stored."""
        sign = self._signs[_normal(file)]
        # Without any accepted row the folder of the archive was not created.
        if sign is None or self._sign(file) != sign or not self._folder.exists():
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        of = {**sign, "archive": self._archive()}
        add_line(self._folder, FINISHED, {"at": at, "file": os.path.realpath(file), "of": of, **outcome})

    def _sign(self, file: str) -> dict[str, object] | None:
        if file == STANDARD_INPUT:
            return None
        try:
            found = os.stat(file)  # noqa: PTH116 - a Path drops the slash behind a name that is no folder's
        except OSError:
            return None
        return {"bytes": found.st_size, "modified_ns": found.st_mtime_ns, **self._asked}

    def _archive(self) -> list[int] | None:
        """Device and inode of the archive's journal; another archive at the same path has others."""
        try:
            found = (self._folder / JOURNAL).stat()
        except OSError:
            return None
        return [found.st_dev, found.st_ino]

    def _read(self) -> dict[str, dict[str, Any]]:
        found = lines_of(self._folder, FINISHED, summed=True)
        stored = ingested_rows(str(self._folder)) if found else {}
        whole = [line for line in found if set(line) >= FIELDS and not line["refused"]]
        # An older copy of the archive may lack the ingest, or rows that it stored until the file was finished.
        rows = {id: count for id, count in stored.items() if count is not None}
        lines = {line["file"]: line for line in whole if rows.get(line["ingest"], -1) >= line["stored"]}
        return lines if lines and self._is_whole() else {}

    def _is_whole(self) -> bool:
        """Whether the archive has all its files.

        Otherwise the ingested files must be read again to restore rows.
        """
        if (self._folder / DAMAGED).exists():
            return False
        try:
            files = manifest_of(_core.archive_lists(str(self._folder))).files
            return all(file.is_sound and self._length(file) == file.bytes for file in files)
        except (ArchiveError, OSError):
            return False

    def _length(self, file: ArchiveFile) -> int | None:
        """The size of a file in bytes; ``None`` if it is missing."""
        for place in file.places:
            with suppress(FileNotFoundError):
                return (self._folder / place).stat().st_size
        return None


def _normal(file: str) -> str:
    """The path in the spelling of the Rust core, which returns ``x`` for ``./x``."""
    return os.fspath(Path(file))


def ingested_rows(folder: str) -> dict[str, int | None]:
    """Number of new rows of each ingest; ``None`` if the archive no longer has all, because an ingest was undone."""
    try:
        return _core.ingested_rows(folder)
    except ArchiveError:
        # The error is reported later, when the archive is opened for writing.
        return {}


def lines_of(folder: Path, name: str, *, summed: bool = False) -> list[dict[str, Any]]:
    """The undamaged lines of a record; truncated and damaged lines are left out.

    With ``summed``, lines without a checksum are left out as well.
    """
    try:
        text = read_file(folder, name)
    except FileNotFoundError:
        return []
    found, damaged = [], 0
    for line in text.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            damaged += bool(line.strip())
            continue
        if not isinstance(record, dict):
            continue
        known = record.pop(SUM, None)
        if known == _sum(record) or (known is None and not summed):
            found.append(record)
        else:
            damaged += known is not None
    if damaged:
        logging.getLogger("liqdata.archive").warning("%s: %d damaged lines are left out", folder / name, damaged)
    return found


def add_line(folder: Path, name: str, line: Mapping[str, object]) -> None:
    """Append a line to a record.

    If the last line is truncated, start a new line first.

    Nothing is recorded if the folder does not exist, because every row was refused.
    """
    if not folder.is_dir():
        return
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    with naming_failures(folder / name), os.fdopen(open_file(folder, name, flags), "a+b") as record:
        end = record.seek(0, os.SEEK_END)
        if end:
            record.seek(end - 1)
            if record.read(1) != b"\n":
                record.write(b"\n")
        text = json.dumps(line)
        record.write(f'{text[:-1]}, "{SUM}": {zlib.crc32(text.encode())}}}\n'.encode())


def _sum(line: Mapping[str, object]) -> int:
    return zlib.crc32(json.dumps(line).encode())
