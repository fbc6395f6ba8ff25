"""Download of public historical data, and its import into an archive."""

from __future__ import annotations

import calendar
import hashlib
import json
import math
import os
import re
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.archive import Fetched, Ingested
from liqdata.calls.arguments import datetime_of, instant, number, relative, switch, symbols, to_be_made
from liqdata.calls.arguments import folder as placed
from liqdata.calls.progress import bar, checked_progress
from liqdata.calls.traceback import public_call
from liqdata.errors import ArchiveError, BadQuery
from liqdata.ingestion.checkpoint import add_line, ingested_rows, lines_of
from liqdata.ingestion.given_files import GivenFile, open_given
from liqdata.ingestion.ingest import Options, stored

from .bucket import Bucket
from .compare import compared
from .layouts import CONTRACT_SIZES, Planner, Wanted
from .outcome import fetched
from .plan import Gap, Plan, PlannedFile, millis, not_published
from .rows_of_coins import rows_of_coins
from .sources import chosen
from .totals import TotalsClient
from .web import AT_ONCE, Refusal, Stopped, Web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from liqdata.calls.progress import ProgressBar
    from liqdata.types import Bound, Progress

    from .sources import Source

__all__ = ["fetch"]

RECORD = "fetched.jsonl"
"""Name of the file in the archive's folder that lists the fetched files."""

DOWNLOADS = "downloads"
"""Name of the folder in the archive's folder with downloads that are not finished, or kept."""

FORMATS = {"tardis": "tardis_liquidations", "coinalyze": "totals"}
"""Formats of layouts of which the name of a file does not say what it has."""

_AHEAD = 2  # batches that are downloaded while one is imported
_FINAL = 7  # days after which a file that is not published will not be
_BACK = re.compile(r"-(\d{1,3})([yM])")


@public_call
def fetch(
    path: str | os.PathLike[str],
    *,
    coins: str | Iterable[str],
    start: Bound,
    end: Bound | None = None,
    sources: str | Iterable[str] | Mapping[str, Mapping[str, Any]] | None = None,
    pay: float = 0.0,
    keep: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Fetched:
    """Download public historical data, and store it in an archive.

    The files are planned first: every request, with its size and price. Bars come first, then open interest, then
    liquidations, each with the newest day first; the archive can be opened and served after each finished day. A
    download that is interrupted goes on where it stopped, and finished files are not requested again. Each file is
    stored by :func:`liqdata.ingest`, with its address and licence in ``ingested.jsonl``;
    :func:`liqdata.archive.undo` undoes a day of a source.

    Parameters
    ----------
    path : str or path-like
        The archive's folder; created if it is missing.
    coins : str or sequence of str
        The coins, such as ``"BTC,ETH"``. Rows of other coins are not stored.
    start : int, datetime, str or timedelta
        The first day (UTC): an instant, or a time before now, such as ``"-1y"``, ``"-6M"`` or ``"-30d"``.
    end : int, datetime, str or timedelta, optional
        The end, which is not included; by default the start of today. Days are fetched whole.
    sources : str, sequence of str or mapping, optional
        Names of sources; all by default. A mapping describes them: from a name to ``like`` (a source with the same
        layout), ``address`` and optionally ``listing``, ``rate`` (requests per minute) and ``licence``, such as
        ``{"mirror": {"like": "binance", "address": "https://…"}}``.
    pay : float
        The most USD that buckets may cost of which the downloader pays the traffic. By default no such bucket is
        opened. Credentials come from the environment, as for the AWS command line.
    keep : bool
        Keep the downloaded files in the folder ``downloads`` of the archive.
    dry_run : bool
        Only plan: the files are listed, and none is downloaded.
    progress : bool or callable, optional
        Show a progress bar of the bytes (needs tqdm; on a terminal or in a notebook), or call a function with the
        number of bytes done and the total (``None`` if unknown).

    Returns
    -------
    Fetched
        The plan, what was stored of each source, and the days that are missing, with the reason.

    Raises
    ------
    BadQuery
        If an argument is not allowed.
    ArchiveError
        If another process writes to the archive, or if it cannot be written. Finished files stay.

    Notes
    -----
    A source that refuses (403, 451), that is not reachable, or that sends an HTML page in place of a file is left out
    with its reason in :attr:`Fetched.gaps`, and the next one follows. A host that limits requests (429) is asked again
    when it says. Of each exchange, table and day the first source that has orders owns them; a second one is
    compared, and not added (:attr:`Fetched.compared`).

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> folder = tempfile.mkdtemp() + "/archive"
    >>> nowhere = {"tardis": {"address": "http://127.0.0.1:1", "rate": 6000}}
    >>> done = liqdata.fetch(folder, coins="BTC", start="2026-01-01", end="2026-02-01", sources=nowhere, dry_run=True)
    >>> len(done.plan), done.gaps[-1]["reason"].partition(":")[0]
    (0, 'it cannot be reached')
    """
    switch(keep, "keep")
    switch(dry_run, "dry_run")
    shown_progress = checked_progress(False if progress is None else progress)
    folder = to_be_made(placed(path))
    wanted = _wanted(coins, start, end, _paid(pay))
    fetching = _Fetching(Path(folder), wanted, chosen(sources), keeps_files=keep)
    plan = fetching.plan()
    if dry_run:
        return fetched(plan, {}, plan.gaps, [], dry_run=True)
    known = [one.size for one in plan.files]
    total = None if None in known else sum(size or 0 for size in known)
    with closing(bar(wanted=shown_progress, total=total, what=f"fetch, {len(plan.files)} files", unit="B")) as shown:
        fetching.run(plan, shown)
    return fetching.outcome(plan)


def _wanted(coins: object, start: Any, end: Any, pay: float) -> Wanted:
    try:
        names = [_core.coin(one.strip()) for one in symbols(coins)]
    except BadQuery as error:
        msg = str(error).removeprefix("symbol: ")
        raise BadQuery(f"coins: {msg}", parameter="coins") from None
    if not names:
        msg = "coins: none is named; allowed: one or several, such as BTC,ETH"
        raise BadQuery(msg, parameter="coins")
    now = datetime.now(UTC)
    first = _day(start, "start", now)
    until = now.date() if end is None else min(_end(end, now), now.date())
    last = until - timedelta(days=1)
    if last < first:
        msg = f"start: {start!r} is not before the end; allowed: a day before {until}"
        raise BadQuery(msg, parameter="start")
    return Wanted(tuple(dict.fromkeys(names)), first, last, pay)


def _day(value: Any, parameter: str, now: datetime) -> date:
    """The UTC day of a bound."""
    return _instant(value, parameter, now).date()


def _end(value: Any, now: datetime) -> date:
    """The day at the start of which the last fetched day ends."""
    at = _instant(value, "end", now)
    return at.date() if at.time() == datetime.min.time() else at.date() + timedelta(days=1)


def _instant(value: Any, parameter: str, now: datetime) -> datetime:
    if isinstance(value, str) and (back := _BACK.fullmatch(value)):
        months = int(back[1]) * (12 if back[2] == "y" else 1)
        month = now.year * 12 + now.month - 1 - months
        year, month = divmod(month, 12)
        day = min(now.day, calendar.monthrange(max(year, 1), month + 1)[1])
        return datetime(max(year, 1), month + 1, day, tzinfo=UTC)
    ago = relative(value)
    if ago is not None:
        midnight = datetime.combine(now.date(), datetime.min.time(), UTC)
        return midnight - timedelta(milliseconds=ago)
    at = instant(value, parameter)
    if at is None:
        msg = f"{parameter}: {value!r} is not allowed; allowed: an instant, or a time before now such as -1y"
        raise BadQuery(msg, parameter=parameter)
    return datetime_of(at)


def _paid(pay: object) -> float:
    allowed = "USD from 0 on"
    amount = number(pay, "pay", allowed)
    if not math.isfinite(amount) or amount < 0:
        msg = f"pay: {pay!r} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="pay")
    return amount


@dataclass
class Delivery:
    """What one source gave of one table."""

    files: int = 0
    rows: int = 0
    new: int = 0
    repeated: int = 0
    refused: int = 0
    bytes: int = 0
    usd: float = 0.0

    def add(self, done: Ingested, files: Sequence[PlannedFile], sizes: Mapping[str, int]) -> None:
        """Add the outcome of an ingest of some files."""
        self.rows, self.new, self.repeated = self.rows + done.rows, self.new + done.new, self.repeated + done.repeated
        self.refused += sum(done.refused.values())
        got = [sizes.get(one.url, 0) for one in files]
        self.files, self.bytes = self.files + len(files), self.bytes + sum(got)
        self.usd += sum(size / 1e9 * one.source.usd_per_gb for one, size in zip(files, got, strict=True))


@dataclass
class _Batch:
    """Files that are imported together: those of a source, a table and a day or month."""

    files: list[PlannedFile] = field(default_factory=list)
    futures: dict[str, Future[Path]] = field(default_factory=dict)


class _Fetching:
    """A running download."""

    def __init__(self, folder: Path, wanted: Wanted, sources: list[Source], *, keeps_files: bool) -> None:
        self._folder, self._wanted, self._sources, self._keeps_files = folder, wanted, sources, keeps_files
        self._web = Web({host: rate for source in sources for host, rate in source.rates().items()})
        self._record = _Record(folder)
        self._refused: dict[str, Refusal] = {}
        self._gaps: list[Gap] = []
        self._missing: dict[tuple[str, str, str, str, date], list[int]] = {}
        self._deliveries: dict[tuple[str, str], Delivery] = {}
        self._compared: list[dict[str, Any]] = []
        self._partial: set[tuple[str, str, date]] = set()
        """Days of which some files could not be downloaded or read."""
        self._sizes: dict[str, Mapping[str, list[Any]] | Refusal] = {}
        self._bytes: dict[str, int] = {}
        self._services: dict[str, TotalsClient] = {}
        self._lock = threading.Lock()
        self._seen: Callable[[int], object] = lambda _: None

    def plan(self) -> Plan:
        """Every file that is to be requested, in order."""
        whole = Plan()
        taken: set[tuple[str, str, str, date]] = set()
        for place, source in enumerate(self._sources):
            wanted = self._wanted.of(source)
            if wanted is None:
                continue
            planned = Planner(source, place * 10, wanted, self._web).plan()
            whole.gaps += planned.gaps
            files = sorted(planned.files, key=lambda one: (one.stage, -one.last.toordinal()))
            for one in files:
                # A second source of bars and readings would contradict the first one.
                days = {(one.exchange, one.table, coin, one.first) for coin in one.coins}
                is_second = one.table in {"bars", "open_interest"} and days <= taken
                if not is_second and not self._record.has(one, whole.gaps):
                    whole.files.append(one)
            taken |= {
                (one.exchange, one.table, coin, one.first)
                for one in files
                for coin in one.coins
                if one.table in {"bars", "open_interest"}
            }
        return self._affordable(_needed(whole))

    def _affordable(self, plan: Plan) -> Plan:
        """Leave out what costs more than is to be paid, the oldest days first."""
        left, files = self._wanted.pay, []
        for one in plan.files:
            if one.usd > left:
                reason = "it costs more than pay="
                plan.gaps.append(Gap(one.source.name, one.exchange, one.table, "", one.first, one.last, reason))
                continue
            left -= one.usd
            files.append(one)
        return replace(plan, files=files)

    def run(self, plan: Plan, shown: ProgressBar) -> None:
        """Download and import the files of a plan."""
        self._gaps = list(plan.gaps)
        if plan.files and not self._folder.exists():
            # Downloads lie in the archive's folder, which therefore has to be one.
            _core.ArchiveWriter(self._folder).close()
        self._seen = shown.update
        batches: dict[tuple[str, int, str, date], _Batch] = {}
        for one in plan.files:
            batches.setdefault((one.source.name, one.stage, one.table, one.last), _Batch()).files.append(one)
        queue = list(batches.values())
        pool = ThreadPoolExecutor(AT_ONCE, "liqdata-fetch")
        try:
            for place, batch in enumerate(queue):
                for ahead in queue[place : place + 1 + _AHEAD]:
                    for one in ahead.files:
                        if one.url not in ahead.futures:
                            ahead.futures[one.url] = pool.submit(self._download, one)
                self._import(batch)
                queue[place] = _Batch()  # its downloads are no longer needed
        except BaseException as raised:
            self._web.end()
            raised.add_note(f"Fetched until then: {self._so_far()}; the same call goes on from there")
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            if not self._keeps_files:
                _remove_empty(self._folder / DOWNLOADS)

    def outcome(self, plan: Plan) -> Fetched:
        """What was fetched."""
        self._store_gaps()
        for (source, exchange, table, coin, day), (missing, of) in self._missing.items():
            self._gaps.append(Gap(source, exchange, table, coin, day, day, not_published(missing, of)))
        return fetched(plan, self._deliveries, self._gaps, self._compared, dry_run=False)

    def _store_gaps(self) -> None:
        """Record the days in the archive of which no file was ever published, with the source as the reason."""
        over = datetime.now(UTC).date() - timedelta(days=_FINAL)
        absent: dict[tuple[str, str, date], list[bool]] = {}
        for (source, exchange, table, _, day), (missing, of) in self._missing.items():
            if table == "orders" and exchange and day <= over:
                absent.setdefault((source, exchange, day), []).append(missing == of)
        days = [key for key, coins in absent.items() if all(coins) and not self._record.has_orders(*key[1:])]
        if days and self._folder.exists():
            with closing(_core.ArchiveWriter(self._folder)) as writer:
                for source, exchange, day in days:
                    writer.gap(exchange, millis(day), millis(day + timedelta(days=1)), f"not published by {source}")

    def _so_far(self) -> str:
        files = sum(one.files for one in self._deliveries.values())
        new = sum(one.new for one in self._deliveries.values())
        return f"{files:,} files, {new:,} new rows"

    # Downloads, on the threads of the pool.

    def _download(self, one: PlannedFile) -> Path:
        refused = self._refused.get(one.source.name)
        if refused is not None:
            raise refused
        target = _below(self._folder / DOWNLOADS / one.source.name, one.file)
        try:
            if not target.is_file():
                self._save(one, target)
            if one.sha256 is not None:
                self._check(one, target, one.sha256)
        except Refusal as refusal:
            if refusal.whole:
                self._refused.setdefault(one.source.name, refusal)
            raise
        return target

    def _check(self, one: PlannedFile, target: Path, sha256: str) -> None:
        """Compare a file with its checksum; a file that differs is downloaded once more."""
        for is_last in (False, True):
            if _sha256(target) == sha256.lower():
                return
            target.unlink()
            if is_last:
                msg = "its SHA-256 differs from the published one, twice"
                raise Refusal(msg, again=True)
            self._save(one, target)

    def _save(self, one: PlannedFile, target: Path) -> None:
        def seen(count: int) -> None:
            self._bytes[one.url] = self._bytes.get(one.url, 0) + count
            self._seen(count)

        if _is_linked(target, self._folder):
            msg = f"{target}: a folder on its path is a link; folders of an archive must not be links"
            raise ArchiveError(msg, path=str(target))
        if one.source.layout == "coinalyze":
            seen(self._service(one.source).save(one, target))
        elif one.source.address.startswith("s3://"):
            Bucket(one.source).save(one.file, target, seen, self._web.is_ended)
        else:
            headers = one.source.headers if one.url.startswith(one.source.address) else {}
            self._web.save(one.url, target, headers, seen)

    def _service(self, source: Source) -> TotalsClient:
        """The client of a source that is no host of files."""
        with self._lock:
            if source.name not in self._services:
                self._services[source.name] = TotalsClient(source)
            return self._services[source.name]

    # Imports, on the thread of the caller.

    def _import(self, batch: _Batch) -> None:
        """Import the files of a batch when all are downloaded: together, but for amounts in contracts."""
        downloads = self._downloaded(batch)
        groups: dict[tuple[str, bool], list[tuple[PlannedFile, Path]]] = {}
        for one in batch.files:
            target = downloads.get(one.file)
            if target is None or one.checksum_of is not None:
                continue
            if one.table == CONTRACT_SIZES:
                self._sizes[one.exchange] = _contract_sizes(target)
                continue
            sized = one.exchange if one.exchange in one.source.contract_sizes else ""
            is_owned = one.table == "orders" and self._record.is_owned(one)
            groups.setdefault((sized, is_owned), []).append((one, target))
        for (sized, is_owned), files in groups.items():
            self._import_of(files, self._sizes.get(sized), is_owned=is_owned)
        for one in batch.files:
            # Sizes of contracts are those of today, so their list is never used again.
            if one.file in downloads and (not self._keeps_files or one.table == CONTRACT_SIZES):
                downloads[one.file].unlink(missing_ok=True)

    def _downloaded(self, batch: _Batch) -> dict[str, Path]:
        """The files of a batch that were downloaded and agree with their checksums."""
        downloads: dict[str, Path] = {}
        for one in batch.files:
            with self._noting(one, batch), suppress(Stopped):
                downloads[one.file] = batch.futures[one.url].result()
        for one in batch.files:
            if one.file in downloads and one.checksum_of is None:
                with self._noting(one, batch):
                    target = downloads.pop(one.file)
                    self._compare_checksum(one, target, batch, downloads)
                    downloads[one.file] = target
        return downloads

    @contextmanager
    def _noting(self, one: PlannedFile, batch: _Batch) -> Iterator[None]:
        """Add a file that is refused in the block to the gaps."""
        try:
            yield
        except Refusal as refusal:
            self._note(one, refusal, batch)

    def _compare_checksum(self, one: PlannedFile, target: Path, batch: _Batch, downloads: Mapping[str, Path]) -> None:
        """Compare a file with the checksum that is published with it."""
        listed = next((other for other in batch.files if other.checksum_of == one.file), None)
        published = downloads.get(listed.file) if listed is not None else None
        if published is None:
            return
        words = published.read_text(encoding="utf-8", errors="replace").split()
        if not words or not re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
            msg = f"its checksum {published.name} is not a SHA-256"
            raise Refusal(msg, again=True)
        self._check(one, target, words[0])

    def _note(self, one: PlannedFile, refusal: Refusal, batch: _Batch) -> None:
        """Add a refused file to the gaps."""
        coin = one.coins[0] if len(one.coins) == 1 else ""
        if one.checksum_of is not None:
            return  # the file itself is read without it
        if one.table == CONTRACT_SIZES:
            self._sizes[one.exchange] = refusal
        elif refusal.missing:
            self._record.add_missing(one)
            key = (one.source.name, one.exchange, one.table, coin, one.last)
            of = sum(other.exchange == one.exchange and other.coins == one.coins for other in batch.files)
            self._missing.setdefault(key, [0, of])[0] += 1
        else:
            self._partial.add((one.source.name, one.exchange, one.first))
            self._add_gap(one, refusal.reason, again=refusal.again)

    def _import_of(
        self,
        files: list[tuple[PlannedFile, Path]],
        sizes: Mapping[str, list[Any]] | Refusal | None,
        *,
        is_owned: bool,
    ) -> None:
        """Import some files together; if one cannot be read, the halves, until it is alone."""
        if isinstance(sizes, Refusal):
            for one, _ in files:
                self._add_gap(one, f"the sizes of its contracts: {sizes.reason}", again=True)
            return
        first = files[0][0]
        with ExitStack() as scratch:
            try:
                given = [self._opened(one, target, scratch, sizes) for one, target in files]
                if is_owned:
                    form = FORMATS.get(first.source.layout)
                    self._compared += compared(self._folder, given, first, self._wanted.coins, sizes, format=form)
                    outcome = Ingested(0, 0, 0)
                else:
                    outcome = self._stored(given, [one for one, _ in files], sizes)
            except BadQuery as error:
                self._partial |= {(one.source.name, one.exchange, one.first) for one, _ in files}
                if len(files) == 1:
                    self._add_gap(first, f"it cannot be read: {str(error).removeprefix('files: ')}")
                    return
                half = len(files) // 2
                for part in (files[:half], files[half:]):
                    self._import_of(part, sizes, is_owned=is_owned)
                return
        done = [one for one, _ in files if self._shown(one) not in outcome.cut_short]
        for one, _ in files:
            if one not in done:
                self._add_gap(one, "it is cut short or damaged", again=True)
        delivery = self._deliveries.setdefault((first.source.name, first.table), Delivery())
        delivery.add(outcome, done, self._bytes)
        self._record.add(done, outcome, self._wanted.coins)

    def _add_gap(self, one: PlannedFile, reason: str, *, again: bool = False) -> None:
        coin = one.coins[0] if len(one.coins) == 1 else ""
        self._gaps.append(Gap(one.source.name, one.exchange, one.table, coin, one.first, one.last, reason, again))

    def _opened(
        self, one: PlannedFile, target: Path, scratch: ExitStack, sizes: Mapping[str, list[Any]] | None
    ) -> GivenFile:
        """A downloaded file as one to import: only the rows of the wanted coins, and unpacked."""
        path = target
        if one.source.layout not in {"binance", "hourly", "coinalyze"}:
            below = scratch.enter_context(tempfile.TemporaryDirectory(prefix="liqdata-"))
            path = rows_of_coins(target, self._wanted.coins, Path(below))
        return open_given(self._shown(one), scratch, path=str(path), is_sized=sizes is not None)

    def _shown(self, one: PlannedFile) -> str:
        return _name(one, is_whole=(one.source.name, one.exchange, one.first) not in self._partial)

    def _stored(
        self, given: list[GivenFile], files: list[PlannedFile], sizes: Mapping[str, list[Any]] | None
    ) -> Ingested:
        source = files[0].source
        facts = {"address": source.address, "licence": source.licence, "republish": source.republish}
        exchanges = {one.exchange for one in files}
        exchange = (exchanges.pop() or None) if len(exchanges) == 1 else None
        # The service names exchanges that are not collected.
        is_any = source.layout == "coinalyze"
        options = Options(FORMATS.get(source.layout), exchange, is_any, sizes=sizes)
        return stored(self._folder, given, {}, options, source=f"{source.name}: {source.address}", facts=facts)


class _Record:
    """The record of the files that were fetched, in the archive's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        lines = lines_of(folder, RECORD) if folder.is_dir() else []
        rows = ingested_rows(str(folder)) if lines else {}
        is_stored = {id for id, count in rows.items() if count is not None}
        self._files: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._owners: dict[tuple[str, str, str, str], str] = {}
        for line in lines:
            # Files of an ingest that was undone, or that an older copy of the archive lacks, are fetched again.
            if not line.get("rows") or line.get("ingest") in is_stored:
                self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        self._files.setdefault((line["source"], line["file"]), []).append(line)
        if line.get("rows"):
            for coin in line["coins"]:
                self._owners.setdefault((line["exchange"], line["table"], coin, line["first"]), line["source"])

    def has(self, one: PlannedFile, gaps: list[Gap]) -> bool:
        """Whether a file was fetched, or will never be published."""
        if one.checksum_of is not None:
            return self._has(one.source.name, one.checksum_of, one, gaps=None)
        return self._has(one.source.name, one.file, one, gaps)

    def _has(self, source: str, file: str, one: PlannedFile, gaps: list[Gap] | None) -> bool:
        for line in self._files.get((source, file), ()):
            if line.get("missing"):
                if gaps is not None:
                    reason = "not published (404)"
                    gaps.append(Gap(source, one.exchange, one.table, "", one.first, one.last, reason))
                return True
            if set(one.coins) <= set(line["coins"]):
                return True
        return False

    def is_owned(self, one: PlannedFile) -> bool:
        """Whether another source has stored the orders of this exchange, these coins and this day."""
        day = one.first.isoformat()
        owners = [self._owners.get((one.exchange, one.table, coin, day)) for coin in one.coins]
        return all(owner not in {None, one.source.name} for owner in owners)

    def has_orders(self, exchange: str, day: date) -> bool:
        """Whether any source has stored orders of this exchange and day."""
        return any(owned[:2] == (exchange, "orders") and owned[3] == day.isoformat() for owned in self._owners)

    def add(self, files: Sequence[PlannedFile], done: Ingested, coins: tuple[str, ...]) -> None:
        """Record files of which all rows are stored."""
        for one in files:
            facts = {"rows": done.new + done.repeated, "ingest": done.id, "coins": [*(one.coins or coins)]}
            self._write(one, facts)

    def add_missing(self, one: PlannedFile) -> None:
        """Record a file that is not published, if its day is long over."""
        if one.last <= datetime.now(UTC).date() - timedelta(days=_FINAL):
            self._write(one, {"missing": True, "rows": 0, "ingest": "", "coins": [*one.coins]})

    def _write(self, one: PlannedFile, facts: Mapping[str, Any]) -> None:
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "source": one.source.name,
            "file": one.file,
            "address": one.url,
            "licence": one.source.licence,
            "exchange": one.exchange,
            "table": one.table,
            "first": one.first.isoformat(),
            "last": one.last.isoformat(),
            **facts,
        }
        self._take(line)
        add_line(self._folder, RECORD, line)


def _name(one: PlannedFile, *, is_whole: bool = False) -> str:
    """The name of a file in records and messages; with its day, all of which is covered, if the day is whole."""
    day = f"#{one.first}" if is_whole and one.table == "orders" and one.first == one.last else ""
    return f"{one.source.address}/{one.file}{day}"


def _needed(plan: Plan) -> Plan:
    """Leave out sizes of contracts of which no other file is left."""
    used = {(one.source.name, one.exchange) for one in plan.files if one.table != CONTRACT_SIZES}
    files = [one for one in plan.files if one.table != CONTRACT_SIZES or (one.source.name, one.exchange) in used]
    return replace(plan, files=files)


def _contract_sizes(file: Path) -> Mapping[str, list[Any]] | Refusal:
    """The sizes of OKX' contracts, from the list of its instruments."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["data"]
        found = [(row["instId"], row["ctVal"], row["ctValCcy"]) for row in rows if row["ctVal"]]
    except (ValueError, KeyError, TypeError):
        return Refusal("the list of instruments has another form", again=True)
    names, sizes, units = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [])
    return {"symbol": names, "contract_size": [float(size) for size in sizes], "multiplier_unit": units}


def _below(folder: Path, file: str) -> Path:
    """The path of a download; names come from listings of strangers."""
    parts = PurePosixPath(file.partition("://")[2] or file).parts
    if any(part in {"..", "/"} or "\\" in part or "\0" in part for part in parts) or not parts:
        msg = "its name is not a path below the source"
        raise Refusal(msg)
    return folder.joinpath(*(part.replace("?", "_") for part in parts))


def _is_linked(target: Path, folder: Path) -> bool:
    return any(above.is_symlink() for above in (target, *target.parents) if folder in above.parents)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remove_empty(folder: Path) -> None:
    """Remove folders without files; parts of files stay."""
    for below, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(below).rmdir()
