"""Bringing the past into an archive, against DuckDB and polars on one core; writes ``docs/dev/benchmarks-ingest.md``.

Each makes Parquet files by day of the same rows, compressed with zstd: the others at level 3, ours too but for decimals
and keys, which are at level 1. Ours looks besides for every row whether it is there, refuses what is not what its
format says, syncs every file and lists it with its checksum.
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
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"

import duckdb
import polars as pl
import report

import liqdata

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "benchmarks-ingest.md"
START = 1_704_067_200_000
MINUTE = 60_000
DAY = 86_400_000
SIDES = ("liqdata", "DuckDB", "polars")
VENUES = ("binance", "bybit", "okx", "gate", "bitget")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def klines(folder: Path, rows: int) -> Path:
    """A file of minutes as Binance writes them."""
    chance = random.Random(7)
    path = folder / "BTCUSDT-1m-2024.csv"
    with path.open("w") as file:
        for place in range(rows):
            opened = START + place * MINUTE
            price = 40_000 + chance.random() * 100
            cells = (price, price + 12.5, price - 9.1, price + 3.2)
            prices = ",".join(f"{cell:.1f}" for cell in cells)
            # A bar of trades has a volume.
            volume = chance.random() * 90 + 0.001
            file.write(f"{opened},{prices},{volume:.3f},{opened + MINUTE - 1},3810213.55,918,31.2,19.1,0\n")
    return path


def candles(rows: int) -> pl.DataFrame:
    chance = random.Random(8)
    opened = [40_000 + round(chance.random() * 100, 1) for _ in range(rows)]
    return pl.DataFrame(
        {
            "timestamp": [START + place * MINUTE for place in range(rows)],
            "symbol": ["BTC"] * rows,
            "open": opened,
            "high": [price + 20 for price in opened],
            "low": [price - 20 for price in opened],
            "close": [price + 1 for price in opened],
            "volume": [round(chance.random() * 90, 3) for _ in range(rows)],
            "interval": [MINUTE] * rows,
        }
    )


def orders(rows: int) -> pl.DataFrame:
    chance = random.Random(9)
    prices = [40_000 + round(chance.random() * 100, 1) for _ in range(rows)]
    amounts = [round(chance.random() * 3, 3) + 0.001 for _ in range(rows)]
    return pl.DataFrame(
        {
            "timestamp": sorted(chance.randrange(START, START + 20 * DAY) for _ in range(rows)),
            "exchange": chance.choices(VENUES, k=rows),
            "symbol": ["BTCUSDT"] * rows,
            "side": chance.choices(("LONG", "SHORT"), k=rows),
            "price": prices,
            "qty": [round(amount, 3) for amount in amounts],
            "value_usd": [round(price * amount, 2) for price, amount in zip(prices, amounts, strict=True)],
        }
    )


def readings(rows: int) -> pl.DataFrame:
    """Every five minutes of five venues."""
    chance = random.Random(10)
    times = [START + place // len(VENUES) * 5 * MINUTE for place in range(rows)]
    return pl.DataFrame(
        {
            "timestamp": times,
            "exchange": [VENUES[place % len(VENUES)] for place in range(rows)],
            "symbol": ["BTC"] * rows,
            "open_interest": [80_000 + round(chance.random() * 4_000, 3) for _ in range(rows)],
        }
    )


def by_duckdb(into: Path, query: str, **tables: pl.DataFrame) -> None:
    session = duckdb.connect(config={"threads": 1})
    for name, frame in tables.items():
        session.register(name, frame)
    copied = f"SELECT *, timestamp // {DAY} AS day FROM ({query})"
    session.execute(
        f"COPY ({copied}) TO '{into}' (FORMAT parquet, PARTITION_BY (day), COMPRESSION zstd, COMPRESSION_LEVEL 3)"
    )
    session.close()


def by_polars(into: Path, frame: pl.DataFrame) -> None:
    into.mkdir()
    days = frame.with_columns(day=pl.col("timestamp") // DAY).partition_by("day", as_dict=True, include_key=False)
    for (day,), rows in days.items():
        rows.write_parquet(into / f"{day}.parquet", compression="zstd", compression_level=3)


def cases(folder: Path, rows: int) -> dict[str, dict[str, Callable[[Path], object]]]:
    """What each side does with the same rows."""
    file = klines(folder, rows)
    there = folder / "there"
    liqdata.ingest(there, file)
    names = ["timestamp", "open", "high", "low", "close", "volume"]
    columns = ", ".join(f"column{place:02} AS {column}" for place, column in enumerate(names))
    read = f"SELECT {columns} FROM read_csv('{file}', header = false)"

    def read_csv() -> pl.DataFrame:
        frame = pl.read_csv(file, has_header=False)
        return frame.select(pl.col(f"column_{place + 1}").alias(name) for place, name in enumerate(names))

    def whole(done: liqdata.archive.Ingested, *, again: bool = False) -> None:
        stored = done.repeated if again else done.new
        if stored != rows:
            raise SystemExit(str(done))

    def of_table(kind: str, frame: pl.DataFrame) -> dict[str, Callable[[Path], object]]:
        given = {kind: frame} | ({"exchange": "binance"} if kind == "bars" else {})
        return {
            "liqdata": lambda into: whole(liqdata.ingest(into, **given)),
            "DuckDB": lambda into: by_duckdb(into, "SELECT * FROM frame", frame=frame),
            "polars": lambda into: by_polars(into, frame),
        }

    def of_file(file: Path, reader: Callable[[Path], pl.DataFrame]) -> dict[str, Callable[[Path], object]]:
        exchange = "binance" if "bars" in file.name else None
        return {
            "liqdata": lambda into: whole(liqdata.ingest(into, file, exchange=exchange)),
            "DuckDB": lambda into: by_duckdb(into, f"SELECT * FROM '{file}'"),
            "polars": lambda into: by_polars(into, reader(file)),
        }

    cases_by_name: dict[str, dict[str, Callable[[Path], object]]] = {
        "bars from CSV, of Binance": {
            "liqdata": lambda into: whole(liqdata.ingest(into, file)),
            "DuckDB": lambda into: by_duckdb(into, read),
            "polars": lambda into: by_polars(into, read_csv()),
        },
        "the same file again": {"liqdata": lambda _: whole(liqdata.ingest(there, file), again=True)},
    }
    for kind, frame in (("orders", orders(rows)), ("bars", candles(rows)), ("open_interest", readings(rows))):
        shown = kind.replace("_", " ")
        parquet, csv = folder / f"{kind}.parquet", folder / f"{kind}.csv"
        frame.write_parquet(parquet)
        # Lengths of bars are written as people do.
        _in_words(frame).write_csv(csv)
        cases_by_name[f"{shown} from an Arrow table"] = of_table(kind, frame)
        cases_by_name[f"{shown} from Parquet"] = of_file(parquet, pl.read_parquet)
        cases_by_name[f"{shown} from CSV"] = of_file(csv, pl.read_csv)
    return cases_by_name


def _in_words(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(interval=pl.lit("1m")) if "interval" in frame.columns else frame


def measured(work: Callable[[Path], object], into: Path) -> tuple[float, float]:
    """How long it took, and how much of the processor's time; what was made stays until all have run.

    ext4 gives no inode away again for some minutes after a file is deleted: who makes files walks past all such ones,
    and pays for what others had made and deleted before.
    """
    os.sync()  # else whoever syncs waits for what the others have left unwritten
    began, spent = time.perf_counter(), time.process_time()
    work(into)
    return time.perf_counter() - began, time.process_time() - spent


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=500_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--out", type=Path, default=PAGE)
    asked = arguments.parse_args()
    began = time.monotonic()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    times: dict[tuple[str, str], list[float]] = {}
    processor: dict[str, list[float]] = {}
    chance = random.Random(3)
    with tempfile.TemporaryDirectory() as name:
        cases_by_name = cases(Path(name), asked.rows)
        for place in range(asked.rounds):
            for case, sides in cases_by_name.items():
                for side in chance.sample(list(sides), k=len(sides)):
                    took, spent = measured(sides[side], Path(name) / f"{place} {case} {side}")
                    times.setdefault((case, side), []).append(took)
                    if side == "liqdata":
                        processor.setdefault(case, []).append(spent)
            say(f"round {place + 1} of {asked.rounds}")
    lines = [
        [case, *(_rate(asked.rows, times.get((case, side))) for side in SIDES), _rate(asked.rows, processor.get(case))]
        for case in cases_by_name
    ]
    asked.out.write_text(page(asked.rows, asked.rounds, lines, time.monotonic() - began), encoding="utf-8")
    say(f"{asked.out}")


def _rate(rows: int, took: list[float] | None) -> str:
    return "–" if took is None else f"{rows / statistics.median(took):,.0f}"


def page(rows: int, rounds: int, lines: list[list[str]], took: float) -> str:
    table = report.table(["", *SIDES, "liqdata, of processor time"], lines)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    versions = f"liqdata {liqdata.__version__}, DuckDB {duckdb.__version__}, polars {pl.__version__}"
    return f"""# Bringing in the past, against DuckDB and polars

Written by `python tests/bench/ingest.py` on {datetime.now(UTC):%Y-%m-%d} in {took:.0f} s; do not edit.

Rows per second, {rows:,} rows, one core: bars of a minute and open interest are {rows // 1440:,} days, orders 20.

{table}

## How it is measured

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- Python {platform.python_version()}, {versions}, all limited to one core; the process used at most {memory} MiB.
- DuckDB and polars write the rows unchanged, a file per day, without sync or checks. liqdata reads exact numbers,
  refuses invalid rows, looks for duplicates of every row, syncs each file and lists it with its SHA-256. Unwritten
  data of the others is flushed before.{report.ahead()}
- The last column is the processor time of liqdata; the rest of its time it waits for the disk.
- Nothing is deleted during the run, because that slows new files on ext4 for minutes.
- They take turns in random order in each of {rounds} rounds; a rate is that of the median time.
"""


if __name__ == "__main__":
    main()
