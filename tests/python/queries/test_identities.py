"""One ledger, four answers: what must agree does. And what holds of every question: symbols and refusals."""

import os
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
import refusals
import samples

import liqdata
from liqdata import BadQuery, Refused

# Of large prices and of small ones; all of them in the long form.
COINS = samples.simulated().symbols if os.environ.get("LIQDATA_SOAK") else ["BTC", "DOGE", "ETH", "PEPE", "SOL"]
ONE_DAY, ONE_WEEK = ("24h", "1d", "d1"), ("7d", "7d", "d7")


@pytest.fixture(scope="module", params=["as simulated", "read back from tables"])
def market(request):
    """The simulated market, and the market of its own rows."""
    simulated = samples.simulated()
    if request.param == "as simulated":
        return simulated
    orders = pl.concat([simulated.iter_orders(coin).to_polars(decimals="decimal") for coin in COINS])
    bars = pl.concat([simulated.bars(coin).to_polars() for coin in COINS])
    return liqdata.Market(orders=orders, bars=bars, now=simulated.now)


def near(value):
    return pytest.approx(value, rel=1e-9)


# --- the identities of the estimate


@pytest.mark.parametrize("symbol", COINS)
@pytest.mark.parametrize("ranges", [ONE_DAY, ONE_WEEK], ids=["day", "week"])
def test_the_last_column_the_map_and_max_pain_are_one_sum(market, symbol, ranges):
    of_heatmap, of_map, of_pain = ranges
    heatmap = market.heatmap(symbol, of_heatmap, 2, opened="range", span="all")
    liqmap = market.liqmap(symbol, of_map, model=2, span="all")
    pain = market.maxpain(symbol, model=2)[of_pain]
    assert heatmap.matrix[:, -1].sum() == near(liqmap.total.sum())
    shown = market.liqmap(symbol, of_map, model=2)
    assert pain["totalLong"] == near(shown.total[shown.sides == "long"].sum())
    assert pain["totalShort"] == near(shown.total[shown.sides == "short"].sum())
    assert shown.total.sum() + sum(shown.outside.values()) == near(liqmap.total.sum())
    assert liqmap.total.sum() > 0
    # Rows of the heatmap that lie wholly on one side of the price hold that side only.
    for side, sign in (("long", -1), ("short", 1)):
        far = sign * (heatmap.prices - heatmap.current_price) > 0.005 * heatmap.current_price
        assert 0 < heatmap.matrix[far, -1].sum() <= liqmap.total[liqmap.sides == side].sum() * (1 + 1e-9)


@pytest.mark.parametrize("symbol", COINS)
@pytest.mark.parametrize("range", ["24h", "7d"])
def test_the_last_column_is_the_map_of_all_open_positions(market, symbol, range):
    heatmap, liqmap = market.heatmap(symbol, range), market.liqmap(symbol, "all", model=2)
    outside = sum(usd[-1] for usd in heatmap.outside.values())
    assert heatmap.matrix[:, -1].sum() + outside == near(liqmap.total.sum())
    assert heatmap.meta["opened"] == liqmap.meta["opened"] == "ever"
    assert heatmap.meta["opened_since"] == liqmap.meta["opened_since"]
    within = market.liqmap(symbol, "7d")
    assert within.meta["opened"] == "range"
    assert within.meta["opened_since"] > liqmap.meta["opened_since"]
    assert market.liqmap(symbol, "7d", opened="ever", model=2, span="all").total.tolist() == liqmap.total.tolist()


@pytest.mark.parametrize("symbol", COINS)
@pytest.mark.parametrize("range", ["12h", "24h"])
def test_a_column_does_not_change_later(market, symbol, range):
    later, then = (
        market.heatmap(symbol, range, span="all"),
        market.heatmap(symbol, range, span="all", as_of=market.now - timedelta(hours=2, minutes=7)),
    )
    assert then.meta["partial"] is not None
    times = np.intersect1d(later.times, then.times)
    assert len(times) >= 60
    cells = []
    for heatmap in (later, then):
        shared = heatmap.matrix[:, np.isin(heatmap.times, times)]
        filled = shared.any(axis=1)
        cells.append((heatmap.prices[filled].tobytes(), shared[filled].tobytes()))
    assert cells[0] == cells[1]
    # The first column of a day holds what was opened before.
    assert later.matrix[:, 0].sum() > 0.3 * later.matrix[:, -1].sum()


@pytest.mark.parametrize("symbol", COINS)
@pytest.mark.parametrize("range", ["1d", "7d"])
def test_a_bin_is_the_sum_of_its_tiers_and_lies_on_its_side(market, symbol, range):
    liqmap = market.liqmap(symbol, range)
    np.testing.assert_allclose(liqmap.tiers.sum(axis=1), liqmap.total, rtol=1e-12)
    assert (liqmap.tiers >= 0).all()
    assert (liqmap.total > 0).all()
    longs, shorts = liqmap.sides == "long", liqmap.sides == "short"
    assert longs.any()
    assert shorts.any()
    assert (liqmap.prices[longs] < liqmap.current_price).all()
    assert (liqmap.prices[shorts] > liqmap.current_price).all()
    steps = (liqmap.prices - liqmap.current_price) / liqmap.bin_width - 0.5
    np.testing.assert_allclose(steps, steps.round(), atol=1e-6)
    assert (np.diff(liqmap.prices) > 0).all()


@pytest.mark.parametrize("symbol", COINS)
def test_levels_are_bins_of_the_weeks_map(market, symbol):
    liqmap, levels = market.liqmap(symbol, "7d", span="all"), market.levels(symbol, headline="strongest")
    assert levels["price"] == liqmap.current_price
    shown = liqmap.leverages.tolist()
    assert list(levels["tiers"]) == [str(leverage) for leverage in shown if leverage >= 10]
    largest = liqmap.tiers[:, shown.index(10) :].max()
    intensities = []
    for leverage, tier in levels["tiers"].items():
        place = shown.index(int(leverage))
        for side in ("long", "short"):
            column = np.where(liqmap.sides == side, liqmap.tiers[:, place], -1.0)
            intensity = tier[f"{side}Intensity"]
            intensities.append(intensity)
            assert intensity == near(column.max() / largest)
            assert column[liqmap.prices == tier[f"{side}Price"]].max() == column.max()
        assert tier["longPrice"] < levels["price"] < tier["shortPrice"]
    assert max(intensities) == 1.0
    assert min(intensities) >= 0.0


@pytest.mark.parametrize("symbol", COINS)
@pytest.mark.parametrize("ranges", [ONE_DAY, ONE_WEEK], ids=["day", "week"])
def test_max_pain_is_the_largest_bin_of_either_side(market, symbol, ranges):
    _, of_map, of_pain = ranges
    liqmap, whole = market.liqmap(symbol, of_map, span="all"), market.maxpain(symbol, headline="strongest")
    for side, sign in (("long", -1), ("short", 1)):
        cluster = whole[of_pain][side]
        totals = np.where(liqmap.sides == side, liqmap.total, -1.0)
        assert cluster["usd"] == totals.max()
        assert totals[liqmap.prices == cluster["price"]].max() == totals.max()
        assert cluster["distPct"] == near(100 * (cluster["price"] / whole["price"] - 1))
        assert sign * cluster["distPct"] > 0


@pytest.mark.parametrize("symbol", COINS)
def test_the_four_estimates_agree_on_price_and_time(market, symbol):
    heatmap, liqmap = market.heatmap(symbol), market.liqmap(symbol)
    levels, maxpain = market.levels(symbol), market.maxpain(symbol)
    assert heatmap.current_price == liqmap.current_price == levels["price"] == maxpain["price"]
    assert heatmap.updated_at == liqmap.updated_at == market.now
    assert levels["updatedAt"] == maxpain["updatedAt"] == round(market.now.timestamp() * 1000)
    assert heatmap.times[-1] == np.datetime64(market.now.replace(tzinfo=None), "ms")
    assert heatmap.current_price == market.bars(symbol)[-1]["close"]


def test_the_realised_answers_add_up_to_each_other(market):
    overview, coins = market.overview(), market.coins("24h", 200)
    exchanges = market.exchanges()
    orders = list(market.iter_orders(start=market.now - timedelta(days=1) + timedelta(milliseconds=1)))
    day = overview["24h"]
    assert day["cnt"] == sum(row["cnt"] for row in coins) == sum(row["cnt"] for row in exchanges) == len(orders)
    assert day["total_usd"] == near(sum(row["total_usd"] for row in coins))
    assert day["total_usd"] == float(sum(row["total_usd"] for row in exchanges))
    assert sum(row["long_usd"] for row in exchanges) == sum(row["value_usd"] for row in orders if row["side"] == "LONG")
    pairs = sorted({row["symbol"] for row in orders})
    assert sum(row["total_usd"] for rows in market.chart(pairs).values() for row in rows) == sum(
        row["value_usd"] for row in orders
    )
    assert market.largest(limit=1)[0]["value_usd"] == max(row["value_usd"] for row in orders)


# --- several symbols


MANY = [
    ("orders", ["ETHUSDT", "BTCUSDT", "SOLUSDT"]),
    ("chart", ["ETHUSDT", "BTCUSDT", "SOLUSDT"]),
    ("heatmap", ["SOL", "BTC", "ETH"]),
    ("liqmap", ["SOL", "BTC", "ETH"]),
    ("levels", ["SOL", "BTC", "ETH"]),
    ("maxpain", ["SOL", "BTC", "ETH"]),
]
ESTIMATES = ["heatmap", "liqmap", "levels", "maxpain"]


@pytest.mark.parametrize("method,symbols", MANY)
def test_several_symbols_give_a_dict_in_the_order_given(market, method, symbols):
    ask = getattr(market, method)
    single = {symbol: ask(symbol) for symbol in symbols}
    assert len({repr(answer) for answer in single.values()}) > 1 or method in {"orders", "chart"}
    for given in (symbols, tuple(symbols), iter(symbols), dict.fromkeys(symbols)):
        found = ask(given)
        assert type(found) is dict
        assert list(found) == symbols
        assert found == single
    assert list(ask(symbols[::-1])) == symbols[::-1]


@pytest.mark.parametrize("method,symbols", MANY)
def test_symbols_are_upper_cased_and_duplicates_queried_once(market, method, symbols):
    ask = getattr(market, method)
    first, second, _ = symbols
    found = ask([f" {first.lower()}", second, first, second.title()])
    assert list(found) == [first, second]
    assert ask(first.lower()) == ask(first) == found[first]


@pytest.mark.parametrize("method", dict(MANY))
def test_no_symbols_give_an_empty_dict(market, method):
    assert getattr(market, method)([]) == {}
    assert getattr(market, method)(()) == {}


@pytest.mark.parametrize("method", ESTIMATES)
def test_the_first_failure_is_raised_with_its_symbol(market, method):
    with pytest.raises(BadQuery) as caught:
        getattr(market, method)(["BTC", "NOPE", "ETH", "NADA"])
    assert caught.value.parameter == "symbol"
    assert "NOPE" in str(caught.value)
    assert any("NOPE" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("method", ESTIMATES)
def test_all_symbols_are_checked_before_any_is_answered(market, method):
    with pytest.raises(BadQuery) as caught:
        getattr(market, method)(["NOPE", "BTC", "BINANCE:ETHUSDT"])
    assert caught.value.parameter == "symbol"
    assert "ETHUSDT" in str(caught.value)


# --- what is refused


@pytest.mark.parametrize("case", refusals.REFUSALS, ids=refusals.name)
def test_an_argument_outside_the_contract_is_refused_with_its_choices(case):
    method, arguments, parameter, allowed = case
    with pytest.raises(BadQuery) as caught:
        getattr(liqdata.Market(), method)(**arguments)
    assert caught.value.parameter == parameter
    head, _, tail = str(caught.value).partition("allowed: ")
    assert head.startswith(f"{parameter}: ")
    assert allowed.replace('"', "'") in tail.replace('"', "'")


@pytest.mark.parametrize("case", refusals.BOUNDS, ids=refusals.name)
def test_arguments_at_the_edge_of_the_contract_are_accepted(case):
    method, arguments = case
    assert getattr(samples.simulated(), method)(**arguments) is not None


METHODS = [
    "overview",
    "coins",
    "exchanges",
    "largest",
    "orders",
    "chart",
    "heatmap",
    "liqmap",
    "levels",
    "maxpain",
    "iter_orders",
    "bars",
    "coverage",
]


@pytest.mark.parametrize(
    "as_of",
    ["soon", "", True, 1.5, b"0", float("nan"), [[0]], "--5", "9" * 5000, 10**30],
    ids=lambda value: ascii(value)[:20],
)
@pytest.mark.parametrize("method", METHODS)
def test_an_as_of_that_is_no_instant_is_refused(method, as_of):
    with pytest.raises(BadQuery) as caught:
        getattr(liqdata.Market(), method)(as_of=as_of)
    assert caught.value.parameter == "as_of"
    assert "ISO 8601" in str(caught.value)


def test_methods_of_markets_alone_refuse_too():
    market = samples.simulated()
    for method, arguments, parameter in (
        ("coverage", {"range": "2h"}, "range"),
        ("bars", {"symbol": ""}, "symbol"),
        ("bars", {"symbol": 5}, "symbol"),
        ("true_positions", {"symbol": None}, "symbol"),
    ):
        with pytest.raises(BadQuery) as caught:
            getattr(market, method)(**arguments)
        assert caught.value.parameter == parameter


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "0", None])
def test_a_seed_outside_its_bounds_is_refused(seed):
    with pytest.raises(BadQuery) as caught:
        liqdata.demo(seed=seed)
    assert caught.value.parameter == "seed"


# --- what has no answer


def test_a_coin_without_bars_is_not_found_and_the_known_are_listed():
    with pytest.raises(Refused, match="ETH") as caught:
        liqdata.Market(bars=samples.bars(), now=samples.NOW).levels("SOL")
    assert caught.value.status == 404


def test_a_window_without_bars_is_not_found_and_names_the_last_bar():
    market = liqdata.Market(bars=samples.bars(), now=samples.NOW + 2 * samples.DAY)
    with pytest.raises(Refused, match="2026-06-01T00:00:00Z") as caught:
        market.heatmap("BTC", "24h")
    assert caught.value.status == 404
    assert market.heatmap("BTC", "7d").matrix.any()


def test_bars_too_coarse_for_the_range_are_refused_with_the_longest_allowed():
    daily = samples.columns([{**row, "interval": "4h"} for row in samples.rows(samples.bars(("BTC",)))[::48]])
    with pytest.raises(Refused, match="2 h") as caught:
        liqdata.Market(bars=daily, now=samples.NOW).heatmap("BTC", "24h")
    assert caught.value.status == 400


def test_nothing_realised_is_an_empty_answer_not_an_error():
    market = samples.simulated()
    assert market.orders("TIAUSDT") == []
    assert market.chart("TIAUSDT") == []
    with pytest.warns(liqdata.NotCovered):
        assert market.orders(exchange="lighter") == []
    assert market.bars("TIA") == []
    assert market.true_positions("TIA") == []
