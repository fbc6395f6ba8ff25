"""Cells that numpy masks or pandas calls missing, through every door that takes a table: missing, or refused by row."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import samples
import scored
from samples import HOUR, NOW

import liqdata
from liqdata import BadQuery
from liqdata.frames.price import course as price_of

ROW = 2  # the row that is hidden, wherever there is one
WRONG = 9e9  # what stands behind the mask


def masked(cells):
    """The cells with the one of ``ROW`` masked, and something else behind the mask."""
    cells = np.array(cells)
    mask = np.arange(len(cells)) == ROW
    if cells.dtype.kind in "if":
        cells[ROW] = WRONG
    return np.ma.MaskedArray(cells, mask=mask)


def listed(cells):
    return [np.ma.masked if row == ROW else cell for row, cell in enumerate(np.array(cells).tolist())]


def nullable(cells):
    kind = "Int64" if np.array(cells).dtype.kind == "i" else "Float64"
    return pd.array([pd.NA if row == ROW else cell for row, cell in enumerate(np.array(cells).tolist())], dtype=kind)


HIDE = {"masked": masked, "in a list": listed, "pandas": nullable}


def refused(call, parameter, column):
    with pytest.raises(BadQuery) as caught:
        call()
    said = str(caught.value)
    assert str(caught.value.parameter).split(":")[0] == parameter
    assert column in said
    assert f"row {ROW}" in said


BARS = {
    "symbol": ["BTC"] * 5,
    "timestamp": [NOW - (5 - row) * HOUR for row in range(5)],
    **{name: [100.0] * 5 for name in ("open", "high", "low", "close", "volume")},
}
INTEREST = {
    "symbol": ["BTC"] * 5,
    "timestamp": [NOW - (5 - row) * HOUR for row in range(5)],
    "open_interest": [1000.0] * 5,
}
POSITIONS = {
    "timestamp": [NOW - HOUR] * 5,
    "coin": ["BTC"] * 5,
    "account": [f"0x{row}" for row in range(5)],
    "side": ["long"] * 5,
    "qty": [1.0] * 5,
    "value_usd": [100.0] * 5,
}


@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
@pytest.mark.parametrize("column", ["timestamp", "close"])
def test_a_hidden_cell_of_bars_is_refused(hide, column):
    refused(lambda: liqdata.Market(bars=BARS | {column: hide(BARS[column])}), "bars", column)


@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
@pytest.mark.parametrize("column", ["timestamp", "open_interest"])
def test_a_hidden_cell_of_open_interest_is_refused(hide, column):
    table = INTEREST | {column: hide(INTEREST[column])}
    refused(lambda: liqdata.Market(bars=BARS, open_interest=table), "open_interest", column)


@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
@pytest.mark.parametrize("column", ["timestamp", "value_usd"])
def test_a_hidden_cell_of_positions_is_refused_on_its_way_into_an_archive(hide, column, tmp_path):
    table = POSITIONS | {column: hide(POSITIONS[column])}
    refused(lambda: liqdata.ingest(tmp_path / "archive", positions=table, exchange="hyperliquid"), "positions", column)


@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
@pytest.mark.parametrize("column", ["timestamp", "close"])
def test_a_hidden_cell_of_bars_is_refused_by_a_score(hide, column):
    table = scored.bars(3)
    truth = {"timestamp": [scored.START], "long_usd": [1.0], "short_usd": [1.0]}
    source = liqdata.Market(bars=samples.bars(), orders=samples.orders())
    refused(
        lambda: liqdata.score(source, truth, symbol="BTC", bars=table | {column: hide(table[column])}), "bars", column
    )


@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
@pytest.mark.parametrize("column", ["open", "high", "low", "close"])
@pytest.mark.filterwarnings("error")
def test_a_hidden_price_is_not_drawn(hide, column):
    course = price_of("BTC", BARS | {column: hide(BARS[column])}, None)
    drawn = {"close": course.closes, **dict(zip(("open", "high", "low"), course.bars, strict=True))}
    assert np.isnan(drawn[column]).tolist() == [row == ROW for row in range(5)]
    assert np.nanmax(drawn[column]) == 100.0


@pytest.mark.parametrize(
    "hide",
    [masked, listed, nullable, lambda cells: masked(np.array(cells, "datetime64[ms]"))],
    ids=[*HIDE, "datetimes"],
)
def test_a_hidden_time_of_a_price_is_refused(hide):
    with pytest.raises(BadQuery, match="a time is missing"):
        price_of("BTC", BARS | {"timestamp": hide(BARS["timestamp"])}, None)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_hidden_instant_of_a_join_is_refused(library, side):
    whole = {"closes_at": BARS["timestamp"], "value": [1.0] * 5}
    tables = {name: library(whole) for name in ("left", "right")}
    hidden = masked(BARS["timestamp"])
    # The oldest polars looks behind the mask by itself.
    tables[side] = library(whole | {"closes_at": hidden.tolist() if library is pl.DataFrame else hidden})
    refused(lambda: liqdata.join_asof(**tables), side, "closes_at")


def test_a_hidden_instant_or_length_of_a_frame_of_pandas_own_kinds_is_refused():
    right = pd.DataFrame({"timestamp": BARS["timestamp"], "value": [1.0] * 5, "interval": [HOUR] * 5})
    left = right[["timestamp"]]
    for column in ("timestamp", "interval"):
        hidden = right.assign(**{column: nullable(right[column])})
        parameter = "right" if column == "timestamp" else "interval"
        refused(lambda hidden=hidden: liqdata.join_asof(left, hidden), parameter, column)
    whole = right.assign(interval=right["interval"].astype("Int64"), timestamp=right["timestamp"].astype("Int64"))
    pd.testing.assert_series_equal(liqdata.join_asof(left, whole)["value"], liqdata.join_asof(left, right)["value"])
