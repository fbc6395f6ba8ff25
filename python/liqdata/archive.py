"""Maintenance of archives: verify, rebuild, list and undo ingests; the results of ingest, export and rebuild."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import _core
from .calls.arguments import folder, instant, switch
from .calls.progress import counting
from .calls.traceback import public_call
from .errors import BadQuery
from .rows import Rows
from .text.printable import counted, printable

if TYPE_CHECKING:
    import os

    from .types import FindingRow, IngestRow, Instant, Progress, UndoRow

__all__ = ["Exported", "Ingested", "Rebuilt", "ingests", "rebuild", "undo", "verify"]

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
        Rows that it had, or that were read twice.
    refused : dict of str to int
        Number of refused rows by reason.
    first : dict of str to str
        Where the first row of each reason is, as ``file:line``, and its content.
    files : dict of str to str
        The detected format of each file.
    cut_short : tuple of str
        Files that are truncated or damaged: their rows up to there are stored, and they are read again next time.
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
            printable(f"  {file} is cut short or damaged: what is kept is not all of it") for file in self.cut_short
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Exported:
    """The result of :meth:`liqdata.Market.export`.

    Attributes
    ----------
    url : str
        The address.
    until : datetime
        The end of the last day at the address.
    files, rows, bytes : int
        Number of files at the address, and their content.
    sent, sent_bytes : int
        Number and size of the files that were new.
    journaled : int
        Rows of those days that no file holds yet. The exported journal has them: :func:`liqdata.open` sees them, other
        engines that read only the files do not.

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


@dataclass(frozen=True)
class Rebuilt:
    """The result of :func:`rebuild`.

    Attributes
    ----------
    frames : int
        Stored frames and replies that were read.
    unread : int
        Frames that this version cannot decode, or not fully.
    same : int
        Orders that did not change.
    corrected : int
        Orders that changed.
    new : int
        Orders that the archive did not have.
    gone : int
        Orders that their frame no longer gives.
    doubtful : int
        Orders that were not changed or not added, because the decoded values are implausible.
    dry_run : bool
        Whether nothing was written.
    exchanges : dict of str to dict
        The same counts by exchange.
    damaged : dict of str to str
        Frame files that could not be read to their end, and the reason.

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
def verify(path: str | os.PathLike[str], *, repair: bool = False, progress: Progress = False) -> Rows[FindingRow]:
    """List what is damaged, missing or unexpected in an archive.

    Reads every file and compares its SHA-256, checks the structure and indexes of the journal, and compares each
    journal row with its checksum.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive.
    repair : bool
        Move damaged files to the folder ``quarantine`` of the archive, rebuild journal tables with a damaged page or
        index from their readable rows, and remove rows with a wrong checksum. A copy is stored first, and nothing is
        deleted for good. The lost time becomes a gap, which all answers report. No collector may write meanwhile.
    progress : bool or callable
        Show a progress bar of the files and the journal (needs tqdm; on a terminal or in a notebook), or call a
        function with the number of files done and the total (``None`` if unknown). A repair reads all of them again.

    Returns
    -------
    Rows
        Empty for a sound archive. Otherwise a row each, the journal first: ``file`` (relative to the archive's folder),
        ``holds`` (``journal``, ``orders``, ``bars``, ``open_interest``, ``maps`` or ``raw``), ``problem`` (``damaged``,
        ``missing``, or ``unexpected`` for a file that the archive did not write and never reads), ``detail``, ``rows``,
        ``first`` and ``last`` (number of rows and their first and last time, epoch ms; ``None`` if unknown), and
        ``repaired``: whether the file is out of use and its gap is recorded.

    Raises
    ------
    ArchiveError
        If there is no archive or it cannot be read; with ``repair`` also if another process writes to it, or the
        journal cannot be repaired.

    Notes
    -----
    Damage in the write-ahead log of the last transaction looks like a transaction that never finished, and a truncated
    or missing log looks like one that was never longer. Neither can be detected.

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
        table = _core.verify(folder(path), repair, seen)
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
        A row for each ingest that stored or repeated rows, the first one first: ``id``, ``source`` (as given),
        ``files`` (a line for each), ``first`` and ``last`` (times of its new rows), ``received_at`` (when it began to
        store rows), the number of new ``orders``, ``bars``, ``open_interest`` readings and ``positions``, and
        ``undone`` (when it was undone, or ``None``).

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
    return _rows(_core.ingests(folder(path)))


@public_call
def undo(path: str | os.PathLike[str], id: str) -> Rows[UndoRow]:
    """Take an ingest back: its rows no longer count, as if it had not been made.

    Answers as of an instant before the undo stay as they were. Files of the ingest are read again when they are
    ingested again. Collected rows stay, even if the ingest brought them first.

    A row that several ingests brought is stored once, with the first of them. The result names the ingests that
    repeated rows of the undone one: run them again to have these rows back.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive. No other process may write to it meanwhile.
    id : str
        The ingest, as in :func:`ingests` or :attr:`Ingested.id`.

    Returns
    -------
    Rows
        The undone ingest, then those to run again: ``id``, ``source``, ``files``, ``rows`` (new rows of all tables),
        ``undone`` (when it was undone, ``None`` for the others), and ``run_again`` (how many rows of the undone ingest
        it repeated).

    Raises
    ------
    BadQuery
        If the archive has no such ingest, or it was undone already.
    ArchiveError
        If there is no archive, another process writes to it, or it cannot be read or written. Nothing has changed then.

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
    return _rows(_core.undo_ingest(folder(path), id))


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

    A collector stores the frames that orders are decoded from (``docs/archive.md``). If an order was decoded wrongly,
    such as in a wrong unit, this version's decoders correct it. Later answers have the corrected order, answers as of
    earlier instants the previous one. Orders without a stored frame stay as they are.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive. Without ``dry_run`` no collector may write meanwhile.
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
        How many orders are the same, corrected, new and gone, in total and by exchange.

    Raises
    ------
    BadQuery
        For an exchange without a decoder.
    ArchiveError
        If there is no archive, another process writes to it, or it cannot be read or written.

    Notes
    -----
    A day is corrected as a whole or not at all. After an interruption the finished days stay corrected, and the next
    run corrects the rest. A second run changes nothing.

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
        msg = f"end: {end!r} is before the start, {start!r}; allowed: an instant that is not"
        raise BadQuery(msg, parameter="end")
    if not isinstance(dry_run, bool):
        msg = f"dry_run: {dry_run!r} is not allowed; allowed: True or False"
        raise BadQuery(msg, parameter="dry_run")
    exchanges = _exchange_names(exchange)
    with counting(progress, "frames", "B") as seen:
        report = _core.rebuild(folder(path), since, until, exchanges, dry_run, seen)
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
        msg = "exchange: no exchange is named; leave it out to mean all"
        raise BadQuery(msg, parameter="exchange")
    return [name for name in names if isinstance(name, str)]
