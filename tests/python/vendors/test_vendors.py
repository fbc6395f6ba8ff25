"""Clients of vendors: the same types from every shape, errors as they are, and no key anywhere."""

import asyncio
import copy
import dataclasses
import inspect
import itertools
import json
import logging
import math
import pickle
import random
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import vendor_replies as replies
from vendor_double import Script, serving

import liqdata
from liqdata import vendors
from liqdata.vendors.service import METHODS

KEY = "k3y-that-no-one-sees"
ROOT = "/api/futures/liquidation/"
HEAT = f"{ROOT}aggregated-heatmap/model2"
PLAN = {
    "/api/user/account/subscription": replies.glass({"level": "STARTUP", "expire_time": replies.MS, "expired": False})
}
NAMES = ["CoinGlass", "Coinalyze", "CoinAnk", "Hyblock", "DataMaxi", "Velo"]


def glass(double, **options):
    return vendors.CoinGlass(KEY, base_url=double.url, **options)


@pytest.mark.parametrize("shape", replies.HEATMAPS)
def test_a_heatmap_has_the_axes_the_cells_and_the_candles_of_the_reply(shape):
    with serving({HEAT: replies.HEATMAPS[shape]}) as double, glass(double) as service:
        map = service.heatmap("ETHUSDT", "1d")
    assert double.asked[0][:2] == (HEAT, {"symbol": "ETH", "range": "24h"})
    assert (map.symbol, map.range, map.model, map.units) == ("ETH", "24h", 2, "relative")
    assert map.matrix.tolist() == replies.MATRIX
    assert map.prices.tolist() == replies.PRICES
    assert map.times.astype("int64").tolist() == [replies.MS + 300_000 * step for step in (1, 2, 3)]  # ends of columns
    assert map.current_price == 2025.5
    assert [bar["close"] for bar in map.price] == [2012.0, 2030.25, 2025.5]
    if shape == "served":
        assert map.updated_at.timestamp() * 1000 == replies.MS + 612_345
    assert pickle.loads(pickle.dumps(map)) == map


def test_exchange_and_model_choose_the_path():
    path = f"{ROOT}heatmap/model3"
    with serving({path: replies.HEATMAPS["served"]}) as double, glass(double) as service:
        map = service.heatmap("ETH", "3M", 3, exchange="binance")
    assert double.asked[0][:2] == (path, {"exchange": "Binance", "symbol": "ETHUSDT", "range": "90d"})
    assert (map.meta["pair"], map.meta["exchange"], map.range) == ("ETHUSDT", "binance", "3M")


@pytest.mark.parametrize("ratio", ["text", "numbers", "wrapped"])
def test_coinank_sends_cells_as_text_or_numbers(ratio):
    reply = copy.deepcopy(replies.ANK_HEATMAP)
    if ratio == "numbers":
        reply["data"]["liqHeatMap"]["data"] = replies.CELLS
    if ratio == "wrapped":
        reply = {"success": True, "code": "1", "data": reply}
    path = "/api/liqMap/getLiqHeatMap"
    with serving({path: reply}) as double, vendors.CoinAnk(KEY, base_url=double.url) as service:
        map = service.heatmap("ETH", "7d")
    assert double.asked[0][1] == {"exchange": "Binance", "symbol": "ETHUSDT", "interval": "1w"}
    assert map.matrix.tolist() == replies.MATRIX
    assert np.isnan(map.current_price)
    assert (map.units, map.meta["exchange"], map.price) == ("relative", "binance", None)


def test_a_map_has_leverages_or_exchanges_and_sides_by_the_price():
    path = f"{ROOT}aggregated-map"
    with (
        serving({path: Script(*[replies.MAPS["by leverage"]] * 2, replies.MAPS["of a list"])}) as double,
        glass(double) as service,
    ):
        unknown, given, listed = service.liqmap("ETH"), service.liqmap("ETH", price=2000), service.liqmap("ETH")
    assert unknown.sides.tolist() == ["unknown", "unknown"]
    assert given.sides.tolist() == ["long", "short"]
    assert given.leverages.tolist() == [25, 50]
    assert given.tiers.tolist() == [[10, 4.5], [0, 7]]
    assert listed.tiers.shape == (3, 0)
    assert listed.total.tolist() == [14.5, 7, 1]
    assert listed.sides.tolist() == ["long", "short", "short"]
    assert listed.meta["exchanges"]["okx"].tolist() == [4.5, 0, 1]
    paths = {"/api/liqMap/getLiqMap": replies.ANK_MAP, "/api/liqMap/getAggLiqMap": replies.ANK_BY_EXCHANGE}
    with serving(paths) as double, vendors.CoinAnk(KEY, base_url=double.url) as service:
        tiers, apart = service.liqmap("ETH", exchange="binance"), service.liqmap("ETH")
    assert (tiers.leverages.tolist(), tiers.tiers.tolist()) == ([25, 100], [[1, 5], [0, 6], [2, 0]])
    assert (apart.total.tolist(), apart.bin_width) == ([6, 6, 2], 100.0)
    assert apart.sides.tolist() == ["long", "long", "short"]
    assert apart.meta["exchanges"]["okx"].tolist() == [5, 6, 0]


def test_maps_of_vendors_are_drawn_and_compared():
    from matplotlib.figure import Figure

    path, heat = f"{ROOT}aggregated-map", "/api/liqMap/getLiqHeatMap"
    with serving({path: replies.MAPS["of a list"], heat: replies.ANK_HEATMAP}) as double, glass(double) as service:
        map = service.liqmap("ETH")
        with vendors.CoinAnk(KEY, base_url=double.url) as other:
            cells = other.heatmap("ETH")
            compared = liqdata.compare([service, cells, service, lambda _: map], "ETH")
    bare = dataclasses.replace(map, current_price=math.nan, sides=np.array(["unknown"] * 3), bin_width=math.nan)
    for drawn in (map, bare, cells):
        drawn.plot(Figure().add_subplot()).figure.draw_without_rendering()
    assert compared.names == ["CoinGlass", "CoinAnk", "CoinGlass 2", "<lambda>"]
    assert compared.units == ["relative"] * 4
    np.testing.assert_allclose(compared.shares.sum(1), 1.0)
    pairs = {(row["a"], row["b"]): row for row in compared.rows()}
    assert pairs["CoinGlass", "CoinGlass 2"]["overlap"] == pairs["CoinGlass 2", "<lambda>"]["rank_correlation"] == 1.0
    assert pairs["CoinGlass", "CoinAnk"]["overlap"] < 0.9
    assert len(compared.to_markdown().splitlines()) == 8
    compared.plot(Figure().add_subplot()).figure.draw_without_rendering()
    with pytest.raises(liqdata.BadQuery, match="answers only for now"):
        liqdata.compare([service, map], "ETH", as_of="2026-01-01")
    with pytest.raises(liqdata.BadQuery, match="1 are given"):
        liqdata.compare([map], "ETH")


def test_the_overlap_of_shifted_maps_is_known():
    def map(shift):
        prices = 1000.0 + 2.5 * np.arange(-20, 21) + 1.25 + shift
        return liqdata.LiquidationMap(
            "ETH", "1d", None, 1000.0, 2.5, np.array([], np.int64), prices, np.array(["long"] * 41), np.empty((41, 0)),
            np.where(np.arange(41) < 10, 1.0, 0.0), meta={"units": "usd"},
        )  # fmt: skip

    row = liqdata.compare({"a": map(0.0), "b": map(12.5)}, "ETH").rows()[0]
    assert row["overlap"] == pytest.approx(0.5)
    assert row["centre_b_pct"] - row["centre_a_pct"] == pytest.approx(1.25)


@pytest.mark.parametrize("names_by_side", [True, False])
def test_max_pain_is_read_by_position(names_by_side):
    below, above = (1990.0, 30.0), (2050.0, 70.0)
    long, short = (below, above) if names_by_side else (above, below)
    row = {"symbol": "ETH", "price": 2000}
    for name, (price, level) in (("long", long), ("short", short)):
        row |= {f"{name}_max_pain_liq_price": price, f"{name}_max_pain_liq_level": level}
    with (
        serving({f"{ROOT}max-pain": {"code": "0", "data": [{"symbol": "BTC"}, row]}}) as double,
        glass(double) as service,
    ):
        pain = service.maxpain("ETH", "7d")
    assert (pain["d7"]["long"]["price"], pain["d7"]["short"]["usd"]) == (1990.0, 70.0)
    assert pain.meta["names"]["long"] == f"{'long' if names_by_side else 'short'}_max_pain_liq_price"


def test_sides_of_orders_have_a_switch_and_a_check():
    totals = {"time": replies.MS // 3_600_000 * 3_600_000, "long_liquidation_usd": "90", "short_liquidation_usd": 9100}
    paths = {f"{ROOT}order": replies.ORDERS, f"{ROOT}history": replies.glass([totals])}
    with serving(paths) as double:
        found = {
            sides: glass(double, sides=sides).orders("ETH", "binance")
            for sides in ("documented", "position", "checked")
        }
    assert {sides: [row["side"] for row in rows] for sides, rows in found.items()} == {
        "documented": ["LONG", "SHORT"],
        "position": ["SHORT", "LONG"],
        "checked": ["SHORT", "LONG"],
    }
    assert found["checked"].meta["checked"] == "against totals of the same hours"
    assert found["documented"][0]["value_usd"] == Decimal("5000.5")
    assert found["documented"][0]["qty"] == Decimal("2.50025")


def test_the_row_of_all_exchanges_is_not_an_exchange_and_both_spellings_are_read():
    path = f"{ROOT}exchange-list"
    neither = [{"exchange": "OKX", "liquidation_usd": 20, "long": 5, "short": 15}]
    with (
        serving({path: Script(replies.glass(replies.EXCHANGES), replies.glass(neither))}) as double,
        glass(double) as service,
    ):
        rows = service.exchanges()
        with pytest.raises(liqdata.UnexpectedReply) as raised:
            service.exchanges()
    assert [(row["exchange"], row["total_usd"], row["cnt"]) for row in rows] == [("bybit", 40, None), ("okx", 20, None)]
    assert rows.meta["all"]["total_usd"] == 60
    assert raised.value.path == "data[0].long_liquidation_usd"


def test_coinalyze_asks_for_usd_and_names_what_is_left_out():
    market = "ETHUSDT_PERP.A"
    reply = [{"symbol": market, "history": [{"t": replies.T, "l": 12.5, "s": 3}]}]
    with (
        serving({"/liquidation-history": Script(reply, reply, [])}) as double,
        vendors.Coinalyze(KEY, base_url=double.url) as service,
    ):
        rows = service.history(market, interval="5m", start=replies.MS, end=replies.MS + 10**6)
        two = service.history([market, "ETHUSD_PERP.0"], interval="5m")
        with pytest.raises(liqdata.Refused, match="left out"):
            service.history(market)
        with pytest.raises(liqdata.BadQuery, match="a market of Coinalyze"):
            service.bars([market, "BTC"])
    asked = double.asked[0][1]
    assert (asked["convert_to_usd"], asked["interval"], asked["from"]) == ("true", "5min", str(replies.T))
    assert (rows[0]["long_usd"], rows[0]["total_usd"], rows[0]["timestamp"]) == (
        Decimal("12.5"),
        Decimal("15.5"),
        replies.MS,
    )
    assert two.meta["missing"] == ["ETHUSD_PERP.0"]


def test_hyblock_fetches_a_token_once_and_again_when_it_ends():
    rows = [
        {"timestamp": replies.T, "size": 5.5, "startingPrice": 1900, "endingPrice": 1910, "side": "long"},
        {"timestamp": replies.T + 60, "size": 2, "startingPrice": 2100, "endingPrice": 2110, "side": "Short"},
    ]
    token = {"access_token": "t0ken-value", "expires_in": 3600, "token_type": "Bearer"}
    heat = Script({"data": rows}, (401, {"message": "Unauthorized"}), {"data": rows})
    with (
        serving({"/oauth2/token": token, "/liquidationHeatmap": heat}) as double,
        vendors.Hyblock("id", "s3cret-of-client", KEY, base_url=double.url) as service,
    ):
        map = service.heatmap("ETH")
        service.heatmap("ETH")
    assert [path for path, *_ in double.asked].count("/oauth2/token") == 2
    assert double.asked[1][2]["authorization"] == "Bearer t0ken-value"
    assert map.matrix.tolist() == [[5.5, 0], [0, 2]]
    assert (map.prices.tolist(), map.meta["by_side"]) == ([1905, 2105], {"long": 5.5, "short": 2.0})


def test_datamaxi_and_velo():
    bucket = {"price": 1900, "side": "long", "l10xUsd": 1, "l25xUsd": 2, "l50xUsd": 0, "l100xUsd": 4.5, "totalUsd": 7.5}
    reply = {"assumptions": {"mmr": 0.005}, "buckets": [bucket], "currentPrice": 2000, "generatedAt": replies.MS}
    with serving({"/liquidation/map": reply}) as double, vendors.DataMaxi(KEY, base_url=double.url) as service:
        map = service.liqmap("ETH")
    market = {"b": "ETH", "e": "binance", "q": "USDT", "event_count": 2, "long_volume_usd": 1.5, "short_volume_usd": 1}
    coin = "/cex/symbol/liquidation"
    paths = {coin: [{**market, "total_volume_usd": 2.5}] * 2}
    with serving(paths) as double, vendors.DataMaxi(KEY, base_url=double.url) as service:
        totals = service.exchanges("1h", symbol="ETHUSDT")
    assert double.asked[0][:2] == (coin, {"base": "ETH", "window": "1h"})
    assert [(row["exchange"], row["total_usd"], row["cnt"]) for row in totals] == [("binance", 5, 4)]
    assert (map.units, map.tiers.tolist(), map.meta["assumptions"]) == ("usd", [[1, 2, 0, 4.5]], {"mmr": 0.005})
    head = "exchange,coin,product,time,sell_liquidations_dollar_volume,buy_liquidations_dollar_volume\n"
    step = 60_000

    def rows(query):
        at = range(int(query["begin"]), int(query["end"]), step)
        return head.encode() + b"".join(f"binance-futures,ETH,ETHUSDT,{one},1.5,2\n".encode() for one in at)

    with serving({"/rows": rows}) as double, vendors.Velo(KEY, base_url=double.url) as service:
        found = service.history(
            "ETHUSDT", exchange="binance", interval="1m", start=replies.MS, end=replies.MS + 20_000 * step
        )
    assert len(found) == 20_000
    assert len(double.asked) == 2  # 22,500 values each
    assert (found[0]["long_usd"], found[0]["short_usd"]) == (Decimal("1.5"), 2)


@pytest.mark.parametrize(
    "status, body, words",
    [
        (
            200,
            {"code": "401", "msg": "Upgrade plan"},
            "the plan of the key, STARTUP, is too small; this needs the plan Professional",
        ),
        (200, {"code": "401", "msg": "Upgrade plan", "data": []}, "STARTUP"),
        (200, {"code": "401", "msg": "Upgrade plan", "success": False}, "STARTUP"),
        (500, {"code": "40001", "msg": "Upgrade plan"}, "STARTUP"),
        (200, {"code": "401", "msg": "API key missing."}, "the key is missing, wrong or expired"),
        (200, {"code": "30001", "msg": "API key missing."}, "the key is missing, wrong or expired"),
        (403, {"code": "400", "msg": "Invalid API key provided"}, "the key is missing, wrong or expired"),
        (404, {"code": "404", "msg": "Endpoint not found"}, "no such path; this is not a matter of the plan"),
        (200, {"code": "50", "msg": "no"}, "not accepted"),
    ],
)
def test_the_code_of_the_body_overrides_the_http_status(status, body, words):
    paths = {HEAT: (status, body), **PLAN}
    with serving(paths) as double, glass(double) as service, pytest.raises(liqdata.Refused) as raised:
        service.heatmap("ETH")
    assert words in str(raised.value)
    assert (raised.value.status, json.loads(raised.value.body)) == (status, body)
    # It is asked once, and the plan only after a refusal for the plan.
    assert len(double.asked) == (2 if "STARTUP" in words or "STARTUP" in str(raised.value) else 1)


def test_a_failed_plan_query_does_not_change_the_error():
    refusal = {"code": "401", "msg": "Upgrade plan"}
    words = "the plan of the key is too small; this needs the plan Professional"
    with serving({HEAT: refusal}) as double, glass(double) as service, pytest.raises(liqdata.Refused, match=words):
        service.heatmap("ETH")


@pytest.mark.parametrize(
    "busy", [(429, {"code": "429", "msg": "slow"}, {"Retry-After": "0"}), {"code": "429", "msg": "slow"}]
)
def test_both_forms_of_rate_limit_errors_are_retried(busy):
    with serving({HEAT: Script(busy, busy, replies.HEATMAPS["served"])}) as double, glass(double) as service:
        assert service.heatmap("ETH").matrix.size == 12
    assert len(double.asked) == 3


def test_a_wait_for_the_limit_is_neither_an_attempt_nor_part_of_the_time_limit():
    busy = (429, {"message": "Too Many Requests"}, {"Retry-After": "0.4"})
    history = [{"symbol": "ETHUSDT_PERP.A", "history": [{"t": replies.T, "l": 1, "s": 2}]}]
    with (
        serving({"/liquidation-history": Script(busy, busy, busy, history)}) as double,
        vendors.Coinalyze(KEY, base_url=double.url, timeout=1.0, retries=1) as service,
    ):
        assert len(service.history("ETHUSDT_PERP.A")) == 1
    assert len(double.asked) == 4


def test_limits_of_the_headers_are_in_meta():
    headers = {"API-KEY-MAX-LIMIT": "80", "API-KEY-USE-LIMIT": "3"}
    with serving({HEAT: (200, replies.HEATMAPS["served"], headers)}) as double, glass(double) as service:
        assert service.heatmap("ETH").meta["limits"] == {"per_minute": 80, "used": 3}


def test_the_limit_of_the_plan_is_respected_once_it_is_known():
    plan = replies.glass({"level": "HOBBYIST", "expire_time": replies.MS, "expired": False})
    paths = {HEAT: replies.HEATMAPS["served"], "/api/user/account/subscription": plan}

    async def ask(double):
        async with vendors.AsyncCoinGlass(KEY, base_url=double.url) as service:
            assert (await service.plan())["level"] == "HOBBYIST"
            tasks = [asyncio.create_task(service.heatmap("ETH")) for _ in range(33)]
            for answered in itertools.islice(asyncio.as_completed(tasks), 30):
                await answered
            await asyncio.sleep(0.3)
            for task in tasks:
                task.cancel()

    with serving(paths) as double:
        asyncio.run(ask(double))
    assert len(double.asked) == 1 + 30


CHANGES = [
    ("data.y_axis[1]", lambda data: data["y_axis"].__setitem__(1, "x")),
    ("data.y_axis[2]", lambda data: data["y_axis"].__setitem__(2, 1)),
    ("data.y_axis", lambda data: data.__setitem__("y_axis", [])),
    ("data.y_axis", lambda data: data.pop("y_axis")),
    (
        "data.liquidation_leverage_data[1][2]",
        lambda data: data["liquidation_leverage_data"].__setitem__(1, [0, 1, None]),
    ),
    ("data.liquidation_leverage_data[0][0]", lambda data: data["liquidation_leverage_data"].__setitem__(0, [-1, 1, 5])),
    (
        "data.liquidation_leverage_data[0][1]",
        lambda data: data["liquidation_leverage_data"].__setitem__(0, [1, 1.5, 5]),
    ),
    ("data.liquidation_leverage_data[2]", lambda data: data["liquidation_leverage_data"].__setitem__(2, [9, 0, 5])),
    ("data.liquidation_leverage_data[2]", lambda data: data["liquidation_leverage_data"].__setitem__(2, [0, 0, 5])),
    ("data.liquidation_leverage_data", lambda data: data.__setitem__("liquidation_leverage_data", {})),
    ("data.price_candlesticks[1]", lambda data: data["price_candlesticks"].__setitem__(1, [1])),
    ("data.price_candlesticks[1][4]", lambda data: data["price_candlesticks"][1].__setitem__(4, "NaN")),
    ("data.price_candlesticks[2]", lambda data: data["price_candlesticks"][2].__setitem__(0, replies.T)),
    ("data.update_time", lambda data: data.__setitem__("update_time", "soon")),
]


@pytest.mark.parametrize("path, change", CHANGES, ids=[str(place) for place in range(len(CHANGES))])
def test_a_hostile_reply_is_refused_by_the_name_of_the_field(path, change):
    reply = copy.deepcopy(replies.HEATMAPS["served"])
    change(reply["data"])
    with serving({HEAT: reply}) as double, glass(double) as service, pytest.raises(liqdata.UnexpectedReply) as raised:
        service.heatmap("ETH")
    assert raised.value.path == path
    assert path in str(raised.value)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"null", b"{}", b'{"code":"0"}', b'{"code":"0","data":{"y_axis":[1']
)
def test_an_invalid_reply_is_refused(body):
    with serving({HEAT: (200, body)}) as double, glass(double) as service, pytest.raises(liqdata.UnexpectedReply):
        service.heatmap("ETH")


@pytest.mark.parametrize("inclusive", [True, False])
def test_pages_of_orders_have_each_order_once(inclusive):
    draw = random.Random(41)
    every = [
        {
            "exchange_name": "BINANCE", "symbol": "ETHUSDT", "base_asset": "ETH", "price": 2000 + draw.randrange(3),
            "usd_value": 100, "side": 1 + draw.randrange(2), "time": replies.MS + draw.randrange(120),
        }
        for _ in range(3000)
    ]  # fmt: skip
    every.sort(key=lambda row: -row["time"])

    def page(query):
        end = int(query.get("end_time", 2 * replies.MS))
        return replies.glass([row for row in every if row["time"] < end + inclusive][:200])

    with serving({f"{ROOT}order": page}) as double, glass(double) as service:
        found = list(service.iter_orders("ETH", "binance"))
        part = list(service.iter_orders("ETH", "binance", start=replies.MS + 60, max_rows=700))
    count = Counter((row["price"], row["side"], row["timestamp"]) for row in found)
    assert count == Counter((row["price"], {1: "SHORT", 2: "LONG"}[row["side"]], row["time"]) for row in every)
    assert part == found[:700]


@pytest.mark.parametrize("name", NAMES)
def test_each_class_has_the_methods_of_its_vendor_and_an_async_class(name):
    blocking, twin = getattr(vendors, name), getattr(vendors, f"Async{name}")
    methods = {one for one, member in vars(blocking).items() if inspect.isfunction(member) and not one.startswith("_")}
    assert methods == {
        one for one, member in vars(twin).items() if inspect.isfunction(member) and not one.startswith("_")
    }
    for one in methods:
        assert inspect.signature(getattr(blocking, one)).parameters == inspect.signature(getattr(twin, one)).parameters
    keys = ("id", "secret-of-it", KEY) if name == "Hyblock" else (KEY,)
    service = blocking(*keys)
    for one in {"heatmap", "liqmap", "maxpain", "orders", "history", "plan"} - methods:
        with pytest.raises(AttributeError, match=rf"{name} has no {one}; .*CoinGlass"):
            getattr(service, one)


def test_the_async_class_answers_alike():
    async def ask(double):
        async with vendors.AsyncCoinGlass(KEY, base_url=double.url) as service:
            maps = await asyncio.gather(*(service.heatmap("ETH") for _ in range(3)))
            return maps, [row async for row in service.iter_orders("ETH", "binance")]

    with (
        serving({HEAT: replies.HEATMAPS["served"], f"{ROOT}order": replies.ORDERS}) as double,
        glass(double) as service,
    ):
        maps, orders = asyncio.run(ask(double))
        assert maps == [service.heatmap("ETH")] * 3
        assert orders == list(service.orders("ETH", "binance"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [200, 403])
def test_errors_mask_a_key_that_a_service_repeats(name, status):
    keys = ("an-id", "s3cret-of-client", KEY) if name == "Hyblock" else (KEY,)
    words = f"bad {' '.join(keys[-2:])}"
    refusals = [
        {"code": "401", "message": words, "msg": words, "error": words},
        {"code": words, "success": False},
        words,
    ]
    for refusal in refusals:
        paths = dict.fromkeys(
            [HEAT, "/api/liqMap/getLiqHeatMap", "/liquidation-history", "/oauth2/token"], (status, refusal)
        )
        paths |= dict.fromkeys(["/liquidation/map", "/rows"], (status, refusal))
        with serving(paths) as double, getattr(vendors, name)(*keys, base_url=double.url) as service:
            ask = next(getattr(service, one) for one in ("heatmap", "liqmap", "history") if one in dir(service))
            with pytest.raises(liqdata.LiqdataError) as raised:
                ask("BTCUSDT_PERP.A" if name == "Coinalyze" else "BTC")
        assert double.asked[-1][0] in {*paths, "/api/user/account/subscription"}
        error = raised.value
        texts = [str(error), str(vars(error)), pickle.dumps(error).decode("latin1"), repr(error.__cause__)]
        # The error of the transport that this one replaces: pickles have it too once Dask is imported.
        texts += [repr(error.__context__), str(getattr(error.__context__, "body", ""))]
        assert [text for text in texts if any(key in text for key in keys[-2:])] == []


def test_a_key_is_never_shown(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.delenv("COINGLASS_API_KEY", raising=False)
    with pytest.raises(liqdata.BadQuery, match=r"\$COINGLASS_API_KEY"):
        vendors.CoinGlass()
    with serving({HEAT: (403, {"code": "401", "msg": f"bad key {KEY}"})}) as double, glass(double) as service:
        with pytest.raises(liqdata.Refused) as raised:
            service.heatmap("ETH")
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(service)
        seen = [repr(service), str(raised.value), raised.value.body, caplog.text, str(double.asked[0][:2])]
        assert double.asked[0][2]["cg-api-key"] == KEY
        monkeypatch.setenv("COINGLASS_API_KEY", KEY)
        mine = vendors.CoinGlass(base_url=double.url, sides="position")
        pickled = pickle.dumps(mine)
    assert repr(pickle.loads(pickled)) == repr(mine)
    assert not any(KEY in text for text in seen)
    assert KEY.encode() not in pickled


# --- the same questions for all of them

HOUR = 3_600_000
START = replies.MS // HOUR * HOUR


def glass_history(query):
    first, last = (int(query[name]) for name in ("start_time", "end_time"))
    at = range(-(-first // HOUR) * HOUR, last, HOUR)
    cell = {"aggregated_long_liquidation_usd": 1.25, "aggregated_short_liquidation_usd": 2}
    return replies.glass([{"time": one, **cell} for one in at][: int(query["limit"])])


def ank_history(query):
    last = int(query["endTime"]) // HOUR * HOUR
    cell = {"longTurnover": 1.25, "shortTurnover": "2"}
    at = range(last, last - int(query["size"]) * HOUR, -HOUR)
    return {"success": True, "code": "1", "data": [{"ts": one, "all": cell} for one in at]}


def block_history(query):
    first, last = (1000 * int(query[name]) for name in ("startTime", "endTime"))
    at = range(-(-first // HOUR) * HOUR, last, HOUR)
    cell = {"longLiquidation": 1.25, "shortLiquidation": 2}
    return {"data": [{"openDate": one // 1000, **cell} for one in at][: int(query["limit"])]}


def alyze_history(query):
    first, last = (1000 * int(query[name]) for name in ("from", "to"))
    return [
        {"symbol": name, "history": [{"t": one // 1000, "l": 0.625, "s": 1} for one in range(first, last, HOUR)]}
        for name in query["symbols"].split(",")
    ]


def velo_history(query):
    head = "exchange,coin,product,time,sell_liquidations_dollar_volume,buy_liquidations_dollar_volume\n"
    rows = [
        f"{venue},{query['coins']},{query['coins']}{quote},{at},{long},{short}\n"
        for at in range(int(query["begin"]), int(query["end"]), HOUR)
        for venue, quote, long, short in (("bybit", "USDT", 1, 0.5), ("bybit", "USDC", 0.25, 1.5))
    ]
    return (head + "".join(rows)).encode()


MARKETS = [
    {"symbol": "ETHUSDT_PERP.A", "base_asset": "ETH", "quote_asset": "USDT", "exchange": "A"},
    {"symbol": "ETHUSD_PERP.0", "base_asset": "ETH", "quote_asset": "USD", "exchange": "0"},
    {"symbol": "BTCUSDT_PERP.A", "base_asset": "BTC", "quote_asset": "USDT", "exchange": "A"},
]
HISTORIES = {
    "CoinGlass": {f"{ROOT}aggregated-history": glass_history},
    "CoinAnk": {"/api/liquidation/aggregated-history": ank_history},
    "Hyblock": {
        "/oauth2/token": {"access_token": "t0ken-value", "expires_in": 3600, "token_type": "Bearer"},
        "/liquidation": block_history,
    },
    "Coinalyze": {
        "/exchanges": [{"name": "Binance", "code": "A"}, {"name": "BitMEX", "code": "0"}],
        "/future-markets": MARKETS,
        "/liquidation-history": alyze_history,
    },
    "Velo": {"/rows": velo_history},
}


@pytest.mark.parametrize("name", HISTORIES)
def test_the_history_of_a_coin_is_its_sum_over_markets_from_start_to_end(name):
    hours = 1500 if name in {"CoinGlass", "CoinAnk", "Hyblock"} else 40  # several pages
    with serving(HISTORIES[name]) as double:
        service = getattr(vendors, name)(*(KEY,) * (3 if name == "Hyblock" else 1), base_url=double.url)
        rows = service.history("ETH", interval="1h", start=START, end=START + hours * HOUR, by=("coin",))
    assert rows["timestamp"].astype("int64").tolist() == [START + place * HOUR for place in range(hours)]
    assert {(row["coin"], row["long_usd"], row["short_usd"]) for row in rows} == {("ETH", Decimal("1.25"), 2)}
    with serving({}) as double:
        service = getattr(vendors, name)(*(KEY,) * (3 if name == "Hyblock" else 1), base_url=double.url)
        for parameter, value in {"by": "side", "min_usd": 1000, "as_of": "2026-01-01"}.items():
            with pytest.raises(liqdata.BadQuery, match=f"^{parameter}: {name} cannot answer history by it"):
                service.history("ETH", **{parameter: value})
        with pytest.raises(TypeError, match="unexpected keyword argument 'intervall'"):
            service.history("ETH", intervall="1h")
    assert double.asked == []


def cells(at):
    """A row of CoinGlass or Hyblock for any question that has periods."""
    prices = {"open": 2000, "high": 2100, "low": 1900, "close": 2000 + (at - START) // HOUR, "volume_usd": 5}
    totals = {f"aggregated_{side}_liquidation_usd": 1 for side in ("long", "short")}
    order = {"exchange_name": "OKX", "symbol": "ETHUSDT", "price": 2000, "usd_value": 1, "side": 1}
    block = {"openDate": at // 1000, "longLiquidation": 1, "shortLiquidation": 1}
    return {"time": at, **prices, **totals, **order, **block}


def point(at):
    return {"t": at // 1000, "o": 2000, "h": 2100, "l": 1900, "c": 2000 + (at - START) // HOUR, "v": 5, "s": 1}


def wide(_):
    """More than any range of the test, its end and the hours around it too."""
    return replies.glass([cells(START + place * HOUR) for place in range(-3, 9)])


def alyze_wide(query):
    history = [point(START + place * HOUR) for place in range(-3, 9)]
    return [{"symbol": name, "history": history} for name in query["symbols"].split(",")]


def ank_orders(_):
    row = {"exchangeName": "Okex", "contractCode": "ETHUSDT", "posSide": "long", "amount": 1, "price": 2000}
    rows = [{**row, "tradeTurnover": 2000, "ts": START + place * HOUR} for place in range(-3, 9)]
    return {"success": True, "code": "1", "data": rows}


WIDE = {
    f"{ROOT}aggregated-history": wide,
    f"{ROOT}order": wide,
    "/api/futures/price/history": wide,
    "/api/futures/open-interest/history": wide,
    "/oauth2/token": HISTORIES["Hyblock"]["/oauth2/token"],
    "/liquidation": wide,
    "/exchanges": HISTORIES["Coinalyze"]["/exchanges"],
    "/future-markets": MARKETS[:1],
    "/liquidation-history": alyze_wide,
    "/ohlcv-history": alyze_wide,
    "/open-interest-history": alyze_wide,
    "/api/liquidation/orders": ank_orders,
    "/api/liquidation/aggregated-history": lambda _: ank_history({"endTime": START + 9 * HOUR, "size": "12"}),
    "/rows": lambda query: velo_history({**query, "begin": START - 3 * HOUR, "end": START + 9 * HOUR}),
}
RANGES = {
    "CoinGlass": {"history": {}, "orders": {"exchange": "okx"}, "bars": {}, "open_interest": {}},
    "Coinalyze": {"history": {}, "open_interest": {}},
    "CoinAnk": {"history": {}, "orders": {"exchange": "okx"}},
    "Hyblock": {"history": {}},
    "Velo": {"history": {}},
}


@pytest.mark.parametrize("name, method", [(name, method) for name in RANGES for method in RANGES[name]])
def test_neighbouring_ranges_add_up_to_the_whole_whatever_a_service_sends(name, method):
    def hours(first, last):
        found = ask("ETH", start=START + first * HOUR, end=START + last * HOUR, **RANGES[name][method])
        return sorted((found["timestamp"].astype("int64") - START) // HOUR)

    with serving(WIDE) as double:
        service = getattr(vendors, name)(*(KEY,) * (3 if name == "Hyblock" else 1), base_url=double.url)
        ask = getattr(service, method)
        whole, first, second = hours(0, 5), hours(0, 2), hours(2, 5)
        if method == "orders":
            walked = list(service.iter_orders("ETH", "okx", start=START, end=START + 5 * HOUR))
            assert [row["timestamp"] for row in walked] == [START + place * HOUR for place in (4, 3, 2, 1, 0)]
    assert (first, second) == ([0, 1], [2, 3, 4])
    assert whole == first + second


def test_bars_and_open_interest_of_a_period_that_is_open_are_not_finished():
    now = int(time.time() * 1000)
    day = 24 * HOUR
    opens = [now // day * day - place * day for place in (2, 1, 0)]
    paths = {
        f"/api/futures/{part}/history": replies.glass(list(map(cells, opens))) for part in ("price", "open-interest")
    }
    history = [{"symbol": "ETHUSDT_PERP.A", "history": list(map(point, opens))}]
    paths |= dict.fromkeys(("/ohlcv-history", "/open-interest-history"), history)
    with serving(paths) as double, glass(double) as service, vendors.Coinalyze(KEY, base_url=double.url) as other:
        for one, symbol in ((service, "ETH"), (other, "ETHUSDT_PERP.A")):
            bars, readings = one.bars(symbol, interval="1d"), one.open_interest(symbol, interval="1d")
            assert bars["timestamp"].astype("int64").tolist() == opens[:2]
            assert readings["timestamp"].astype("int64").tolist() == opens[1:]
            assert readings["closes_at"].tolist() == readings["timestamp"].tolist()


def test_a_market_knows_the_open_interest_of_a_vendor_from_the_end_of_its_period_on(tmp_path):
    bars = [
        {
            "exchange": "binance", "symbol": "ETH", "timestamp": START + place * HOUR, "open": 2000.0, "high": 2000.0,
            "low": 2000.0, "close": 2000.0, "volume": 1.0, "interval": HOUR,
        }
        for place in range(-5, 12)
    ]  # fmt: skip
    with serving(WIDE) as double, glass(double) as service:
        readings = service.open_interest("ETH", start=START, end=START + 5 * HOUR)
    readings.to_csv(tmp_path / "readings.csv")
    liqdata.ingest(tmp_path / "archive", bars=bars, open_interest=readings)
    liqdata.ingest(tmp_path / "again", bars=bars)
    liqdata.ingest(tmp_path / "again", tmp_path / "readings.csv")
    markets = [
        liqdata.Market(bars=bars, open_interest=readings),
        liqdata.Market(bars=bars, open_interest=readings.to_pandas()),
        liqdata.open(tmp_path / "archive"),
        liqdata.open(tmp_path / "again"),
    ]
    for market in markets:
        known = market.open_interest("ETH", end=START + 3 * HOUR + 1)
        assert known["timestamp"].astype("int64").tolist() == [START + place * HOUR for place in range(4)]
        assert known[-1]["open_interest"] == pytest.approx(2002 / 2000)  # the close of the hour before
    assert list(markets[0].open_interest("ETH", as_of=START + 3 * HOUR)) == list(known)


def test_a_misspelt_exchange_is_refused_and_an_unknown_one_is_sent_with_a_warning():
    with serving({}) as double, glass(double) as service:
        asks = [
            lambda name: service.history("ETH", exchange=name),
            lambda name: service.history("ETH", exchange=["okx", name]),
            lambda name: service.orders("ETH", name),
            lambda name: list(service.iter_orders("ETH", name)),
            lambda name: service.bars("ETH", exchange=name),
            lambda name: service.coins(exchange=name),
            lambda name: vendors.CoinAnk(KEY, base_url=double.url).liqmap("ETH", exchange=name),
            lambda name: vendors.Hyblock("id", "secret", KEY, base_url=double.url).heatmap("ETH", exchange=name),
            lambda name: vendors.DataMaxi(KEY, base_url=double.url).liqmap("ETH", exchange=name),
            lambda name: vendors.Velo(KEY, base_url=double.url).history("ETH", exchange=name),
        ]
        for ask in asks:
            for name, meant in {"binanse": "binance", "Bybt": "bybit"}.items():
                with pytest.raises(liqdata.BadQuery, match=f"exchange: '{name}' is unknown; did you mean '{meant}'?"):
                    ask(name)
        with pytest.raises(liqdata.BadQuery, match=r"symbol: \['BTC', 'ETH'\] is a list; allowed: one coin"):
            service.history(["BTC", "ETH"])
        assert {path for path, *_ in double.asked} <= {"/oauth2/token"}
    with (
        serving({f"{ROOT}aggregated-history": replies.glass([])}) as double,
        glass(double) as service,
        pytest.warns(UserWarning, match="exchange: 'Bitunix' is not among the known names, .* it is sent as it is"),
    ):
        service.history("ETH", exchange="Bitunix")
    assert double.asked[0][1]["exchange_list"] == "Bitunix"


def test_a_misspelt_class_is_named():
    with pytest.raises(AttributeError, match="has no attribute 'Coinglass'; did you mean 'CoinGlass'"):
        vendors.Coinglass  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'Laevitas'; allowed: AsyncCoinAnk, "):
        vendors.Laevitas  # noqa: B018
    with vendors.Velo(KEY) as service, pytest.raises(AttributeError, match="'histroy'; did you mean 'history'"):
        service.histroy  # noqa: B018


def test_orders_with_sides_read_by_the_client_are_accepted_and_files_with_numbers_are_not(tmp_path):
    with serving({f"{ROOT}order": replies.ORDERS}) as double:
        for sides in ("documented", "position"):
            rows = glass(double, sides=sides).orders("ETH", "binance")
            liqdata.ingest(tmp_path / sides, orders=rows)
            rows.to_csv(tmp_path / f"{sides}.csv")
            for market in (liqdata.open(tmp_path / sides), liqdata.read(tmp_path / f"{sides}.csv")):
                found = market.orders("ETH", start=rows[-1]["timestamp"])
                assert [row["side"] for row in found] == [row["side"] for row in rows]
    order = replies.ORDERS["data"][0]
    lines = [",".join(order), ",".join(map(str, order.values()))]
    (tmp_path / "numbers.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(liqdata.BadQuery, match="a side with two documented meanings"):
        liqdata.read(tmp_path / "numbers.csv")


def test_parameters_of_other_sources_and_other_libraries_are_named():
    with serving({}) as double, glass(double) as service:
        for ask in (service.history, service.orders, service.coins, service.exchanges, service.maxpain):
            subject = {} if ask in {service.coins, service.exchanges} else {"symbol": "ETH"}
            with pytest.raises(
                liqdata.BadQuery, match=r"as_of: CoinGlass cannot answer .* allowed: leaving as_of= out"
            ):
                ask(**subject, as_of="2026-01-01")
        with pytest.raises(liqdata.BadQuery, match="source: CoinGlass cannot answer history by it"):
            service.history("ETH", source="coinglass")
        for name, meant in {"timeframe": "interval", "since": "start", "exchnge": "exchange"}.items():
            with pytest.raises(TypeError, match=rf"history\(\) .* '{name}'; did you mean '{meant}'"):
                service.history("ETH", **{name: "1h"})
    assert double.asked == []


def test_bars_of_vendors_are_bars_of_a_market(tmp_path):
    span = {"start": START, "end": START + 4 * HOUR}
    with serving(WIDE) as double, glass(double) as service, vendors.Coinalyze(KEY, base_url=double.url) as other:
        bars, markets = service.bars("ETH", exchange="okx", **span), other.bars("ETH", **span)
        given = other.bars("ETHUSDT_PERP.A", **span)
    assert [row["volume"] for row in bars] == [round(5 / 2000, 8)] * 4
    bars.to_csv(tmp_path / "bars.csv")
    liqdata.ingest(tmp_path / "archive", bars=bars)
    for market in (
        liqdata.Market(bars=bars), liqdata.open(tmp_path / "archive"), liqdata.read(tmp_path / "bars.csv"),
    ):  # fmt: skip
        assert [(bar["close"], bar["volume"]) for bar in market.bars("ETH")] == [
            (row["close"], row["volume"]) for row in bars
        ]
    assert {(row["symbol"], row["exchange"]) for row in markets} == {("ETHUSDT_PERP.A", "binance")}
    assert [row["close"] for row in given] == [row["close"] for row in liqdata.Market(bars=given).bars("ETH")]


def test_a_pair_is_never_answered_with_the_sum_of_its_coin():
    with serving({}) as double:
        for name in HISTORIES.keys() - {"Coinalyze"}:
            service = getattr(vendors, name)(*(KEY,) * (3 if name == "Hyblock" else 1), base_url=double.url)
            with pytest.raises(liqdata.BadQuery, match=r"symbol: 'ETHUSDT' is a pair, and .* allowed: a coin"):
                service.history("ETHUSDT")
        with pytest.raises(liqdata.BadQuery, match="exchange: CoinAnk has only pairs of one exchange"):
            vendors.CoinAnk(KEY, base_url=double.url).history("ETH", exchange="binance")
    assert double.asked == []
    with (
        serving(HISTORIES["Coinalyze"]) as double,
        vendors.Coinalyze(KEY, base_url=double.url) as service,
    ):
        pair = service.history("ETHUSDT", start=START, end=START + HOUR)
        one = service.history("ETH", exchange="bitmex", start=START, end=START + HOUR)
        with pytest.raises(
            liqdata.BadQuery, match="exchange: Coinalyze has no market of 'ETH' on okx; allowed: one of"
        ):
            service.history("ETH", exchange="okx")
        with pytest.raises(liqdata.BadQuery, match="symbol: Coinalyze has no market of 'XRP'"):
            service.history("XRP")
    assert (pair[0]["long_usd"], pair.meta["markets"]) == (Decimal("0.625"), ["ETHUSDT_PERP.A"])
    assert one.meta["markets"] == ["ETHUSD_PERP.0"]
    assert [path for path, *_ in double.asked].count("/future-markets") == 1


def test_orders_of_a_coin_are_those_of_all_exchanges_newest_first_and_say_whether_there_are_more():
    draw = random.Random(56)
    every = sorted(
        (
            {
                "exchange_name": draw.choice(["BINANCE", "OKX", "Bybit"]), "base_asset": "ETH",
                "symbol": draw.choice(["ETHUSDT", "ETHUSDC"]), "price": 2000, "usd_value": 100 + place, "side": 1,
                "time": replies.MS + place // 3,
            }
            for place in range(900)
        ),
        key=lambda row: -row["time"],
    )  # fmt: skip

    def page(query):
        if query["exchange"] == "Kraken":
            return 400, {"code": "400", "msg": "exchange not supported"}
        end = int(query.get("end_time", 2 * replies.MS))
        mine = [
            row for row in every if row["exchange_name"].lower() == query["exchange"].lower() and row["time"] <= end
        ]
        return replies.glass(mine[:200])

    def amounts(rows):
        return [row["value_usd"] for row in rows]

    with serving({f"{ROOT}order": page}) as double, glass(double) as service:
        first = service.orders("ETH", limit=70)
        second = service.orders("ETH", limit=50, offset=70)
        whole = list(service.iter_orders("ETH"))
        last = service.orders("ETH", limit=1000)
        pair = service.orders("ETHUSDC", "okx", limit=1000)
    assert (first.meta["more"], last.meta["more"], first.meta["missing"]) == (True, False, ["kraken"])
    assert amounts(first) + amounts(second) == amounts(whole)[:120]
    assert [row["timestamp"] for row in whole] == [row["time"] for row in every]
    assert amounts(last) == amounts(whole)
    assert sorted(amounts(whole)) == sorted(row["usd_value"] for row in every)
    assert {(row["exchange"], row["symbol"]) for row in pair} == {("okx", "ETHUSDC")}
    assert len(pair) == sum(row["exchange_name"] == "OKX" and row["symbol"] == "ETHUSDC" for row in every)
    assert "more with iter_orders" in repr(first)
    assert "more" not in repr(last)


def endless(seconds=0.0):
    """Orders of ETHUSDT at every second of the past, on each exchange."""
    moment = time.time_ns() // 10**9 * 1000

    def glass_page(query):
        time.sleep(seconds)
        end = min(int(query.get("end_time", moment)), moment) // 1000 * 1000
        order = {"exchange_name": query["exchange"], "symbol": "ETHUSDT", "price": 2000, "usd_value": 1, "side": 1}
        return replies.glass([{**order, "time": end - place * 1000} for place in range(200)])

    def ank_page(query):
        end = min(int(query.get("endTime", moment)), moment) // 1000 * 1000
        order = {"exchangeName": query["exchange"], "contractCode": "ETHUSDT", "posSide": "long", "amount": 1}
        rows = [{**order, "price": 1, "tradeTurnover": 1, "ts": end - place * 1000} for place in range(200)]
        return {"success": True, "code": "1", "data": rows}

    return {f"{ROOT}order": glass_page, "/api/liquidation/orders": ank_page}


@pytest.mark.parametrize("name", ["CoinGlass", "CoinAnk"])
def test_the_search_for_orders_of_a_rare_pair_ends(name):
    with serving(endless()) as double:
        service = getattr(vendors, name)(KEY, base_url=double.url)
        rows = service.orders("ETHUSDC", "binance", limit=3)
        asked = len(double.asked)
        bounded = service.orders("ETHUSDC", "binance", limit=3, start="-5m")
        several = service.orders("ETHUSDT", limit=30)
        with pytest.raises(liqdata.BadQuery, match="start: is not given, and 200 pages of binance have no such order"):
            next(service.iter_orders("ETHUSDC", "binance"))
        assert list(service.iter_orders("ETHUSDC", "binance", start="-5m")) == []
    assert (len(rows), rows.meta["more"], asked <= 50) == (0, True, True)
    assert "more with iter_orders" in repr(rows)
    assert (len(bounded), bounded.meta["more"]) == (0, False)
    assert (len(several), several.meta["more"]) == (30, True)


def test_the_search_for_orders_of_a_rare_pair_ends_in_time():
    begin = time.monotonic()
    with serving(endless(0.2)) as double, glass(double, timeout=0.5) as service:
        rows = service.orders("ETHUSDC", "binance")
    assert (rows.meta["more"], time.monotonic() - begin < 5) == (True, True)


def test_a_map_of_hyblock_has_the_levels_of_its_range():
    level = {"size": 5, "price": 1900, "leverage": "25", "side": "long", "timestamp": replies.T}
    rows = [{**level, "creationDate": replies.T - hours * 3600} for hours in (1, 23, 25, 200)]
    with (
        serving({**HISTORIES["Hyblock"], "/liquidationLevels": {"data": rows}}) as double,
        vendors.Hyblock("id", "s3cret-of-client", KEY, base_url=double.url) as service,
    ):
        found = {range: service.liqmap("ETH", range).total.tolist() for range in ("1d", "7d", "all")}
    assert found == {"1d": [10.0], "7d": [15.0], "all": [20.0]}
    assert double.asked[1][1]["exchange"].split(",")[:2] == ["binance", "bybit"]
    with (
        serving({}) as double,
        vendors.DataMaxi(KEY, base_url=double.url) as service,
        pytest.raises(liqdata.BadQuery, match="range: '1d' is not allowed; allowed: 'all'"),
    ):
        service.liqmap("ETH", "1d")


# --- the page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "vendors.md"


def answered():
    """The table of what each service answers, by the parameters of its methods."""
    every = {name: vars(getattr(vendors, name)) for name in NAMES}
    rows = [f"| | {' | '.join(f'`{name}`' for name in NAMES)} |", f"|---{'|---' * len(NAMES)}|"]
    for method in METHODS:
        cells = []
        for name in NAMES:
            found = every[name].get(method)
            known = [] if found is None else list(inspect.signature(found).parameters)
            given = ", ".join(f"`{one}`" for one in known if one not in {"self", "others"})
            cells.append("–" if found is None else given or "yes")
        rows.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def test_the_page_says_what_each_service_answers():
    assert answered() in PAGE.read_text(encoding="utf-8")
