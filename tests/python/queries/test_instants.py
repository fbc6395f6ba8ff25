"""Many instants of one ledger, and ranges beyond the contract's."""

import random
import re

import numpy as np
import pytest
import samples

import liqdata
from liqdata import BadQuery

NOW, MINUTE, HOUR, DAY = samples.NOW, samples.MINUTE, samples.HOUR, samples.DAY


@pytest.fixture(scope="module")
def market():
    """Tables with open interest of two venues, and orders some of which were received late."""
    chance = random.Random(5)
    orders = samples.orders(60)
    received = [at + chance.choice((0, 0, 90_000, 2 * HOUR)) for at in orders["timestamp"]]
    tables = (orders | {"received_at": received}, samples.bars(), samples.open_interest())
    return liqdata.Market(*tables, now=NOW)


def same(found, wanted):
    """Whether two maps are one to the last bit, with what they rest on and what they would sweep."""
    assert found == wanted
    assert found.meta == wanted.meta
    low, high = found.current_price * 0.9, found.current_price * 1.1
    assert found.swept(low, high) == wanted.swept(low, high)


@pytest.mark.parametrize("model", [None, 2, 3, liqdata.Model(tiers=[10, 25, 50, 100], kappa0=0.1)], ids=str)
def test_several_instants_equal_the_answers_of_each(market, model):
    chance = random.Random(3)
    ends = [NOW - chance.randrange(29 * 60) * MINUTE for _ in range(25)]
    ends += [NOW, ends[3], NOW - 7 * HOUR, NOW - 7 * HOUR - 1]
    for coin in ("BTC", "ETH"):
        together = market.liqmap(coin, "all", model=model, as_of=ends)
        assert len(together) == len(ends)
        for found, end in zip(together, ends, strict=True):
            same(found, market.liqmap(coin, "all", model=model, as_of=end))


def test_several_coins_have_their_ledgers_side_by_side(market):
    ends = [NOW - 5 * HOUR, NOW - 20 * HOUR, NOW]
    found = market.liqmap(["ETH", "BTC"], "all", as_of=ends)
    assert list(found) == ["ETH", "BTC"]
    for coin, maps in found.items():
        assert maps == [market.liqmap(coin, "all", as_of=end) for end in ends]
    week = market.levels(["ETH", "BTC"], as_of=ends)
    assert week == {coin: [market.levels(coin, as_of=end) for end in ends] for coin in week}
    assert market.liqmap([], "all", as_of=ends) == {}
    assert market.liqmap("BTC", "all", as_of=[]) == []


def test_an_instant_without_bars_is_named(market):
    with pytest.raises(liqdata.BadQuery, match="the first observation is of 2026-05-30T18:00:00Z") as refused:
        market.liqmap(["ETH", "BTC"], "all", as_of=[NOW, NOW - 40 * HOUR])
    assert refused.value.parameter == "as_of"
    assert "ETH" in refused.value.__notes__[0]
    assert "as_of: 2026-05-30T08:00:00Z" in refused.value.__notes__[0]


def test_an_explanation_describes_its_own_instant(market):
    ends = [NOW - 3 * HOUR, NOW - 11 * HOUR]
    later, earlier = (found.meta["explain"] for found in market.liqmap("BTC", "all", as_of=ends))
    assert (later["bars"], earlier["bars"]) == (27 * 12, 19 * 12)
    assert earlier["openInterestExchanges"] == {"binance": 19 * 12, "bybit": 19 * 12}
    assert later["openInterestAgeMs"] == 0


def test_heatmaps_of_range_all_equal_single_heatmaps(market):
    ends = [NOW, NOW - 9 * HOUR]
    for found, end in zip(market.heatmap("BTC", "all", 3, as_of=ends), ends, strict=True):
        alone = market.heatmap("BTC", "all", 3, as_of=end)
        assert found == alone
        assert found.meta == alone.meta


# One exchange, and bins of a width that was asked for.


def test_the_ledger_of_an_exchange_is_that_of_its_own_tables():
    orders, bars, readings = samples.orders(60), samples.bars(), samples.open_interest()
    of = {
        name: samples.columns([row for row in samples.rows(table) if row["exchange"] == "bybit"])
        for name, table in (("orders", orders), ("open_interest", readings))
    }
    market, bybit = liqdata.Market(orders, bars, readings, now=NOW), liqdata.Market(bars=bars, now=NOW, **of)
    for model in (2, 3):
        found = market.heatmap("BTC", "all", model, exchange="Bybit")
        assert found == bybit.heatmap("BTC", "all", model)
        assert found != market.heatmap("BTC", "all", model)
        assert found.meta["explain"]["exchange"] == "bybit"
        assert list(found.meta["explain"]["openInterestExchanges"]) == ["bybit"]
        assert market.liqmap("BTC", "7d", model=model, exchange="bybit") == bybit.liqmap("BTC", "7d", model=model)
    ends = [NOW - 3 * HOUR, NOW]
    assert market.liqmap("ETH", "all", model=3, exchange="bybit", as_of=ends) == [
        market.liqmap("ETH", "all", model=3, exchange="bybit", as_of=end) for end in ends
    ]
    assert "exchange" not in market.liqmap("BTC").meta["explain"]
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert client.heatmap("BTC", exchange="bybit") == market.heatmap("BTC", exchange="bybit")
        assert client.liqmap("BTC", exchange="bybit") == market.liqmap("BTC", exchange="bybit")
        with pytest.raises(BadQuery, match="binance, bybit") as refused:
            client.liqmap("BTC", exchange="okx")
        assert refused.value.parameter == "exchange"
    for ask in (market.heatmap, market.liqmap):
        with pytest.raises(BadQuery, match="binance, bybit") as unknown:
            ask("BTC", exchange="okx")
        assert unknown.value.parameter == "exchange"
    with pytest.raises(BadQuery, match="names an exchange"):
        liqdata.Market(bars=bars, now=NOW).liqmap("BTC", exchange="okx")


def test_a_map_has_bins_as_wide_as_they_were_asked_for(market):
    usual = market.liqmap("BTC", "all")
    price = usual.current_price
    for width in (1, 37.5, 2000.0):
        found = market.liqmap("BTC", "all", bin=width)
        assert found.bin_width == width
        assert np.unique(np.round(np.diff(found.prices[found.sides == "long"]) / width, 6) % 1).tolist() in ([0.0], [])
        for side in ("long", "short"):
            usd = found.total[found.sides == side].sum()
            assert usd == pytest.approx(usual.total[usual.sides == side].sum(), rel=1e-9)
        assert found.swept(price * 0.95, price * 1.05) == usual.swept(price * 0.95, price * 1.05)
    (several,) = market.liqmap("BTC", "all", bin=37.5, as_of=[NOW])
    assert several == market.liqmap("BTC", "all", bin=37.5)
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert client.liqmap("BTC", "1d", bin=37.5) == market.liqmap("BTC", "1d", bin=37.5)
    for width in (1e-6, price * 1.01):
        with pytest.raises(BadQuery, match="out of bounds") as refused:
            market.liqmap("BTC", bin=width)
        assert refused.value.parameter == "bin"
    least = float(re.search(r"from (\S+) to", str(refused.value))[1])
    assert market.liqmap("BTC", bin=least).bin_width == least
    assert len(str(least)) < 8, "three digits"


# Ranges.


def test_a_range_by_another_name_is_the_same_range(market):
    for one, other in (("24h", "1d"), ("7d", "1w"), ("1M", "30d")):
        assert market.heatmap("BTC", other) == market.heatmap("BTC", one)
        assert market.heatmap("BTC", other).range == one
    for one, other in (("1d", "24h"), ("7d", "1w"), ("1M", "30d")):
        assert market.liqmap("BTC", other) == market.liqmap("BTC", one)
        assert market.liqmap("BTC", other).range == one
    for ask in (market.coins, market.exchanges, market.largest, market.coverage):
        assert ask("1d") == ask("24h")
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert client.heatmap("BTC", "1d") == market.heatmap("BTC", "24h")
        assert client.coins("1d") == market.coins("24h")
        assert client.liqmap("BTC", "all") == market.liqmap("BTC", "all")
        assert client.heatmap("BTC", "all").range == "all"


def test_the_map_of_every_range_is_the_last_column_of_its_heatmap():
    demo = samples.simulated()
    for range_ in ("12h", "24h", "3d", "7d", "1M", "all"):
        for opened in ("ever", "range"):
            column = demo.heatmap("ETH", range_, opened=opened, span="all").matrix[:, -1].sum()
            found = demo.liqmap("ETH", range_, opened=opened, model=2, span="all")
            assert found.total.sum() == pytest.approx(column, rel=1e-9)


def test_a_long_range_is_refused_where_the_bars_begin_later(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        for source in (market, client):
            for ask in (source.liqmap, source.heatmap):
                for range_ in ("3M", "6M", "1y"):
                    with pytest.raises(liqdata.Refused, match=r"start at 2026-05-30T18:00:00Z.*\"all\"") as refused:
                        ask("BTC", range_)
                    assert refused.value.status == 400


def test_a_year_of_bars_has_every_range():
    hours = [NOW - place * 4 * HOUR for place in range(366 * 6, 0, -1)]
    price = [100 + place % 7 for place in range(len(hours))]
    bars = {
        "symbol": ["BTC"] * len(hours),
        "timestamp": hours,
        "open": price,
        "high": [each + 1 for each in price],
        "low": [each - 1 for each in price],
        "close": price,
        "volume": [1.0 + place % 3 for place in range(len(hours))],
    }
    market = liqdata.Market(bars=bars)
    for range_, days, columns in (("3M", 90, 180), ("6M", 180, 180), ("1y", 365, 183), ("all", 366, 123)):
        found = market.heatmap("BTC", range_)
        assert found.times.size == columns
        assert found.meta["explain"]["bars"] == 6 * days
        assert market.liqmap("BTC", range_).meta["explain"]["bars"] == 6 * days
    # One bar less than the range is as good as the range; two less are not.
    for least, days in ((90, 276), (180, 186)):
        range_ = {90: "3M", 180: "6M"}[least]
        market.liqmap("BTC", range_, as_of=NOW - days * DAY + 4 * HOUR)
        with pytest.raises(liqdata.Refused):
            market.liqmap("BTC", range_, as_of=NOW - days * DAY - 8 * HOUR)
    with pytest.raises(BadQuery):
        market.liqmap("BTC", "2y")
