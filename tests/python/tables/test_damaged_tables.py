"""Tables that are damaged or have holes: what cannot be vouched for is refused, what is masked is missing."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import samples

import liqdata
from liqdata import BadQuery

ROWS = 5


def orders(**changes):
    """Orders of five rows as columns."""
    return samples.alike(ROWS, samples.NOW - ROWS) | changes


def refusal(table):
    with pytest.raises(BadQuery) as caught:
        liqdata.Market(orders=table)
    assert caught.value.parameter == "orders"
    return str(caught.value)


class Stream:
    """An Arrow stream and nothing else: no library behind it can be asked whether it is sound."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    """An Arrow array and nothing else."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def text(offsets, data, kind=None):
    """A text column of these buffers."""
    width = np.int64 if kind == pa.large_string() else np.int32
    buffers = [None, pa.py_buffer(np.array(offsets, width).tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind or pa.string(), len(offsets) - 1, buffers)


def dictionary(codes, names):
    codes = pa.array(codes, pa.int32())
    return pa.DictionaryArray.from_arrays(codes, names, safe=False)


GOOD = pa.array(["binance", "okx"])
NOT_UTF8 = [0, 1, 2, 3, 4, 5], b"ab\xffde"
ROW_2 = 'column "exchange", row 2: is damaged: '
DAMAGED = {
    "no utf-8": (text(*NOT_UTF8), ROW_2),
    "no utf-8 in large text": (text(*NOT_UTF8, pa.large_string()), ROW_2),
    "a character cut in two": (text([0, 1, 2, 3, 4, 5], "abédf".encode()[:5]), ROW_2),
    "offsets that fall": (text([0, 4, 5, 3, 4, 5], b"abcde"), ROW_2),
    "offsets below zero": (text([0, 1, 2, -3, 4, 5], b"abcde"), ROW_2),
    "an offset beyond the end": (text([0, 1, 2, 900, 4, 5], b"abcde"), ROW_2),
    "a place outside the dictionary": (dictionary([0, 1, 7, 0, 0], GOOD), ROW_2),
    "a place below zero": (dictionary([0, 1, -1, 0, 0], GOOD), ROW_2),
    "a dictionary without utf-8": (
        dictionary([0, 1, 2, 0, 0], text(*NOT_UTF8)),
        'column "exchange" is damaged: in its dictionary: ',
    ),
}


@pytest.mark.parametrize("column, said", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("shape", ["table", "stream", "column"])
def test_a_damaged_column_is_refused_with_its_place(column, said, shape):
    if shape == "column":
        assert said in refusal(orders(exchange=Array(column)))
        return
    table = pa.table(orders(exchange=column))
    assert said in refusal(Stream(table) if shape == "stream" else table)


def test_the_row_counts_through_all_chunks():
    sound = pa.table(orders())
    damaged = pa.table(orders(exchange=text(*NOT_UTF8)))
    assert f'column "exchange", row {ROWS + 2}: is damaged' in refusal(pa.concat_tables([sound, damaged]))


@pytest.mark.parametrize("whole", [True, False], ids=["table", "column"])
def test_a_column_with_a_short_buffer_is_refused(whole):
    sink = pa.BufferOutputStream()
    sound = pa.table(orders(exchange=text([0, 1, 2, 3, 4, 5], b"abcde")))
    with pa.ipc.new_stream(sink, sound.schema) as stream:
        stream.write_table(sound)
    ends = np.arange(ROWS + 1, dtype=np.int32)
    file = sink.getvalue().to_pybytes()
    assert file.count(ends.tobytes()) == 1
    # pyarrow reads a file as it is, without a look at what the offsets lead to.
    broken = file.replace(ends.tobytes(), np.append(ends[:-1], np.int32(5_000_000)).tobytes())
    table = pa.ipc.open_stream(broken).read_all()
    assert "is damaged" in refusal(table if whole else orders(exchange=table["exchange"]))


def test_a_sound_slice_of_a_column_is_read():
    column = pa.concat_arrays([text([0, 1], b"\xff"), pa.array(["okx"] * ROWS)])[1:]
    market = liqdata.Market(orders=pa.table(orders(exchange=column)))
    assert {row["exchange"] for row in market.orders()} == {"okx"}


# --- masks


def masked(cells, hidden, **options):
    return np.ma.MaskedArray(cells, mask=[row == hidden for row in range(ROWS)], **options)


HIDDEN = {
    "float64": masked([100.0, 100.0, 9e9, 100.0, 100.0], 2),
    "float32": masked(np.float32([100.0, 100.0, 9e9, 100.0, 100.0]), 2),
    "int64": masked([100, 100, 9_000_000_000, 100, 100], 2),
    "text": masked(["100"] * ROWS, 2),
    "objects": masked(np.array([100.0] * ROWS, dtype=object), 2),
    "in a list": [100.0, 100.0, np.ma.masked, 100.0, 100.0],
    "pandas": pd.array([100.0, 100.0, pd.NA, 100.0, 100.0], dtype="Float64"),
    "NaN": np.array([100.0, 100.0, np.nan, 100.0, 100.0]),
    "null": pa.array([100.0, 100.0, None, 100.0, 100.0]),
}


@pytest.mark.parametrize("cells", HIDDEN.values(), ids=HIDDEN)
def test_a_cell_without_a_value_is_refused_with_its_place(cells):
    assert 'column "price", row 2: ' in refusal(orders(price=cells))


def test_a_masked_instant_is_refused_with_its_place():
    instants = np.array(orders()["timestamp"], "datetime64[ms]")
    assert 'column "timestamp", row 2: ' in refusal(orders(timestamp=masked(instants, 2)))


def test_a_masked_cell_of_an_optional_column_is_absent():
    coins = masked(["WRONG", *["BTC"] * (ROWS - 1)], 0)
    market = liqdata.Market(orders=orders(coin=coins))
    assert [(row["coin"], row["cnt"]) for row in market.coins("24h")] == [("BTC", ROWS)]


@pytest.mark.parametrize("mask", [np.ma.nomask, [False] * ROWS], ids=["none", "nowhere"])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_a_masked_array_that_masks_nothing_is_read_as_it_is(kind, mask):
    prices = np.arange(1, ROWS + 1).astype(kind)
    values = prices * 2
    plain = liqdata.Market(orders=orders(price=prices, value_usd=values)).orders()
    hidden = np.ma.MaskedArray(prices, mask=mask)
    assert list(liqdata.Market(orders=orders(price=hidden, value_usd=values)).orders()) == list(plain)


# --- numpy


INTERRUPTED = """
    import sys
    import liqdata

    BAR = ("open", "high", "low", "close", "volume")


    class Interrupt:
        def find_spec(self, name, path=None, target=None):
            if name == "numpy":
                sys.meta_path.remove(self)
                raise KeyboardInterrupt


    for ask in {ask}:
        assert "numpy" not in sys.modules
        sys.meta_path.insert(0, Interrupt())
        try:
            ask()
        except BaseException as error:
            assert type(error) is KeyboardInterrupt, type(error)
        else:
            raise SystemExit("not interrupted")
        ask()
"""


@pytest.mark.parametrize(
    "ask",
    [
        "[lambda: liqdata.Market(bars={'symbol': [], 'timestamp': [], **dict.fromkeys(BAR, [])})]",
        "[lambda market=liqdata.open('archive'): market.heatmap('BTC')]",
        "[lambda market=liqdata.open('archive'): market.liqmap('BTC')]",
    ],
    ids=["tables", "heatmap", "liqmap"],
)
def test_an_interrupt_of_the_import_of_numpy_is_raised(ask, tmp_path):
    samples.archive(tmp_path / "archive")
    script = textwrap.dedent(INTERRUPTED).replace("{ask}", ask)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
