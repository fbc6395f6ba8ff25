"""Headlines, spans and sums near the price, compared with the formulas of docs/explanation/model.md."""

import itertools
import json
import math
import urllib.request

import numpy as np
import pytest

import liqdata
from liqdata.errors import BadQuery

DAY = 24 * 60 * 60 * 1000
QUARTER = 15 * 60 * 1000
DAYS = {"1d": 1, "7d": 7, "12h": 0.5, "24h": 1, "3d": 3}


@pytest.fixture(scope="module")
def market():
    with liqdata.demo(seed=301) as made:
        yield made


def volatility(bars):
    """The standard deviation of a day, of returns over a quarter of an hour of seven days."""
    end = max(row["closes_at"] for row in bars)
    closes = {row["closes_at"]: row["close"] for row in bars if row["timestamp"] >= end - 7 * DAY}
    grid = sorted(at for at in closes if at % QUARTER == 0)
    returns = [math.log(closes[b] / closes[a]) for a, b in itertools.pairwise(grid) if b - a == QUARTER]
    return max(math.sqrt(sum(r * r for r in returns) / (len(returns) * QUARTER / DAY)), 1e-3)


def headline(prices, usd, price, sigma_day, days, *, bin_width):
    """The price with the most USD near it, times its reach; and both."""
    half = max(sigma_day / 8 * price, bin_width / 2) * (1 + 1e-9)
    near = np.array([usd[np.abs(prices - p) <= half].sum() for p in prices])
    slope = 1.20 if days < 7 else 1.12
    reach = np.exp(-slope * np.abs(prices / price - 1) / (sigma_day * math.sqrt(days)))
    best = int(np.argmax(np.log(near) + np.log(reach)))
    return prices[best], near[best], reach[best]


@pytest.mark.parametrize("coin", ["BTC", "ETH", "SOL"])
def test_max_pain_is_weighted_by_the_reach_of_the_price(market, coin):
    sigma = volatility(list(market.bars(coin)))
    found = market.maxpain(coin)
    explain = found.meta["explain"]
    assert explain["sigmaDay"] == pytest.approx(sigma, rel=1e-9)
    assert (explain["headline"], explain["slope"]) == ("reach", {"d1": 1.20, "d7": 1.12})
    for key, name in (("d1", "1d"), ("d7", "7d")):
        whole = market.liqmap(coin, name, span="all")
        for side in ("long", "short"):
            mine = whole.sides == side
            price, usd, reach = headline(
                whole.prices[mine], whole.total[mine], found["price"], sigma, DAYS[name], bin_width=whole.bin_width
            )
            assert found[key][side]["price"] == pytest.approx(price, rel=1e-12)
            assert found[key][side]["usd"] == pytest.approx(usd, rel=1e-9)
            assert explain["reach"][key][side] == pytest.approx(reach, rel=1e-9)
            top = whole.prices[mine][np.argmax(whole.total[mine])]
            assert explain["strongest"][key][side]["price"] == pytest.approx(top, rel=1e-12)
        for percent, sums in found.within[key].items():
            near = np.abs(whole.prices / found["price"] - 1) <= int(percent) / 100 * (1 + 1e-9)
            for side in ("long", "short"):
                usd = whole.total[near & (whole.sides == side)].sum()
                assert sums[f"{side}_usd"] == pytest.approx(usd, rel=1e-9)
        assert found.within[key] == whole.within


def test_levels_are_weighted_by_the_reach_of_the_price(market):
    sigma = volatility(list(market.bars("ETH")))
    found, whole = market.levels("ETH"), market.liqmap("ETH", "7d", span="all")
    values = {}
    for leverage, tier in found["tiers"].items():
        usd = whole.tiers[:, whole.leverages.tolist().index(int(leverage))]
        for side in ("long", "short"):
            mine = (whole.sides == side) & (usd > 0)
            price, near, reach = headline(
                whole.prices[mine], usd[mine], found["price"], sigma, 7, bin_width=whole.bin_width
            )
            assert tier[f"{side}Price"] == pytest.approx(price, rel=1e-12)
            values[leverage, side] = near * reach
    for (leverage, side), value in values.items():
        intensity = found["tiers"][leverage][f"{side}Intensity"]
        assert intensity == pytest.approx(value / max(values.values()), rel=1e-9)


@pytest.mark.parametrize("name", ["12h", "24h", "3d", "7d"])
def test_a_span_shows_the_range_and_the_reachable_prices(market, name):
    shown, whole = market.heatmap("BTC", name), market.heatmap("BTC", name, span="all")
    low, high = shown.meta["explain"]["span"]
    sigma = shown.meta["explain"]["sigmaDay"] * math.sqrt(DAYS.get(name, 7))
    bars = [row for row in market.bars("BTC") if row["timestamp"] >= shown.span[0]]
    assert low <= min(shown.current_price * (1 - 4 * sigma), *(row["low"] for row in bars)) * (1 + 1e-9)
    assert high >= max(shown.current_price * (1 + 4 * sigma), *(row["high"] for row in bars)) * (1 - 1e-9)
    assert shown.prices.size < whole.prices.size
    inside = np.isin(whole.prices, shown.prices)
    assert whole.matrix[inside].tobytes() == shown.matrix.tobytes()
    outside = shown.outside["long_usd"] + shown.outside["short_usd"]
    np.testing.assert_allclose(outside, whole.matrix[~inside].sum(axis=0), rtol=1e-9)
    ends = whole.current_price * np.array([0.97, 1.04])
    own = market.heatmap("BTC", name, span=tuple(ends))
    assert own.prices[0] == pytest.approx(ends[0], rel=1e-3)
    assert own.prices[-1] == pytest.approx(ends[1], rel=1e-3)


def test_a_service_sends_labels_and_sums_after_the_members_of_the_contract(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        with urllib.request.urlopen(f"{server.url}/api/liq-maxpain?symbol=BTC") as reply:
            sent = json.load(reply)["data"]
        assert list(sent) == [
            "symbol",
            "price",
            "updatedAt",
            "d1",
            "d7",
            "units",
            "view",
            "simulated",
            "priceAt",
            "within",
        ]
        assert (sent["units"], sent["simulated"]) == ("usd", True)
        pain, level = client.maxpain("BTC"), client.levels("BTC", headline="strongest")
        assert (pain, pain.units, pain.simulated, pain.within) == (
            market.maxpain("BTC"),
            "usd",
            True,
            market.maxpain("BTC").within,
        )
        assert level == market.levels("BTC", headline="strongest") != market.levels("BTC")
        mine, theirs = market.liqmap("BTC", "7d"), client.liqmap("BTC", "7d")
        assert (theirs, theirs.outside, theirs.within) == (mine, mine.outside, mine.within)
        assert (theirs.units, theirs.view, theirs.simulated) == ("usd", mine.view, True)
        # Far bins are not in this map.
        with pytest.raises(BadQuery, match='span="all"') as refused:
            theirs.swept(low=0.2 * theirs.current_price)
        assert refused.value.parameter == "low"
        everything = client.liqmap("BTC", "7d", span="all")
        usd = everything.swept(low=1e-9)["long_usd"]
        assert usd == pytest.approx(mine.total[mine.sides == "long"].sum() + mine.outside["long_usd"], rel=1e-9)


def test_a_bound_far_beyond_all_positions_adds_few_rows(market):
    everything = market.heatmap("BTC", "24h", span="all")
    with liqdata.serve(market) as server:
        url = f"{server.url}/api/liq-heatmap?symbol=BTC&range=24h&low=5e-324&high=1e308"
        with urllib.request.urlopen(url, timeout=60) as reply:
            wide = json.load(reply)
    price, prices = everything.current_price, wide["prices"]
    assert price / 101 < prices[0] < price / 99
    assert 99 * price < prices[-1] < 101 * price
    total = sum(value or 0 for row in wide["matrix"] for value in row)
    assert total == pytest.approx(np.nansum(everything.matrix), rel=1e-9)
    assert not any(wide["outside"]["long_usd"] + wide["outside"]["short_usd"])


def test_a_short_market_shows_everything_and_the_strongest(market):
    bars = [
        row for row in market.bars("BTC", interval="5m") if row["timestamp"] >= market.now.timestamp() * 1000 - DAY / 2
    ]
    short = liqdata.Market(bars=bars)
    found = short.maxpain("BTC")
    assert (found.units, found.meta["explain"]["headline"], found.meta["explain"]["sigmaDay"]) == (
        "relative",
        "strongest",
        None,
    )
    assert found == short.maxpain("BTC", headline="strongest")
    assert found.meta["explain"]["reach"]["d1"] == {"long": None, "short": None}
    assert sum(short.liqmap("BTC").outside.values()) == 0


def test_the_headline_scales_with_the_price(market):
    # The fine grid of the ledger is not aligned with powers of ten, so nearly equal levels may change places.
    bars = list(market.bars("ETH", interval="5m"))
    prices = ("open", "high", "low", "close")
    found = []
    for scale in (1.0, 0.001):
        rows = [
            {**row, **{name: row[name] * scale for name in prices}, "volume": row["volume"] / scale} for row in bars
        ]
        found.append(liqdata.Market(bars=rows).maxpain("ETH"))
    for key in ("d1", "d7"):
        for side in ("long", "short"):
            assert found[1][key][side]["price"] == pytest.approx(0.001 * found[0][key][side]["price"], rel=5e-3)


@pytest.mark.parametrize("span", ["near", (5, 4), (0, 1), (1, math.inf), (1,), 7, None])
def test_a_wrong_span_is_refused(market, span):
    with pytest.raises(BadQuery, match="span") as refused:
        market.liqmap("BTC", span=span)
    assert refused.value.parameter == "span"
    with pytest.raises(BadQuery) as refused:
        market.maxpain("BTC", headline="near")
    assert refused.value.parameter == "headline"
