"""Atomic writes: a file appears under its name only when it is complete."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from liqdata.calls.arguments import anchored
from liqdata.errors import BadQuery

from .safe_open import naming_failures

if TYPE_CHECKING:
    from collections.abc import Iterator


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write to a temporary file that replaces ``path`` if the block succeeds, and is removed otherwise.

    A symbolic link stays, and the file that it names is replaced. A device or a pipe gets a copy of the temporary file:
    a writer that fails may remove the path that it was given.

    Parameters
    ----------
    path : str or path-like
        The final path.

    Yields
    ------
    pathlib.Path
        The path to write to.

    Raises
    ------
    ArchiveError
        If there is no space for the file.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        msg = f"path: {path!r} is not allowed; allowed: the path of a file"
        raise BadQuery(msg, parameter="path")
    file = Path(anchored(os.fspath(path), "path"))
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; allowed: the path of a file")
    if file.exists() and not file.is_file():
        with naming_failures(file, *_NO_SPACE), TemporaryDirectory() as folder:
            whole = Path(folder) / "whole"
            whole.touch()
            yield whole
            with whole.open("rb") as source, file.open("wb") as target:
                shutil.copyfileobj(source, target)
        return
    file = file.resolve()
    if not file.parent.is_dir():
        msg = f"there is no folder {file.parent} for {file.name}; allowed: a file in an existing folder"
        raise FileNotFoundError(msg)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}-{secrets.token_hex(4)}.unfinished")
    with naming_failures(file, *_NO_SPACE):
        unfinished.touch(exist_ok=False)
        try:
            yield unfinished
            unfinished.replace(file)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
