"""Features: their instants, columns and values."""

from datetime import timedelta

import numpy as np
import pytest
import samples

import liqdata

NOW, MINUTE, HOUR, DAY = samples.NOW, samples.MINUTE, samples.HOUR, samples.DAY


def test_columns_are_those_of_the_map_of_all_positions_and_of_the_history(market):
    at = NOW - 7 * HOUR
    (row,) = market.features("BTC", [at], within=[1])
    world = market.liqmap("BTC", "7d", opened="ever", as_of=at)
    assert row["price"] == world.current_price
    swept = world.swept(row["price"] * 0.99, row["price"] * 1.01)
    assert (row["long_usd_1pct"], row["short_usd_1pct"]) == (swept["long_usd"], swept["short_usd"])
    clusters = list(world.clusters())
    for name, side in (("below", "LONG"), ("above", "SHORT")):
        near = min((one for one in clusters if one["side"] == side), key=lambda one: abs(one["distance_pct"]))
        assert row[f"{name}_dist_pct"] == near["distance_pct"]
        assert row[f"{name}_usd"] == near["amount"]
        assert row[f"{name}_leverage"] in world.leverages
    (hour,) = market.history("BTC", interval="1h", start=at - HOUR + 1, end=at + 1, as_of=at, by=())[-1:]
    day = market.history("BTC", interval="366d", start=at - DAY + 1, end=at + 1, as_of=at, by=())
    assert row["long_usd_24h"] == pytest.approx(float(sum(one["long_usd"] for one in day)))
    assert row["cnt_24h"] == sum(one["cnt"] for one in day)
    assert hour is not None
    assert row["map_age_s"] < 600
    assert row["model_version"] == world.meta["explain"]["modelVersion"]
    assert market.features("BTC", [at]).meta["units"] == "usd"


def test_instants_are_a_list_a_grid_or_bars(market):
    listed = market.features("BTC", [NOW - HOUR, NOW - 3 * HOUR], columns=["price"])
    assert [row["at"] for row in listed] == [NOW - 3 * HOUR, NOW - HOUR]
    grid = market.features(["ETH", "BTC"], "1h", start=NOW - 3 * HOUR - MINUTE, end=NOW, columns=["price"])
    assert [(row["at"], row["coin"]) for row in grid] == [
        (NOW - hours * HOUR, coin) for hours in (3, 2, 1) for coin in ("ETH", "BTC")
    ]
    assert market.features("BTC", timedelta(hours=1), start="-2h")["at"].tolist()[-1] == market.now.replace(tzinfo=None)
    bars = market.bars("BTC", interval="1h", start="-5h")
    for table in (bars, bars.to_pandas(), bars.to_polars()):
        found = market.features("BTC", table, columns=["price", "bar_open"])
        assert found["bar_open"].tolist() == bars["timestamp"].tolist()
        assert np.array_equal(found["at"], bars["closes_at"])
        assert found["price"].tolist() == bars["close"].tolist()
    plain = {"timestamp": [NOW - 3 * HOUR, NOW - 2 * HOUR]}
    assert market.features("BTC", plain, columns="known_at")["at"].astype("int64").tolist() == [
        NOW - 2 * HOUR,
        NOW - HOUR,
    ]


def test_wanted_columns_equal_those_of_all(market):
    times = [NOW - 2 * HOUR, NOW]
    whole = market.features("BTC", times)
    for name in whole.columns[2:]:
        if name != "known_at":
            found = market.features("BTC", times, columns=[name])
            assert found.columns == ["at", "coin", name]
            assert [row[name] for row in found] == [row[name] for row in whole]


def test_a_coin_without_bars_has_its_realised_columns():
    orders = samples.orders(60)
    market = liqdata.Market(orders=orders, now=NOW)
    (row,) = market.features("BTC", [NOW])
    assert (row["price"], row["model_version"], row["below_usd"]) == (None, None, None)
    assert row["cnt_24h"] > 0
    assert row["covered_1h"] <= 1


@pytest.mark.parametrize(
    "options, parameter",
    [
        ({"symbols": "BTCC"}, "symbols"),
        ({"symbols": []}, "symbols"),
        ({"symbols": [""]}, "symbols"),
        ({"symbols": ["BTC", "BTC"]}, "symbols"),
        ({"symbols": ["BTC", "BTCUSDT"]}, "symbols"),
        ({"at": []}, "at"),
        ({"at": "1h"}, "start"),
        ({"start": NOW}, "start"),
        ({"at": [NOW + 3 * DAY]}, "at"),
        ({"at": [NOW - 9999 * DAY]}, "at"),
        ({"windows": ["90s"]}, "windows"),
        ({"windows": [10**19 * MINUTE]}, "windows"),
        ({"within": [0]}, "within"),
        ({"within": [100]}, "within"),
        ({"columns": ["price", "prise"]}, "columns"),
        ({"latency": -1}, "latency"),
        ({"latency": 2**63}, "latency"),
        ({"latency": timedelta(microseconds=400)}, "latency"),
        ({"range": "8d"}, "range"),
        ({"model": 7}, "model"),
        ({"exchange": "binanse"}, "exchange"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(market, options, parameter):
    given = {"symbols": "BTC", "at": [NOW], **options}
    with pytest.raises(liqdata.BadQuery) as refused:
        market.features(given.pop("symbols"), given.pop("at"), **given)
    assert refused.value.parameter == parameter
