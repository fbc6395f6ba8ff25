"""Import of files and tables into an archive."""

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
from .tables import rates, sizes, table

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
    contract_size: Any = None,
    progress: Progress = False,
) -> Ingested:
    r"""Store historical files and tables in an archive.

    Stored rows are never changed. A row that the archive already has counts as repeated: ingesting a file twice adds
    nothing, and running an interrupted ingest again completes it. Files of which all rows are stored are not read again
    unless they change. Rows of completed days are written to Parquet files, rows of other days to the journal; each
    batch of rows is stored completely or not at all. A row that breaks a rule is refused, and refused rows are counted
    by reason; all other rows are stored.

    Parameters
    ----------
    path : str or path-like
        The archive's folder; created if it is missing.
    *files : str or path-like
        CSV or JSON files, plain, packed (gzip, zstd, xz, bzip2) or in a zip, and Parquet, Feather and Arrow files,
        which need pyarrow. The type is detected from the content, not from the name. ``"-"`` is the standard input.
    format : str, optional
        The format of all files; by default it is detected from name and columns. One of ``binance_liquidations``,
        ``binance_metrics``, ``binance_klines``, ``tardis_liquidations``, ``tardis_derivative_ticker``,
        ``hyperliquid_fills``, ``ccxt_ohlcv``, ``orders``, ``force_orders`` (orders with the side of the closing order),
        ``bars``, ``open_interest``, ``open_interest_usd``, ``coinglass_prices``, ``coinglass_open_interest_coins``,
        ``coinglass_open_interest_usd``. Open interest in USD is read after
        the other files and converted to coins with the prices of the archive's bars. A reading without a bar at its
        time, or with an implausible value in USD, is refused; a file with mostly implausible readings is refused as a
        whole.
    orders, bars, open_interest : table, optional
        Tables as for :class:`Market`; bars may have a column ``exchange``. If a cell has the wrong type, or open
        interest in USD has no price, all tables are refused. If a row breaks another rule, only this row is refused
        (:attr:`Ingested.refused`).
        Open interest in USD is converted with the prices of ``bars``, or of the archive's bars if ``bars`` is not
        given.
    positions : table, optional
        Snapshots of positions of single accounts (:meth:`Market.positions`): ``timestamp`` (of the snapshot, equal in
        all its rows), ``coin`` or ``symbol`` (a coin, or one of its pairs), ``side`` and ``value_usd``; optionally
        ``exchange``, ``account``, ``qty`` (base units), ``entry_price``, ``leverage``, ``margin_mode``,
        ``liquidation_price``, ``observed_at``, ``seen_share`` and ``current_price`` (the market price at the snapshot,
        needed if ``qty`` is missing).
        Positions without an account are numbered within their snapshot. The price of a snapshot is ``current_price``,
        or the median price of its rows. A snapshot is refused if its price differs by more than 10 % from the market
        price: the price of the archive's bars, or the median of at least three snapshots within three hours. A row is
        refused if its ``value_usd`` differs by more than 10 % and more than one dollar from ``qty`` times the price of
        the snapshot. If fewer than half of the rows agree with the median, the market price is used instead; without a
        market price the snapshot is refused.
    exchange : str, optional
        The exchange of rows that do not name an exchange.
    new_exchange : bool
        Accept exchanges that are neither supported nor in the archive. By default their rows are refused, because the
        name may be misspelt.
    source : str, optional
        Where the data come from, as free text. Each ingest adds a line to ``ingested.jsonl`` in the archive's folder:
        time, source, the format of each file, and the outcome. The line of an interrupted ingest has the mark
        ``interrupted`` and the rows stored until then, which a note of the exception states as well.
    dry_run : bool
        Write nothing and only count accepted and refused rows. Rows that the archive already has count as new.
    quote_rates : mapping, optional
        Rates of quote currencies that do not count as USD, in USD per unit: a mapping from the currency to a number, or
        to a table of ``timestamp`` and ``rate``, each rate valid until the next one. Bars are converted to USD, and
        ``value_usd`` of orders is computed where it is missing. Without a rate, rows in such a currency are refused.
    contract_size : number or table, optional
        What one contract contains, if quantities, volumes or open interest are in contracts: a number for all rows, or
        a table of ``symbol``, ``contract_size`` and optionally ``multiplier_unit`` (``"USD"``, or the base currency).
        Without a unit, the size of an inverse contract is in USD, and that of other contracts in the base currency.
        Contracts become coins only with a known size: rows in contracts of an unknown size are refused, and so are rows
        of inverse contracts of which the unit is not stated.
    progress : bool or callable
        Show a progress bar of the rows (needs tqdm; on a terminal or in a notebook), or call a function with the number
        of rows done and the total (``None`` if unknown).

    Returns
    -------
    Ingested
        Number of rows that were read, that were new or repeated, and that were refused, by reason.

    Raises
    ------
    BadQuery
        If the format or the exchange of a file is unclear, or if a table is refused. Nothing is written then.
    ArchiveError
        If another process writes to the archive, or if it cannot be written.

    Notes
    -----
    A row without a time of receipt counts as received at its own time: an order and an open-interest reading at their
    timestamp, a bar at its close. Answers with ``as_of=`` therefore use no later data, but ignore the delay with which
    the exchange published a row.

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
            f"path: a {type(path).__name__} is not a folder; allowed: the archive's folder first, then files, and "
            "tables by name: liqdata.ingest(folder, orders=table)"
        )
        raise BadQuery(msg, parameter="path")
    folder = to_be_made(placed(path))
    origin = None if dry_run else (_core.new_ingest_id(), source, [os.fspath(file) for file in files])
    known = (rates(quote_rates), _contracts(folder), origin, sizes(contract_size))
    options = _Options(format, exchange, new_exchange, dry_run, *known)
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
    sizes: Any = None

    @property
    def id(self) -> str:
        """Id of the ingest; empty in a dry run."""
        return self.origin[0] if self.origin else ""


class _Work:
    """A running ingest."""

    def __init__(self, folder: str, options: _Options, shown: ProgressBar) -> None:
        self._folder, self._options, self._shown = folder, options, shown
        self._known: list[Ingested] = []
        self._begun: list[_Outcome | _Parts] = []

    @property
    def contracts(self) -> list[list[str]]:
        """The contracts of the bars and open-interest readings ingested so far, by table, exchange and coin."""
        known = self._options.contracts
        for one in self._begun:
            known = one.contracts(known)
        return known

    def so_far(self) -> Ingested:
        """The outcome of the files and tables that were ingested so far."""
        return replace(_together([*self._known, *(one.so_far() for one in self._begun)]), id=self._options.id)

    def files(self, paths: list[str]) -> None:
        """Ingest files; files that are recorded as completely stored are not read again."""
        options = self._options
        asked = {"format": options.format, "exchange": options.exchange, "new_exchange": options.new_exchange}
        if options.sizes is not None:
            asked["contract_size"] = repr(options.sizes)
        finished = Finished(self._folder, paths, asked)
        left = []
        for path in paths:
            outcome = None if options.dry_run else finished.known(path)
            if outcome is None:
                left.append(path)
                continue
            self._known.append(one := _again(outcome))
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
                    finished.add(file.path, _counts(self._begun[-1].so_far()) | facts)

    def _rows(self, files: list[GivenFile], finished: Finished) -> None:
        """Ingest files that are read row by row, and record each as soon as it is completely stored."""
        if not files:
            return
        names = {file.path: file.name for file in files if file.path != file.name}

        def stored(file: str, outcome: dict[str, Any]) -> None:
            path = os.fspath(file)
            facts = {"contracts": outcome["contracts"], "ingest": self._options.id}
            finished.add(names.get(path, path), _counts(_ingested(outcome)) | facts)

        options = self._options
        self._begun.append(outcome := _Outcome())
        seen = _counting(self._shown.update)
        paths = [file.path for file in files]
        attribution = (options.exchange, options.new_exchange, options.contracts, names)
        rest = (options.rates, options.dry_run, options.origin)
        size = options.sizes
        given = (self._folder, paths, options.format)
        _core.ingest_files(*given, *attribution, seen, stored, outcome.native, *rest, contract_size=size)

    def tables(self, given: Mapping[str, object]) -> None:
        """Ingest tables."""
        self._begun.append(outcome := _Outcome())
        options = replace(self._options, contracts=self.contracts)
        _tables(self._folder, given, options, self._shown, outcome.native)


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Add the name of this file to error messages about its rows."""
    try:
        yield
    except BadQuery as error:
        if error.parameter not in KINDS:
            raise
        msg = f"{error.parameter}: {path}: {str(error).removeprefix(f'{error.parameter}: ')}"
        raise BadQuery(msg, parameter=error.parameter) from None


class _Outcome:
    """The outcome of some rows, in a dict that the Rust core fills.

    A returned value would be lost if a signal raised an exception before it was assigned.
    """

    def __init__(self, file: str | None = None, kind: str = "") -> None:
        self.native: dict[str, Any] = {}
        self._file, self._kind = file, kind

    def so_far(self) -> Ingested:
        """The outcome; zero rows if the Rust core did not finish."""
        return _ingested(self.native, file=self._file, kind=self._kind) if self.native else Ingested(0, 0, 0)

    def contracts(self, before: list[list[str]]) -> list[list[str]]:
        """The contracts of the bars and open-interest readings, including those known ``before``."""
        return self.native.get("contracts") or before


class _Parts:
    """The outcomes of the parts of a file of columns that were stored so far."""

    def __init__(self, file: ColumnFile) -> None:
        self._file = file
        self._parts: list[dict[str, Any]] = []

    def begin(self) -> dict[str, Any]:
        """Begin the next part and return the dict for its outcome."""
        part: dict[str, Any] = {}
        self._parts.append(part)
        return part

    @property
    def covered(self) -> list[tuple[str, str, int, int, int, int]]:
        """The first and the last hour that the orders of each exchange cover so far."""
        known: list[list[tuple[str, str, int, int, int, int]]]
        known = [part["covered"] for part in self._parts if part.get("covered")]
        return known[-1] if known else []

    def contracts(self, before: list[list[str]]) -> list[list[str]]:
        """The contracts of the bars and open-interest readings, including those known ``before``."""
        known = [part["contracts"] for part in self._parts if part.get("contracts")]
        return known[-1] if known else before

    def so_far(self) -> Ingested:
        """The outcome of all parts together."""
        parts = [_ingested(part, file=self._file.path, kind=self._file.kind) for part in self._parts if part]
        whole = _together(parts)
        return Ingested(
            whole.rows, whole.new, whole.repeated, whole.refused, whole.first, {self._file.path: self._file.kind}
        )


def _interrupted(
    folder: str, done: Ingested, lines: tuple[dict[str, Any], dict[str, Any] | None], raised: BaseException
) -> None:
    """Record what an interrupted ingest stored, and add it to the exception as a note.

    ``lines`` has the line for an interrupted ingest and, if all rows were stored before the interruption, the line for
    a complete ingest, which may be recorded already.
    """
    if not done.new and not done.repeated:
        return
    cut, whole = lines
    if whole is None:
        add_line(Path(folder), RECORD, cut)
    elif not isinstance(raised, Exception) and json.loads(json.dumps(whole)) not in lines_of(Path(folder), RECORD):
        add_line(Path(folder), RECORD, whole)
    raised.add_note(f"Stored until then: {done}")


def _of_columns(
    folder: str, file: ColumnFile, begun: list[_Outcome | _Parts], options: _Options, shown: ProgressBar
) -> None:
    """Store the rows of a file of columns part by part, and append the outcome to ``begun``."""
    if file.kind == FILLS:
        begun.append(outcome := _Outcome(file.path, file.kind))
        _fills(folder, file, options, shown, outcome.native)
        return
    begun.append(done := _Parts(file))
    symbol, _, interval = _core.file_name(file.path)
    for part in file.parts():
        tables: dict[str, Any] = dict.fromkeys(("orders", "bars", "open_interest", "positions"))
        tables[file.kind] = part.rows
        covered = done.covered
        part_outcome = done.begin()
        contracts = done.contracts(options.contracts)
        facts = {"symbol": symbol, "interval": interval, "numbers": part.numbers, "covered": covered}
        _tables(folder, tables, replace(options, contracts=contracts), shown, part_outcome, facts=facts)
        if "implausible" in part_outcome:
            msg = f"files: {file.path}: {part_outcome.pop('implausible')}"
            raise BadQuery(msg, parameter="files")


def _counts(done: Ingested) -> dict[str, Any]:
    """The counts of a file that its line in the record contains."""
    return {name: getattr(done, name) for name in ("rows", "refused", "first", "files")}


def _again(record: dict[str, Any]) -> Ingested:
    """The outcome that reading a recorded file again would have: all accepted rows are repeated."""
    repeated = record["rows"] - sum(record["refused"].values())
    return Ingested(record["rows"], 0, repeated, *(record[name] for name in SAME))


def _contracts(folder: str) -> list[list[str]]:
    """The contracts of the bars and open-interest readings of earlier ingests, by table, exchange and coin."""
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


def _line(done: Ingested, source: str | None, contracts: list[list[str]]) -> dict[str, Any]:
    """The line that records an ingest: time, source and outcome."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"at": at, "source": source} | asdict(done) | {"contracts": contracts}


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
            msg = f"files: a {what} is not a file; allowed: paths, and tables as {kinds}"
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
    attribution = (options.exchange, options.new_exchange, options.contracts)
    rest = (options.rates, options.dry_run, facts)
    seen, origin, size = _counting(shown.update), options.origin, options.sizes
    _core.ingest_tables(folder, *tables, *attribution, seen, outcome, *rest, origin=origin, contract_size=size)


def _counting(update: Callable[[int], object]) -> Callable[[int], None]:
    """Convert running totals of rows to increments for ``update``."""
    before = 0

    def seen(rows: int) -> None:
        nonlocal before
        if rows > before:
            update(rows - before)
            before = rows

    return seen


def _fills(folder: str, file: ColumnFile, options: _Options, shown: ProgressBar, outcome: dict[str, Any]) -> None:
    seen = _counting(shown.update)
    with tempfile.TemporaryDirectory() as scratch:
        fills = Path(scratch, "fills")
        with fills.open("w", encoding="utf-8") as lines:
            lines.writelines(f"{line}\n" for line in file.fills())
        _core.ingest_files(
            folder,
            [str(fills)],
            FILLS,
            None,
            False,  # noqa: FBT003 - arguments of the native half go by position
            options.contracts,
            {},
            seen,
            lambda *_: None,
            outcome,
            dry_run=options.dry_run,
            origin=options.origin,
        )


def _ingested(outcome: dict[str, Any], *, file: str | None = None, kind: str = "") -> Ingested:
    refused: dict[str, int] = {}
    first: dict[str, str] = {}
    for reason, count, place, shown in outcome["refused"]:
        where = place if file is None else f"{file}:{place.rpartition(':')[2]}"
        refused[reason] = count
        first[reason] = f"{where} ({shown})" if shown else where
    files = dict(outcome["files"]) if file is None else {file: kind}
    counts = (outcome["rows"], outcome["new"], outcome["repeated"])
    return Ingested(*counts, refused, first, files, tuple(outcome["cut_short"]))


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
