"""The files of an archive's closed days to object storage as they are, and the lists that go with them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from liqdata import _core
from liqdata.calls.arguments import choice, datetime_of, instant, many
from liqdata.calls.progress import bar, checked_progress
from liqdata.errors import ArchiveError, BadQuery
from liqdata.files.safe_open import read

from .objects import Objects, checked, each, is_address, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from liqdata.types import ArchiveTable, Instant, Progress

JOURNAL = "journal.sqlite"
RECORD = "ingested.jsonl"
"""The file of an archive that says what was brought in from files."""
TABLES = ("orders", "bars", "open_interest", "maps", "positions")
_DAY = 86_400_000
# The collector leaves a day in the journal so long, for what comes late.
_LATE = 3_600_000


class Sent(NamedTuple):
    """What is behind an address after an export."""

    url: str
    until: datetime
    files: int
    rows: int
    bytes: int
    sent: int
    sent_bytes: int
    journaled: int


class File(NamedTuple):
    """A file that an archive lists."""

    path: str
    holds: str
    rows: int
    bytes: int
    sha256: str
    kept: bool


class Lists(NamedTuple):
    """What an archive consists of."""

    series: int
    closed: int | None
    files: list[File]
    journaled: int


Told: TypeAlias = tuple[int, int | None, list[tuple[str, str, int, int, str, bool]], int]
"""What an archive consists of, in the native half's own way."""


def lists_of(told: Told) -> Lists:
    """What an archive consists of, as the native half tells it."""
    series, closed, files, journaled = told
    return Lists(series, closed, [File(*file) for file in files], journaled)


def day(value: Instant | None, parameter: str) -> int | None:
    """The instant at which a UTC day begins, or :class:`~liqdata.BadQuery`: files are of whole days."""
    at = instant(value, parameter)
    if at is not None and at % _DAY:
        msg = f"{parameter}: {value!r} is within a day; allowed: an instant at which a UTC day begins"
        raise BadQuery(msg, parameter=parameter)
    return at


def place(url: object, folder: str) -> str:
    """The address of where an export goes, a folder by its path as well; never the archive's own."""
    if isinstance(url, os.PathLike) or (isinstance(url, str) and url.strip() and not is_address(url)):
        # Behind a symbolic link is what it leads to.
        url = Path(url).resolve().as_uri()
    address = checked(url, "url")
    parts = urlsplit(address)
    if parts.scheme == "file":
        there, here = Path(unquote(parts.path)).resolve(), Path(folder).resolve()
        if there == here or here in there.parents:
            msg = f"url: {address!r} is the archive itself or within it; allowed: a folder beside it, or an address"
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
    progress: Progress,
) -> Sent:
    """Brings the closed days of the archive in ``folder`` behind an address."""
    address = place(url, folder)
    checked_progress(progress)
    choice(partition, "partition", ("day",))
    named = [tables] if isinstance(tables, str) else many(tables)
    kinds = [choice(one, "tables", TABLES) for one in named or ()]
    if not kinds:
        msg = f"tables: {tables!r} names none; allowed: one or several of {', '.join(TABLES)}"
        raise BadQuery(msg, parameter="tables")
    first, last = day(start, "start"), day(end, "end")
    if first is not None and last is not None and first >= last:
        msg = f"end: {end!r} is not after the start, {start!r}; allowed: a later day"
        raise BadQuery(msg, parameter="end")
    over = (int(time.time() * 1000) - _LATE) // _DAY * _DAY
    until = over if last is None else min(last, over)
    if first is not None and first >= until:
        msg = f"start: no day from {start!r} on is over; the last that is ends at {datetime_of(until):%Y-%m-%d}"
        raise BadQuery(msg, parameter="start")

    with tempfile.TemporaryDirectory(prefix="liqdata-") as scratch:

        async def work(_: Callable[[], bool]) -> Sent:
            lists = lists_of(
                await asyncio.to_thread(_core.copy_lists, folder, f"{scratch}/here", first, until, list(kinds))
            )
            return await _sent(
                Path(folder), Objects(address, make=True), Path(scratch), lists, until, progress=progress
            )

        return run(work)


async def _sent(folder: Path, objects: Objects, scratch: Path, lists: Lists, until: int, *, progress: Progress) -> Sent:
    journal = (scratch / "here" / JOURNAL).read_bytes()
    before = await objects.get(JOURNAL)
    there = None if before is None else await _there(objects.address, scratch / "there", before)
    known: dict[str, str] = {}
    if there is not None:
        _refuse_loss(objects.address, there, lists, until)
        known = {file.path: file.sha256 for file in there.files if file.kept}
    sizes = await objects.sizes()
    kept = [file for file in lists.files if file.kept]
    # What is behind the address without being listed is of an export that was cut short.
    new = [file for file in kept if known.get(file.path) != file.sha256 or sizes.get(file.path) != file.bytes]
    shown = bar(wanted=progress, total=len(new), what="files", unit=" files")

    async def send(file: File) -> None:
        await objects.put(file.path, await asyncio.to_thread(_sound, folder, file))
        shown.update(1)

    try:
        await each(new, send)
    finally:
        shown.close()
    await _record(folder, objects)
    # The lists last: what they name is there.
    if journal != before:
        await objects.put(JOURNAL, journal)
    return Sent(
        url=objects.address,
        until=datetime_of(until),
        files=len(kept),
        rows=sum(file.rows for file in kept),
        bytes=sum(file.bytes for file in kept),
        sent=len(new),
        sent_bytes=sum(file.bytes for file in new),
        journaled=lists.journaled,
    )


async def _record(folder: Path, objects: Objects) -> None:
    """What was brought in from files, and from where, goes along as it is."""
    try:
        record = await asyncio.to_thread(read, folder, RECORD)
    except FileNotFoundError:
        return
    if record != await objects.get(RECORD):
        await objects.put(RECORD, record)


def _sound(folder: Path, file: File) -> bytes:
    """The bytes of a file that is as it was written."""
    path = folder / file.path
    hint = "nothing of it was exported; see what `liqdata verify` says of the archive"
    try:
        data = read(folder, file.path)
    except FileNotFoundError:
        raise ArchiveError(f"{path} is damaged: the file is missing; {hint}", path=str(path)) from None
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        msg = f"{path} is damaged: the file's SHA-256 is {found} and was {file.sha256} when it was written; {hint}"
        raise ArchiveError(msg, path=str(path))
    return data


async def _there(address: str, scratch: Path, journal: bytes) -> Lists:
    """What is behind an address already."""
    scratch.mkdir()  # noqa: ASYNC240 - the loop is this work's own
    (scratch / JOURNAL).write_bytes(journal)
    try:
        return lists_of(await asyncio.to_thread(_core.archive_lists, str(scratch)))
    except ArchiveError as error:
        where = f"{address}/{JOURNAL}"
        text = str(error).replace(str(scratch / JOURNAL), where)
        msg = f"{text}; delete that object to have it written anew"
        raise ArchiveError(msg, path=where) from None


def _refuse_loss(address: str, there: Lists, here: Lists, until: int) -> None:
    """Refuse to put one archive in the place of another, or less of it in the place of more."""
    if there.series != here.series:
        msg = f"{address} holds another archive; each collector needs an address of its own"
        raise ArchiveError(msg, path=address)
    left = {file.path for file in there.files} - {file.path for file in here.files}
    if left or (there.closed is not None and there.closed > until):
        what = f"{len(left)} files that this export leaves out" if left else "later days than this export has"
        msg = f"{address} lists {what}; export to another address, or widen start, end and tables"
        raise ArchiveError(msg, path=address)
