"""`liqdata.fetch` against hosts on this machine: what is planned, requested, stored, and said about what is missing."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dump_double
import pytest
from dump_double import DAYS, END, START, hourly, lz4, rows_of_demo, serving
from samples import ten

import liqdata
from liqdata import cli
from liqdata.errors import BadQuery

LAST = {"start": DAYS[1], "end": END}


@pytest.fixture
def double():
    with serving() as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "archive"


def fetch(double, folder, *names, coins="BTC", **asked):
    return liqdata.fetch(folder, coins=coins, sources=double.sources(*names), **(LAST | asked))


def files(double):
    """Paths of the requested files, as the plan has them."""
    roots = ("/hourly/download?file=", "/datasets/a/contexts/resolve/main/", "/tardis/", "/")
    found = []
    for path in double.got():
        root = next(root for root in roots if path.startswith(root))
        found.append(path.removeprefix(root) if "instruments" not in path else double.url + path)
    return Counter(found)


def content(folder):
    """All orders, bars and readings of an archive."""
    with liqdata.open(folder) as market:
        orders = Counter(tuple(row.items()) for row in market.iter_orders(start=0))
        bars = market.bars("BTC", interval="1m", start=START, end=END).to_dicts()
        return orders, bars, market.open_interest("BTC", start=START, end=END).to_dicts()


def test_a_fetched_period_answers_like_the_market_it_was_made_from(double, folder, tmp_path):
    planned = fetch(double, folder, coins="BTC,ETH", dry_run=True)
    assert not double.got()
    assert not folder.exists()
    known = {row["answer"]: (row["start"], row["end"], row["exchanges"]) for row in planned.answers}
    assert len(known) == 10
    assert {exchanges for *_, exchanges in known.values()} == {"binance", "binance, bybit, okx"}
    # What is planned is requested, and nothing else.
    done = fetch(double, folder, coins="BTC,ETH")
    assert files(double) == Counter(row["file"] for row in planned.plan)
    assert sum(row["bytes"] for row in planned.plan) == double.bytes - listings(double)
    orders, bars, readings = (
        [row for row in rows if dump_double.day(row["timestamp"]) == DAYS[1]] for rows in rows_of_demo()
    )
    assert {row["table"]: row["new"] for row in done.rows if row["source"] != "hyperliquid_contexts"} == {
        "bars": len(bars),
        "open_interest": len(readings),
        "orders": len(orders),
    }
    assert {row["reason"] for row in done.gaps if row["source"] == "cryptohftdata"} == {
        "hours not published (404), perhaps because they had no liquidations"
    }
    # The archive has what the market has: amounts in contracts and sides of positions included.
    direct = tmp_path / "direct"
    hyperliquid = [{**row, "exchange": "hyperliquid"} for row in readings]
    tables = {"orders": orders, "bars": bars, "open_interest": readings + hyperliquid}
    liqdata.ingest(direct, **tables, exchange="binance")
    with liqdata.open(direct) as market, liqdata.open(folder) as fetched:
        expected, found = ten(market), ten(fetched)
        assert [name for name in expected if expected[name] != found[name]] == []
    assert content(folder) == content(direct)
    assert list(liqdata.archive.verify(folder)) == []
    assert not (folder / "downloads").exists()
    # Each ingest names its source, address and licence, and can be undone.
    lines = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    assert {line["source"].partition(":")[0] for line in lines} == {"binance", "hyperliquid_contexts", "cryptohftdata"}
    assert all(line["address"].startswith(double.url) and line["licence"] for line in lines)
    # Finished files are not requested again; those of an ingest that was undone are.
    double.requests.clear()
    assert len(fetch(double, folder, coins="BTC,ETH").plan) == 0
    assert not double.got()
    liqdata.archive.undo(folder, lines[0]["id"])
    again = fetch(double, folder, coins="BTC,ETH")
    assert {(row["source"], row["table"]) for row in again.plan} == {("binance", "bars")}
    assert again.rows[0]["new"] == lines[0]["new"]


def listings(double):
    """Bytes of listings among those sent."""
    return sum(
        len(double.answer(path)[0])
        for method, path, _ in double.requests
        if method == "GET" and path.startswith(("/?", "/api"))
    )


def test_listings_of_several_pages_are_read_to_their_end(double, folder):
    double.page = 1
    done = fetch(double, folder, "binance", start=START, dry_run=True)
    days = [row["day"] for row in done.plan if row["table"] == "bars"]
    assert len(days) == 4
    assert days == sorted(days, reverse=True)  # the newest day first


def test_whole_months_are_fetched_as_one_file(double, folder):
    done = fetch(double, folder, "binance", start="2026-04-01", end="2026-05-02")
    month = "data/futures/um/monthly/klines/BTCUSDT/1m/BTCUSDT-1m-2026-04.zip"
    assert [row["file"] for row in done.plan] == [month, f"{month}.CHECKSUM"]
    assert done.rows[0]["new"] == 30
    assert ("bars", "2026-05-01") in {(row["table"], dump_double.day(row["start"])) for row in done.gaps}


@pytest.mark.parametrize("fault", ["cut", "flip", (429, {"Retry-After": "0"}, b""), (503, {}, b"")])
def test_a_download_that_fails_once_is_repeated(double, folder, fault):
    double.instead = lambda asked: fault if asked.path.endswith(".zip") and not asked.before else None
    done = fetch(double, folder, "binance")
    assert {row["table"]: (row["files"], row["refused"]) for row in done.rows} == {
        "bars": (1, 0),
        "open_interest": (1, 0),
    }
    assert not done.gaps
    again = [headers.get("range") for method, path, headers in double.requests if path.endswith(".zip")]
    # Only the rest of a file that was cut is requested.
    assert [text for text in again if text] == ([text for text in again[2:] if text] if fault == "cut" else [])
    assert sum(text is not None for text in again) == (2 if fault == "cut" else 0)


def test_coverage_has_whole_days_and_names_those_that_were_not_published(double, folder):
    double.instead = lambda asked: (405, {}, b"") if asked.method == "HEAD" else None  # a host that only knows GET
    done = fetch(double, folder, "tardis", start="2026-04-01", end="2026-05-02")
    assert "not published (404)" in {row["reason"] for row in done.gaps}
    with liqdata.open(folder) as market:
        (covered,) = market.coverage("24h", as_of="2026-05-02")
        assert (covered["exchange"], covered["connected_share"]) == ("binance", pytest.approx(1))
        (gap,) = market.gaps(start="2026-04-01", end="2026-04-02")
        assert (gap["exchange"], gap["reason"]) == ("binance", "not published by tardis")
        assert gap["end"] - gap["start"] == 86_400_000


def test_a_file_that_differs_from_its_checksum_twice_is_a_gap(double, folder):
    double.instead = lambda asked: "flip" if "metrics" in asked.path and asked.path.endswith(".zip") else None
    done = fetch(double, folder, "binance")
    assert [row["table"] for row in done.rows] == ["bars"]
    (gap,) = done.gaps
    assert (gap["table"], gap["reason"]) == ("open_interest", "its SHA-256 differs from the published one, twice")
    assert done.resumable


PAGE = b"<!DOCTYPE html><html><title>Log in</title></html>"


@pytest.mark.parametrize(
    "answer,said",
    [
        ((403, {}, b""), "it refuses (403): it blocks this country"),
        ((451, {}, b""), "it does not serve this country (451)"),
        ((401, {}, b""), "it asks for a key (401)"),
        ((200, {"Content-Type": "text/html"}, PAGE), "an HTML page in place of the file"),
        ((200, {}, PAGE), "an HTML page in place of the file"),
    ],
)
def test_a_source_that_refuses_is_named_and_the_next_one_follows(double, folder, answer, said):
    double.instead = lambda asked: answer if asked.path.startswith("/data/") else None
    done = fetch(double, folder, "binance", "hyperliquid_contexts")
    assert [row["source"] for row in done.rows] == ["hyperliquid_contexts"]
    reasons = {row["reason"] for row in done.gaps if row["source"] == "binance"}
    assert reasons
    assert all(said in reason for reason in reasons)
    # The first refusal ends the source: at most what was under way is requested.
    assert len([path for path in double.got() if path.startswith("/data/")]) <= 4
    assert said in str(done)


def test_a_listing_that_is_refused_is_a_gap(double, folder):
    double.instead = lambda asked: (403, {}, b"") if asked.path.startswith("/?") else None
    done = fetch(double, folder, "binance", "tardis", start="2026-05-01")
    assert [(row["source"], row["new"]) for row in done.rows] == [("tardis", 20)]


def test_a_host_that_limits_requests_is_asked_again_when_it_says(double, folder):
    waits = []

    def busy(asked):
        if asked.path.endswith(".zip") and asked.before == 0:
            waits.append(asked.path)
            return (429, {"Retry-After": "1"}, b"")
        return None

    double.instead = busy
    assert not fetch(double, folder, "binance").gaps
    assert waits


def test_requests_name_the_program_and_its_version(double, folder):
    fetch(double, folder, "binance")
    assert {headers["user-agent"] for _, _, headers in double.requests} == {f"liqdata/{liqdata.__version__} (python)"}


def test_only_rows_of_the_wanted_coins_are_stored(double, folder):
    done = fetch(double, folder, "tardis", "hyperliquid_contexts", start="2026-05-01", end="2026-05-02")
    assert {row["source"]: row["new"] for row in done.rows} == {"tardis": 20}
    fetch(double, folder, "hyperliquid_contexts", coins="PEPE")
    with liqdata.open(folder) as market:
        assert {row["symbol"] for row in market.iter_orders(start=0)} == {"BTCUSDT"}
        readings = market.open_interest("PEPE", start=START)
        scaled = {round(1000 * row["open_interest"]) for row in rows_of_demo()[2]}
        assert {round(row["open_interest"]) for row in readings} <= scaled
    # The same file is fetched again for coins that were not stored.
    assert len(fetch(double, folder, "hyperliquid_contexts", coins="PEPE", dry_run=True).plan) == 0
    assert len(fetch(double, folder, "hyperliquid_contexts", coins="BTC", dry_run=True).plan) == 1


def test_a_second_source_of_the_same_orders_is_compared_and_not_added(double, folder):
    sources = double.sources("tardis")
    second = {"mirror": {**sources["tardis"], "like": "tardis"}}
    asked = {"coins": "BTC", "start": "2026-05-01", "end": "2026-05-02"}
    assert liqdata.fetch(folder, **asked, sources=sources).rows[0]["new"] == 20
    done = liqdata.fetch(folder, **asked, sources=second)
    assert done.rows[0]["new"] == 0
    (row,) = done.compared
    assert (row["source"], row["exchange"], row["rows"], row["same"], row["stored"]) == (
        "mirror",
        "binance",
        20,
        20,
        20,
    )
    assert "20 of 20 orders of binance on 2026-05-01 are the same" in str(done)


def test_a_key_is_sent_to_its_source_only_and_opens_every_day(double, folder, monkeypatch):
    monkeypatch.setenv("TARDIS_API_KEY", "a-secret")
    elsewhere = double.url.replace("127.0.0.1", "localhost")
    double.instead = lambda asked: (
        (302, {"Location": elsewhere + asked.path}, b"")
        if asked.method == "GET" and asked.path.startswith("/tardis") and asked.before == 1
        else None
    )
    done = fetch(double, folder, "tardis", start="2026-05-01", end="2026-05-03")
    assert done.rows[0]["new"] == 20
    sent = [(headers["host"].partition(":")[0], headers.get("authorization")) for _, path, headers in double.requests]
    assert {key for host, key in sent if host == "127.0.0.1"} == {"Bearer a-secret"}
    assert {key for host, key in sent if host == "localhost"} == {None}
    assert "a-secret" not in "".join(path.read_text() for path in folder.glob("*.jsonl"))


def test_a_listing_cannot_name_files_outside_the_downloads(double, folder):
    double.files["/datasets/a/ticks/resolve/main/../../../2026-05-31.csv"] = b"timestamp,symbol\n"
    bad = {"liquidation_ticks": {"address": f"{double.url}/datasets/a/ticks", "rate": 6_000_000}}
    done = liqdata.fetch(folder, coins="BTC", **LAST, sources=bad)
    assert [row["reason"] for row in done.gaps] == ["its name is not a path below the source"]
    assert not double.got()


def test_data_sets_are_read_by_their_header_and_refused_by_name(double, folder):
    table = b"timestamp,exchange,symbol,side,price,qty\n2026-05-31T10:00:00Z,okx,BTCUSDT,LONG,100,2\n"
    other = b"when,what\n1,2\n"
    for name, data in (("2026-05-31.csv", table), ("2026-05-30.csv", other), ("2026-04-01.csv", table)):
        double.files[f"/datasets/a/ticks/resolve/main/data/{name}"] = data
    ticks = {"liquidation_ticks": {"address": f"{double.url}/datasets/a/ticks", "rate": 6_000_000}}
    done = liqdata.fetch(folder, coins="BTC", start=START, end=END, sources=ticks)
    assert [row["file"] for row in done.plan] == ["data/2026-05-31.csv", "data/2026-05-30.csv"]
    assert done.rows[0]["new"] == 1
    (gap,) = done.gaps
    assert "its columns (when, what) do not match any format" in gap["reason"]


def test_a_source_that_costs_is_not_opened_without_pay(folder, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done = liqdata.fetch(folder, coins="BTC", **LAST, sources="reservoir,hyperliquid_fills")
    assert len(done.plan) == 0
    assert {row["reason"] for row in done.gaps} == {"the downloader pays the traffic; give pay="}
    assert not folder.exists()


def test_the_command_plans_fetches_and_reads_mirrors_from_settings(double, folder, tmp_path, capsys):
    settings = tmp_path / "mirrors.toml"
    settings.write_text(f'[fetch.mirror]\nlike = "binance"\naddress = "{double.url}"\nrate = 6000000\n')
    words = ["fetch", str(folder), "--coins", "BTC", "--start", DAYS[1], "--end", END, "--settings", str(settings)]
    words += ["--sources", "mirror"]
    assert cli.main([*words, "--dry-run"]) in {0, None}
    said = capsys.readouterr().out
    assert "mirror, bars: 2 files" in said
    assert "heatmap, liqmap, levels, maxpain: 2026-05-31 (binance)" in said
    assert cli.main([*words, "--json", "--keep"]) in {0, None}
    assert {row["new"] for row in json.loads(capsys.readouterr().out)["rows"]} == {1440, 288}
    assert len(list((folder / "downloads").rglob("*.zip"))) == 2
    assert list(liqdata.archive.verify(folder)) == []


@pytest.mark.parametrize(
    "asked,parameter",
    [
        ({"coins": []}, "coins"),
        ({"start": "soon"}, "start"),
        ({"start": "2030-01-01"}, "start"),
        ({"end": "2026-05-30"}, "start"),
        ({"sources": "nowhere"}, "sources"),
        ({"sources": {"mirror": {"like": "nothing"}}}, "sources"),
        ({"sources": {"binance": {"adress": "x"}}}, "sources"),
        ({"sources": {"binance": {"address": "file:///etc"}}}, "sources"),
        ({"sources": {"binance": {"rate": 0}}}, "sources"),
        ({"pay": -1}, "pay"),
        ({"keep": 1}, "keep"),
    ],
)
def test_an_invalid_argument_is_refused_by_its_parameter(folder, asked, parameter):
    with pytest.raises(BadQuery) as refused:
        liqdata.fetch(folder, **({"coins": "BTC", **LAST} | asked))
    assert refused.value.parameter == parameter
    assert not folder.exists()


def test_an_interrupt_keeps_finished_files(double, folder):
    def interrupt(done, total):
        if "metrics" in "".join(double.got()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        fetch(
            double,
            folder,
            "binance",
            "hyperliquid_contexts",
            start=START,
            progress=lambda *_: None if not seen(folder) else interrupt(0, 0),
        )
    assert "the same call goes on from there" in raised.value.__notes__[-1]
    double.requests.clear()
    done = fetch(double, folder, "binance", "hyperliquid_contexts", start=START)
    assert all(row["table"] != "bars" or dump_double.day(row["day"]) != DAYS[1] for row in done.plan)
    assert list(liqdata.archive.verify(folder)) == []


def seen(folder):
    """Whether a file is finished."""
    return (folder / "fetched.jsonl").exists()


KILLED = """
import json, sys
import liqdata
folder, sources, start, end = sys.argv[1:]
liqdata.fetch(folder, coins="BTC", start=start, end=end, sources=json.loads(sources))
"""


def test_a_killed_fetch_gives_the_same_archive_without_a_finished_file_twice(double, folder, tmp_path):
    names = ("binance", "hyperliquid_contexts", "tardis")
    whole = tmp_path / "whole"
    fetch(double, whole, *names, start=START)
    points = range(1, 41) if os.environ.get("LIQDATA_SOAK") else (2, 9)
    double.requests.clear()
    running = []

    def kill(_):
        running[-1]["left"] -= 1
        if running[-1]["left"] == 0:
            running[-1]["process"].send_signal(signal.SIGKILL)
            return "cut"
        return None

    double.instead = kill
    for point in points:
        command = [sys.executable, "-c", KILLED, str(folder), json.dumps(double.sources(*names)), START, END]
        running.append({"left": point + 4})
        running[-1]["process"] = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(Path(liqdata.__file__).parents[1])}
        )
        running[-1]["process"].wait(timeout=120)
        finished = (
            {json.loads(line)["file"] for line in (folder / "fetched.jsonl").read_text().splitlines()}
            if seen(folder)
            else set()
        )
        double.requests.clear()
    double.instead = dump_double.as_asked
    fetch(double, folder, *names, start=START)
    assert not finished & set(files(double))
    assert content(folder) == content(whole)
    assert list(liqdata.archive.verify(folder)) == []


def test_totals_of_coinalyze_fill_in_the_exchanges_without_orders(double, folder, monkeypatch):
    monkeypatch.delenv("COINALYZE_API_KEY", raising=False)
    asked = {"start": START}
    (gap,) = fetch(double, folder, "coinalyze", **asked).gaps
    assert gap["reason"] == "it asks for a key, which is free: set $COINALYZE_API_KEY"
    assert not double.got()
    monkeypatch.setenv("COINALYZE_API_KEY", "a-secret")
    planned = fetch(double, folder, "coinalyze", **asked, dry_run=True)
    assert [row["file"] for row in planned.plan] == [
        f"BTC/{exchange}/1d/{DAYS[0]}_{DAYS[1]}.jsonl" for exchange in ("bitget", "bybit")
    ]
    assert {row["answer"] for row in planned.answers} == {"overview", "coins", "exchanges", "chart"}
    fetch(double, folder, "cryptohftdata", **asked)
    done = fetch(double, folder, "coinalyze", **asked)
    assert [(row["table"], row["files"], row["new"]) for row in done.rows] == [("totals", 2, 4)]
    assert {headers["api_key"] for _, path, headers in double.requests if path.startswith("/coinalyze")} == {"a-secret"}
    days = {"interval": "1d", "by": ("exchange",), "start": START, "end": END}
    with liqdata.open(folder) as fetched:
        found = fetched.history("BTC", **days).to_dicts()
        coverage = {row["exchange"]: row["completeness"] for row in fetched.coverage(start=START, end=END)}
    # Bybit has orders, which count in place of its totals; a total says neither a count nor the largest order.
    assert coverage == {"binance": "unknown", "bitget": "totals", "bybit": "unknown", "okx": "unknown"}
    known = ("exchange", "timestamp", "long_usd", "short_usd")
    expected = [row for row in liqdata.demo().history("BTC", **days) if row["exchange"] in coverage]
    for row, wanted in zip(found, expected, strict=True):
        assert [row[name] for name in known[:2]] == [wanted[name] for name in known[:2]]
        assert [float(row[name]) for name in known[2:]] == pytest.approx([float(wanted[name]) for name in known[2:]])
    assert {row["cnt"] is None for row in found if row["exchange"] == "bitget"} == {True}
    assert len(fetch(double, folder, "coinalyze", **asked).plan) == 0
    assert "a-secret" not in "".join(path.read_text() for path in folder.glob("*.jsonl"))


def test_asset_contexts_of_a_file_that_is_damaged_are_a_gap(double, folder):
    path = "/datasets/a/contexts/resolve/main/asset_ctxs/20260531.csv.lz4"
    double.files[path] = lz4(b"time,coin,open_interest\n" * 1000)[:-40]
    done = fetch(double, folder, "hyperliquid_contexts")
    assert len(done.rows) == 0
    assert "it is cut short or damaged" in done.gaps[0]["reason"]


def test_hours_of_other_columns_are_refused_and_the_other_hours_stay(double, folder):
    name = min(hourly())
    exchange, day, hour, _ = name.split("/")
    bad = dump_double.as_parquet({"side": ["SELL"]}, {"side": dump_double.pa.string()})
    double.files[f"/hourly/download?file={exchange}/{day}/{hour}/BTCUSDT_liquidations.parquet"] = bad
    done = fetch(double, folder, "cryptohftdata", start=day, end="2026-05-31")
    assert any("its columns (side) do not match any format" in row["reason"] for row in done.gaps)
    assert done.rows[0]["files"] > 20
