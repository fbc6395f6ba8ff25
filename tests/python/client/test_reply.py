"""Bodies at hand are read as a service's answers are: the door of the benchmarks."""

import urllib.request
from decimal import Decimal

import numpy as np
import pytest

import liqdata
from liqdata import _core

ROWS = {
    "coins": "/api/liquidations/coins?range=24h&limit=30",
    "exchanges": "/api/liquidations/exchanges?range=24h",
    "largest": "/api/liquidations/largest?range=24h&limit=20",
    "orders": "/api/liquidations?limit=1000&offset=0",
    "chart": "/api/liquidations/chart?symbol=BTCUSDT",
}


def body(server, path):
    with urllib.request.urlopen(server.url + path) as answer:
        return answer.read()


@pytest.mark.parametrize("pieces", [None, 1, 7, 65_536])
@pytest.mark.parametrize("endpoint", ROWS)
def test_rows_are_those_of_an_answer(server, endpoint, pieces):
    question = {"orders": {"limit": 1000}, "chart": {"symbol": "BTCUSDT"}}.get(endpoint, {})
    with liqdata.Client(server.url) as client:
        asked = list(getattr(client, endpoint)(**question))
    assert _core.read_reply(endpoint, body(server, ROWS[endpoint]), pieces).dicts("decimal") == asked


@pytest.mark.parametrize("pieces", [None, 3, 65_536])
def test_a_heatmap_is_that_of_an_answer(server, pieces):
    with liqdata.Client(server.url) as client:
        asked = client.heatmap("BTC", "12h")
    read = _core.read_reply("heatmap", body(server, "/api/liq-heatmap?symbol=BTC&range=12h&model=2"), pieces)
    for name in ("prices", "times", "matrix"):
        assert np.array_equal(read.members[name], getattr(asked, name)), name


def test_a_reply_outside_the_contract_is_refused_like_an_answer():
    with pytest.raises(liqdata.UnexpectedReply, match="symbol"):
        _core.read_reply("orders", b'{"success":true,"data":[{"exchange":"okx"}]}')
    with pytest.raises(liqdata.Refused, match="slow down"):
        _core.read_reply("orders", b'{"success":false,"message":"slow down"}', 5)
    with pytest.raises(ValueError, match="there is no"):
        _core.read_reply("order", b"{}")


def page(rows):
    text = ",".join(
        f'{{"exchange":"{venue}","symbol":"{pair}","side":"{side}","price":"{price}","qty":"0.190",'
        f'"value_usd":"{price}","timestamp":{at}}}'
        for venue, pair, side, price, at in rows
    )
    return f'{{"success":true,"data":[{text}]}}'.encode()


# Few names or as many as rows; amounts with zeros before and behind, and of more digits than a machine word has.
PRICES = ("0.00000001", "63250.10", "5", "-0.5", "123456789012345678901.5", "9223372036854775807", "100", "0.0")


@pytest.mark.parametrize("names", [1, 3, 40])
@pytest.mark.parametrize("form", ["text", "decimal", "float"])
def test_dicts_are_equal_however_many_rows_share_their_names(names, form):
    rows = [
        (f"venue{row % names}", f"C{row * 7 % names}USDT", ("LONG", "SHORT")[row % 2], PRICES[row % 8], row)
        for row in range(40)
    ]
    of = {"text": str, "decimal": Decimal, "float": float}[form]
    expected = [
        {"exchange": venue, "symbol": pair, "side": side, "price": of(price), "qty": of("0.190"),
         "value_usd": of(price), "timestamp": at}
        for venue, pair, side, price, at in rows
    ]  # fmt: skip
    made = _core.read_reply("orders", page(rows)).dicts(form)
    assert [list(row.items()) for row in made] == [list(row.items()) for row in expected]
    # Every dict is the caller's own.
    made[0]["exchange"] = "changed"
    assert made[1:] == expected[1:]
    assert [row["exchange"] for row in _core.read_reply("orders", page(rows)).dicts(form)] == [row[0] for row in rows]
