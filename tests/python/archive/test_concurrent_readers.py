"""Processes read an archive while another one fills and compacts it; none waits for it and none fails."""

import os
import random
import signal
import subprocess
import sys
import time

from samples import NOW

SOAK = bool(os.environ.get("LIQDATA_SOAK"))
READERS = 8 if SOAK else 3
POINTS = 24 if SOAK else 4

WRITER = """
import sys
from liqdata import _core

folder, end, day = sys.argv[1], int(sys.argv[2]), 86_400_000
writer = _core.ArchiveWriter(folder)
for turn in range(10_000):
    start = end - 6 * day + turn * 300_000
    count = 50
    orders = {
        "exchange": ["okx"] * count, "symbol": ["BTCUSDT"] * count, "side": ["LONG"] * count,
        "price": [60_000.0] * count, "qty": [0.5] * count, "value_usd": [30_000.0] * count,
        "timestamp": [start + place for place in range(count)],
    }
    bars = {
        "symbol": ["BTC"], "timestamp": [start], "interval": [300_000], "open": [60_000.0], "high": [60_000.0],
        "low": [60_000.0], "close": [60_000.0], "volume": [1.0],
    }
    writer.append(orders, bars, None, "okx")
    print((turn + 1) * count, flush=True)
    if turn % 3 == 2:
        writer.roll(start // day * day + day)  # also compacts a day that goes on, in several files
"""

READER = """
import sys
import liqdata

market = liqdata.open(sys.argv[1])
for line in sys.stdin:
    if line.strip() == "again":
        market.close()
        market = liqdata.open(sys.argv[1])
    orders = sum(1 for _ in market.iter_orders())
    bars = len(market.bars("BTC"))
    total = market.overview()["24h"]["total_usd"] if orders else 0
    print(orders, bars, total > 0, flush=True)
"""


def begin(script, *arguments):
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def committed(writer):
    """The number of orders that are durable; the writer goes on."""
    return int(writer.stdout.readline())


def stop(writer, index):
    """Stop the writer, which keeps every lock that it has.

    SQLite's index begins with two copies of a header. While they differ, no reader of any program can begin; after ten
    seconds SQLite says "locking protocol". That moment of a commit is left out.
    """
    copies = None, ""
    while copies[0] != copies[1]:
        os.kill(writer.pid, signal.SIGCONT)
        os.kill(writer.pid, signal.SIGSTOP)
        os.waitpid(writer.pid, os.WUNTRACED)
        header = index.read_bytes()
        copies = header[:48], header[48:96]


def test_readers_answer_while_the_writer_is_stopped_at_any_point(tmp_path):
    chance = random.Random(5)
    folder = tmp_path / "archive"
    writer = begin(WRITER, folder, NOW)
    readers = []
    try:
        known = committed(writer)
        readers = [begin(READER, folder) for _ in range(READERS)]
        for reader in readers:
            print("once more", file=reader.stdin, flush=True)
        assert all(reader.stdout.readline() for reader in readers)
        for point in range(POINTS):
            known = max(known, *(committed(writer) for _ in range(5)))
            time.sleep(chance.uniform(0, 0.05))
            stop(writer, folder / "journal.sqlite-shm")
            for reader in readers:
                print("again" if point % 2 else "once more", file=reader.stdin, flush=True)
            found = [reader.stdout.readline().split() for reader in readers]
            assert len({tuple(one) for one in found}) == 1
            orders, bars, is_covered = found[0]
            assert int(orders) >= known
            assert (int(orders) % 50, int(bars), is_covered) == (0, int(orders) // 50, "True")
            known = int(orders)
            os.kill(writer.pid, signal.SIGCONT)
        # And while it runs.
        for _ in range(3):
            for reader in readers:
                print("again", file=reader.stdin, flush=True)
            counts = [int(reader.stdout.readline().split()[0]) for reader in readers]
            assert min(counts) >= known
        for reader in readers:
            reader.stdin.close()
            assert reader.wait(60) == 0
        assert writer.poll() is None
    finally:
        for process in (writer, *readers):
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
