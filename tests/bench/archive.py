"""The archive: restart and rolling statistics at two million orders in the window, against SQLite and DuckDB.

All three start from the same journal file and give the same thirty coins; the sums are checked to be equal first.
"""

import argparse
import contextlib
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import report

import liqdata
from liqdata import _core

ORDERS = 2_000_000
CHUNK = 200_000
NOW = 1_781_136_000_000
DAY = 86_400_000
COINS = 300
VENUES = ("binance", "bybit", "okx", "gate", "bitget")
TOP = """
    SELECT coin, sum({value}) AS total FROM {table} WHERE timestamp > ? AND timestamp <= ?
    GROUP BY coin ORDER BY total DESC, coin LIMIT 30
"""


def columns(count: int, first: int, step: int, chance: random.Random) -> dict[str, list[object]]:
    """Orders at even distances in time; coins by Zipf, amounts of a heavy tail."""
    ranks = chance.choices(range(COINS), weights=[1 / (rank + 1) for rank in range(COINS)], k=count)
    return {
        "exchange": chance.choices(VENUES, k=count),
        "symbol": [f"C{rank}USDT" for rank in ranks],
        "coin": [f"C{rank}" for rank in ranks],
        "side": chance.choices(("LONG", "SHORT"), k=count),
        "price": [f"{chance.uniform(0.1, 90_000):.4f}" for _ in range(count)],
        "qty": [f"{chance.paretovariate(1.2):.3f}" for _ in range(count)],
        "value_usd": [f"{chance.paretovariate(1.2) * 100:.4f}" for _ in range(count)],
        "timestamp": [first + place * step for place in range(count)],
    }


def fill(folder: Path, orders: int) -> None:
    chance = random.Random(20)
    step = DAY // orders
    writer = _core.ArchiveWriter(folder)
    chunk = min(CHUNK, orders)
    for done in range(0, orders, chunk):
        first = NOW - DAY + 1 + done * step
        writer.append(columns(chunk, first, step, chance), None, None)
    writer.append({name: cells[:1] for name, cells in columns(1, NOW, 1, chance).items()}, None, None)
    writer.close()


def timed(work: Callable[[], object], *, most: int, seconds: float) -> float:
    """The median seconds of a call."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    while len(took) < most and (not took or time.perf_counter() < until):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return statistics.median(took)


@contextlib.contextmanager
def filled(orders: int) -> Iterator[tuple[Path, Path]]:
    """An archive whose last day lies in the journal, and the same with the day in files."""
    with tempfile.TemporaryDirectory() as folder:
        path, rolled = Path(folder) / "archive", Path(folder) / "rolled"
        start = time.perf_counter()
        fill(path, orders)
        print(f"{orders:,} orders written in {report.took(time.perf_counter() - start)}", file=sys.stderr, flush=True)
        shutil.copytree(path, rolled)
        start = time.perf_counter()
        writer = _core.ArchiveWriter(rolled)
        writer.roll(NOW + DAY)
        writer.close()
        print(f"and rolled in {report.took(time.perf_counter() - start)}", file=sys.stderr, flush=True)
        yield path, rolled


BY_SIDE = "SELECT side, sum({value}), count(*) FROM orders WHERE timestamp > ? GROUP BY side"
LARGEST = "SELECT * FROM orders WHERE timestamp > ? AND timestamp <= ? ORDER BY {value} DESC LIMIT 20"
AS_DOUBLE = "CAST(value_usd AS REAL)"


class Peer:
    """An engine that counts the orders each time it is asked."""

    def __init__(self, connection: Any, value: str) -> None:
        self.connection = connection
        self.top = TOP.format(value=value, table="orders")
        self.by_side = BY_SIDE.format(value=value)
        self.most = LARGEST.format(value=value)

    def ask(self, query: str, *parameters: int) -> list[Any]:
        found: list[Any] = self.connection.execute(query, parameters).fetchall()
        return found

    def coins(self, start: int, end: int) -> list[Any]:
        return self.ask(self.top, start, end)

    def overview(self, _: int, end: int) -> list[Any]:
        return [self.ask(self.by_side, end - hours * 3_600_000) for hours in (1, 4, 12, 24)]

    def largest(self, start: int, end: int) -> list[Any]:
        return self.ask(self.most, start, end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the orders, few rounds")
    quick = parser.parse_args().quick
    orders = ORDERS // 10 if quick else ORDERS
    most = 3 if quick else 9
    with filled(orders) as (path, rolled):
        sqlite = Peer(sqlite3.connect(f"file:{path / 'journal.sqlite'}?mode=ro", uri=True), AS_DOUBLE)
        duck = Peer(duckdb.connect(), "value_usd")
        window = (NOW - DAY, NOW)

        def load() -> None:
            files = f"{rolled}/orders/**/*.parquet"
            duck.connection.execute(
                "CREATE OR REPLACE TABLE orders AS SELECT exchange, symbol, coin, side, price, qty, value_usd, "  # noqa: S608 - a folder of our own
                "epoch_ms(timestamp) AS timestamp "
                f"FROM read_parquet('{files}', hive_partitioning = true)"
            )

        rows = [
            [
                "ready to answer, from the journal",
                f"**{report.took(timed(lambda: liqdata.open(path).close(), most=most, seconds=30))}**",
                "–",
                "–",
            ],
            [
                "ready to answer, from files",
                f"**{report.took(timed(lambda: liqdata.open(rolled).close(), most=most, seconds=30))}**",
                "–",
                report.took(timed(load, most=most, seconds=30)),
            ],
        ]
        market = liqdata.open(path)
        ours = market.coins("24h", 30)
        theirs = duck.coins(*window)
        assert [row["coin"] for row in ours] == [coin for coin, _ in theirs]
        assert all(row["total_usd"] == float(Decimal(total)) for row, (_, total) in zip(ours, theirs, strict=True))
        native = market._core
        for title, question, name in (
            ("coins, top 30 of 24 h", _core.coins("24h", 30), "coins"),
            ("overview, four windows", _core.overview(), "overview"),
            ("largest, 20 of 24 h", _core.largest("24h", 20), "largest"),
        ):
            own = timed(lambda question=question: native.ask(question), most=1000, seconds=2)
            others = [
                timed(lambda ask=ask: ask(*window), most=most, seconds=20)
                for ask in (getattr(sqlite, name), getattr(duck, name))
            ]
            shown = [f"{report.took(other)} ({other / own:,.0f}×)" for other in others]
            rows.append([title, f"**{report.took(own)}**", *shown])
        print(f"{orders:,} orders in the window; {report.machine()}\n")
        print(report.table(["", "liqdata", "SQLite", "DuckDB"], rows))


if __name__ == "__main__":
    main()
