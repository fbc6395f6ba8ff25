"""A value of any length, from whoever: what is said of it can be read, and says how much of it is not shown."""

import json
import urllib.error
import urllib.request

import pytest
import samples
from scripted import answer, data

import liqdata
from liqdata import cli, feeds

LONG = "x" * 100_000
MOST = 2_500  # of what is said with what is allowed


def orders(**cells):
    row = {
        "exchange": "okx",
        "symbol": "BTCUSDT",
        "side": "LONG",
        "price": 1,
        "qty": 1,
        "value_usd": 1,
        "timestamp": samples.NOW,
        **cells,
    }
    return {name: [cell] for name, cell in row.items()}


def market():
    return liqdata.Market(orders=samples.orders(), bars=samples.bars(), open_interest=samples.open_interest())


ASKED = {
    "side": lambda: liqdata.Market(orders=orders(side=LONG)),
    "price": lambda: liqdata.Market(orders=orders(price=LONG)),
    "timestamp": lambda: liqdata.Market(orders=orders(timestamp=LONG)),
    "column": lambda: liqdata.Market(orders={LONG: [1]}),
    "objects": lambda: liqdata.Market(orders=orders(price=[LONG])),
    "range": lambda: market().coins(range=LONG),
    "number": lambda: market().coins(limit=LONG),
    "coin": lambda: market().heatmap(LONG),
    "pair": lambda: market().orders(LONG + "USDT"),
    "exchange": lambda: market().orders(exchange=LONG),
    "instant": lambda: market().orders(start=LONG),
    "as_of": lambda: market().liqmap("BTC", as_of=LONG),
    "model": lambda: market().heatmap("BTC", model=LONG),
    "by": lambda: market().history(by=LONG),
    "interval": lambda: market().bars(interval=LONG),
    "column of rows": lambda: market().orders()[LONG],
    "object for a symbol": lambda: liqdata.symbols.parse([LONG]),
    "archive": lambda: liqdata.open(LONG),
    "address": lambda: liqdata.open("s3://" + LONG + "?x"),
    "two archives": lambda: liqdata.open([LONG, LONG]),
    "verify": lambda: liqdata.archive.verify(LONG),
    "rebuild": lambda: liqdata.archive.rebuild("s3://" + LONG),
    "exchanges of rebuild": lambda: liqdata.archive.rebuild("x", exchange=LONG),
    "ingest": lambda: liqdata.ingest("x", LONG),
    "format": lambda: liqdata.ingest("x", "y", format=LONG),
    "venue": lambda: feeds.decode(LONG, "{}"),
    "frame": lambda: feeds.decode("okx", LONG),
    "member of a frame": lambda: feeds.decode("okx", json.dumps({LONG: LONG, "arg": LONG, "data": LONG})),
    "client": lambda: liqdata.Client(LONG),
    "proxy": lambda: liqdata.Client("http://127.0.0.1:1", proxy=LONG),
    "token": lambda: liqdata.Client("http://127.0.0.1:1", token=LONG + " "),
    "name of a host": lambda: liqdata.Client("http://" + LONG + ".invalid", retries=0).coins(),
    "collector": lambda: liqdata.collect("x", exchanges=[LONG]),
    "settings": lambda: liqdata.collect("x", settings={LONG: 1}),
    "served": lambda: liqdata.serve(market(), host=LONG),
    "origin": lambda: liqdata.serve(market(), origins=[LONG]),
    "host": lambda: liqdata.serve(market(), hosts=[LONG + "/"]),
    "limits": lambda: liqdata.serve(market(), limits={LONG: 1}),
    "specification": lambda: liqdata.Model(weights=LONG),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_message_about_a_long_value_is_readable(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((liqdata.LiqdataError, OSError, ValueError, TypeError)) as caught:
        ask()
    said = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert all(len(text) < MOST for text in said), [len(text) for text in said]


def test_the_length_of_a_shortened_value_is_given():
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.Market(orders=orders(side=LONG))
    said = str(caught.value)
    assert said.startswith('orders: column "side", row 0: "xxx')
    assert "more characters) …" in said
    assert said.endswith(
        'xxx" is not a side; allowed: "LONG" or "SHORT", the side of the position (an order that sells closes a long)'
    )


REPLIES = {
    "a value": data([{name: cells[0] for name, cells in orders(price=LONG).items()}]),
    "a member": answer(json.dumps({"success": True, "data": [{LONG: 1}]})),
    "a reason": answer(json.dumps({"success": False, "error": LONG})),
    "a status with a reason": answer(json.dumps({"success": False, "message": LONG}), 400),
    "a body": answer(LONG),
    "a redirect": answer("", 302, location="http://x/" + LONG[:30_000]),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_long_message_of_a_service_is_shortened(connect, script, reply):
    with pytest.raises(liqdata.LiqdataError) as caught:
        connect(script(reply, reply), retries=0).orders()
    for text in (str(caught.value), *getattr(caught.value, "__notes__", ())):
        assert len(text) < MOST


@pytest.mark.parametrize(
    "path",
    ["/{}", "/api/{}", "/api/liq-heatmap?symbol={}", "/api/liq-heatmap?{}=1", "/api/liquidations/coins?range={}"],
)
def test_a_server_repeats_no_long_value_whole(path):
    with liqdata.serve(market()) as server, pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(server.url + path.format("x" * 3_500))
    body = caught.value.read()
    assert len(body) < MOST
    assert b"more characters" in body or caught.value.code == 414


@pytest.mark.parametrize(
    "words", [[LONG], ["coins", LONG], ["--" + LONG], ["coins", "--range", LONG], ["coins", "--limit", LONG]]
)
def test_the_command_repeats_no_long_word_whole(words, capsys):
    assert cli.main(words) == 2
    assert len(capsys.readouterr().err) < MOST
