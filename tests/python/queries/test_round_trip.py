"""Market, server and both clients over a real socket: what arrives is exactly what the market says in this process."""

import gzip
import itertools
import json
import math
import re
import subprocess
import sys
import urllib.request
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from scripted import answer, data

import liqdata

WINDOWS = ["1h", "4h", "12h", "24h"]
HEATMAP_RANGES = ["12h", "24h", "3d", "7d", "1M"]
MAP_RANGES = ["1d", "7d"]
MODELS = [2, 3]
PAIRS = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "1000PEPEUSDT", "TIAUSDT"]

QUESTIONS = [
    ("overview", {}),
    *(("coins", {"range": window, "limit": limit}) for window, limit in itertools.product(WINDOWS, [1, 3, 30, 200])),
    *(("exchanges", {"range": window}) for window in WINDOWS),
    *(("largest", {"range": window, "limit": limit}) for window, limit in itertools.product(WINDOWS, [1, 20, 1000])),
    ("orders", {}),
    *(("orders", {"symbol": pair}) for pair in PAIRS),
    *(("orders", {"exchange": exchange}) for exchange in ["binance", "okx", "lighter"]),
    ("orders", {"symbol": "BTCUSDT", "exchange": "binance", "limit": 7, "offset": 3}),
    ("orders", {"limit": 1000, "offset": 500}),
    ("orders", {"limit": 1, "offset": 10**9}),
    *(("chart", {"symbol": pair}) for pair in PAIRS),
    *(("heatmap", {"range": range_, "model": model}) for range_, model in itertools.product(HEATMAP_RANGES, MODELS)),
    ("heatmap", {"symbol": "ETH", "range": "12h", "model": 3}),
    *(("liqmap", {"symbol": coin, "range": range_}) for coin, range_ in itertools.product(["BTC", "SOL"], MAP_RANGES)),
    *((name, {"symbol": coin}) for name, coin in itertools.product(["levels", "maxpain"], ["BTC", "ETH", "SOL"])),
]


def typed(value):
    if isinstance(value, dict):
        return {key: typed(cell) for key, cell in value.items()}
    if isinstance(value, (list, liqdata.Rows)):
        return [typed(cell) for cell in value]
    return type(value).__name__, value


def bits(grid):
    """The arrays of a grid, to the bit."""
    arrays = {name: value for name, value in vars(grid).items() if isinstance(value, np.ndarray)}
    assert arrays
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
@pytest.mark.parametrize("name,parameters", QUESTIONS, ids=[f"{name} {given}" for name, given in QUESTIONS])
def test_a_client_receives_the_answers_of_the_market(market, server, connect, name, parameters):
    wanted = getattr(market, name)(**parameters)
    got = getattr(connect(server), name)(**parameters)
    assert got == wanted
    if isinstance(wanted, (liqdata.Heatmap, liqdata.LiquidationMap)):
        assert bits(got) == bits(wanted)
    else:
        assert typed(got) == typed(wanted)
    if hasattr(got, "meta"):
        assert got.meta["source"] == server.url
        assert got.meta.keys() <= wanted.meta.keys()
        assert got.meta["age"] is None or got.meta["age"] >= timedelta(0)


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_the_questions_have_answers_with_rows(market):
    for name, parameters in QUESTIONS:
        found = getattr(market, name)(**parameters)
        if "TIAUSDT" in parameters.values() or "lighter" in parameters.values() or "offset" in parameters:
            continue
        assert len(found if hasattr(found, "__len__") else found.prices) > 0, (name, parameters)


@pytest.mark.parametrize("name", ["exchanges", "largest", "orders", "chart"])
def test_decimals_may_be_floats_on_request(market, server, connect, name):
    exact = getattr(market, name)()
    floats = getattr(connect(server, decimals="float"), name)()
    assert any(isinstance(cell, Decimal) for cell in exact[0].values())
    for row, wanted in zip(floats, exact, strict=True):
        plain = {key: float(cell) if isinstance(cell, Decimal) else cell for key, cell in wanted.items()}
        assert typed(row) == typed(plain)


# Many symbols.


@pytest.mark.parametrize(
    "name,symbols",
    [
        ("heatmap", ["BTC", "ETH", "SOL"]),
        ("liqmap", ["SOL", "BTC"]),
        ("levels", ("ETH", "BTC", "SOL")),
        ("maxpain", ["ETH"]),
        ("chart", ["SOLUSDT", "BTCUSDT"]),
        ("orders", ["ETHUSDT", "BTCUSDT", "TIAUSDT"]),
    ],
)
def test_a_sequence_of_symbols_gives_a_dict_in_the_order_given(market, server, connect, name, symbols):
    got = getattr(connect(server), name)(symbols)
    assert list(got) == list(symbols)
    for symbol, found in got.items():
        assert found == getattr(market, name)(symbol)
    assert got == getattr(market, name)(symbols)


def test_every_coin_of_the_market_at_once(market, server, connect):
    assert len(market.symbols) > 8
    assert connect(server).levels(market.symbols) == {coin: market.levels(coin) for coin in market.symbols}


def test_duplicate_symbols_are_requested_once_and_no_symbols_send_nothing(connect, script):
    def level(exchange):
        return data({"symbol": exchange.request.query["symbol"], "price": 1.0, "updatedAt": 0, "tiers": {}})(exchange)

    service = script(level)
    client = connect(service)
    assert list(client.levels(["btc", "ETH", " BTC ", "eth"])) == ["BTC", "ETH"]
    assert sorted(request.query["symbol"] for request in service.requests) == ["BTC", "ETH"]
    assert client.levels([]) == {}
    assert client.chart(()) == {}
    assert len(service.requests) == 2


def test_all_symbols_are_checked_before_the_first_request(connect, script):
    service = script(answer(b"{}"))
    client = connect(service)
    for symbols in (["BTC", ""], ["BTC", " "], ["BTC", 5], ["BTC", None]):
        with pytest.raises(liqdata.BadQuery) as caught:
            client.levels(symbols)
        assert caught.value.parameter == "symbol"
    assert service.connections == 0


def test_a_service_refuses_an_unknown_coin_like_a_market(market, server, connect):
    with pytest.raises(liqdata.BadQuery) as here:
        market.levels("NOPE")
    with pytest.raises(liqdata.BadQuery) as there:
        connect(server).levels("NOPE")
    assert (str(there.value), there.value.parameter) == (str(here.value), "symbol")
    with pytest.raises(liqdata.BadQuery) as among:
        connect(server).levels(["BTC", "NOPE", "ETH"])
    assert any("NOPE" in note for note in among.value.__notes__)


# What is sent.


def test_only_the_contracts_parameters_are_sent(connect, script):
    service = script(answer({"success": False, "error": "only looking"}))
    client = connect(service)
    expected = {
        "overview": ("/api/liquidations/overview", {}),
        "coins": ("/api/liquidations/coins", {"range": "24h", "limit": "30"}),
        "exchanges": ("/api/liquidations/exchanges", {"range": "24h"}),
        "largest": ("/api/liquidations/largest", {"range": "24h", "limit": "20"}),
        "orders": ("/api/liquidations", {"limit": "50", "offset": "0"}),
        "chart": ("/api/liquidations/chart", {"symbol": "BTCUSDT"}),
        "heatmap": ("/api/liq-heatmap", {"symbol": "BTC", "range": "24h", "model": "2"}),
        "liqmap": ("/api/liq-map", {"symbol": "BTC", "range": "1d"}),
        "levels": ("/api/liq-levels", {"symbol": "BTC"}),
        "maxpain": ("/api/liq-maxpain", {"symbol": "BTC"}),
    }
    for name, (path, query) in expected.items():
        with pytest.raises(liqdata.Refused, match="only looking"):
            getattr(client, name)()
        sent = service.requests[-1]
        assert sent.path == path
        # A service's defaults are the contract's: what is sent must not differ from them.
        assert sent.query.items() <= query.items()
    with pytest.raises(liqdata.Refused):
        client.orders(" ethusdt ", "okx", 7, 9)
    assert service.requests[-1].query == {"symbol": "ETHUSDT", "exchange": "okx", "limit": "7", "offset": "9"}


def test_headers_are_ours_and_the_callers(connect, script):
    service = script(answer({"success": True, "data": {}}))
    connect(service, headers={"X-Key": "hunter2", "accept-language": "de"}).overview()
    sent = service.requests[-1].headers
    assert re.match(rf"liqdata/{re.escape(liqdata.__version__)}\b", sent["user-agent"])
    assert (sent["x-key"], sent["accept-language"], sent["accept"]) == ("hunter2", "de", "application/json")
    assert sent["accept-encoding"] == "zstd, gzip"
    assert sent["host"] == service.url.removeprefix("http://")


@pytest.mark.parametrize("prefix", ["", "/", "/v1", "/v1/", "/a/b//"])
def test_a_base_url_may_have_a_prefix_and_a_slash(connect, script, prefix):
    service = script(answer({"success": True, "data": {}}))
    client = connect(service.url + prefix)
    client.overview()
    assert service.requests[-1].target == f"{prefix.rstrip('/')}/api/liquidations/overview"
    assert client.base_url == service.url + prefix.rstrip("/")


def test_the_address_may_stand_in_the_environment(server, monkeypatch):
    monkeypatch.setenv("LIQDATA_BASE_URL", server.url)
    with liqdata.Client() as client:
        assert client.base_url == server.url
        assert client.overview()


# Encodings.


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "identity"])
def test_every_encoding_of_the_server_carries_the_same_answer(market, server, encoding):
    url = f"{server.url}/api/liq-heatmap?symbol=BTC&range=24h&model=2"
    request = urllib.request.Request(url, headers={"accept-encoding": encoding})
    with urllib.request.urlopen(request) as response:
        assert response.headers.get("content-encoding", "identity") == encoding
        sent = response.read()
    with urllib.request.urlopen(url) as response:
        assert response.headers.get("content-encoding") is None
        plain = response.read()
    assert (sent == plain) == (encoding == "identity")
    assert len(sent) <= len(plain)
    if encoding == "gzip":
        assert gzip.decompress(sent) == plain
    assert json.loads(plain)["matrix"] == market.heatmap("BTC").matrix.tolist()


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "identity"])
def test_a_client_reads_every_encoding_that_it_asks_for(market, server, connect, script, encoding):
    url = f"{server.url}/api/liquidations/largest?limit=1000"
    request = urllib.request.Request(url, headers={"accept-encoding": encoding})
    with urllib.request.urlopen(request) as response:
        sent = response.read()
    named = {} if encoding == "identity" else {"content_encoding": encoding}
    assert connect(script(answer(sent, **named))).largest(limit=1000) == market.largest(limit=1000)


def test_an_encoding_that_was_not_asked_for_is_refused_by_name(connect, script):
    with pytest.raises(liqdata.UnexpectedReply, match='"br"; allowed: gzip, zstd or none'):
        connect(script(answer(b"...", content_encoding="br"))).overview()


# Several clients, many answers at once.


def test_several_clients_work_side_by_side(market, server, connect):
    clients = [connect(server) for _ in range(4)]
    for client, coin in zip(clients, ["BTC", "ETH", "SOL", "BTC"], strict=True):
        assert client.levels(coin) == market.levels(coin)
    clients[0].close()
    assert clients[1].levels("BTC") == market.levels("BTC")


def test_concurrent_equal_calls_get_equal_answers(market, server, connect):
    wanted = market.liqmap("BTC", "7d")
    outcomes = connect(server).at_once("liqmap", "BTC", "7d", times=16)
    assert all(outcome == wanted for outcome in outcomes)


# The feed.


@pytest.fixture(scope="module")
def every_order(market):
    rows = list(market.iter_orders())
    assert len(rows) > 1000
    return rows


@pytest.mark.parametrize("options", [{"page_size": 777}, {"max_rows": 10**9}], ids=str)
def test_a_walk_gives_every_order_once(server, connect, every_order, options):
    assert connect(server).iter_orders(**options) == every_order


@pytest.mark.parametrize("page_size", [2, 10, 1000])
def test_a_walk_ends_at_max_rows(server, connect, every_order, page_size):
    client = connect(server)
    for most in (1, 2, 99):
        assert client.iter_orders(page_size=page_size, max_rows=most) == every_order[:most]


def test_pages_of_one_row_will_do_until_two_rows_are_equal(server, connect, every_order):
    twins = next(place for place, pair in enumerate(itertools.pairwise(every_order)) if pair[0] == pair[1])
    client = connect(server)
    assert client.iter_orders(page_size=1, max_rows=twins) == every_order[:twins]
    with pytest.raises(liqdata.UnexpectedReply, match="larger page_size"):
        client.iter_orders(page_size=1)


def test_a_walk_may_be_filtered(server, connect, every_order):
    client = connect(server)
    for symbol, exchange in (("btcusdt", None), (None, "okx"), ("ETHUSDT", "bybit"), ("TIAUSDT", None)):
        wanted = [
            row
            for row in every_order
            if (symbol is None or row["symbol"] == symbol.upper()) and (exchange is None or row["exchange"] == exchange)
        ]
        assert client.iter_orders(symbol, exchange, page_size=250) == wanted


def test_a_walk_gives_floats_on_request(server, connect):
    rows = connect(server, decimals="float").iter_orders(max_rows=5)
    assert all(type(row["price"]) is float for row in rows)


@pytest.mark.parametrize(
    "wrong,parameter",
    [
        ({"page_size": 0}, "page_size"),
        ({"page_size": 1001}, "page_size"),
        ({"max_rows": 0}, "max_rows"),
        ({"max_rows": -1}, "max_rows"),
        ({"symbol": ""}, "symbol"),
        ({"symbol": ["BTCUSDT", "ETHUSDT"]}, "symbol"),
        ({"exchange": " "}, "exchange"),
    ],
)
def test_a_walk_outside_the_contract_is_refused_before_anything_is_sent(connect, script, wrong, parameter):
    service = script(answer(b"{}"))
    with pytest.raises(liqdata.BadQuery) as caught:
        connect(service).iter_orders(**wrong)
    assert caught.value.parameter == parameter
    assert service.connections == 0


def test_a_walk_asks_for_no_more_than_it_needs(connect, script, every_order):
    def feed(exchange):
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        page = [
            {key: str(cell) if isinstance(cell, Decimal) else cell for key, cell in row.items()}
            for row in every_order[offset : offset + limit]
        ]
        return data(page)(exchange)

    service = script(feed)
    assert connect(service).iter_orders(max_rows=1, page_size=1000) == every_order[:1]
    assert len(service.requests) == 1
    assert int(service.requests[0].query["limit"]) == 1

    service = script(feed)
    assert connect(service).iter_orders(max_rows=500, page_size=100) == every_order[:500]
    assert len(service.requests) <= 500 // 100 + 2


def test_a_walk_may_be_left_in_the_middle(server, every_order):
    with liqdata.Client(server.url) as client:
        walk = client.iter_orders(page_size=50)
        assert [next(walk) for _ in range(60)] == every_order[:60]
        del walk
        assert list(client.iter_orders(max_rows=3)) == every_order[:3]


def test_a_progress_bar_is_silent_without_a_terminal(server):
    for kind in ("list(liqdata.Client(url).iter_orders(progress=True))", "asyncio.run(walk())"):
        source = (
            "import asyncio, liqdata, sys\n"
            "url = sys.argv[1]\n"
            "async def walk():\n"
            "    return [row async for row in liqdata.AsyncClient(url).iter_orders(progress=True)]\n"
            f"print(len({kind}))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", source, server.url], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert int(done.stdout) > 1000


# Agreement of the served answers with each other.


def test_the_served_estimates_agree_with_each_other(server, connect):
    client = connect(server)
    for range_, window, key in (("24h", "1d", "d1"), ("7d", "7d", "d7")):
        heatmap = client.heatmap("BTC", range_, opened="range", span="all")
        last = heatmap.matrix[:, -1].sum()
        liqmap = client.liqmap("BTC", window, model=2)
        pain = client.maxpain("BTC", model=2)[key]
        assert math.isclose(last, liqmap.total.sum() + sum(liqmap.outside.values()), rel_tol=1e-9)
        assert math.isclose(pain["totalLong"], liqmap.total[liqmap.sides == "long"].sum(), rel_tol=1e-9)
        assert math.isclose(pain["totalShort"], liqmap.total[liqmap.sides == "short"].sum(), rel_tol=1e-9)
        assert np.allclose(liqmap.tiers.sum(axis=1), liqmap.total, rtol=1e-9)


def test_the_simulation_is_labelled_over_http_too(server):
    with urllib.request.urlopen(f"{server.url}/api/liquidations/overview") as response:
        assert response.headers["x-liqdata-simulated"] == "true"
