"""Bringing the past into an archive: public dumps, and tables of one's own."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.archive import Ingested
from liqdata.calls.arguments import folder as placed
from liqdata.calls.arguments import switch, to_be_made
from liqdata.calls.progress import bar, checked_progress
from liqdata.calls.traceback import public_call
from liqdata.cloud.upload import RECORD
from liqdata.errors import BadQuery

from .checkpoint import FINISHED, Finished, add_line, incomplete, lines_of
from .column_file import FILLS, KINDS, ColumnFile
from .given_files import open_given
from .tables import rates, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from liqdata.calls.progress import ProgressBar
    from liqdata.types import Progress

    from .given_files import GivenFile

__all__ = ["ingest"]

SAME = ("refused", "first", "files")


@public_call
def ingest(
    path: str | os.PathLike[str],
    *files: str | os.PathLike[str],
    format: str | None = None,
    orders: Any = None,
    bars: Any = None,
    open_interest: Any = None,
    positions: Any = None,
    exchange: str | None = None,
    new_exchange: bool = False,
    source: str | None = None,
    dry_run: bool = False,
    quote_rates: Mapping[str, object] | None = None,
    progress: Progress = False,
) -> Ingested:
    r"""Bring files and tables of the past into an archive.

    What is there already stays as it was and is counted as repeated, so that the same file twice adds nothing, and an
    ingest that was cut short is done again: files that it had kept to their end are not read once more, as long as they
    are what they were, and counted as if they had been. Days that are over go straight into files, days that are not
    into the journal; each lot is there whole or not at all. A row that is not what its format says is never taken: it
    is counted by its reason, and the others stand.

    Parameters
    ----------
    path : str or path-like
        The archive's folder; made where it is missing, in a folder that is there.
    *files : str or path-like
        CSV or JSON files, plain, packed (gzip, zstd, xz, bzip2) or in a zip, and Parquet, Feather and Arrow files
        (these with pyarrow). The content decides, not the ending of the name. ``"-"`` is the standard input.
    format : str, optional
        What the files are; told by name and columns by default. One of ``binance_liquidations``, ``binance_metrics``,
        ``binance_klines``, ``tardis_liquidations``, ``tardis_derivative_ticker``, ``hyperliquid_fills``,
        ``ccxt_ohlcv``, ``orders``, ``force_orders`` (orders whose side is that of the order that closed the position),
        ``bars``, ``open_interest``, ``open_interest_usd``, ``coinglass_prices``, ``coinglass_open_interest_coins``,
        ``coinglass_open_interest_usd``. Open interest in USD comes after the other files, and is brought to coins at
        the archive's own bars: a reading that has none of its time is refused alone, and so is one that is implausible
        as USD and would not be as coins, unless most of its file are.
    orders, bars, open_interest : table, optional
        Tables, as :class:`Market` takes them; bars may have a column ``exchange``. Where a cell
        of one cannot be read as what its column holds nothing of the tables is kept, nor where open interest in USD has
        no price; a row that reads but cannot be true or cannot be kept (:attr:`Ingested.refused`) is refused alone.
        Open interest in USD is brought to coins with ``bars``, else with the archive's own.
    positions : table, optional
        Positions of single accounts (:meth:`Market.positions`), snapshot by snapshot: ``timestamp`` (of the snapshot,
        the same in all its rows), ``coin`` or ``symbol`` (a coin, or a pair of it), ``side`` and ``value_usd``; if
        known ``exchange``, ``account``, ``qty`` (base units), ``entry_price``, ``leverage``, ``margin_mode``,
        ``liquidation_price``, ``observed_at``, ``seen_share`` and ``current_price``, the price of the snapshot, which
        is needed where ``qty`` is not there.
        Positions without an account are numbered within their snapshot. A snapshot whose price is more than 10 % from
        the market's is not taken: from that of the archive's bars, or where it has none then from the middle of three
        snapshots and more within three hours. Nor is a row whose ``value_usd`` is more than 10 % (and a dollar) from
        its ``qty`` at the price of its snapshot: ``current_price``, or the middle of what its rows are worth over
        their quantities; where fewer than half agree with that the market's price decides, or none is taken.
    exchange : str, optional
        Whose the rows are that do not say so.
    new_exchange : bool
        Take an exchange that is not known: neither one of those that are listened to, in whichever spelling, nor one
        of which the archive has anything. By default its rows are refused, so that a slip of the pen makes no new one.
    source : str, optional
        Where they are from, in your words. Each ingest is a line of the archive's ``ingested.jsonl``: when, from
        where, what each file was taken for, and what became of the rows; one that was interrupted of what it kept
        (``interrupted``), which stands in the notes of what is raised, too.
    progress : bool or callable
        Show a bar of the rows (with tqdm, on a terminal or in a notebook), or tell a function how many are done and of
        how many (``None`` where that is unknown).

    Returns
    -------
    Ingested
        Rows read, new, repeated, and refused by reason.

    Raises
    ------
    BadQuery
        Where it is not clear what a file is, something that it does not say was not given, or a table is refused:
        before anything is written.
    ArchiveError
        While another process writes to the archive, or where it cannot be written.

    Notes
    -----
    A row without a time of receipt counts as received when it was told: an order and a reading when they happened, a
    bar when it closed. So ``as_of=`` looks at an ingested past without looking ahead, and without knowing how late the
    exchange told of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import liqdata
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> file = folder / "BTCUSDT-1m-2024-01-02.csv"
    >>> _ = file.write_text("1704153600000,100,102,99,101,7,1704153659999,0,0,0,0,0\n")
    >>> done = liqdata.ingest(folder / "archive", file)
    >>> done.rows, done.new, liqdata.ingest(folder / "archive", file).repeated
    (1, 1, 1)
    """
    given = {"orders": orders, "bars": bars, "open_interest": open_interest, "positions": positions}
    _check(files, given, format=format, exchange=exchange, source=source)
    switch(new_exchange, "new_exchange")
    switch(dry_run, "dry_run")
    checked_progress(progress)
    if not isinstance(path, str | os.PathLike):
        msg = (
            f"path: a {type(path).__name__} is no folder; allowed: the archive's folder first, then files, and tables "
            "by name: liqdata.ingest(folder, orders=table)"
        )
        raise BadQuery(msg, parameter="path")
    folder = to_be_made(placed(path))
    origin = None if dry_run else (_core.new_ingest_id(), source, [os.fspath(file) for file in files])
    options = _Options(format, exchange, new_exchange, dry_run, rates(quote_rates), _contracts(folder), origin)
    with contextlib.closing(bar(wanted=progress, total=None, what="ingest")) as shown:
        work = _Work(folder, options, shown)
        line = None
        try:
            work.files([os.fspath(file) for file in files])
            if any(one is not None for one in given.values()):
                work.tables(given)
            whole = work.so_far()
            if not dry_run and Path(folder).exists():
                line = _line(whole, source, work.contracts)
                add_line(Path(folder), RECORD, line)
        except BaseException as raised:
            done = work.so_far()
            cut = _line(done, source, work.contracts) | {"interrupted": True}
            if not dry_run:
                _interrupted(folder, done, (cut, line), raised)
            raise
    return whole


@dataclass(frozen=True)
class _Options:
    """How files and tables are read."""

    format: str | None
    exchange: str | None
    new_exchange: bool
    dry_run: bool
    rates: dict[str, Any] | None
    contracts: list[list[str]]
    origin: tuple[str, str | None, list[str]] | None

    @property
    def id(self) -> str:
        """The id of the ingest; empty in a dry run."""
        return self.origin[0] if self.origin else ""


class _Work:
    """An ingest under way."""

    def __init__(self, folder: str, options: _Options, shown: ProgressBar) -> None:
        self._folder, self._options, self._shown = folder, options, shown
        self._known: list[Ingested] = []
        self._begun: list[_Outcome | _Parts] = []

    @property
    def contracts(self) -> list[list[str]]:
        """The contracts of the bars and readings so far."""
        known = self._options.contracts
        for one in self._begun:
            known = one.contracts(known)
        return known

    def so_far(self) -> Ingested:
        """Give the outcome so far."""
        return replace(_together([*self._known, *(one.so_far() for one in self._begun)]), id=self._options.id)

    def files(self, paths: list[str]) -> None:
        """Read files, but for those that are stored completely already."""
        options = self._options
        asked = {"format": options.format, "exchange": options.exchange, "new_exchange": options.new_exchange}
        finished = Finished(self._folder, paths, asked)
        left = []
        for path in paths:
            told = None if options.dry_run else finished.known(path)
            if told is None:
                left.append(path)
                continue
            self._known.append(one := _again(told))
            self._shown.update(one.rows)
        with contextlib.ExitStack() as scratch:
            given = [open_given(path, scratch) for path in left]
            columns = [ColumnFile(file, options.format, options.exchange) for file in given if file.is_table]
            self._rows([file for file in given if not file.is_table], finished)
            for file in columns:
                with named(file.path):
                    _of_columns(
                        self._folder, file, self._begun, replace(options, contracts=self.contracts), self._shown
                    )
                if not options.dry_run:
                    facts = {"contracts": self.contracts, "ingest": options.id}
                    finished.keep(file.path, _counts(self._begun[-1].so_far()) | facts)

    def _rows(self, files: list[GivenFile], finished: Finished) -> None:
        """Read files of rows, and put on record those that are stored completely."""
        if not files:
            return
        names = {file.path: file.name for file in files if file.path != file.name}

        def stored(file: str, told: dict[str, Any]) -> None:
            path = os.fspath(file)
            facts = {"contracts": told["contracts"], "ingest": self._options.id}
            finished.keep(names.get(path, path), _counts(_told(told)) | facts)

        options = self._options
        self._begun.append(outcome := _Outcome())
        seen = _counting(self._shown.update)
        paths = [file.path for file in files]
        whose = (options.exchange, options.new_exchange, options.contracts, names)
        rest = (options.rates, options.dry_run, options.origin)
        _core.ingest_files(self._folder, paths, options.format, *whose, seen, stored, outcome.told, *rest)

    def tables(self, given: Mapping[str, object]) -> None:
        """Read tables."""
        self._begun.append(outcome := _Outcome())
        options = replace(self._options, contracts=self.contracts)
        _tables(self._folder, given, options, self._shown, outcome.told)


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Name this file in what is said of its rows."""
    try:
        yield
    except BadQuery as error:
        if error.parameter not in KINDS:
            raise
        msg = f"{error.parameter}: {path}: {str(error).removeprefix(f'{error.parameter}: ')}"
        raise BadQuery(msg, parameter=error.parameter) from None


class _Outcome:
    """What became of rows. The native half puts it down here: a signal may be raised before what is returned is had."""

    def __init__(self, file: str | None = None, kind: str = "") -> None:
        self.told: dict[str, Any] = {}
        self._file, self._kind = file, kind

    def so_far(self) -> Ingested:
        """Give what it is; of nothing where the native half did not come to its end."""
        return _told(self.told, file=self._file, kind=self._kind) if self.told else Ingested(0, 0, 0)

    def contracts(self, before: list[list[str]]) -> list[list[str]]:
        """Of which contracts the bars and readings are, where ``before`` are those from before."""
        return self.told.get("contracts") or before


class _Parts:
    """The outcome of a file of columns so far, part by part; that of the last part as :class:`_Outcome`."""

    def __init__(self, file: ColumnFile) -> None:
        self._file = file
        self._parts: list[dict[str, Any]] = []

    def begin(self) -> dict[str, Any]:
        """Begin the next part; gives the dict that its outcome is put into."""
        told: dict[str, Any] = {}
        self._parts.append(told)
        return told

    @property
    def sessions(self) -> list[tuple[str, int, int]]:
        """The time that the orders of each exchange cover so far, from first to last."""
        spans: dict[str, tuple[int, int]] = {}
        for part in self._parts:
            for exchange, start, end in part.get("sessions", []):
                first, last = spans.get(exchange, (start, end))
                spans[exchange] = min(first, start), max(last, end)
        return [(exchange, *span) for exchange, span in spans.items()]

    def contracts(self, before: list[list[str]]) -> list[list[str]]:
        """The contracts of the bars and readings, where ``before`` are those from before."""
        known = [part["contracts"] for part in self._parts if part.get("contracts")]
        return known[-1] if known else before

    def so_far(self) -> Ingested:
        """Give the outcome."""
        parts = [_told(part, file=self._file.path, kind=self._file.kind) for part in self._parts if part]
        whole = _together(parts)
        return Ingested(
            whole.rows, whole.new, whole.repeated, whole.refused, whole.first, {self._file.path: self._file.kind}
        )


def _interrupted(
    folder: str, kept: Ingested, lines: tuple[dict[str, Any], dict[str, Any] | None], raised: BaseException
) -> None:
    """Put on record what is kept of an ingest that does not come to its end, and tell it with what is raised.

    It has one line for the record where it did not, and another where all is kept and the line may be there already.
    """
    if not kept.new and not kept.repeated:
        return
    cut, whole = lines
    if whole is None:
        add_line(Path(folder), RECORD, cut)
    elif not isinstance(raised, Exception) and json.loads(json.dumps(whole)) not in lines_of(Path(folder), RECORD):
        add_line(Path(folder), RECORD, whole)
    raised.add_note(f"Kept until then: {kept}")


def _of_columns(
    folder: str, file: ColumnFile, begun: list[_Outcome | _Parts], options: _Options, shown: ProgressBar
) -> None:
    """Bring the rows of a file of columns into the archive, part by part; the outcome is put to ``begun``."""
    if file.kind == FILLS:
        begun.append(outcome := _Outcome(file.path, file.kind))
        _fills(folder, file, options, shown, outcome.told)
        return
    begun.append(done := _Parts(file))
    symbol, _, interval = _core.file_name(file.path)
    for part in file.parts():
        tables: dict[str, Any] = dict.fromkeys(("orders", "bars", "open_interest", "positions"))
        tables[file.kind] = part.rows
        sessions = done.sessions
        told = done.begin()
        contracts = done.contracts(options.contracts)
        facts = {"symbol": symbol, "interval": interval, "numbers": part.numbers, "sessions": sessions}
        _tables(folder, tables, replace(options, contracts=contracts), shown, told, facts=facts)
        if "implausible" in told:
            msg = f"files: {file.path}: {told.pop('implausible')}"
            raise BadQuery(msg, parameter="files")


def _counts(done: Ingested) -> dict[str, Any]:
    """What goes on record of a file."""
    return {name: getattr(done, name) for name in ("rows", "refused", "first", "files")}


def _again(told: dict[str, Any]) -> Ingested:
    """What would become of a file's rows if it were read once more."""
    return Ingested(told["rows"], 0, told["rows"] - sum(told["refused"].values()), *(told[name] for name in SAME))


def _contracts(folder: str) -> list[list[str]]:
    """Of which contracts the archive's bars and readings are, as far as they were ingested."""
    known: dict[tuple[str, ...], str] = {}
    gone = incomplete(folder)
    lines = [(line.get("id"), line) for line in lines_of(Path(folder), RECORD)]
    lines += [(line.get("ingest"), line) for line in lines_of(Path(folder), FINISHED)]
    for line in [line for id, line in lines if id not in gone]:
        for one in line.get("contracts", []):
            match one:
                case [str(), str(), str(), str() as contract]:
                    known.setdefault(tuple(one[:3]), contract)
    return [[*of, contract] for of, contract in known.items()]


def _line(told: Ingested, source: str | None, contracts: list[list[str]]) -> dict[str, Any]:
    """What is written down beside the journal of an ingest: when it was, from where, and what became of it."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"at": at, "source": source} | asdict(told) | {"contracts": contracts}


def _check(files: tuple[object, ...], tables: Mapping[str, object], **names: object) -> None:
    for parameter, text in names.items():
        if text is not None and (not isinstance(text, str) or not text.strip()):
            msg = f"{parameter}: {text!r} is not allowed; allowed: a name"
            raise BadQuery(msg, parameter=parameter)
    if names["format"] is not None and names["format"] not in _core.formats():
        msg = f"format: {names['format']!r} is not allowed; allowed: {', '.join(_core.formats())}"
        raise BadQuery(msg, parameter="format")
    for file in files:
        if not isinstance(file, (str, os.PathLike)):
            what, kinds = type(file).__name__, "orders=, bars=, open_interest= or positions="
            msg = f"files: a {what} is no file; allowed: paths, and tables as {kinds}"
            raise BadQuery(msg, parameter="files")
    if not files and all(one is None for one in tables.values()):
        msg = "files: there is nothing to ingest; allowed: files, or orders=, bars=, open_interest=, positions="
        raise BadQuery(msg, parameter="files")


def _tables(
    folder: str,
    given: Mapping[str, object],
    options: _Options,
    shown: ProgressBar,
    outcome: dict[str, Any],
    *,
    facts: dict[str, Any] | None = None,
) -> None:
    kinds = ("orders", "bars", "open_interest", "positions")
    orders, bars, open_interest, positions = (table(given[kind], kind) for kind in kinds)
    tables = (orders, bars, open_interest, positions)
    whose = (options.exchange, options.new_exchange, options.contracts)
    rest = (options.rates, options.dry_run, facts)
    _core.ingest_tables(folder, *tables, *whose, _counting(shown.update), outcome, *rest, origin=options.origin)


def _counting(update: Callable[[int], object]) -> Callable[[int], None]:
    """What is told how many rows have been read in all, and tells of those that are new."""
    before = 0

    def seen(rows: int) -> None:
        nonlocal before
        if rows > before:
            update(rows - before)
            before = rows

    return seen


def _fills(folder: str, file: ColumnFile, options: _Options, shown: ProgressBar, outcome: dict[str, Any]) -> None:
    seen = _counting(shown.update)
    with tempfile.TemporaryDirectory() as beside:
        fills = Path(beside, "fills")
        with fills.open("w", encoding="utf-8") as lines:
            lines.writelines(f"{line}\n" for line in file.fills())
        whose: tuple[None, bool] = (None, False)
        _core.ingest_files(
            folder,
            [str(fills)],
            FILLS,
            *whose,
            options.contracts,
            {},
            seen,
            lambda *_: None,
            outcome,
            dry_run=options.dry_run,
            origin=options.origin,
        )


def _told(told: dict[str, Any], *, file: str | None = None, kind: str = "") -> Ingested:
    refused: dict[str, int] = {}
    first: dict[str, str] = {}
    for reason, count, place, shown in told["refused"]:
        where = place if file is None else f"{file}:{place.rpartition(':')[2]}"
        refused[reason] = count
        first[reason] = f"{where} ({shown})" if shown else where
    files = dict(told["files"]) if file is None else {file: kind}
    return Ingested(told["rows"], told["new"], told["repeated"], refused, first, files, tuple(told["cut_short"]))


def _together(done: list[Ingested]) -> Ingested:
    refused: dict[str, int] = {}
    first: dict[str, str] = {}
    files: dict[str, str] = {}
    for one in done:
        for reason, count in one.refused.items():
            refused[reason] = refused.get(reason, 0) + count
            first.setdefault(reason, one.first[reason])
        files |= one.files
    rows, new, repeated = (sum(getattr(one, name) for one in done) for name in ("rows", "new", "repeated"))
    cut_short = tuple(file for one in done for file in one.cut_short)
    return Ingested(rows, new, repeated, refused, first, files, cut_short)
