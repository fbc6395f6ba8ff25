"""``liqdata replay``: the orders of an archive as they arrive, or a server of the market in which they do."""

import csv
import io
import json
import signal
import subprocess
import sys
from decimal import Decimal

import pytest
import samples

import liqdata
from liqdata import _core
from liqdata.market import _replayed

FAST = ["--speed", "1e9"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay") / "archive"
    writer = _core.ArchiveWriter(folder)
    writer.append(samples.orders(), samples.bars() | {"interval": [300_000] * len(samples.bars()["symbol"])}, None)
    writer.close()
    return folder


def run(*words):
    command = [sys.executable, "-m", "liqdata", "replay", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def wanted(archive, **asked):
    """The orders as they arrive, by a clock that stands until they are followed."""
    market = _replayed(str(archive), None, None, None)
    with market, market.stream_orders(**asked) as stream:
        market._source.core.advance(samples.NOW + 86_400_000)
        return [{name: str(cell) for name, cell in row.items()} for row in stream]


def test_it_prints_every_order_of_the_replay(archive):
    every = wanted(archive)
    assert len(every) == len(samples.orders()["side"])
    done = run(archive, *FAST, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [{name: str(cell) for name, cell in row.items()} for row in rows] == every
    done = run(archive, *FAST, "--csv", "--coin", "BTC", "--min-usd", "5000", "--limit", "4")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [Decimal(row["value_usd"]) for row in rows] == [
        Decimal(row["value_usd"]) for row in wanted(archive, symbol="BTC", min_usd=5000)[:4]
    ]
    done = run(archive, *FAST, "--limit", "2")
    assert "replay" in done.stdout.splitlines()[0]
    assert len(done.stdout.splitlines()) == 5 + 2


def test_it_starts_and_ends_at_the_given_times(archive):
    with liqdata.open(archive) as market:
        times = sorted(row["timestamp"] for row in market.iter_orders())
    middle, late = times[len(times) // 2], times[-10]
    done = run(archive, *FAST, "--start", middle, "--end", late, "--json")
    printed = [json.loads(line)["timestamp"] for line in done.stdout.splitlines()]
    assert printed == [at for at in times if middle < at <= late]


def test_it_can_serve_the_market(archive):
    command = [sys.executable, "-m", "liqdata", "replay", str(archive), *FAST, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            with liqdata.Client(url) as client:
                assert client.orders().meta["source"] == url
                assert client.orders("BTC") is not None
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "replay of an archive; Ctrl-C ends it\n")


@pytest.mark.parametrize(
    "words,said",
    [
        ([], "archive: missing"),
        (["DIR", "--port", "1"], "port: has no effect; allowed: with --serve"),
        (["DIR", "--serve", "--limit", "1"], "limit: has no effect; allowed: without --serve"),
        (["DIR", "--json", "--csv"], "output: --json and --csv are given"),
        (["DIR", "--limit", "0"], "limit: 0 is not allowed"),
        (["DIR", "--speed", "0"], "speed"),
        (["DIR", "--start", "soon"], "start"),
        (["DIR", "--start", "2031-01-01"], "start"),
    ],
    ids=str,
)
def test_an_invalid_argument_is_refused_with_its_name(archive, words, said):
    done = run(*(archive if word == "DIR" else word for word in words))
    assert done.returncode != 0
    assert said in done.stderr
    assert not done.stdout
