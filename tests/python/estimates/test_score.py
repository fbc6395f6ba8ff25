"""Scores of data with a known truth: gains in closed form, nulls at nothing, no look ahead."""

import pickle
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scored import DAY, HOUR, MINUTE, START, UNIT, bars, drawn, here, line, lumpy, moves, totals

import liqdata
from liqdata.scoring import compare, truth
from liqdata.scoring.maps import baselines, curves
from liqdata.scoring.maps.sources import Swept
from liqdata.scoring.statistics import fit, gain, path, trial


@pytest.fixture(scope="module")
def known():
    """Ninety days with an intensity of three tenths of the map, and a little everywhere."""
    table = bars(90)
    seen = moves(table)
    crossed = lumpy(seen)
    mu = 0.3 * crossed + 2e4
    return table, seen, crossed, mu, drawn(mu, 5)


@pytest.fixture(scope="module")
def card(known):
    """The card of the map alone."""
    table, seen, crossed, _, usd = known
    return liqdata.score(Swept("map", seen.opens, crossed), totals(seen.opens, usd), bars=table)


# --- what is known in closed form


def test_the_gain_of_a_known_intensity_is_the_closed_form():
    chance = np.random.default_rng(0)
    mu = chance.choice([1.0, 4.0], size=(20_000, 1), p=[0.7, 0.3])
    usd = chance.poisson(mu).astype(float)
    mean = 0.7 * 1.0 + 0.3 * 4.0
    closed = (0.7 * np.log(1.0 / mean) + 0.3 * 4.0 * np.log(4.0 / mean)) / mean
    opens = START + HOUR * np.arange(len(mu))
    found = gain.Resampled(opens, 0).gain(usd, mu, np.full_like(mu, mean), np.ones(len(mu), dtype=bool))
    assert found.low < closed < found.high
    assert found.value == pytest.approx(closed, abs=0.01)
    assert found.high - found.low < 0.03


def test_a_map_that_is_the_intensity_scores_its_closed_form_alone(known, card):
    _, seen, crossed, mu, usd = known
    paths = trial.paths(seen._replace(usd=usd), here)
    rows = np.isfinite(paths.weak).all(axis=1)
    weak, true = paths.weak[rows], mu[rows]
    closed = (true * np.log(true / weak) - (true - weak)).sum() / true.sum()
    found = line(card.rows())
    assert closed > 0.2
    assert found["ig_low"] < closed < found["ig_high"]
    assert found["ig"] == pytest.approx(closed, rel=0.1)
    assert found["dig_low"] > 0.1
    assert found["calibration"] == pytest.approx(1.0, abs=0.05)
    assert found["n"] == rows.sum()
    for side in ("LONG", "SHORT"):
        assert line(card.rows(), side)["ig"] > 0.1
    weeks = [row["kappa"] for row in card.kappa() if row["side"] == "both"]
    assert np.mean(weeks) == pytest.approx(usd.sum() / crossed.sum(), rel=0.1)


def test_deciles_of_a_calibrated_map_are_calibrated_and_rise(card):
    rows = [row for row in card.deciles() if row["side"] == "both"]
    assert [row["decile"] for row in rows] == list(range(1, 11))
    assert all(0.8 < row["calibration"] < 1.25 for row in rows)
    assert [row["predicted_usd"] for row in rows] == sorted(row["predicted_usd"] for row in rows)
    assert sum(row["realised_usd"] for row in rows) == pytest.approx(line(card.rows())["usd"])


# --- what must score nothing


def test_a_map_without_skill_scores_nothing_over_the_path(known):
    table, seen, _, _, usd = known
    blind = {f"blind {seed}": Swept("", seen.opens, lumpy(seen, seed)) for seed in (11, 12, 13)}
    card = liqdata.score(blind, totals(seen.opens, usd), bars=table)
    for name in blind:
        found = line(card.rows(), map=name)
        assert abs(found["dig"]) < 0.004
        assert found["dig_low"] < 0.001 < found["dig_high"] + 0.002


@pytest.mark.parametrize("reference", ["adaptive", "strong"])
def test_a_map_of_the_path_alone_scores_nothing_over_the_path(reference):
    table = bars(90, seed=2)
    seen = moves(table)
    far = seen.excursion - 1.0
    mu = 3e4 + 2e5 * (far / 20.0) ** 1.5 + 5e4 * far / 20.0
    usd = drawn(mu, 6)
    path_only = {
        "power": Swept("", seen.opens, 1e6 * far**2),
        "steps": Swept("", seen.opens, np.where(far > 30, 1e8, 0.0) + np.where(far > 100, 3e8, 0.0)),
        "nothing": Swept("", seen.opens, np.zeros_like(far)),
    }
    card = liqdata.score(path_only, totals(seen.opens, usd), bars=table, reference=reference)
    for name in path_only:
        found = line(card.rows(), map=name)
        assert abs(found["dig"]) < 0.004, name
        assert found["dig_low"] < 0.002, name


def test_a_map_with_a_late_start_gains_nothing_by_its_short_history():
    table = bars(60, seed=2)
    seen = moves(table)
    level = np.where(seen.opens < START + 30 * DAY, 1.0, 6.0)[:, None]
    usd = drawn(level * (2e4 + 1e5 * (seen.excursion - 1.0) / 20.0), 6)
    late = np.where(seen.opens[:, None] < START + 30 * DAY, np.nan, lumpy(seen, 17))
    for reference in ("adaptive", "strong", "weak"):
        source = Swept("late", seen.opens, late)
        card = liqdata.score(source, totals(seen.opens, usd), bars=table, reference=reference)
        assert abs(line(card.rows())["dig"]) < 0.005


# --- nothing of the future


@pytest.mark.parametrize("period", [HOUR, 30 * MINUTE])
def test_later_rows_change_no_earlier_prediction(period):
    table = bars(60, seed=4)
    seen = moves(table, period)
    crossed = lumpy(seen)
    usd = drawn(0.3 * crossed + 1e4, 7)
    cut = int(np.searchsorted(seen.opens, START + 40 * DAY))
    order = np.concatenate((np.arange(cut), cut + np.random.default_rng(8).permutation(len(usd) - cut)))

    def predictions(usd, crossed):
        mine = seen._replace(usd=usd)
        paths = trial.paths(mine, here)
        (one,) = trial.trials(mine, paths, [crossed], "adaptive", here)
        return np.concatenate([paths.weak, paths.strong, paths.adaptive, one.alone, one.full], axis=1)

    first, then = predictions(usd, crossed), predictions(usd[order], crossed[order])
    assert np.isfinite(first[cut - 1]).all()
    assert first[:cut].tobytes() == then[:cut].tobytes()
    day = int(np.searchsorted(seen.opens, START + 41 * DAY))
    assert (first[day:] != then[day:]).any()


def test_a_function_that_uses_later_rows_is_refused():
    table, seen = bars(20), moves(bars(20))
    ahead = grids(table)
    with pytest.raises(liqdata.BadQuery, match="use no later data") as caught:
        liqdata.score(lambda at: ahead(at + timedelta(hours=1)), totals(seen.opens, lumpy(seen)), bars=table)
    assert caught.value.parameter == "maps"
    # What its earlier columns count was learnt later.
    heatmap = grids(table, kind="heatmap")(opened(seen)[-1])
    heatmap.meta["explain"]["fit"] = {"state": "fitted"}
    with pytest.raises(liqdata.BadQuery, match="every column of a fitted heatmap") as caught:
        liqdata.score(heatmap, totals(seen.opens, lumpy(seen)), bars=table)
    assert caught.value.parameter == "maps"


# --- maps of every kind


def grids(table, version=None, kind="map", lag=0):
    """A function that gives the map of an instant: lumps fixed on the price axis, longs below and shorts above."""
    chance = np.random.default_rng(9)
    width = 60.0
    edges = np.arange(30_000, 120_000, width)
    usd = chance.lognormal(13, 1, len(edges))
    price_bars = path.read_bars(table, "BTC")

    def asked(at):
        at = at - timedelta(milliseconds=lag)
        price = float(price_bars.closed(np.asarray([int(at.timestamp() * 1000)]))[0])
        prices = edges + width / 2
        near = np.abs(prices / price - 1) < 0.1
        if kind == "heatmap":
            return liqdata.Heatmap(
                "BTC",
                "24h",
                2,
                at,
                price,
                prices[near],
                np.asarray([int(at.timestamp() * 1000)]).astype("datetime64[ms]"),
                usd[near][:, None],
                meta={"explain": {"modelVersion": version}},
            )
        sides = np.where(prices[near] < price, "long", "short")
        total = usd[near]
        return liqdata.LiquidationMap(
            "BTC",
            "7d",
            at,
            price,
            width,
            np.asarray([10]),
            prices[near],
            sides,
            total[:, None],
            total,
            meta={"explain": {"modelVersion": version}},
        )

    return asked


def opened(seen):
    return [datetime.fromtimestamp(at / 1000, UTC) for at in seen.opens.tolist()]


def test_a_function_and_its_maps_have_the_same_score():
    table = bars(25)
    seen = moves(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    asked = grids(table)
    maps = [asked(at) for at in opened(seen)]
    card = liqdata.score(
        {
            "function": asked,
            "maps": maps[::-1],
            "pairs": zip(opened(seen), maps, strict=True),
            "heatmaps": grids(table, kind="heatmap"),
        },
        totals(seen.opens, usd),
        bars=table,
    )
    rows = [{**row, "map": ""} for row in card.rows() if row["side"] == "both"]
    assert len(rows) == 4
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert {row["state"] for row in card.rows()} == {"frozen"}
    assert {(row["ig"], row["dig"]) for row in card.paired()} == {(0.0, 0.0)}
    assert card.meta["variants"] == 1


def test_a_bin_counts_as_far_as_the_move_goes_into_it():
    table = bars(10)
    grid = grids(table)(datetime.fromtimestamp(START / 1000 + 5 * 86_400, UTC))
    curve = curves.of_map(grid, 0)
    longs = grid.sides == "long"
    whole = float(grid.total[longs & (grid.prices > grid.current_price - 1000)].sum())
    edge = float(grid.prices[longs & (grid.prices > grid.current_price - 1000)].min()) - 30.0
    assert curve.crossed(edge, grid.current_price)[0] == pytest.approx(whole, rel=1e-9)
    half = curve.crossed(edge - 30.0, grid.current_price)[0]
    below = float(grid.total[np.argmin(np.abs(grid.prices - (edge - 30.0)))])
    assert half == pytest.approx(whole + below / 2, rel=1e-9)
    assert curve.crossed(grid.current_price, grid.current_price) == (0.0, 0.0)
    assert curve.crossed(1.0, 1e9)[1] == pytest.approx(float(grid.total[~longs].sum()))


def test_a_map_is_the_newest_that_was_known_at_the_open():
    table = bars(25)
    seen = moves(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    late = grids(table, lag=3 * HOUR)
    shifted = [(at, late(at)) for at in opened(seen)]
    daily = [pair for pair in shifted if pair[0].hour == 0]
    card = liqdata.score({"late": late, "pairs": shifted, "daily": daily}, totals(seen.opens, usd), bars=table)
    left, right, other = (row for row in card.rows() if row["side"] == "both")
    assert left["ig"] == right["ig"] != other["ig"]


def test_nulls_of_a_map_are_its_past_its_average_and_its_mirror():
    table = bars(45)
    seen = moves(table)
    asked = grids(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    card = liqdata.score(asked, totals(seen.opens, usd), bars=table)
    rows = {row["map"]: row for row in card.references() if row["side"] == "both"}
    ages = [f"asked: {age}d ago" for age in (1, 3, 7, 14, 30)]
    assert list(rows) == ["weak", "strong", "adaptive", *ages, "asked: average", "asked: mirrored"]
    counts = [rows[name]["n"] for name in ages]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 0
    assert rows["weak"]["ig"] == 0.0
    assert rows["adaptive"]["dig"] == 0.0
    assert {row["state"] for row in rows.values()} == {"path", "frozen"}
    for name in [*ages, "asked: average", "asked: mirrored"]:
        assert abs(rows[name]["dig"]) < 0.02


def test_baselines_are_listed_as_references(known):
    table, seen, crossed, _, usd = known
    card = liqdata.score(
        Swept("map", seen.opens, crossed),
        totals(seen.opens, usd),
        bars=table,
        baselines={"blind": Swept("", seen.opens, lumpy(seen, 21))},
    )
    assert {row["map"] for row in card.rows()} == {"map"}
    assert line(card.references(), map="baseline: blind")["dig"] < 0.01 < line(card.rows())["dig"]


def test_published_formulas_are_baselines_by_name():
    table = bars(25)
    seen = moves(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    chance = np.random.default_rng(3)
    count = len(table["timestamp"])
    venues = [
        {
            "timestamp": table["timestamp"] + 15 * MINUTE,
            "open_interest": 1e5 * np.exp(np.cumsum(chance.normal(0, 0.002, count))),
            "exchange": [venue] * count,
        }
        for venue in ("okx", "bybit")
    ]
    readings = {name: np.concatenate([one[name] for one in venues]) for name in venues[0]}
    names = ("template", "prints", "interest", "turnover")
    source = Swept("map", seen.opens, lumpy(seen))
    card = liqdata.score(source, totals(seen.opens, usd), bars=table, open_interest=readings, baselines=names)
    rows = [row for row in card.references() if row["map"].startswith("baseline: ") and row["side"] == "both"]
    assert [row["map"] for row in rows] == [f"baseline: {name}" for name in names]
    assert all(abs(row["dig"]) < 0.01 for row in rows)
    asked = liqdata.score({"own": "turnover"}, totals(seen.opens, usd), bars=table)
    assert {row["state"] for row in asked.rows()} == {"frozen", "refreshed"}
    closes = dict(zip(table["timestamp"] + 15 * MINUTE, table["close"], strict=True))
    usd_readings = {name: readings[name] for name in ("timestamp", "exchange")}
    pairs = zip(readings["timestamp"], readings["open_interest"], strict=True)
    usd_readings["open_interest_usd"] = [value * closes[at] for at, value in pairs]
    in_usd = liqdata.score(
        source, totals(seen.opens, usd), bars=table, open_interest=usd_readings, baselines=["interest"]
    )
    in_base = liqdata.score(source, totals(seen.opens, usd), bars=table, open_interest=readings, baselines=["interest"])
    scores = [next(row for row in one.references() if row["map"] == "baseline: interest") for one in (in_usd, in_base)]
    assert scores[0]["ig"] == pytest.approx(scores[1]["ig"], rel=1e-6)
    with pytest.raises(liqdata.BadQuery, match="which the baseline 'interest' needs"):
        liqdata.score("interest", totals(seen.opens, usd), bars=table)


@pytest.mark.parametrize("name", baselines.NAMES)
def test_a_baseline_uses_no_later_rows(name):
    table = bars(12)
    readings = {"timestamp": table["timestamp"] + 15 * MINUTE, "open_interest": 1e5 + table["volume"]}
    seen = moves(table)
    cut = int(np.searchsorted(seen.opens, START + 8 * DAY))
    other = {name: cells.copy() for name, cells in table.items()}
    later = other["timestamp"] >= START + 8 * DAY
    for column in ("high", "low", "close", "volume"):
        other[column][later] *= 1.01
    first, _ = baselines.made(name, seen, readings, "BTC")
    then, _ = baselines.made(name, moves(other), readings, "BTC")
    assert first[:cut] == pytest.approx(then[:cut], rel=1e-9)
    assert (first[cut:] != then[cut:]).any()
    assert (first >= 0).all()
    assert first.any()


def test_the_template_has_a_line_at_one_over_each_leverage():
    table = bars(5)
    seen = moves(table)
    seen = seen._replace(low=seen.price * (1 - 0.0101), high=seen.price * 1.5001)
    crossed = baselines.template(seen)
    assert crossed[0, 0] == pytest.approx(1e8 * sum(1 / leverage for leverage in range(100, 126)))
    assert crossed[0, 1] == pytest.approx(1e8 * sum(1 / leverage for leverage in range(2, 126)))


def test_turnover_fades_is_crossed_once_and_lies_where_it_would_be_liquidated():
    step = HOUR
    close = np.full(24 * 4, 100.0)
    low = close.copy()
    low[[48, 49]] = 98.4  # the longs of 50 lie at 98.49, those of 100 at 99.50
    table = {
        "timestamp": START + step * np.arange(len(close)),
        "high": close,
        "low": low,
        "close": close,
        "volume": np.where(np.arange(len(close)) == 24, 1e4, 0.0),
    }
    seen = moves(table)
    frozen, inside = baselines.made("turnover", seen, None, "BTC")
    bar = 48 - 1
    assert frozen[bar, 0] == pytest.approx(1e6 / 2 * 0.5 ** (23 / 24), rel=1e-9)
    assert inside[bar, 0] == pytest.approx(frozen[bar, 0])
    assert frozen[bar + 1, 0] == 0.0
    assert frozen[:, 1].sum() == 0.0


def test_a_pool_scores_better_than_its_maps(known):
    table, seen, crossed, _, _ = known
    other = lumpy(seen, 41)
    usd = drawn(0.15 * crossed + 0.15 * other + 2e4, 5)
    maps = {"one": Swept("", seen.opens, crossed), "other": Swept("", seen.opens, other)}
    card = liqdata.score(maps, totals(seen.opens, usd), bars=table)
    pool = line(card.references(), map="pool of 2")
    singles = [line(card.rows(), map=name) for name in maps]
    assert all(pool["dig_low"] > row["dig"] > 0.0 for row in singles)
    assert all(pool["ig"] > row["ig"] for row in singles)
    alone = liqdata.score(maps["one"], totals(seen.opens, usd), bars=table)
    assert not [row for row in alone.references() if row["map"].startswith("pool")]
    with_baseline = liqdata.score(maps["one"], totals(seen.opens, usd), bars=table, baselines=["template"])
    assert line(with_baseline.references(), map="pool of 2")["n"] == line(with_baseline.rows())["n"]


def test_refreshed_and_frozen_predictions_are_distinguished(known):
    table, seen, crossed, _, usd = known
    source = Swept("map", seen.opens, crossed * np.random.default_rng(1).lognormal(0, 0.5, crossed.shape), crossed)
    card = liqdata.score(source, totals(seen.opens, usd), bars=table)
    frozen, refreshed = (line(card.rows(), state=state) for state in ("frozen", "refreshed"))
    assert refreshed["ig"] > frozen["ig"] > 0
    assert len(card.paired()) == 0


def test_versions_are_never_mixed():
    table = bars(15)
    seen = moves(table)
    one, other = grids(table, "aa"), grids(table, "bb")
    mixed = [(one if place % 2 else other)(at) for place, at in enumerate(opened(seen))]
    with pytest.raises(liqdata.BadQuery, match=r"mixes maps of the versions \['aa', 'bb'\]"):
        liqdata.score(mixed, totals(seen.opens, lumpy(seen)), bars=table)
    with pytest.raises(liqdata.BadQuery, match=r"mixes maps of the versions \['aa', 'bb'\]"):
        liqdata.score(lambda at: (one if at.hour % 2 else other)(at), totals(seen.opens, lumpy(seen)), bars=table)
    # Nor are multiples of the volume with open interest.
    for grid in mixed:
        grid.meta["explain"] |= {"modelVersion": "aa", "openInterestScale": "relative" if grid is mixed[-1] else "usd"}
    with pytest.raises(liqdata.BadQuery, match=r"\['aa', 'aa in relative units'\]"):
        liqdata.score(mixed, totals(seen.opens, lumpy(seen)), bars=table)
    named = {"one": one, "other": other}
    card = liqdata.score(named, totals(seen.opens, lumpy(seen)), bars=table)
    assert card.meta["versions"] == {"one": "aa", "other": "bb"}
    # What both know together is no map of either, and is called so.
    assert line(card.references(), map="pool of 2")["n"] == line(card.rows(), map="one")["n"]


# --- what comes in


def frames(columns):
    stamped = {**columns, "timestamp": pd.to_datetime(columns["timestamp"], unit="ms", utc=True)}
    return {
        "pandas, UTC": pd.DataFrame(stamped),
        "pandas, elsewhere": pd.DataFrame({**stamped, "timestamp": stamped["timestamp"].tz_convert("Asia/Tokyo")}),
        "pandas, naive": pd.DataFrame({**stamped, "timestamp": stamped["timestamp"].tz_localize(None)}),
        "polars": pl.DataFrame(columns).with_columns(pl.col("timestamp").cast(pl.Datetime("ms", "UTC"))),
        "arrow": pa.table(columns).set_column(
            0, "timestamp", pa.array(columns["timestamp"], pa.timestamp("ms", tz="UTC"))
        ),
        "lists": {name: cells.tolist() for name, cells in columns.items()},
        "backwards": {name: cells[::-1] for name, cells in columns.items()},
    }


def test_tables_of_every_kind_score_alike():
    table = bars(15)
    seen = moves(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    source = Swept("map", seen.opens, lumpy(seen))
    plain = liqdata.score(source, totals(seen.opens, usd), bars=table)
    for name, realised in frames(totals(seen.opens, usd)).items():
        assert liqdata.score(source, realised, bars=frames(table)[name]).tables == plain.tables, name
    coins = {**totals(seen.opens, usd), "symbol": ["BTC"] * len(usd)}
    more = {name: np.concatenate([cells, cells[:5]]) for name, cells in coins.items()}
    more["symbol"][-5:] = "ETH"
    assert liqdata.score(source, more, bars=table).tables == plain.tables


def test_orders_become_periods_and_a_period_without_orders_is_zero():
    table = bars(15)
    seen = moves(table)
    chance = np.random.default_rng(2)
    at = np.sort(chance.integers(seen.opens[0], seen.opens[-1], 4000))
    orders = {
        "exchange": ["okx"] * len(at),
        "symbol": ["BTCUSDT"] * len(at),
        "side": chance.choice(["LONG", "SHORT"], len(at)).tolist(),
        "price": [1.0] * len(at),
        "qty": [1.0] * len(at),
        "value_usd": chance.lognormal(10, 1, len(at)),
        "timestamp": at,
    }
    orders["symbol"][7] = "ETHUSDT"
    read = truth.realised(orders, "BTC", HOUR)
    inside = (at >= read.opens[0]) & (at < read.opens[-1] + HOUR)
    inside[7] = False
    assert read.usd.sum() == pytest.approx(orders["value_usd"][inside].sum())
    assert (np.diff(read.opens) == HOUR).all()
    assert read.opens[0] > at[0]
    card = liqdata.score(Swept("map", seen.opens, lumpy(seen)), orders, bars=table)
    assert line(card.rows())["usd"] > 0


@pytest.mark.parametrize("step", [5 * MINUTE, 15 * MINUTE, 30 * MINUTE])
@pytest.mark.parametrize("period", ["30m", timedelta(hours=1)])
def test_bars_may_be_finer_than_the_period(step, period):
    table = bars(15, step=step)
    length = 30 * MINUTE if period == "30m" else HOUR
    seen = moves(table, length)
    assert seen.inside.shape[2] == length // max(step, 15 * MINUTE)
    card = liqdata.score(
        Swept("m", seen.opens, lumpy(seen)), totals(seen.opens, lumpy(seen)), bars=table, period=period
    )
    assert line(card.rows())["n"] > 100


def test_halves_sum_to_wholes_only_if_both_exist():
    table = bars(20)
    halves = moves(table, 30 * MINUTE)
    usd = drawn(2e5 * (halves.excursion / 20), 1)
    chosen = np.ones(len(usd), dtype=bool)
    chosen[[40, 77]] = False
    realised = {name: cells[chosen] for name, cells in totals(halves.opens, usd).items()}
    read = truth.realised(realised, "BTC", HOUR)
    assert read.incomplete == 2 + 2 * (halves.opens[0] % HOUR != 0) - (halves.opens[0] % HOUR != 0)
    assert not {int(halves.opens[row]) // HOUR * HOUR for row in (40, 77)} & set(read.opens.tolist())


# --- the overlap, and the truth itself


def test_dropped_periods_are_reported():
    table = bars(40)
    seen = moves(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    opens = np.concatenate([seen.opens[0] - HOUR * np.arange(48, 0, -1), seen.opens])
    more = np.concatenate([np.zeros((48, 2)), usd])
    later = seen.opens >= START + 12 * DAY
    source = Swept("map", seen.opens[later], lumpy(seen)[later])
    card = liqdata.score(source, totals(opens, more), bars=table, end=START + 35 * DAY)
    meta = card.meta
    assert meta["left_out"]["realised but without bars"] == 48
    assert meta["spans"]["realised"][0] == datetime.fromtimestamp(opens[0] / 1000, UTC)
    assert meta["spans"]["bars"] == (
        datetime.fromtimestamp(START / 1000, UTC),
        datetime.fromtimestamp(START / 1000, UTC) + timedelta(days=40),
    )
    # The map begins on the 12th day and has to be known for 200 periods; the day that holds the 200th is over then.
    assert meta["start"] == datetime.fromtimestamp(START / 1000, UTC) + timedelta(days=21)
    assert meta["end"] == datetime.fromtimestamp(START / 1000, UTC) + timedelta(days=35)
    assert meta["periods"] == 14 * 24 == line(card.rows())["n"]
    assert sum(meta["left_out"].values()) + meta["periods"] == len(opens)


def test_start_bounds_the_scored_periods_and_not_the_training(known, card):
    table, seen, crossed, _, usd = known
    source = Swept("map", seen.opens, crossed)
    part = liqdata.score(source, totals(seen.opens, usd), bars=table, start=START + 60 * DAY)
    assert part.meta["start"] == datetime.fromtimestamp(START / 1000, UTC) + timedelta(days=60)
    assert line(part.rows())["n"] == 30 * 24
    assert line(card.rows())["n"] > 70 * 24
    assert line(part.rows())["ig"] != line(card.rows())["ig"]


@pytest.mark.parametrize("power", [1.0, 1.5])
@pytest.mark.parametrize("period", [30 * MINUTE, HOUR])
def test_a_feed_without_the_end_of_its_periods_is_detected(period, power):
    table = bars(60, step=5 * MINUTE)
    seen = moves(table, period)
    worth = 1e5 * (np.concatenate([np.zeros((len(seen.opens), 2, 1)), seen.inside], axis=2) / 10.0) ** power
    whole = np.random.default_rng(1).poisson(np.diff(worth, axis=2) / UNIT) * UNIT
    lost = whole.copy()
    lost[:, :, -1] *= 0.2
    for usd, odd in ((whole.sum(axis=2), False), (lost.sum(axis=2), True)):
        card = liqdata.score(Swept("m", seen.opens, lumpy(seen)), totals(seen.opens, usd), bars=table, period=period)
        rows = [row for row in card.checks() if row["check"] == "part of the period"]
        assert len(rows) == period // (15 * MINUTE)
        assert rows[0]["slot"] == "+0 min"
        assert rows[-1]["odd"] is odd
        assert (rows[-1]["relative"] < 0.6) is odd
        assert odd or not any(row["odd"] for row in rows)


def test_parts_are_compared_with_given_totals():
    table = bars(20)
    halves, wholes = moves(table, 30 * MINUTE), moves(table)
    usd = drawn(2e5 * (halves.excursion / 20), 1)
    sums = {at: usd[halves.opens // HOUR * HOUR == at].sum(axis=0) for at in wholes.opens.tolist()}
    whole = np.asarray([sums[at] for at in wholes.opens.tolist()])
    whole[::4] *= 1.5
    both = {
        "timestamp": np.concatenate([halves.opens, wholes.opens]),
        "long_usd": np.concatenate([usd[:, 0], whole[:, 0]]),
        "short_usd": np.concatenate([usd[:, 1], whole[:, 1]]),
        "interval": ["30m"] * len(halves.opens) + ["1h"] * len(wholes.opens),
    }
    card = liqdata.score(Swept("m", wholes.opens, lumpy(wholes)), both, bars=table)
    (row,) = [row for row in card.checks() if row["check"] == "parts against wholes"]
    assert row["slot"] == "30 min"
    assert row["differing"] == pytest.approx(0.25, abs=0.02)
    assert row["relative"] < 0.95


# --- mistakes


def mistakes():
    table = bars(12)
    seen = moves(table)
    usd = lumpy(seen)
    good = totals(seen.opens, usd)
    source = Swept("map", seen.opens, usd)

    def with_(column, row, value, of=good):
        cells = np.array(of[column], dtype=object)
        cells[row] = value
        return {**of, column: cells}

    return [
        ((source, {"timestamp": [1], "long_usd": [1.0]}, table, {}), "realised", "column 'short_usd' is missing"),
        ((source, with_("long_usd", 3, -2.0), table, {}), "realised", "column 'long_usd', row 3: -2 is not allowed"),
        ((source, with_("long_usd", 3, "much"), table, {}), "realised", "row 3: 'much' is not a number"),
        ((source, with_("timestamp", 3, good["timestamp"][2]), table, {}), "realised", "is given twice"),
        (
            (source, with_("timestamp", 3, good["timestamp"][3] + 1), table, {}),
            "realised",
            "not a multiple of 3600000 ms",
        ),
        ((source, {**good, "timestamp": good["timestamp"] // 1000}, table, {}), "realised", "look like epoch seconds"),
        ((source, {**good, "symbol": ["ETH"] * len(usd)}, table, {}), "realised", "no row has the symbol 'BTC'"),
        ((source, 7, table, {}), "realised", "a int is not a table"),
        ((source, good, None, {}), "bars", "bars: None"),
        ((source, good, with_("low", 3, 1e9, table), {}), "bars", "allowed: 0 < low <= close <= high"),
        ((source, good, {**table, "timestamp": table["timestamp"] + 365 * DAY}, {}), "bars", "no period of `realised`"),
        ((source, good, table, {"period": "7h"}), "period", "'7h' is not allowed"),
        ((source, good, table, {"period": "30m"}), "realised", "do not make up one of 30"),
        ((source, good, table, {"reference": "uniform"}), "reference", "'uniform' is not allowed"),
        ((source, good, table, {"seed": -1}), "seed", "-1 is not allowed"),
        ((source, good, table, {"client": 3}), "client", "a int runs no tasks"),
        ((source, good, table, {"baselines": 3}), "baselines", "3 is not allowed"),
        ((source, good, table, {"symbol": " "}), "symbol", "symbol"),
        ((source, good, table, {"start": START, "end": START - 1}), "end", "not after the start"),
        ((source, good, table, {"start": START + 300 * DAY}), "realised", "nothing is left to score"),
        (
            (source, {name: cells[:150] for name, cells in good.items()}, table, {}),
            "realised",
            "nothing is left to score",
        ),
        (({}, good, table, {}), "maps", "nothing was given"),
        (("BTC", good, table, {}), "maps", "'BTC' cannot be scored"),
        (([3], good, table, {}), "maps", "item 0 is a int"),
        ((liqdata.Model, good, table, {}), "maps", "the class Model cannot be scored"),
        (
            (source, good, {name: cells[:0] for name, cells in table.items()} | {"symbol": []}, {}),
            "bars",
            "it is empty",
        ),
        ((lambda _: 3, good, table, {}), "maps", "a int was returned"),
        ((lambda at: replace(grids(table)(at), symbol="WBTC"), good, table, {}), "maps", "a map is of 'WBTC'"),
        (([], good, table, {}), "maps", "has no maps"),
    ]


@pytest.mark.parametrize(
    "asked,parameter,said",
    [pytest.param(*mistake, id=f"{place}: {mistake[2]}") for place, mistake in enumerate(mistakes())],
)
def test_an_invalid_argument_is_named(asked, parameter, said):
    maps, realised, table, options = asked
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.score(maps, realised, bars=table, **options)
    assert caught.value.parameter == parameter
    assert said in str(caught.value)


# --- what comes out


def test_the_card_has_a_text_a_picture_and_a_pickle(known):
    pytest.importorskip("matplotlib").use("agg")
    table, seen, crossed, _, usd = known
    maps = {"good": Swept("", seen.opens, crossed), "blind": Swept("", seen.opens, lumpy(seen, 31))}
    card = liqdata.score(maps, totals(seen.opens, usd), bars=table, seed=3)
    text = card.to_markdown()
    for title in ("# Scorecard: BTC, 60 min", "## Maps", "## Differences", "## Calibration", "## The truth itself"):
        assert title in text
    assert "variants tried on this truth: " in text
    assert "| good | frozen | both |" in text
    assert repr(card).startswith("Scorecard(BTC 60 min: ")
    assert "<table>" in card._repr_html_()
    ax = card.plot()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["good, frozen", "blind, frozen", "pool of 2, frozen"]
    again = pickle.loads(pickle.dumps(card))
    assert repr(again.tables) == repr(card.tables)
    assert again.meta == card.meta
    assert card.rows().columns[:5] == ["map", "state", "side", "n", "usd"]
    assert str(card.kappa().to_pandas()["week"].dtype) == "datetime64[ms, UTC]"
    assert card.rows().to_polars().height == 6
    assert set(compare.SIDES) == {row["side"] for row in card.rows()}
    pair = line(card.paired())
    assert pair["dig"] == pytest.approx(line(card.rows(), map="good")["dig"] - line(card.rows(), map="blind")["dig"])
    assert pair["dig_low"] > 0


def test_a_seed_gives_the_same_intervals_and_another_others(known, card):
    table, seen, crossed, _, usd = known
    source = Swept("map", seen.opens, crossed)
    same, other = (liqdata.score(source, totals(seen.opens, usd), bars=table, seed=seed) for seed in (0, 2))
    assert card.tables == same.tables
    assert line(card.rows())["ig"] == line(other.rows())["ig"]
    assert line(card.rows())["ig_low"] != line(other.rows())["ig_low"]


def test_several_symbols_have_a_card_each():
    table = bars(12)
    seen = moves(table)
    usd = drawn(2e5 * (seen.excursion / 20), 1)
    coins = {"BTC": (table, usd), "ETH": (table, usd * 2)}
    source = Swept("map", seen.opens, lumpy(seen))
    both = [
        pd.concat([pd.DataFrame(one).assign(symbol=coin) for coin, one in parts.items()])
        for parts in (
            {coin: totals(seen.opens, realised) for coin, (_, realised) in coins.items()},
            {coin: prices for coin, (prices, _) in coins.items()},
        )
    ]
    cards = liqdata.score(source, both[0], bars=both[1], symbol=["BTC", "eth"])
    assert list(cards) == ["BTC", "ETH"]
    assert cards["ETH"].meta["symbol"] == "ETH"
    assert line(cards["ETH"].rows())["usd"] == 2 * line(cards["BTC"].rows())["usd"]
    alone = liqdata.score(source, totals(seen.opens, usd), bars=table)
    assert repr(alone.tables) == repr(cards["BTC"].tables)
    for realised, prices in ((totals(seen.opens, usd), both[1]), (both[0], table)):
        with pytest.raises(liqdata.BadQuery, match="because several coins are scored"):
            liqdata.score(source, realised, bars=prices, symbol=["BTC", "ETH"])


def test_importing_the_package_loads_no_scoring():
    import subprocess

    body = "import sys, liqdata; print([name for name in sys.modules if 'scoring' in name or name == 'numpy'])"
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


# --- the fits


def test_a_sum_converges_to_weights_that_are_not_negative():
    chance = np.random.default_rng(0)
    terms = chance.exponential(1.0, (4000, 3))
    usd = drawn(1e6 * (2.0 * terms[:, 0] + 0.5 * terms[:, 1]), 1)
    found = fit.together(terms, usd)
    assert found[0] == pytest.approx(2e6, rel=0.05)
    assert found[1] == pytest.approx(5e5, rel=0.1)
    assert 0 < found[2] < 5e4


def test_a_term_that_was_not_seen_yet_has_a_finite_prior():
    count = 24 * 30
    opens = START + HOUR * np.arange(count)
    terms = np.column_stack([np.ones(count), np.zeros(count)])
    usd = np.full(count, 1e6)
    terms[-24:, 1] = 1.0
    calendar = fit.Calendar.of(opens, HOUR)
    for parent in (0, -1):
        found = fit.summed(terms, usd, (0, parent), calendar, range(len(calendar.starts)))
        assert np.isfinite(found[-1])
        assert 9e5 < found[-1] < 1e7
    assert np.isnan(found[: fit.WARM]).all()
    assert found[fit.WARM + 24] == pytest.approx(1e6, rel=0.02)


# --- elsewhere


def test_a_dask_cluster_gives_the_same_scores():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    table = bars(25)
    seen = moves(table)
    crossed = lumpy(seen)
    usd = drawn(0.3 * crossed + 2e4, 5)
    maps = {"map": Swept("", seen.opens, crossed)}
    alone = liqdata.score(maps, totals(seen.opens, usd), bars=table)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        there = liqdata.score(maps, totals(seen.opens, usd), bars=table, client=client)
        asked = liqdata.score(grids(table), totals(seen.opens, usd), bars=table, client=client)
    assert repr(there.tables) == repr(alone.tables)
    again = liqdata.score(grids(table), totals(seen.opens, usd), bars=table)
    assert repr(asked.tables) == repr(again.tables)
