"""Replies of vendors, ours and collected ones: each is read, and each damaged one is refused by a field."""

import copy
import json
import os
from decimal import Decimal
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import vendor_replies as replies
from vendor_double import serving

import liqdata
from liqdata import vendors
from liqdata.recording.sources import _Stored
from liqdata.vendors.reply import Reply

KEY = "k3y-that-no-one-sees"
MARKET = "BTCUSDT_PERP.A"
REAL = Path(os.environ.get("LIQDATA_REAL_DATA", "/nowhere")) / "vendors"
at_hand = pytest.mark.skipif(not REAL.is_dir(), reason="the collected replies are not at hand")

# The method that reads each reply, with its arguments.
READ = [
    ("CoinGlass", "coinglass/*heatmap*", "heatmap", ("BTC",), {}),
    ("CoinGlass", "coinglass/map_*", "liqmap", ("BTC",), {"exchange": "binance"}),
    ("CoinGlass", "coinglass/aggregated_map_*", "liqmap", ("BTC",), {}),
    ("CoinGlass", "coinglass/max_pain_*", "maxpain", ("BTC",), {}),
    ("CoinGlass", "coinglass/order_*", "orders", ("BTC", "binance"), {}),
    ("CoinGlass", "coinglass/history_*", "history", ("BTCUSDT",), {"exchange": "binance"}),
    ("CoinGlass", "coinglass/aggregated_history_*", "history", ("BTC",), {}),
    ("CoinGlass", "coinglass/coin_list_*", "coins", (), {}),
    ("CoinGlass", "coinglass/exchange_list_*", "exchanges", (), {}),
    ("CoinGlass", "coinglass/price_history_*", "bars", ("BTC",), {}),
    ("CoinGlass", "coinglass/open_interest_history_*", "open_interest", ("BTC",), {}),
    ("CoinGlass", "coinglass/subscription_*", "plan", (), {}),
    ("CoinAnk", "coinank/getLiqHeatMap_*", "heatmap", ("BTC",), {}),
    ("CoinAnk", "coinank/getLiqMap*", "liqmap", ("BTC",), {"exchange": "okx"}),
    ("CoinAnk", "coinank/getAggLiqMap*", "liqmap", ("BTC",), {}),
    ("CoinAnk", "coinank/orders*", "orders", ("BTC", "binance"), {}),
    ("CoinAnk", "coinank/nested_envelope*", "orders", ("BTC", "binance"), {}),
    ("CoinAnk", "coinank/history*", "history", ("BTCUSDT",), {"exchange": "binance"}),
    ("CoinAnk", "coinank/aggregated_history*", "history", ("BTC",), {}),
    ("Coinalyze", "coinalyze/liquidation_history*", "history", (MARKET,), {}),
    ("Coinalyze", "coinalyze/ohlcv_history*", "bars", (MARKET,), {}),
    ("Coinalyze", "coinalyze/open_interest_history*", "open_interest", (MARKET,), {}),
    ("Hyblock", "hyblock/liquidationHeatmap*", "heatmap", ("BTC",), {}),
    ("Hyblock", "hyblock/liquidationLevels*", "liqmap", ("BTC",), {}),
    ("Hyblock", "hyblock/liquidation.json", "history", ("BTC",), {}),
    ("DataMaxi", "datamaxi/map*", "liqmap", ("BTC",), {}),
    ("DataMaxi", "datamaxi/heatmap_*", "coins", (), {"range": "1h"}),
    ("DataMaxi", "datamaxi/symbol_liquidation*", "exchanges", (), {"symbol": "BTC"}),
    ("Velo", "velodata/rows*", "history", ("BTC",), {"start": 1_790_000_000_000, "end": 1_790_000_200_000}),
]
# No method asks for these: they have no answer of ours, or their vendor has no client.
UNREAD = [
    "README.md", "coinglass/exchange_rank*", "coinglass/supported_exchanges*", "coinglass/ws_*",
    "coinank/getLiqHeatMapSymbol*", "coinank/allExchange_intervals*", "hyblock/cumulativeLiqLevel*",
    "hyblock/token*", "datamaxi/stats*", "amberdata/*", "cryptoquant/*", "hypertracker/*",
]  # fmt: skip
# The kind of refusal by vendor, file and HTTP status.
REFUSED = [
    ("CoinGlass", "coinglass/error_upgrade_plan_*", 200, "too small; this needs the plan Professional"),
    ("CoinGlass", "coinglass/error_api_key_missing_*", 200, "the key is missing, wrong or expired"),
    ("CoinGlass", "coinglass/error_invalid_key*", 400, "the key is missing, wrong or expired"),
    ("CoinAnk", "coinank/error_auth*", 200, "the key is wrong, or its plan is too small"),
    ("CoinAnk", "coinank/error_time*", 200, "clock"),
    ("Hyblock", "hyblock/error_401*", 401, "the key is missing, wrong or expired"),
    ("Hyblock", "hyblock/error_403*", 403, "the plan of the key is too small"),
    ("Hyblock", "hyblock/error_429*", 429, "Limit Exceeded"),
    ("DataMaxi", "datamaxi/error*", 400, "bad request"),
]


def service_of(vendor, **options):
    return getattr(vendors, vendor)(*(KEY,) * (3 if vendor == "Hyblock" else 1), **options)


def read(vendor, method, positional, named, body):
    """The answer of a method to a body, without a connection."""
    with service_of(vendor) as service:
        service._access = _Stored(service._access, Reply(200, {}, body, replies.MS))
        return getattr(service, method)(*positional, **named)


def content(answer):
    """What an answer says, without ``meta``."""
    if isinstance(answer, liqdata.Heatmap):
        return (answer.prices.tolist(), answer.times.tolist(), answer.matrix.tolist(), str(answer.current_price))
    if isinstance(answer, liqdata.LiquidationMap):
        return (answer.prices.tolist(), answer.sides.tolist(), answer.total.tolist(), answer.tiers.tolist())
    if isinstance(answer, liqdata.Record):
        return dict(answer)
    return [{name: value for name, value in row.items() if name != "covered"} for row in answer]


def files_of(pattern):
    return sorted(REAL.glob(pattern))


@at_hand
def test_each_collected_reply_has_its_reader():
    every = [str(file.relative_to(REAL)) for file in REAL.rglob("*") if file.is_file()]
    patterns = [*(row[1] for row in READ), *UNREAD, *(row[1] for row in REFUSED)]
    for pattern in patterns:
        assert files_of(pattern), pattern
    found = [str(file.relative_to(REAL)) for pattern in patterns for file in files_of(pattern)]
    assert sorted(found) == sorted(every)


@at_hand
@pytest.mark.parametrize("vendor, files, status, words", REFUSED, ids=[row[1] for row in REFUSED])
def test_each_collected_refusal_has_its_reason(vendor, files, status, words):
    token = {"/oauth2/token": (200, {"access_token": "t0ken", "expires_in": 3600})}
    for file in files_of(files):
        body = (status, file.read_bytes())
        paths = dict.fromkeys(
            ["/api/futures/liquidation/aggregated-map", "/api/liqMap/getAggLiqMap", "/liquidationLevels",
             "/liquidation/map"], body,
        )  # fmt: skip
        with (
            serving({**paths, **token}) as double,
            service_of(vendor, base_url=double.url, retries=0) as service,
            pytest.raises(liqdata.LiqdataError, match=words) as raised,
        ):
            service.liqmap("BTC")
        assert isinstance(raised.value, liqdata.Refused)
        assert raised.value.status == status


@at_hand
def test_collected_replies_have_the_right_numbers_units_and_sides():
    found = {}
    for vendor, files, *question in READ:
        for file in files_of(files):
            found[f"{file.parent.name}/{file.stem}"] = read(vendor, *question, file.read_bytes())
    for name, heat in found.items():
        if isinstance(heat, liqdata.Heatmap):
            assert heat.units == "relative", name
            cells = json.loads((REAL / f"{name}.json").read_bytes())
            cells = cells[0] if isinstance(cells, list) else cells["data"]
            if "hyblock" not in name:
                cells = cells.get("liqHeatMap", cells)
                cells = next(cells[key] for key in ("liquidation_leverage_data", "liq", "data") if key in cells)
                for x, y, value in cells:
                    assert heat.matrix[int(y), int(x)] == float(value), name
                assert np.count_nonzero(heat.matrix) == len(cells)
    assert found["coinglass/aggregated_heatmap_model2_nonuniform_axis"].prices.tolist()[2:] == [90500, 90900, 92000]
    pair = found["coinglass/map_documented"]
    assert (pair.leverages.tolist(), pair.tiers.sum(0).tolist()) == ([25, 50, 100], [1579370.77, 250000.1, 884100])
    assert set(pair.sides.tolist()) == {"unknown"}
    whole = found["coinglass/aggregated_map_captured_shape"]
    assert whole.total[0] == 1500000.25 + 79370.5
    assert (whole.sides.tolist()[0], whole.sides.tolist()[-1]) == ("long", "short")
    assert whole.meta["exchanges"]["okx"][0] == 79370.5
    web = found["coinglass/map_web_captured_shape"]
    assert (web.prices.tolist(), web.sides.tolist()) == ([90210, 90210.5], ["long", "long"])
    for name in ("documented", "captured"):
        pain = found[f"coinglass/max_pain_{name}_side"]
        (key,) = [key for key in pain if key not in {"symbol", "price", "updatedAt"}]
        assert pain[key]["long"]["price"] < pain["price"] < pain[key]["short"]["price"]
    assert [row["side"] for row in found["coinglass/order_documented"]] == ["LONG", "SHORT"]
    assert found["coinglass/history_documented"][0]["long_usd"] == Decimal("2369935.19562")
    for name in ("documented", "served_names"):
        assert [row["exchange"] for row in found[f"coinglass/exchange_list_{name}"]] == ["bybit"]
    assert found["coinglass/subscription_documented"]["level"] == "PROFESSIONAL"
    ank = found["coinank/getLiqMap"]
    assert (ank.leverages.tolist(), ank.sides.tolist()) == ([25, 50, 75, 100], ["long", "long", "short", "short"])
    assert found["coinank/getAggLiqMap"].total[0] == 1500000.25 + 79370.5 + 1
    assert (found["coinank/orders"][0]["side"], found["coinank/orders"][0]["qty"]) == ("LONG", Decimal("2.25"))
    assert found["coinalyze/liquidation_history"].meta["units"] == "usd"
    assert found["hyblock/liquidationHeatmap"].prices.tolist() == [91025, 92025]
    assert found["datamaxi/map"].sides.tolist() == ["long", "short"]
    assert [row["long_usd"] for row in found["velodata/rows"]] == [0, Decimal("834.25")]


# --- damaged replies

OPTIONAL = {"update_time", "updateTime", "last_price", "lastPrice", "lastIndex", "generatedAt", "leverage", "liqMapV2"}


def places(value, path=()):
    """Every place in a reply."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def damaged(reply, path):
    """The reply with something else at a place, and what it is."""
    for kind in ("missing", "null", "a text", "an array", "an object", "within an array", "a number as text"):
        made = copy.deepcopy(reply)
        parent = made
        for key in path[:-1]:
            parent = parent[key]
        value = parent[path[-1]]
        if kind == "missing" and isinstance(parent, dict):
            del parent[path[-1]]
        elif kind == "a number as text" and isinstance(value, int | float) and not isinstance(value, bool):
            parent[path[-1]] = str(value)
        elif kind in {"missing", "a number as text"}:
            continue
        else:
            parent[path[-1]] = {
                "null": None, "a text": "some text", "an array": [], "an object": {}, "within an array": [value],
            }[kind]  # fmt: skip
        yield kind, made


def dotted(path):
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def outcome(*asked):
    try:
        return read(*asked), None
    except liqdata.LiqdataError as error:
        return None, error


def check_damaged(vendor, method, positional, named, reply):
    """Each damaged reply is read as before, or refused by the name of a field at or around the damage."""
    whole = content(read(vendor, method, positional, named, json.dumps(reply).encode()))
    count = 0
    for path in filter(None, places(reply)):
        for kind, made in damaged(reply, path):
            count += 1
            answer, error = outcome(vendor, method, positional, named, json.dumps(made).encode())
            about = (vendor, method, dotted(path), kind, str(error))
            if isinstance(error, liqdata.Refused):
                assert path[-1] in {"code", "success", "error", "timestamp", "data"}, about
            elif error is not None:
                assert isinstance(error, liqdata.UnexpectedReply), about
                assert error.path in str(error), about
                is_near = error.path.startswith(dotted(path)) or dotted(path).startswith(error.path)
                # One of several spellings of a name is missing.
                assert is_near or f" {path[-1]} " in f"{error} ", about
            elif not may_differ(reply, path, kind):
                assert content(answer) == whole, about
    return count


def may_differ(reply, path, kind):
    """Whether a reply is still good after a damage, with another content."""
    was = value_at(reply, path)
    if kind in {"missing", "null", "an array", "an object"}:  # what is not needed, no rows, or no leverage
        return path[-1] in OPTIONAL or isinstance(was, list | dict) or path[-1] == 2
    if kind == "a text":  # another name
        return isinstance(was, str) and not was.replace(".", "").isdigit()
    return kind == "within an array" and isinstance(was, dict) and "liqMapV2" in was  # several markets


def value_at(reply, path):
    for key in path:
        reply = reply[key]
    return reply


OURS = [
    *(("CoinGlass", "heatmap", ("ETH",), {}, reply) for reply in replies.HEATMAPS.values()),
    *(("CoinGlass", "liqmap", ("ETH",), {}, reply) for reply in replies.MAPS.values()),
    ("CoinGlass", "orders", ("ETH", "binance"), {}, replies.ORDERS),
    ("CoinGlass", "exchanges", (), {}, replies.glass(replies.EXCHANGES)),
    ("CoinAnk", "heatmap", ("ETH",), {}, replies.ANK_HEATMAP),
    ("CoinAnk", "liqmap", ("ETH",), {"exchange": "okx"}, replies.ANK_MAP),
    ("CoinAnk", "liqmap", ("ETH",), {}, replies.ANK_BY_EXCHANGE),
]


@pytest.mark.parametrize("asked", OURS, ids=[f"{row[0]}-{row[1]}-{place}" for place, row in enumerate(OURS)])
def test_a_damaged_reply_is_refused_by_the_name_of_the_field(asked):
    assert check_damaged(*asked) > 50


COLLECTED = list(chain.from_iterable(((row, file) for file in files_of(row[1])) for row in READ))


@at_hand
@pytest.mark.parametrize("row, file", COLLECTED, ids=[f"{file.parent.name}-{file.stem}" for _, file in COLLECTED])
def test_a_damaged_collected_reply_is_refused_by_the_name_of_the_field(row, file):
    if file.suffix == ".json":
        check_damaged(row[0], *row[2:], json.loads(file.read_bytes()))
        return
    head, first, *_ = file.read_text().splitlines()
    for name in ("time", "buy_liquidations_dollar_volume", "sell_liquidations_dollar_volume"):
        for text in ("", "x", "-1", "{}"):
            cells = first.split(",")
            cells[head.split(",").index(name)] = text
            _, error = outcome(row[0], *row[2:], f"{head}\n{','.join(cells)}".encode())
            assert error.path == f"[0].{name}"
        _, error = outcome(row[0], *row[2:], f"{head.replace(name, 'other')}\n{first}".encode())
        assert error.path == name


@pytest.mark.parametrize("digits", ["1" + "0" * 44, "12345678901234567890123456789012345678901234.5", "1e3"])
def test_amounts_may_have_more_digits_than_a_float(digits):
    reply = copy.deepcopy(replies.ANK_HEATMAP)
    reply["data"]["liqHeatMap"]["data"][0] = ["0.0", "0", digits]
    heat = read("CoinAnk", "heatmap", ("ETH",), {}, json.dumps(reply).encode())
    assert heat.matrix[0, 0] == float(digits)


@pytest.mark.parametrize("price, sides", [(2000, ["long", "long", "short"]), (None, ["long", "long", "short"])])
def test_the_last_price_or_the_last_index_of_coinank_belongs_to_longs(price, sides):
    reply = copy.deepcopy(replies.ANK_MAP)
    reply["data"]["lastPrice"] = price
    assert read("CoinAnk", "liqmap", ("ETH",), {"exchange": "okx"}, json.dumps(reply).encode()).sides.tolist() == sides


def test_a_row_of_hyblock_may_be_alone():
    row = {"openDate": replies.T, "longLiquidation": 2.5, "shortLiquidation": 1}
    for reply in (row, [row], {"data": [row]}):
        rows = read("Hyblock", "history", ("ETH",), {}, json.dumps(reply).encode())
        assert [(one["timestamp"], one["total_usd"]) for one in rows] == [(replies.MS, Decimal("3.5"))]
