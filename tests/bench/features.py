"""Features of many instants, against one call after another; writes ``docs/dev/benchmarks-features.md``.

Both are asked of the same tables in one run: a year of five-minute bars, open interest and orders of five coins. The
instants are consecutive hours up to the end, so that both need as many fits for an instant as a whole year does.
"""

import argparse
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import report

import liqdata

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "benchmarks-features.md"
COINS = ("BTC", "ETH", "SOL", "XRP", "DOGE")
HOUR, DAY, BAR = 3_600_000, 86_400_000, 300_000
NOW = 1_781_136_000_000 // DAY * DAY
SHARES = (8, 4, 2, 1)
ALL = 8760
"""Hours of a year."""
GOAL, SLOPE, MEMORY = 10.0, 1.05, 1024
COLUMNS = {
    "one of the map": ["price"],
    "six": ["price", "below_usd", "above_usd", "cnt_1h", "cnt_24h", "covered_24h"],
    "all": "all",
}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tables(days: int, orders: int) -> dict[str, dict[str, object]]:
    """Bars, readings and orders of all coins; the prices are a random walk."""
    chance = np.random.default_rng(61)
    count = days * DAY // BAR
    opens = NOW - BAR * np.arange(count, 0, -1)
    bars: dict[str, list[object]] = {name: [] for name in ("open", "high", "low", "close", "volume")}
    readings, prices, sides, at = [], [], [], []
    for coin in range(len(COINS)):
        close = 10.0 ** (4 - coin) * np.exp(np.cumsum(chance.normal(0, 0.0015, count)))
        open_ = np.concatenate([close[:1], close[:-1]])
        wick = np.exp(np.abs(chance.normal(0, 0.0007, (2, count))))
        bars["open"].append(open_)
        bars["high"].append(np.maximum(open_, close) * wick[0])
        bars["low"].append(np.minimum(open_, close) / wick[1])
        bars["close"].append(close)
        bars["volume"].append(chance.lognormal(3, 0.5, count) * 1e5 / close)
        readings.append(1e8 / close[0] * np.exp(np.cumsum(chance.normal(0, 0.001, count))))
        moments = np.sort(chance.integers(NOW - days * DAY, NOW, orders))
        place = np.clip((moments - opens[0]) // BAR, 0, count - 1)
        at.append(moments)
        prices.append(close[place])
        sides.append(np.where(close[place] < open_[place], "LONG", "SHORT"))
    total = orders * len(COINS)
    usd = chance.pareto(1.2, total) * 500 + 10
    price = np.concatenate(prices)
    return {
        "bars": {
            "symbol": np.repeat(COINS, count),
            "timestamp": np.tile(opens, len(COINS)),
            **{name: np.concatenate(cells) for name, cells in bars.items()},
        },
        "open_interest": {
            "symbol": np.repeat(COINS, count),
            "timestamp": np.tile(opens + BAR, len(COINS)),
            "open_interest": np.concatenate(readings),
            "exchange": np.full(count * len(COINS), "binance"),
        },
        "orders": {
            "exchange": chance.choice(["binance", "bybit", "okx"], total),
            "symbol": np.repeat([f"{coin}USDT" for coin in COINS], orders),
            "side": np.concatenate(sides),
            "price": price,
            "qty": usd / price,
            "value_usd": usd,
            "timestamp": np.concatenate(at),
        },
    }


def hours(count: int) -> list[int]:
    return [NOW - HOUR * place for place in range(count)]


def one_by_one(market: liqdata.Market, coin: str, at: int) -> None:
    """The calls that give the same columns at one instant."""
    world = market.liqmap(coin, "7d", opened="ever", as_of=at)
    for percent in (1, 2, 5):
        world.swept(world.current_price * (1 - percent / 100), world.current_price * (1 + percent / 100))
    world.clusters()
    market.levels(coin, as_of=at)
    market.maxpain(coin, as_of=at)
    for window in (HOUR, DAY):
        market.history(coin, interval="366d", by=(), start=at - window + 1, end=at + 1, as_of=at)


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def memory() -> float:
    """The memory of the process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / report.MEBI


def peak() -> float:
    """The largest memory of the process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365, help="days of the tables")
    parser.add_argument("--orders", type=int, default=200_000, help="orders of a coin")
    parser.add_argument("--sample", type=int, default=24, help="instants of each coin at which calls are measured")
    parser.add_argument("--most", type=int, default=2000, help="instants of each coin")
    parser.add_argument("--build", default="release build", help="how the extension was built")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    given = tables(arguments.days, arguments.orders)
    say(f"tables made in {report.took(time.perf_counter() - begun)}")
    # A market of its own for each size, so that each makes its fits itself.
    took = {}
    for size in (arguments.most // share for share in SHARES):
        market = liqdata.Market(**given, now=NOW)
        before = memory()
        took[size] = timed(lambda market=market, size=size: market.features(COINS, hours(size)))
        grown = peak() - before
        say(f"features of {size:,} instants × {len(COINS)} coins: {report.took(took[size])}, {grown:,.0f} MiB more")
    of_columns = {
        name: statistics.median(
            timed(lambda columns=columns: market.features(COINS, hours(arguments.most // 4), columns=columns))
            for _ in range(3)
        )
        for name, columns in COLUMNS.items()
    }
    whole = peak()
    calls = {}
    for size in (arguments.sample // 2, arguments.sample):
        market = liqdata.Market(**given, now=NOW)
        begin = time.process_time()
        for coin in COINS:
            for at in hours(size):
                one_by_one(market, coin, at)
        calls[size] = time.process_time() - begin
        say(f"calls at {size} instants × {len(COINS)} coins: {report.took(calls[size])}")
    slope = np.polyfit(np.log(list(took)), np.log(list(took.values())), 1)[0]
    each, fixed = np.polyfit(list(took), list(took.values()), 1)
    year = float(max(fixed, 0) + each * ALL)
    (small, less), (large, more) = calls.items()
    year_of_calls = more + max((more - less) / (large - small), 0) * (ALL - large)
    ratio = year_of_calls / year
    flat = of_columns["all"] / of_columns["one of the map"]
    say(f"slope {slope:.3f}; a year {year:.0f} s, calls {year_of_calls:.0f} s: {ratio:.1f}×; all columns {flat:.2f}×")
    goals = [
        ("times faster than the calls", f"≥ {GOAL:g}", f"{ratio:.1f}", ratio >= GOAL),
        ("slope of time in instants", f"≤ {SLOPE:g}", f"{slope:.3f}", slope <= SLOPE),
        (f"MiB that {arguments.most:,} instants take", f"< {MEMORY}", f"{grown:,.0f}", grown < MEMORY),
    ]
    met = [[name, goal, found, "yes" if is_met else "**no**"] for name, goal, found, is_met in goals]
    sizes = [[f"{size:,}", report.took(taken), report.took(taken / size / len(COINS))] for size, taken in took.items()]
    columns = [[name, report.took(taken)] for name, taken in of_columns.items()]
    PAGE.write_text(
        f"""# Features, against one call after another

Written by `tests/bench/features.py` on {datetime.now(UTC):%Y-%m-%d} in {time.perf_counter() - begun:.0f} s.
Do not edit.

`market.features` of {len(COINS)} coins, all columns, and the calls that give the same values one instant after another:
`liqmap` with `swept` and `clusters`, `levels`, `maxpain`, and `history` for two windows.

{report.table(["", "goal", "measured", "met"], met)}
{report.table(["instants of each coin", "features", "for each row"], sizes)}
{report.table([f"columns, {arguments.most // 4:,} instants, fits known", "time"], columns)}
Extrapolated to {ALL * len(COINS):,} rows (a year of hours): features **{report.took(year)}**, the calls
**{report.took(year_of_calls)}**.

## How it is measured

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- Python {platform.python_version()}, liqdata {liqdata.__version__}, {arguments.build}.
- The tables are **synthetic** with a fixed seed: {arguments.days} days of bars and readings of five minutes, and
  {arguments.orders:,} orders of each coin. Peak memory of the process with all tables: {whole:,.0f} MiB.
- Times are CPU seconds of all threads: other work of the machine counts little. Features use all cores, the calls one.
- The instants are consecutive hours up to the end. Each size has a market of its own, so fits are included. Features of
  a year are the line through the four sizes. The calls are measured at {small} and {large} instants of each coin, and
  each further instant counts as the difference, so that the calls pay for few fits.{report.ahead()}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
