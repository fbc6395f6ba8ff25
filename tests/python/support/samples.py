"""A small market as plain columns, and the ten answers of any source: what several test files start from."""

import random
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import liqdata
from liqdata import _core

# Where a process of its own finds this file.
HERE = Path(__file__).parent

NOW = int(datetime(2026, 6, 1, tzinfo=UTC).timestamp()) * 1000
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

PAIRS = ("BTCUSDT", "ETHUSDT", "1000PEPEUSDT", "BTCUSD")
VENUES = ("binance", "bybit", "okx")


def orders(count=80, seed=1):
    """Orders at distinct whole seconds of the last 26 hours, and one of them twice; amounts of at most 6 digits."""
    chance = random.Random(seed)
    seconds = sorted(chance.sample(range(26 * 3600), count))
    rows = []
    for second in seconds:
        price, qty = chance.randint(1, 999_999) / 100, chance.randint(1, 9_999) / 1000
        rows.append(
            {
                "exchange": chance.choice(VENUES),
                "symbol": chance.choice(PAIRS),
                "side": chance.choice(("LONG", "SHORT")),
                "price": f"{price:.2f}",
                "qty": f"{qty:.3f}",
                "value_usd": f"{price * qty:.1f}",
                "timestamp": NOW - 1000 * second,
            }
        )
    rows.insert(5, dict(rows[5]))
    return columns(rows)


def sound(table):
    """The same orders, with quantities that agree with prices and values."""
    cells = zip(table["price"], table["value_usd"], strict=True)
    return {**table, "qty": [f"{float(value) / float(price):.15f}" for price, value in cells]}


def bars(coins=("BTC", "ETH"), hours=30, seed=2):
    """Five-minute bars up to now; prices of two decimals."""
    chance = random.Random(seed)
    rows = []
    for coin in coins:
        price = 60_000.0 if coin == "BTC" else 2_500.0
        for place in range(hours * 12):
            open_ = price
            price = round(price * (1 + chance.gauss(0, 0.002)), 2)
            rows.append(
                {
                    "symbol": coin,
                    "timestamp": NOW - (hours * 12 - place) * 5 * MINUTE,
                    "open": open_,
                    "high": round(max(open_, price) * (1 + abs(chance.gauss(0, 0.001))), 2),
                    "low": round(min(open_, price) * (1 - abs(chance.gauss(0, 0.001))), 2),
                    "close": price,
                    "volume": round(chance.uniform(1, 9), 3),
                }
            )
    return columns(rows)


def open_interest(coins=("BTC", "ETH"), hours=30, seed=3):
    """Readings of two venues every five minutes up to now."""
    chance = random.Random(seed)
    rows = []
    for coin in coins:
        level = 1000.0
        for place in range(hours * 12 + 1):
            level = round(level * (1 + chance.gauss(0, 0.01)), 2)
            rows += [
                {
                    "symbol": coin,
                    "timestamp": NOW - (hours * 12 - place) * 5 * MINUTE,
                    "open_interest": level + len(venue),
                    "exchange": venue,
                }
                for venue in VENUES[:2]
            ]
    return columns(rows)


@cache
def simulated():
    """The simulated market; making one takes a second."""
    return liqdata.demo()


def market():
    """A small market of these tables, made in no time: for whom a simulated one is more than is asked for."""
    return liqdata.Market(orders(), bars(), open_interest(), now=NOW)


def archive(path):
    """The same orders, bars and readings as an archive in this folder."""
    table = bars()
    with closing(_core.ArchiveWriter(path)) as writer:
        writer.append(orders(), {**table, "interval": [5 * MINUTE] * len(table["symbol"])}, open_interest())
        writer.roll(NOW)
    return path


def columns(rows):
    """Rows turned into a mapping of lists."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def alike(count, start):
    """Columns of so many orders that differ in their milliseconds alone, from an instant on."""
    return {
        "exchange": ["binance"] * count,
        "symbol": ["BTCUSDT"] * count,
        "side": ["LONG"] * count,
        "price": [100.0] * count,
        "qty": [2.0] * count,
        "value_usd": [200.0] * count,
        "timestamp": [start + row for row in range(count)],
    }


def rows(table):
    """A mapping of lists turned into rows."""
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def ten(source, **options):
    """Every answer a source has, by the name of the question."""
    return {
        "overview": source.overview(**options),
        "coins": source.coins("24h", 200, **options),
        "exchanges": source.exchanges("24h", **options),
        "largest": source.largest("24h", 1000, **options),
        "orders": source.orders(limit=1000, **options),
        "chart": source.chart("BTCUSDT", **options),
        "heatmap": source.heatmap("BTC", "24h", 3, **options),
        "liqmap": source.liqmap("ETH", "7d", **options),
        "levels": source.levels("BTC", **options),
        "maxpain": source.maxpain("ETH", **options),
    }
