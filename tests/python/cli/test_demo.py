"""What the simulated market shows: a month of orders, a sampled exchange, a gap and bars of one minute."""

from datetime import timedelta

import numpy as np
import pytest
import samples

import liqdata

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.fixture(scope="module")
def market():
    return samples.simulated()


def test_orders_bars_and_open_interest_span_thirty_days(market):
    now = int(market.now.timestamp() * 1000)
    end = now - now % (5 * MINUTE)
    orders = market.iter_orders().to_pandas()
    times = orders["timestamp"].astype("int64") // (1 if orders["timestamp"].dtype == "datetime64[ms, UTC]" else 10**6)
    assert end - 30 * DAY <= times.min() < end - 29 * DAY
    assert len(orders) > 50_000
    assert sorted(set(orders["exchange"])) == ["binance", "bitget", "bybit", "gate", "okx"]
    bars = market.bars("BTC")
    lengths = [row["closes_at"] - row["timestamp"] for row in bars]
    assert lengths == [5 * MINUTE] * (28 * 288) + [MINUTE] * (2 * 1440)
    assert (bars[0]["timestamp"], bars[-1]["closes_at"]) == (end - 30 * DAY, end)
    assert len(market.bars("BTC", interval="5m")) == 30 * 288
    readings = market.open_interest("BTC")
    assert (readings[0]["timestamp"], readings[-1]["timestamp"]) == (end - 30 * DAY, end)


def test_one_exchange_has_a_gap(market):
    (gap,) = market.gaps()
    assert (gap["exchange"], gap["end"] - gap["start"], gap["state"]) == ("okx", 45 * MINUTE, "lost")
    assert not list(market.iter_orders(exchange="okx", start=gap["start"], end=gap["end"]))
    venues = {row["exchange"]: row for row in market.coverage("24h")}
    shares = {name: row["connected_share"] for name, row in venues.items()}
    assert shares.pop("okx") == pytest.approx(1 - 0.75 / 24)
    assert set(shares.values()) == {1.0}
    assert [name for name, row in venues.items() if row["gaps"]] == ["okx"]
    assert [name for name, row in venues.items() if row["completeness"] == "sampled"] == ["binance"]
    hours = market.history(interval="1h", by="exchange", exchange="okx")
    assert {row["timestamp"]: row["covered"] for row in hours if row["covered"] < 1} == {gap["start"]: 0.25}
    # An answer as of an instant knows the gaps until then.
    start = gap["start"]
    assert len(market.gaps(as_of=start)) == 0
    (begun,) = market.gaps(as_of=start + MINUTE)
    assert (begun["start"], begun["end"]) == (start, start + MINUTE)
    before = market.coverage(as_of=start - 1)
    assert {(row["connected_share"], row["gaps"]) for row in before} == {(1.0, 0)}


def test_cascades_have_the_change_within_a_minute_where_bars_are_that_short(market):
    recent = market.cascades("BTC", start=market.now - timedelta(hours=47), min_usd=1e5)
    last = int(market.now.timestamp() * 1000) - 2 * MINUTE
    known = [row["change_1m"] for row in recent if row["end"] < last]
    assert len(known) > 10
    assert None not in known
    assert len(set(known)) > len(known) / 2
    older = market.cascades("BTC", start=market.now - timedelta(days=9), end=market.now - timedelta(days=7))
    assert len(older) > 10
    assert {row["change_1m"] for row in older} == {None}


def test_the_score_of_the_demo_is_that_of_its_own_liquidations(market):
    card = liqdata.score(market, market)
    assert card.meta["simulated"]
    assert card.meta["periods"] > 400
    frozen = next(row for row in card.rows() if (row["state"], row["side"]) == ("frozen", "both"))
    nulls = [row["dig"] for row in card.references() if row["side"] == "both" and "average" in row["map"]]
    assert frozen["ig"] > 0.1
    assert frozen["dig"] > max(nulls)
    # The hours of the gap are left out.
    orders = market.iter_orders("BTC").to_pandas()
    given = liqdata.score(market, orders)
    assert 0 < given.meta["periods"] - card.meta["periods"] <= 2
    by_hours = {row["state"]: row["ig"] for row in card.rows() if row["side"] == "both"}
    assert np.isfinite(list(by_hours.values())).all()


def test_a_market_of_totals_is_scored_by_its_totals(market):
    hours = market.history("BTC", interval="1h", by=(), start=market.now - timedelta(days=29))
    totals = {
        "symbol": ["BTC"] * len(hours),
        "timestamp": [row["timestamp"] for row in hours],
        "long_usd": [float(row["long_usd"]) for row in hours],
        "short_usd": [float(row["short_usd"]) for row in hours],
        "interval": [HOUR] * len(hours),
    }
    bars, readings = market.bars("BTC", interval="5m"), market.open_interest("BTC")
    tables = liqdata.Market(bars=bars, open_interest=readings, liquidations=totals, now=market.now)
    of_market = liqdata.score(market, tables, bars=bars).rows()
    assert of_market == liqdata.score(market, totals, bars=bars).rows()


def test_a_coin_without_orders_has_no_realised_liquidations(market):
    bars = liqdata.Market(bars=market.bars("BTC", interval="1h"), now=market.now)
    with pytest.raises(liqdata.BadQuery, match="no orders of 'BTC'"):
        liqdata.score(market, bars)
