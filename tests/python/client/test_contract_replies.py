"""Replies of a service as Python values. ``tests/contract`` covers the decoding."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scripted import answer, data

import liqdata
from liqdata import Refused, UnexpectedReply

DATA = Path(__file__).parents[2] / "data"
ENDPOINTS = ["overview", "coins", "exchanges", "largest", "orders", "chart", "heatmap", "liqmap", "levels", "maxpain"]
ROWS = ["coins", "exchanges", "largest", "orders", "chart"]
GRIDS = ["heatmap", "liqmap"]

DECIMALS = {
    "exchanges": {"long_usd", "short_usd", "total_usd"},
    "largest": {"price", "qty", "value_usd"},
    "orders": {"price", "qty", "value_usd"},
    "chart": {"total_usd"},
}


def text_of(name):
    return (DATA / f"{name}.json").read_text(encoding="utf-8")


def with_(name, old, new):
    """The fixture with the first ``old`` in it replaced."""
    text = text_of(name)
    assert old in text, f"there is no {old} in {name}"
    return text.replace(old, new, 1)


def row_as_python(name, row):
    """A row of a fixture with the contract's types."""
    exact = DECIMALS.get(name, set())
    cells = {key: Decimal(cell) if key in exact else cell for key, cell in row.items()}
    if "hour" in cells:
        cells["hour"] = int(cells["hour"])
    return cells


def utc(millis):
    return datetime.fromtimestamp(millis / 1000, UTC)


def as_python(name):
    body = json.loads(text_of(name))
    if name in ROWS:
        return [row_as_python(name, row) for row in body["data"]]
    if name == "heatmap":
        return liqdata.Heatmap(
            symbol=body["symbol"],
            range=body["range"],
            model=body["model"],
            updated_at=utc(body["updatedAt"]),
            current_price=body["currentPrice"],
            prices=np.array(body["prices"]),
            times=np.array(body["times"], dtype="datetime64[ms]"),
            matrix=np.array(body["matrix"]),
        )
    if name == "liqmap":
        bins = body["bins"]
        return liqdata.LiquidationMap(
            symbol=body["symbol"],
            range=body["range"],
            updated_at=utc(body["updatedAt"]),
            current_price=body["currentPrice"],
            bin_width=body["binWidth"],
            leverages=np.array(body["leverages"]),
            prices=np.array([one["price"] for one in bins]),
            sides=np.array([one["side"] for one in bins]),
            tiers=np.array([[one["tiers"].get(str(tier), 0.0) for tier in body["leverages"]] for one in bins]),
            total=np.array([one["total"] for one in bins]),
        )
    return body["data"]


def typed(value):
    """A value with the type of every scalar in it, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {key: typed(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple, liqdata.Rows)):
        return [typed(cell) for cell in value]
    return type(value).__name__, value


@pytest.fixture
def asked(connect, script):
    """Ask an endpoint that answers with a body; the same client must get the fixture afterwards."""

    def ask(name, body, **options):
        service = script(answer(body), answer(text_of(name)))
        client = connect(service, **options)
        call = getattr(client, name)
        try:
            return call()
        finally:
            again = call()
            wanted = as_python(name)
            if options.get("decimals") != "float":
                assert again == wanted
            assert len(service.requests) == 2

    return ask


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_fixture_becomes_the_python_value_of_the_contract(asked, name):
    got = asked(name, text_of(name))
    assert got == as_python(name)
    if name not in GRIDS:
        assert typed(got) == typed(as_python(name))


def test_arrays_have_documented_shapes_and_types_and_are_writeable(asked):
    heatmap = asked("heatmap", text_of("heatmap"))
    assert (heatmap.prices.shape, heatmap.times.shape, heatmap.matrix.shape) == ((8,), (6,), (8, 6))
    assert (heatmap.prices.dtype, heatmap.times.dtype, heatmap.matrix.dtype) == ("f8", "M8[ms]", "f8")
    assert heatmap.matrix.flags.c_contiguous
    assert heatmap.updated_at.tzinfo is UTC

    liqmap = asked("liqmap", text_of("liqmap"))
    assert (liqmap.leverages.dtype, liqmap.tiers.dtype, liqmap.total.dtype) == ("i8", "f8", "f8")
    assert liqmap.tiers.shape == (12, 4)
    assert liqmap.tiers[4, 0] == 0.0
    for array in (heatmap.prices, heatmap.times, heatmap.matrix, liqmap.prices, liqmap.tiers, liqmap.total):
        assert array.flags.writeable
        array[...] = array[::-1].copy()


@pytest.mark.parametrize("name", DECIMALS)
def test_decimals_may_be_floats_on_request(asked, name):
    got = asked(name, text_of(name), decimals="float")
    for row, exact in zip(got, as_python(name), strict=True):
        floats = {key: float(cell) if key in DECIMALS[name] else cell for key, cell in exact.items()}
        assert typed(row) == typed(floats)


def test_decimals_have_28_exact_digits(asked):
    small, large = "0.1234567890123456789012345678", "9999999999999999999999999999"
    body = with_("orders", '"1.2003"', small).replace('"9231.1"', f'"{large}"')
    row = asked("orders", body)[0]
    assert typed([row["price"], row["qty"]]) == typed([Decimal(small), Decimal(large)])


def test_rows_name_their_source_and_age(connect, script):
    service = script(answer(text_of("orders")))
    meta = connect(service).orders().meta
    assert meta["source"] == service.url
    assert meta["simulated"] is None
    assert meta["as_of"].tzinfo is UTC
    assert meta["age"] == meta["as_of"] - utc(1781135954140)


@pytest.mark.parametrize("name", ROWS)
def test_empty_rows_have_columns_and_types(asked, name):
    rows = asked(name, '{"success": true, "data": []}')
    full = asked(name, text_of(name))
    assert rows == []
    assert len(rows) == 0
    assert rows.columns == full.columns
    assert rows.to_pandas().dtypes.to_dict() == full.to_pandas().dtypes.to_dict()


def test_an_optional_member_may_be_absent(asked):
    def without(name, *path):
        body = json.loads(text_of(name))
        inner = body
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return asked(name, json.dumps(body))

    assert list(without("overview", "data", "12h")) == ["1h", "4h", "24h"]
    assert list(without("levels", "data", "tiers", "25")["tiers"]) == ["10", "50", "100"]
    assert "d7" not in without("maxpain", "data", "d7")
    liqmap = without("liqmap", "bins", 0, "tiers", "50")
    assert liqmap.tiers[0].tolist() == [473785.47, 764365.94, 0.0, 1101520.36]
    heatmap = asked("heatmap", with_("heatmap", "121572.07652792387", "null"))
    assert np.isnan(heatmap.matrix[1, 0])


def test_a_damaged_value_is_named_by_its_path(asked):
    with pytest.raises(UnexpectedReply, match="matrix") as caught:
        asked("heatmap", with_("heatmap", "121572.07652792387", "NaN"))
    assert caught.value.path == "matrix[1]"


def test_success_false_is_a_refusal(asked):
    body = '{"success": false, "error": {"parameter": "symbol", "message": "not today"}}'
    with pytest.raises(Refused, match="not today") as caught:
        asked("overview", body)
    assert (caught.value.status, caught.value.body, caught.value.retry_after) == (200, body, None)


@pytest.mark.parametrize("name", ["orders", "heatmap", "levels"])
def test_a_reason_in_place_of_data_is_a_refusal(asked, name):
    with pytest.raises(Refused, match="too many requests") as caught:
        asked(name, json.dumps({"code": 50013, "msg": "too many requests", "data": None}))
    assert caught.value.status == 200
    body = {"code": "0", "msg": "success", **json.loads(text_of(name))}
    assert asked(name, json.dumps(body)) == as_python(name)


def test_a_walk_over_a_damaged_page_is_an_error(connect, script):
    service = script(answer(with_("orders", '"1.2003"', '"x"')))
    with pytest.raises(UnexpectedReply) as caught:
        connect(service).iter_orders()
    assert caught.value.path == "data[0].price"


def test_a_damaged_reply_of_many_is_named_by_its_symbol(connect, script):
    def play(exchange):
        symbol = exchange.request.query["symbol"]
        price = "high" if symbol == "ETH" else 1.0
        return data({"symbol": symbol, "price": price, "updatedAt": 0, "tiers": {}})(exchange)

    with pytest.raises(UnexpectedReply) as caught:
        connect(script(play)).levels(["BTC", "ETH", "SOL"])
    assert caught.value.path == "data.price"
    assert any("ETH" in note for note in caught.value.__notes__)
