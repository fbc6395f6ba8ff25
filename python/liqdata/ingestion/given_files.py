"""Files that the caller names. Each is read directly, or from an unpacked temporary copy."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import BadQuery
from liqdata.files.safe_open import naming_failures

from . import known_json
from .known_parquet import converted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

STANDARD_INPUT = "-"
"""The file name that stands for the standard input."""

FEATHER = "feather"
"""The content of Feather files of version 1, which only pyarrow reads."""

PACKED = {"xz": ".xz", "bzip2": ".bz2"}
"""Kinds of content that Python's standard library unpacks, and the ending of such file names."""

ARROW_PACKED = {"lz4": ".lz4", "zstd": ".zst"}
"""Kinds of content that pyarrow unpacks here, and the ending of such file names; of zstd only around Parquet."""

LZ4 = b"\x04\x22\x4d\x18"
"""The first bytes of an lz4 frame."""

PIECE = 1 << 20
"""Number of bytes that are copied at a time."""

LEFT_FREE = 1 << 30
"""Number of bytes of disk space that must remain free while copying."""


@dataclass(frozen=True)
class GivenFile:
    """A file that the caller names."""

    name: str
    """The name that the caller gives; messages use it."""
    path: str
    """Path of the file to read: the named file, or a temporary copy."""


def open_given(
    name: str,
    scratch: ExitStack,
    exchange: str | None = None,
    *,
    path: str | None = None,
    is_sized: bool = False,
    format: str | None = None,
    symbol: str | None = None,
) -> GivenFile:
    """Detect the content of a file, and unpack or convert it if needed.

    Copies are removed when ``scratch`` closes. ``exchange``, ``format`` and ``symbol`` are those that the caller
    names, ``is_sized`` says whether the caller gives the size of contracts, and ``path`` where the file is, by default
    under its name.
    """
    path = path or name
    if name == STANDARD_INPUT:
        path = str(_scratch(scratch) / "standard-input")
        if sys.stdin is None:
            raise _refused(name, "there is no standard input")
        _copy(sys.stdin.buffer, path, name)
    content = content_of(path)
    if content in PACKED or content in ARROW_PACKED:
        # Keep the name without its ending, because symbol, interval and date are read from it.
        packed, path = path, str(_scratch(scratch) / Path(path).name.removesuffix({**PACKED, **ARROW_PACKED}[content]))
        unpack(content, packed, path, name)
        content = content_of(path)
        if content in PACKED or content in ARROW_PACKED:
            raise _refused(name, "it is packed twice; allowed: the same unpacked")
    if content == FEATHER:
        old, path = path, str(_scratch(scratch) / Path(path).name)
        _convert(old, path, name)
    if content == "parquet":
        path = converted(path, name, exchange, lambda: _scratch(scratch), is_sized=is_sized)
    elif content in {"text", "other"}:
        path = known_json.converted(path, name, exchange, lambda: _scratch(scratch), format=format, symbol=symbol)
    return GivenFile(name, path)


def content_of(path: str) -> str:
    """The kind of a file's content, as of the Rust core, or ``"lz4"``.

    Zstd is ``"zstd"`` only around Parquet, because the Rust core reads it around text.
    """
    content = _core.file_content(path)
    if content == "other":
        with open(path, "rb") as file:  # noqa: PTH123 - a Path drops the slash behind a name that is no folder's
            return "lz4" if file.read(4) == LZ4 else content
    is_around_parquet = content == "zstd" and ".parquet" in Path(path).name.lower()
    return content if content != "zstd" or is_around_parquet else "text"


def _scratch(scratch: ExitStack) -> Path:
    """Create a temporary folder for a copy."""
    return Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="liqdata-")))


def unpack(content: str, source: str, target: str, name: str) -> None:
    """Write the unpacked file to ``target``."""
    if content in ARROW_PACKED:
        with unpacked(source, content, name) as stream:
            _copy(stream, target, name)
        return
    try:
        library = import_module({"xz": "lzma", "bzip2": "bz2"}[content])
    except ImportError:
        raise _refused(name, f"it is {content}, which this Python cannot unpack; allowed: the same unpacked") from None
    fault = getattr(library, "LZMAError", EOFError)
    with library.open(source, "rb") as stream:
        _copy(stream, target, name, fault)


def unpacked(source: str, content: str, name: str) -> Any:
    """The content of a file that is packed by lz4 or zstd, as a stream of pyarrow."""
    try:
        import pyarrow as pa
    except ImportError:
        allowed = f'{content} -d, or pyarrow (pip install "liqdata[arrow]")'
        raise _refused(name, f"it is {content}, which needs a library to be unpacked; allowed: {allowed}") from None
    return pa.CompressedInputStream(pa.OSFile(source), content)


def _convert(source: str, target: str, name: str) -> None:
    """Write a Feather file of version 1 as one of version 2."""
    try:
        import pyarrow as pa
        from pyarrow import feather
    except ImportError:
        allowed = "the same as Feather of version 2, or pyarrow (pip install pyarrow)"
        raise _refused(name, f"it is a Feather file of version 1; allowed: {allowed}") from None
    try:
        table = feather.read_table(source)
    except (OSError, pa.ArrowException) as error:
        raise _refused(name, f"it cannot be read as Feather: {error}") from None
    with naming_failures(target):
        feather.write_feather(table, target)


def _copy(source: IO[bytes], target: str, name: str, fault: type[Exception] = EOFError) -> None:
    """Copy bytes to a file; refuse the file if the disk space becomes too small.

    ``fault`` is what reading damaged bytes raises, besides ``EOFError`` and ``OSError``.
    """

    def pieces() -> Iterator[bytes]:
        try:
            while piece := source.read(PIECE):
                yield piece
        except (EOFError, OSError, fault) as error:
            raise _refused(name, f"it is cut short or damaged ({error}); allowed: the whole file") from None

    with naming_failures(target), Path(target).open("wb") as copy:
        for piece in pieces():
            if shutil.disk_usage(os.path.dirname(target)).free < LEFT_FREE:  # noqa: PTH120 - a text is needed
                raise _refused(name, f"it does not fit {target}; allowed: a file that leaves 1 GiB of disk space free")
            copy.write(piece)


def _refused(name: str, why: str) -> BadQuery:
    return BadQuery(f"files: {name}: {why}", parameter="files")
