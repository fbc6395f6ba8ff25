"""Columns of pandas frames go through Arrow: the same rows and refusals as the same cells in lists."""

import sys
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import liqdata
from liqdata.ingestion import tables

ORDERS = {
    "exchange": ["okx", "bybit", "okx", "binance"],
    "symbol": ["BTCUSDT", "ETHUSDT", "BTCUSDT", "SOLUSDT"],
    "side": ["LONG", "SHORT", "LONG", "SHORT"],
    "price": [100.5, 10.25, 101.0, 5.0],
    "qty": [1.0, 2.0, 3.0, 4.0],
    "timestamp": [1_780_000_000_000 + 1000 * second for second in range(4)],
}
TEXTS = [
    "str",
    "string[python]",
    "string[pyarrow]",
    "object",
    "category",
    pd.ArrowDtype(pa.large_string()),
    pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
]
NUMBERS = ["Float64", "double[pyarrow]", "object", "category", pd.ArrowDtype(pa.decimal128(20, 3))]
WHOLE = ["Int64", "int64[pyarrow]", "object", pd.ArrowDtype(pa.timestamp("ns", "UTC"))]


def outcome(orders):
    """The rows of a market, or its refusal."""
    try:
        with liqdata.Market(orders=orders) as market:
            return list(market.iter_orders(start=0))
    except liqdata.BadQuery as refused:
        return str(refused)


def frame(column, cells, dtype):
    return pd.DataFrame({**ORDERS, column: pd.Series(cells, dtype=object).astype(dtype)})


CASES = [
    *((column, dtype) for column in ("exchange", "symbol", "side") for dtype in TEXTS),
    *((column, dtype) for column in ("price", "qty") for dtype in NUMBERS),
]


@pytest.mark.parametrize("installed", [True, False], ids=["pyarrow", "without pyarrow"])
@pytest.mark.parametrize("column, dtype", CASES, ids=str)
def test_a_column_of_any_type_gives_the_rows_of_a_list(column, dtype, installed, monkeypatch):
    cells = ORDERS[column]
    given = frame(column, [*map(Decimal, cells)] if "decimal" in str(dtype) else cells, dtype)
    if not installed:
        if isinstance(dtype, pd.ArrowDtype) or "pyarrow" in dtype:
            pytest.skip("a type of pyarrow itself")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert outcome(given) == outcome(ORDERS)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_times_of_any_type_give_the_rows_of_a_list(dtype):
    times = ORDERS["timestamp"]
    cells = pd.to_datetime(pd.Series(times), unit="ms", utc=True) if "timestamp" in str(dtype) else times
    assert outcome(frame("timestamp", cells, dtype)) == outcome(ORDERS)


@pytest.mark.parametrize("dtype", TEXTS, ids=str)
@pytest.mark.parametrize("column", ["exchange", "symbol", "side"])
@pytest.mark.parametrize("cell", [None, " ", "no side\x00", 7, b"LONG", "\ud800"], ids=ascii)
def test_a_text_is_refused_at_the_same_row_and_column_as_in_a_list(column, dtype, cell):
    cells = [*ORDERS[column][:2], cell, ORDERS[column][3]]
    try:
        given = frame(column, cells, dtype)
    except (TypeError, ValueError, pa.ArrowException):
        pytest.skip("pandas refuses the cell itself")
    if given[column].iloc[2] is not cell and cell is not None:
        cells[2] = given[column].iloc[2]  # pandas has made a text of it
    assert outcome(given) == outcome({**ORDERS, column: cells})


def test_a_missing_price_is_refused_at_its_row():
    given = frame("price", [100.5, None, 101.0, 5.0], "Float64")
    assert outcome(given) == 'orders: column "price", row 1: a missing value is not allowed'


@pytest.mark.parametrize("dtype", ["str", "object", "category", "Int64", "double[pyarrow]"])
def test_text_and_numbers_of_pandas_are_arrow_arrays(dtype):
    cells = [1, 2, None] if dtype in {"Int64", "double[pyarrow]"} else ["a", "b", None]
    series = pd.Series(cells, dtype=object).astype(dtype)
    assert isinstance(tables.table({"x": series}, "orders")["x"], pa.Array)


@pytest.mark.parametrize("cells", [[1, "a"], [b"a", b"b"], [Decimal(1), None], [True, False]], ids=str)
def test_mixed_objects_stay_objects(cells):
    series = pd.Series(cells, dtype=object)
    assert tables.table({"x": series}, "orders")["x"] == cells
