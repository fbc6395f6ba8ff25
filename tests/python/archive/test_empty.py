"""Answers about an archive without data: never a number, never 1970."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import liqdata
from liqdata import _core


def asked(url):
    """Status and body."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def samples(page, name):
    """The samples of a metric."""
    return [line for line in page.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]


def test_a_killed_collector_without_a_connection_leaves_gaps(tmp_path, nowhere):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = tmp_path / "archive"
    command = [sys.executable, "-m", "liqdata", "collect", str(archive), "--settings", str(file)]
    begun = time.time()
    with subprocess.Popen([*command, "--exchanges", "okx,bybit"], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            reasons = [gap["reason"] for gap in _gaps(archive)]
            if len(reasons) == 2 and all("not heard yet: " in reason for reason in reasons):
                break
            time.sleep(0.1)
        process.kill()
    with liqdata.open(archive) as market:
        gaps = sorted(market.gaps(), key=lambda gap: gap["exchange"])
        assert [gap["exchange"] for gap in gaps] == ["bybit", "okx"]
        for gap in gaps:
            assert gap["reason"].startswith("not heard yet: ")
            assert gap["state"] == "open"
            assert begun * 1000 - 1 < gap["start"] < gap["end"] < time.time() * 1000 + 1
            assert gap["start"] < begun * 1000 + 20_000
        shares = [(row["exchange"], row["connected_share"], row["gaps"], row["cnt"]) for row in market.coverage()]
        assert shares == [("bybit", 0.0, 1, 0), ("okx", 0.0, 1, 0)]
        with liqdata.serve(market) as server:
            status, body = asked(f"{server.url}/ready")
            assert status == 503
            message = json.loads(body)["error"]["message"]
            assert message.startswith("no exchange is connected: bybit since 20")
            assert "okx since 20" in message
            status, page = asked(f"{server.url}/metrics")
            assert status == 200
            for name, value in (("covered_ratio", 0), ("gaps", 1), ("orders", 0)):
                found = samples(page, f"liqdata_exchange_{name}")
                assert found == [f'liqdata_exchange_{name}{{exchange="{venue}"}} {value}' for venue in ("bybit", "okx")]
            assert samples(page, "liqdata_market_age_seconds") == []


def _gaps(archive):
    try:
        with liqdata.open(archive) as market:
            return list(market.gaps())
    except liqdata.errors.ArchiveError:  # not made yet
        return []


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_an_empty_archive_reports_no_data_instead_of_1970(tmp_path, capsys):
    archive = tmp_path / "archive"
    _core.ArchiveWriter(archive).close()
    with liqdata.open(archive) as market:
        assert market.now is None
        assert "nothing yet" in repr(market)
        assert "1970" not in repr(market)
        rows = market.overview()
        assert rows.meta["as_of"] is None
        with liqdata.serve(market) as server:
            for path in ("/ready", "/health", "/api"):
                status, body = asked(f"{server.url}{path}")
                assert status == 200, path
                assert json.loads(body)["now"] is None, path
            assert json.loads(asked(f"{server.url}/ready")[1])["age"] is None
            status, body = asked(f"{server.url}/ready?max_age=1000000000")
            assert status == 503
            assert json.loads(body)["error"]["message"] == "nothing has been observed yet"
            page = asked(f"{server.url}/metrics")[1]
            assert samples(page, "liqdata_market_age_seconds") == []
            assert samples(page, "liqdata_market_newest_timestamp_seconds") == []
            assert "# TYPE liqdata_market_age_seconds gauge" in page
            body = asked(f"{server.url}/api/liquidations/coins?explain=1")[1]
            assert json.loads(body)["explain"]["as_of"] is None
            with liqdata.Client(server.url) as client:
                assert client.coins().meta["as_of"] is None
    from liqdata.cli import main

    for command in ("orders", "coverage", "gaps"):
        main([command, "--archive", str(archive)])
        out, err = capsys.readouterr()
        assert "1970" not in out + err, command
        assert "nothing yet" in out + err, command


def test_empty_tables_report_no_data():
    market = liqdata.Market(orders=[])
    assert market.now is None
    assert "nothing yet" in repr(market)
