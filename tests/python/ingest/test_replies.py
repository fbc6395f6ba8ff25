"""Saved replies of exchanges and services: bars, open interest and totals, as they were answered."""

import json
import os
import re

import pytest
from dumped import MINUTE, START, is_sound

import liqdata
from liqdata import BadQuery

HOUR = 60 * MINUTE

PRICES = ("100", "102.5", "99", "101")


def candles(*more, first=START, count=3):
    """Rows of a time, four prices and more cells, newest first."""
    return [[str(first + place * MINUTE), *PRICES, *more] for place in reversed(range(count))]


BARS = {
    "bybit": {"retCode": 0, "result": {"category": "linear", "symbol": "BTCUSDT", "list": candles("7", "700")}},
    "okx": {"code": "0", "msg": "", "data": candles("700", "7", "700", "1")},
    "gate": [
        {"t": (START + place * MINUTE) // 1000, "v": 7000, "sum": "700"} | dict(zip("ohlc", PRICES, strict=True))
        for place in range(3)
    ],
}
READINGS = {
    "bybit": {
        "result": {"list": [{"openInterest": "11", "singleOpenInterest": "5.5", "timestamp": str(START + 5 * MINUTE)}]},
        "retCode": 0,
    },
    "okx": {"code": "0", "msg": "", "data": [[str(START + 5 * MINUTE), "550", "5.5", "550"]]},
    "gate": [
        {"time": (START + 5 * MINUTE) // 1000, "open_interest": 5500, "open_interest_usd": 555.5}
        | {"lsr_taker": 1, "mark_price": 101}
    ],
}


@pytest.mark.parametrize("exchange", BARS)
def test_replies_with_bars_and_open_interest_are_read_by_the_decoder_of_the_exchange(tmp_path, folder, exchange):
    (tmp_path / "oi").mkdir()
    bars, readings = tmp_path / "BTC-USDT-SWAP-1m.json", tmp_path / "oi" / "BTC-USDT-SWAP-5m.json"
    bars.write_text(json.dumps(BARS[exchange]))
    readings.write_text(json.dumps(READINGS[exchange]))
    size = {"contract_size": "0.001"} if exchange == "gate" else {}
    if size:  # without a size, contracts cannot become coins
        assert liqdata.ingest(tmp_path / "unsized", bars, exchange=exchange).new == 0
    done = liqdata.ingest(folder, bars, readings, exchange=exchange, **size)
    assert (done.new, done.refused) == (4, {})
    with liqdata.open(folder) as market:
        assert [(row["timestamp"], row["volume"]) for row in market.bars("BTC")] == [
            (START + place * MINUTE, 7) for place in range(3)
        ]
        assert [(row["exchange"], row["open_interest"]) for row in market.open_interest("BTC")] == [(exchange, 5.5)]
    is_sound(folder)


def test_the_bar_that_was_open_when_a_reply_was_saved_is_left_out(tmp_path, folder):
    file = tmp_path / "BTCUSDT-1m.json"
    file.write_text(json.dumps(BARS["bybit"]))
    at = (START + 2.5 * MINUTE) / 1000
    os.utime(file, (at, at))
    done = liqdata.ingest(folder, file, exchange="bybit")
    assert (done.new, list(done.refused)) == (2, ["timestamp: the bar was still open when the file was written"])


@pytest.mark.parametrize(
    "name, more, said",
    [
        ("ETHUSDT-1m", {}, "its symbol is 'BTCUSDT', which its name does not say"),
        ("BTC_USD-1m", {}, "its symbol is 'BTCUSDT', which its name does not say"),
        ("BTCUSDT-26DEC25-1m", {}, "its symbol is 'BTCUSDT', which its name does not say"),
        ("BTC-1m", {"symbol": "BTCUSDT-26DEC25"}, "its symbol is 'BTCUSDT-26DEC25', which its name does not say"),
        ("BTCUSDT-1m", {"category": "spot"}, "category: 'spot' is not allowed; allowed: linear or inverse"),
    ],
)
def test_a_reply_of_another_market_than_its_name_is_refused(tmp_path, folder, name, more, said):
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps(BARS["bybit"] | {"result": BARS["bybit"]["result"] | more}))
    with pytest.raises(BadQuery, match=re.escape(said)):
        liqdata.ingest(folder, file, exchange="bybit")
    assert not folder.exists()


def test_the_bar_that_was_open_when_bybit_answered_is_left_out(tmp_path, folder):
    file = tmp_path / "btc_1m.json"
    file.write_text(json.dumps(BARS["bybit"] | {"time": START + 2 * MINUTE + 1}))
    done = liqdata.ingest(folder, file, exchange="bybit")
    assert (done.new, list(done.refused)) == (2, ["timestamp: the bar was still open when the file was written"])
    for time, said in ((START + 1, f"before its bar of {START + 2 * MINUTE}"), ("7", "time: 7 is not allowed")):
        file.write_text(json.dumps(BARS["bybit"] | {"time": time}))
        with pytest.raises(BadQuery, match=said):
            liqdata.ingest(folder, file, exchange="bybit")
    file = file.rename(tmp_path / "reply-1m.json")
    file.write_text(json.dumps(BARS["bybit"]))
    with liqdata.read(file, exchange="bybit", symbol="BTCUSDT") as market:
        assert len(market.bars("BTC")) == 3
    with pytest.raises(BadQuery, match="its name does not say"):
        liqdata.read(file, exchange="bybit", symbol="ETH")


def history(market, *, hours=3, usd=1.25):
    return {"symbol": market, "history": [{"t": (START + n * HOUR) // 1000, "l": usd, "s": 2} for n in range(hours)]}


def test_a_history_of_coinalyze_is_summed_over_the_contracts_of_each_exchange(tmp_path, folder):
    file = tmp_path / "liquidations.json"
    file.write_text(json.dumps([history("BTCUSDT_PERP.A"), history("BTCUSD_PERP.A", usd=3), history("BTCUSD_PERP.0")]))
    with pytest.raises(BadQuery, match="convert_to_usd=true"):
        liqdata.ingest(folder, file)
    done = liqdata.ingest(folder, file, format="coinalyze_liquidations")
    assert (done.new, done.files) == (6, {str(file): "coinalyze_liquidations"})
    with liqdata.open(folder) as market:
        found = [(row["exchange"], row["long_usd"], row["total_usd"]) for row in market.exchanges("4h")]
    assert [(name, float(long), float(all)) for name, long, all in found] == [
        ("binance", 12.75, 24.75), ("bitmex", 3.75, 9.75)
    ]  # fmt: skip
    file.write_text(json.dumps([history("BTCUSDT_PERP.Q")]))
    with pytest.raises(BadQuery, match=r"'BTCUSDT_PERP.Q'; allowed: the exchange of its markets"):
        liqdata.ingest(folder, file, format="coinalyze_liquidations")
    done = liqdata.ingest(folder, file, format="coinalyze_liquidations", exchange="okx")
    assert done.new == 3


ONE = history("BTCUSDT_PERP.A", hours=1)


@pytest.mark.parametrize(
    "body, said",
    [
        (json.dumps([ONE, ONE]), "'BTCUSDT_PERP.A' twice; allowed: each market once"),
        (json.dumps([ONE | {"history": ONE["history"] * 2}]), f"the instant {START // 1000} twice; allowed: each inst"),
        *(
            (
                json.dumps([ONE | {"history": [ONE["history"][0] | {column: value}]}]),
                f"{column}: {json.dumps(value)} is",
            )
            for column, value in (("l", "10"), ("s", None), ("l", float("nan")), ("s", -1), ("t", "x"), ("t", 1.5))
        ),
        (json.dumps([ONE])[:-20], "it is cut short"),
        (json.dumps({"message": "Invalid API key"}), "Coinalyze refused the request: 'Invalid API key'"),
    ],
)
def test_a_history_of_coinalyze_with_a_wrong_value_is_refused_with_its_place(tmp_path, folder, body, said):
    file = tmp_path / "liquidations.json"
    file.write_text(body)
    with pytest.raises(BadQuery, match=re.escape(said)) as refused:
        liqdata.ingest(folder, file, format="coinalyze_liquidations")
    assert "liquidations.json" in str(refused.value)
    assert refused.value.parameter == "files"
    assert not folder.exists()


@pytest.mark.parametrize(
    "exchange, body, said",
    [
        ("okx", {"code": "51000", "msg": "Parameter bar error", "data": []}, "okx refused the request with code 51000"),
        (
            None,
            {"code": "51000", "msg": "Parameter bar error", "data": []},
            "the service refused the request with code",
        ),
        ("okx", BARS["okx"] | {"code": "50011", "msg": "Too Many Requests"}, "code 50011: 'Too Many Requests'"),
        ("bybit", BARS["bybit"] | {"retCode": 10006, "retMsg": "Too many visits!"}, "code 10006: 'Too many visits!'"),
        ("bybit", json.dumps(READINGS["bybit"])[:-30], "it is cut short"),
        ("okx", json.dumps(BARS["okx"])[:-30], "it is cut short"),
    ],
)
def test_a_reply_in_which_an_exchange_refuses_the_request_or_without_its_end_is_refused(
    tmp_path, folder, exchange, body, said
):
    file = tmp_path / "BTC-USDT-SWAP-1m.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body))
    with pytest.raises(BadQuery, match=re.escape(said)):
        liqdata.ingest(folder, file, exchange=exchange)
    assert not folder.exists()
