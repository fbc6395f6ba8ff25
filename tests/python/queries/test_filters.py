"""Orders of a coin and of so many USD, wherever they are asked for, and the coin in frames of them."""

import json
import pickle
import subprocess
import sys
import urllib.request
from datetime import timedelta
from decimal import Decimal

import duckdb
import polars as pl
import pytest
import samples
from scripted import answer, data

import liqdata
from liqdata import BadQuery, _core

LEAST = 20_000
PAIRS = ["BTCUSDT", "1000PEPEUSDT", "BTCUSDC", "ETHUSDT"]
ORDERS = {name: cells[:400] for name, cells in samples.orders(400).items()} | {
    "symbol": PAIRS * 100,
    "timestamp": [samples.NOW - 60_000 * minutes for minutes in range(400)],
}
# What contradicts itself is not taken into an archive.
ORDERS["value_usd"] = [
    f"{float(price) * float(qty):.2f}" for price, qty in zip(ORDERS["price"], ORDERS["qty"], strict=True)
]


@pytest.fixture(scope="module")
def tables():
    return liqdata.Market(orders=ORDERS, bars=samples.bars(), open_interest=samples.open_interest())


@pytest.fixture(scope="module")
def served(tables):
    with liqdata.serve(tables) as server:
        yield server


def large(rows, least=LEAST, **wanted):
    chosen = [row for row in rows if row["value_usd"] >= least]
    return [row for row in chosen if all(row[name] in names for name, names in wanted.items())]


def test_large_orders_are_those_of_the_feed(tables, served, connect):
    client = connect(served)
    every = list(tables.orders(limit=1000))
    assert 0 < len(large(every)) < len(every)
    bitcoin = large(every, symbol={"BTCUSDT", "BTCUSDC"})
    assert 0 < len(bitcoin) < len(large(every))
    for least in (LEAST, float(LEAST), Decimal(LEAST), str(LEAST)):
        assert tables.orders(limit=1000, min_usd=least) == large(every)
    for source in (tables, client):
        assert source.orders(limit=1000, min_usd=LEAST) == large(every)
        assert source.orders("BTC", limit=1000, min_usd=LEAST) == bitcoin
        assert source.orders(["BTC", "ETHUSDT"], limit=3, min_usd=LEAST) == {
            "BTC": bitcoin[:3],
            "ETHUSDT": large(every, symbol={"ETHUSDT"})[:3],
        }
        assert source.orders(limit=2, offset=1, min_usd=LEAST) == large(every)[1:3]
        assert list(source.iter_orders("BTC", page_size=10, min_usd=LEAST)) == bitcoin
        assert list(source.iter_orders("BTC", max_rows=4, min_usd=LEAST)) == bitcoin[:4]
        assert source.orders(min_usd=0) == every[:50]
        assert source.orders(min_usd=10**12) == []
        with pytest.raises(BadQuery, match="min_usd: -1 is not allowed") as refused:
            source.orders(min_usd=-1)
        assert refused.value.parameter == "min_usd"


def test_the_largest_may_be_of_a_coin_and_an_exchange(tables, served, connect):
    ranked = sorted(tables.orders(limit=1000), key=lambda row: (-row["value_usd"], -row["timestamp"]))
    ranked = [row for row in ranked if row in tables.largest(limit=1000)]
    for source in (tables, connect(served)):
        assert source.largest(limit=1000) == ranked
        assert source.largest(limit=5, min_usd=LEAST) == large(ranked)[:5]
        coin = large(ranked, 0, symbol={"1000PEPEUSDT"})
        assert source.largest(limit=7, symbol="PEPE") == coin[:7]
        assert source.largest(limit=7, exchange="okx") == large(ranked, 0, exchange={"okx"})[:7]
        assert source.largest(limit=2, symbol=["PEPE", "BTCUSDC"])["PEPE"] == coin[:2]
        with pytest.raises(BadQuery, match="NOPEUSDT") as refused:
            source.largest(symbol="NOPEUSDT")
        assert refused.value.parameter == "symbol"
    assert tables.largest(symbol=["PEPE"])["PEPE"].meta["coverage"]


def test_a_walk_of_an_archive_filters_by_amount(tmp_path):
    liqdata.ingest(tmp_path / "archive", orders=ORDERS)
    with liqdata.open(tmp_path / "archive") as archive:
        every = list(archive.iter_orders())
        assert list(archive.iter_orders(min_usd=LEAST)) == large(every)
        assert list(archive.iter_orders("PEPE", min_usd=LEAST)) == large(every, symbol={"1000PEPEUSDT"})
        assert archive.orders(limit=1000, min_usd=LEAST) == large(every)


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.orders(min_usd=5),
        lambda client: list(client.iter_orders(min_usd=5)),
        lambda client: client.largest(min_usd=5),
    ],
    ids=["orders", "iter_orders", "largest"],
)
@pytest.mark.parametrize("listed", [False, True], ids=["no list", "a list without it"])
def test_an_amount_is_not_sent_to_a_service_without_it(script, connect, ask, listed):
    # It would pass over what it does not know, and send orders of any size.
    index = {"endpoints": [{"name": name, "parameters": [{"name": "limit"}]} for name in ("orders", "largest")]}
    service = script(answer(json.dumps(index).encode()) if listed else answer({"success": False}, 404))
    with pytest.raises(BadQuery, match="does not announce min_usd for") as refused:
        ask(connect(service))
    assert refused.value.parameter == "min_usd"
    assert {request.path for request in service.requests} == {"/api"}


def test_the_list_of_a_service_is_read_once(script, connect):
    listed = {"endpoints": [{"name": "orders", "parameters": [{"name": "min_usd"}]}]}
    service = script(answer(json.dumps(listed).encode()), data([]))
    client = connect(service)
    for _ in range(3):
        assert client.orders(min_usd="2.50") == []
    assert [request.path for request in service.requests] == ["/api", *["/api/liquidations"] * 3]
    assert service.requests[-1].query["min_usd"] == "2.50"


def test_queries_of_the_contract_need_no_list(script, connect):
    service = script(data([]))
    client = connect(service)
    assert client.orders("BTCUSDT", "okx", 5, 1) == client.largest() == []
    assert [request.path for request in service.requests] == ["/api/liquidations", "/api/liquidations/largest"]


def test_a_stream_with_an_amount_needs_a_service_that_announces_it(script):
    service = script(answer({"success": False}, 404))
    with liqdata.Client(service.url) as client, client.stream_orders(min_usd=5) as stream:
        with pytest.raises(BadQuery, match="does not announce min_usd for stream") as refused:
            next(stream)
        assert refused.value.parameter == "min_usd"
    assert [request.path for request in service.requests] == ["/api"]


def test_the_command_filters_by_amount(served):
    def run(*words):
        command = [sys.executable, "-m", "liqdata", *words, "--url", served.url, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    with liqdata.Client(served.url, decimals="text") as client:
        wanted = [dict(row) for row in client.orders("PEPE", limit=9, min_usd=LEAST)]
        assert run("orders", "--coin", "PEPE", "--min-usd", str(LEAST), "--limit", "9") == wanted
        wanted = [dict(row) for row in client.largest(symbol="PEPE", min_usd=LEAST)]
        assert run("largest", "--coin", "PEPE", "--min-usd", str(LEAST)) == wanted


# --- the coin in frames


def test_frames_of_orders_have_the_coin_and_dicts_do_not(tables, served):
    wanted = {"BTCUSDT": "BTC", "BTCUSDC": "BTC", "1000PEPEUSDT": "PEPE", "ETHUSDT": "ETH"}
    with liqdata.Client(served.url) as client:
        for rows in (tables.orders(limit=100), client.orders(limit=100), client.largest(limit=100)):
            coins = [wanted[row["symbol"]] for row in rows]
            assert list(rows[0]) == rows.columns
            assert "coin" not in rows.columns
            for frame in (rows.to_pandas(), rows.to_pandas(decimals="decimal"), rows[3:50].to_pandas()):
                assert list(frame.columns[:3]) == ["exchange", "symbol", "coin"]
                assert list(frame["coin"]) == (coins if len(frame) == len(rows) else coins[3:50])
            assert rows.to_polars()["coin"].to_list() == rows.to_arrow()["coin"].to_pylist() == coins
            assert pl.DataFrame(rows)["coin"].to_list() == coins
            assert duckdb.sql("SELECT coin FROM rows").fetchall() == [(coin,) for coin in coins]
        walk = client.iter_orders(page_size=64)
        assert pl.DataFrame(walk)["coin"].to_list() == [wanted[row["symbol"]] for row in tables.iter_orders()]


@pytest.mark.parametrize("kind", ["to_pandas", "to_polars", "to_arrow"])
def test_a_frame_with_the_coin_makes_the_same_market_again(tables, kind, tmp_path):
    frame = getattr(tables.orders(limit=1000), kind)(decimals="decimal")
    back = liqdata.Market(orders=frame)
    assert back.orders(limit=1000) == tables.orders(limit=1000)
    assert back.coins() == tables.coins()
    assert back.orders("PEPE") == tables.orders("PEPE")
    found = liqdata.ingest(tmp_path / "archive", orders=frame)
    assert found.new == 400
    with liqdata.open(tmp_path / "archive") as archive:
        assert archive.orders(limit=1000) == tables.orders(limit=1000)
        assert archive.coins() == tables.coins()


def test_an_archive_takes_the_frame_as_it_is(tables, tmp_path):
    frame = tables.orders(limit=1000).to_arrow(decimals="decimal")
    writer = _core.ArchiveWriter(tmp_path / "archive")
    writer.append(frame, None, None)
    writer.close()
    with liqdata.open(tmp_path / "archive") as archive:
        assert archive.orders(limit=1000) == tables.orders(limit=1000)


def test_a_file_of_a_walk_is_ingested_again(tables, served, tmp_path):
    with liqdata.Client(served.url) as client:
        client.iter_orders(page_size=50).to_parquet(tmp_path / "orders.parquet", decimals="decimal")
    assert liqdata.ingest(tmp_path / "archive", tmp_path / "orders.parquet", format="orders").new == 400
    with liqdata.open(tmp_path / "archive") as archive:
        assert archive.orders(limit=1000) == tables.orders(limit=1000)


# --- what an answer covers, and other names of windows


def test_every_realised_answer_of_the_last_day_states_its_coverage(tables):
    def of(rows):
        """Coverage without the counts of outliers, which only the endpoint has."""
        counts = {"bar_outliers", "open_interest_outliers"}
        return [{name: cell for name, cell in row.items() if name not in counts} for row in rows]

    covered = of(tables.coverage())
    assert covered
    for asked in (
        tables.overview(),
        tables.orders(),
        tables.orders(["BTC", "PEPE"])["PEPE"],
        tables.chart("BTC"),
        tables.chart(["BTC"])["BTC"],
        tables.history(),
        tables.history("BTC", interval="1d", by="side"),
        tables.cascades(min_usd=0),
    ):
        assert of(asked.meta["coverage"]) == covered
    then = tables.now - timedelta(hours=3)
    assert of(tables.overview(as_of=then).meta["coverage"]) == of(tables.coverage(as_of=then)) != covered
    # What is between instants of its own is of no window that coverage knows.
    for asked in (tables.orders(start=then), tables.history(end=then), tables.cascades(start=then, min_usd=0)):
        assert "coverage" not in asked.meta


def test_windows_and_ranges_are_found_by_their_other_names():
    with liqdata.demo() as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        for source in (market, client):
            overview, pain = source.overview(), source.maxpain()
            assert overview["1d"] == overview["24h"]
            assert pain["1d"] == pain["24h"] == pain["d1"]
            assert pain["7d"] == pain["1w"] == pain["d7"]
            assert list(overview) == ["1h", "4h", "12h", "24h"]
            for name in ("7d", "2h"):
                with pytest.raises(KeyError, match=name):
                    overview[name]
            assert pickle.loads(pickle.dumps(overview))["1d"] == overview["24h"]
            since = {"symbol": "BTC", "start": "2026-01-01"}
            assert source.history(interval="1w", **since) == source.history(interval="7d", **since) != []
            assert source.bars(interval="1w", **since) == source.bars(interval="7d", **since) != []
            # A calendar month has no other name.
            months = source.history(interval="1M", **since).to_pandas()["timestamp"]
            assert [(at.month, at.day) for at in months] == [(month, 1) for month in range(1, 7)]
        week = rows_at(f"{server.url}/api/liquidations/history?interval=1w")
        assert week == rows_at(f"{server.url}/api/liquidations/history?interval=7d") != []
        with pytest.raises(BadQuery, match=r'"1M" \(a calendar month\)'):
            market.history(interval="2M")


def rows_at(url):
    with urllib.request.urlopen(url) as reply:
        return json.load(reply)["data"]
