"""Files as the caller names them, and what is read of each: itself, or an unpacked copy."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING

from liqdata import _core
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from contextlib import ExitStack

STANDARD_INPUT = "-"
"""The name of the standard input among files."""

TABLES = {"parquet", "arrow", "arrow_stream", "feather"}
"""Contents that are read by columns."""

PACKED = {"xz": ".xz", "bzip2": ".bz2"}
"""Contents that the standard library unpacks, and the ending of their names."""

PIECE = 1 << 20
"""Bytes that are copied at once."""

LEFT_FREE = 1 << 30
"""Bytes of disk space that a copy leaves free."""


@dataclass(frozen=True)
class GivenFile:
    """A file of the caller."""

    name: str
    """The name that the caller gives, which messages use."""
    path: str
    """The file that is read."""
    content: str

    @property
    def is_table(self) -> bool:
        """Whether it is read by columns, not by rows."""
        return self.content in TABLES


def open_given(name: str, scratch: ExitStack) -> GivenFile:
    """Look at a file; copies of it last as long as ``scratch``."""
    path = name
    if name == STANDARD_INPUT:
        path = str(_scratch(scratch) / "standard-input")
        if sys.stdin is None:
            raise _refused(name, "there is no standard input")
        _copy(sys.stdin.buffer, path, name)
    content = _core.file_content(path)
    if content in PACKED:
        # The name without its ending says symbol, interval and date.
        packed, path = path, str(_scratch(scratch) / Path(path).name.removesuffix(PACKED[content]))
        _unpack(content, packed, path, name)
        content = _core.file_content(path)
        if content in PACKED:
            raise _refused(name, "it is packed twice; allowed: the same unpacked")
    return GivenFile(name, path, content)


def _scratch(scratch: ExitStack) -> Path:
    """Create a folder for a copy."""
    return Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="liqdata-")))


def _unpack(content: str, source: str, target: str, name: str) -> None:
    """Write the unpacked file to ``target``."""
    try:
        library = import_module({"xz": "lzma", "bzip2": "bz2"}[content])
    except ImportError:
        raise _refused(name, f"it is {content}, which this Python cannot unpack; allowed: the same unpacked") from None
    try:
        with library.open(source, "rb") as unpacked:
            _copy(unpacked, target, name)
    except (EOFError, OSError, getattr(library, "LZMAError", EOFError)) as error:
        raise _refused(name, f"it is cut short or damaged ({error}); allowed: the whole file") from None


def _copy(source: IO[bytes], target: str, name: str) -> None:
    """Copy bytes to a file, as long as disk space is left."""
    with Path(target).open("wb") as copy:
        while piece := source.read(PIECE):
            if shutil.disk_usage(os.path.dirname(target)).free < LEFT_FREE:  # noqa: PTH120 - a text is needed
                raise _refused(name, f"it does not fit {target}; allowed: a file that leaves 1 GiB of disk space free")
            copy.write(piece)


def _refused(name: str, why: str) -> BadQuery:
    return BadQuery(f"files: {name}: {why}", parameter="files")
