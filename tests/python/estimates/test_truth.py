"""A map is compared with known positions: closed forms, measured snapshots, and the gate of the demo's truth."""

import os
import pickle
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import samples

import liqdata
from liqdata import types

HOUR = samples.HOUR
NOW = samples.NOW
PRICE = 50_000.0
RATIOS = ("ratio_1pct", "ratio_2pct", "ratio_5pct", "ratio_10pct")
SEEDS = range(12 if os.environ.get("LIQDATA_SOAK") else 3)


@pytest.fixture(scope="module")
def market():
    """Ten days of hours that end at a round price."""
    chance = np.random.default_rng(5)
    steps = np.cumsum(chance.normal(0, 0.012, 240))
    close = PRICE * np.exp(steps - steps[-1])
    before = np.concatenate(([close[0]], close[:-1]))
    bars = {
        "symbol": ["BTC"] * 240,
        "timestamp": NOW - HOUR * np.arange(240, 0, -1),
        "open": before,
        "high": np.maximum(before, close) * 1.006,
        "low": np.minimum(before, close) * 0.994,
        "close": close,
        "volume": chance.lognormal(3, 0.4, 240),
    }
    interest = {"symbol": ["BTC"], "timestamp": [NOW - 240 * HOUR], "open_interest": [1e4]}
    with liqdata.Market(bars=bars, open_interest=interest, now=NOW) as made:
        assert made.liqmap("BTC", "7d").current_price == PRICE
        yield made


def the_map(market, at=NOW, factor=1.0):
    """Positions that stand as the map has them: the ledger's cells, cut where a distance that is counted ends."""
    grid = market.liqmap("BTC", "7d", as_of=at)
    p0, width, first, turn, tiers = grid.fine
    cells = p0 * np.exp((first + np.arange(tiers.shape[1] + 1)) * width)
    below = np.concatenate(([0.0], np.cumsum(tiers.sum(axis=0))))
    distances = np.arange(61) * 0.005
    ends = [grid.current_price * (1 - distances), grid.current_price * (1 + distances)]
    edges = np.unique(np.concatenate([cells, *(of[(of > cells[0]) & (of < cells[-1])] for of in ends)]))
    prices = (edges[1:] + edges[:-1]) / 2
    long = prices < p0 * np.exp(turn * width)
    usd = np.diff(np.interp(edges, cells, below))
    # The cell of the price itself is empty: a position there would be closed.
    assert not usd[long != (prices < grid.current_price)].any()
    filled = usd > 0
    return {
        "timestamp": [at] * int(filled.sum()),
        "side": np.where(long, "long", "short")[filled].tolist(),
        "price": prices[filled],
        "value_usd": factor * usd[filled],
    }


def joined(*tables):
    return {name: np.concatenate([np.asarray(table[name]) for table in tables]) for name in tables[0]}


def sides(rows):
    long, short = rows
    assert (long["side"], short["side"]) == ("LONG", "SHORT")
    return long, short


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_positions_equal_to_the_map_overlap_fully(market, factor):
    for row in sides(liqdata.score_truth(market, positions=the_map(market, factor=factor))):
        assert row["overlap"] == pytest.approx(1.0, rel=1e-9)
        assert row["rank_correlation"] == pytest.approx(1.0, abs=1e-3)
        assert [row[name] for name in RATIOS] == pytest.approx([1 / factor] * 4, rel=1e-9)


def test_positions_outside_the_map_have_no_overlap(market):
    positions = {"timestamp": [NOW] * 2, "side": ["LONG", "short"], "price": [36_000, 64_000], "value_usd": [1e6, 2e6]}
    for row in liqdata.score_truth(market, positions=positions, model=liqdata.Model(tiers=[25])):
        assert row["overlap"] == 0.0
        assert row["rank_correlation"] < 0


def test_share_and_ratio_follow_the_documentation(market):
    mapped = the_map(market)
    positions = {
        "timestamp": [NOW] * 4,
        "side": ["long"] * 3 + ["short"],
        "price": [0.978 * PRICE, 0.957 * PRICE, 0.69 * PRICE, 1.4 * PRICE],
        "value_usd": [3e6, 1e6, 5e6, 7e6],
    }
    long, short = sides(liqdata.score_truth(market, positions=positions))
    mass = mapped["value_usd"] * (np.asarray(mapped["side"]) == "long")
    distance = 1 - mapped["price"] / PRICE
    within = mass[distance < 0.30].sum()
    first, second = (mass[(distance > low) & (distance < low + 0.005)].sum() / within for low in (0.02, 0.04))
    assert long["overlap"] == pytest.approx(min(first, 0.75) + min(second, 0.25), rel=1e-9)
    assert np.isnan([long["ratio_1pct"], long["ratio_2pct"]]).all()  # none of the positions is so near
    assert long["ratio_5pct"] == pytest.approx(mass[distance < 0.05].sum() / 4e6, rel=1e-9)
    assert long["ratio_10pct"] == pytest.approx(mass[distance < 0.10].sum() / 4e6, rel=1e-9)
    # The only short is farther out than anything that is counted.
    assert all(np.isnan(short[name]) for name in ("overlap", "rank_correlation", *RATIOS))


def test_true_positions_are_the_truth_of_a_simulated_market():
    market = samples.simulated()
    own = liqdata.score_truth(market, symbols=["btc", "SOL"])
    assert [(row["symbol"], row["side"]) for row in own] == [
        (coin, side) for coin in ("BTC", "SOL") for side in ("LONG", "SHORT")
    ]
    tables = []
    for coin in ("BTC", "SOL"):
        frame = market.true_positions(coin).to_pandas()
        frame["timestamp"] = market.now
        frame["value_usd"] = frame["qty"] * frame["liquidation_price"]
        tables.append(frame.rename(columns={"liquidation_price": "price"}))
    given = liqdata.score_truth(market, positions=pd.concat(tables))
    assert given == own
    assert (own.meta["truth"], given.meta["truth"]) == ("simulated", "measured")
    assert own.meta["snapshots"] == {"BTC": 1, "SOL": 1}
    assert own.meta["simulated"]
    assert own.meta["left_out"] == []


def test_every_coin_of_a_simulated_market_is_compared_with_its_truth():
    market = samples.simulated()
    rows = liqdata.score_truth(market)
    assert [row["symbol"] for row in rows][::2] == market.symbols
    assert list(types.TruthRow.__annotations__) == rows.columns
    back = pickle.loads(pickle.dumps(rows))
    assert back.meta == rows.meta
    pd.testing.assert_frame_equal(back.to_pandas(), rows.to_pandas())
    assert rows.to_pandas().dtypes["overlap"] == np.float64


def test_several_snapshots_are_means_of_shapes_and_ratios_of_sums(market):
    before = NOW - 24 * HOUR
    tables = [the_map(market, before, factor=2.0), the_map(market)]
    rows = liqdata.score_truth(market, positions=joined(*tables))
    assert rows.meta["snapshots"] == {"BTC": 2}
    for row, *alone in zip(rows, *(liqdata.score_truth(market, positions=table) for table in tables), strict=True):
        for name in ("overlap", "rank_correlation"):
            assert row[name] == pytest.approx(np.mean([one[name] for one in alone]), rel=1e-12)
        usd = [within_10_pct(market, at, row["side"].lower(), factor) for at, factor in ((before, 2.0), (NOW, 1.0))]
        ratios = [one["ratio_10pct"] for one in alone]
        assert row["ratio_10pct"] == pytest.approx(np.average(ratios, weights=usd), rel=1e-9)


def within_10_pct(market, at, side, factor):
    mapped = the_map(market, at, factor)
    price = market.liqmap("BTC", "7d", as_of=at).current_price
    chosen = (np.asarray(mapped["side"]) == side) & (np.abs(mapped["price"] / price - 1) <= 0.10)
    return mapped["value_usd"][chosen].sum()


@pytest.mark.parametrize("own", ["current_price", "cur"])
def test_a_snapshot_of_another_price_or_time_is_skipped_and_reported(market, own):
    good = {**the_map(market), own: [PRICE] * len(the_map(market)["side"])}
    count = len(good["side"])
    mock = {**good, "timestamp": [NOW - HOUR] * count, own: [PRICE * 1.2] * count}
    early = {**good, "timestamp": [NOW - 300 * 24 * HOUR] * count}
    with pytest.raises(liqdata.BadQuery, match=r"positions: .* would already be liquidated"):
        liqdata.score_truth(market, positions={**good, own: [0.995 * PRICE * 0.99] * count})
    rows = liqdata.score_truth(market, positions=joined(early, mock, good))
    assert rows.meta["snapshots"] == {"BTC": 1}
    first, second = rows.meta["left_out"]
    assert (first["timestamp"], second["timestamp"]) == (early["timestamp"][0], NOW - HOUR)
    assert "the first observation is of" in first["why"]
    assert second["why"].startswith("its price is 60000, but the market price is ")
    with pytest.raises(liqdata.BadQuery, match=r"no snapshot of 'BTC' can be used: its price is 60000, but"):
        liqdata.score_truth(market, positions=mock)


POSITION = {"timestamp": [NOW], "side": ["long"], "price": [49_000.0], "value_usd": [1e6]}


@pytest.mark.parametrize(
    "changes,options,parameter,message",
    [
        ({"side": ["up"]}, {}, "positions", r"column 'side', row 0: 'up' is not a side; allowed: long and short"),
        ({"price": [-1.0]}, {}, "positions", r"column 'price', row 0: -1 is not allowed"),
        ({"value_usd": [float("nan")]}, {}, "positions", r"column 'value_usd', row 0: nan is not allowed"),
        (
            {"price": [51_000.0]},
            {},
            "positions",
            r"row 0: at the price .*, a long with the liquidation price 51000",
        ),
        ({"timestamp": [NOW // 1000]}, {}, "positions", r"look like epoch seconds"),
        ({"side": ["long", "long"]}, {}, "positions", r"columns of \[1, 2\] rows"),
        ({"symbol": ["ETH"]}, {"symbols": "BTC"}, "positions", r"no row has the symbol 'BTC'"),
        ({}, {"symbols": ["BTC", "ETH"]}, "symbols", r"do not name their coin, one of \['BTC', 'ETH'\]"),
        ({}, {"symbols": []}, "symbols", r"there are none"),
        ({}, {"model": 3}, "model", r"3 does not estimate exposed open interest"),
        ({}, {"model": liqdata.Model(kappa0=0.2)}, "model", r"does not estimate exposed open interest"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(market, changes, options, parameter, message):
    with pytest.raises(liqdata.BadQuery, match=message) as caught:
        liqdata.score_truth(market, positions={**POSITION, **changes}, **options)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("column", list(POSITION))
def test_a_missing_column_is_named(market, column):
    with pytest.raises(liqdata.BadQuery, match=f"column '{column}' is missing"):
        liqdata.score_truth(market, positions={name: cells for name, cells in POSITION.items() if name != column})


def test_without_a_truth_there_is_no_score(market):
    with pytest.raises(liqdata.BadQuery, match="only a simulated market knows its positions"):
        liqdata.score_truth(market)


def test_the_demo_s_map_is_near_its_true_positions():
    overlaps, mapped, true = [], 0.0, 0.0
    for seed in SEEDS:
        with liqdata.demo(seed=seed) as market:
            scored = liqdata.score_truth(market, symbols=("BTC", "ETH", "SOL"))
            assert scored.meta["version"] == liqdata.Model().version
            overlaps += [row["overlap"] for row in scored]
            for coin in ("BTC", "ETH", "SOL"):
                grid = market.liqmap(coin, "7d", model=2)
                mapped += sum(grid.within["5"].values())
                known = market.true_positions(coin).to_pandas()
                at = known["liquidation_price"]
                true += (known["qty"] * at)[(at / grid.current_price - 1).abs() <= 0.05].sum()
    assert np.mean(overlaps) >= 0.73
    # The sums, because a ratio of a coin and side with few positions so near says little.
    assert 0.7 <= mapped / true <= 1.5


def test_measured_positions_of_an_exchange_are_read():
    folder = os.environ.get("LIQDATA_REAL_DATA")
    if not folder:
        pytest.skip("LIQDATA_REAL_DATA names no folder of recordings")
    recordings = Path(folder) / "market"
    bars = pd.read_csv(recordings / "btc_15m_candles_20250622_20260622.csv", parse_dates=["timestamp"])
    interest = pd.read_csv(recordings / "btc_oi_5m_20251201_20260611.csv")
    interest = {"symbol": ["BTC"] * len(interest), "timestamp": interest["t"], "open_interest": interest["oi"]}
    positions = pd.read_csv(recordings / "hl_top_trader_btc_liqmap_20260126_20260222.csv")
    with liqdata.Market(bars=bars.assign(symbol="BTC"), open_interest=interest) as market:
        rows = liqdata.score_truth(market, positions=positions)
    assert rows.meta["snapshots"] == {"BTC": 137}
    (mock,) = rows.meta["left_out"]
    assert datetime.fromtimestamp(mock["timestamp"] / 1000, UTC) == datetime(2026, 1, 26, 10, 39, 18, tzinfo=UTC)
    assert mock["why"].startswith("its price is 105234, but the market price is 879")
    for row in rows:
        assert 0 < row["overlap"] < 1
        assert row["ratio_5pct"] > 1  # a few hundred wallets of one exchange against the open interest of another


def test_the_exposed_view_is_compared_with_the_truth_for_any_default_view(market, monkeypatch):
    positions = the_map(market)
    asked = []
    own = liqdata.Market.liqmap

    def liqmap(self, *given, **named):
        asked.append(named["model"])
        return own(self, *given, **named)

    monkeypatch.setattr(liqdata.Market, "liqmap", liqmap)
    rows = liqdata.score_truth(market, positions=positions)
    assert asked == [2]
    assert rows.meta["version"] == own(market, "BTC", "7d", model=2).meta["explain"]["modelVersion"]


def test_stored_positions_are_the_truth_for_the_estimate_of_an_archive(tmp_path):
    demo = samples.simulated()
    true = demo.true_positions("BTC").to_pandas()
    price = demo.bars("BTC")["close"][-1]
    seen = {
        "timestamp": [demo.now] * len(true),
        "coin": list(true["symbol"]),
        "account": [f"account {place}" for place in range(len(true))],
        "value_usd": list(true["qty"] * price),
        "seen_share": [0.5] * len(true),
    } | {name: list(true[name]) for name in ("side", "qty", "entry_price", "leverage", "liquidation_price")}
    interest = demo.open_interest("BTC")
    tables = {"bars": demo.bars("BTC"), "open_interest": interest, "positions": seen}
    liqdata.ingest(tmp_path / "archive", **tables, exchange="hyperliquid")
    with liqdata.open(tmp_path / "archive") as market:
        found = liqdata.score_truth(market, symbols="BTC")
        measured = market.liqmap("BTC", source="positions")
    wanted = liqdata.score_truth(demo, symbols="BTC")
    for row, other in zip(found, wanted, strict=True):
        assert row["overlap"] == pytest.approx(other["overlap"], abs=0.01)
        assert row["ratio_5pct"] == pytest.approx(other["ratio_5pct"], rel=0.01)
    assert (found.meta["truth"], found.meta["seen_share"]) == ("measured", {"BTC": 0.5})
    assert measured.total.sum() == pytest.approx((true["qty"] * true["liquidation_price"]).sum())
