"""What the scripts of this folder share: orders, bars with features, and the line that a script prints."""

from decimal import Decimal
from importlib.metadata import version

import liqdata

COINS = ("BTC", "DOGE", "PEPE", "SOL")
EXACT = {"price", "qty", "value_usd"}


def orders() -> list[dict]:
    """Return 1,200 simulated orders, with prices from millionths of a dollar to a hundred thousand."""
    market = liqdata.demo(seed=7)
    return [row for coin in COINS for row in market.orders(coin, limit=300)]


def table():
    """Return the same orders as an Arrow table; amounts are `decimal128(38, 18)`, times milliseconds in UTC."""
    import pyarrow as pa  # not every script has it

    market = liqdata.demo(seed=7)
    return pa.concat_tables([market.orders(coin, limit=300).to_arrow(decimals="decimal") for coin in COINS])


def some(column, step=30) -> list[Decimal]:
    """Return every 30th of the distinct prices, smallest first."""
    return sorted(set(column))[::step]


def total(rows, name="value_usd") -> Decimal:
    """Return the exact sum of a column of rows."""
    return sum((row[name] for row in rows), Decimal(0))


def hours(*coins: str):
    """Return bars of 27 days of hours as a frame, labelled by their open, with what was known at their close."""
    import pandas as pd

    market = liqdata.demo()
    frames = []
    for coin in coins:
        bars = market.bars(coin, interval="1h", start="-27d")
        features = market.features(coin, bars, windows=["1h"], within=[1]).to_pandas().drop(columns="coin")
        frames.append(bars.to_pandas().merge(features, left_on="timestamp", right_on="bar_open"))
    return pd.concat(frames, ignore_index=True)


def line(program: str, works: str, needed: str, package: str | None = None) -> None:
    """Print a line of the table: a program, the version that is installed, what works, and what is needed."""
    found = version(package) if package else ""
    print(f"| {program} | {found} | {works} | {needed} |" if found else f"| {program} | {works} | {needed} |")
