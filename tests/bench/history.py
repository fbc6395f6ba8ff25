"""Liquidations over time, of weeks of an archive, against DuckDB; writes ``docs/dev/benchmarks-history.md``.

Both read the same Parquet files in each round, and their sums are checked to be equal to the last digit before any
clock runs.
"""

import argparse
import os
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import report

import liqdata
from liqdata import _core

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "benchmarks-history.md"
NOW = 1_781_136_000_000 // 86_400_000 * 86_400_000
DAY = 86_400_000
DAYS = 41
BAR = 5 * 60_000
COINS = 300
VENUES = ("binance", "bybit", "okx", "gate", "bitget")
START = NOW - DAYS * DAY

FILES = "read_parquet('{folder}/orders/**/*.parquet', hive_partitioning = true)"
SUMS = """
SELECT epoch_ms(timestamp) // {bar} * {bar} AS open, exchange,
       coalesce(sum(value_usd) FILTER (side = 'LONG'), 0), coalesce(sum(value_usd) FILTER (side = 'SHORT'), 0),
       count(*), max(value_usd)
FROM {files} WHERE epoch_ms(timestamp) >= {start} AND epoch_ms(timestamp) < {end} {more}
GROUP BY ALL ORDER BY open, exchange
"""

CASES = {
    "by venue": ({}, ""),
    "by venue, BTC alone": ({"symbol": "C0"}, "AND coin = 'C0'"),
    "by venue, a rare coin alone": ({"symbol": "C99"}, "AND coin = 'C99'"),
    "by venue, from 10,000 USD": ({"min_usd": 10_000}, "AND value_usd >= 10000"),
}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def fill(folder: Path, per_day: int) -> None:
    """Days of orders at random times; coins by Zipf, amounts of a heavy tail."""
    chance = random.Random(41)
    weights = [1 / (rank + 1) for rank in range(COINS)]
    writer = _core.ArchiveWriter(folder)
    for day in range(DAYS):
        ranks = chance.choices(range(COINS), weights=weights, k=per_day)
        first = START + day * DAY
        orders = {
            "exchange": chance.choices(VENUES, k=per_day),
            "symbol": [f"C{rank}USDT" for rank in ranks],
            "coin": [f"C{rank}" for rank in ranks],
            "side": chance.choices(("LONG", "SHORT"), k=per_day),
            "price": [f"{chance.uniform(0.1, 90_000):.4f}" for _ in range(per_day)],
            "qty": [f"{chance.paretovariate(1.2):.3f}" for _ in range(per_day)],
            "value_usd": [f"{chance.paretovariate(1.2) * 100:.4f}" for _ in range(per_day)],
            "timestamp": sorted(chance.randrange(first, first + DAY) for _ in range(per_day)),
        }
        writer.append(orders, None, None)
        writer.roll(first + 2 * DAY)
    writer.close()


def ours(market: liqdata.Market, **options: object) -> Callable[[], liqdata.Rows]:
    return lambda: market.history(interval="5m", by="exchange", start=START, end=NOW, **options)


def theirs(folder: Path, more: str) -> Callable[[], list[tuple[object, ...]]]:
    query = SUMS.format(bar=BAR, files=FILES.format(folder=folder), start=START, end=NOW, more=more)
    connection = duckdb.connect()
    return lambda: connection.execute(query).fetchall()


def check(mine: liqdata.Rows, other: list[tuple[object, ...]]) -> None:
    """All sums of both are equal, to the last digit."""
    rows = [
        (row["timestamp"], row["exchange"], row["long_usd"], row["short_usd"], row["cnt"], row["largest_usd"])
        for row in mine
    ]
    assert len(rows) == len(other)
    for one, another in zip(sorted(rows), other, strict=True):
        assert all(
            mine == (Decimal(cell) if isinstance(cell, (int, Decimal)) and place > 1 else cell)
            for place, (mine, cell) in enumerate(zip(one, another, strict=True))
        ), (one, another)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=100_000, help="orders a day")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "archive"
        fill(folder, arguments.orders)
        say(f"{DAYS * arguments.orders:,} orders written in {report.took(time.perf_counter() - begun)}")
        lines = []
        with liqdata.open(folder) as market:
            for title, (options, more) in CASES.items():
                works = {"liqdata": ours(market, **options), "DuckDB": theirs(folder, more)}
                found = works["liqdata"]()
                check(found, works["DuckDB"]())
                taken: dict[str, list[float]] = {name: [] for name in works}
                order = list(works)
                chance = random.Random(7)
                for _ in range(arguments.rounds):
                    chance.shuffle(order)
                    for name in order:
                        taken[name].append(timed(works[name]))
                ratio = statistics.median(a / b for a, b in zip(taken["DuckDB"], taken["liqdata"], strict=True))
                own, other = (statistics.median(taken[name]) for name in ("liqdata", "DuckDB"))
                lines.append(
                    [title, f"{len(found):,}", f"**{report.took(own)}**", f"{report.took(other)} ({ratio:.2f}×)"]
                )
                say("  ".join(lines[-1]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    PAGE.write_text(
        f"""# Liquidations over time, against DuckDB

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d} in {time.perf_counter() - begun:.0f} s; do not edit.

{DAYS} days of {arguments.orders:,} orders each, in files: periods of five minutes by venue.

{report.table(["", "rows", "liqdata", "DuckDB"], lines)}
## How it is measured

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- Python {platform.python_version()}, liqdata {liqdata.__version__}, DuckDB {duckdb.__version__}, both on all cores.
  Peak memory of the process, including DuckDB and the creation of the archive: {peak:,.0f} MiB.
- The orders are **synthetic** with a fixed seed: {COINS} coins on {len(VENUES)} exchanges. Both read the same Parquet
  files, which are in the system's cache. liqdata is `market.history` with its rows, DuckDB a query with its tuples.
  The sums are checked to be equal to the last digit before.{report.ahead()}
- They take turns in random order in each of {arguments.rounds} rounds; a time is the median over the rounds, **(x×)
  the median of the round-by-round ratios, DuckDB's time over that of liqdata**: above 1 liqdata is faster.
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
