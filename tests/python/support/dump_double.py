"""Hosts with files of the past, on this machine: a bucket with checksums, data sets, hourly and daily files.

The files are made of the demo, so that a fetched period has the rows of that market.
"""

import gzip
import hashlib
import io
import json
import threading
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pyarrow as pa
from dumped import METRICS
from pyarrow import parquet

import liqdata

DAYS = ("2026-05-30", "2026-05-31")
START, END = DAYS[0], "2026-06-01"
COINS = ("BTC", "ETH")
EXCHANGES = {"binance": "binance_futures", "bybit": "bybit", "okx": "okx_futures"}
APRIL = 1_775_001_600_000  # 2026-04-01
OKX_SIZES = {"BTC-USDT-SWAP": Decimal("0.01"), "ETH-USDT-SWAP": Decimal("0.1")}
LIQUIDATIONS = (
    "received_time",
    "event_time",
    "side",
    "price",
    "average_price",
    "quantity",
    "filled_quantity",
    "trade_time",
)
CONTEXTS = (
    "time,coin,funding,open_interest,prev_day_px,day_ntl_vlm,premium,oracle_px,mark_px,"
    "mid_px,impact_bid_px,impact_ask_px"
)
TARDIS = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"


@cache
def rows_of_demo():
    """Orders, bars and readings of the demo on these days, of these coins."""
    market = liqdata.demo()
    orders = [
        row
        for row in market.iter_orders(start=START, end=END)
        if row["exchange"] in EXCHANGES and liqdata.symbols.parse(row["symbol"]).coin in COINS
    ]
    bars = [row for coin in COINS for row in market.bars(coin, interval="1m", start=START, end=END)]
    readings = [row for coin in COINS for row in market.open_interest(coin, start=START, end=END)]
    return orders, bars, [row for row in readings if row["exchange"] == "binance"]


def day(at):
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d}"


def clock(at):
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def zipped(name, lines):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), "\n".join(lines) + "\n")
    return packed.getvalue()


def lz4(data):
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "lz4") as out:
        out.write(data)
    return packed.getvalue().to_pybytes()


def as_parquet(columns, types):
    out = io.BytesIO()
    parquet.write_table(pa.table({name: pa.array(cells, types[name]) for name, cells in columns.items()}), out)
    return out.getvalue()


def klines(rows):
    """Bars as lines of Binance's klines."""
    for row in rows:
        turnover = row["volume"] * (row["low"] + row["high"]) / 2
        prices = f"{row['open']},{row['high']},{row['low']},{row['close']}"
        yield f"{row['timestamp']},{prices},{row['volume']},{row['closes_at'] - 1},{turnover},1,0,0,0"


def binance():
    """Binance's public files of these days, each with its checksum."""
    _, bars, readings = rows_of_demo()
    files = {}
    for coin in COINS:
        pair = f"{coin}USDT"
        for of in DAYS:
            lines = klines(row for row in bars if row["symbol"] == coin and day(row["timestamp"]) == of)
            files[f"data/futures/um/daily/klines/{pair}/1m/{pair}-1m-{of}.zip"] = zipped(f"{pair}-1m-{of}.csv", lines)
            found = [row for row in readings if row["symbol"] == coin and day(row["timestamp"]) == of]
            lines = [
                f"{clock(row['timestamp'])},{pair},{row['open_interest']},{row['open_interest'] * 1000},1,1,1,1"
                for row in found
            ]
            name = f"{pair}-metrics-{of}"
            files[f"data/futures/um/daily/metrics/{pair}/{name}.zip"] = zipped(f"{name}.csv", [METRICS, *lines])
    # The folder of monthly files says which contracts there are.
    month = [
        {**bars[0], "timestamp": APRIL + 60_000 * row, "closes_at": APRIL + 60_000 * (row + 1)} for row in range(30)
    ]
    name = "data/futures/um/monthly/klines/BTCUSDT/1m/BTCUSDT-1m-2026-04"
    files[f"{name}.zip"] = zipped("BTCUSDT-1m-2026-04.csv", klines(month))
    files["data/futures/um/monthly/klines/ETHUSDT/1m/ETHUSDT-1m-2019-12.zip"] = b"old"
    for name, data in list(files.items()):
        files[f"{name}.CHECKSUM"] = f"{hashlib.sha256(data).hexdigest()}  {name.rpartition('/')[2]}\n".encode()
    return files


def hourly():
    """Files of each hour, exchange and contract; an hour without orders has a file without rows, or none at all."""
    orders, _, _ = rows_of_demo()
    files = {}
    times = dict.fromkeys(("received_time", "event_time", "trade_time"), pa.int64())
    types = dict.fromkeys(LIQUIDATIONS, pa.string()) | times
    for exchange, named in EXCHANGES.items():
        for coin in COINS:
            contract = f"{coin}-USDT-SWAP" if exchange == "okx" else f"{coin}USDT"
            for of in DAYS:
                for hour in range(24):
                    found = [row for row in orders if row["exchange"] == exchange and row["symbol"] == f"{coin}USDT"]
                    begin = datetime.fromisoformat(of).replace(tzinfo=UTC) + timedelta(hours=hour)
                    since = int(begin.timestamp()) * 1000
                    found = [row for row in found if since <= row["timestamp"] < since + 3_600_000]
                    if not found and hour % 2:
                        continue
                    files[f"{named}/{of}/{hour:02}/{contract}_liquidations.parquet"] = as_parquet(
                        liquidations(found, exchange, contract), types
                    )
    return files


def liquidations(rows, exchange, contract):
    columns = {name: [] for name in LIQUIDATIONS}
    for row in rows:
        is_sell = (row["side"] == "LONG") != (exchange in {"bybit", "bitget"})
        qty = row["qty"] / OKX_SIZES[contract] if exchange == "okx" else row["qty"]
        side = "SELL" if is_sell else "BUY"
        cells = (
            row["timestamp"] * 1_000_000 + 5,
            row["timestamp"],
            side,
            *[f"{row['price']:f}"] * 2,
            *[f"{qty:f}"] * 2,
        )
        for name, cell in zip(LIQUIDATIONS, (*cells, row["timestamp"]), strict=True):
            columns[name].append(cell)
    return columns


def contexts():
    """Asset contexts of Hyperliquid of these days, packed by lz4."""
    _, _, readings = rows_of_demo()
    files = {}
    for of in DAYS:
        lines = [CONTEXTS]
        for row in readings:
            if day(row["timestamp"]) == of:
                at = f"{datetime.fromtimestamp(row['timestamp'] / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
                cells = f"0.0000125,{row['open_interest']},1,1,,1,1,,,"
                lines += [f"{at},{coin},{cells}" for coin in (row["symbol"], "kPEPE")]
        files[f"asset_ctxs/{of.replace('-', '')}.csv.lz4"] = lz4(("\n".join(lines) + "\n").encode())
    return files


def tardis():
    """The first day of a month of two exchanges."""
    at = 1777593600000000  # 2026-05-01
    lines = [TARDIS]
    for row in range(20):
        cells = f"{at + row * 1_000_000},{at + row * 1_000_000 + 5000},,sell,100,{row + 1}"
        lines += [f"binance-futures,{symbol},{cells}" for symbol in ("BTCUSDT", "DOGEUSDT")]
    return {
        "binance-futures/liquidations/2026/05/01/PERPETUALS.csv.gz": gzip.compress(
            ("\n".join(lines) + "\n").encode(), mtime=0
        )
    }


MARKETS = {"BTCUSDT_PERP.6": "bybit", "BTCUSDT_PERP.B": "bitget", "BTCPERP.B": "bitget"}
"""Markets of Coinalyze, each with its exchange; the contracts of an exchange share its orders."""


@cache
def totals():
    """USD of longs and shorts by market and day; the second contract of an exchange has every other order."""
    found = {}
    for row in liqdata.demo().iter_orders("BTC", start=START, end=END):
        of = [market for market, exchange in MARKETS.items() if exchange == row["exchange"]]
        if of:
            key = (of[row["timestamp"] % len(of)], row["timestamp"] // 86_400_000 * 86_400)
            sides = found.setdefault(key, {"LONG": Decimal(0), "SHORT": Decimal(0)})
            sides[row["side"]] += row["value_usd"]
    return found


def coinalyze(path, query):
    """Answers of Coinalyze."""
    codes = {"bybit": "6", "bitget": "B"}
    if path.endswith("/exchanges"):
        return [{"name": name.title(), "code": code} for name, code in codes.items()]
    if path.endswith("/future-markets"):
        facts = {"base_asset": "BTC", "quote_asset": "USDT"}
        return [{"symbol": name, "exchange": codes[exchange], **facts} for name, exchange in MARKETS.items()]
    first, last = int(query["from"][0]), int(query["to"][0])
    assert query["convert_to_usd"] == ["true"]
    assert query["interval"] == ["daily"]
    answer = []
    for market in query["symbols"][0].split(","):
        known = sorted((at, usd) for (name, at), usd in totals().items() if name == market and first <= at <= last)
        history = [{"t": at, "l": float(usd["LONG"]), "s": float(usd["SHORT"])} for at, usd in known]
        answer.append({"symbol": market, "history": history})
    return answer


INSTRUMENTS = {
    "code": "0",
    "data": [
        {"instId": name, "ctVal": str(size), "ctMult": "1", "ctValCcy": name.partition("-")[0], "ctType": "linear"}
        for name, size in OKX_SIZES.items()
    ],
}


@cache
def files():
    """Every file by its path on the double."""
    found = {f"/{name}": data for name, data in binance().items()}
    found |= {f"/hourly/download?file={name}": data for name, data in hourly().items()}
    found |= {f"/datasets/a/contexts/resolve/main/{name}": data for name, data in contexts().items()}
    found |= {f"/tardis/{name}": data for name, data in tardis().items()}
    found["/okx/instruments?instType=SWAP"] = json.dumps(INSTRUMENTS).encode()
    return found


class Asked(NamedTuple):
    """A request: method, path with its query, and the number of earlier requests for this path."""

    method: str
    path: str
    before: int


def as_asked(_):
    """Answer with what is there."""


class Double:
    """The files, the requests that came, and what is done in place of answers.

    ``instead`` gets the request, and returns ``None``, ``(status, headers, body)``, ``"cut"`` or ``"flip"``.
    """

    page = 1000

    def __init__(self):
        self.files = dict(files())
        self.requests = []
        self.bytes = 0
        self.instead = as_asked

    def sources(self, *names):
        """The sources of this double for ``liqdata.fetch``."""
        url = self.url
        every = {
            "binance": {"address": url},
            "hyperliquid_contexts": {"address": f"{url}/datasets/a/contexts"},
            "cryptohftdata": {
                "address": f"{url}/hourly",
                "contract_sizes": {"okx": f"{url}/okx/instruments?instType=SWAP"},
                "exchanges": EXCHANGES,
            },
            "tardis": {"address": f"{url}/tardis", "exchanges": {"binance": "binance-futures"}},
        }
        free = list(every)
        every["coinalyze"] = {"address": f"{url}/coinalyze"}
        return {name: {**every[name], "rate": 6_000_000} for name in names or free}

    def got(self, method="GET"):
        """Paths of files that were requested this way."""
        return [path for asked, path, _ in self.requests if asked == method and not path.startswith(("/?", "/api/"))]

    def listing(self, query):
        prefix, after = query.get("prefix", [""])[0], query.get("marker", [""])[0]
        names = sorted(name[1:] for name in self.files if name.startswith(f"/{prefix}") and name[1:] > after)
        if "delimiter" in query:
            folders = sorted({prefix + name.removeprefix(prefix).partition("/")[0] + "/" for name in names})
            rows = [f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in folders]
            is_cut = False
        else:
            is_cut = len(names) > self.page
            rows = [
                f"<Contents><Key>{escape(name)}</Key><Size>{len(self.files['/' + name])}</Size></Contents>"
                for name in names[: self.page]
            ]
        root = 'ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
        cut = f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>"
        return f"<{root}>{cut}{''.join(rows)}</ListBucketResult>"

    def tree(self, path):
        repository, _, folder = path.removeprefix("/api").partition("/tree/main")
        root = f"{repository}/resolve/main/"
        below = root + (folder.strip("/") + "/" if folder.strip("/") else "")
        return [
            {
                "type": "file",
                "path": name.removeprefix(root),
                "size": len(data),
                "oid": "0" * 40,
                "lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130},
            }
            for name, data in sorted(self.files.items())
            if name.startswith(below)
        ]

    def answer(self, path):
        """Body and type for a path with its query; ``None`` for nothing."""
        parts = urlsplit(path)
        if parts.path.startswith("/api/"):
            return json.dumps(self.tree(parts.path)).encode(), "application/json"
        query = parse_qs(parts.query)
        if parts.path.startswith("/coinalyze/"):
            return json.dumps(coinalyze(parts.path, query)).encode(), "application/json"
        if parts.path == "/" and "prefix" in query:
            return self.listing(query).encode(), "application/xml"
        data = self.files.get(unquote(path))
        return None if data is None else (data, "application/octet-stream")


def ranged(data, kind, asked):
    """Status, headers and body of an answer: a part of the data, if one of this version is asked for."""
    tag = f'"{hashlib.sha256(data).hexdigest()}"'
    headers = {"Content-Type": kind, "ETag": tag}
    if "Range" not in asked or asked.get("If-Range", tag) != tag:
        return 200, headers, data
    first = int(asked["Range"].removeprefix("bytes=").partition("-")[0])
    if first >= len(data):
        return 416, {"Content-Range": f"bytes */{len(data)}"}, b""
    return 206, {**headers, "Content-Range": f"bytes {first}-{len(data) - 1}/{len(data)}"}, data[first:]


class Handler(BaseHTTPRequestHandler):
    """Answers the requests to a double."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.respond(is_head=True)

    def do_GET(self):
        self.respond(is_head=False)

    def respond(self, *, is_head):
        before = sum(unquote(self.path) == path for _, path, _ in self.double.requests)
        self.double.requests.append((self.command, unquote(self.path), {k.lower(): v for k, v in self.headers.items()}))
        instead = self.double.instead(Asked(self.command, unquote(self.path), before))
        if isinstance(instead, tuple):
            status, headers, body = instead
            return self.send(status, headers, body, is_head=is_head)
        found = self.double.answer(self.path)
        if found is None:
            return self.send(404, {}, b"<Error><Code>NoSuchKey</Code></Error>", is_head=is_head)
        status, headers, body = ranged(*found, self.headers)
        if instead == "flip":
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        cut = len(body) // 2 if instead == "cut" else None
        return self.send(status, headers, body, is_head=is_head, cut=cut)

    def send(self, status, headers, body, *, is_head, cut=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(body if cut is None else body[:cut])
            self.double.bytes += len(body) if cut is None else cut
        if cut is not None:
            self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def serving():
    """Serve a double on this machine, with its address as ``url``."""
    double = Double()
    handler = type("OfDouble", (Handler,), {"double": double})

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    double.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
