"""Collecting in a block of Python: what it refuses, what it keeps, and how it ends."""

import math
import os
import pickle
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from decimal import Decimal

import pytest
from exchange_double import common, exchanges, needs_double

import liqdata
from liqdata import _core
from liqdata.errors import ArchiveError, BadQuery, NoAnswer


def live(collector):
    """Wait until every venue is live."""
    for _ in range(1200):
        if all(venue["state"] == "live" for venue in collector.status()["exchanges"]):
            return
        assert not collector.wait(0.05)
    pytest.fail(repr(collector))


@needs_double
def test_collected_orders_are_in_the_market_at_once_and_in_the_archive_after_the_block(tmp_path):
    settings = tmp_path / "settings.toml"
    archive = tmp_path / "archive"
    with exchanges(settings, "okx", "bybit") as command:
        shape = tomllib.loads(settings.read_text()) | {"coins": []}
        with liqdata.collect(archive, exchanges=["okx", "bybit"], settings=shape) as collector:
            market = collector.market()
            live(collector)
            assert repr(collector) == f"Collector({str(archive)!r}, at work, 2 of 2 exchanges live, 0 orders stored)"
            with market.stream_orders() as stream:
                happened = [row for rows in command(do="liquidate", count=4).values() for row in rows]
                seen = [next(stream) for _ in happened]
            assert market.overview()["24h"]["cnt"] == len(happened)
        assert common(seen) == common(happened)
    assert collector.closed
    assert repr(collector) == f"Collector({str(archive)!r}, closed, {len(happened)} orders stored)"
    status = collector.status()
    assert status["orders"] == len(happened)
    assert {venue["state"] for venue in status["exchanges"]} == {"stopped"}
    assert common(market.iter_orders()) == common(happened)  # a market outlives the collector that it was of
    with pytest.raises(RuntimeError, match=r"liqdata\.open"):
        collector.market()
    with liqdata.open(archive) as opened:
        assert common(opened.iter_orders()) == common(happened)


@needs_double
def test_a_backfill_only_run_waits_for_its_end(tmp_path):
    settings = tmp_path / "settings.toml"
    with (
        exchanges(settings, "okx"),
        liqdata.collect(tmp_path / "archive", exchanges="okx", coins="BTC", settings=settings, once=True) as collector,
    ):
        assert collector.wait(120)
        assert collector.status()["bars"] > 0
        assert "over" in repr(collector)


def test_a_backfill_without_any_answer_raises(tmp_path, nowhere):
    with (
        liqdata.collect(tmp_path / "archive", exchanges="okx", settings=nowhere, once=True) as collector,
        pytest.raises(NoAnswer, match=r"no exchange is reachable: okx: .*Connection refused"),
    ):
        collector.wait()


def test_a_wait_has_a_timeout_and_ends_at_a_close(tmp_path, nowhere):
    collector = liqdata.collect(tmp_path / "archive", exchanges="okx", settings=nowhere)
    assert collector.wait(0.01) is False
    collector.close()
    collector.close()
    assert collector.wait()


def test_settings_come_as_file_text_or_mapping(tmp_path, nowhere):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    for given in (file, str(file), nowhere, tomllib.loads(nowhere)):
        with liqdata.collect(tmp_path / "archive", exchanges="okx", settings=given) as collector:
            assert [venue["exchange"] for venue in collector.status()["exchanges"]] == ["okx"]


@pytest.mark.parametrize(
    "given, parameter, words",
    [
        ({"exchanges": ["mtgox"]}, "exchanges", "binance, bybit, okx"),
        ({"exchanges": "Hyperliquid", "once": True}, "exchanges", "publishes no past liquidations"),
        ({"exchanges": []}, "exchanges", "names nothing; omit it to select all"),
        ({"exchanges": [7]}, "exchanges", "7 is not a name"),
        ({"exchanges": 7}, "exchanges", "a name, or several"),
        ({"exchanges": ["okx", "BitMEX"]}, "exchanges", '"bitmex" closed on 2026-09-23 04:00 UTC'),
        ({"coins": ":/:"}, "coins", '"BTC"'),
        ({"coins": ()}, "coins", "names nothing"),
        ({"positions": 1}, "positions", "allowed: True or False"),
        ({"positions": True, "once": True}, "positions", "past positions are not published"),
        ({"once": "yes"}, "once", "True or False"),
        ({"settings": {"pace": {"poll": -1}}}, "settings", "pace.poll"),
        ({"settings": {"pace": {"poll": float("nan")}}}, "settings", "allowed: texts, numbers"),
        ({"settings": {"pace": {"poll": Decimal(1)}}}, "settings", "a Decimal is not a setting"),
        ({"settings": "coins = [nothing"}, "settings", "coins"),
        ({"settings": "no-such-file.toml"}, "settings", "no-such-file.toml cannot be read"),
        ({"settings": 7}, "settings", "a int is not allowed"),
        ({"path": ""}, "path", "the folder of an archive"),
    ],
)
def test_an_invalid_collection_is_refused_before_a_folder_is_created(tmp_path, nowhere, given, parameter, words):
    asked = {"path": tmp_path / "archive", "exchanges": "okx", "settings": nowhere} | given
    with pytest.raises(BadQuery) as raised:
        liqdata.collect(**asked)
    assert raised.value.parameter == parameter
    assert words in str(raised.value)
    assert not (tmp_path / "archive").exists()


def test_a_second_collector_is_refused_with_the_process_of_the_first(tmp_path, nowhere):
    archive = tmp_path / "archive"
    with (
        liqdata.collect(archive, exchanges="okx", settings=nowhere),
        pytest.raises(ArchiveError, match=str(os.getpid())),
    ):
        liqdata.collect(archive, exchanges="okx", settings=nowhere)
    liqdata.collect(archive, exchanges="okx", settings=nowhere).close()


def test_a_collector_cannot_be_pickled(tmp_path, nowhere):
    with liqdata.collect(tmp_path / "archive", exchanges="okx", settings=nowhere) as collector:
        with pytest.raises(TypeError, match=r"pickle liqdata\.open\("):
            pickle.dumps(collector)
        with pytest.warns(liqdata.NotCovered):  # it has just begun
            assert pickle.loads(pickle.dumps(collector.market())).overview()["24h"]["cnt"] == 0


def test_a_dropped_collector_releases_the_archive(tmp_path, nowhere):
    archive = tmp_path / "archive"
    collector = liqdata.collect(archive, exchanges="okx", settings=nowhere)
    del collector
    _core.ArchiveWriter(archive).close()


FORKS = """
import os, sys
import liqdata

collector = liqdata.collect(sys.argv[1], exchanges="okx", settings=sys.argv[2])
receiver, sender = os.pipe()
child = os.fork()
if child == 0:
    assert f"of process {os.getppid()}" in repr(collector)
    for asked in (collector.status, collector.market, collector.wait):
        try:
            asked()
        except RuntimeError as error:
            assert "before a fork" in str(error)
        else:
            os._exit(1)
    collector.close()
    os.write(sender, b"dropped")
    os._exit(0)
os.close(sender)
assert os.read(receiver, 100) == b"dropped"
assert os.waitpid(child, 0) == (child, 0)
assert not collector.closed
assert collector.status()["exchanges"][0]["exchange"] == "okx"
# Never closed: the end of the process does it.
"""


def test_a_fork_does_not_affect_the_collector_and_process_exit_closes_it(tmp_path, nowhere):
    archive = tmp_path / "archive"
    command = [sys.executable, "-c", FORKS, str(archive), nowhere]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    _core.ArchiveWriter(archive).close()


BLOCK = """
import sys, time
import liqdata

try:
    with liqdata.collect(sys.argv[1], exchanges="okx", settings=sys.argv[2]) as collector:
        print("in the block", flush=True)
        collector.wait()
except KeyboardInterrupt:
    print(repr(collector), flush=True)
"""


def test_ctrl_c_in_the_block_stops_the_collector_cleanly(tmp_path, nowhere):
    archive = tmp_path / "archive"
    command = [sys.executable, "-c", BLOCK, str(archive), nowhere]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "in the block\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "closed" in out
    _core.ArchiveWriter(archive).close()


def scraped(url):
    """The samples of ``/metrics``."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as page:
        lines = page.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def becomes(url, series, least, most=None):
    """Scrape until a sample is so much, or at least so much and at most that."""
    until = time.monotonic() + 60
    while not least <= (metrics := scraped(url)).get(series, -1) <= (least if most is None else most):
        assert time.monotonic() < until, f"{series} is {metrics.get(series)}"
        time.sleep(0.1)
    return metrics


@needs_double
def test_a_server_has_metrics_of_its_collector_or_of_the_archive(tmp_path):
    settings = tmp_path / "settings.toml"
    archive = tmp_path / "archive"
    with exchanges(settings, "okx", "bybit") as command:
        shape = tomllib.loads(settings.read_text()) | {"coins": []}
        began = time.time()
        collector = liqdata.collect(archive, exchanges=["okx", "bybit"], settings=shape)
        # One server of the collector's market, one of the archive as any other process has it.
        with (
            collector.market() as market,
            liqdata.open(archive) as other,
            liqdata.serve(market) as server,
            liqdata.serve(other) as other_server,
        ):
            live(collector)
            happened = command(do="liquidate", count=5)
            for venue in ("okx", "bybit"):
                becomes(server.url, f'liqdata_collector_events_total{{exchange="{venue}"}}', len(happened[venue]))
            metrics = becomes(server.url, "liqdata_collector_waiting_rows", 0)
            for venue in ("okx", "bybit"):
                one = f'{{exchange="{venue}"}}'
                assert metrics["liqdata_collector_live" + one] == 1
                assert metrics["liqdata_collector_connections_total" + one] >= 1
                assert metrics["liqdata_collector_last_received_timestamp_seconds" + one] >= began
                newest = max(row["timestamp"] for row in happened[venue]) / 1000
                assert metrics["liqdata_collector_last_event_timestamp_seconds" + one] == newest
                for reason in ("rejected", "unpriced", "quarantined", "lost"):
                    counted = f'liqdata_collector_quarantine_total{{exchange="{venue}",reason="{reason}"}}'
                    assert metrics[counted] == 0
            assert metrics["liqdata_collector_stalled"] == 0
            # A connection that ends is made again, and what cannot be read is counted.
            connections = 'liqdata_collector_connections_total{exchange="okx"}'
            before = metrics['liqdata_collector_gaps_total{exchange="okx"}']
            command(do="close", venue="okx")
            becomes(server.url, 'liqdata_collector_gaps_total{exchange="okx"}', before + 1, before + 9)
            becomes(server.url, connections, metrics[connections] + 1, math.inf)
            command(do="garbage", venue="bybit", kind="truncated_json")
            rejected = 'liqdata_collector_quarantine_total{exchange="bybit",reason="rejected"}'
            becomes(server.url, rejected, 1, math.inf)
            archived = becomes(other_server.url, "liqdata_archive_written", 1)
            assert not [series for series in archived if series.startswith("liqdata_collector_")]
            assert archived['liqdata_exchange_listened_until_timestamp_seconds{exchange="bybit"}'] >= began
            assert 'liqdata_exchange_quarantine{exchange="bybit",reason="unpriced"}' in archived
            collector.close()
            # What fills it has ended, and both say so.
            for url in (server.url, other_server.url):
                over = becomes(url, "liqdata_archive_written", 0)
                assert not [series for series in over if series.startswith("liqdata_collector_")]
