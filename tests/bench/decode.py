"""Frames of Binance decoded per second on one core: ours against orjson and dict handling; part of ``make bench``.

What orjson's side does is what a careful script does to get the same dict, member for member: parse, look up, Decimal,
key; names are taken apart once and remembered.
"""

import argparse
import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import orjson
import redundancy
import report

import liqdata

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dev" / "benchmarks-feeds.md"
PASSES = 25


@functools.cache
def coin_of(symbol: str) -> tuple[str, str]:
    """Pair and coin of a contract, as far as these frames need it."""
    pair = symbol.partition("_")[0]
    return pair, pair.removesuffix("USDT").removeprefix("1000")


def by_dicts(frame: bytes) -> dict[str, object]:
    """Decode one frame as a script would."""
    order = orjson.loads(frame)["o"]
    native_id, side = order["s"], order["S"]
    pair, coin = coin_of(native_id)
    price, kind = Decimal(order["ap"]), "avg_fill"
    if not price:
        price, kind = Decimal(order["p"]), "order"
    qty = Decimal(order["z"])
    return {
        "exchange": "binance",
        "symbol": pair,
        "coin": coin,
        "side": "LONG" if side == "SELL" else "SHORT",
        "price": price,
        "price_kind": kind,
        "qty": qty,
        "value_usd": price * qty,
        "timestamp": order["T"],
        "received_at": None,
        "native_id": native_id,
        "sampled": True,
        "dedupe_key": f"binance|{native_id}|{side}|{order['T']}|{order['z']}|{order['ap']}",
        "group_id": None,
    }


def in_python(frame: bytes) -> dict[str, object]:
    """Decode one frame as a user of ours does from Python."""
    return liqdata.feeds.decode("binance", frame)[0]


def rate(decode: Callable[[bytes], object], frames: list[bytes]) -> float:
    started = time.perf_counter()
    for _ in range(PASSES):
        for frame in frames:
            decode(frame)
    return PASSES * len(frames) / (time.perf_counter() - started)


def rate_at_once(frames: list[bytes]) -> float:
    """Frames a second of a capture that is decoded in one call, to dicts."""
    started = time.perf_counter()
    for _ in range(PASSES):
        list(liqdata.feeds.decode("binance", frames))
    return PASSES * len(frames) / (time.perf_counter() - started)


def page(rates: dict[str, list[float]], rounds: int) -> str:
    theirs = rates["orjson and dicts"]
    medians = {name: f"{statistics.median(each):,.0f}" for name, each in rates.items()}
    ratios = {
        name: f"{statistics.median(a / b for a, b in zip(each, theirs, strict=True)):.1f}"
        for name, each in rates.items()
    }
    rows = [[name, medians[name], f"{ratios[name]}×"] for name in rates]
    table = report.table(["", "frames a second", "of orjson and dicts"], rows)
    return f"""# Decoding, against orjson and dicts

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}; do not edit.

Binance's liquidation frames to events on one core: **{medians["liqdata"]} frames a second**, {ratios["liqdata"]}
times the rate of orjson with dicts in Python.

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- 4,096 distinct **generated** frames, {rounds} rounds in turns, each side on one core; medians, with the ratio within
  each round. *liqdata* is the decoder as the collector calls it (`examples/decode_rate.rs`); *liqdata, from Python*
  is `liqdata.feeds.decode` frame by frame, including its dicts; *many frames at once* passes them in one list.
- The Python rows give equal dicts of fourteen members; the first row gives a Rust struct. liqdata also checks the type
  of every member and refuses messages that Binance would not send.

{table}"""


def main() -> None:
    """Measure all sides by turns, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=Path, default=ROOT / "target" / "release" / "examples" / "decode_rate")
    parser.add_argument("--print", action="store_true", help="print the page and do not write it")
    options = parser.parse_args()
    frames = subprocess.run([options.rate, "--frames"], check=True, capture_output=True).stdout.splitlines()
    for frame in frames:
        ours, theirs = in_python(frame), by_dicts(frame)
        assert list(ours.items()) == list(theirs.items()), (ours, theirs)
    assert list(liqdata.feeds.decode("binance", frames)) == [by_dicts(frame) for frame in frames]
    sides = ("liqdata", "liqdata, from Python", "liqdata, many frames at once", "orjson and dicts")
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(options.rounds):
        rates["liqdata"].append(float(subprocess.run([options.rate], check=True, capture_output=True).stdout))
        rates["liqdata, from Python"].append(rate(in_python, frames))
        rates["liqdata, many frames at once"].append(rate_at_once(frames))
        rates["orjson and dicts"].append(rate(by_dicts, frames))
        print({name: round(each[turn]) for name, each in rates.items()}, file=sys.stderr)
    text = page(rates, options.rounds)
    text += redundancy.section(redundancy.measured(), "a release build")
    if options.print:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
