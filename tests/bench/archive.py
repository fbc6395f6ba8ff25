"""The archive: restart and rolling statistics at two million orders in the window, against SQLite and DuckDB.

All three start from the same journal file and give the same thirty coins; the sums are checked to be equal first.
"""

import argparse
import contextlib
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

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
def filled(orders: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        start = time.perf_counter()
        fill(path, orders)
        print(f"{orders:,} orders written in {report.took(time.perf_counter() - start)}", file=sys.stderr, flush=True)
        yield path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the orders, few rounds")
    quick = parser.parse_args().quick
    orders = ORDERS // 10 if quick else ORDERS
    with filled(orders) as path:
        most = 3 if quick else 9
        journal = path / "journal.sqlite"

        restart = timed(lambda: liqdata.open(path).close(), most=most, seconds=30)
        market = liqdata.open(path)
        start = int(market.now.timestamp() * 1000) - DAY
        window = (start, start + DAY)

        plain = sqlite3.connect(f"file:{journal}?mode=ro", uri=True)
        query = TOP.format(value="CAST(value_usd AS REAL)", table="orders")
        duck = duckdb.connect()
        names = "coin, exchange, symbol, side, price, qty, value_usd, timestamp"

        def load() -> None:
            rows = sqlite3.connect(f"file:{journal}?mode=ro", uri=True)
            arrow = {name: [] for name in names.split(", ")}
            for row in rows.execute(f"SELECT {names} FROM orders"):  # noqa: S608 - our own words
                for cells, cell in zip(arrow.values(), row, strict=True):
                    cells.append(cell)
            rows.close()
            import pandas as pd

            frame = pd.DataFrame(arrow)  # noqa: F841 - DuckDB finds it by its name
            duck.execute(
                "CREATE OR REPLACE TABLE orders AS SELECT * REPLACE (CAST(value_usd AS DECIMAL(38, 18)) AS value_usd) "
                "FROM frame"
            )

        loading = timed(load, most=1, seconds=0)
        exact = TOP.format(value="value_usd", table="orders")

        ours = market.coins("24h", 30)
        theirs = duck.execute(exact, window).fetchall()
        assert [row["coin"] for row in ours] == [coin for coin, _ in theirs]
        assert all(row["total_usd"] == float(Decimal(total)) for row, (_, total) in zip(ours, theirs, strict=True))

        question = _core.coins("24h", 30)
        works: dict[str, tuple[Callable[[], object], Callable[[], object], Callable[[], object]]] = {
            "coins, top 30 of 24 h": (
                lambda: market._core.ask(question),  # noqa: SLF001 - without the coverage beside it
                lambda: plain.execute(query, window).fetchall(),
                lambda: duck.execute(exact, window).fetchall(),
            ),
            "overview, four windows": (
                market.overview,
                lambda: [
                    plain.execute(
                        "SELECT side, sum(CAST(value_usd AS REAL)), count(*) FROM orders WHERE timestamp > ? GROUP BY side",
                        (window[1] - hours * 3_600_000,),
                    ).fetchall()
                    for hours in (1, 4, 12, 24)
                ],
                lambda: [
                    duck.execute(
                        "SELECT side, sum(value_usd), count(*) FROM orders WHERE timestamp > ? GROUP BY side",
                        (window[1] - hours * 3_600_000,),
                    ).fetchall()
                    for hours in (1, 4, 12, 24)
                ],
            ),
            "largest, 20 of 24 h": (
                lambda: market._core.ask(_core.largest("24h", 20)),  # noqa: SLF001
                lambda: plain.execute(
                    "SELECT * FROM orders WHERE timestamp > ? ORDER BY CAST(value_usd AS REAL) DESC LIMIT 20", window[:1]
                ).fetchall(),
                lambda: duck.execute(
                    "SELECT * FROM orders WHERE timestamp > ? ORDER BY value_usd DESC LIMIT 20", window[:1]
                ).fetchall(),
            ),
        }
        rows = [["restart, ready to answer", f"**{report.took(restart)}**", "–", f"{report.took(loading)} (one load)"]]
        for title, (own, sqlite, duckdb_) in works.items():
            own_ = timed(own, most=1000, seconds=1)
            sqlite_ = timed(sqlite, most=most, seconds=20)
            duck_ = timed(duckdb_, most=most * 5, seconds=20)
            rows.append(
                [
                    title,
                    f"**{report.took(own_)}**",
                    f"{report.took(sqlite_)} ({sqlite_ / own_:,.0f}×)",
                    f"{report.took(duck_)} ({duck_ / own_:,.0f}×)",
                ]
            )
        print(f"{orders:,} orders in the window; {report.machine()}\n")
        print(report.table(["", "liqdata", "SQLite", "DuckDB"], rows))


if __name__ == "__main__":
    main()
