"""Collecting and serving in one process: its refusals, what it serves, and a good end."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from decimal import Decimal

import pytest
from exchange_double import DOUBLE, needs_double

import liqdata
from liqdata import _core, cli

VENUES = ("okx", "bybit")


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@contextmanager
def serving(archive, settings, *options):
    """The process and its address; it is stopped at the end of the block."""
    command = [sys.executable, "-m", "liqdata", "serve", str(archive), "--collect", "--settings", str(settings)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def exchanges(file, *options):
    """Doubles of two exchanges, and the function that sends them commands."""
    command = [str(DOUBLE), "--exchanges", ",".join(VENUES), "--settings", str(file), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()

        def tell(**instruction):
            print(json.dumps(instruction), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield tell
        process.stdin.close()


def until(process, words):
    """Read the process's lines until each of the words was in one of them."""
    left = set(words)
    while left:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        left = {word for word in left if word not in line}


def newest(url):
    """The place behind the newest order."""
    with urllib.request.urlopen(f"{url}/api/liquidations/stream", timeout=30) as events:
        return next(line for line in events if line.startswith(b"id: "))[4:].decode().strip()


def fetch_estimate(address):
    """The body of an estimate, once there are bars for one."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=30) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                if refusal.code != 404:
                    raise
        time.sleep(0.05)
    pytest.fail(f"{address} has had no bars for half a minute")


def common(rows):
    """The fields that rows and exchanges have in common."""
    return sorted((row["exchange"], row["side"], Decimal(row["value_usd"]), row["timestamp"]) for row in rows)


# Refusals.


@pytest.mark.parametrize("options", [("--collect",), ("--demo", "--collect")])
def test_collecting_without_an_archive_is_refused(capsys, options):
    code, out, err = run(capsys, "serve", *options)
    assert (code, out) == (cli.USAGE, "")
    assert "--collect" in err
    assert "serve DIR --collect" in err


def test_serving_without_a_source_is_refused(capsys):
    code, _, err = run(capsys, "serve")
    assert code == cli.USAGE
    assert "--demo" in err


@pytest.mark.parametrize("option", ["--exchanges", "--coins", "--settings"])
def test_a_collection_option_without_collect_is_refused(capsys, tmp_path, option):
    code, _, err = run(capsys, "serve", str(tmp_path), option, "okx")
    assert code == cli.USAGE
    assert option in err
    assert "--collect" in err


def test_a_folder_of_other_files_is_not_changed(capsys, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run(capsys, "serve", str(tmp_path), "--collect")
    assert code == cli.FAILED
    assert "is not an archive" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    code, _, err = run(capsys, "serve", str(tmp_path / "mine.txt"), "--collect")
    assert code == cli.FAILED
    assert "not a folder" in err


def test_an_archive_that_is_being_written_names_the_writer(capsys, tmp_path):
    archive = tmp_path / "archive"
    with closing(_core.ArchiveWriter(archive)):
        code, _, err = run(capsys, "serve", str(archive), "--collect")
        assert code == cli.FAILED
        assert f"process {os.getpid()}" in err
        # Serving alone needs no lock.
        with liqdata.open(archive) as market, liqdata.serve(market):
            pass


def test_an_invalid_collection_is_refused_before_a_folder_is_created(capsys, tmp_path):
    archive = tmp_path / "archive"
    for option, value in (("--exchanges", "mtgox"), ("--coins", ":/:")):
        code, _, err = run(capsys, "serve", str(archive), "--collect", option, value)
        assert code == cli.USAGE
        assert value in err
    assert not archive.exists()


def test_a_taken_port_releases_the_archive(capsys, tmp_path, nowhere, server):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = tmp_path / "archive"
    port = server.url.rpartition(":")[2]
    options = ("--collect", "--exchanges", "okx", "--settings", str(file), "--port", port)
    code, _, err = run(capsys, "serve", str(archive), *options)
    assert code == cli.FAILED
    assert f":{port}" in err
    _core.ArchiveWriter(archive).close()


# Life.


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_the_stored_rows_and_ends_at_a_signal(tmp_path, nowhere, number):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = tmp_path / "archive"
    with serving(archive, file, "--exchanges", "okx,bybit") as (process, url):
        with liqdata.Client(url) as client:
            assert client.overview()["24h"]["cnt"] == 0
        until(process, ["no exchange is reachable"])
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "stored 0 orders" in out
    assert "as it is collected" in err
    # The archive is free again.
    _core.ArchiveWriter(archive).close()


@needs_double
def test_collected_orders_are_in_the_stream_the_answers_and_the_archive(tmp_path):
    file = tmp_path / "settings.toml"
    archive = tmp_path / "archive"
    with exchanges(file, "--no-limits") as tell:
        file.write_text("coins = []\n" + file.read_text())
        with serving(archive, file, "--exchanges", ",".join(VENUES)) as (process, url):
            until(process, [f"{venue} live" for venue in VENUES])
            with liqdata.Client(url) as client, client.stream_orders(last_event_id=newest(url)) as stream:
                happened, seen = [], []
                for _ in range(3):
                    news = tell(do="liquidate", count=4)
                    happened += [row for rows in news.values() for row in rows]
                    while len(seen) < len(happened):
                        seen.append(next(stream))
                    assert client.overview()["24h"]["cnt"] == len(happened)
            process.terminate()
            _, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
    with liqdata.open(archive) as market:
        stored = list(market.iter_orders())
    assert common(stored) == common(seen) == common(happened)


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
@needs_double
def test_served_maps_are_stored_unchanged(tmp_path):
    file = tmp_path / "settings.toml"
    archive = tmp_path / "archive"
    served = {}
    with exchanges(file, "--no-limits") as tell:
        file.write_text('coins = ["BTC"]\nhistory_days = 2\n' + file.read_text())
        wanted = ("--keep-maps", "heatmap?symbol=BTC", "--keep-maps", "levels")
        with serving(archive, file, "--exchanges", ",".join(VENUES), "--coins", "BTC", *wanted) as (process, url):
            with liqdata.Client(url) as client:
                for path in ("liq-heatmap?range=12h", "liq-levels"):
                    served[path] = fetch_estimate(f"{url}/api/{path}")
                client.liqmap("BTC")
                assert client.overview()["24h"]["cnt"] == 0
            assert tell(do="tally")
            process.terminate()
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
    assert " maps" in out
    with liqdata.open(archive) as market:
        rows = market.maps("BTC")
        replies = {row["reply"] for row in rows}
        assert {row["kind"] for row in rows} == {"heatmap", "levels"}
        assert set(served.values()) <= replies
        assert set(json.loads(rows[0]["explain"])["priceExchanges"]) <= set(VENUES)
