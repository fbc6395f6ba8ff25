"""How the files of each source are listed and named."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, urlsplit
from xml.etree import ElementTree as ET

from liqdata import _core, symbols
from liqdata.errors import BadQuery

from .bucket import Bucket
from .plan import Gap, Plan, PlannedFile, day_of, days_of, month_end, not_published
from .totals import NO_KEY, TotalsClient, file_of, spans
from .web import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .sources import Source
    from .web import Web

_PAGES = 10_000  # maximum number of pages of one listing
_HEADED = 0.5  # minutes that asking for the sizes of a source's files may take
_READABLE = re.compile(r"\.(parquet|csv|jsonl?|ndjson)(\.(gz|zst|lz4|xz))?$", re.IGNORECASE)
_DAY = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
_MONTH = re.compile(r"(?<!\d)(\d{4})-(\d{2})(?!\d)")
_PARTS = re.compile(r"year=(\d{4})/month=(\d{1,2})(?:/day=(\d{1,2}))?")
_ORDERS = "orders"
TOTALS = "totals"
"""The table of totals of periods."""
CONTRACT_SIZES = "contract_sizes"
"""The table of a file that only says what contracts contain."""


@dataclass(frozen=True)
class Wanted:
    """What a caller wants of every source."""

    coins: tuple[str, ...]
    first: date
    last: date
    pay: float = 0.0

    def of(self, source: Source) -> Wanted | None:
        """The days of these that the source can have."""
        first = max(self.first, day_of(source.first)) if source.first else self.first
        last = min(self.last, day_of(source.last)) if source.last else self.last
        return replace(self, first=first, last=last) if first <= last else None


class Planner:
    """Plans the files of one source."""

    def __init__(self, source: Source, stage: int, wanted: Wanted, web: Web) -> None:
        self._source, self._stage, self._wanted, self._web = source, stage, wanted, web
        self._days = days_of(wanted.first, wanted.last)
        self._plan = Plan()

    def plan(self) -> Plan:
        """List the files; a source that refuses becomes a gap with its reason."""
        layouts: dict[str, Callable[[], None]] = {
            "binance": self._binance,
            "contexts": self._contexts,
            "dataset": self._dataset,
            "hourly": self._hourly,
            "tardis": self._tardis,
            "coinalyze": self._coinalyze,
            "reservoir": self._reservoir,
            "fills": self._fills,
        }
        try:
            layouts[self._source.layout]()
        except Refusal as refusal:
            self._plan.files.clear()
            self._gap(self._wanted.first, self._wanted.last, refusal.reason, again=refusal.again)
        return self._plan

    def _gap(
        self,
        first: date,
        last: date,
        reason: str,
        *,
        table: str = "",
        coin: str = "",
        exchange: str = "",
        again: bool = False,
    ) -> None:
        self._plan.gaps.append(Gap(self._source.name, exchange, table, coin, first, last, reason, again))

    def _file(self, file: str, table: str, exchange: str, coins: tuple[str, ...], first: date, **facts: Any) -> None:
        known: dict[str, Any] = {
            "url": f"{self._source.address}/{quote(file, safe='/=')}",
            "last": first,
            "stage": self._stage,
            **facts,
        }
        self._plan.files.append(
            PlannedFile(self._source, file=file, table=table, exchange=exchange, coins=coins, first=first, **known)
        )

    # Binance's public files: a bucket that anybody may list; each file has its SHA-256 in a file of its own.

    def _binance(self) -> None:
        root = "data/futures/um"
        names = [name for name, _ in self._listed(f"{root}/monthly/klines/", folders=True)]
        for coin in self._wanted.coins:
            pair = _pair(coin, names)
            if pair is None:
                self._gap(
                    self._wanted.first, self._wanted.last, "no contract of this coin", coin=coin, exchange="binance"
                )
                continue
            left = self._months(coin, f"{root}/monthly/klines/{pair}/1m/{pair}-1m-")
            self._dates(coin, "bars", f"{root}/daily/klines/{pair}/1m/{pair}-1m-", left, self._stage + 1)
            self._dates(
                coin, "open_interest", f"{root}/daily/metrics/{pair}/{pair}-metrics-", self._days, self._stage + 2
            )

    def _months(self, coin: str, stem: str) -> list[date]:
        """Plan the files of whole months; return the days of no such file."""
        firsts = sorted({day.replace(day=1) for day in self._days}, reverse=True)
        whole = [first for first in firsts if self._wanted.first <= first and month_end(first) <= self._wanted.last]
        sizes = dict(self._listed(stem, f"{stem}{whole[-1]:%Y-%m}", f"{stem}{whole[0]:%Y-%m}~")) if whole else {}
        have = [first for first in whole if f"{stem}{first:%Y-%m}.zip" in sizes]
        for first in have:
            facts = {"first": first, "last": month_end(first), "stage": self._stage}
            self._checked(f"{stem}{first:%Y-%m}.zip", "bars", coin, sizes, **facts)
        return [day for day in self._days if day.replace(day=1) not in have]

    def _dates(self, coin: str, table: str, stem: str, days: Sequence[date], stage: int) -> None:
        """Plan the files of single days."""
        sizes = dict(self._listed(stem, f"{stem}{min(days)}", f"{stem}{max(days)}~")) if days else {}
        for day in days:
            file = f"{stem}{day}.zip"
            if file in sizes:
                self._checked(file, table, coin, sizes, first=day, stage=stage)
            else:
                self._gap(day, day, "not published", table=table, coin=coin, exchange="binance")

    def _checked(self, file: str, table: str, coin: str, sizes: dict[str, int], **facts: Any) -> None:
        """Plan a file, and the file with its checksum."""
        checksum = f"{file}.CHECKSUM"
        for name, of in ((file, None), (checksum, file)):
            if name in sizes:
                about = {"is_listed": True, "size": sizes[name], "checksum_of": of, **facts}
                self._file(name, table, "binance", (coin,), **about)

    def _listed(
        self, prefix: str, after: str = "", until: str = "", *, folders: bool = False
    ) -> Iterator[tuple[str, int]]:
        """Names and sizes in a bucket, or its folders, page by page."""
        for _ in range(_PAGES):
            query = f"prefix={quote_plus(prefix)}" + ("&delimiter=/" if folders else "")
            query += f"&marker={quote_plus(after)}" if after else ""
            body, _ = self._web.read(f"{self._source.listing}/?{query}")
            keys, is_cut, following = _page(body, folders=folders)
            yield from keys
            if not is_cut or not keys or (until and keys[-1][0] > until):
                return
            after = following or keys[-1][0]
        msg = "its listing does not end"
        raise Refusal(msg, whole=True)

    # Data sets of Hugging Face: the tree of a folder as JSON, with the SHA-256 of large files.

    def _contexts(self) -> None:
        sizes = dict(self._tree(self._source.folder))
        for day in self._days:
            file = f"{self._source.folder}/{day:%Y%m%d}.csv.lz4"
            if file in sizes:
                self._resolved(file, "open_interest", "hyperliquid", (day, day), sizes[file])
            else:
                self._gap(day, day, "not published", table="open_interest", exchange="hyperliquid")

    def _dataset(self) -> None:
        dated = 0
        names = [
            one for one in self._tree(self._source.folder) if _READABLE.search(one[0]) and self._source.names in one[0]
        ]
        for path, facts in names:
            span = _span(path)
            dated += span is not None
            if span is not None and span[0] <= self._wanted.last and span[1] >= self._wanted.first:
                self._resolved(path, _ORDERS, self._source.exchange, span, facts)
        if not dated:
            reason = (
                f"the names of its files do not say their days, such as {names[0][0]}" if names else "it has no files"
            )
            self._gap(self._wanted.first, self._wanted.last, reason, table=_ORDERS, exchange=self._source.exchange)

    def _resolved(self, path: str, table: str, exchange: str, span: tuple[date, date], facts: dict[str, Any]) -> None:
        """Plan a file of the tree."""
        url = f"{self._source.address}/resolve/main/{quote(path, safe='/=')}"
        about = {"last": span[1], "is_listed": True, "url": url, **facts}
        self._file(path, table, exchange, self._wanted.coins, span[0], **about)

    def _tree(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        parts = urlsplit(self._source.listing)
        url = f"{parts.scheme}://{parts.netloc}/api{parts.path}/tree/main/{folder}".rstrip("/") + "?recursive=true"
        for _ in range(_PAGES):
            body, headers = self._web.read(url)
            yield from _entries(body)
            following = re.search(r'<([^>]+)>;\s*rel="next"', headers.get("Link") or "")
            if following is None:
                return
            url = following[1]
            if urlsplit(url).netloc != parts.netloc:
                msg = "its listing continues on another host"
                raise Refusal(msg, whole=True)
        msg = "its listing does not end"
        raise Refusal(msg, whole=True)

    # A file for each hour and contract, that is not listed.

    def _hourly(self) -> None:
        for exchange, address in self._source.contract_sizes.items():
            self._file(address, CONTRACT_SIZES, exchange, (), self._wanted.last, url=address)
        for exchange, named in self._source.exchanges.items():
            for coin in self._wanted.coins:
                contract = _contract(coin, exchange)
                if contract is None:
                    reason = "no contract of this coin"
                    self._gap(
                        self._wanted.first, self._wanted.last, reason, table=_ORDERS, coin=coin, exchange=exchange
                    )
                    continue
                for day in self._days:
                    for hour in range(24):
                        file = f"{named}/{day}/{hour:02}/{contract}_liquidations.parquet"
                        url = f"{self._source.address}/download?file={quote_plus(file)}"
                        self._file(file, _ORDERS, exchange, (coin,), day, url=url)
        self._ask_sizes()

    # A file for each exchange and day; the first day of a month needs no key.

    def _tardis(self) -> None:
        days = self._days if self._source.has_every_day else [day for day in self._days if day.day == 1]
        for exchange, named in self._source.exchanges.items():
            for day in days:
                file = f"{named}/liquidations/{day:%Y/%m/%d}/PERPETUALS.csv.gz"
                self._file(file, _ORDERS, exchange, self._wanted.coins, day)
        if not self._source.has_every_day:
            self._gap(
                self._wanted.first,
                self._wanted.last,
                f"only the first day of a month is free; ${self._source.key.get('env', 'a key')} opens the others",
                table=_ORDERS,
            )
        self._ask_sizes()

    def _ask_sizes(self) -> None:
        """Ask for the size of each file, or of the newest one of each series if there are many."""
        files, headers = self._plan.files, self._source.headers
        rate = self._source.rates()[urlsplit(self._source.address).netloc]
        asks_all = len(files) / rate <= _HEADED
        sizes: dict[tuple[str, tuple[str, ...]], int | None] = {}
        counts: dict[tuple[str, str, str, date], list[int]] = {}
        known = []
        for one in files:
            series = (one.exchange, one.coins)
            if one.table != CONTRACT_SIZES and not asks_all and series in sizes:
                known.append(replace(one, size=sizes[series]))
                continue
            count = counts.setdefault((one.exchange, one.table, _one(one.coins), one.first), [0, 0])
            count[1] += 1
            try:
                sizes[series] = self._web.size(one.url, headers)
            except Refusal as refusal:
                if refusal.whole:
                    raise
                sizes.setdefault(series, None)
                count[0] += asks_all
                if not asks_all:
                    known.append(one)
                continue
            known.append(replace(one, size=sizes[series], is_listed=sizes[series] is not None))
        for (exchange, table, coin, day), (missing, of) in counts.items():
            if missing:
                self._gap(day, day, not_published(missing, of), table=table, coin=coin, exchange=exchange)
        self._plan.files = known

    # Totals of periods of each coin and exchange, which need a key.

    def _coinalyze(self) -> None:
        days = (self._wanted.first, self._wanted.last)
        if self._source.secret is None:
            self._gap(*days, NO_KEY.format(env=self._source.key.get("env", "its key")), table=TOTALS)
            return
        service = TotalsClient(self._source)
        for coin in self._wanted.coins:
            exchanges = service.exchanges(coin)
            if not exchanges:
                self._gap(*days, "no market of this coin", table=TOTALS, coin=coin)
            for exchange in exchanges:
                for asked in spans(*days, datetime.now(UTC).date()):
                    facts = file_of(coin, exchange, asked)
                    self._file(table=TOTALS, exchange=exchange, coins=(coin,), **facts)

    # Buckets of which the downloader pays the traffic.

    def _reservoir(self) -> None:
        bucket = self._bucket()
        if bucket is None:
            return
        exchanges = {"hyperliquid", *(coin.partition(":")[0].lower() for coin in self._wanted.coins if ":" in coin)}
        for day in self._days:
            folders = [(f"by_dex/{dex}/fills/perp/liquidations/date={day}/", _ORDERS, 0) for dex in sorted(exchanges)]
            for folder, table, later in [*folders, (f"global/snapshots/perp/all/date={day}/", "positions", 1)]:
                found = [(file, size) for file, size in bucket.listed(folder) if file.endswith(".parquet")]
                for file, size in found:
                    facts = {"size": size, "is_listed": True, "stage": self._stage + later}
                    self._file(file, table, "hyperliquid", self._wanted.coins, day, **facts)
                if not found:
                    self._gap(day, day, "not published", table=table, exchange="hyperliquid")

    def _fills(self) -> None:
        bucket = self._bucket()
        if bucket is None:
            return
        for day in self._days:
            found = list(bucket.listed(f"node_fills_by_block/hourly/{day:%Y%m%d}/"))
            for file, size in found:
                facts = {"size": size, "is_listed": True}
                self._file(file, _ORDERS, "hyperliquid", self._wanted.coins, day, **facts)
            if not found:
                self._gap(day, day, "not published", table=_ORDERS, exchange="hyperliquid")

    def _bucket(self) -> Bucket | None:
        """The bucket; ``None`` if nothing may be paid, because listing it costs as well."""
        if self._source.usd_per_gb and not self._wanted.pay:
            self._gap(
                self._wanted.first, self._wanted.last, "the downloader pays the traffic; give pay=", table=_ORDERS
            )
            return None
        return Bucket(self._source)


def _page(body: bytes, *, folders: bool) -> tuple[list[tuple[str, int]], bool, str]:
    """The names and sizes of a page of a listing, whether more follow, and the name after which they do."""
    try:
        root = ET.fromstring(body)  # noqa: S314 - expat limits the expansion of entities
    except ET.ParseError:
        msg = "its listing is not XML"
        raise Refusal(msg, whole=True, again=True) from None
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""

    def text(node: ET.Element, name: str) -> str:
        return node.findtext(space + name) or ""

    if folders:
        keys = [(text(one, "Prefix"), 0) for one in root.iter(f"{space}CommonPrefixes")]
    else:
        sizes = [(text(one, "Key"), text(one, "Size")) for one in root.iter(f"{space}Contents")]
        keys = [(key, int(size)) for key, size in sizes if size.isdecimal()]
    return keys, text(root, "IsTruncated") == "true", text(root, "NextMarker")


def _entries(body: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files of a tree: path, size, and the SHA-256 of those that the listing has it of."""
    try:
        entries = json.loads(body)
    except ValueError:
        entries = None
    if not isinstance(entries, list):
        msg = "its listing is not a list in JSON"
        raise Refusal(msg, whole=True, again=True)
    for one in entries:
        match one:
            case {"type": "file", "path": str() as path, "size": int() as size}:
                large = one.get("lfs")
                sha256 = large.get("oid") if isinstance(large, dict) else None
                yield path, {"size": size, "sha256": sha256 if isinstance(sha256, str) else None}
            case _:
                pass


def _pair(coin: str, folders: Sequence[str]) -> str | None:
    """Binance's perpetual contract of a coin, in USDT if there is one."""
    names = [folder.rstrip("/").rpartition("/")[2] for folder in folders]
    for quote_ in ("USDT", "USDC"):
        found = [name for name in names if name.endswith(quote_) and _coin(name) == coin]
        if found:
            return min(found, key=len)
    return None


def _coin(symbol: str) -> str | None:
    try:
        return _core.coin(symbol)
    except BadQuery:
        return None


def _contract(coin: str, exchange: str) -> str | None:
    """The exchange's name of the perpetual contract of a coin."""
    try:
        return symbols.parse(coin + ("USD" if exchange == "kraken" else "USDT"), exchange=exchange).native_id
    except BadQuery:
        return None


def _span(path: str) -> tuple[date, date] | None:
    """The day or the month that a path names."""
    found = _DAY.search(path) or _PARTS.search(path) or _MONTH.search(path)
    if found is None:
        return None
    year, month, day = [int(text) if text else 0 for text in (*found.groups(), None)][:3]
    try:
        first = date(year, month, day or 1)
    except ValueError:
        return None
    return first, first if day else month_end(first)


def _one(coins: tuple[str, ...]) -> str:
    return coins[0] if len(coins) == 1 else ""
