"""The two grids: equality, pickling, frames, and how they show themselves."""

import dataclasses
import pickle
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from liqdata.results.heatmap import Heatmap
from liqdata.results.map import LiquidationMap

UPDATED = datetime(2026, 6, 11, tzinfo=UTC)


def heatmap(**changes):
    fields = {
        "symbol": "BTC",
        "range": "24h",
        "model": 2,
        "updated_at": UPDATED,
        "current_price": 101.0,
        "prices": np.array([99.0, 100.0, 102.0]),
        "times": np.array(["2026-06-10T23:00", "2026-06-11T00:00"], dtype="datetime64[ms]"),
        "matrix": np.array([[1.0, np.nan], [0.0, 2.0], [3.0, 4.0]]),
    }
    return Heatmap(**{**fields, **changes})


def liqmap(**changes):
    fields = {
        "symbol": "BTC",
        "range": "1d",
        "updated_at": UPDATED,
        "current_price": 100.0,
        "bin_width": 1.0,
        "leverages": np.array([10, 100]),
        "prices": np.array([97.5, 99.5, 100.5, 104.5]),
        "sides": np.array(["long", "long", "short", "short"]),
        "tiers": np.array([[4.0, 0.0], [0.0, 1.0], [0.0, 2.0], [6.0, 0.0]]),
        "total": np.array([4.0, 1.0, 2.0, 6.0]),
    }
    return LiquidationMap(**{**fields, **changes})


@pytest.mark.parametrize("make", [heatmap, liqmap])
def test_equal_values_are_equal_and_nan_equals_nan(make):
    assert make() == make()
    assert make(current_price=float("nan")) == make(current_price=float("nan"))
    assert make() != "something else"


@pytest.mark.parametrize("make", [heatmap, liqmap])
def test_any_changed_field_makes_a_difference(make):
    whole = make()
    for entry in dataclasses.fields(whole):
        value = getattr(whole, entry.name)
        if not entry.compare:
            continue
        if isinstance(value, np.ndarray):
            other = value[:-1]
        elif isinstance(value, datetime):
            other = value.replace(year=2025)
        else:
            other = value + value
        assert dataclasses.replace(whole, **{entry.name: other}) != whole, entry.name


def test_a_single_changed_cell_makes_a_difference():
    other = heatmap()
    other.matrix[1, 1] = 2.5
    assert other != heatmap()


@pytest.mark.parametrize("make", [heatmap, liqmap])
def test_fields_outside_the_contract_are_not_compared(make):
    assert make(meta={"simulated": True}) == make()


@pytest.mark.parametrize("make", [heatmap, liqmap])
def test_grids_are_frozen_and_not_hashable_but_their_arrays_are_writable(make):
    grid = make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        grid.symbol = "ETH"
    with pytest.raises(TypeError, match="unhashable"):
        hash(grid)
    grid.prices[0] = 1.0
    assert grid.prices[0] == 1.0


@pytest.mark.parametrize("make", [heatmap, liqmap])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_grids_pickle_with_their_metadata(make, protocol):
    grid = make(meta={"source": "here"})
    back = pickle.loads(pickle.dumps(grid, protocol=protocol))
    assert back == grid
    assert back.meta == {"source": "here"}
    back.prices[0] = 1.0


def test_arrays_travel_out_of_band():
    grid = heatmap(matrix=np.ones((3, 2)))
    buffers = []
    packed = pickle.dumps(grid, protocol=5, buffer_callback=buffers.append)
    back = pickle.loads(packed, buffers=buffers)
    assert back == grid
    for name in ("matrix", "prices"):
        assert np.shares_memory(getattr(back, name), getattr(grid, name))


def test_a_heatmap_frame_is_price_by_time():
    frame = heatmap().to_frame()
    assert frame.shape == (3, 2)
    assert frame.index.name == "price"
    assert frame.columns.name == "time"
    assert str(frame.columns.dtype) == "datetime64[ms, UTC]"
    assert frame.loc[102.0, pd.Timestamp("2026-06-11T00:00Z")] == 4.0
    assert frame.dtypes.unique().tolist() == [np.dtype("float64")]


def test_a_frame_is_a_copy():
    grid = heatmap()
    frame = grid.to_frame()
    frame.iloc[0, 0] = -1.0
    assert grid.matrix[0, 0] == 1.0


def test_a_heatmap_array_has_naive_utc_times_and_says_so():
    array = heatmap(meta={"simulated": True}).to_xarray()
    assert array.dims == ("price", "time")
    assert array.time.dtype == np.dtype("datetime64[ms]")
    assert array.attrs["tz"] == "UTC"
    assert array.attrs["units"] == "USD of open interest exposed"
    assert array.attrs["updated_at"] == "2026-06-11T00:00:00Z"
    assert array.attrs["simulated"] == 1
    assert float(array.sel(price=102.0, time="2026-06-11T00:00")) == 4.0


def test_a_map_frame_has_one_row_per_bin_in_the_order_delivered():
    frame = liqmap().to_frame()
    assert frame.columns.tolist() == ["price", "side", "10", "100", "total"]
    assert frame["side"].tolist() == ["LONG", "LONG", "SHORT", "SHORT"]
    assert isinstance(frame.index, pd.RangeIndex)
    assert frame["10"].tolist() == [4.0, 0.0, 0.0, 6.0]


def test_a_map_data_set_names_bins_and_leverages():
    dataset = liqmap().to_xarray()
    assert dict(dataset.sizes) == {"bin": 4, "leverage": 2}
    assert float(dataset["tiers"].sel(leverage=100).sum()) == 3.0
    assert dataset.coords["side"].to_numpy().tolist() == ["LONG", "LONG", "SHORT", "SHORT"]
    assert dataset.attrs["bin_width"] == 1.0


def test_cumulative_runs_from_the_current_price_outward_on_each_side():
    frame = liqmap().cumulative()
    assert frame["side"].tolist() == ["LONG", "LONG", "SHORT", "SHORT"]
    assert frame["price"].tolist() == [99.5, 97.5, 100.5, 104.5]
    assert frame["usd"].tolist() == [1.0, 4.0, 2.0, 6.0]
    assert frame["cumulative_usd"].tolist() == [1.0, 5.0, 2.0, 8.0]
    assert frame["share"].tolist() == [0.2, 1.0, 0.25, 1.0]
    assert frame["dist_pct"].tolist() == pytest.approx([-0.5, -2.5, 0.5, 4.5])


def test_cumulative_ends_at_the_total_of_each_side_whatever_the_order_of_bins():
    rng = np.random.default_rng(7)
    order = rng.permutation(4)
    whole = liqmap()
    mixed = liqmap(
        prices=whole.prices[order], sides=whole.sides[order], tiers=whole.tiers[order], total=whole.total[order]
    )
    pd.testing.assert_frame_equal(mixed.cumulative(), whole.cumulative())
    ends = mixed.cumulative().groupby("side")["cumulative_usd"].max()
    assert ends.to_dict() == {"LONG": 5.0, "SHORT": 8.0}


def test_an_empty_map_has_columns_and_types():
    none = np.empty(0)
    empty = liqmap(prices=none, sides=np.empty(0, dtype="<U5"), tiers=np.empty((0, 2)), total=none)
    assert empty.to_frame().dtypes.equals(liqmap().to_frame().dtypes)
    assert empty.cumulative().dtypes.equals(liqmap().cumulative().dtypes)


def test_the_repr_is_one_line_with_shape_unit_and_label():
    text = repr(heatmap(meta={"simulated": True}))
    assert "\n" not in text
    for part in ("BTC", "24h", "3×2", "USD of open interest exposed", "simulated"):
        assert part in text
    assert "simulated" not in repr(heatmap())


def test_old_or_partial_open_interest_is_in_the_repr():
    explain = {"openInterestScale": "usd", "openInterestAgeMs": 3 * 3_600_000, "openInterestPartialBars": 4, "bars": 96}
    for shown in (repr(heatmap(meta={"explain": explain})), heatmap(meta={"explain": explain})._repr_html_()):
        assert "open interest 3:00:00 old" in shown
        assert "open interest lacks an exchange in 4 of 96 bars" in shown
    fresh = {**explain, "openInterestAgeMs": 600_000, "openInterestPartialBars": 0}
    assert "open interest" not in repr(heatmap(meta={"explain": fresh})).replace("USD of open interest", "")


def test_the_exchanges_behind_an_estimate_are_named_where_they_are_known():
    explain = {
        "bars": 96,
        "priceExchanges": {"binance": 4, "okx": 92},
        "volumeExchanges": {"binance": 96, "okx": 92},
        "openInterestExchanges": {"okx": 96},
    }
    shown = repr(heatmap(meta={"explain": explain}))
    assert "price of okx (92 of 96 bars) + binance (4 of 96 bars)" in shown
    assert "volume of binance + okx (92 of 96 bars), open interest of okx)" in shown
    assert "\n" not in shown
    page = heatmap(meta={"explain": {**explain, "priceExchanges": {"<b>": 96}}})._repr_html_()
    assert "&lt;b&gt;" in page
    assert "open interest" in page
    assert " of binance" not in repr(heatmap(meta={"explain": {"bars": 96}}))


def test_the_html_form_escapes_what_a_service_sent():
    text = heatmap(symbol="<script>", meta={"source": "a&b"})._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "a&amp;b" in text


@pytest.mark.parametrize(
    "meta,model,units",
    [
        ({}, 2, "USD of open interest exposed"),
        ({}, 3, "USD expected to be reported liquidated"),
        ({"view": "exposed"}, 3, "USD of open interest exposed"),
    ],
)
def test_the_unit_follows_the_view_where_known_and_the_model_where_not(meta, model, units):
    assert units in repr(heatmap(meta=meta, model=model))
