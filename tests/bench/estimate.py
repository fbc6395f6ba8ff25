"""The estimate: many instants of one ledger, a replay against numba and a plain one, and cores; part of ``make bench``.

Bars of half a year are recorded ones where ``LIQDATA_REAL_DATA`` names a folder that has them, else made by chance.
"""

import argparse
import csv
import gc
import math
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ledger_numba
import numpy as np
import report

import liqdata

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python" / "support"))

import reference_ledger  # noqa: E402 - it is a module of the tests

PAGE = ROOT / "docs" / "dev" / "benchmarks-estimate.md"
MINUTE = 60_000
DAY = 1440 * MINUTE
STEP = 15 * MINUTE
HALF_YEAR = 182
MONTH = 30
SINGLE = 200
BATCHES = 3
SYMBOLS = 100
YEAR = 365
MAPS = 3_000
QUESTIONS = 20
COINS = 5
POSITIONS = 35_000

Table = dict[str, Any]


@dataclass
class Tape:
    """Bars of 15 minutes and readings of open interest, and where they come from."""

    bars: Table
    interest: Table
    origin: str


def recorded(days: int) -> Tape | None:
    """Half a year of BTC, if a folder of recordings has it."""
    folder = Path(os.environ.get("LIQDATA_REAL_DATA") or "/nowhere") / "market"
    candles = folder / "btc_15m_candles_20250622_20260622.csv"
    readings = folder / "btc_oi_5m_20251201_20260611.csv"
    if not (candles.is_file() and readings.is_file()):
        return None
    with readings.open(encoding="utf-8") as file:
        interest = [(int(row["t"]), float(row["oi"])) for row in csv.DictReader(file)]
    end = interest[-1][0] // STEP * STEP
    start = end - days * DAY
    with candles.open(encoding="utf-8") as file:
        rows = [(at(row["timestamp"]), row) for row in csv.DictReader(file)]
    rows = [(opened, row) for opened, row in rows if start <= opened < end]
    bars: Table = {"symbol": ["BTC"] * len(rows), "timestamp": [opened for opened, _ in rows]}
    for name in ("open", "high", "low", "close", "volume"):
        bars[name] = [float(row[name]) for _, row in rows]
    selected = [(when, value) for when, value in interest if start - DAY <= when <= end]
    table = {"symbol": ["BTC"] * len(selected), "timestamp": [each for each, _ in selected]}
    return Tape(
        bars, table | {"open_interest": [value for _, value in selected]}, "recorded bars and open interest of BTC"
    )


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def by_chance(days: int, *, seed: int = 1, symbol: str = "BTC") -> Tape:
    """A random walk."""
    chance = np.random.default_rng(seed)
    count = days * DAY // STEP
    end = at("2026-06-01T00:00:00+00:00")
    close = 60_000 * np.exp(np.cumsum(chance.normal(0, 0.0025, count)))
    open_ = np.concatenate(([60_000.0], close[:-1]))
    high = np.maximum(open_, close) * np.exp(np.abs(chance.normal(0, 0.001, count)))
    low = np.minimum(open_, close) * np.exp(-np.abs(chance.normal(0, 0.001, count)))
    opened = (end - STEP * np.arange(count, 0, -1)).tolist()
    bars = {
        "symbol": [symbol] * count,
        "timestamp": opened,
        "open": open_.tolist(),
        "high": high.tolist(),
        "low": low.tolist(),
        "close": close.tolist(),
        "volume": chance.gamma(2.0, 50.0, count).tolist(),
    }
    level = 90_000 * np.exp(np.cumsum(chance.normal(0, 0.002, count + 1)))
    interest = {
        "symbol": [symbol] * (count + 1),
        "timestamp": [*opened, end],
        "open_interest": level.tolist(),
    }
    return Tape(bars, interest, "bars and open interest made by chance")


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Processor seconds of a call, all threads together; wall seconds by another clock."""
    gc.collect()
    gc.disable()
    try:
        start = clock()
        work()
        return clock() - start
    finally:
        gc.enable()


@dataclass
class Batch:
    """A map at every bar: together, and by single calls of which some were made."""

    instants: int
    rounds: list[float]
    memory: int
    single: list[float]

    @property
    def together(self) -> float:
        return min(self.rounds)

    @property
    def alone(self) -> float:
        return statistics.fmean(self.single) * self.instants


def batch(tape: Tape) -> Batch:
    """Ask one ledger for its map at every close, and some of the single calls, which have to give the same."""
    with liqdata.Market(bars=tape.bars, open_interest=tape.interest) as market:
        instants = [opened + STEP for opened in tape.bars["timestamp"]]
        maps: list[Any] = []
        rounds = []
        for _ in range(BATCHES):
            maps.clear()
            rounds.append(seconds(lambda: maps.extend(market.liqmap("BTC", "all", as_of=instants))))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found: list[Any] = []
        single = [
            seconds(lambda end=end: found.append(market.liqmap("BTC", "all", as_of=end)))
            for end in instants[SINGLE // 2 :: SINGLE]
        ]
        for alone, one in zip(found, maps[SINGLE // 2 :: SINGLE], strict=True):
            assert alone == one
            assert alone.meta == one.meta
    return Batch(len(instants), rounds, memory, single)


@dataclass
class Month:
    """Seconds of a replay of a month of bars by who made it, in the order of the rounds; the plain one once."""

    ours: list[float]
    numba: list[float]
    plain: float
    bars: int


def month(tape: Tape, rounds: int) -> Month:
    """The last month of a tape, replayed by the engine, by numba and by the plain reference, which agree."""
    with liqdata.Market(bars=tape.bars, open_interest=tape.interest) as market:
        model = liqdata.Model()
        wanted = market.liqmap("BTC", "1M")
        count = MONTH * DAY // STEP
        bars, opening = prepared(tape, count)
        margins = [min(0.005, 0.5 / leverage) for leverage in model.tiers]
        ratios = np.log(
            [
                [(1 - 1 / k) / (1 - m) for k, m in zip(model.tiers, margins, strict=True)],
                [(1 + 1 / k) / (1 + m) for k, m in zip(model.tiers, margins, strict=True)],
            ]
        )
        weights, clocks = np.array(model.weights), np.array(model.clocks)
        lowest, highest = bars[:, 0].min() * 0.4, bars[:, 1].max() * 1.7
        origin = math.floor(math.log(lowest) / model.grid)
        size = math.floor(math.log(highest) / model.grid) - origin

        def in_numba() -> Any:
            state = ledger_numba.replay(
                bars, ratios, clocks, opening, model.grid, model.entries, model.phi0, origin, size
            )
            return ledger_numba.usd(*state, weights, model.grid, origin)

        def plainly() -> Any:
            rules = reference_ledger.Rules(model.tiers, margins, model.weights, model.clocks, h=model.grid)
            ledger = reference_ledger.Ledger(rules, opening)
            for low, high, close, volume, days, interest in bars.tolist():
                ledger.step(reference_ledger.Bar(high, low, close, volume, days, interest))
            return ledger.usd([model.weights, model.weights])

        sums = [wanted.total[wanted.sides == side].sum() for side in ("long", "short")]
        np.testing.assert_allclose(in_numba().sum(axis=1), sums, rtol=1e-9)
        found: list[Any] = []
        plain = seconds(lambda: found.append(plainly()))
        by_side = [sum(usd for (_, side, _), usd in found[0].items() if side == which) for which in (0, 1)]
        np.testing.assert_allclose(by_side, sums, rtol=1e-9)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(seconds(lambda: market.liqmap("BTC", "1M")))
            theirs.append(seconds(in_numba))
    return Month(ours, theirs, plain, count)


def prepared(tape: Tape, count: int) -> tuple[Any, float]:
    """The last bars as the other two take them: what ours derives itself is no part of their time."""
    columns = {name: np.array(cells) for name, cells in tape.bars.items() if name != "symbol"}
    opened, volume = columns["timestamp"], columns["volume"]
    week = 7 * DAY // STEP
    before = np.concatenate(([0.0], np.cumsum(volume)))
    places = np.arange(opened.size)
    since = np.maximum(places - week, 0)
    spans = np.maximum(places - since, 1)
    mean = np.where(places > since, (before[places] - before[since]) / spans, volume)
    readings, level = np.array(tape.interest["timestamp"]), np.array(tape.interest["open_interest"])
    last = np.searchsorted(readings, opened + STEP, side="right") - 1
    assert (opened + STEP - readings[last] <= STEP).all()
    start = np.searchsorted(readings, opened[-count], side="right") - 1
    days = np.full(opened.size, STEP / DAY)
    rows = [columns["low"], columns["high"], columns["close"], volume / mean, days, level[last]]
    return np.column_stack(rows)[-count:].copy(), float(level[start])


@dataclass
class Cores:
    """Seconds for a month of each of many coins, by the number of threads."""

    taken: dict[int, list[float]]


def cores(rounds: int) -> Cores:
    """A month of many coins, on one core and on more."""
    tapes = [by_chance(MONTH, seed=place, symbol=f"C{place}") for place in range(SYMBOLS)]
    bars = {name: [cell for tape in tapes for cell in tape.bars[name]] for name in tapes[0].bars}
    interest = {name: [cell for tape in tapes for cell in tape.interest[name]] for name in tapes[0].interest}
    names = [f"C{place}" for place in range(SYMBOLS)]
    mine = sorted(os.sched_getaffinity(0))
    counts = [count for count in (1, 2, 4, 8) if count <= len(mine)]
    taken: dict[int, list[float]] = {count: [] for count in counts}
    with liqdata.Market(bars=bars, open_interest=interest) as market:
        market.liqmap(names[:2], "1M")
        try:
            for _ in range(rounds):
                for count in counts:
                    os.sched_setaffinity(0, mine[:count])
                    taken[count].append(seconds(lambda: market.liqmap(names, "1M"), time.perf_counter))
        finally:
            os.sched_setaffinity(0, mine)
    return Cores(taken)


def minutes(days: int, symbols: int) -> tuple[Table, Table]:
    """Bars of one minute and a reading of open interest every hour, made by chance."""
    chance = np.random.default_rng(7)
    count = days * 1440
    end = at("2026-06-01T00:00:00+00:00")
    bars: dict[str, list[Any]] = {}
    interest: dict[str, list[Any]] = {}
    opened = end - MINUTE * np.arange(count, 0, -1)
    names = [f"C{place}" for place in range(symbols)]
    for _ in names:
        close = 60_000 * np.exp(np.cumsum(chance.normal(0, 0.0006, count)))
        open_ = np.concatenate(([60_000.0], close[:-1]))
        columns = {
            "timestamp": opened,
            "open": open_,
            "high": np.maximum(open_, close) * np.exp(np.abs(chance.normal(0, 0.0003, count))),
            "low": np.minimum(open_, close) * np.exp(-np.abs(chance.normal(0, 0.0003, count))),
            "close": close,
            "volume": chance.gamma(2.0, 5.0, count),
        }
        for name, cells in columns.items():
            bars.setdefault(name, []).append(cells)
        hours = opened[::60]
        interest.setdefault("timestamp", []).append(hours)
        level = 90_000 * np.exp(np.cumsum(chance.normal(0, 0.002, hours.size)))
        interest.setdefault("open_interest", []).append(level)
    tables = []
    for table in (bars, interest):
        joined: Table = {name: np.concatenate(parts) for name, parts in table.items()}
        tables.append({"symbol": np.repeat(names, len(joined["timestamp"]) // symbols), **joined})
    return tables[0], tables[1]


@dataclass
class Year:
    """Seconds of questions about a year of one-minute bars, and the memory of such markets."""

    first: float
    after: dict[str, float]
    column: float
    maps: float
    memory: int


def year() -> Year:
    """Ask about a market of a year, first and again, and at many instants."""
    bars, interest = minutes(YEAR, 1)
    end = int(bars["timestamp"][-1]) + MINUTE
    with liqdata.Market(bars=bars, open_interest=interest) as market:
        first = seconds(lambda: market.heatmap("C0", "24h"))
        questions: dict[str, Callable[[], Any]] = {
            'heatmap("24h")': lambda: market.heatmap("C0", "24h"),
            'heatmap("1M")': lambda: market.heatmap("C0", "1M"),
            'liqmap("all")': lambda: market.liqmap("C0", "all"),
            "maxpain": lambda: market.maxpain("C0"),
            "levels": lambda: market.levels("C0"),
        }
        after = {}
        for name, question in questions.items():
            question()
            after[name] = statistics.median(seconds(question) for _ in range(QUESTIONS))
        instants = [end - MINUTE * place for place in range(MAPS, 0, -1)]
        each = []
        for count in (MAPS // 10, MAPS):
            asked = instants[-count:]
            market.liqmap("C0", "all", as_of=asked[:1])
            each.append(min(seconds(lambda asked=asked: market.liqmap("C0", "all", as_of=asked)) for _ in range(3)))
        columns = [seconds(lambda at=at: market.heatmap("C0", "24h", as_of=at)) for at in instants[-QUESTIONS:]]
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        in_memory = alone.submit(memory).result()
    return Year(first, after, statistics.median(columns), each[1] / MAPS, in_memory)


@dataclass
class Blended:
    """Seconds of a modelled and of a blended map of two years of one-minute bars, after the first question."""

    modelled: float
    blended: float

    @property
    def ratio(self) -> float:
        return self.blended / self.modelled


def blended() -> Blended:
    """Ask an archive with many known positions for both maps."""
    bars, interest = minutes(2 * YEAR, 1)
    price = float(bars["close"][-1])
    chance = np.random.default_rng(3)
    short = chance.random(POSITIONS) < 0.5
    away = np.minimum(chance.exponential(0.15, POSITIONS) + 1e-4, 0.9)
    qty = chance.gamma(0.5, 1.0, POSITIONS)
    positions = {
        "timestamp": np.full(POSITIONS, int(bars["timestamp"][-1]) + MINUTE),
        "coin": ["BTC"] * POSITIONS,
        "account": [f"account {place}" for place in range(POSITIONS)],
        "side": np.where(short, "SHORT", "LONG"),
        "qty": qty,
        "value_usd": qty * price,
        "leverage": 1.0 / away,
        "liquidation_price": price * np.where(short, 1 + away, 1 - away),
    }
    tables = [{**table, "symbol": ["BTC"] * len(table["timestamp"])} for table in (bars, interest)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        liqdata.ingest(path, bars=tables[0], open_interest=tables[1], positions=positions, exchange="hyperliquid")
        with liqdata.open(path) as market:
            found = []
            for view in ("modelled", "blended"):

                def question(view: Any = view) -> Any:
                    return market.liqmap("BTC", "all", model=2, view=view)

                assert question().exact_share is None or view == "blended"
                found.append(statistics.median(seconds(question) for _ in range(QUESTIONS)))
    return Blended(*found)


def memory() -> int:
    """Bytes that a market of two years of minutes holds for each coin once every coin was asked about."""
    bars, interest = minutes(2 * YEAR, COINS)
    before = resident()
    with liqdata.Market(bars=bars, open_interest=interest) as market:
        for coin in dict.fromkeys(bars["symbol"].tolist()):
            market.heatmap(coin, "24h")
        gc.collect()
        return (resident() - before) // COINS


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def page(tape: Tape, many: Batch, one: Month, side_by_side: Cores, old: Year, *, both: Blended, build: str) -> str:
    ours, theirs = statistics.median(one.ours), statistics.median(one.numba)
    ratio = statistics.median(b / a for a, b in zip(one.ours, one.numba, strict=True))
    rows = [
        ["liqdata, the map as it comes", report.took(ours), "1×"],
        ["numba, USD by bin", report.took(theirs), f"{ratio:.2f}×"],
        ["plain Python", report.took(one.plain), f"{one.plain / ours:,.0f}×"],
    ]
    replays = report.table(["", "a month", "of ours"], rows)
    first = side_by_side.taken[1]
    threads = report.table(
        ["threads", f"{SYMBOLS} coins", "times as fast"],
        [
            [
                str(count),
                report.took(statistics.median(taken)),
                f"{statistics.median(a / b for a, b in zip(first, taken, strict=True)):.2f}×",
            ]
            for count, taken in side_by_side.taken.items()
        ],
    )
    again = report.table(
        ["", "after the first question"], [[name, report.took(each)] for name, each in old.after.items()]
    )
    count = f"{len(tape.bars['timestamp']):,}"
    each = report.took(many.together / many.instants)
    least, most = report.took(min(many.single)), report.took(max(many.single))
    return f"""# The estimate: many instants, one replay, many coins

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}; do not edit.

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- Build: {build}.
- Half a year: {tape.origin}, {count} of 15 minutes. All ratios are from one run, of processor time
  for one thread and of wall time for the coins.

## A map at every bar of half a year

`liqmap("BTC", "all", as_of=[…])` with {many.instants:,} instants: **{report.took(many.together)}**, {each} a map, the
fastest of {BATCHES} rounds. The maps take {many.memory / 1e9:.1f} GB, which the first round allocates: it takes
{report.took(many.rounds[0])} with the kernel's part of the allocation. One by one they take
{report.took(many.alone)}, **{many.alone / many.together:.0f} times** as long: every {SINGLE}th single call was made
({len(many.single)} of them, {least} to {most}), and the sum is their mean times the number of instants. Each was
equal to the map of the batch.

## A replay of a month

{one.bars:,} bars of 15 minutes, fourteen tiers, two clocks, both sides. liqdata is `market.liqmap("BTC", "1M")` from
Python: the replay, and the map by price, side and leverage with its metadata. The other two compute USD by bin of the
fine grid only, and get relative volume and open interest as inputs.
`tests/bench/ledger_numba.py` is compiled before the measurement; plain Python is
`tests/python/support/reference_ledger.py`, timed once. All three give the same USD to 1e-9.

{replays}
## A month of {SYMBOLS} coins

`market.liqmap([…], "1M")`, random bars, by number of threads.

{threads}
## A year of one-minute bars

A market of {YEAR * 1440:,} random bars, with open interest every hour. The first `heatmap("24h")` replays all
of them: {report.took(old.first)}. Later queries, the median of {QUESTIONS}:

{again}
A heatmap of 24 hours at each of {QUESTIONS} successive minutes takes {report.took(old.column)}, one new column each.
`liqmap("all")` at {MAPS:,} successive minutes takes {report.took(old.maps)} a map.

A market of two years of one-minute bars takes {old.memory / 1e6:,.0f} MB for each coin after a query about every coin,
measured with {COINS} coins. A server with 100 such coins takes about {old.memory * 100 / 1e9:,.0f} GB.

## A blended map

An archive of two years of one-minute bars with {POSITIONS:,} known positions. After the first question
`liqmap("all")` takes {report.took(both.modelled)}, and with `view="blended"` {report.took(both.blended)},
**{both.ratio:.2f} times** as long.
"""


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--days", type=int, default=HALF_YEAR)
    parser.add_argument("--build", default="release", help="what the page calls the build that is measured")
    parser.add_argument("--print", action="store_true", help="print the page and do not write it")
    options = parser.parse_args()
    tape = recorded(options.days) or by_chance(options.days)
    one = month(tape, options.rounds)
    print("month", statistics.median(one.ours), statistics.median(one.numba), one.plain, file=sys.stderr)
    side_by_side = cores(min(options.rounds, 5))
    print("cores", side_by_side.taken, file=sys.stderr)
    many = batch(tape)
    print("batch", many.together, many.alone, file=sys.stderr)
    old = year()
    print("year", old, file=sys.stderr)
    both = blended()
    print("blended", both, both.ratio, file=sys.stderr)
    text = page(tape, many, one, side_by_side, old, both=both, build=options.build)
    if options.print:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
