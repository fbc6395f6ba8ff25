"""What one client can cost the others: live answers under attack; writes ``docs/dev/benchmarks-attacks.md``.

The server serves an archive in a process of its own, those who attack are another, and live answers are asked for here.
Every attack is measured between two quiet stretches of the same run.
"""

import argparse
import contextlib
import http.client
import itertools
import math
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import floors
import report

import liqdata
from liqdata import _core

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "benchmarks-attacks.md"
NOW = 1_781_136_000_000
MINUTE = 60_000
DAY = 24 * 60 * MINUTE
BAR = 5 * MINUTE
COINS = 10
VENUES = ("binance", "bybit", "okx", "gate", "bitget")
LIVE = (
    "/api/liquidations/overview",
    "/api/liquidations/coins?range=24h",
    "/api/liquidations?symbol=C1USDT",
    "/api/liq-heatmap?symbol=C1",
    "/api/liq-map?symbol=C2",
)
# A key that identifies one map.
MAPS = [
    f"symbol=C{coin}&range={length}&model={model}{exchange}"
    for length, model, exchange, coin in itertools.product(
        ("7d", "3d", "1d", "12h"),
        (2, 3),
        ("", *(f"&exchange={venue}" for venue in VENUES)),
        range(COINS),
    )
]
# Live questions are asked so often, in seconds.
PACE = 0.004
# Those who attack come from an address of their own, all of them from one.
ATTACKER = ("127.0.0.2", 0)
# Longest wait of one who attacks for an answer.
PATIENCE = 60.0
SERVER = """
import sys, liqdata
with liqdata.serve(liqdata.open(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def orders(count: int, first: int, chance: random.Random) -> dict[str, list[object]]:
    """A day of orders at even distances; coins by Zipf, amounts of a heavy tail."""
    ranks = chance.choices(range(COINS), weights=[1 / (rank + 1) for rank in range(COINS)], k=count)
    return {
        "exchange": chance.choices(VENUES, k=count),
        "symbol": [f"C{rank}USDT" for rank in ranks],
        "coin": [f"C{rank}" for rank in ranks],
        "side": chance.choices(("LONG", "SHORT"), k=count),
        "price": [f"{chance.uniform(95, 105):.4f}" for _ in range(count)],
        "qty": [f"{chance.paretovariate(1.2):.3f}" for _ in range(count)],
        "value_usd": [f"{chance.paretovariate(1.2) * 100:.4f}" for _ in range(count)],
        "timestamp": [first + place * DAY // count for place in range(count)],
    }


def bars(first: int, price: float, chance: random.Random) -> dict[str, list[object]]:
    """A day of bars of every coin: the price wanders."""
    table: dict[str, list[object]] = {
        name: [] for name in ("symbol", "timestamp", "open", "high", "low", "close", "volume")
    }
    for coin in range(COINS):
        at = price
        for place in range(DAY // BAR):
            close = at * math.exp(chance.gauss(0, 0.002))
            row = (f"C{coin}", first + place * BAR, at, max(at, close) * 1.001, min(at, close) * 0.999, close, 1e5)
            for name, cell in zip(table, row, strict=True):
                table[name].append(cell)
            at = close
    return table


def fill(folder: Path, days: int, per_day: int) -> None:
    chance = random.Random(7)
    writer = _core.ArchiveWriter(folder)
    for day in range(days):
        first = NOW - (days - day) * DAY
        table = bars(first, 100.0, chance)
        readings = {
            "symbol": table["symbol"],
            "timestamp": table["timestamp"],
            "open_interest": [1e6] * len(table["symbol"]),
        }
        writer.append(orders(per_day, first, chance), table, readings)
        for venue in VENUES[1:]:
            writer.append(None, None, readings, venue)
    # The last day stays in the journal.
    writer.roll(NOW - DAY)
    writer.close()


@dataclass
class Served:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    def memory(self) -> float:
        """Resident memory in MiB."""
        return int(report.proc(f"/proc/{self.process.pid}/status", "VmRSS").split()[0]) / 1024


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Served]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield Served(process, int(process.stdout.readline().strip().rpartition(":")[2]))
        process.stdin.close()


@dataclass
class Load:
    """Live answers of a period, in seconds; the most memory of it, in MiB; and what became of the attack."""

    took: list[float] = field(default_factory=list)
    failed: int = 0
    memory: float = 0.0
    attack: Counter[str] = field(default_factory=Counter)

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.took, n=100)[98]


def live(server: Served, seconds: float) -> Load:
    """Asks live questions by turns, each on its own persistent connection."""
    found = Load(memory=server.memory())
    asking = [(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE), path) for path in LIVE]
    end = time.perf_counter() + seconds
    turn = 0
    while time.perf_counter() < end:
        connection, path = asking[turn % len(asking)]
        turn += 1
        began = time.perf_counter()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            found.failed += answer.status != 200
        except (OSError, http.client.HTTPException):
            found.failed += 1
            connection.close()
        found.took.append(time.perf_counter() - began)
        if turn % 25 == 0:
            found.memory = max(found.memory, server.memory())
        time.sleep(PACE)
    for connection, _ in asking:
        connection.close()
    return found


# Attacks: each runs in a process of its own until its standard input ends, and then prints what became of it.


def ask_of_the_past(port: int, clients: int, days: int, stop: threading.Event) -> Counter[str]:
    """Clients that ask for one past instant after the other, and wait for the Retry-After of a refusal."""
    became: Counter[str] = Counter()

    def one(seed: int) -> None:
        chance = random.Random(seed)
        while not stop.is_set():
            at = NOW - chance.randrange(2 * MINUTE, (days - 1) * DAY)
            path = chance.choice(
                ["/api/liquidations/overview?", "/api/liq-map?symbol=C1&", "/api/liq-heatmap?symbol=C1&"]
            )
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=ATTACKER)
            try:
                connection.request("GET", f"{path}as_of={at}")
                answer = connection.getresponse()
                answer.read()
                became[str(answer.status)] += 1
                if wait := answer.headers["retry-after"]:
                    stop.wait(float(wait))
            except (OSError, http.client.HTTPException):
                became["broke off"] += 1
            finally:
                connection.close()

    threads = [threading.Thread(target=one, args=(seed,), daemon=True) for seed in range(clients)]
    for thread in threads:
        thread.start()
    stop.wait()
    return became


def half_heads(port: int, clients: int, _days: int, stop: threading.Event) -> Counter[str]:
    """One peer that opens connections and never ends a head; what is closed is opened again."""
    became: Counter[str] = Counter()
    sockets: list[socket.socket] = []
    while not stop.is_set():
        while len(sockets) < clients and not stop.is_set():
            try:
                one = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=ATTACKER)
                one.sendall(b"GET /api/liquidations/overview HTTP/1.1\r\nhost: loc")
                one.settimeout(0)
            except OSError:
                became["not let in"] += 1
                break
            sockets.append(one)
            became["opened"] += 1
        open_still = []
        for one in sockets:
            try:
                one.recv(1)
            except BlockingIOError:
                open_still.append(one)
                continue
            except OSError:
                pass
            one.close()
            became["closed"] += 1
        sockets = open_still
        stop.wait(0.2)
    return became


def slow_readers(port: int, clients: int, _days: int, stop: threading.Event) -> Counter[str]:
    """Clients that each ask for a map of its own and read it byte by byte."""
    became: Counter[str] = Counter()

    def one(number: int) -> None:
        path = f"/api/liq-heatmap?{MAPS[number % len(MAPS)]}"
        while not stop.is_set():
            asking = socket.socket()
            asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            asking.settimeout(PATIENCE)
            try:
                asking.bind(ATTACKER)
                asking.connect(("127.0.0.1", port))
                asking.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
                status = asking.recv(12).split(b" ")[-1].decode()
                became[status or "broke off"] += 1
                while status == "200" and not stop.is_set() and asking.recv(1):
                    stop.wait(1.0)
            except OSError:
                became["broke off"] += 1
            finally:
                asking.close()
            stop.wait(3.0)

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    stop.wait()
    return became


@dataclass(frozen=True)
class Attack:
    """An attack: its name here, what it is called, by how many."""

    key: str
    title: str
    clients: int


ATTACKS = (
    Attack("ask_of_the_past", "{clients} clients ask distinct past instants", 100),
    Attack("half_heads", "one peer with {clients} heads that never end", 512),
    Attack("slow_readers", "{clients} clients read a map of their own byte by byte", 400),
)


def attacked(server: Served, attack: Attack, clients: int, days: int, seconds: float) -> tuple[Load, Load, Load]:
    """Live answers before, during and after the attack."""
    before = live(server, seconds)
    with subprocess.Popen(
        [sys.executable, __file__, "--attack", attack.key, str(server.port), str(clients), str(days)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        # Until it is at its height.
        time.sleep(2.0)
        during = live(server, seconds)
        said, _ = process.communicate("")
    during.attack = Counter({name: int(count) for name, count in (line.split("\t") for line in said.splitlines())})
    time.sleep(1.0)
    return before, during, live(server, seconds)


def page(rows: list[list[str]], options: argparse.Namespace) -> str:
    head = [
        "",
        "live p99",
        "under attack",
        "ratio",
        "after it",
        "live answers that failed",
        "memory",
        "at most",
        "what became of it",
    ]
    return f"""# Under attack

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}; do not edit.

A server with its usual limits serves an archive of {options.days} days with {options.orders:,} orders each, the last
one in the journal, and bars of {COINS} coins. Live requests go in turns to {len(LIVE)} endpoints on open connections,
{PACE * 1e3:g} ms after the last answer, for {options.seconds:g} s before, during and after each attack. Memory is
that of the server's process: before, and the maximum during the attack. Attackers respect `Retry-After`.

During an attack the p99 of live answers may grow to five times the p99 before, no live answer may fail, and memory may
grow by 512 MiB (128 MiB for endless heads): the limits of answers and of historical caches, 256 and
128 MiB, and 128 MiB for requests in progress. `make bench` fails if one of these bounds is exceeded.

- Machine: {report.machine()}; server, attack and live client share the cores.
- liqdata {liqdata.__version__}.

{report.table(head, rows)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--orders", type=int, default=100_000, help="a day")
    parser.add_argument("--share", type=float, default=1.0, help="of the clients of every attack")
    parser.add_argument("--print", action="store_true", help="print the page and do not write it")
    parser.add_argument("--attack", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        key, *numbers = options.attack
        stop = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
        for name, count in globals()[key](*map(int, numbers), stop).items():
            print(name, count, sep="\t")
        return
    rows = []
    ratios = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "archive"
        fill(folder, options.days, options.orders)
        say("the archive is filled")
        for attack in ATTACKS:
            clients = max(1, round(attack.clients * options.share))
            with served(folder) as server:
                # What is made once is made before.
                live(server, 2.0)
                before, during, after = attacked(server, attack, clients, options.days, options.seconds)
            ratio = during.p99 / before.p99
            ratios[f"attack {attack.key}"] = {
                "p99": ratio,
                "failed": before.failed + during.failed + after.failed,
                "grown": max(during.memory, after.memory) - before.memory,
            }
            title = attack.title.format(clients=clients)
            became = ", ".join(f"{count:,} {what}" for what, count in during.attack.most_common())
            failed = f"{during.failed:,} of {len(during.took):,}"
            memory = [f"{before.memory:.0f} MiB", f"{during.memory:.0f} MiB"]
            times = [report.took(before.p99), report.took(during.p99), f"**{ratio:.1f}×**", report.took(after.p99)]
            rows.append([title, *times, failed, *memory, became])
            say(" | ".join(rows[-1]))
    floors.keep("attacks", ratios)
    for said in floors.broken(ratios):
        say(f"does not hold: {said}")
    text = page(rows, options)
    if options.print:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
