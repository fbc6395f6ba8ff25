"""Archives from object storage: what is behind an address, as an archive in the folder of a cache.

For each address the cache has the files that were fetched (``files``), and a folder for each list of them that was met.
Such a folder is an archive by itself, its files second names of those in ``files``. It never changes but for files that
were damaged, so whoever reads one stays right while another is made; one that nobody reads goes with the next.
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
from liqdata.calls.progress import bar
from liqdata.errors import ArchiveError

from .objects import Objects, each, run
from .upload import JOURNAL, File, Lists, Told, lists_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from liqdata.types import Progress

_LONGEST = 1 << 40  # bytes of a file that stands for one whose length alone tells that it is damaged
_WAIT = 0.1  # seconds between two looks whether another process has let go


class Mirror:
    """An archive of the cache; it stays as long as this does."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    def close(self) -> None:
        """Let go of the folder."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    __del__ = close


class _Fetched(NamedTuple):
    mirror: Mirror
    damaged: list[str]


def cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    """Where mirrors are kept: ``cache``, or the user's own folder of caches."""
    if cache is not None:
        return Path(os.fspath(cache))
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "liqdata"


def mirrored(
    addresses: Sequence[str], *, cache: str | os.PathLike[str] | None, start: int | None, progress: Progress
) -> Mirror:
    """What is behind addresses as one archive on this machine, fetched as far as it is not here yet."""
    root = cache_folder(cache)

    async def work(goes_on: Callable[[], bool]) -> Mirror:
        named = [one for address in addresses for one in await _named(address)]
        fetched: list[_Fetched] = []
        try:
            for address in named:
                fetched.append(await _fetched(root, address, start, progress=progress))  # noqa: PERF401 - a failure leaves those before it to be closed
            if len(fetched) == 1:
                return fetched.pop().mirror
            return await _merged(root, named, fetched, goes_on, progress=progress)
        finally:
            for one in fetched:
                one.mirror.close()

    return run(work)


async def _named(address: str) -> list[str]:
    """The addresses that one means: with ``*`` as its last name all one level below that hold an archive."""
    if not address.endswith("/*"):
        return [address]
    above = address.removesuffix("/*")
    below = await Objects(above).below()

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
    async with _alone(base, address):
        folder = base / name
        if not folder.exists():
            with _unfinished(base) as scratch:
                whole = scratch / "whole"
                whole.mkdir(parents=True)
                (whole / JOURNAL).write_bytes(journal)
                await _told(_core.archive_lists, whole, address, str(whole))
                if start is not None:
                    cut = scratch / "cut"
                    await _told(_core.copy_lists, whole, address, str(whole), str(cut), start, None, [])
                    whole = cut
                whole.rename(folder)
        mirror = Mirror(folder, _held(folder))
        lists = await _told(_core.archive_lists, folder, address, str(folder))
        damaged = await _files(objects, base / "files", folder, [file for file in lists.files if file.kept], progress)
        _prune(base, folder)
    return _Fetched(mirror, damaged)


async def _told(ask: Callable[..., Told], folder: Path, address: str, *arguments: object) -> Lists:
    """Lists of a journal that was fetched; what is wrong with it is told of the object."""
    try:
        return lists_of(await asyncio.to_thread(ask, *arguments))
    except ArchiveError as error:
        where = f"{address}/{JOURNAL}"
        raise ArchiveError(str(error).replace(str(folder / JOURNAL), where), path=where) from None


async def _files(objects: Objects, pool: Path, folder: Path, files: list[File], progress: Progress) -> list[str]:
    """Fetch what is not there yet, and give every file its name in the folder; those are told that are not sound."""
    new = [file for file in files if not _has_length(pool / file.path, file.bytes)]
    shown = bar(wanted=progress, total=len(new), what="files", unit=" files")

    async def fetch(file: File) -> bool:
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
            _link(pool / file.path, folder / file.path)
    return sorted(damaged)


async def _one(objects: Objects, pool: Path, folder: Path, file: File) -> bool:
    """Fetch a file; one that is damaged goes into the folder as it is, where every read names it."""
    length = await objects.length(file.path)
    if length == file.bytes:
        data = await objects.get(file.path, file.bytes)
        good = await asyncio.to_thread(_is, data, file)
        if data is not None and not good:
            data = await objects.get(file.path, file.bytes)  # damaged there, or only on its way?
            good = await asyncio.to_thread(_is, data, file)
        if data is not None:
            await asyncio.to_thread(_place, (pool if good else folder) / file.path, data)
            return good
        length = None
    if length is None:
        (folder / file.path).unlink(missing_ok=True)
    else:
        # Its length alone tells that it is not what was written, so nothing of it is needed.
        _place(folder / file.path, b"", length)
    return False


def _is(data: bytes | None, file: File) -> bool:
    return data is not None and hashlib.sha256(data).hexdigest() == file.sha256


def _place(path: Path, data: bytes, length: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            if length is not None:
                # Any length may be told of an object; one that no file can have is cut.
                file.truncate(min(length, _LONGEST))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _link(source: Path, target: Path) -> None:
    """Give a file a second name; where the system cannot, a copy."""
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
    """Several archives of the cache as one of its own."""
    base = root / _digest("\n".join(addresses).encode())
    # What is merged of a damaged file differs from what is merged once it is sound.
    parts = [f"{one.mirror.folder}\n{one.damaged}" for one in fetched]
    folder = base / _digest("\n".join(parts).encode())
    async with _alone(base, "\n".join(addresses)):
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
        mirror = Mirror(folder, _held(folder))
        _prune(base, folder)
    return mirror


def _digest(of: bytes) -> str:
    return hashlib.sha256(of).hexdigest()[:24]


@contextmanager
def _unfinished(base: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, unless it got a name."""
    scratch = base / f".{uuid.uuid4().hex}.tmp"
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@asynccontextmanager
async def _alone(base: Path, address: str) -> AsyncIterator[None]:
    """Being the only one of all processes that changes a folder of the cache."""
    try:
        base.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - the loop is this work's own
        (base / "address").write_text(f"{address}\n", encoding="utf-8")
        lock = os.open(base / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        msg = f"{base}: {error.strerror}; name another folder: cache="
        raise ArchiveError(msg, path=str(base)) from None
    try:
        while not _taken(lock, fcntl.LOCK_EX):  # noqa: ASYNC110 - another process has it
            await asyncio.sleep(_WAIT)
        yield
    finally:
        os.close(lock)


def _taken(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _held(folder: Path) -> int:
    """A lock on a folder that is in use, beside others who use it."""
    lock = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return lock


def _prune(base: Path, used: Path) -> None:
    """Remove the folders that nobody uses, and what was never finished."""
    for folder in base.iterdir():
        if folder in {used, base / "files"} or not folder.is_dir():
            continue
        if folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
            continue
        lock = folder.with_name(f"{folder.name}.lock")
        held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if _taken(held, fcntl.LOCK_EX):
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)
        finally:
            os.close(held)
