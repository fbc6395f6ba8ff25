"""What a second socket to each venue costs the collector: processor time and memory with one and with two.

The doubles of the four venues without backfill send so many liquidations a second. ``liqdata collect``
connects to them with one redundant socket, then with two. Part of ``make bench``; alone it prints its section of the
page.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import report

ROOT = Path(__file__).parents[2]
VENUES = "aster,binance,bitmex,bybit"
DOUBLE = ROOT / "target" / "release" / "examples" / "exchange_double"
SETTINGS = "redundancy = {redundancy}\nhistory_days = 0\nbackfill_hours = 0\ncoins = []\n"
WARM = 5.0
"""Seconds before it is measured: markets are read and sockets opened."""


@dataclass(frozen=True)
class Cost:
    """What one run came to."""

    redundancy: int
    rate: int
    seconds: float
    core: float
    mebibytes: float
    orders: int


def cost(double: Path, redundancy: int, rate: int, seconds: float) -> Cost:
    """Listen for so long to so many liquidations a second, over all venues."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "settings.toml"
        asked = [double, "--exchanges", VENUES, "--rate", str(rate), "--no-limits", "--settings", file]
        with subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as exchanges:
            assert exchanges.stdout is not None
            json.loads(exchanges.stdout.readline())
            file.write_text(SETTINGS.format(redundancy=redundancy) + file.read_text(encoding="utf-8"), encoding="utf-8")
            archive = Path(folder) / "archive"
            command = [sys.executable, "-m", "liqdata", "collect", archive, "--exchanges", VENUES, "--settings", file]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as collector:
                process = psutil.Process(collector.pid)
                time.sleep(WARM)
                before, started = process.cpu_times(), time.perf_counter()
                time.sleep(seconds)
                after, lasted = process.cpu_times(), time.perf_counter() - started
                memory = process.memory_info().rss / 2**20
                collector.terminate()
                said, _ = collector.communicate()
            exchanges.stdin.close()
        stored = int(said.splitlines()[-1].split("stored ")[1].split(" orders")[0].replace(",", ""))
    busy = (after.user - before.user) + (after.system - before.system)
    return Cost(redundancy, rate, lasted, busy / lasted, memory, stored)


def section(costs: list[Cost], build: str) -> str:
    """The part of the page."""
    rows = [
        [f"{one.rate:,}", str(one.redundancy), f"{one.core:.1%}", f"{one.mebibytes:.0f}", f"{one.orders:,}"]
        for one in costs
    ]
    table = report.table(["liquidations a second", "sockets to a line", "of a core", "MiB", "stored"], rows)
    return f"""
## Two sockets instead of one

What the second socket to aster, binance, bitmex and bybit costs the collector (`redundancy` in the settings).
The table shows processor time and resident memory while the doubles send **simulated** liquidations for
{costs[0].seconds:.0f} s, without the time until all are connected.
Measured on {datetime.now(UTC):%Y-%m-%d} with {build}; load average {os.getloadavg()[1]:.1f}, this run included.

{table}"""


def measured(double: Path = DOUBLE, *, seconds: float = 20.0) -> list[Cost]:
    """With one and with two, at an ordinary rate and in a cascade."""
    return [cost(double, redundancy, rate, seconds) for rate in (10, 1000) for redundancy in (1, 2)]


def main() -> None:
    """Measure, and print the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--double", type=Path, default=DOUBLE)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--build", default="a release build")
    options = parser.parse_args()
    print(section(measured(options.double, seconds=options.seconds), options.build))


if __name__ == "__main__":
    main()
