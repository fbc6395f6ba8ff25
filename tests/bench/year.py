"""A year of files becomes an archive: its rate against the decompressor and the disk alone, and its memory.

The files are those that `liqdata fetch` downloads: 1-minute bars and 5-minute open interest of a coin, and two million
liquidations of five exchanges, packed as their sources pack them.
"""

import argparse
import gzip
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

MINUTE = 60_000
DAY = 86_400_000
START = 1_735_689_600_000  # 2025-01-01
DAYS = 365
LIQUIDATIONS = 2_000_000
EXCHANGES = ("binance-futures", "bybit", "deribit", "cryptofacilities", "bitmex")
METRICS = (
    "create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,"
    "sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio"
)
TARDIS = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"


def day(number: int) -> datetime:
    return datetime.fromtimestamp(START / 1000, UTC) + timedelta(days=number)


def zipped(path: Path, name: str, lines: list[str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, "\n".join(lines) + "\n")


def make(folder: Path) -> list[Path]:
    """The files of a year."""
    chance = random.Random(1)
    price, files = 90_000.0, []
    bars: dict[str, list[str]] = {}
    for number in range(DAYS):
        at, of = START + number * DAY, day(number)
        readings, opens = [METRICS], []
        for minute in range(1440):
            close = price * (1 + chance.gauss(0, 0.0005))
            high, low = max(price, close) * 1.0002, min(price, close) * 0.9998
            volume = chance.lognormvariate(2, 1)
            begin = at + minute * MINUTE
            cells = f"{price:.1f},{high:.1f},{low:.1f},{close:.1f},{volume:.3f},{begin + MINUTE - 1}"
            bars.setdefault(f"{of:%Y-%m}", []).append(f"{begin},{cells},{volume * close:.4f},100,1,1,0")
            if minute % 5 == 0:
                clock = f"{of + timedelta(minutes=minute):%Y-%m-%d %H:%M:%S}"
                amount = 80_000 + chance.gauss(0, 300)
                readings.append(f"{clock},BTCUSDT,{amount:.3f},{amount * close:.2f},1,1,1,1")
            opens.append(close)
            price = close
        name = f"BTCUSDT-metrics-{of:%Y-%m-%d}"
        zipped(folder / f"{name}.zip", f"{name}.csv", readings)
        files.append(folder / f"{name}.zip")
        for exchange in EXCHANGES:
            lines = [TARDIS]
            times = sorted(chance.randrange(DAY) for _ in range(LIQUIDATIONS // DAYS // len(EXCHANGES)))
            symbol = {"cryptofacilities": "PF_XBTUSD", "bitmex": "XBTUSD", "deribit": "BTC-PERPETUAL"}.get(
                exchange, "BTCUSDT"
            )
            is_usd = exchange in {"bitmex", "deribit"}
            for row, then in enumerate(times):
                near = opens[then // MINUTE] * (1 + chance.gauss(0, 0.0003))
                amount = (
                    f"{chance.randrange(1, 500) * 100}" if is_usd else f"{chance.lognormvariate(-3, 1.5) + 0.001:.3f}"
                )
                side = chance.choice(("buy", "sell"))
                stamp = (at + then) * 1000
                lines.append(f"{exchange},{symbol},{stamp},{stamp + 20_000},{number}-{row},{side},{near:.1f},{amount}")
            path = folder / f"{exchange}_liquidations_{of:%Y-%m-%d}_PERPETUALS.csv.gz"
            path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 6))
            files.append(path)
    for month, rows in bars.items():
        zipped(folder / f"BTCUSDT-1m-{month}.zip", f"BTCUSDT-1m-{month}.csv", rows)
        files.append(folder / f"BTCUSDT-1m-{month}.zip")
    return files


def unpack(files: list[Path]) -> tuple[float, float, int]:
    """Seconds, seconds of CPU, and bytes of unpacking alone."""
    begun, used, size = time.perf_counter(), time.process_time(), 0
    for path in files:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                size += len(archive.read(archive.namelist()[0]))
        else:
            size += len(gzip.decompress(path.read_bytes()))
    return time.perf_counter() - begun, time.process_time() - used, size


def write(folder: Path, archive: Path) -> float:
    """Seconds of writing the files of the archive alone, each to the disk."""
    contents = [(str(path.relative_to(archive)), path.read_bytes()) for path in archive.rglob("*") if path.is_file()]
    begun = time.perf_counter()
    for name, data in contents:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    return time.perf_counter() - begun


CHILD = """
import json, resource, sys, time
import liqdata
folder, *files = json.load(sys.stdin)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
done = liqdata.ingest(folder, *files)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"seconds": time.perf_counter() - begun, "cpu": used.ru_utime + used.ru_stime, "new": done.new,
                  "refused": done.refused, "mib": used.ru_maxrss / 1024, "mib_before": before / 1024}))
"""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--folder", type=Path)
    base = asked.parse_args().folder or Path(tempfile.mkdtemp(prefix="liqdata-year-"))
    source = base / "files"
    if not source.exists():
        source.mkdir(parents=True)
        make(source)
    files = sorted(source.iterdir())
    archive, copy = base / "archive", base / "copy"
    for old in (archive, copy):
        shutil.rmtree(old, ignore_errors=True)
    alone, cpu, size = unpack(files)
    given = json.dumps([str(archive), *map(str, files)])
    ran = subprocess.run([sys.executable, "-c", CHILD], input=given, capture_output=True, text=True, check=True)
    done = json.loads(ran.stdout)
    disk = write(copy, archive)
    slower = max(alone, disk)
    print(f"{len(files):,} files, {size / 2**20:,.0f} MiB unpacked, {done['new']:,} rows, refused {done['refused']}")
    print(f"unpacking alone {alone:.1f} s ({cpu:.1f} s CPU), writing and syncing alone {disk:.1f} s")
    print(f"ingest {done['seconds']:.1f} s ({done['cpu']:.1f} s CPU): {done['seconds'] / slower:.2f} times the slower")
    print(f"memory {done['mib']:.0f} MiB at most, {done['mib_before']:.0f} MiB after the import of liqdata")
    print(f"this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
