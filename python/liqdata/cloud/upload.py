"""Export: upload the files of finished days and the manifest to object storage."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from liqdata import _core
from liqdata.calls.arguments import anchored, choice, datetime_of, instant, many
from liqdata.calls.progress import bar, checked_progress
from liqdata.errors import ArchiveError, BadQuery
from liqdata.files.safe_open import read_file

from .iceberg import checked_catalog, register
from .manifest import JOURNAL, ArchiveFile, Manifest, manifest_of
from .objects import Objects, checked, each, is_address, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from liqdata.types import ArchiveTable, Instant, Progress

RECORD = "ingested.jsonl"
VERSIONS = "versions.tsv"
"""Name of the file in an archive's folder that records its ingests."""
TABLES = ("orders", "bars", "open_interest", "maps", "positions", "totals")
_DAY = 86_400_000
# The collector waits this long for late rows before it writes the files of a day.
_LATE = 3_600_000


class Sent(NamedTuple):
    """The content of an address after an export."""

    url: str
    until: datetime
    files: int
    rows: int
    bytes: int
    sent: int
    sent_bytes: int
    journaled: int
    registered: int = 0
    dropped: int = 0


def day(value: Instant | None, parameter: str) -> int | None:
    """Check that an instant is the start of a UTC day, and convert it to epoch ms.

    Other instants are refused, because a file contains a whole day.
    """
    at = instant(value, parameter)
    if at is not None and at % _DAY:
        msg = f"{parameter}: {value!r} is not the start of a UTC day"
        raise BadQuery(msg, parameter=parameter)
    return at


def place(url: object, folder: str) -> str:
    """The address of an export, also for a local path.

    Refuse a place inside the archive's own folder.
    """
    if isinstance(url, os.PathLike) or (isinstance(url, str) and url.strip() and not is_address(url)):
        # Resolve symbolic links.
        url = Path(anchored(os.fspath(url), "url")).resolve().as_uri()
    address = checked(url, "url")
    parts = urlsplit(address)
    if parts.scheme == "file":
        there, here = Path(unquote(parts.path)).resolve(), Path(folder).resolve()
        if there == here or here in there.parents:
            msg = f"url: {address!r} is the archive itself or a folder in it; allowed: another folder, or an address"
            raise BadQuery(msg, parameter="url")
    return address


def export(
    folder: str,
    url: str | os.PathLike[str],
    *,
    start: Instant | None,
    end: Instant | None,
    tables: Sequence[ArchiveTable],
    partition: str,
    iceberg: str | None,
    progress: Progress,
) -> Sent:
    """Upload the finished days of the archive in ``folder`` to an address."""
    address, catalog = place(url, folder), checked_catalog(iceberg)
    checked_progress(progress)
    choice(partition, "partition", ("day",))
    named = [tables] if isinstance(tables, str) else many(tables)
    kinds = [choice(one, "tables", TABLES) for one in named or ()]
    if not kinds:
        msg = f"tables: {tables!r} names no table; allowed: one or several of {', '.join(TABLES)}"
        raise BadQuery(msg, parameter="tables")
    first, last = day(start, "start"), day(end, "end")
    if first is not None and last is not None and first >= last:
        msg = f"end: {end!r} is not after the start, {start!r}; allowed: a later day"
        raise BadQuery(msg, parameter="end")
    over = (int(time.time() * 1000) - _LATE) // _DAY * _DAY
    until = over if last is None else min(last, over)
    if first is not None and first >= until:
        msg = (
            f"start: no UTC day from {start!r} on has ended; the last complete day ends at "
            f"{datetime_of(until):%Y-%m-%d}"
        )
        raise BadQuery(msg, parameter="start")

    with tempfile.TemporaryDirectory(prefix="liqdata-") as scratch:

        async def work(_: Callable[[], bool]) -> tuple[Sent, Manifest]:
            manifest = manifest_of(
                await asyncio.to_thread(_core.export_journal, folder, f"{scratch}/here", first, until, list(kinds))
            )
            objects = Objects(address, make=True)
            return await _upload(Path(folder), objects, Path(scratch), manifest, until, progress=progress), manifest

        sent, manifest = run(work)
    if catalog is None:
        return sent
    listed = register(catalog, Path(folder), address, manifest.files)
    return sent._replace(registered=listed.added, dropped=listed.dropped)


async def _upload(
    folder: Path, objects: Objects, scratch: Path, manifest: Manifest, until: int, *, progress: Progress
) -> Sent:
    journal = (scratch / "here" / JOURNAL).read_bytes()
    before = await objects.get(JOURNAL)
    there = None if before is None else await _existing(objects.address, scratch / "there", before)
    known: dict[str, str] = {}
    if there is not None:
        _check_not_smaller(objects.address, there, manifest, until)
        known = {file.place: file.sha256 for file in there.files if file.is_sound}
    sizes = await objects.sizes()
    sound = [file for file in manifest.files if file.is_sound]
    # An object that the old manifest does not list comes from an interrupted export, so it is sent again.
    new = [file for file in sound if known.get(file.place) != file.sha256 or sizes.get(file.place) != file.bytes]
    shown = bar(wanted=progress, total=len(new), what="files", unit=" files")

    async def send(file: ArchiveFile) -> None:
        await objects.put(file.place, await asyncio.to_thread(_checked_bytes, folder, file))
        shown.update(1)

    try:
        await each(new, send)
    finally:
        shown.close()
    for name in (RECORD, VERSIONS):
        await _upload_record(folder, objects, name)
    # The manifest is sent last, when all files that it lists are at the address.
    if journal != before:
        await objects.put(JOURNAL, journal)
    # Superseded files are elsewhere now, so that other engines do not read them with the others.
    await each([file.path for file in sound if file.place != file.path and file.path in sizes], objects.delete)
    return Sent(
        url=objects.address,
        until=datetime_of(until),
        files=len(sound),
        rows=sum(file.rows for file in sound),
        bytes=sum(file.bytes for file in sound),
        sent=len(new),
        sent_bytes=sum(file.bytes for file in new),
        journaled=manifest.journaled,
    )


async def _upload_record(folder: Path, objects: Objects, name: str) -> None:
    """Upload the record of ingests or of superseded files, if the archive has one."""
    try:
        record = await asyncio.to_thread(read_file, folder, name)
    except FileNotFoundError:
        return
    if record != await objects.get(name):
        await objects.put(name, record)


def _checked_bytes(folder: Path, file: ArchiveFile) -> bytes:
    """Read a file and check its SHA-256."""
    path = folder / file.path
    hint = "nothing was exported; run `liqdata verify` on the archive"
    data = None
    for place in file.places:
        with suppress(FileNotFoundError):
            data = read_file(folder, place)
            break
    if data is None:
        raise ArchiveError(f"{path} is damaged: the file is missing; {hint}", path=str(path))
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        msg = (
            f"{path} is damaged: the file's SHA-256 is {found}, but was {file.sha256} when the file was written; {hint}"
        )
        raise ArchiveError(msg, path=str(path))
    return data


async def _existing(address: str, scratch: Path, journal: bytes) -> Manifest:
    """The manifest of the previous export at the address."""
    scratch.mkdir()  # noqa: ASYNC240 - this event loop does nothing else
    (scratch / JOURNAL).write_bytes(journal)
    try:
        return manifest_of(await asyncio.to_thread(_core.archive_lists, str(scratch)))
    except ArchiveError as error:
        where = f"{address}/{JOURNAL}"
        text = str(error).replace(str(scratch / JOURNAL), where)
        msg = f"{text}; delete that object to have it written again"
        raise ArchiveError(msg, path=where) from None


def _check_not_smaller(address: str, there: Manifest, here: Manifest, until: int) -> None:
    """Refuse to replace another archive, or a larger export by a smaller one."""
    if there.series != here.series:
        msg = f"{address} contains another archive; each archive needs its own address"
        raise ArchiveError(msg, path=address)
    left = {file.path for file in there.files} - {file.path for file in here.files}
    if left or (there.closed is not None and there.closed > until):
        what = f"{len(left)} files that this export leaves out" if left else "later days than this export has"
        msg = f"{address} lists {what}; export to another address, or widen start, end and tables"
        raise ArchiveError(msg, path=address)
