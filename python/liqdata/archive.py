"""Maintenance of archives: back up, verify, rebuild, list and undo ingests.

This module also has the result classes of ingest, export, backup and rebuild.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import _core
from .calls.arguments import archive_folder, datetime_of, instant, switch
from .calls.progress import counting
from .calls.traceback import public_call
from .errors import BadQuery
from .results.rows import Rows
from .text.printable import counted, printable

if TYPE_CHECKING:
    import os

    from .types import FindingRow, IngestRow, Instant, Progress, UndoRow

__all__ = ["BackedUp", "Exported", "Fetched", "Ingested", "Rebuilt", "backup", "ingests", "rebuild", "undo", "verify"]

_COUNTS = ("same", "corrected", "new", "gone", "doubtful")


@dataclass(frozen=True)
class Ingested:
    """The result of :func:`liqdata.ingest`.

    Attributes
    ----------
    rows : int
        Lines of files and rows of tables that were read: the sum of ``new``, ``repeated`` and ``refused``.
    new : int
        Rows that the archive did not have.
    repeated : int
        Rows that the archive had already, or that were read more than once.
    refused : dict of str to int
        Number of refused rows for each reason.
    first : dict of str to str
        For each reason, the place of the first refused row as ``file:line``, and its content.
    files : dict of str to str
        The detected format of each file.
    cut_short : tuple of str
        Files that are truncated or damaged. Their rows before the damage are stored, and the next ingest reads these
        files again.
    id : str
        Identifier of the ingest, for :func:`undo`.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> orders = liqdata.demo().iter_orders("BTC", max_rows=3)
    >>> done = liqdata.ingest(tempfile.mkdtemp() + "/archive", orders=orders)
    >>> print(done)
    3 rows read: 3 new, 0 repeated, 0 refused
    """

    rows: int
    new: int
    repeated: int
    refused: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    cut_short: tuple[str, ...] = ()
    id: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Summarise what was stored, and what was refused and why."""
        refused = sum(self.refused.values())
        lines = [f"{counted(self.rows, 'row')} read: {self.new:,} new, {self.repeated:,} repeated, {refused:,} refused"]
        for reason, count in sorted(self.refused.items(), key=lambda item: (-item[1], item[0])):
            lines.append(printable(f"  {count:,} refused: {reason}; first at {self.first[reason]}"))
        lines += [
            printable(f"  {file} is truncated or damaged: only a part of its rows is stored") for file in self.cut_short
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Fetched:
    """The result of :func:`liqdata.fetch`.

    Attributes
    ----------
    plan : Rows
        Every request, in order: ``source``, ``file`` (below the address of the source), ``table`` (``bars``,
        ``open_interest``, ``orders``, ``positions``, or ``contract_sizes``), ``day`` (of its first rows, epoch ms),
        ``bytes`` (from a listing, else of a file of the same series; ``None`` if unknown) and ``usd``. Files that were
        fetched before are not in the plan.
    rows : Rows
        What was stored, by ``source`` and ``table``: number of ``files``, of their ``rows`` and of those that were
        ``new``, ``repeated`` and ``refused``, and the downloaded ``bytes``.
    gaps : Rows
        Days without a file: ``source``, ``exchange``, ``table``, ``coin``, ``start`` and ``end`` (epoch ms) and
        ``reason``. ``exchange``, ``table`` or ``coin`` is ``None`` where all are meant.
    compared : Rows
        Days of which another source has the orders: ``source``, ``exchange``, ``day``, ``rows`` (of this source),
        ``same`` (rows that both have) and ``stored`` (rows of the other source).
    answers : Rows
        What the planned files make known: ``answer`` (a query of the contract), ``start`` and ``end`` (epoch ms) and
        the ``exchanges``.
    bytes : int
        Downloaded bytes of all stored files; of a dry run the bytes of the plan, without files of unknown size.
    usd : float
        What the downloads cost; of a dry run what they would cost.
    minutes : float
        The least time of the planned requests, at the rates of the hosts.
    resumable : bool
        Whether the same call may fetch more, because a source was not reachable or limited requests.
    dry_run : bool
        Whether this was a dry run, which downloads no file.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> nowhere = {"tardis": {"address": "http://127.0.0.1:1", "rate": 6000}}
    >>> folder = tempfile.mkdtemp() + "/archive"
    >>> done = liqdata.fetch(folder, coins="BTC", start="2026-01-01", end="2026-01-02", sources=nowhere)
    >>> done.bytes, done.resumable
    (0, True)
    """

    plan: Rows[Any]
    rows: Rows[Any]
    gaps: Rows[Any]
    compared: Rows[Any]
    answers: Rows[Any]
    bytes: int
    usd: float
    minutes: float
    resumable: bool
    dry_run: bool = False

    def __str__(self) -> str:
        """Summarise the plan or what was stored, and name what is missing."""
        from .fetching.summary import summary

        return summary(self)


@dataclass(frozen=True)
class Exported:
    """The result of :meth:`liqdata.Market.export`.

    Attributes
    ----------
    url : str
        The address of the export.
    until : datetime
        End of the last exported day.
    files, rows, bytes : int
        Number of files at the address, and the number of rows and bytes in them.
    sent, sent_bytes : int
        Number and size in bytes of the files that this export sent.
    journaled : int
        Rows of the exported days that are not in a Parquet file yet, only in the exported journal.
        :func:`liqdata.open` reads them; programs that read only the Parquet files miss them.
    registered, dropped : int
        Number of files that this export added to the tables of an Iceberg catalog, and dropped from them.

    Examples
    --------
    >>> import liqdata
    >>> def summary(market, url):  # a market of an archive, and an address
    ...     done = market.export(url)
    ...     return f"{done.sent} of {done.files} files were new, {done.journaled} rows are in the journal"
    """

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


@dataclass(frozen=True)
class BackedUp:
    """The result of :func:`backup`.

    Attributes
    ----------
    target : str
        The folder or address of the backup.
    taken_at : datetime
        The instant of the state that the backup has. The copy of a backup has the instant of that backup.
    files, rows, bytes : int
        Number of files of the backup, and the number of rows and bytes in them; the journal is one of the files.
    sent, sent_bytes : int
        Number and size in bytes of the files that this call copied.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> folder = tempfile.mkdtemp() + "/archive"
    >>> done = liqdata.ingest(folder, orders=liqdata.demo().iter_orders("BTC", max_rows=3))
    >>> liqdata.archive.backup(folder, tempfile.mkdtemp()).rows
    3
    """

    target: str
    taken_at: datetime
    files: int
    rows: int
    bytes: int
    sent: int
    sent_bytes: int


@dataclass(frozen=True)
class Rebuilt:
    """The result of :func:`rebuild`.

    Attributes
    ----------
    frames : int
        Stored frames and replies that were read.
    unread : int
        Frames that this version of liqdata cannot decode completely.
    same : int
        Orders that did not change.
    corrected : int
        Orders that changed.
    new : int
        Orders that the archive did not have.
    gone : int
        Orders of the archive that decoding their frame no longer yields.
    doubtful : int
        Orders that were neither changed nor added because the newly decoded values are implausible.
    dry_run : bool
        Whether this was a dry run, which writes nothing.
    exchanges : dict of str to dict
        The same counts by exchange.
    damaged : dict of str to str
        Files of frames that could not be read to their end, with the reason as value.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # usually made by a collector
    >>> _core.ArchiveWriter(folder).close()
    >>> print(liqdata.archive.rebuild(folder))
    0 frames read: 0 orders the same, 0 corrected, 0 new, 0 gone
    """

    frames: int
    unread: int
    same: int
    corrected: int
    new: int
    gone: int
    doubtful: int
    dry_run: bool = False
    exchanges: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    damaged: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Summarise what changed, and on which exchange."""
        would = ", if it were done" if self.dry_run else ""
        lines = [f"{self.frames:,} frames read: {_summary(vars(self))}{would}"]
        if self.unread:
            lines.append(f"  {self.unread:,} of them cannot be read")
        for name, counts in self.exchanges.items():
            if any(counts[one] for one in ("corrected", "new", "gone", "doubtful")):
                lines.append(printable(f"  {name}: {_summary(counts)}"))
        lines += [printable(f"  {path} is damaged: {why}") for path, why in self.damaged.items()]
        return "\n".join(lines)


def _summary(counts: Mapping[str, int]) -> str:
    text = f"{counts['same']:,} orders the same"
    text += "".join(f", {counts[one]:,} {one}" for one in ("corrected", "new", "gone"))
    return text + (f", {counts['doubtful']:,} doubtful and left as they were" if counts["doubtful"] else "")


@public_call
def backup(path: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress = False) -> BackedUp:
    """Copy an archive to a folder or to object storage, or copy such a backup back.

    The backup has the state of one instant; a collector may write to the archive meanwhile. Only files that the target
    lacks are copied, so a daily backup is quick. A backup is an archive: :func:`liqdata.open` and :func:`verify` read
    it in place. To restore it, exchange the two places (``docs/how-to/backup.md``).

    Parameters
    ----------
    path : str or path-like
        The folder of the archive; or a backup, as a folder or an address.
    target : str or path-like
        A folder, created if missing, or an address such as ``"s3://bucket/prefix"`` (needs ``liqdata[cloud]``), for the
        backups of this archive only.
    progress : bool or callable
        Show a progress bar of the copied files (needs tqdm; on a terminal or in a notebook), or call a function with
        the number of files done and the total.

    Returns
    -------
    BackedUp
        What the backup has, and what was copied.

    Raises
    ------
    BadQuery
        If a place is invalid, or one of them lies in the other.
    ArchiveError
        If there is no archive, a file of it is damaged or cannot be read or written; if the target has something else,
        the backup of another archive or later rows; or if it is an archive that a process has written to. The former
        backup is unchanged then, except for further files that it does not use.

    Notes
    -----
    The journal is copied last. An interrupted backup therefore leaves the former one, and an interrupted restore no
    archive; the next call continues it. Files that the archive has deleted since are deleted at the target at the end.
    The caches ``ledger`` and ``state``, and damaged files, are not copied.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> folder, target = tempfile.mkdtemp() + "/archive", tempfile.mkdtemp() + "/backup"
    >>> done = liqdata.ingest(folder, orders=liqdata.demo().iter_orders("BTC", max_rows=3))
    >>> made = liqdata.archive.backup(folder, target)
    >>> again = liqdata.archive.backup(folder, target)
    >>> again.rows, again.sent  # the journal is copied each time
    (3, 1)
    >>> restored = tempfile.mkdtemp() + "/archive"
    >>> liqdata.archive.backup(target, restored).taken_at == again.taken_at
    True
    >>> with liqdata.open(restored) as market:
    ...     len(list(market.iter_orders("BTC")))
    3
    """
    from .cloud.backup import backup as copy

    address, copied = copy(path, target, progress=progress)
    taken_at, *counts = copied
    return BackedUp(address, datetime_of(taken_at), *counts)


@public_call
def verify(path: str | os.PathLike[str], *, repair: bool = False, progress: Progress = False) -> Rows[FindingRow]:
    """List what is damaged, missing or unexpected in an archive.

    The function compares the SHA-256 of every file with the recorded one, checks the structure and the indexes of the
    journal (an SQLite database), and compares each journal row with its checksum.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive.
    repair : bool
        Move damaged files to the folder ``damaged`` of the archive, and record the times of their rows as gaps, which
        all answers report. If the archive has no journal, list its files in a new one; all time until now becomes a gap
        then, because the rows that were in no file, the sessions and the ingests are lost. A damaged journal is
        refused: restore it, see what ``sqlite3 journal.sqlite .recover`` reads, or move ``journal.sqlite*`` away first.
        No collector may write to the archive during the repair.
    progress : bool or callable
        Show a progress bar of the files and the journal (needs tqdm; on a terminal or in a notebook), or call a
        function with the number of files done and the total (``None`` if unknown). A repair reads all files twice.

    Returns
    -------
    Rows
        Empty for a sound archive. Otherwise one row per problem, those of the journal first: ``file`` (relative to the
        archive's folder), ``holds`` (content of the file: ``journal``, ``orders``, ``bars``, ``open_interest``,
        ``maps``, ``positions``, ``totals`` or ``raw``), ``problem`` (``damaged``, ``missing``, or ``unexpected`` for a
        file that the archive did not write and never reads), ``detail``, ``rows``, ``first`` and ``last`` (number of
        affected rows and their first and last time, epoch ms; ``None`` if unknown), and ``repaired``: whether the file
        is no longer used and its gap is recorded; for the journal, whether a new one was made.

    Raises
    ------
    ArchiveError
        If there is no archive or it cannot be read; with ``repair`` also if another process writes to it, or the
        journal is damaged.

    Notes
    -----
    Some damage to the journal's write-ahead log cannot be detected. Damage in the last transaction looks like a
    transaction that was not finished. A truncated or missing log looks like a log that was shorter.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # usually made by a collector
    >>> _core.ArchiveWriter(folder).close()
    >>> len(liqdata.archive.verify(folder))
    0
    """
    switch(repair, "repair")
    with counting(progress, "files", " files") as seen:
        table = _core.verify(archive_folder(path), repair, seen)
    return _rows(table)


def _rows(table: _core.Table) -> Rows[Any]:
    return Rows(table, meta={"source": "archive", "as_of": datetime.now(UTC), "simulated": None, "age": None})


@public_call
def ingests(path: str | os.PathLike[str]) -> Rows[IngestRow]:
    """List what was ingested into an archive.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive.

    Returns
    -------
    Rows
        A row for each ingest that stored or repeated rows, the oldest ingest first: ``id``, ``source`` (as given),
        ``files`` (one line of text per file), ``first`` and ``last`` (first and last time of its new rows),
        ``received_at`` (when it began to store rows), the number of new ``orders``, ``bars``, ``open_interest``
        readings, ``positions`` and ``totals``, and ``undone`` (when it was undone, or ``None``).

    Raises
    ------
    ArchiveError
        If there is no archive or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> folder = tempfile.mkdtemp() + "/archive"
    >>> done = liqdata.ingest(folder, orders=liqdata.demo().iter_orders("BTC", max_rows=3), source="the demo")
    >>> [(row["source"], row["orders"], row["id"] == done.id) for row in liqdata.archive.ingests(folder)]
    [('the demo', 3, True)]
    """
    return _rows(_core.ingests(archive_folder(path)))


@public_call
def undo(path: str | os.PathLike[str], id: str) -> Rows[UndoRow]:
    """Undo an ingest: answers no longer include the rows that it stored.

    Answers as of an instant before the undo do not change. Files of the undone ingest can be ingested again. Rows that
    the collector also received remain, even if the ingest stored them first.

    A row in several ingests is stored once, for the first ingest that had it. The result names the ingests that
    repeated rows of the undone ingest, also from another source: run them again to restore these rows.

    Files with undone rows move to the folder ``superseded``, so other engines leave the rows out, too.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive. No other process may write to it during the call.
    id : str
        The id of the ingest, as in :func:`ingests` or :attr:`Ingested.id`.

    Returns
    -------
    Rows
        The undone ingest, then the ingests to run again: ``id``, ``source``, ``files``, ``rows`` (number of new rows in
        all tables), ``undone`` (when the ingest was undone; ``None`` for ingests to run again), and ``run_again`` (how
        many rows of the undone ingest this ingest repeated).

    Raises
    ------
    BadQuery
        If the archive has no ingest with this id, or if the ingest was undone before.
    ArchiveError
        If there is no archive, another process writes to it, or it cannot be read or written. The archive is unchanged
        then.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> folder = tempfile.mkdtemp() + "/archive"
    >>> wrong = liqdata.ingest(folder, orders=liqdata.demo().iter_orders("BTC", max_rows=3))
    >>> [row["rows"] for row in liqdata.archive.undo(folder, wrong.id)]
    [3]
    >>> with liqdata.open(folder) as market:
    ...     len(list(market.iter_orders("BTC")))
    0
    """
    if not isinstance(id, str):
        msg = f"id: a {type(id).__name__} is not allowed; allowed: the id of an ingest, as ingests() lists it"
        raise BadQuery(msg, parameter="id")
    return _rows(_core.undo_ingest(archive_folder(path), id))


@public_call
def rebuild(
    path: str | os.PathLike[str],
    *,
    start: Instant | None = None,
    end: Instant | None = None,
    exchange: str | Iterable[str] | None = None,
    dry_run: bool = False,
    progress: Progress = False,
) -> Rebuilt:
    """Decode the stored frames of an archive again, and correct the orders.

    A collector stores the frames (raw messages of the exchanges) that orders are decoded from
    (``docs/reference/archive.md``). If an earlier version decoded an order wrongly, such as in a wrong unit, the
    decoders of this version correct it. Answers as of an instant before the correction still have the previous order.
    Orders without a stored frame do not change.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive. Without ``dry_run``, no collector may write to it during the call.
    start : int, datetime or str, optional
        Only frames received at or after this instant.
    end : int, datetime or str, optional
        Only frames received before this instant.
    exchange : str or sequence of str, optional
        Only orders of these exchanges; all by default.
    dry_run : bool
        Write nothing and only count the changes.
    progress : bool or callable
        Show a progress bar of the bytes (needs tqdm; on a terminal or in a notebook), or call a function with the
        number of bytes done and the total (``None`` if unknown).

    Returns
    -------
    Rebuilt
        Number of orders that are the same, corrected, new and gone, in total and by exchange.

    Raises
    ------
    BadQuery
        For an exchange without a decoder.
    ArchiveError
        If there is no archive, another process writes to it, or it cannot be read or written.

    Notes
    -----
    A day is corrected completely or not at all. After an interruption the finished days stay corrected, and the next
    run corrects the remaining days. A further run after a complete one changes nothing.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # usually made by a collector
    >>> _core.ArchiveWriter(folder).close()
    >>> liqdata.archive.rebuild(folder, start="2026-11-01", exchange="okx", dry_run=True).corrected
    0
    """
    since, until = instant(start, "start"), instant(end, "end")
    if since is not None and until is not None and since > until:
        msg = f"end: {end!r} is before the start, {start!r}; allowed: an instant that is not before the start"
        raise BadQuery(msg, parameter="end")
    if not isinstance(dry_run, bool):
        msg = f"dry_run: {dry_run!r} is not allowed; allowed: True or False"
        raise BadQuery(msg, parameter="dry_run")
    exchanges = _exchange_names(exchange)
    with counting(progress, "frames", "B") as seen:
        report = _core.rebuild(archive_folder(path), since, until, exchanges, dry_run, seen)
    by_exchange = report["exchanges"]
    totals = {one: sum(counts[one] for counts in by_exchange.values()) for one in ("frames", "unread", *_COUNTS)}
    return Rebuilt(**totals, dry_run=dry_run, exchanges=by_exchange, damaged=dict(report["damaged"]))


def _exchange_names(exchange: object) -> list[str]:
    if exchange is None:
        return []
    several = isinstance(exchange, Iterable) and not isinstance(exchange, str)
    names = list(exchange) if isinstance(exchange, Iterable) and several else [exchange]
    for name in names:
        if not isinstance(name, str):
            msg = f"exchange: {name!r} is not the name of an exchange; allowed: text such as 'binance', or several"
            raise BadQuery(msg, parameter="exchange")
    if not names:
        msg = "exchange: no exchange is named; omit the parameter to select all"
        raise BadQuery(msg, parameter="exchange")
    return [name for name in names if isinstance(name, str)]
