"""Two collectors of the same exchanges, each a process with an archive and a prefix, and whoever reads both."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime

from exchange_double import common, exchanges, needs_double

import liqdata
from liqdata import _core
from liqdata.errors import ArchiveError

HOUR = 3_600_000
AGO = 2 * 86_400
COMMAND = [sys.executable, "-m", "liqdata"]


def count(folder):
    """How many orders an archive has."""
    try:
        with liqdata.open(folder) as market:
            return len(list(market.iter_orders(start=0)))
    except ArchiveError:
        return -1


def until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


@needs_double
def test_two_collectors_that_export_are_one_archive_by_dedupe_key(s3, wall_clock, tmp_path, monkeypatch):
    # All of it happens two days ago, and they are over: a day that is not is never exported.
    (tmp_path / "by").write_text(str(-AGO))
    settings = tmp_path / "settings.toml"
    happened, folders = [], [tmp_path / "first", tmp_path / "second"]
    with ExitStack() as open_, monkeypatch.context() as then:
        for name, value in wall_clock.items():
            then.setenv(name, value)
        command = open_.enter_context(exchanges(settings, "okx", "bybit"))
        settings.write_text("coins = []\nhistory_days = 0\n" + settings.read_text().replace("coins = []\n", ""))

        def collect(folder):
            words = ["collect", folder, "--exchanges", "okx,bybit", "--settings", settings]
            with (tmp_path / f"{folder.name}.log").open("w") as log:
                process = subprocess.Popen([*COMMAND, *map(str, words)], stdout=log, stderr=log)
            open_.callback(process.wait, 30)
            open_.callback(process.kill)
            return process

        def happen(number):
            happened.extend(row for rows in command(do="liquidate", count=number).values() for row in rows)

        def is_live(folder):
            said = (tmp_path / f"{folder.name}.log").read_text()
            return all(f"{venue} live" in said for venue in ("okx", "bybit"))

        processes = [collect(folder) for folder in folders]
        until(lambda: all(is_live(folder) for folder in folders))
        happen(20)
        until(lambda: all(count(folder) == len(happened) for folder in folders))
        # One of them goes, and receives nothing that the other receives.
        processes[0].send_signal(signal.SIGINT)
        assert processes[0].wait(30) == 0
        happen(10)
        until(lambda: count(folders[1]) == len(happened))
        processes[1].send_signal(signal.SIGINT)
        assert processes[1].wait(30) == 0
    assert [count(folder) for folder in folders] == [len(happened) - 20, len(happened)]
    for folder in folders:
        # As a collector does that is at work a day later.
        writer = _core.ArchiveWriter(folder)
        writer.roll(int(datetime.now(UTC).timestamp() * 1000) - 24 * HOUR)
        writer.close()
    # Both at once, each under its own prefix.
    addresses = [f"s3://kept/{folder.name}" for folder in folders]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}  # one ended by SIGABRT once, and said nothing
    exports = [
        subprocess.Popen([*COMMAND, "export", str(folder), url], stdout=subprocess.DEVNULL, env=environment)
        for folder, url in zip(folders, addresses, strict=True)
    ]
    assert [one.wait(60) for one in exports] == [0, 0]
    with liqdata.open(addresses) as market:
        assert common(market.iter_orders(start=0)) == common(happened)
    with liqdata.open(addresses[0]) as market:
        assert len(list(market.iter_orders(start=0))) == len(happened) - 20
