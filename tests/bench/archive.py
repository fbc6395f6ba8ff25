"""The archive against SQLite and DuckDB: restart, and the realised answers; writes ``docs/dev/benchmarks-archive.md``.

All three answer from the same two million orders of one day, and their answers are checked to be equal first.
"""

import argparse
import contextlib
import os
import platform
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import floors
import measure
import report

import liqdata
from liqdata import _core

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "benchmarks-archive.md"
ORDERS = 2_000_000
CHUNK = 200_000
NOW = 1_781_136_000_000
SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
LATE = 2_000
COINS = 300
TOP = 30
MOST = 20
PAIR = "C0USDT"
WINDOWS = (1, 4, 12, 24)
VENUES = ("binance", "bybit", "okx", "gate", "bitget")
# What arrives in a second of a day of so many orders.
ARRIVING = ORDERS // 86_400

Answers: TypeAlias = dict[str, list[tuple[Any, ...]]]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def columns(count: int, first: int, step: int, chance: random.Random) -> dict[str, list[object]]:
    """Orders up to two seconds late, else at even distances; coins by Zipf, amounts of a heavy tail."""
    ranks = chance.choices(range(COINS), weights=[1 / (rank + 1) for rank in range(COINS)], k=count)
    times = (first + place * step - chance.randrange(LATE) for place in range(count))
    return {
        "exchange": chance.choices(VENUES, k=count),
        "symbol": [f"C{rank}USDT" for rank in ranks],
        "coin": [f"C{rank}" for rank in ranks],
        "side": chance.choices(("LONG", "SHORT"), k=count),
        "price": [f"{chance.uniform(0.1, 90_000):.4f}" for _ in range(count)],
        "qty": [f"{chance.paretovariate(1.2):.3f}" for _ in range(count)],
        "value_usd": [f"{chance.paretovariate(1.2) * 100:.4f}" for _ in range(count)],
        "timestamp": [max(at, NOW - DAY + 1) for at in times],
    }


def fill(folder: Path, orders: int) -> None:
    chance = random.Random(20)
    step = DAY // orders
    writer = _core.ArchiveWriter(folder)
    chunk = min(CHUNK, orders)
    for done in range(0, orders, chunk):
        first = NOW - DAY + 1 + done * step
        writer.append(columns(chunk, first, step, chance), None, None)
    last = columns(1, NOW, 1, chance)
    writer.append({**last, "timestamp": [NOW]}, None, None)
    writer.close()


@contextlib.contextmanager
def filled(orders: int) -> Iterator[tuple[Path, Path]]:
    """An archive with its last day in the journal, and the same with that day in files."""
    with tempfile.TemporaryDirectory() as folder:
        path, rolled = Path(folder) / "archive", Path(folder) / "rolled"
        start = time.perf_counter()
        fill(path, orders)
        say(f"{orders:,} orders written in {report.took(time.perf_counter() - start)}")
        shutil.copytree(path, rolled)
        start = time.perf_counter()
        writer = _core.ArchiveWriter(rolled)
        writer.roll(NOW + DAY)
        writer.close()
        say(f"and rolled in {report.took(time.perf_counter() - start)}")
        yield path, rolled


class Ours:
    """liqdata's market over an archive."""

    name = "liqdata"

    def __init__(self, path: Path) -> None:
        self.market = liqdata.open(path)
        # As the server asks: the answers without the objects of Python that are made of them.
        self.core = self.market._source.core

    def coins(self) -> object:
        return self.core.ask(_core.question("coins", range="24h", limit=TOP))

    def overview(self) -> object:
        return self.core.ask(_core.question("overview"))

    def largest(self) -> object:
        return self.core.ask(_core.question("largest", range="24h", limit=MOST))

    def chart(self) -> object:
        return self.core.ask(_core.question("chart", symbol=PAIR))

    def close(self) -> None:
        self.market.close()

    def answers(self) -> Answers:
        """What it says, as the peers say it."""
        overview = self.market.overview()
        chart = self.market.chart(PAIR)
        return {
            "coins": [(row["coin"], row["total_usd"]) for row in self.market.coins("24h", TOP)],
            "overview": [
                (overview[window]["total_usd"], overview[window]["cnt"]) for window in ("1h", "4h", "12h", "24h")
            ],
            "largest": [(float(row["value_usd"]),) for row in self.market.largest("24h", MOST)],
            "chart": [(row["hour"], row["side"], float(row["total_usd"])) for row in chart],
        }


class Peer:
    """An engine that counts the orders each time it is asked."""

    def __init__(self, name: str, connection: Any, table: str, value: str, number: tuple[str, str]) -> None:
        self.name = name
        self.connection = connection
        # What numbers the orders as they came, and the number of the next one.
        self.number = number
        self.table, self.value = table, value
        window = f"FROM {table} WHERE timestamp > ? AND timestamp <= ?"
        self.top = f"SELECT coin, sum({value}) AS total {window} GROUP BY coin ORDER BY total DESC, coin LIMIT {TOP}"
        self.totals = f"SELECT sum({value}), count(*) {window}"
        self.by_side = f"SELECT side, sum({value}), count(*) {window} GROUP BY side"
        self.most = f"SELECT * {window} ORDER BY {value} DESC LIMIT {MOST}"
        self.amounts = f"SELECT {value} {window} ORDER BY {value} DESC LIMIT {MOST}"
        hour = f"timestamp - timestamp % {HOUR}"
        self.hours = (
            f"SELECT {hour} AS hour, side, sum({value}) {window} AND symbol = ? GROUP BY hour, side ORDER BY hour, side"
        )

    def ask(self, query: str, *parameters: object, start: int = NOW - DAY) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(query, (start, NOW, *parameters)).fetchall()
        return found

    def coins(self) -> object:
        return self.ask(self.top)

    def overview(self) -> object:
        return [self.ask(self.by_side, start=NOW - hours * HOUR) for hours in WINDOWS]

    def largest(self) -> object:
        return self.ask(self.most)

    def chart(self) -> object:
        return self.ask(self.hours, PAIR)

    def close(self) -> None:
        self.connection.close()

    def answers(self) -> Answers:
        return {
            "coins": self.ask(self.top),
            "overview": [self.ask(self.totals, start=NOW - hours * HOUR)[0] for hours in WINDOWS],
            "largest": self.ask(self.amounts),
            "chart": [(at, side, total) for at, side, total in self.ask(self.hours, PAIR)],
        }


class Rolled:
    """A peer's engine with the help that ours has: sums per coin and minute, stored with the orders.

    Whole minutes come from the sums, what lies at the edges of the window from the orders.
    """

    def __init__(self, peer: Peer, place: str = "") -> None:
        self.name = f"{peer.name}, a rollup per minute"
        self.connection = peer.connection
        self.now = NOW
        orders = f"SELECT coin, {peer.value} FROM {peer.table} WHERE timestamp"
        self.connection.execute(
            f"CREATE TABLE {place}minutes AS SELECT coin, timestamp - timestamp % {MINUTE} AS minute, "
            f"sum({peer.value}) AS total FROM {peer.table} GROUP BY 1, 2 ORDER BY 2"
        )
        self.connection.execute(f"CREATE INDEX {place}by_minute ON minutes (minute)")
        key, count = peer.number
        self.next = f"SELECT {count} FROM {peer.table}"
        self.mark()
        # More rows of a minute are cheaper than to look for the one that is there; the question adds them up anyway.
        self.more = (
            f"INSERT INTO {place}minutes SELECT coin, timestamp - timestamp % {MINUTE} AS minute, sum({peer.value}) "
            f"FROM {peer.table} WHERE {key} >= ? GROUP BY 1, 2"
        )
        self.top = (
            f"SELECT coin, sum(total) AS total FROM (SELECT coin, total FROM {place}minutes "
            f"WHERE minute >= ? AND minute < ? UNION ALL {orders} > ? AND timestamp < ? "
            f"UNION ALL {orders} >= ? AND timestamp <= ?) "
            f"GROUP BY coin ORDER BY total DESC, coin LIMIT {TOP}"
        )

    def coins(self) -> list[tuple[Any, ...]]:
        start, first, last = self.now - DAY, (self.now - DAY) // MINUTE * MINUTE + MINUTE, self.now // MINUTE * MINUTE
        bounds = (first, last, start, first, last, self.now)
        found: list[tuple[Any, ...]] = self.connection.execute(self.top, bounds).fetchall()
        return found

    def catch_up(self, now: int) -> None:
        """Moves on to an instant, and adds what has arrived since the mark to the sums."""
        self.now = now
        self.connection.execute(self.more, (self.seen,))

    def mark(self) -> None:
        """Remembers the number of the next order."""
        self.seen: int = self.connection.execute(self.next).fetchone()[0]

    def answers(self) -> Answers:
        return {"coins": self.coins()}


class Arrivals:
    """A second passes and its orders reach all engines; storing them is not timed, adding them to the sums is."""

    def __init__(self, path: Path, in_memory: Peer) -> None:
        self.writer = _core.ArchiveWriter(path)
        self.in_memory = in_memory.connection
        self.chance = random.Random(22)
        self.now = NOW

    def arrive(self) -> None:
        self.now += SECOND
        batch = columns(ARRIVING, self.now, 0, self.chance)
        # Every engine's window ends where the last order is.
        batch["timestamp"][-1] = self.now
        # This writer numbers its orders from the first again: on an exchange of its own they are none that are kept.
        batch["exchange"] = ["htx"] * ARRIVING
        self.writer.append(batch, None, None)
        rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * ARRIVING)
        values = [value for row in zip(*batch.values(), strict=True) for value in row]
        self.in_memory.execute(f"INSERT INTO orders VALUES {rows}", values)

    def answer(self, engine: Ours | Rolled, others: Sequence[Rolled]) -> float:
        """Seconds that one engine takes for what has just arrived and the ranking with it."""
        engine.coins()
        self.arrive()
        start = time.perf_counter()
        if isinstance(engine, Rolled):
            engine.catch_up(self.now)
        engine.coins()
        taken = time.perf_counter() - start
        for other in others:
            if other is not engine:
                other.catch_up(self.now)
            other.mark()
        return taken

    def close(self) -> None:
        self.writer.close()


def sqlite(path: Path) -> Peer:
    connection = sqlite3.connect(f"file:{path / 'journal.sqlite'}?mode=ro", uri=True, isolation_level=None)
    return Peer("SQLite", connection, "orders", "CAST(value_usd AS REAL)", ("id", "max(id) + 1"))


SELECTED = (
    "SELECT exchange, symbol, coin, side, price, qty, value_usd, epoch_ms(timestamp) AS timestamp "
    "FROM read_parquet('{folder}/orders/**/*.parquet', hive_partitioning = true)"
)


ROWID = ("rowid", "max(rowid) + 1")


def duck_on_files(path: Path) -> Peer:
    return Peer("DuckDB", duckdb.connect(), f"({SELECTED.format(folder=path)})", "value_usd", ROWID)


def duck_in_memory(path: Path) -> Peer:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE orders AS {SELECTED.format(folder=path)}")
    return Peer("DuckDB", connection, "orders", "value_usd", ROWID)


MAKERS: dict[str, Callable[[Path], Ours | Peer]] = {"liqdata": Ours, "SQLite": sqlite, "DuckDB": duck_on_files}


def check(ours: Ours, peers: Sequence[Peer | Rolled]) -> None:
    """Every peer's answers equal ours: to the last digit those of decimals, those of doubles nearly."""
    own = ours.answers()
    for peer in peers:
        for question, rows in peer.answers().items():
            assert len(rows) == len(own[question]), (peer.name, question)
            for mine, theirs in zip(own[question], rows, strict=True):
                for one, other in zip(mine, theirs, strict=True):
                    exact = isinstance(other, (Decimal, str, int))
                    equal = one == (float(other) if isinstance(other, Decimal) else other)
                    assert equal if exact else abs(one - other) <= 1e-9 * abs(one), (peer.name, question, one, other)


@dataclass
class Row:
    """Seconds of one piece of work by engine, in the order of the rounds."""

    title: str
    taken: dict[str, list[float]]

    def ratios(self) -> dict[str, float]:
        """How many times as long as ours each peer takes."""
        ours = self.taken["liqdata"]
        return {
            name: statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
            for name, theirs in self.taken.items()
        }

    def cells(self, names: Sequence[str]) -> list[str]:
        ours = self.taken["liqdata"]
        cells = [self.title, f"**{report.took(statistics.median(ours))}**"]
        for name in names:
            theirs = self.taken.get(name)
            if theirs is None:
                cells.append("–")
                continue
            cells.append(f"{report.took(statistics.median(theirs))} ({self.ratios()[name]:,.2f}×)")
        return cells


def by_turns(title: str, works: dict[str, Callable[[], float]], *, rounds: int, order: random.Random) -> Row:
    """Rounds in which every engine has its turn, the first one apart."""
    row = Row(title, {name: [] for name in works})
    turns = list(works.items())
    for _, work in turns:
        work()
    for _ in range(rounds):
        order.shuffle(turns)
        for name, work in turns:
            row.taken[name].append(work())
    say("  ".join([title, *(f"{name} {report.took(statistics.median(each))}" for name, each in row.taken.items())]))
    return row


def restart(name: str, path: Path) -> None:
    """Prints the seconds from nothing but imports to the first answer, and to being ready."""
    start = time.perf_counter()
    engine = MAKERS[name](path)
    ready = time.perf_counter() - start
    engine.coins()
    print(time.perf_counter() - start, ready)
    engine.close()


def restarted(name: str, path: Path) -> list[float]:
    return [float(seconds) for seconds in measure.fresh(str(Path(__file__)), "--restart", name, str(path)).split()]


def call(work: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def page(orders: int, rows: Sequence[Row], ready: dict[str, float], rounds: int, taken: float) -> str:
    peers = list(dict.fromkeys(name for row in rows for name in row.taken if name != "liqdata"))
    table = report.table(["", "liqdata", *peers], (row.cells(peers) for row in rows))
    opened = " and ".join(f"{report.took(seconds)} {place}" for place, seconds in ready.items())
    return f"""# The archive, against SQLite and DuckDB

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d} in {taken:.0f} s; do not edit.

{orders:,} orders of the last 24 hours. **liqdata is ready {opened}**: `liqdata.open(path)` in a fresh process, until
every realised answer comes from memory.

{table}
## How it is measured

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- Python {platform.python_version()}, liqdata {liqdata.__version__}, SQLite {sqlite3.sqlite_version} (Python's), DuckDB
  {duckdb.__version__}.
- The orders are **synthetic** with a fixed seed: {COINS} coins on {len(VENUES)} exchanges, up to {LATE // 1000} s late.
  Before the measurement the answers of all engines are checked to be equal; SQLite adds doubles, the others decimals.
- *Open*: from opening to the first thirty coins, in a fresh process each round, without imports. The files are in the
  system's cache. SQLite reads the journal itself, DuckDB the Parquet files.
- *A rollup per minute*: indexed sums per coin and minute, computed before; orders are read at the window's edges only.
  liqdata computed its sums while it read the orders.
- *{ARRIVING} orders arrive*: the average number of orders of a second arrives, and the window moves. The time
  includes adding them to the sums, and for liqdata reading them from the journal, but not storing them.
- For the answers liqdata is open, SQLite has the journal with its index by time, and DuckDB has a table in memory.
- The engines take turns, in random order in each of {rounds} rounds; a time is the median over the rounds, **(x×) the
  median of the round-by-round ratios, the peer's time over that of liqdata**: above 1 liqdata is faster. A
  peer that cannot read the format has no number.
"""


def measured(orders: int, rounds: int) -> str:
    start = time.monotonic()
    order = random.Random(21)
    with filled(orders) as (path, rolled):
        rows = []
        ready = {}
        for title, place, folder, peer in (
            ("open and answer, the day in the journal", "from the journal", path, "SQLite"),
            ("open and answer, the day in files", "from files", rolled, "DuckDB"),
        ):
            opened: list[float] = []

            def own(folder: Path = folder, opened: list[float] = opened) -> float:
                first, until = restarted("liqdata", folder)
                opened.append(until)
                return first

            works = {"liqdata": own, peer: lambda peer=peer, folder=folder: restarted(peer, folder)[0]}
            rows.append(by_turns(title, works, rounds=rounds, order=order))
            ready[f"{place}"] = statistics.median(opened[1:])
        ours, peers = Ours(path), (sqlite(path), duck_in_memory(rolled))
        check(ours, peers)
        check(Ours(rolled), peers)
        peers[0].connection.execute("ATTACH ':memory:' AS kept")
        rolled_up = (Rolled(peers[0], "kept."), Rolled(peers[1]))
        check(ours, rolled_up)
        for title, name, times in (
            (f"coins, the first {TOP} of 24 h", "coins", 200),
            ("overview, four windows", "overview", 200),
            (f"largest, {MOST} of 24 h", "largest", 200),
            ("chart, 24 h of one pair", "chart", 200),
        ):
            works = {"liqdata": lambda name=name, times=times: call(getattr(ours, name), times)}
            asked = (*peers, *rolled_up) if name == "coins" else peers
            works |= {peer.name: lambda peer=peer, name=name: call(getattr(peer, name), 1) for peer in asked}
            rows.append(by_turns(title, works, rounds=rounds, order=order))
            floors.keep(f"archive-{name}", {f"archive {name}": rows[-1].ratios()})
        arrivals = Arrivals(path, peers[1])
        works = {engine.name: lambda engine=engine: arrivals.answer(engine, rolled_up) for engine in (ours, *rolled_up)}
        title = f"{ARRIVING} orders arrive, and the first {TOP} coins"
        rows.append(by_turns(title, works, rounds=5 * rounds, order=order))
        floors.keep("archive-arriving", {"archive arriving": rows[-1].ratios()})
        check(ours, rolled_up)
        for engine in (arrivals, ours, *peers):
            engine.close()
    return page(orders, rows, ready, rounds, time.monotonic() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the orders, few rounds, printed and not written"
    )
    parser.add_argument("--restart", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.restart:
        name, folder = options.restart
        restart(name, Path(folder))
        return
    text = measured(ORDERS // 10, 3) if options.quick else measured(ORDERS, 9)
    print(text)
    if not options.quick:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
