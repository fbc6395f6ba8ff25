"""Memory and CPU time of a market of one coin with two years of minute bars, as multiples of another build of liqdata.

``memory.py FOLDER`` compares this build with the package ``liqdata`` in FOLDER (say, a copy of ``python/`` of an
earlier build). The builds take turns, each in a fresh process. Both must give the same answers, to the last bit.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from measure import status

import liqdata
from liqdata import _core

HERE = Path(liqdata.__file__).parents[1]
MINUTE = 60_000
START = 1_704_067_200_000  # 2024-01-01
BARS = 2 * 365 * 1440
GROWING = 5_000
FIGURES = {
    "built": "resident after the build, B a bar",
    "peak": "resident at most, B a bar",
    "answered": "resident after the first answers, B a bar",
    "build": "build, CPU s",
    "first": "first heatmap, CPU s",
    "map": "liqmap again, CPU s",
    "levels": "levels again, CPU s",
    "heatmap": "heatmap again, CPU s",
    "new bar": "a new bar of a growing market, CPU s",
}


def tables(every: int) -> tuple[pa.Table, pa.Table]:
    """Minute bars, and open interest every so many minutes."""
    chance = np.random.default_rng(1)
    close = np.round(90_000 * np.exp(np.cumsum(chance.normal(0, 5e-4, BARS))), 1)
    opens = np.concatenate(([90_000.0], close[:-1]))
    times = START + MINUTE * np.arange(BARS)
    bars = {
        "symbol": np.full(BARS, "BTC"),
        "timestamp": times,
        "open": opens,
        "high": np.round(np.maximum(opens, close) * 1.0002, 1),
        "low": np.round(np.minimum(opens, close) * 0.9998, 1),
        "close": close,
        "volume": np.round(chance.lognormal(2, 1, BARS), 3),
        "interval": np.full(BARS, MINUTE),
    }
    times = times[::every]
    readings = {
        "symbol": np.full(times.size, "BTC"),
        "exchange": np.full(times.size, "binance"),
        "timestamp": times,
        "open_interest": np.round(8_000 + np.cumsum(chance.normal(0, 3, times.size)), 3),
    }
    return pa.table(bars), pa.table(readings)


def cpu(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def again(work: Callable[[], Any]) -> float:
    """The CPU time of a repeated call."""
    return statistics.median(cpu(work) for _ in range(9))


def child(every: int) -> dict[str, Any]:
    bars, readings = tables(every)
    before, all_before = status("RssAnon"), status("VmRSS")
    market: Any = None

    def build() -> None:
        nonlocal market
        market = liqdata.Market(bars=bars, open_interest=readings)

    def resident() -> float:
        return (status("RssAnon") - before) / BARS

    found: dict[str, Any] = {"build": cpu(build), "built": resident()}
    found["first"] = cpu(lambda: market.heatmap("BTC"))
    found["map"] = again(lambda: market.liqmap("BTC"))
    found["levels"] = again(lambda: market.levels("BTC"))
    found["heatmap"] = again(lambda: market.heatmap("BTC"))
    found["answered"] = resident()
    found["peak"] = (status("VmHWM") - all_before) / BARS
    answers = [market.heatmap("BTC", range=one).to_dict() for one in ("24h", "1y")]
    answers += [market.liqmap("BTC", range=one).to_dict() for one in ("1d", "7d", "1y")]
    answers += [market.liqmap("BTC", exchange="binance").to_dict(), dict(market.levels("BTC"))]
    answers += [market.heatmap("BTC", as_of=START + BARS // 3 * MINUTE).to_dict()]
    answers += [market.bars("BTC", interval=one).to_dicts() for one in ("5m", "1d")]
    found["answers"] = hashlib.sha256(repr(answers).encode()).hexdigest()
    next_rows = (bars.slice(GROWING, 1), readings.slice(0, 0))
    taken = []
    for _ in range(5):
        growing = _core.Market.growing(10)
        growing.append(None, bars.slice(0, GROWING), readings.slice(0, GROWING // every))
        taken.append(cpu(partial(growing.append, None, *next_rows)))
    found["new bar"] = statistics.median(taken)
    return found


def main() -> None:
    """Measure both builds in turns, and print the figures of each and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder with the package of the other build")
    parser.add_argument("--every", type=int, default=5, help="minutes from one open interest reading to the next")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.every)))
        return
    folders = [HERE, *([options.folder.resolve()] if options.folder else [])]
    samples: list[list[dict[str, Any]]] = [[] for _ in folders]
    for _ in range(options.rounds):
        for folder, found in zip(folders, samples, strict=True):
            command = [sys.executable, __file__, "--child", "--every", str(options.every)]
            environment = {**os.environ, "PYTHONPATH": str(folder)}
            ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            found.append(json.loads(ran.stdout))
    if len({one["answers"] for found in samples for one in found}) > 1:
        sys.exit("the builds give different answers")
    for key, title in FIGURES.items():
        ours, *other = ([one[key] for one in found] for found in samples)
        line = f"{title:45} {statistics.median(ours):10.4g}"
        if other:
            ratio = statistics.median(one / two for one, two in zip(ours, *other, strict=True))
            line += f" {statistics.median(other[0]):10.4g} {ratio:6.2f}"
        print(line)


if __name__ == "__main__":
    main()
