"""Local mirrors: copies in the download cache of archives in object storage.

The cache has a folder per address. Its subfolder ``files`` contains the downloaded files. Each version of the archive's
journal has another subfolder, which is a complete archive: it has the journal, and hard links to files in ``files``. A
version does not change, except that damaged files are replaced, so a download of a newer version does not disturb its
readers. When a new version is made, versions without readers are removed.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import uuid
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from liqdata import _core
from liqdata.calls.arguments import anchored
from liqdata.calls.progress import bar
from liqdata.errors import ArchiveError, BadQuery
from liqdata.files.safe_open import naming_failures

from .manifest import JOURNAL, ArchiveFile, Manifest, NativeManifest, manifest_of
from .objects import Objects, each, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from liqdata.types import Progress

_LONGEST = 1 << 40  # maximum size in bytes of a placeholder for a file with a wrong length
_OTHER = "; free disk space, or name another folder: cache="
_WAIT = 0.1  # seconds between two attempts to take a lock


class Mirror:
    """A version of an archive in the cache, which is not removed before it is closed."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    def close(self) -> None:
        """Release the lock on the folder."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    __del__ = close


class _Fetched(NamedTuple):
    mirror: Mirror
    damaged: list[str]


def cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    """The folder of the mirrors: ``cache``, or a folder in the user's cache folder."""
    if cache is not None:
        return Path(anchored(os.fspath(cache), "cache"))
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "liqdata"
    except RuntimeError:
        msg = (
            "cache: this user has no home folder for the copies of the archive; give cache= a folder, or set "
            "XDG_CACHE_HOME or HOME to one"
        )
        raise BadQuery(msg, parameter="cache") from None


def mirrored(
    addresses: Sequence[str], *, cache: str | os.PathLike[str] | None, start: int | None, progress: Progress
) -> Mirror:
    """Download the parts of archives that are not in the cache, and merge several archives into one."""
    root = cache_folder(cache)

    async def work(goes_on: Callable[[], bool]) -> Mirror:
        named = [one for address in addresses for one in await _expanded(address)]
        fetched: list[_Fetched] = []
        try:
            for address in named:
                fetched.append(await _fetched(root, address, start, progress=progress))  # noqa: PERF401 - after a failure, `finally` closes the earlier ones
            if len(fetched) == 1:
                return fetched.pop().mirror
            return await _merged(root, named, fetched, goes_on, progress=progress)
        finally:
            for one in fetched:
                one.mirror.close()

    return run(work)


async def _expanded(address: str) -> list[str]:
    """Expand ``*`` at the end of an address to all archives one level below."""
    if not address.endswith("/*"):
        return [address]
    above = address.removesuffix("/*")
    below = await Objects(above).prefixes()

    async def holds(one: str) -> bool:
        return await Objects(one).length(JOURNAL) is not None

    found = [one for one, yes in zip(below, await each(below, holds), strict=True) if yes]
    if not found:
        msg = f"{above} has no archive one level below it"
        raise ArchiveError(msg, path=address)
    return found


async def _fetched(root: Path, address: str, start: int | None, *, progress: Progress) -> _Fetched:
    objects = Objects(address)
    journal = await objects.get(JOURNAL)
    if journal is None:
        msg = f"{address} is not an archive: there is no {JOURNAL} in it"
        raise ArchiveError(msg, path=address)
    base = root / _digest(address.encode())
    name = _digest(journal) + ("" if start is None else f"-{start}")
    async with _exclusive(base, address):
        folder = base / name
        if not folder.exists():
            with _unfinished(base) as scratch:
                whole = scratch / "whole"
                with naming_failures(whole / JOURNAL, hint=_OTHER):
                    whole.mkdir(parents=True)
                    (whole / JOURNAL).write_bytes(journal)
                await _manifest(_core.archive_lists, whole, address, str(whole))
                if start is not None:
                    cut = scratch / "cut"
                    await _manifest(_core.export_journal, whole, address, str(whole), str(cut), start, None, [])
                    whole = cut
                whole.rename(folder)
        mirror = Mirror(folder, _shared_lock(folder))
        manifest = await _manifest(_core.archive_lists, folder, address, str(folder))
        damaged = await _files(
            objects, base / "files", folder, [file for file in manifest.files if file.is_sound], progress
        )
        _prune(base, folder)
    return _Fetched(mirror, damaged)


async def _manifest(ask: Callable[..., NativeManifest], folder: Path, address: str, *arguments: object) -> Manifest:
    """The manifest of a downloaded journal; errors name the object in storage, not the local file."""
    try:
        return manifest_of(await asyncio.to_thread(ask, *arguments))
    except ArchiveError as error:
        where = f"{address}/{JOURNAL}"
        raise ArchiveError(str(error).replace(str(folder / JOURNAL), where), path=where) from None


async def _files(objects: Objects, pool: Path, folder: Path, files: list[ArchiveFile], progress: Progress) -> list[str]:
    """Download missing files and link all undamaged files into the folder; return the damaged files."""
    new = [file for file in files if not _has_length(pool / file.path, file.bytes)]
    shown = bar(wanted=progress, total=len(new), what="files", unit=" files")

    async def fetch(file: ArchiveFile) -> bool:
        sound = await _one(objects, pool, folder, file)
        shown.update(1)
        return sound

    try:
        sound = await each(new, fetch)
    finally:
        shown.close()
    damaged = [file.path for file, good in zip(new, sound, strict=True) if not good]
    for file in files:
        if file.path not in damaged:
            _link(pool / file.path, folder / file.place)
    return sorted(damaged)


async def _one(objects: Objects, pool: Path, folder: Path, file: ArchiveFile) -> bool:
    """Download a file; return whether it is undamaged.

    A damaged file is stored in the folder unchanged, so that reading it reports the damage.
    """
    target = folder / file.place
    length = None
    for place in file.places:
        length = await objects.length(place)
        if length == file.bytes:
            data = await objects.get(place, file.bytes)
            good = await asyncio.to_thread(_is, data, file)
            if data is not None and not good:
                data = await objects.get(place, file.bytes)  # again: it may have been damaged in transit only
                good = await asyncio.to_thread(_is, data, file)
            if data is not None:
                await asyncio.to_thread(_place, pool / file.path if good else target, data)
                return good
            length = None
        if length is not None:
            break
    if length is None:
        target.unlink(missing_ok=True)
    else:
        # The wrong length proves damage, so a placeholder of that length is enough.
        _place(target, b"", length)
    return False


def _is(data: bytes | None, file: ArchiveFile) -> bool:
    return data is not None and hashlib.sha256(data).hexdigest() == file.sha256


def _place(path: Path, data: bytes, length: int | None = None) -> None:
    with naming_failures(path, hint=_OTHER):
        _placed(path, data, length)


def _placed(path: Path, data: bytes, length: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            if length is not None:
                # The storage may report any length, so limit it to a length that a file can have.
                file.truncate(min(length, _LONGEST))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _link(source: Path, target: Path) -> None:
    """Make a hard link to a file, or a copy if the system cannot link."""
    with naming_failures(target, hint=_OTHER):
        _linked(source, target)


def _linked(source: Path, target: Path) -> None:
    with suppress(OSError):
        if target.samefile(source):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        os.link(source, unfinished)
    except OSError:
        if _has_length(target, source.stat().st_size):
            return
        shutil.copyfile(source, unfinished)
    unfinished.replace(target)


def _has_length(path: Path, length: int) -> bool:
    try:
        return path.stat().st_size == length
    except OSError:
        return False


async def _merged(
    root: Path, addresses: Sequence[str], fetched: list[_Fetched], goes_on: Callable[[], bool], *, progress: Progress
) -> Mirror:
    """Merge several cached archives into a new one in the cache."""
    base = root / _digest("\n".join(addresses).encode())
    # The name of the folder includes the damaged files, because the merged archive depends on them.
    parts = [f"{one.mirror.folder}\n{one.damaged}" for one in fetched]
    folder = base / _digest("\n".join(parts).encode())
    async with _exclusive(base, "\n".join(addresses)):
        if not folder.exists():
            with _unfinished(base) as scratch:
                shown = bar(wanted=progress, total=None, what="days", unit=" days")

                def seen(_done: int, _of: int) -> None:
                    if not goes_on():
                        raise asyncio.CancelledError
                    shown.update(1)

                try:
                    folders = [str(one.mirror.folder) for one in fetched]
                    await asyncio.to_thread(_core.merge_archives, folders, str(scratch), seen)
                finally:
                    shown.close()
                scratch.rename(folder)
        mirror = Mirror(folder, _shared_lock(folder))
        _prune(base, folder)
    return mirror


def _digest(of: bytes) -> str:
    return hashlib.sha256(of).hexdigest()[:24]


@contextmanager
def _unfinished(base: Path) -> Iterator[Path]:
    """Yield the path of a temporary folder, which is removed afterwards unless it was renamed."""
    scratch = base / f".{uuid.uuid4().hex}.tmp"
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@asynccontextmanager
async def _exclusive(base: Path, address: str) -> AsyncIterator[None]:
    """Lock a folder of the cache against other processes."""
    try:
        base.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - this event loop does nothing else
        (base / "address").write_text(f"{address}\n", encoding="utf-8")
        lock = os.open(base / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        msg = f"{base}: {error.strerror}{_OTHER}"
        raise ArchiveError(msg, path=str(base)) from None
    try:
        while not _try_lock(lock, fcntl.LOCK_EX):  # noqa: ASYNC110 - another process holds it
            await asyncio.sleep(_WAIT)
        yield
    finally:
        os.close(lock)


def _try_lock(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _shared_lock(folder: Path) -> int:
    """Take a shared lock, which marks a folder as in use."""
    file = folder.with_name(f"{folder.name}.lock")
    with naming_failures(file, hint=_OTHER):
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return lock


def _prune(base: Path, used: Path) -> None:
    """Remove unused versions and unfinished downloads."""
    for folder in base.iterdir():
        if folder in {used, base / "files"} or not folder.is_dir():
            continue
        if folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
            continue
        lock = folder.with_name(f"{folder.name}.lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if _try_lock(descriptor, fcntl.LOCK_EX):
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
