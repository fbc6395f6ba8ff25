"""Replies of a service as Python values: the contract's fixtures, the variants taken, and what is not taken."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scripted import answer, data

import liqdata
from liqdata import Refused, UnexpectedReply

DATA = Path(__file__).parents[1] / "data"
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
    """The fixture with one thing in it replaced, which must be there."""
    text = text_of(name)
    assert old in text, f"{name} holds no {old}"
    return text.replace(old, new, 1)


def row_as_python(name, row):
    """What a row of a fixture has to be in Python, by the contract's types."""
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
    """A value with the type of every scalar in it: 1, 1.0 and True are three things here."""
    if isinstance(value, dict):
        return {key: typed(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple, liqdata.Rows)):
        return [typed(cell) for cell in value]
    return type(value).__name__, value


@pytest.fixture
def asked(connect, script):
    """The answer of an endpoint to a body; afterwards the same client must still get a good one."""

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


def damage(asked, name, body):
    with pytest.raises(UnexpectedReply) as caught:
        asked(name, body)
    assert isinstance(caught.value, ValueError)
    return caught.value


# The contract as it is.


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_fixture_is_the_python_value_the_contract_means(asked, name):
    got = asked(name, text_of(name))
    assert got == as_python(name)
    if name not in GRIDS:
        assert typed(got) == typed(as_python(name))


def test_arrays_have_the_promised_shapes_and_types_and_belong_to_the_caller(asked):
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
    for row, wanted in zip(got, as_python(name), strict=True):
        floats = {key: float(cell) if key in DECIMALS[name] else cell for key, cell in wanted.items()}
        assert typed(row) == typed(floats)


def test_trailing_zeros_change_no_value(asked):
    rows = asked("orders", text_of("orders"))
    assert rows[3]["price"] == Decimal(63190)
    assert rows[1]["value_usd"] == Decimal("52.862236")


def test_rows_say_where_they_came_from(connect, script):
    service = script(answer(text_of("orders")))
    meta = connect(service).orders().meta
    assert meta["source"] == service.url
    assert meta["simulated"] is None
    assert meta["as_of"].tzinfo is UTC
    assert meta["age"] == meta["as_of"] - utc(1781135954140)


# What is taken beside it.


def swapped(value, key=None):
    """Numbers as text and numeric text as numbers."""
    if isinstance(value, dict):
        return {name: swapped(cell, name) for name, cell in value.items()}
    if isinstance(value, list):
        return [swapped(cell, key) for cell in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return json.dumps(value)
    return value if key in {"symbol", "coin", "exchange", "range", "side"} else float(value)


@pytest.mark.parametrize("name", ENDPOINTS)
def test_numbers_may_be_text_and_text_numbers(asked, name):
    body = swapped(json.loads(text_of(name)))
    written = json.dumps(body)
    assert written != json.dumps(json.loads(text_of(name)))
    got = asked(name, written)
    assert got == as_python(name)
    if name not in GRIDS:
        assert typed(got) == typed(as_python(name))


def extended(value, *, tiers=False):
    """The same with a foreign member in every object; the keys of tiers are leverages, not members."""
    if isinstance(value, list):
        return [extended(cell) for cell in value]
    if not isinstance(value, dict):
        return value
    more = {name: extended(cell, tiers=name == "tiers") for name, cell in value.items()}
    return more if tiers else {"x_new": {"deep": [1, None, "}"]}, **more, "y_new": None}


@pytest.mark.parametrize("name", ENDPOINTS)
def test_unknown_members_are_ignored_and_members_come_in_any_order(asked, name):
    body = extended(json.loads(text_of(name)))
    if name == "overview":
        # Its keys are windows: an unknown one is an unknown member.
        assert "x_new" in body["data"]
    assert asked(name, json.dumps(body)) == as_python(name)
    assert asked(name, json.dumps(json.loads(text_of(name)), sort_keys=True)) == as_python(name)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("nothing", [[], None])
def test_no_rows_keep_their_columns_and_types(asked, name, nothing):
    rows = asked(name, json.dumps({"success": True, "data": nothing}))
    full = asked(name, text_of(name))
    assert rows == []
    assert len(rows) == 0
    assert rows.columns == full.columns
    assert rows.to_pandas().dtypes.to_dict() == full.to_pandas().dtypes.to_dict()


@pytest.mark.parametrize("null", [True, False])
def test_what_a_service_may_leave_out_is_absent(asked, null):
    def without(body, *path):
        *outer, last = path
        inner = body
        for key in outer:
            inner = inner[key]
        if null:
            inner[last] = None
        else:
            del inner[last]
        return json.dumps(body)

    overview = asked("overview", without(json.loads(text_of("overview")), "data", "12h"))
    assert list(overview) == ["1h", "4h", "24h"]
    levels = asked("levels", without(json.loads(text_of("levels")), "data", "tiers", "25"))
    assert list(levels["tiers"]) == ["10", "50", "100"]
    maxpain = asked("maxpain", without(json.loads(text_of("maxpain")), "data", "d7"))
    assert "d7" not in maxpain
    liqmap = asked("liqmap", without(json.loads(text_of("liqmap")), "bins", 0, "tiers", "50"))
    assert liqmap.tiers[0].tolist() == [473785.47, 764365.94, 0.0, 1101520.36]


@pytest.mark.parametrize("spelled,meant", [("lOnG", "LONG"), ("short", "SHORT")])
def test_a_side_is_read_in_any_case(asked, spelled, meant):
    rows = asked("orders", with_("orders", '"side": "LONG"', f'"side": "{spelled}"'))
    assert rows[0]["side"] == meant


def test_a_new_exchange_is_passed_through(asked):
    assert asked("orders", with_("orders", '"bybit"', '"new dex ✓"'))[0]["exchange"] == "new dex ✓"


@pytest.mark.parametrize(
    "token,value",
    [
        ('"1e-7"', "0.0000001"),
        ("1E-7", "0.0000001"),
        ('"-0"', "0"),
        ('"0.1234567890123456789012345678"', "0.1234567890123456789012345678"),
        ("0.1234567890123456789012345678", "0.1234567890123456789012345678"),
        ('"9999999999999999999999999999"', "9999999999999999999999999999"),
        ('"1.50000000000000000000000000000000000000000000"', "1.5"),
        ('"123e3"', "123000"),
    ],
)
def test_a_decimal_is_exact_in_every_spelling(asked, token, value):
    row = asked("orders", with_("orders", '"1.2003"', token))[0]
    assert type(row["price"]) is Decimal
    assert row["price"] == Decimal(value)


def heatmap_of(matrix, prices=(1.0, 2.0), times=(1781131500000, 1781132400000, 1781133300000)):
    head = {"symbol": "BTC", "range": "24h", "model": 2, "updatedAt": 1781136000000, "currentPrice": 1.5}
    return json.dumps({**head, "prices": prices, "times": times, "matrix": matrix})


NAN = float("nan")


@pytest.mark.parametrize(
    "matrix,cells",
    [
        ([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]),
        ([[1, 4], [2, 5], [3, 6]], [[1, 2, 3], [4, 5, 6]]),
        ([[2, 1, 7.5]], [[0, 0, 0], [0, 0, 7.5]]),
        ([["1", None, "3"], [4, 5, None]], [[1, NAN, 3], [4, 5, NAN]]),
        ([], [[0, 0, 0], [0, 0, 0]]),
    ],
    ids=["price-major", "time-major", "triples", "nulls", "empty"],
)
def test_a_matrix_is_read_in_every_shape_that_fits(asked, matrix, cells):
    got = asked("heatmap", heatmap_of(matrix)).matrix
    assert got.flags.c_contiguous
    assert np.array_equal(got, np.array(cells, dtype=float), equal_nan=True)


@pytest.mark.parametrize(
    "spell",
    [
        lambda millis: millis,
        lambda millis: millis // 1000,
        str,
        lambda millis: str(millis // 1000),
        lambda millis: utc(millis).isoformat(),
        lambda millis: utc(millis).isoformat().replace("+00:00", "Z"),
    ],
    ids=["ms", "s", "text ms", "text s", "iso", "iso Z"],
)
def test_times_are_read_in_every_spelling(asked, spell):
    body = json.loads(text_of("heatmap"))
    body["times"] = [spell(millis) for millis in body["times"]]
    assert asked("heatmap", json.dumps(body)) == as_python("heatmap")


def test_an_axis_of_mixed_numbers_keeps_every_bit(asked):
    numbers = [0.1 + 0.2, 1e-320, 1.7976931348623157e308, 5e-324, 123456789.12345679, 9007199254740993.0]
    got = asked("heatmap", heatmap_of([numbers[:3], numbers[3:]]))
    assert got.matrix.ravel().tolist() == numbers


# What is not taken.

NEST = 10_000
HOSTILE = [
    # endpoint, what stands in the fixture, what stands there instead, where the damage is
    ("orders", '"1.2003"', '""', "data[0].price"),
    ("orders", '"1.2003"', '"NaN"', "data[0].price"),
    ("orders", '"1.2003"', "NaN", "data[0].price"),
    ("orders", '"1.2003"', "null", "data[0].price"),
    ("orders", '"1.2003"', '"1E+30"', "data[0].price"),
    ("orders", '"1.2003"', '"1.20O3"', "data[0].price"),
    ("orders", '"1.2003"', '"+1"', "data[0].price"),
    ("orders", '"1.2003"', '".5"', "data[0].price"),
    ("orders", '"1.2003"', '"5."', "data[0].price"),
    ("orders", '"1.2003"', '"1_000"', "data[0].price"),
    ("orders", '"1.2003"', "1e400", "data[0].price"),
    ("orders", '"1.2003"', "true", "data[0].price"),
    ("orders", '"635.6843826"', '"0.%s"' % ("1234567890" * 6), "data[2].value_usd"),
    ("orders", '"635.6843826"', "0.%s" % ("1234567890" * 6), "data[2].value_usd"),
    ("orders", '"side": "LONG"', '"side": "BUY"', "data[0].side"),
    ("orders", '"side": "LONG", ', "", "data[0].side"),
    ("orders", "1781135954140", "1781135954140.5", "data[0].timestamp"),
    ("orders", "1781135954140", '"yesterday"', "data[0].timestamp"),
    ("orders", '"qty": "9231.1",', '"qty": "1", "qty": "2",', "data[0].qty"),
    ("orders", '"exchange": "bybit"', '"exchange": ["bybit"]', "data[0].exchange"),
    ("exchanges", '"cnt": ', '"cnt": -', "data[0].cnt"),
    ("chart", '"hour": "1781053200000"', '"hour": "01:00"', "data[0].hour"),
    ("coins", "38120344.18", "1e400", "data[0].long_usd"),
    ("coins", "38120344.18", "Infinity", "data[0].long_usd"),
    ("coins", "5121", "18446744073709551616", "data[0].cnt"),
    ("coins", "5121", "9223372036854775808", "data[0].cnt"),
    ("exchanges", '"cnt": ', '"cnt": 9223372036854775808, "x": ', "data[0].cnt"),
    ("overview", "412", "9223372036854775808", "data.1h.cnt"),
    ("orders", "1781135954140", "9223372036854775807", "data[0].timestamp"),
    ("largest", '"timestamp": ', '"timestamp": 253402300800000, "x": ', "data[0].timestamp"),
    ("chart", '"hour": "1781053200000"', '"hour": "253402300800000"', "data[0].hour"),
    ("heatmap", '"updatedAt": ', '"updatedAt": 253402300800000, "x": ', "updatedAt"),
    ("liqmap", '"updatedAt": ', '"updatedAt": 253402300800000, "x": ', "updatedAt"),
    ("levels", '"updatedAt": ', '"updatedAt": 253402300800000, "x": ', "data.updatedAt"),
    ("maxpain", '"updatedAt": ', '"updatedAt": -62135596800001, "x": ', "data.updatedAt"),
    ("heatmap", '"symbol": "BTC"', '"symbol": "ETH"', "symbol"),
    ("heatmap", '"range": "24h"', '"range": "7d"', "range"),
    ("heatmap", '"model": 2', '"model": 3', "model"),
    ("liqmap", '"symbol": "BTC"', '"symbol": "ETH"', "symbol"),
    ("liqmap", '"range": "1d"', '"range": "7d"', "range"),
    ("levels", '"symbol": "BTC"', '"symbol": "ETH"', "data.symbol"),
    ("maxpain", '"symbol": "BTC"', '"symbol": ""', "data.symbol"),
    ("overview", "412", '"many"', "data.1h.cnt"),
    ("overview", '"success": true', '"success": "true"', "success"),
    ("overview", '"success": true,', "", "success"),
    ("heatmap", "121572.07652792387", "NaN", "matrix[1]"),
    ("heatmap", "121572.07652792387", "-Infinity", "matrix[1]"),
    ("heatmap", "121572.07652792387", "1e400", "matrix[1]"),
    ("heatmap", "121572.07652792387, ", "", "matrix[1]"),
    ("heatmap", "[125645.25318441825, ", "[1, 2, ", "matrix[0]"),
    ("heatmap", "62400.0", "null", "prices[1]"),
    ("heatmap", "1781132400000", '"noon"', "times[1]"),
    ("heatmap", '"model": 2', '"model": "two"', "model"),
    ("liqmap", '"10": 473785.47', '"11": 473785.47', "bins[0].tiers.11"),
    ("liqmap", '"side": "long"', '"side": "both"', "bins[0].side"),
    ("levels", '"25": {', '"10": {', "data.tiers.10"),
    ("maxpain", "62350.0", '"far"', "data.d1.long.price"),
]


@pytest.mark.parametrize("name,old,new,path", HOSTILE, ids=[f"{row[0]} {row[3]}={row[2][:20]}" for row in HOSTILE])
def test_a_value_outside_the_contract_is_named_by_its_place(asked, name, old, new, path):
    error = damage(asked, name, with_(name, old, new))
    assert error.path == path
    assert path in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    "name,old,new",
    [
        ("heatmap", '"symbol": "BTC"', '"symbol": "btc"'),
        ("heatmap", '"range": "24h"', '"range": "1d"'),
        ("liqmap", '"range": "1d"', '"range": "24h"'),
        ("levels", '"symbol": "BTC"', '"symbol": " btc "'),
    ],
)
def test_another_name_of_what_was_asked_is_the_answer_to_it(connect, script, name, old, new):
    getattr(connect(script(answer(with_(name, old, new)))), name)()


@pytest.mark.parametrize("name", ENDPOINTS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: "",
        lambda text: "\ufeff" + text,
        lambda text: text[: len(text) // 2],
        lambda text: text + text,
        lambda _: "<html><body>Log in</body></html>",
        lambda _: "null",
        lambda _: "[]",
        lambda _: "upstream timed out",
        lambda _: "[" * NEST,
        lambda _: '{"a":' * NEST + "1" + "}" * NEST,
        lambda text: text.replace("{", '{"extra": "\udcff",', 1).encode("utf-8", "surrogateescape"),
    ],
    ids=["empty", "BOM", "half", "twice", "HTML", "null", "list", "text", "deep", "deep object", "not UTF-8"],
)
def test_a_body_that_is_no_reply_is_no_data(asked, name, spoil):
    error = damage(asked, name, spoil(text_of(name)))
    assert len(str(error)) < 600


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_member_nested_without_end_is_named(asked, name):
    deep = "[" * NEST + "]" * NEST
    assert damage(asked, name, with_(name, "{", f'{{"extra": {deep},')).path == "extra"


@pytest.mark.parametrize("name", ENDPOINTS)
def test_success_false_is_a_refusal_of_every_endpoint(asked, name):
    body = '{"success": false, "error": {"parameter": "symbol", "message": "not today"}}'
    with pytest.raises(Refused, match="not today") as caught:
        asked(name, body)
    assert (caught.value.status, caught.value.body, caught.value.retry_after) == (200, body, None)


def test_a_walk_over_a_damaged_page_is_an_error(connect, script):
    service = script(answer(with_("orders", '"1.2003"', '"x"')))
    with pytest.raises(UnexpectedReply) as caught:
        connect(service).iter_orders()
    assert caught.value.path == "data[0].price"


def test_one_damaged_reply_among_many_symbols_is_named_by_its_symbol(connect, script):
    def play(exchange):
        symbol = exchange.request.query["symbol"]
        price = "high" if symbol == "ETH" else 1.0
        return data({"symbol": symbol, "price": price, "updatedAt": 0, "tiers": {}})(exchange)

    with pytest.raises(UnexpectedReply) as caught:
        connect(script(play)).levels(["BTC", "ETH", "SOL"])
    assert caught.value.path == "data.price"
    assert any("ETH" in note for note in caught.value.__notes__)
