"""Safe opening of files in an archive's folder: only plain files, never links.

The folder may come from somebody else. A link could point at a private file of the user, and opening a pipe blocks.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from liqdata.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_plain", "naming_failures", "open_file", "read_file", "read_text"]

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
            raise _refused(path, "it is a link; files and folders of an archive must not be links")
    path /= last
    try:
        file = os.open(path, flags | _CAREFULLY, 0o644)
    except FileNotFoundError:
        raise
    except OSError as error:
        if path.is_symlink():
            raise _refused(path, "it is a link; files and folders of an archive must not be links") from None
        if path.exists() and not path.is_file():
            raise _refused(path, "it is not a regular file") from None
        raise ArchiveError(f"{path}: {error.strerror}", path=str(path)) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _refused(path, "it is not a regular file")
    return file


def read_file(folder: Path, name: str) -> bytes:
    """The bytes of the file ``name`` below ``folder``; raises the errors of :func:`open_file`."""
    with open(open_file(folder, name), "rb") as file:
        try:
            return file.read()
        except OSError as error:
            path = folder / name
            raise ArchiveError(f"{path}: {error.strerror}", path=str(path)) from None


@contextmanager
def naming_failures(file: str | Path, *errnos: int, hint: str = "") -> Iterator[None]:
    """Turn an ``OSError`` in the block into an :class:`~liqdata.ArchiveError` that names ``file``.

    With ``errnos`` only errors with one of these numbers are turned. ``hint`` follows the message.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, ArchiveError) or (errnos and error.errno not in errnos):
            raise
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ArchiveError(f"{file}: {why}{hint}", path=str(file)) from None


def check_plain(file: str | Path) -> None:
    """Check that ``file``, which the user names, is a plain file or a link to one.

    Anything else is refused before it is opened, because opening a pipe blocks and a device may have no end.

    Raises
    ------
    OSError
        If it is none, or does not exist.
    """
    mode = Path(file).stat().st_mode
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "no plain file")
        raise OSError(errno.EINVAL, f"it is {kind}", str(file))


_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)


def read_text(file: Path) -> str:
    """The text of a file that the user names; raises the errors of :func:`check_plain`."""
    check_plain(file)
    return file.read_text(encoding="utf-8")


def _refused(path: Path, why: str) -> ArchiveError:
    return ArchiveError(f"{path}: {why}", path=str(path))
