"""Backup and restore: a copy of a whole archive, in a folder or in object storage."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from liqdata import _core
from liqdata.calls.arguments import anchored
from liqdata.calls.progress import bar, checked_progress
from liqdata.errors import ArchiveError, BadQuery

from .folder import Folder
from .manifest import JOURNAL, SUPERSEDED, ArchiveFile, Manifest, manifest_of
from .objects import Objects, checked, each, is_address, run
from .upload import RECORD, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from liqdata.types import Progress

Place: TypeAlias = Folder | Objects
"""Where an archive or a backup lies."""

_LOCK = "writer.lock"
# Files that are copied if there are any, besides those that the manifest lists.
_LOOSE = (RECORD, "finished.jsonl", "versions.tsv", "quarantine.jsonl", "recorder.json")
_RAW = "raw/"
_UNFINISHED = re.compile(r"(^|/)\.[^/]+\.[0-9a-f]{32}\.tmp$")
_RECORDED = re.compile(rf"recorded/([^/]+)/{re.escape(JOURNAL)}")
_NAMES = {*TABLES, *_LOOSE, SUPERSEDED, JOURNAL, "raw", "recorded"}
_TRIES = 3  # snapshots, if files of the archive are deleted while they are copied


class Copied(NamedTuple):
    """What a backup has, and what of it was copied."""

    taken_at: int
    files: int
    rows: int
    bytes: int
    sent: int
    sent_bytes: int


class _GoneError(Exception):
    """A file of the manifest does not exist any more."""


def backup(path: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress) -> tuple[str, Copied]:
    """Copy what the archive or backup at ``path`` has and ``target`` lacks; return the address of the target."""
    checked_progress(progress)
    source, there = _place(path, "path"), _place(target, "target")
    _check_apart(source, there)

    async def work(_: Callable[[], bool]) -> Copied:
        with tempfile.TemporaryDirectory(prefix="liqdata-") as scratch:
            return await _all(source, there, Path(scratch), progress)

    return there.address, run(work)


def _place(given: object, parameter: str) -> Place:
    if isinstance(given, os.PathLike) or (isinstance(given, str) and given.strip() and not is_address(given)):
        return Folder(Path(anchored(os.fspath(given), parameter)).resolve())
    address = checked(given, parameter)
    parts = urlsplit(address)
    if parts.scheme == "file":
        return Folder(Path(unquote(parts.path)).resolve())
    return Objects(address, make=True)


def _check_apart(source: Place, target: Place) -> None:
    """Refuse a target within the source, and the other way round."""
    if isinstance(source, Folder) and isinstance(target, Folder):
        is_within = source.path == target.path or source.path in target.path.parents
        is_within = is_within or target.path in source.path.parents
    else:
        is_within = source.address == target.address or f"{target.address}/".startswith(f"{source.address}/")
    if is_within:
        msg = f"target: {target.address!r} and the archive lie in each other; allowed: another folder, or an address"
        raise BadQuery(msg, parameter="target")


async def _all(source: Place, target: Place, scratch: Path, progress: Progress) -> Copied:
    """Copy an archive, and the archives of its recorded sources before it."""
    sizes = await source.sizes()
    if JOURNAL not in sizes:
        what = "is not an archive: there is no such folder"
        if sizes or (isinstance(source, Folder) and source.path.is_dir()):
            what = f"is not an archive: there is no {JOURNAL} in it"
        raise ArchiveError(f"{source.address} {what}", path=source.address)
    await _check_names(target)
    copied = []
    for name in sorted(found[1] for path in sizes if (found := _RECORDED.fullmatch(path))):
        below = f"recorded/{name}"
        copied.append(await _archive(source.below(below), target.below(below), scratch / name, progress))
    copied.append(await _archive(source, target, scratch / "archive", progress))
    return Copied(copied[-1].taken_at, *(sum(counts) for counts in list(zip(*copied, strict=True))[1:]))


async def _check_names(target: Place) -> None:
    """Refuse a target that holds something other than a backup; delete what a killed backup did not finish."""
    sizes = await target.sizes()
    if _LOCK in sizes:
        msg = (
            f"{target.address} is an archive that a process has written to, not a backup; copy to another folder, or "
            "move this one away first"
        )
        raise ArchiveError(msg, path=target.address)
    unfinished = [path for path in sizes if _UNFINISHED.search(path)]
    tops = {path.partition("/")[0] for path in sizes if path not in unfinished}
    if JOURNAL not in tops and (others := sorted(tops - _NAMES)):
        msg = f"{target.address} already contains {others[0]!r}; name a target that is empty or does not exist"
        raise ArchiveError(msg, path=target.address)
    await each(unfinished, target.delete)


async def _archive(source: Place, target: Place, scratch: Path, progress: Progress) -> Copied:
    """Copy an archive: its files first, and the journal that lists them last.

    A killed backup leaves the former journal with all its files, and a killed restore leaves no journal. The next one
    continues it.
    """
    there = await _existing(target, scratch / "there")
    missing: _GoneError | None = None
    for attempt in range(_TRIES):
        try:
            return await _attempt(source, target, there, scratch / str(attempt), progress)
        except _GoneError as gone:
            missing = gone
    path = f"{source.address}/{missing}"
    msg = f"{path} is damaged: the file is missing; run `liqdata verify` on the archive"
    raise ArchiveError(msg, path=path)


async def _attempt(source: Place, target: Place, there: Manifest | None, scratch: Path, progress: Progress) -> Copied:
    sizes = await source.sizes()
    # These files say what the journal has, so they must not be newer than it.
    given = {name: await source.get(name) for name in _LOOSE if name in sizes}
    loose = {name: data for name, data in given.items() if data is not None}
    raw = {path: size for path, size in sizes.items() if path.startswith(_RAW) and not path.endswith(".tmp")}
    journal, here = await _snapshot(source, scratch, is_live=_LOCK in sizes)
    if there is not None:
        _check_successor(target.address, there, here)
    present = await target.sizes()
    sound = [file for file in here.files if file.is_sound]
    new = await _missing(target, present, there, sound)
    grown = {path: size for path, size in raw.items() if present.get(path) != size}
    await _send(source, target, new, grown, progress)
    changed = {name: data for name, data in loose.items() if data != await target.get(name, len(data))}
    for name, data in changed.items():
        await target.put(name, data)
    # The journal is written last, when all files that it lists are there.
    await target.put(JOURNAL, journal)
    if there is not None:
        current = {file.place for file in sound} | set(raw)
        former = {file.place for file in there.files} | {path for path in present if path.startswith(_RAW)}
        await each(sorted((former & set(present)) - current), target.delete)
    return Copied(
        taken_at=here.backed_up or 0,
        files=len(sound) + len(raw) + len(loose) + 1,
        rows=sum(file.rows for file in sound) + here.journaled,
        bytes=sum(file.bytes for file in sound) + sum(raw.values()) + sum(map(len, (journal, *loose.values()))),
        sent=len(new) + len(grown) + len(changed) + 1,
        sent_bytes=sum(file.bytes for file in new) + sum(grown.values()) + sum(map(len, (journal, *changed.values()))),
    )


async def _missing(
    target: Place, present: dict[str, int], there: Manifest | None, files: list[ArchiveFile]
) -> list[ArchiveFile]:
    """The files that the target lacks or has with another size or checksum."""
    known = {} if there is None else {file.place: file for file in there.files if file.is_sound}

    async def is_there(file: ArchiveFile) -> bool:
        if present.get(file.place) != file.bytes:
            return False
        if (listed := known.get(file.place)) is not None:
            return listed.sha256 == file.sha256
        # An interrupted backup may have left it. An object is complete if it exists; a file is compared.
        return not isinstance(target, Folder) or await target.sha256(file.place) == file.sha256

    have = await each(files, is_there)
    return [file for file, yes in zip(files, have, strict=True) if not yes]


async def _send(
    source: Place, target: Place, new: list[ArchiveFile], grown: dict[str, int], progress: Progress
) -> None:
    """Copy files of the manifest, and raw frames up to their sizes."""
    shown = bar(wanted=progress, total=len(new) + len(grown), what="files", unit=" files")

    async def send(file: ArchiveFile) -> None:
        await target.put(file.place, await _checked_bytes(source, file))
        shown.update(1)

    async def send_raw(path: str) -> None:
        data = await source.get(path, grown[path])
        if data is not None:  # the retention may have deleted it
            await target.put(path, data[: grown[path]])
        shown.update(1)

    try:
        await each(new, send)
        await each(grown, send_raw)
    finally:
        shown.close()


async def _snapshot(source: Place, scratch: Path, *, is_live: bool) -> tuple[bytes, Manifest]:
    """A copy of the journal as at one instant, and the files that it lists.

    Only a folder with a lock file may be written to meanwhile. Elsewhere the journal is a plain file, which is read
    without SQLite: the folder may be in a network file system.
    """
    if isinstance(source, Folder) and is_live:
        folder = source.path
    else:
        folder = scratch / "source"
        folder.mkdir(parents=True)
        journal = await source.get(JOURNAL, await source.length(JOURNAL) or 0)
        (folder / JOURNAL).write_bytes(journal or b"")
    here = scratch / "here"
    try:
        manifest = manifest_of(await asyncio.to_thread(_core.snapshot_journal, str(folder), str(here)))
    except ArchiveError as error:
        where = f"{source.address}/{JOURNAL}"
        raise ArchiveError(str(error).replace(str(folder / JOURNAL), where), path=where) from None
    return (here / JOURNAL).read_bytes(), manifest


async def _existing(target: Place, scratch: Path) -> Manifest | None:
    """The manifest of the backup at the target, if there is one."""
    journal = await target.get(JOURNAL, await target.length(JOURNAL) or 0)
    if journal is None:
        return None
    scratch.mkdir(parents=True)  # noqa: ASYNC240 - this event loop does nothing else
    (scratch / JOURNAL).write_bytes(journal)
    where = f"{target.address}/{JOURNAL}"
    try:
        there = manifest_of(await asyncio.to_thread(_core.archive_lists, str(scratch)))
    except ArchiveError as error:
        text = str(error).replace(str(scratch / JOURNAL), where)
        raise ArchiveError(f"{text}; delete that file to have it written again", path=where) from None
    if there.backed_up is None:
        msg = f"{target.address} is an archive, not a backup; copy to another place, or move this one away first"
        raise ArchiveError(msg, path=target.address)
    return there


def _check_successor(address: str, there: Manifest, here: Manifest) -> None:
    """Refuse to replace the backup of another archive, or a later backup by an earlier one."""
    if there.series != here.series:
        msg = f"{address} is a backup of another archive; each archive needs its own target"
        raise ArchiveError(msg, path=address)
    if there.arrived > here.arrived:
        msg = f"{address} has later rows than the archive, as after a restore of an earlier backup; name another target"
        raise ArchiveError(msg, path=address)


async def _checked_bytes(source: Place, file: ArchiveFile) -> bytes:
    """Read a file and check its SHA-256."""
    for place in file.places:
        data = await source.get(place, file.bytes)
        if data is None:
            continue
        found = (await asyncio.to_thread(hashlib.sha256, data)).hexdigest()
        if found != file.sha256:
            path = f"{source.address}/{place}"
            msg = (
                f"{path} is damaged: the file's SHA-256 is {found}, but was {file.sha256} when the file was written; "
                "run `liqdata verify` on the archive"
            )
            raise ArchiveError(msg, path=path)
        return data
    raise _GoneError(file.place)
