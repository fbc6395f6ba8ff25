"""Import of files and tables into an archive."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import secrets
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.archive import Ingested
from liqdata.calls.arguments import anchored, switch, to_be_made
from liqdata.calls.arguments import folder as placed
from liqdata.calls.progress import bar, checked_progress
from liqdata.calls.traceback import public_call
from liqdata.cloud.upload import RECORD
from liqdata.errors import BadQuery

from .checkpoint import FINISHED, Finished, add_line, ingested_rows, lines_of
from .given_files import GivenFile, open_given
from .tables import rates, sizes, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from liqdata.calls.progress import ProgressBar
    from liqdata.types import Progress


__all__ = ["ingest"]

_KINDS = ("orders", "bars", "open_interest", "positions", "totals")
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
    totals: Any = None,
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
        CSV or JSON files, plain, packed (gzip, zstd, xz, bzip2) or in a zip, and Parquet, Feather and Arrow files.
        The type is detected from the content, not from the name. ``"-"`` is the standard input.
    format : str, optional
        The format of all files; by default it is detected from name and columns. One of ``binance_liquidations``,
        ``binance_metrics``, ``binance_klines``, ``tardis_liquidations``, ``tardis_derivative_ticker``,
        ``hyperliquid_fills``, ``ccxt_ohlcv``, ``orders``, ``force_orders`` (orders with the side of the closing order),
        ``bars``, ``open_interest``, ``open_interest_usd``, ``coinglass_prices``, ``coinglass_open_interest_coins``,
        ``coinglass_open_interest_usd``, ``positions``, ``totals``, ``coinalyze_liquidations``. Open interest in USD is
        read after the other files and converted to coins with the prices of the archive's bars. A reading without a
        bar at its time, or with an implausible value in USD, is refused; a file with mostly implausible readings is
        refused as a whole.
    orders, bars, open_interest : table, optional
        Tables as for :class:`Market`; bars may have a column ``exchange``, and orders ``dedupe_key`` (the id of a row
        in its source), ``native_id`` (the exchange's name of the contract) and ``price_kind``, as
        :func:`liqdata.feeds.decode` returns them. If a cell has the wrong type, or open interest in USD has no price,
        all tables are refused. If a row breaks another rule, only this row is refused (:attr:`Ingested.refused`).
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
    totals : table, optional
        Liquidated USD per period: ``exchange`` (or ``"all"`` for the sum of all exchanges), ``symbol`` or ``coin``,
        ``timestamp`` (start of the period), ``long_usd`` and ``short_usd``; optionally ``interval`` (as for bars of
        :class:`Market`; whole minutes that divide a day; by default the commonest spacing of the rows) and
        ``received_at`` (the end of the period by default). :meth:`Market.history`, :meth:`Market.overview`,
        :meth:`Market.coins`, :meth:`Market.exchanges`, :meth:`Market.chart` and :func:`score` use them where no orders
        are known. A coin on an exchange has the totals of one contract, or the sums over its contracts. A period that
        had not ended when its total was received is refused.
    exchange : str, optional
        The exchange of rows that do not name an exchange; for totals also ``"all"``.
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
    timestamp, a bar and a total at the end. Answers with ``as_of=`` therefore use no later data, but ignore the delay
    with which the exchange published a row.

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
    given = {"orders": orders, "bars": bars, "open_interest": open_interest, "positions": positions, "totals": totals}
    check(files, given, format=format, exchange=exchange, source=source)
    switch(new_exchange, "new_exchange")
    switch(dry_run, "dry_run")
    checked_progress(progress)
    if not isinstance(path, str | os.PathLike):
        msg = (
            f"path: a {type(path).__name__} is not a folder; allowed: the archive's folder first, then files, and "
            "tables by name: liqdata.ingest(folder, orders=table)"
        )
        raise BadQuery(msg, parameter="path")
    options = Options(format, exchange, new_exchange, dry_run, rates(quote_rates), sizes(contract_size))
    return stored(path, files, given, options, source=source, progress=progress)


@dataclass(frozen=True)
class Options:
    """How files and tables are read."""

    format: str | None = None
    exchange: str | None = None
    new_exchange: bool = False
    dry_run: bool = False
    rates: dict[str, Any] | None = None
    sizes: Any = None
    symbol: str | None = None
    """The symbol of the rows of files in which neither a column nor the name of the file has it."""
    contracts: list[list[str]] = field(default_factory=list)
    origin: tuple[str, str | None, list[str]] | None = None

    @property
    def id(self) -> str:
        """Id of the ingest; empty in a dry run."""
        return self.origin[0] if self.origin else ""


def stored(
    path: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str] | GivenFile],
    given: Mapping[str, object],
    options: Options,
    *,
    source: str | None = None,
    facts: Mapping[str, object] | None = None,
    progress: Progress = False,
) -> Ingested:
    """Store the rows of checked files and tables, and record the ingest, with more ``facts`` about it.

    Files that are open already are not looked up among the finished files, and not added to them.
    """
    folder, dry_run = to_be_made(placed(path)), options.dry_run
    names = [file.name if isinstance(file, GivenFile) else os.fspath(file) for file in files]
    origin = None if dry_run else (_core.new_ingest_id(), source, names)
    options = replace(options, contracts=_contracts(folder), origin=origin)
    with contextlib.closing(bar(wanted=progress, total=None, what="ingest")) as shown:
        work = _Work(folder, options, shown)
        line = None
        try:
            work.files([anchored(os.fspath(file), "files") for file in files if not isinstance(file, GivenFile)])
            work.open_files([file for file in files if isinstance(file, GivenFile)])
            if any(one is not None for one in given.values()):
                work.tables(given)
            whole = work.so_far()
            if not dry_run and Path(folder).exists():
                line = _line(whole, source, work.contracts) | dict(facts or {})
                add_line(Path(folder), RECORD, line)
        except BaseException as raised:
            done = work.so_far()
            cut = _line(done, source, work.contracts) | dict(facts or {}) | {"interrupted": True}
            if not dry_run:
                _interrupted(folder, done, (cut, line), raised)
            raise
    return whole


class _Work:
    """A running ingest."""

    def __init__(self, folder: str, options: Options, shown: ProgressBar) -> None:
        self._folder, self._options, self._shown = folder, options, shown
        self._known: list[Ingested] = []
        self._begun: list[_Outcome] = []

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
        asked |= {"quote_rates": _digest(options.rates), "contract_size": _digest(options.sizes)}
        finished = Finished(self._folder, paths, asked)
        left = []
        for path in paths:
            known = None if options.dry_run else finished.known(path)
            if known is None:
                left.append(path)
                continue
            self._known.append(one := _again(known))
            self._shown.update(one.rows)
        if not left:
            return
        with contextlib.ExitStack() as scratch:
            open_one = partial(
                open_given, is_sized=options.sizes is not None, format=options.format, symbol=options.symbol
            )
            given = [open_one(path, scratch, options.exchange) for path in left]

            def finish(file: str, outcome: dict[str, Any]) -> None:
                facts = {"contracts": outcome["contracts"], "ingest": options.id, "stored": outcome["stored"]}
                finished.add(file, _counts(_ingested(outcome)) | facts)

            self.open_files(given, finish)

    def open_files(self, given: list[GivenFile], finish: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        """Ingest files that are open; ``finish`` gets the name and the outcome of each finished file."""
        if not given:
            return
        options = replace(self._options, contracts=self.contracts)
        names = {file.path: file.name for file in given if file.path != file.name}

        def finished(file: str, outcome: dict[str, Any]) -> None:
            path = os.fspath(file)
            if finish is not None:
                finish(names.get(path, path), outcome)

        self._begun.append(outcome := _Outcome())
        attribution = (options.exchange, options.new_exchange, options.contracts, names)
        paths, seen = [file.path for file in given], _counting(self._shown.update)
        _core.ingest_files(
            *(self._folder, paths, options.format, *attribution, seen, finished, outcome.native),
            quote_rates=options.rates,
            dry_run=options.dry_run,
            origin=options.origin,
            contract_size=options.sizes,
            symbol=options.symbol,
        )

    def tables(self, given: Mapping[str, object]) -> None:
        """Ingest tables."""
        self._begun.append(outcome := _Outcome())
        options = replace(self._options, contracts=self.contracts)
        _tables(self._folder, given, options, self._shown, outcome.native)


class Session:
    """An ingest of tables that arrive one after another; it is recorded as one ingest.

    Parameters
    ----------
    path : str
        The archive's folder; created if it is missing.
    source : str, optional
        Where the rows come from.
    """

    def __init__(self, path: str, source: str | None) -> None:
        self._folder, self._source = to_be_made(placed(path)), source
        origin: tuple[str, str | None, list[str]] = (_core.new_ingest_id(), source, [])
        self._options = Options(new_exchange=True, contracts=_contracts(self._folder), origin=origin)
        self._done = Ingested(0, 0, 0, id=self._options.id)

    def store(self, given: Mapping[str, object]) -> Ingested:
        """Store tables and return their outcome; their rows are durable then."""
        outcome: dict[str, Any] = {}
        tables = {kind: given.get(kind) for kind in _KINDS}
        with contextlib.closing(bar(wanted=False, total=None, what="ingest")) as shown:
            _tables(self._folder, tables, self._options, shown, outcome)
        self._options = replace(self._options, contracts=outcome.get("contracts") or self._options.contracts)
        found = _ingested(outcome)
        self._done = replace(_together([self._done, found]), id=self._options.id)
        return found

    def so_far(self) -> Ingested:
        """The sums of all tables."""
        return self._done

    def close(self) -> None:
        """Record the ingest, if it stored or repeated a row."""
        if self._done.rows:
            add_line(Path(self._folder), RECORD, _line(self._done, self._source, self._options.contracts))


class _Outcome:
    """The outcome of some rows, in a dict that the Rust core fills.

    A returned value would be lost if a signal raised an exception before it was assigned.
    """

    def __init__(self) -> None:
        self.native: dict[str, Any] = {}

    def so_far(self) -> Ingested:
        """The outcome; zero rows if the Rust core did not finish."""
        return _ingested(self.native) if self.native else Ingested(0, 0, 0)

    def contracts(self, before: list[list[str]]) -> list[list[str]]:
        """The contracts of the bars and open-interest readings, including those known ``before``."""
        return self.native.get("contracts") or before


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


def _digest(value: object) -> str | None:
    """A digest of rates or sizes, which may be tables; equal digests mean equal values."""
    if value is None:
        return None
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except (AttributeError, TypeError, pickle.PicklingError):
        return secrets.token_hex()  # a table that cannot be compared


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
    gone = {id for id, rows in ingested_rows(folder).items() if rows is None}
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


def check(files: tuple[object, ...], tables: Mapping[str, object], **names: object) -> None:
    """Check the kinds of files, tables and names."""
    for parameter, text in names.items():
        if text is not None and (not isinstance(text, str) or not text.strip()):
            msg = f"{parameter}: {text!r} is not allowed; allowed: a name"
            raise BadQuery(msg, parameter=parameter)
    if names["format"] is not None and names["format"] not in _core.formats():
        msg = f"format: {names['format']!r} is not allowed; allowed: {', '.join(_core.formats())}"
        raise BadQuery(msg, parameter="format")
    for file in files:
        if not isinstance(file, (str, os.PathLike)):
            allowed = "paths, and tables as orders=, bars=, open_interest=, positions= or totals="
            if not tables:
                allowed = "paths; liqdata.Market takes tables"
            msg = f"files: a {type(file).__name__} is not a file; allowed: {allowed}"
            raise BadQuery(msg, parameter="files")
    if not files and all(one is None for one in tables.values()):
        msg = (
            "files: there is nothing to ingest; allowed: files, or orders=, bars=, open_interest=, positions=, totals="
        )
        raise BadQuery(msg, parameter="files")


def _tables(
    folder: str,
    given: Mapping[str, object],
    options: Options,
    shown: ProgressBar,
    outcome: dict[str, Any],
) -> None:
    orders, bars, open_interest, positions, totals = (table(given[kind], kind) for kind in _KINDS)
    tables = (orders, bars, open_interest, positions, totals)
    attribution = (options.exchange, options.new_exchange, options.contracts)
    _core.ingest_tables(
        *(folder, *tables, *attribution, _counting(shown.update), outcome),
        quote_rates=options.rates,
        dry_run=options.dry_run,
        origin=options.origin,
        contract_size=options.sizes,
    )


def _counting(update: Callable[[int], object]) -> Callable[[int], None]:
    """Convert running totals of rows to increments for ``update``."""
    before = 0

    def seen(rows: int) -> None:
        nonlocal before
        if rows > before:
            update(rows - before)
            before = rows

    return seen


def _ingested(outcome: dict[str, Any]) -> Ingested:
    refused: dict[str, int] = {}
    first: dict[str, str] = {}
    for reason, count, place, shown in outcome["refused"]:
        refused[reason] = count
        first[reason] = f"{place} ({shown})" if shown else place
    counts = (outcome["rows"], outcome["new"], outcome["repeated"])
    return Ingested(*counts, refused, first, dict(outcome["files"]), tuple(outcome["cut_short"]))


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
