"""Safe opening of files in an archive's folder: only plain files, never links.

The folder may come from somebody else. A link could point at a private file of the user, and opening a pipe blocks.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from liqdata.errors import ArchiveError

__all__ = ["open_file", "read_file"]

_CAREFULLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


def open_file(folder: Path, name: str, flags: int = os.O_RDONLY) -> int:
    """Open the file ``name`` below ``folder``.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ArchiveError
        If the file or a folder on its path is a link, or if it is not a plain file or cannot be opened.
    """
    *parents, last = Path(name).parts
    path = folder
    for parent in parents:
        path /= parent
        if path.is_symlink():
            raise _refused(path, "it is a link, and an archive's files and folders are none")
    path /= last
    try:
        file = os.open(path, flags | _CAREFULLY, 0o644)
    except FileNotFoundError:
        raise
    except OSError as error:
        if path.is_symlink():
            raise _refused(path, "it is a link, and an archive's files and folders are none") from None
        if path.exists() and not path.is_file():
            raise _refused(path, "it is no plain file") from None
        raise ArchiveError(f"{path}: {error.strerror}", path=str(path)) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _refused(path, "it is no plain file")
    return file


def read_file(folder: Path, name: str) -> bytes:
    """The bytes of the file ``name`` below ``folder``; raises the errors of :func:`open_file`."""
    with open(open_file(folder, name), "rb") as file:
        try:
            return file.read()
        except OSError as error:
            path = folder / name
            raise ArchiveError(f"{path}: {error.strerror}", path=str(path)) from None


def _refused(path: Path, why: str) -> ArchiveError:
    return ArchiveError(f"{path}: {why}", path=str(path))
