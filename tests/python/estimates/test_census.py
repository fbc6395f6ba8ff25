"""A map is judged by every position of an exchange: a census in the layout of its publisher."""

import importlib
from pathlib import Path

import census
import numpy as np
import pandas as pd
import pytest
import samples

import liqdata

ROOT = Path(__file__).parents[3]
COINS = ("BTC", "ETH")
SIDES = ("LONG", "SHORT")


def usual_bars(market, coin):
    """Bars of five minutes, of which an archive makes its maps."""
    bars = market.bars(coin).to_pandas()
    group = bars["timestamp"].dt.floor("5min")
    kinds = {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}
    made = bars.groupby(group)[list(kinds)].agg(kinds).reset_index()
    return made.assign(symbol=coin, interval=5 * samples.MINUTE)


@pytest.fixture(scope="module")
def tables():
    """What a simulated market shows, with all of its open interest on Hyperliquid."""
    market = samples.simulated()
    readings = pd.concat([market.open_interest(coin).to_pandas() for coin in COINS])
    interest = readings.groupby(["symbol", "timestamp"], as_index=False)["open_interest"].sum()
    bars = pd.concat([usual_bars(market, coin) for coin in COINS], ignore_index=True)
    return {"bars": bars, "open_interest": interest.assign(exchange="hyperliquid")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory, tables):
    folder = tmp_path_factory.mktemp("census")
    liqdata.ingest(folder / "archive", **tables, exchange="hyperliquid")
    done = liqdata.ingest(folder / "archive", census.of_simulated(folder, samples.simulated(), COINS))
    assert done.refused == {}
    with liqdata.open(folder / "archive") as market:
        yield market


def true_table(market, coin):
    rows = market.true_positions(coin).to_pandas()
    rows = rows.assign(timestamp=market.now, exchange="Hyperliquid", value_usd=rows["qty"] * rows["liquidation_price"])
    return rows.rename(columns={"liquidation_price": "price"})


def test_the_map_of_an_exchange_is_judged_by_its_census(archive, tables):
    demo = samples.simulated()
    found = liqdata.score_truth(archive, exchange="Hyperliquid")
    assert [(row["symbol"], row["side"]) for row in found] == [(coin, side) for coin in COINS for side in SIDES]
    assert (found.meta["truth"], found.meta["exchange"]) == ("measured", "hyperliquid")
    assert found.meta["seen_share"] == {"BTC": 1.0, "ETH": 1.0}
    assert (found.meta["snapshots"], found.meta["unplaced_usd"]) == ({"BTC": 1, "ETH": 1}, 0)
    # The same bars and readings in memory, with the true positions as they are: every number is equal.
    positions = pd.concat([true_table(demo, coin) for coin in COINS])
    elsewhere = positions.assign(exchange="okx", price=positions["price"] * 1.01)
    with liqdata.Market(**tables, now=demo.now) as market:
        given = pd.concat([elsewhere, positions], ignore_index=True)
        wanted = liqdata.score_truth(market, positions=given, exchange="hyperliquid")
    pd.testing.assert_frame_equal(found.to_pandas(), wanted.to_pandas(), rtol=1e-9)
    # The map of the simulation has the same amounts by five exchanges, and bars of one minute: it is nearly equal.
    own = liqdata.score_truth(demo, symbols=COINS, model=liqdata.Model(shares=[]))
    found = liqdata.score_truth(archive, exchange="hyperliquid", model=liqdata.Model(shares=[]))
    for name in ("overlap", "rank_correlation"):
        assert found[name] == pytest.approx(own[name], abs=0.03)
    assert found["ratio_10pct"] == pytest.approx(own["ratio_10pct"], rel=0.1)


def test_a_census_has_every_position_with_its_leverage(archive):
    demo = samples.simulated()
    for coin in COINS:
        true = demo.true_positions(coin)
        found = archive.positions(coin)
        for name in ("qty", "entry_price", "leverage", "liquidation_price"):
            assert np.sort(found[name]) == pytest.approx(np.sort(true[name]), rel=1e-12)
        map = archive.liqmap(coin, source="positions")
        usd = true["qty"] * true["liquidation_price"]
        # Each leverage with the tier that it belongs to.
        tiers = np.searchsorted([2, 3, 6.99, 17, 35, 70], true["leverage"])
        assert map.tiers.sum(axis=0) == pytest.approx(np.bincount(tiers, usd, 7))
        assert map.meta["measured"]["unplaced_usd"] == 0


def test_the_published_positions_of_a_simulated_exchange_are_its_truth():
    demo = samples.simulated()
    own = liqdata.score_truth(demo, symbols="BTC", exchange="bitget")
    assert (own.meta["truth"], own.meta["exchange"]) == ("simulated", "bitget")
    seen = demo.positions("BTC").to_pandas()
    usd = (seen["qty"] * seen["liquidation_price"]).astype(float)
    given = {
        "timestamp": [demo.now] * len(seen),
        "side": seen["side"],
        "price": seen["liquidation_price"].astype(float),
        "value_usd": usd,
    }
    readings = demo.open_interest("BTC").to_pandas()
    with liqdata.Market(
        bars=demo.bars("BTC"), open_interest=readings[readings["exchange"] == "bitget"], now=demo.now
    ) as market:
        found = liqdata.score_truth(market, positions=given, symbols="BTC")
    pd.testing.assert_frame_equal(found.to_pandas(), own.to_pandas(), rtol=1e-9)
    for exchange, allowed in (("binance", "bitget"), (7, "the name of an exchange")):
        with pytest.raises(liqdata.BadQuery, match=f"^exchange: .*; allowed: {allowed}") as refused:
            liqdata.score_truth(demo, symbols="BTC", exchange=exchange)
        assert refused.value.parameter == "exchange"
    named = given | {"exchange": ["bitget"] * len(seen)}
    with pytest.raises(liqdata.BadQuery, match="no row has the exchange 'bybit'"):
        liqdata.score_truth(demo, positions=named, symbols="BTC", exchange="bybit")


def test_the_scorecard_has_a_section_of_a_census(tmp_path, tables, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests" / "scorecard")
    page, whole_exchange = (importlib.import_module(name) for name in ("page", "whole_exchange"))
    assert page.without_census() in (ROOT / "docs" / "explanation" / "scorecard.md").read_text(encoding="utf-8")
    file = census.of_simulated(tmp_path, samples.simulated(), COINS)
    found, meta = whole_exchange.scored(file, tables["bars"], tables["open_interest"])
    lines = page.census(found, meta).splitlines()
    assert "all open positions on Hyperliquid at 2026-06-01 00:00 UTC" in lines[2]
    rows = [line.split(" | ")[:5] for line in lines if line.startswith(("| BTC", "| ETH"))]
    true = samples.simulated().true_positions("BTC")
    longs = f"{sum(true['side'] == 'LONG'):,}"
    assert rows[0][:4] == ["| BTC, long", longs, longs, "0.0"]
    assert 0.5 < float(rows[0][4]) < 1
    assert len(rows) == 4
