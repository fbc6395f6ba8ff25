"""Joining tables over time: what each row is given had been known at its instant, as a loop over all pairs finds it."""

import itertools
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
import samples
from samples import HOUR, MINUTE, NOW

import liqdata
from liqdata.errors import BadQuery

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def moments(millis, library, unit="ms"):
    """Instants as the aware column of a library."""
    naive = np.array(millis, dtype="datetime64[ms]").astype(f"datetime64[{unit}]")
    if library == "pandas":
        return pd.DatetimeIndex(naive).tz_localize("UTC")
    return pl.Series(naive).dt.replace_time_zone("UTC")


def known_by_looking(left, right, *, tolerance=None, exact=True):
    """For each (instant, key) of left the place of the row of right, found by looking at every row of it."""
    found = []
    for at, key in left:
        best = None
        for place, (known, other) in enumerate(right):
            early = known <= at if exact else known < at
            near = tolerance is None or at - known <= tolerance
            if other == key and early and near and (best is None or known >= right[best][0]):
                best = place
        found.append(best)
    return found


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", range(12))
def test_the_join_equals_a_loop_over_the_rows(library, seed):
    chance = np.random.default_rng(seed)
    # Instants of few distinct values and a gap: ties, duplicates and rows that nothing was known to.
    rows, others = int(chance.integers(0, 60)), int(chance.integers(0, 40))
    span = chance.choice([5, 40, 4000])
    at = NOW + MINUTE * chance.integers(0, span, rows) + HOUR * 24 * chance.integers(0, 2, rows)
    opens = NOW + MINUTE * chance.integers(0, span, others)
    intervals = MINUTE * chance.choice([1, 5, 60], others)
    of_left, of_right = chance.choice(["A", "B", "C"], rows), chance.choice(["A", "B", "D"], others)
    make = LIBRARIES[library]
    left = make({"timestamp": moments(at, library), "pair": of_left, "value": np.arange(rows)})
    right = make(
        {
            "symbol": of_right,
            "timestamp": moments(opens, library),
            "closes_at": moments(opens + intervals, library),
            "place": np.arange(others, dtype=float),
        }
    )
    for by, tolerance, exact in itertools.product([(), {"pair": "symbol"}], [None, "7m", "0s"], [True, False]):
        joined = liqdata.join_asof(left, right, by=by, tolerance=tolerance, allow_exact_matches=exact)
        wanted = known_by_looking(
            [(when, key if by else None) for when, key in zip(at, of_left, strict=True)],
            [(when, key if by else None) for when, key in zip(opens + intervals, of_right, strict=True)],
            tolerance={None: None, "7m": 7 * MINUTE, "0s": 0}[tolerance],
            exact=exact,
        )
        assert joined["value"].to_list() == list(range(rows))
        places = [None if place is None or math.isnan(place) else int(place) for place in joined["place"].to_list()]
        assert places == wanted
        names = [*left.columns, *(["symbol"] if not by else []), "timestamp_right", "closes_at", "place"]
        assert list(joined.columns) == names


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ours, theirs", [*itertools.product(["ms", "us", "ns"], repeat=2)])
def test_units_of_time_are_compared_without_rounding(library, ours, theirs):
    make = LIBRARIES[library]
    left = make({"timestamp": moments([NOW, NOW + 1], library, ours)})
    right = make({"timestamp": moments([NOW, NOW + 1], library, theirs), "place": [0.0, 1.0]})
    assert liqdata.join_asof(left, right)["place"].to_list() == [0.0, 1.0]
    naive = {"timestamp": np.array([NOW, NOW + 1], dtype="datetime64[ms]").astype(f"datetime64[{ours}]")}
    assert liqdata.join_asof(make(naive), right)["place"].to_list() == [0.0, 1.0]


def test_a_nanosecond_before_it_was_known_is_before():
    instant = pd.Timestamp("2026-06-01T00:00:00.000000001Z")
    right = pd.DataFrame({"timestamp": [instant], "place": [7.0]})
    left = pd.DataFrame({"timestamp": [instant - pd.Timedelta("1ns"), instant]})
    assert liqdata.join_asof(left, right)["place"].fillna(-1).tolist() == [-1, 7]


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_order_is_joined_with_the_last_closed_bar(library):
    market = samples.simulated()
    orders, bars = market.orders("BTC", limit=50), market.bars("BTC")
    frame = orders.to_pandas() if library == "pandas" else orders.to_polars()
    joined = liqdata.join_asof(frame, bars)
    assert type(joined) is LIBRARIES[library]
    for order, closes_at, close in zip(orders, joined["closes_at"].to_list(), joined["close"].to_list(), strict=True):
        at = order["timestamp"]
        wanted = max((bar for bar in bars if bar["closes_at"] <= at), key=lambda bar: bar["closes_at"])
        assert int(closes_at.timestamp() * 1000) == wanted["closes_at"]
        assert close == wanted["close"]


def test_frames_of_maps_and_bars_merge_in_pandas_itself():
    market = samples.simulated()
    heat = market.heatmap("BTC", "12h")
    wide, bars = heat.to_frame(), market.bars("BTC", interval="5m").to_pandas()
    assert str(wide.columns.dtype) == "datetime64[ms, UTC]"
    assert heat.times.dtype == np.dtype("datetime64[ms]")
    mass = wide.sum().rename("mass").reset_index()
    theirs = pd.merge_asof(bars, mass, left_on="closes_at", right_on="time")
    ours = liqdata.join_asof(bars, wide.T.sum(axis=1).to_frame("mass"))
    pd.testing.assert_series_equal(ours["mass"], theirs["mass"])
    assert ours["mass"].notna().sum() == len(heat.times)
    # Every column of the map goes to the bar that it was made of: both are known at the close of the bar.
    matched = ours.dropna()
    assert (matched["time"] == matched["closes_at"]).all()


def test_two_rows_objects_join_to_a_pandas_frame_with_its_index():
    market = samples.simulated()
    joined = liqdata.join_asof(market.bars("BTC"), market.bars("ETH"))
    assert isinstance(joined, pd.DataFrame)
    assert (joined["closes_at"] == joined["closes_at_right"]).all()
    left = pd.DataFrame({"value": [1, 2]}, index=pd.DatetimeIndex(["2026-06-01", "2026-06-01"], tz="UTC"))
    found = liqdata.join_asof(left, market.bars("BTC"))
    assert found.index.equals(left.index)
    assert found["close"].tolist() == [market.bars("BTC")[-1]["close"]] * 2


def test_an_hour_of_a_chart_is_known_at_its_end():
    market = samples.simulated()
    longs = market.chart("BTCUSDT").to_pandas().query("side == 'LONG'")
    hours = [int(hour.timestamp() * 1000) for hour in longs["hour"][:2]]
    at = pd.DataFrame({"timestamp": moments([hour + HOUR + step for hour in hours for step in (-1, 0)], "pandas")})
    joined = liqdata.join_asof(at, longs)
    assert (joined["hour"].dropna() + pd.Timedelta("1h") <= joined["timestamp"][joined["hour"].notna()]).all()
    assert joined["hour"].notna().sum() == 3


def test_periods_with_only_an_open_time_need_a_length():
    market = samples.simulated()
    history = market.history("BTC", interval="1h").to_pandas()
    at = pd.DataFrame({"timestamp": [history["timestamp"][3] + pd.Timedelta("59m"), history["timestamp"][4]]})
    with pytest.raises(BadQuery, match='interval="5m"') as caught:
        liqdata.join_asof(at, history)
    assert caught.value.parameter == "interval"
    joined = liqdata.join_asof(at, history, interval="1h")
    assert joined["cnt"].tolist() == history["cnt"][2:4].tolist()
    foreign = pd.DataFrame({name: [1.0, 2.0] for name in ("open", "high", "low", "close")})
    foreign["timestamp"] = moments([NOW, NOW + MINUTE], "pandas")
    with pytest.raises(BadQuery, match="is their start"):
        liqdata.join_asof(at, foreign)
    with pytest.raises(BadQuery, match="is their start"):
        liqdata.join_asof(at, foreign.set_index("timestamp"))
    assert liqdata.join_asof(at, foreign.assign(interval=MINUTE))["close"].isna().all()
    now = pd.DataFrame({"timestamp": moments([NOW + MINUTE], "pandas")})
    assert liqdata.join_asof(now, foreign.assign(interval=MINUTE))["close"].tolist() == [1.0]
    assert liqdata.join_asof(now, foreign, right_on="timestamp")["close"].tolist() == [2.0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_empty_tables_have_their_columns(library):
    market = samples.simulated()
    bars, none = market.bars("BTC"), market.bars("BTC", end=1)
    frame = bars.to_pandas() if library == "pandas" else bars.to_polars()
    joined = liqdata.join_asof(frame, none)
    assert len(joined) == len(bars)
    assert all(cell is None or math.isnan(cell) for cell in joined["close_right"].to_list())
    assert len(liqdata.join_asof(frame[:0], bars)) == 0


def test_a_missing_key_matches_no_row():
    at = moments([NOW, NOW], "pandas")
    left = pd.DataFrame({"timestamp": at, "coin": ["BTC", None]})
    right = pd.DataFrame({"timestamp": at, "coin": ["BTC", None], "value": [1.0, 2.0]})
    assert liqdata.join_asof(left, right, by="coin")["value"].fillna(-1).tolist() == [1, -1]
    joined = liqdata.join_asof(pl.from_pandas(left), pl.from_pandas(right), by="coin")
    assert joined["value"].to_list() == [1, None]


@pytest.mark.parametrize("library", LIBRARIES)
def test_disjoint_keys_are_refused_with_a_remedy_that_works(library):
    market = samples.simulated()
    both = pd.concat([market.bars(coin).to_pandas().assign(symbol=coin) for coin in ("BTC", "ETH")])
    orders = market.orders("BTC", limit=20)
    left, bars = (orders.to_pandas(), both) if library == "pandas" else (orders.to_polars(), pl.from_pandas(both))
    advised = r"by=\{'coin': 'symbol'\}"
    with pytest.raises(BadQuery, match=rf"2 different symbols; allowed: {advised}, or by=\(\)"):
        liqdata.join_asof(left, bars)
    with pytest.raises(BadQuery, match=rf"left has 'BTC\w+' and right 'BTC'; allowed: .*{advised}") as caught:
        liqdata.join_asof(left, bars, by="symbol")
    assert caught.value.parameter == "by"
    joined = liqdata.join_asof(left, bars, by={"coin": "symbol"})
    assert joined["close"].to_list() == liqdata.join_asof(left, market.bars("BTC"))["close"].to_list()
    # One that is common is enough, and where a side has none nothing is spelled otherwise.
    make = LIBRARIES[library]
    at = moments([NOW, NOW], library)
    right = make({"timestamp": at, "coin": ["A", "B"], "value": [1.0, 2.0]})
    assert liqdata.join_asof(make({"timestamp": at, "coin": ["B", "C"]}), right, by="coin")["value"].to_list()[0] == 2
    assert len(liqdata.join_asof(make({"timestamp": at, "coin": [None, None]}), right, by="coin")) == 2
    with pytest.raises(BadQuery, match=r"left has 'b' and right 'A'; allowed: columns of which some cells are equal$"):
        liqdata.join_asof(make({"timestamp": at, "coin": ["b", "c"]}), right, by="coin")


ONE = pd.DataFrame({"timestamp": moments([NOW], "pandas"), "value": [1.0]})


@pytest.mark.parametrize(
    "left, right, options, parameter, said",
    [
        ([{"timestamp": NOW}], ONE, {}, "left", "a list is not a frame"),
        (ONE, {"timestamp": [NOW]}, {}, "right", "a dict is not a frame"),
        (ONE, ONE["timestamp"], {}, "right", r"to_frame\(\) makes one"),
        (ONE, pl.from_pandas(ONE), {}, "right", "both of pandas or both of polars"),
        (pl.from_pandas(ONE).lazy(), ONE, {}, "left", r"collect\(\)"),
        (ONE[["value"]], ONE, {}, "left_on", "'value'"),
        (ONE, ONE[["value"]], {}, "right_on", "'value'"),
        (
            ONE,
            ONE,
            {"left_on": "when"},
            "left_on",
            "'when' is not a column of left; allowed: one of 'timestamp', 'value'",
        ),
        (ONE, ONE, {"right_on": "when"}, "right_on", "not a column of right"),
        (ONE, ONE, {"by": "coin"}, "by", "'coin' is not a column of left"),
        (ONE.assign(coin="A"), ONE, {"by": "coin"}, "by", "not a column of right"),
        (ONE, ONE, {"by": 3}, "by", "names of columns"),
        (ONE, ONE.assign(timestamp=NOW // 1000), {}, "right", "epoch seconds"),
        (ONE.assign(timestamp="2026-06-01"), ONE, {}, "left", r"pd\.to_datetime\(frame\['timestamp'\], utc=True\)"),
        (ONE.assign(timestamp=pd.NaT), ONE, {}, "left", "row 0: is missing"),
        (ONE.assign(timestamp=float("nan")), ONE, {}, "left", "row 0: is missing"),
        (ONE.assign(timestamp=0.5), ONE, {}, "left", "holds float64"),
        (ONE.assign(timestamp=NOW * 1000), ONE, {}, "left", "outside the years"),
        (ONE, ONE, {"tolerance": -1}, "tolerance", "-1 is not allowed"),
        (ONE, ONE, {"tolerance": "soon"}, "tolerance", '"90s"'),
        (ONE, ONE, {"tolerance": True}, "tolerance", "True"),
        (ONE, ONE, {"interval": "7s"}, "interval", "whole minutes"),
        (ONE, ONE, {"suffix": ""}, "suffix", "two columns"),
        (ONE, pd.concat([ONE.assign(symbol="A"), ONE.assign(symbol="B")]), {}, "by", "2 different symbols"),
        (ONE, pd.concat([ONE.assign(side="A"), ONE.assign(side="B")]), {}, "by", r"by='side', or by=\(\)"),
        (pd.concat([ONE, ONE], axis=1), ONE, {}, "left", "two columns"),
    ],
)
def test_an_invalid_join_names_a_remedy(left, right, options, parameter, said):
    with pytest.raises(BadQuery, match=said) as caught:
        liqdata.join_asof(left, right, **options)
    assert caught.value.parameter == parameter


def test_every_kind_of_tolerance_is_a_duration():
    left = pd.DataFrame({"timestamp": [datetime(2026, 6, 1, tzinfo=UTC) + timedelta(seconds=90)]})
    for tolerance, near in (
        ("90s", True),
        (timedelta(seconds=90), True),
        (90_000, True),
        (89_999, False),
        ("1m", False),
    ):
        assert bool(liqdata.join_asof(left, ONE, tolerance=tolerance)["value"].notna().all()) is near
