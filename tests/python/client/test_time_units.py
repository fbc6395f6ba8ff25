"""Instants in seconds, microseconds or nanoseconds where milliseconds are meant: of services, and as arguments."""

import json
import logging
import urllib.error
import urllib.request
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scripted import EVENTS, answer, data

import liqdata

DATA = Path(__file__).parents[2] / "data"
INSTANTS = {"timestamp", "closes_at", "hour", "updatedAt", "times", "start", "end", "recovered_at"}
UNITS = {
    "seconds": lambda at: at // 1000,
    "microseconds": lambda at: at * 1000 + 7,
    "nanoseconds": lambda at: at * 10**6,
}


def changed(value, change, *, instant=False):
    """The same with every instant changed; text stays text."""
    if isinstance(value, dict):
        return {name: changed(cell, change, instant=name in INSTANTS) for name, cell in value.items()}
    if isinstance(value, list):
        return [changed(cell, change, instant=instant) for cell in value]
    if not instant or value is None:
        return value
    return str(change(int(value))) if isinstance(value, str) else change(value)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ["orders", "largest", "chart", "heatmap", "liqmap", "levels", "maxpain"])
def test_a_reply_in_another_unit_is_converted_and_its_meta_says_so(connect, script, name, unit):
    body = changed(json.loads((DATA / f"{name}.json").read_text()), lambda at: at // 1000 * 1000)
    client = connect(script(answer(body), answer(changed(body, UNITS[unit]))))
    wanted, found = getattr(client, name)(), getattr(client, name)()
    assert found == wanted
    assert found.meta["time_unit"] == f"{unit} (converted)"
    assert "time_unit" not in wanted.meta


def test_a_walk_converts_its_pages_and_says_so(script):
    rows = json.loads((DATA / "orders.json").read_text())["data"]

    def page(exchange):
        if exchange.request.path == "/api":
            return answer({"success": False}, 404)(exchange)
        first, count = (int(exchange.request.query[name]) for name in ("offset", "limit"))
        return data(changed(rows[first : first + count], UNITS["microseconds"]))(exchange)

    with liqdata.Client(script(page).url) as client:
        walk = client.iter_orders(page_size=5)
        assert [row["timestamp"] for row in walk] == [row["timestamp"] for row in rows]
        assert walk.meta["time_unit"] == "microseconds (converted)"


def test_a_stream_converts_its_rows_and_logs_it_once(script, caplog):
    def play(exchange):
        exchange.send(EVENTS % b"")
        for number in (1, 2):
            row = {"exchange": "okx", "symbol": "BTCUSDT", "side": "LONG", "price": "1", "qty": "1", "value_usd": "1"}
            row["timestamp"] = 1_781_136_000.25 + number
            exchange.send(f"id: {number}\ndata: {json.dumps(row)}\n\n".encode())
        exchange.until_hung_up()

    with caplog.at_level(logging.WARNING, "liqdata"), liqdata.Client(script(play).url) as client:
        stream = client.stream_orders()
        assert [next(stream)["timestamp"] for _ in range(2)] == [1_781_136_001_250, 1_781_136_002_250]
    assert sum("seconds since 1970" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize(
    "value, unit",
    [
        (1_780_228_800, "seconds"),
        ("1780228800", "seconds"),
        (" 1780228800.5 ", "seconds"),
        (Decimal("1780228800.25"), "seconds"),
        (np.int64(1_780_228_800_000_000), "microseconds"),
        (946_684_800_000_000, "microseconds"),
        ("1780228800000000", "microseconds"),
        (np.float64(1.7802288e15), "microseconds"),
        (1_780_228_800_000_000_000, "nanoseconds"),
        ("1780228800000000000", "nanoseconds"),
        (946_684_800_000_000_000, "nanoseconds"),
    ],
    ids=repr,
)
def test_an_argument_in_another_unit_is_refused_by_the_name_of_that_unit(market, value, unit):
    for ask, parameter in (
        (lambda: market.overview(as_of=value), "as_of"),
        (lambda: market.bars("BTC", start=value), "start"),
        (lambda: market.history("BTC", end=value), "end"),
    ):
        with pytest.raises(liqdata.BadQuery, match=f"looks like epoch {unit}; give epoch milliseconds") as refused:
            ask()
        assert refused.value.parameter == parameter


def test_a_request_in_another_unit_is_refused_by_the_server_too(server):
    for query in ("liquidations/history?start=1780228800000000", "liquidations/overview?as_of=1780228800"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server.url}/api/{query}")
        assert refused.value.code == 400
        assert "looks like epoch" in json.load(refused.value)["error"]["message"]
