"""Files below a folder, with the interface of :class:`~liqdata.cloud.objects.Objects`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from liqdata.errors import ArchiveError
from liqdata.files.safe_open import open_file, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator


class Folder:
    """The files below a folder. A file that is written is durable, and appears under its name when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = str(path)

    def below(self, name: str) -> Folder:
        """A folder in this folder."""
        return Folder(self.path / name)

    async def sizes(self) -> dict[str, int]:
        """The size of every file below the folder, in bytes."""
        return await asyncio.to_thread(self._sizes)

    def _sizes(self) -> dict[str, int]:
        found = {}
        for above, _, names in os.walk(self.path):
            for name in names:
                file = Path(above, name)
                with suppress(FileNotFoundError):  # a file may move while the folder is read
                    if not file.is_symlink():
                        found[file.relative_to(self.path).as_posix()] = file.stat().st_size
        return found

    async def length(self, path: str) -> int | None:
        """The size of a file in bytes; ``None`` if it does not exist."""
        try:
            return (self.path / path).lstat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    async def get(self, path: str, most: int = 0) -> bytes | None:
        """The bytes of a file; ``None`` if it does not exist."""
        del most
        try:
            return await asyncio.to_thread(read_file, self.path, path)
        except FileNotFoundError:
            return None

    async def sha256(self, path: str) -> str | None:
        """The SHA-256 of a file; ``None`` if it does not exist."""

        def digest() -> str:
            with self._named(path), os.fdopen(open_file(self.path, path), "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()

        try:
            return await asyncio.to_thread(digest)
        except FileNotFoundError:
            return None

    async def put(self, path: str, data: bytes, attributes: dict[str, str] | None = None) -> None:
        """Write a file, either completely or not at all. A folder has no place for attributes."""
        del attributes
        await asyncio.to_thread(self._put, path, data)

    def _put(self, path: str, data: bytes) -> None:
        file = self.path / path
        unfinished = file.with_name(f".{file.name}.{uuid.uuid4().hex}.tmp")
        with self._named(path):
            _make(file.parent)
            try:
                with unfinished.open("xb") as written:
                    written.write(data)
                    written.flush()
                    os.fsync(written.fileno())
                unfinished.replace(file)
            except BaseException:
                with suppress(OSError):
                    unfinished.unlink()
                raise
            _sync(file.parent)

    async def delete(self, path: str) -> None:
        """Delete a file, if it exists, and its folder if that is empty then."""
        with self._named(path):
            (self.path / path).unlink(missing_ok=True)
        with suppress(OSError):
            (self.path / path).parent.rmdir()

    @contextmanager
    def _named(self, path: str) -> Iterator[None]:
        """Name the file in the error of a failed call."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            where = str(self.path / path)
            raise ArchiveError(f"{where}: {error.strerror or error}", path=where) from None


def _make(folder: Path) -> None:
    """Make a folder and those above it, durably."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
