"""Liquidatable shares by exchange, coin and side: what they do to a map, and how they are fitted. And drift."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import liqdata
from liqdata import Model
from liqdata.errors import BadQuery

DAY = pd.Timedelta(days=1)
NONE = Model(shares=[], phi0=0.0)


def bars_of(coin, days=12, seed=5):
    """Bars of a quarter of an hour of a market that wanders."""
    chance = np.random.default_rng([seed, *coin.encode()])
    close = 100 * np.exp(np.cumsum(chance.normal(0, 0.003, 96 * days)))
    opened = np.concatenate([[100.0], close[:-1]])
    return pd.DataFrame(
        {
            "symbol": coin,
            "timestamp": pd.date_range("2026-03-01", periods=96 * days, freq="15min", tz="UTC"),
            "open": opened,
            "high": np.maximum(opened, close) * 1.001,
            "low": np.minimum(opened, close) * 0.999,
            "close": close,
            "volume": 50.0,
        }
    )


def readings(bars, level=1000.0, **levels):
    """Steady open interest of exchanges, read with every bar."""
    frames = [
        bars[["symbol", "timestamp"]].assign(exchange=exchange, open_interest=level * part)
        for exchange, part in levels.items()
    ]
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def market():
    bars = bars_of("BTC")
    with liqdata.Market(bars=bars, open_interest=readings(bars, hyperliquid=0.75, bybit=0.25)) as made:
        yield made


def sides_of(grid):
    return np.asarray(
        [grid.total[grid.sides == side].sum() + grid.outside[f"{side}_usd"] for side in ("long", "short")]
    )


def test_the_share_of_each_deposit_is_located_and_the_rest_is_not(market):
    row = {"exchange": "hyperliquid", "coin": "BTC", "side": "SHORT", "share": 0.2}
    own = Model(shares=[row], phi0=0.0)
    for exchange, longs, shorts in (("hyperliquid", 1.0, 0.2), ("bybit", 1.0, 1.0), (None, 1.0, 0.75 * 0.2 + 0.25)):
        whole = market.liqmap("BTC", "all", model=NONE, exchange=exchange)
        found = market.liqmap("BTC", "all", model=own, exchange=exchange)
        np.testing.assert_allclose(sides_of(found), sides_of(whole) * [longs, shorts], rtol=1e-9)
        located = found.meta["explain"]["locatedShare"]
        expected = np.multiply(whole.meta["explain"]["locatedShare"], [longs, shorts])
        np.testing.assert_allclose(located, expected, rtol=1e-9)


def test_an_answer_says_which_exchanges_are_measured(market):
    explain = market.liqmap("BTC").meta["explain"]
    measured = explain["liquidatableShares"]
    assert {name: one["basis"] for name, one in measured.items()} == {
        "bybit": "not measured",
        "hyperliquid": "measured",
    }
    assert (measured["bybit"]["long"], measured["bybit"]["short"]) == (1.0, 1.0)
    assert measured["hyperliquid"]["long"] == 1.0 > measured["hyperliquid"]["short"]
    assert "shares" not in explain["model"], "the default depends on the coin"
    only = market.liqmap("BTC", exchange="bybit").meta["explain"]["liquidatableShares"]
    assert list(only) == ["bybit"]
    none = market.liqmap("BTC", model=Model(shares=[])).meta["explain"]
    assert none["liquidatableShares"]["hyperliquid"]["basis"] == "not measured"
    assert Model(**none["model"]) == Model(shares=[])


def test_an_exchange_without_a_share_answers_as_without_shares(market):
    for query in ("liqmap", "heatmap"):
        found = getattr(market, query)("BTC", exchange="bybit", model=Model())
        assert found == getattr(market, query)("BTC", exchange="bybit", model=Model(shares=[]))


def test_a_replay_from_a_checkpoint_has_the_same_shares(market):
    instants = [market.now - pd.Timedelta(hours=7 * step) for step in range(20)]
    many = market.liqmap("BTC", "all", model=2, as_of=instants)
    bars, interest = market.bars("BTC"), market.open_interest("BTC")
    for at, grid in zip(instants[::6], many[::6], strict=True):
        with liqdata.Market(bars=bars, open_interest=interest) as fresh:
            assert fresh.liqmap("BTC", "all", model=2, as_of=at) == grid


def test_a_version_changes_with_the_shares():
    row = {"exchange": "bybit", "coin": "BTC", "share": 0.5}
    models = [Model(), Model(shares=[]), Model(shares=[row]), Model(shares=[{**row, "side": "LONG"}])]
    assert len({model.version for model in models}) == 4
    assert Model(shares=[{**row, "exchange": "Bybit", "coin": "btc", "side": None}]) == models[2]
    assert models[2].shares == (row,)


@pytest.mark.parametrize(
    "shares",
    [
        [{"exchange": "bybit", "coin": "BTC"}],
        [{"exchange": "bybit", "coin": "BTC", "share": 1.5}],
        [{"exchange": "bybit", "coin": "BTC", "share": float("nan")}],
        [{"exchange": "bybit", "coin": "BTC", "share": 0.5, "side": "up"}],
        [{"exchange": "bybit", "coin": "BTC", "share": 0.5}, {"exchange": "bybit", "coin": "BTC", "share": 0.4}],
        [7],
        "bybit",
        0.5,
    ],
)
def test_wrong_shares_are_refused(shares):
    with pytest.raises(BadQuery, match="allowed: rows of exchange, coin, side") as refused:
        Model(shares=shares)
    assert refused.value.parameter == "shares"


SHARES = {"BTC": (1.0, 0.4), "ETH": (0.3, 0.12), "SOL": (0.5, 0.2)}


@pytest.fixture(scope="module")
def liquidated():
    """A market of one exchange; what is liquidated on a day is in proportion to known shares."""
    bars = pd.concat([bars_of(coin) for coin in SHARES], ignore_index=True)
    interest = readings(bars, okx=1.0)
    days = []
    with liqdata.Market(bars=bars, open_interest=interest) as bare:
        for coin, shares in SHARES.items():
            of_coin = bars[bars["symbol"] == coin]
            for day in of_coin["timestamp"].dt.floor("D").unique()[1:]:
                inside = of_coin[of_coin["timestamp"].dt.floor("D") == day]
                grid = bare.liqmap(coin, "all", model=Model(shares=[]), exchange="okx", as_of=day)
                price = grid.current_price
                swept = grid.swept(low=min(inside["low"].min(), price), high=max(inside["high"].max(), price))
                usd = [
                    0.3 * share * swept[f"{side}_usd"] for side, share in zip(("long", "short"), shares, strict=True)
                ]
                days.append({"symbol": coin, "timestamp": day, "long_usd": usd[0], "short_usd": usd[1]})
    table = pd.DataFrame(days).assign(interval="1d")
    with liqdata.Market(bars=bars, open_interest=interest, liquidations=table) as made:
        yield made


@pytest.mark.parametrize("by", [("exchange", "coin"), ("exchange", "coin", "side")])
def test_shares_are_found_again(liquidated, by):
    shares = liqdata.fit_shares(liquidated, by=by)
    assert [(row["exchange"], row["coin"]) for row in shares[::2]] == [("okx", "BTC"), ("okx", "ETH"), ("okx", "SOL")]
    for row in shares:
        known = SHARES[row["coin"]][("LONG", "SHORT").index(row["side"])]
        assert row["share"] == pytest.approx(known, rel=1e-6)
        assert row["lower"] <= row["share"] <= row["upper"]
        assert row["days"] == 11
    assert shares.meta["references"] == {"okx": "BTC"}
    frame = shares.rows().to_pandas()
    assert list(frame["share"]) == [row["share"] for row in shares]
    # With these shares, the same part of what is crossed is liquidated of every coin and side.
    own = Model(shares=shares, phi0=0.0)
    for coin, known in SHARES.items():
        found = sides_of(liquidated.liqmap(coin, "all", model=own, exchange="okx"))
        whole = sides_of(liquidated.liqmap(coin, "all", model=NONE, exchange="okx"))
        np.testing.assert_allclose(found / whole, known, rtol=1e-6)


def test_shares_are_fitted_from_orders_of_each_exchange():
    with liqdata.demo() as demo:
        coins = ["BTC", "ETH", "SOL"]
        tables = {
            "orders": pl.concat([demo.iter_orders(coin).to_polars(decimals="decimal") for coin in coins]),
            "bars": pl.concat([demo.bars(coin, interval="15m", start="-30d").to_polars() for coin in coins]),
            "open_interest": pl.concat([demo.open_interest(coin, start="-30d").to_polars() for coin in coins]),
        }
        shares = liqdata.fit_shares(liqdata.Market(**tables, now=demo.now))
    assert {row["exchange"] for row in shares} == {"binance", "bybit", "okx", "bitget", "gate"}
    for exchange, coin in shares.meta["references"].items():
        first = next(row for row in shares if row["exchange"] == exchange)
        assert first["coin"] == coin
        assert max(row["share"] for row in shares if row["exchange"] == exchange and row["coin"] == coin) == 1.0


def test_a_market_without_liquidations_gives_no_shares(market):
    with pytest.raises(BadQuery, match="with liquidations") as refused:
        liqdata.fit_shares(market)
    assert refused.value.parameter == "market"
    with pytest.raises(BadQuery, match="by"):
        liqdata.fit_shares(market, by=("coin",))


# --- Hyperliquid


COINS = ("BTC", "ETH", "SOL")


def hyperliquid(folder, start, end, *, liquidations):
    """Hyperliquid's open interest and liquidations of some days, with Binance's hourly bars."""
    names = {"o": "open", "h": "high", "l": "low", "c": "close", "v": "volume"}
    bars = pd.read_parquet(folder / "unlicense_hourly_candles_multi_venue.parquet")
    bars = bars[(bars["venue"] == "binance") & bars["coin"].isin(COINS)].rename(columns={**names, "coin": "symbol"})
    interest = pd.read_parquet(folder / "unlicense_hourly_open_interest.parquet")
    interest = interest[(interest["venue"] == "hyperliquid") & interest["coin"].isin(COINS)]
    interest = interest.rename(columns={"coin": "symbol", "venue": "exchange", "oi_usd": "open_interest_usd"})
    totals = pd.read_parquet(folder / "unlicense_daily_liquidation_volume.parquet")
    totals = totals[totals["coin"].isin(COINS)].rename(columns={"coin": "symbol"}).assign(interval="1d")

    def within(frame, columns):
        frame = frame[(frame["timestamp"] >= start) & (frame["timestamp"] < end)]
        return frame.sort_values("timestamp", ignore_index=True)[list(columns)]

    return liqdata.Market(
        bars=within(bars, ["symbol", "timestamp", *names.values()]),
        open_interest=within(interest, ["symbol", "exchange", "timestamp", "open_interest_usd"]),
        liquidations=within(totals, ["symbol", "timestamp", "interval", "long_usd", "short_usd"])
        if liquidations
        else None,
    ), totals


def over_crossed(folder, model):
    """Liquidated over crossed USD of January 2026 on Hyperliquid, by coin; columns: longs, shorts, both."""
    market, totals = hyperliquid(folder, "2025-12-01", "2026-02-02", liquidations=False)
    days = totals[totals["timestamp"] >= "2026-01-01"]
    common = set.intersection(*(set(days.loc[days["symbol"] == coin, "timestamp"]) for coin in COINS))
    found = {}
    with market:
        for coin in COINS:
            mine = days[(days["symbol"] == coin) & days["timestamp"].isin(common)]
            bars = market.bars(coin).to_pandas()
            maps = market.liqmap(
                coin, "all", model=model, exchange="hyperliquid", as_of=list(mine["timestamp"].dt.to_pydatetime())
            )
            realised, crossed = np.zeros(2), np.zeros(2)
            for day, grid in zip(mine.itertuples(), maps, strict=True):
                inside = bars[(bars["timestamp"] >= day.timestamp) & (bars["timestamp"] < day.timestamp + DAY)]
                price = grid.current_price
                swept = grid.swept(low=min(inside["low"].min(), price), high=max(inside["high"].max(), price))
                realised += (day.long_usd, day.short_usd)
                crossed += (swept["long_usd"], swept["short_usd"])
            found[coin] = (*(realised / crossed), realised.sum() / crossed.sum())
    return found


@pytest.fixture(scope="module")
def recordings():
    folder = os.environ.get("LIQDATA_REAL_DATA")
    if not folder:
        pytest.skip("LIQDATA_REAL_DATA names no folder of recordings")
    return Path(folder) / "market"


def test_shares_fitted_before_january_hold_in_january(recordings):
    market, _ = hyperliquid(recordings, "2025-12-01", "2026-01-01", liquidations=True)
    with market:
        shares = liqdata.fit_shares(market)
    for row in shares:
        assert _measured(row["coin"], row["side"]) == pytest.approx(row["share"], rel=0.03)
    before, after = (over_crossed(recordings, model) for model in (Model(shares=[]), Model(shares=shares)))
    for coin in ("ETH", "SOL"):
        assert before[coin][2] / before["BTC"][2] < 0.5
        assert 0.7 <= after[coin][2] / after["BTC"][2] <= 1.4
    assert before["BTC"][1] / before["BTC"][0] < 0.5
    assert 0.6 <= after["BTC"][1] / after["BTC"][0] <= 1.6


def _measured(coin, side):
    """The share of the default model, as an answer states it."""
    bars = bars_of(coin, days=2)
    with liqdata.Market(bars=bars, open_interest=readings(bars, hyperliquid=1.0)) as market:
        explain = market.liqmap(coin).meta["explain"]
    return explain["liquidatableShares"]["hyperliquid"][side.lower()]


# --- drift


def test_a_drift_of_nothing_changes_nothing(market):
    for drift in ((0, 0), (0.0, 0.01), (1, 0)):
        still = Model(drift=drift)
        assert still.version == Model().version
        assert still.drift == tuple(map(float, drift))
        assert market.heatmap("BTC", model=still).matrix.tobytes() == market.heatmap("BTC").matrix.tobytes()


def test_a_drift_moves_old_positions_and_keeps_their_number(market):
    # One clock that never turns over and tiers that the price does not reach keep every position.
    still = {"tiers": [2], "clocks": [(1.0, 1e-9)], "shares": [], "grid": 1e-3}
    bars = market.bars("BTC").to_pandas()
    interest = readings(bars, bybit=1.0)
    interest["open_interest"] *= np.linspace(1.0, 2.0, len(interest))
    with liqdata.Market(bars=bars, open_interest=interest) as growing:
        own, moved = (growing.liqmap("BTC", "all", model=Model(**still, drift=drift)) for drift in ((0, 0), (1, 0.02)))
    for side in ("long", "short"):
        sums, spreads = [], []
        for grid in (own, moved):
            mine = grid.sides == side
            coins = grid.total[mine] / grid.prices[mine]
            logs = np.log(grid.prices[mine])
            mean = np.average(logs, weights=coins)
            sums.append(coins.sum())
            spreads.append(np.average((logs - mean) ** 2, weights=coins))
        assert sums[1] == pytest.approx(sums[0], rel=1e-3)
        assert spreads[1] > 1.2 * spreads[0]
    assert own.meta["explain"]["locatedShare"] == pytest.approx(moved.meta["explain"]["locatedShare"], rel=1e-3)


@pytest.mark.parametrize("drift", [(1.5, 0.1), (0.5, -1), (0.5,), 0.5, "much", (0.5, float("nan"))])
def test_a_wrong_drift_is_refused(drift):
    with pytest.raises(BadQuery, match="a pair of a share from 0 to 1") as refused:
        Model(drift=drift)
    assert refused.value.parameter == "drift"
