"""A name that is misspelt is refused at every door in the same words: with the one that may have been meant."""

import asyncio
import json
import urllib.error
import urllib.request

import pytest
from samples import NOW, orders

import liqdata
from liqdata import AsyncClient, BadQuery, Client, cli

EXCHANGE = 'did you mean "binance"?'
SYMBOL = 'did you mean "BTCUSDT"?'
BY_EXCHANGE = ["orders", "largest", "history", "heatmap", "liqmap", "iter_orders", "stream_orders"]
BY_SYMBOL = [
    *("orders", "chart", "heatmap", "liqmap", "levels", "maxpain", "iter_orders", "stream_orders"),
    *("history", "cascades", "bars", "open_interest", "positions", "maps"),
]
FIRST = 1_704_153_600_000
TABLE = {
    "symbol": ["BTCUSDT"],
    "side": ["LONG"],
    "price": [1.0],
    "qty": [1.0],
    "value_usd": [1.0],
    "timestamp": [FIRST],
}


@pytest.fixture(scope="module")
def demo():
    return liqdata.demo()


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("nearest") / "archive"
    with liqdata.demo() as market:
        bars = market.bars("BTC", start=NOW - 3_600_000)
        interest = market.open_interest("BTC", start=NOW - 3_600_000)
        found = market.iter_orders("BTC", max_rows=50)
        liqdata.ingest(path, orders=found, bars=bars, open_interest=interest, exchange="binance")
    return path


@pytest.fixture(params=["tables", "archive", "client", "async"])
def door(request, demo, archive):
    """What a method refuses, in process and over HTTP."""
    if request.param == "tables":
        yield lambda method, *names, **asked: _exhausted(getattr(demo, method)(*names, **asked))
        return
    with liqdata.open(archive) as market:
        if request.param == "archive":
            yield lambda method, *names, **asked: _exhausted(getattr(market, method)(*names, **asked))
            return
        with liqdata.serve(market) as server:
            if request.param == "client":
                with Client(server.url) as client:
                    yield lambda method, *names, **asked: _exhausted(getattr(client, method)(*names, **asked))
                return

            async def ask(method, *names, **asked):
                async with AsyncClient(server.url) as client:
                    stated = getattr(client, method)(*names, **asked)
                    if not hasattr(stated, "__anext__"):
                        return await stated
                    return [row async for row in stated]

            yield lambda *names, **asked: asyncio.run(ask(*names, **asked))


def _exhausted(stated):
    return list(stated) if hasattr(stated, "__next__") else stated


def refused(call, *names, **asked):
    with pytest.raises(BadQuery) as caught:
        call(*names, **asked)
    return caught.value.parameter, str(caught.value)


@pytest.mark.parametrize("method", BY_EXCHANGE)
def test_a_misspelt_exchange_is_refused_with_the_nearest_one(door, method):
    parameter, said = refused(door, method, exchange="bnance")
    assert parameter == "exchange"
    assert '"bnance"' in said
    assert f"; {EXCHANGE}; allowed: " in said


@pytest.mark.parametrize("method", BY_SYMBOL)
def test_a_misspelt_symbol_is_refused_with_the_nearest_one(door, method):
    parameter, said = refused(door, method, "BTCSUDT")
    assert parameter == "symbol"
    assert '"BTCSUDT"' in said
    assert f"; {SYMBOL}; allowed: " in said


def test_other_functions_with_a_name_refuse_it_in_the_same_words(tmp_path):
    for call, parameter, meant in [
        (lambda: liqdata.feeds.decode("bnance", "{}"), "exchange", EXCHANGE),
        (lambda: liqdata.symbols.parse("BTCUSDT", exchange="bnance"), "exchange", EXCHANGE),
        (lambda: liqdata.symbols.parse("BTCSUDT"), "symbol", SYMBOL),
        (lambda: liqdata.collect(tmp_path / "a", exchanges=["bnance"]), "exchanges", EXCHANGE),
        (lambda: liqdata.ingest(tmp_path / "b", bars={"symbol": ["BTC"]}, exchange="bnance"), "exchange", EXCHANGE),
    ]:
        named, said = refused(call)
        assert (named, f"; {meant}; allowed: " in said) == (parameter, True), said


@pytest.mark.parametrize(
    "query, meant",
    [
        ("liquidations?exchange=bnance", EXCHANGE),
        ("liquidations?symbol=BTCSUDT", SYMBOL),
        ("liq-heatmap?symbol=BTCSUDT", SYMBOL),
        ("liquidations/history?exchange=bnance", EXCHANGE),
        ("liquidations/cascades?symbol=BTCSUDT", SYMBOL),
        ("bars?symbol=BTCSUDT", SYMBOL),
    ],
)
def test_a_service_suggests_the_nearest_name(demo, query, meant):
    with liqdata.serve(demo) as server, pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{server.url}/api/{query}")
    with caught.value as answer:
        error = json.load(answer)["error"]
    assert caught.value.code == 400
    assert meant in error["message"]


@pytest.mark.parametrize(
    "words, meant",
    [
        (["orders", "--demo", "--exchange", "bnance"], EXCHANGE),
        (["history", "--demo", "--exchange", "bnance"], EXCHANGE),
        (["heatmap", "BTCSUDT", "--demo"], SYMBOL),
        (["cascades", "BTCSUDT", "--demo"], SYMBOL),
        (["collect", "DIR", "--exchanges", "bnance"], EXCHANGE),
        (["ingest", "DIR", __file__, "--exchange", "bnance"], EXCHANGE),
    ],
)
def test_the_command_line_suggests_the_nearest_name(tmp_path, capsys, words, meant):
    words = [str(tmp_path / "archive") if word == "DIR" else word for word in words]
    assert cli.main(words) == 2
    assert meant in " ".join(capsys.readouterr().err.split())


def test_a_name_like_no_other_is_refused_without_a_suggestion():
    for call in (lambda: liqdata.feeds.decode("qqq", "{}"), lambda: liqdata.Market(orders(50)).orders("QQQ")):
        _, said = refused(call)
        assert "did you mean" not in said
        assert "; allowed: " in said
