"""Arrow columns of every kind with damaged buffers, in each of the tables: refused with column and row."""

import struct

import pyarrow as pa
import pytest
import samples

import liqdata
from liqdata import BadQuery

ROWS = 5
AT = samples.NOW - samples.DAY

# A table of each kind, and which of its columns is text, an amount and an instant.
SOUND = {
    "orders": samples.alike(ROWS, AT),
    "bars": {
        "symbol": ["BTC"] * ROWS,
        "interval": ["1m"] * ROWS,
        **{name: [100.0] * ROWS for name in ("open", "high", "low", "close", "volume")},
        "timestamp": [AT + row * samples.MINUTE for row in range(ROWS)],
    },
    "open_interest": {
        "exchange": ["binance"] * ROWS,
        "symbol": ["BTC"] * ROWS,
        "open_interest": [1000.0] * ROWS,
        "timestamp": [AT + row * samples.MINUTE for row in range(ROWS)],
    },
    "positions": {
        "account": [f"0x{row:040x}" for row in range(ROWS)],
        "coin": ["BTC"] * ROWS,
        "side": ["LONG"] * ROWS,
        "value_usd": [1000.0] * ROWS,
        "qty": [10.0] * ROWS,
        "entry_price": [100.0] * ROWS,
        "timestamp": [AT] * ROWS,
    },
}
TEXT = {"orders": "exchange", "bars": "symbol", "open_interest": "exchange", "positions": "coin"}
AMOUNT = {"orders": "price", "bars": "close", "open_interest": "open_interest", "positions": "entry_price"}


class Stream:
    """An Arrow stream and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def given(kind, **changes):
    """Hand a table over, with these columns in the place of its own."""
    table = Stream(pa.table(SOUND[kind] | changes))
    if kind != "positions":
        return liqdata.Market(**{kind: table})
    return liqdata.ingest(given.folder, positions=table, exchange="hyperliquid")


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    given.folder = tmp_path / "archive"


def inline(text):
    """A view of at most twelve bytes."""
    return struct.pack("<i12s", len(text), text)


def elsewhere(length, prefix, buffer, offset):
    """A view of bytes in a buffer."""
    return struct.pack("<i4sii", length, prefix, buffer, offset)


LONG = b"a name of more than twelve bytes"


def views(kind, bad, word):
    """Five views, of which the third is bad."""
    good = inline(word)
    buffers = [None, pa.py_buffer(good * 2 + bad + good * 2), pa.py_buffer(LONG)]
    try:
        return pa.Array.from_buffers(kind, ROWS, buffers)
    except ValueError:
        pytest.skip(f"pyarrow {pa.__version__} makes no views of buffers")


BAD_VIEWS = {
    "no utf-8": inline(b"ab\xff"),
    "a length below zero": struct.pack("<i12s", -5, b"binance"),
    "a length beyond its buffer": elsewhere(len(LONG) + 1, LONG[:4], 0, 0),
    "an offset beyond its buffer": elsewhere(len(LONG), LONG[:4], 0, 10_000),
    "an offset below zero": elsewhere(len(LONG), LONG[:4], 0, -4),
    "a buffer that is not there": elsewhere(len(LONG), LONG[:4], 7, 0),
    "a prefix of something else": elsewhere(len(LONG), b"else", 0, 0),
}


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("bad", BAD_VIEWS)
@pytest.mark.parametrize("type_", [pa.string_view(), pa.binary_view()], ids=str)
def test_a_view_that_is_damaged_is_refused_with_its_place(kind, bad, type_):
    column = TEXT[kind]
    word = SOUND[kind][column][0].encode()
    with pytest.raises(BadQuery, match=rf'column "{column}"') as caught:
        given(kind, **{column: views(type_, BAD_VIEWS[bad], word)})
    if type_ == pa.string_view():
        assert f'column "{column}", row 2: is damaged: ' in str(caught.value)


@pytest.mark.parametrize("kind", SOUND)
def test_views_that_are_sound_are_read(kind):
    column = TEXT[kind]
    given(kind, **{column: pa.array(SOUND[kind][column], pa.string_view())})


def offsets(values, kind):
    width = "q" if kind in {pa.large_string(), pa.large_binary()} else "i"
    buffers = [None, pa.py_buffer(struct.pack(f"<{len(values)}{width}", *values)), pa.py_buffer(b"abcde")]
    return pa.Array.from_buffers(kind, ROWS, buffers)


def coded(codes):
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(["BTC", "ETH"]), safe=False)


BAD_TEXT = {
    "large offsets that fall": offsets([0, 1, 2, 1, 4, 5], pa.large_string()),
    "a large offset beyond the end": offsets([0, 1, 2, 2**40, 4, 5], pa.large_string()),
    "large offsets below zero": offsets([0, 1, 2, -(2**40), 4, 5], pa.large_string()),
    "a code beyond the dictionary": coded([0, 1, 2**30, 0, 1]),
    "a code below zero": coded([0, 1, -(2**30), 0, 1]),
}


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("bad", BAD_TEXT)
def test_text_that_is_damaged_is_refused_with_its_place(kind, bad):
    column = TEXT[kind]
    with pytest.raises(BadQuery) as caught:
        given(kind, **{column: BAD_TEXT[bad]})
    assert f'column "{column}", row 2: is damaged: ' in str(caught.value)


def decimals(value, precision=38, scale=10):
    """Amounts of which the third is this many units, whatever the precision allows."""
    good = (100 * 10**scale).to_bytes(16, "little")
    data = good * 2 + value.to_bytes(16, "little", signed=True) + good * 2
    return pa.Array.from_buffers(pa.decimal128(precision, scale), ROWS, [None, pa.py_buffer(data)])


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize(
    "column",
    [decimals(10**30, precision=16), decimals(2**127 - 1), decimals(-(2**127)), decimals(10**37, scale=0)],
    ids=["beyond its precision", "the largest", "the least", "a number no amount is"],
)
def test_a_decimal_that_its_type_does_not_allow_is_refused_with_its_place(kind, column):
    with pytest.raises(BadQuery) as caught:
        given(kind, **{AMOUNT[kind]: column})
    assert f'column "{AMOUNT[kind]}", row 2: ' in str(caught.value)


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)], ids=["the last", "the first"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_an_impossible_instant_is_refused_with_its_row(kind, value, unit):
    good = [at // 1000 if unit == "s" else at * {"ms": 1, "us": 1000}[unit] for at in SOUND[kind]["timestamp"]]
    column = pa.array([*good[:2], value, *good[3:]], pa.timestamp(unit, tz="Asia/Tokyo"))
    with pytest.raises(BadQuery) as caught:
        given(kind, timestamp=column)
    assert 'column "timestamp", row 2: ' in str(caught.value)


@pytest.mark.parametrize("kind", SOUND)
def test_an_instant_is_the_same_in_every_time_zone(kind):
    for zone in ("UTC", "Asia/Tokyo", "+05:30", "Mars/Olympus"):
        column = pa.array(SOUND[kind]["timestamp"], pa.timestamp("ms", tz=zone))
        market = given(kind, timestamp=column)
        assert kind == "positions" or market.now == given(kind).now


@pytest.mark.parametrize("kind", SOUND)
def test_sound_columns_of_every_kind_are_read(kind):
    text, amount = TEXT[kind], AMOUNT[kind]
    for type_ in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        # Made so and not cast: of what pyarrow 18 casts to views it dies itself.
        column = pa.array(SOUND[kind][text], None if pa.types.is_dictionary(type_) else type_)
        given(kind, **{text: column.dictionary_encode() if pa.types.is_dictionary(type_) else column})
    given(kind, **{amount: pa.array(SOUND[kind][amount]).cast(pa.decimal128(38, 10))})
