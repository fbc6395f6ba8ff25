"""Frames of Binance decoded per second on one core: ours against orjson and dict handling, in one run.

``make bench`` runs it. What orjson's side does is the least that gives the same fields: parse, look up, Decimal, key.
"""

import subprocess
import sys
import time
from decimal import Decimal

import orjson

CARGO = ["cargo", "run", "--quiet", "--release", "--locked", "--no-default-features", "--example", "decode_rate"]
ROUNDS = 25


def by_dicts(frame: bytes) -> dict[str, object]:
    """Decode one frame as a script would."""
    order = orjson.loads(frame)["o"]
    price = Decimal(order["ap"]) or Decimal(order["p"])
    qty = Decimal(order["z"])
    symbol = order["s"]
    return {
        "exchange": "binance",
        "symbol": symbol,
        "side": "LONG" if order["S"] == "SELL" else "SHORT",
        "price": price,
        "qty": qty,
        "value_usd": price * qty,
        "timestamp": order["T"],
        "dedupe_key": f"binance|{symbol}|{order['S']}|{order['T']}|{order['z']}|{order['ap']}",
    }


def main() -> None:
    """Measure both sides, and print rates and ratio."""
    frames = subprocess.run([*CARGO, "--", "--frames"], check=True, capture_output=True).stdout.splitlines()
    ours = float(subprocess.run(CARGO, check=True, capture_output=True).stdout)
    started = time.perf_counter()
    for _ in range(ROUNDS):
        for frame in frames:
            by_dicts(frame)
    theirs = ROUNDS * len(frames) / (time.perf_counter() - started)
    ratio = ours / theirs
    sys.stdout.write(f"binance frames a second: liqdata {ours:,.0f}, orjson and dicts {theirs:,.0f}, {ratio:.1f} x\n")


if __name__ == "__main__":
    main()
