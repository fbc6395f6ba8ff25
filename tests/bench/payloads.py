"""Synthetic replies of the contract: seeded, so every run and every process sees the same bytes."""

import zlib
from functools import cache

import numpy as np
import orjson

SEED = 20260611
NOW = 1_781_136_000_000
# The range of a heatmap picks its size, the letters of its symbol the kind of cells.
SIZES = {"12h": (200, 288), "24h": (500, 720), "7d": (1000, 1440)}
KINDS = ("DENSE", "CENTS", "SPARSE")
ORDER_ROWS = 1000
COIN_ROWS = 200
BINS = 400
ZEROS = 0.92
VENUES = ("binance", "bybit", "okx", "bitget", "gate", "hyperliquid")
PAIRS = ("BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "1000PEPEUSDT", "DOGEUSDT")
WINDOWS = ("1h", "4h", "12h", "24h")


def random(name: str) -> np.random.Generator:
    """A generator of its own for each payload, whatever the order they are made in."""
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def dump(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


@cache
def heatmap(kind: str, span: str) -> bytes:
    rng = random(kind + span)
    rows, columns = SIZES[span]
    cells = rng.uniform(1.0, 1e7, (rows, columns))
    if kind == "CENTS":
        cells = np.round(cells, 2)
    if kind == "SPARSE":
        cells[rng.random(cells.shape) < ZEROS] = 0.0
    # No other cell is below one, so these are the zeros alone, written as most services write them.
    matrix = dump(cells).replace(b",0.0", b",0").replace(b"[0.0", b"[0")
    head = {
        "symbol": kind,
        "range": span,
        "model": 2,
        "updatedAt": NOW,
        "currentPrice": 63250.1,
        "prices": np.linspace(50_000.0, 75_000.0, rows),
        "times": NOW - 300_000 * np.arange(columns, dtype=np.int64)[::-1],
    }
    return dump(head)[:-1] + b',"matrix":' + matrix + b"}"


@cache
def liqmap() -> bytes:
    rng = random("liqmap")
    bins = []
    for place in range(BINS):
        tiers = {
            str(leverage): float(usd) for leverage, usd in zip((10, 25, 50, 100), rng.uniform(1, 1e7, 4), strict=True)
        }
        side = "long" if place < BINS // 2 else "short"
        bins.append({"price": 50_000.0 + 62.5 * place, "side": side, "tiers": tiers, "total": sum(tiers.values())})
    head = {"symbol": "BTC", "range": "1d", "updatedAt": NOW, "currentPrice": 63250.1, "binWidth": 62.5}
    return dump({**head, "leverages": [10, 25, 50, 100], "bins": bins})


def order_columns(count: int) -> dict[str, list[object]]:
    """Orders of a day, the newest first, decimals as text."""
    rng = random("orders")
    cents = rng.integers(1_000, 9_000_000, count).tolist()
    mills = rng.integers(1, 9_999_999, count).tolist()
    return {
        "exchange": [VENUES[place] for place in rng.integers(0, len(VENUES), count)],
        "symbol": [PAIRS[place] for place in rng.integers(0, len(PAIRS), count)],
        "side": [("LONG", "SHORT")[place] for place in rng.integers(0, 2, count)],
        "price": [f"{cent // 100}.{cent % 100:02}" for cent in cents],
        "qty": [f"{mill // 1000}.{mill % 1000:03}" for mill in mills],
        "value_usd": [scaled(cent * mill, 5) for cent, mill in zip(cents, mills, strict=True)],
        "timestamp": np.sort(NOW - rng.integers(0, 86_400_000, count))[::-1].tolist(),
    }


def scaled(value: int, digits: int) -> str:
    whole, fraction = divmod(value, 10**digits)
    return f"{whole}.{fraction:0{digits}}"


@cache
def orders(*, turned: bool = False) -> bytes:
    """A page of orders, keys in the documented order or turned round."""
    columns = order_columns(ORDER_ROWS)
    if turned:
        columns = dict(reversed(columns.items()))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return dump({"success": True, "data": rows})


def feed(rows: int) -> bytes:
    """Order rows as a page has them, one per line."""
    columns = order_columns(rows)
    lines = (
        f'{{"exchange":"{exchange}","symbol":"{symbol}","side":"{side}","price":"{price}","qty":"{qty}",'
        f'"value_usd":"{value}","timestamp":{at}}}\n'
        for exchange, symbol, side, price, qty, value, at in zip(*columns.values(), strict=True)
    )
    return "".join(lines).encode()


def totals(rng: np.random.Generator) -> dict[str, float | int]:
    longs, shorts = (round(float(usd), 2) for usd in rng.uniform(1e3, 1e8, 2))
    return {
        "long_usd": longs,
        "short_usd": shorts,
        "total_usd": round(longs + shorts, 2),
        "cnt": int(rng.integers(1, 20_000)),
    }


@cache
def overview() -> bytes:
    rng = random("overview")
    return dump({"success": True, "data": {window: totals(rng) for window in WINDOWS}})


@cache
def coins() -> bytes:
    rng = random("coins")
    return dump({"success": True, "data": [{"coin": f"COIN{place}", **totals(rng)} for place in range(COIN_ROWS)]})
