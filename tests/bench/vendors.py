"""Heatmaps of vendors decoded into arrays: ours against orjson and numpy; part of ``make bench``.

The replies have 42,000 cells, once as numbers and once as text. Both sides give the matrix, the prices and the times.
"""

import argparse
import json
import random
import statistics
import time
from pathlib import Path

import numpy as np
import orjson

from liqdata.vendors import answers
from liqdata.vendors.coinglass import _CELLS, unwrap
from liqdata.vendors.reply import Reply

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks-vendors.md"
COLUMNS, LEVELS = 288, 146
PASSES = 40


def body(*, text: bool) -> bytes:
    """A reply in the shape of CoinGlass with a value in every cell."""
    draw = random.Random(288)
    spell = str if text else (lambda value: value)
    cells = [
        [spell(x), spell(y), spell(round(draw.lognormvariate(11, 2), 2))] for x in range(COLUMNS) for y in range(LEVELS)
    ]
    prices = [90_000 + 65.25 * y for y in range(LEVELS)]
    candles = [[1_790_000_100 + 300 * x, "91120.1", "91188.0", "91090.4", "91150.0", "1532.2"] for x in range(COLUMNS)]
    data = {"y_axis": prices, "liquidation_leverage_data": cells, "price_candlesticks": candles}
    return json.dumps({"code": "0", "msg": "success", "data": data}, separators=(",", ":")).encode()


def ours(sent: bytes) -> np.ndarray:
    """Decode as the clients of vendors do, candles and checks included."""
    reply = Reply(200, {}, sent, 1_790_000_000_000)
    about = {"symbol": "BTC", "range": "24h", "model": 2, "candles": True, "meta": {}}
    return answers.heatmap(reply, names=_CELLS, root=(), unwrap=unwrap, **about).matrix


def theirs(sent: bytes) -> np.ndarray:
    """Decode as a careful script does, without checks."""
    data = orjson.loads(sent)["data"]
    cells = np.array(data["liquidation_leverage_data"], dtype=np.float64)
    prices = np.array(data["y_axis"])
    times = np.array([candle[0] for candle in data["price_candlesticks"]], dtype="datetime64[s]")
    matrix = np.zeros((prices.size, times.size))
    matrix[cells[:, 1].astype(int), cells[:, 0].astype(int)] = cells[:, 2]
    return matrix


def main() -> None:
    """Measure both, alternating, and write the page."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--dry", action="store_true", help="print only")
    dry = arguments.parse_args().dry
    lines = ["| Cells | liqdata, ms | orjson and numpy, ms | times faster |", "|---|---|---|---|"]
    for text in (False, True):
        sent = body(text=text)
        assert (ours(sent) == theirs(sent)).all()
        taken = {ours: [], theirs: []}
        for _ in range(PASSES):
            for decode, times in taken.items():
                start = time.perf_counter()
                decode(sent)
                times.append(1000 * (time.perf_counter() - start))
        mine, other = (statistics.median(times) for times in taken.values())
        lines.append(f"| {'text' if text else 'numbers'} | {mine:.2f} | {other:.2f} | {other / mine:.1f} |")
    page = [
        "# Benchmarks: replies of vendors",
        "",
        f"A heatmap of {COLUMNS} columns and {LEVELS} prices in the shape of CoinGlass, decoded into arrays: median of",
        f"{PASSES} passes on one core. Ours includes the candles and all checks.",
        "`tests/bench/vendors.py` writes this page.",
        "",
        *lines,
        "",
    ]
    print("\n".join(lines))
    if not dry:
        PAGE.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
