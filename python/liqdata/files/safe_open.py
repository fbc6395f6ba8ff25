"""Files in the folder of an archive, opened as what they are to be: plain ones, behind no link.

A folder may come from anybody. Behind a link may lie a file of the user's that is nobody else's business, and a pipe
lets whoever opens it wait.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from liqdata.errors import ArchiveError

__all__ = ["opened", "read"]

_CAREFULLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


def opened(folder: Path, name: str, flags: int = os.O_RDONLY) -> int:
    """Open the file ``name`` below ``folder``.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    ArchiveError
        Where it, or a folder on the way to it, is a link, or it is no plain file, or it cannot be opened.
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


def read(folder: Path, name: str) -> bytes:
    """The bytes of the file ``name`` below ``folder``; raises what :func:`opened` does."""
    with open(opened(folder, name), "rb") as file:
        try:
            return file.read()
        except OSError as error:
            path = folder / name
            raise ArchiveError(f"{path}: {error.strerror}", path=str(path)) from None


def _refused(path: Path, why: str) -> ArchiveError:
    return ArchiveError(f"{path}: {why}", path=str(path))
