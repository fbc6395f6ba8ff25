"""Frames of exchanges through the public function: every sample, every recorded frame, every refusal."""

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import liqdata
from liqdata.feeds import decode

SAMPLES = Path(__file__).parents[2] / "data" / "feeds"
COLUMNS = [
    "exchange",
    "symbol",
    "coin",
    "side",
    "price",
    "price_kind",
    "qty",
    "value_usd",
    "timestamp",
    "received_at",
    "native_id",
    "sampled",
    "dedupe_key",
    "group_id",
]
LONG = (
    '{"topic":"allLiquidation.SOLUSDT","type":"snapshot","ts":1790000200500,'
    '"data":[{"T":1790000200001,"s":"SOLUSDT","S":"Buy","v":"2.5","p":"180.40"}]}'
)
PENDING = (
    '{"arg":{"channel":"liquidation-orders","instType":"SWAP"},"data":[{"instId":"ETH-USDT-SWAP","instType":"SWAP",'
    '"details":[{"bkPx":"3150.5","posSide":"long","side":"sell","sz":"4","ts":"1790000300771"}]}]}'
)
SWAP = {"base": "ETH", "quote": "USDT", "kind": "linear", "contract_size": "0.1"}


def inverse(base, size):
    return {"base": base, "quote": "USD", "kind": "inverse", "contract_size": size}


def linear(base, quote, size):
    return {"base": base, "quote": quote, "kind": "linear", "contract_size": size}


RECORDED = {
    "binance": {"BTCUSD_200925": inverse("BTC", "100")},
    "okx": {"BTC-USDT-SWAP": linear("BTC", "USDT", "0.01"), "XRP-USD-230929": inverse("XRP", "10")},
    "gate": {"BTC_USDT": linear("BTC", "USDT", "0.0001")},
    "htx": {
        "ETH-USD": inverse("ETH", "10"),
        "BSV-USD": inverse("BSV", "10"),
        "BTC200703": inverse("BTC", "100"),
        "BTC200925": inverse("BTC", "100"),
    },
    "lighter": {"1": linear("BTC", "USD", "1")},
}


def without_zeros(field):
    """A field of a key, without the zeros that end a number."""
    return field.rstrip("0").rstrip(".") if re.fullmatch(r"\d+\.\d+", field) else field


def reproduces(folder, expected, instruments, other=()):
    """Compare the expected events with what their frames decode to, in order; give their number.

    The columns of exchanges in ``other`` are left alone.
    """
    decoded = {}
    rows = [json.loads(line) for line in (folder / expected).read_text().splitlines()]
    for row in rows:
        file, line = row["file"], row["line"]
        if (file, line) not in decoded:
            frame = (folder / file).read_bytes()
            frame = frame if line is None else frame.splitlines()[line - 1]
            exchange = row["exchange"]
            decoded[file, line] = iter(decode(exchange, frame, instruments=instruments.get(exchange)))
        found = next(decoded[file, line])
        for name in ("price", "qty", "value_usd"):
            assert found[name] == (None if row[name] is None else Decimal(row[name])), row
        row["dedupe_key"] = "|".join(map(without_zeros, row["dedupe_key"].split("|")))
        alone = {"price", "qty", "value_usd"} | {name for exchange, name in other if exchange == row["exchange"]}
        for name in set(row) & set(COLUMNS) - alone:
            assert found[name] == row[name], row
    assert not [row for left in decoded.values() for row in left]
    return len(rows)


def test_every_sample_gives_the_expected_rows():
    instruments = json.loads((SAMPLES / "instruments.json").read_text())
    assert reproduces(SAMPLES, "expected.jsonl", instruments) > 40


@pytest.mark.skipif("LIQDATA_REAL_DATA" not in os.environ, reason="LIQDATA_REAL_DATA names no folder of recordings")
def test_every_recorded_frame_gives_the_expected_rows():
    folder = Path(os.environ["LIQDATA_REAL_DATA"]) / "feeds"
    # Keys of Gate and Bitfinex are expected as they are stored, with less than the frames have. OKX calls its price a
    # bankruptcy price, although it equals the market price.
    other = (("gate", "dedupe_key"), ("bitfinex", "dedupe_key"), ("okx", "price_kind"))
    assert reproduces(folder, "expected_normalised.jsonl", RECORDED, other) == 44


def test_a_row_has_every_column_in_order_and_exact_decimals():
    rows = decode("bybit", LONG, received_at="2026-09-21T14:16:41Z")
    assert rows.columns == COLUMNS
    assert list(rows) == [
        {
            "exchange": "bybit",
            "symbol": "SOLUSDT",
            "coin": "SOL",
            "side": "LONG",
            "price": Decimal("180.4"),
            "price_kind": "bankruptcy",
            "qty": Decimal("2.5"),
            "value_usd": Decimal(451),
            "timestamp": 1790000200001,
            "received_at": 1790000201000,
            "native_id": "SOLUSDT",
            "sampled": False,
            "dedupe_key": "bybit|SOLUSDT|Buy|1790000200001|2.5|180.4",
            "group_id": None,
        }
    ]
    assert rows[0]["sampled"] is False
    assert rows.meta["exchange"] == "bybit"
    assert decode("bybit", LONG)[0]["received_at"] is None


def test_text_bytes_and_gzip_are_the_same_frame():
    rows = decode("bybit", LONG)
    for frame in (LONG.encode(), bytearray(LONG.encode()), memoryview(LONG.encode()), gzip.compress(LONG.encode())):
        assert decode("bybit", frame) == rows


def test_many_frames_are_decoded_as_one_by_one():
    pong = '{"success":true,"op":"pong"}'
    frames = [LONG, LONG.replace("2.5", "0.25").encode(), pong, LONG.replace("Buy", "Sell")]
    rows = decode("bybit", frames)
    assert list(rows) == [row for frame in frames for row in decode("bybit", frame)]
    assert rows.columns == COLUMNS
    times = ["2026-09-21T14:16:41Z", None, 5, 1_790_000_202_000]
    assert [row["received_at"] for row in decode("bybit", tuple(frames), received_at=times)] == [
        1_790_000_201_000,
        None,
        1_790_000_202_000,
    ]
    assert {row["received_at"] for row in decode("bybit", frames, received_at=7)} == {7}
    assert len(decode("bybit", [])) == 0
    assert decode("bybit", []).columns == COLUMNS
    assert rows.to_pandas()["price"].tolist() == [180.4, 180.4, 180.4]


def test_a_bad_frame_of_a_batch_is_named_by_its_index():
    with pytest.raises(liqdata.UnexpectedReply, match=r"frame\[1\]") as caught:
        decode("bybit", [LONG, LONG.replace('"Buy"', '"Up"')])
    assert caught.value.path == "frame[1].data[0].S"
    with pytest.raises(liqdata.BadQuery, match="1 instants for 2 frames"):
        decode("bybit", [LONG, LONG], received_at=[5])
    with pytest.raises(liqdata.BadQuery, match="int is not a frame"):
        decode("bybit", [LONG, 5])


@pytest.mark.parametrize("instruments,qty,value", [(None, None, None), ({"ETH-USDT-SWAP": SWAP}, "0.4", "1260.2")])
def test_a_row_is_pending_until_its_multiplier_is_known(instruments, qty, value):
    row = decode("okx", PENDING, instruments=instruments)[0]
    assert row["qty"] == (qty and Decimal(qty))
    assert row["value_usd"] == (value and Decimal(value))
    assert row["dedupe_key"] == "okx|ETH-USDT-SWAP|long|sell|1790000300771|4|3150.5"


def test_a_contract_size_may_be_a_decimal_or_a_whole_number():
    for size in ("2", 2, Decimal("2.0")):
        row = decode("okx", PENDING, instruments={"ETH-USDT-SWAP": {**SWAP, "contract_size": size}})[0]
        assert row["qty"] == 8


def test_control_frames_give_empty_rows_with_all_columns():
    for exchange, frame in [("bybit", '{"op":"ping"}'), ("okx", "pong"), ("binance", '{"result":null,"id":1}')]:
        rows = decode(exchange, frame)
        assert len(rows) == 0
        assert rows.columns == COLUMNS
        assert list(rows.to_pandas().columns) == COLUMNS


def test_a_retired_channel_gives_rows_or_is_named():
    row = '{"symbol":"ADAUSD","side":"Buy","price":"0.5","qty":"90","time":1620000000000}'
    old = f'{{"topic":"liquidation.ADAUSD","data":{row}}}'
    contract = {"base": "ADA", "quote": "USD", "kind": "inverse", "contract_size": "1"}
    (row,) = decode("bybit", old, instruments={"ADAUSD": contract})
    assert (row["side"], row["qty"], row["value_usd"], row["sampled"]) == ("LONG", 180, 90, True)
    gone = '{"table":"futures/liquidation","data":[{"size":"475","price":"655.3","type":"3"}]}'
    with pytest.raises(liqdata.UnexpectedReply, match=r'"futures/liquidation" .* retired') as caught:
        decode("okx", ["pong", gone])
    assert caught.value.path == "frame[1].table"
    with pytest.raises(liqdata.UnexpectedReply, match=r'"liquidations\.ADAUSD" is not a known channel of bybit'):
        decode("bybit", old.replace("liquidation.", "liquidations."))


def test_rows_with_any_difference_have_different_keys():
    def gate(time_ms, price="0.52"):
        row = {"contract": "XRP_USDT", "size": "-3", "price": price, "time_ms": time_ms}
        frame = {"channel": "futures.public_liquidates", "event": "update", "result": [row]}
        return json.dumps(frame)

    frames = [gate(1790000400017), gate(1790000400018), gate(1790000400018, "0.53"), gate(1790000400017)]
    first, second, third, again = (row["dedupe_key"] for row in decode("gate", frames))
    assert first == again
    assert len({first, second, third}) == 3
    part = '["pos",7,1790001000543,null,"tXRPF0:USTF0",{},0.6,null,1,1,null,{}]'
    rows = decode(
        "bitfinex", [f"[1,[{part.format(qty, price)}]]" for qty, price in [(4, 0.5), (5, 0.5), (4, 0.51), (-4, 0.5)]]
    )
    assert len({row["dedupe_key"] for row in rows}) == 4


@pytest.mark.parametrize(
    "exchange,frame,path",
    [
        ("bybit", "nonsense", ""),
        ("bybit", b"\xff", ""),
        ("bybit", "\ud800", ""),
        ("bybit", "", ""),
        ("htx", b"\x1f\x8b\x08", ""),
        ("bybit", LONG.replace("Buy", "Long"), "data[0].S"),
        ("bybit", LONG.replace("180.40", "NaN"), "data[0].p"),
        ("bybit", LONG.replace('"SOLUSDT"', '"_"'), "data[0]"),
        ("bybit", LONG.replace('"SOLUSDT"', "-0"), "data[0]"),
        ("bybit", LONG.replace('"SOLUSDT"', '""'), "data[0].s"),
        ("bybit", LONG.replace("1790000200001", "253402300800000"), "data[0].T"),
        ("okx", PENDING.replace('"sz":"4",', ""), "data[0].details[0].sz"),
    ],
)
def test_an_unexpected_value_of_a_frame_is_named_by_its_path(exchange, frame, path):
    with pytest.raises(liqdata.UnexpectedReply) as caught:
        decode(exchange, frame)
    assert caught.value.path == path


@pytest.mark.parametrize("exchange", ["hyperliquid", "", None, 7])
def test_an_unknown_exchange_is_refused_with_the_allowed_names(exchange):
    with pytest.raises(liqdata.BadQuery, match=r"allowed: .*binance") as caught:
        decode(exchange, "{}")
    assert caught.value.parameter == "exchange"


def test_other_spellings_of_an_exchange_are_accepted():
    assert decode("HUOBI", '{"ping":1}').meta["exchange"] == "HUOBI"
    assert len(decode("gateio", "[]")) == 0


@pytest.mark.parametrize(
    "instruments",
    [
        [],
        "ETH",
        {7: SWAP},
        {"X": "linear"},
        {"X": {name: value for name, value in SWAP.items() if name != "quote"}},
        {"X": {**SWAP, "kind": "quanto"}},
        {"X": {**SWAP, "base": ""}},
        {"X": {**SWAP, "contract_size": "0"}},
        {"X": {**SWAP, "contract_size": "-1"}},
        {"X": {**SWAP, "contract_size": "a lot"}},
        {"X": {**SWAP, "contract_size": 0.1}},
        {"X": {**SWAP, "contract_size": True}},
    ],
    ids=repr,
)
def test_instruments_of_another_shape_are_refused_with_the_allowed_keys(instruments):
    with pytest.raises(liqdata.BadQuery, match="contract_size") as caught:
        decode("okx", PENDING, instruments=instruments)
    assert caught.value.parameter == "instruments"


@pytest.mark.parametrize("frame", [None, 7, {LONG}, [LONG, None]])
def test_an_argument_that_is_no_frame_is_refused(frame):
    with pytest.raises(liqdata.BadQuery) as caught:
        decode("bybit", frame)
    assert caught.value.parameter == "frame"


def test_an_invalid_time_of_receipt_is_refused():
    with pytest.raises(liqdata.BadQuery) as caught:
        decode("bybit", LONG, received_at="later")
    assert caught.value.parameter == "received_at"


def test_rows_pickle_slice_and_export():
    rows = decode("okx", PENDING, received_at=1790000300999)
    assert pickle.loads(pickle.dumps(rows)) == rows
    assert rows[:1] == rows
    assert "True" in rows._repr_html_()
    frame = rows.to_pandas()
    assert frame["sampled"].tolist() == [True]
    assert frame["sampled"].dtype == bool
    assert frame["qty"].isna().all()
    polars = rows.to_polars(decimals="decimal")
    assert polars["sampled"].to_list() == [True]
    assert polars["qty"].to_list() == [None]
    assert rows.to_arrow().schema.field("sampled").type == "bool"


def test_decoded_rows_are_the_orders_of_a_market():
    orders = decode("bybit", LONG, received_at=1790000200600)
    market = liqdata.Market(orders=orders)
    assert market.orders()[0]["value_usd"] == 451


def test_the_module_is_loaded_lazily():
    script = (
        "import sys, liqdata; assert 'liqdata.feeds' not in sys.modules; "
        "assert liqdata.feeds.decode('okx', 'pong') == []; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
