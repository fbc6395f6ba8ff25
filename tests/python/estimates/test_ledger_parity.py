"""The four estimates equal a slow, plain ledger, cell for cell, on random bars."""

import math
import os
import random
from bisect import bisect_left
from collections import defaultdict
from datetime import UTC, datetime
from itertools import count, takewhile
from operator import itemgetter

import numpy as np
import pytest
import reference_ledger as reference
import samples
from samples import DAY, HOUR, MINUTE, NOW

import liqdata

RANGES = {"12h": DAY // 2, "24h": DAY, "3d": 3 * DAY, "7d": 7 * DAY, "1M": 30 * DAY, "1d": DAY}
STRIDES = {"12h": 5 * MINUTE, "24h": 10 * MINUTE, "3d": 30 * MINUTE, "7d": HOUR, "1M": 4 * HOUR}
PAIR = {"BTC": ("BTCUSDT", 1), "PEPE": ("1000PEPEUSDT", 1000)}
TIERS = (2, 3, 4, 5, 7, 10, 15, 20, 25, 33, 50, 75, 100, 125)
WEIGHTS = tuple(k**-0.75 / sum(other**-0.75 for other in TIERS) for k in TIERS)
CLOCKS = ((0.3, 0.1), (0.7, 16.0))
KAPPA = 0.21
# Each for the tiers near it: through 2, 3, below 7, through 17, 35, 70, and all above.
SHOWN = (2, 3, 5, 10, 25, 50, 100)
SHOWN_FOR = (0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 6, 6)
LEVELS = SHOWN[3:]  # the contract's
CLOSE = {"rtol": 1e-9, "atol": 0.0}


def between(rows, start, end):
    """Of rows in the order of their time, those from ``start`` to before ``end``."""
    at = itemgetter("timestamp")
    return rows[bisect_left(rows, start, key=at) : bisect_left(rows, end, key=at)]


class World:
    """Random bars, readings and orders of one coin, and what the documented rules make of them."""

    def __init__(self, coin, interval, days, seed):
        chance = random.Random(f"{coin} {interval} {seed}")
        self.coin, self.interval = coin, interval
        price = 60_000.0 if coin == "BTC" else 0.0123
        number = days * DAY // interval
        volatility = 0.004 * math.sqrt(interval / (5 * MINUTE))
        self.bars = []
        for place in range(number):
            open_, price = price, price * math.exp(chance.gauss(0, volatility))
            self.bars.append(
                {
                    "symbol": coin,
                    "timestamp": NOW - (number - place) * interval,
                    "open": open_,
                    "high": max(open_, price) * math.exp(abs(chance.gauss(0, volatility / 2))),
                    "low": min(open_, price) * math.exp(-abs(chance.gauss(0, volatility / 2))),
                    "close": price,
                    "volume": abs(chance.gauss(500, 300)),
                }
            )
        self.readings = []
        for venue, level in (("binance", 2e4), ("okx", 5e3)):
            reading, at = level, NOW - days * DAY
            while at <= NOW:
                if chance.random() < 0.9:  # some are missing, and are carried forward or lost
                    self.readings.append({"symbol": coin, "timestamp": at, "open_interest": reading, "exchange": venue})
                reading *= math.exp(chance.gauss(0, 0.02))
                at += 10 * MINUTE
        self.readings.sort(key=itemgetter("timestamp"))
        pair, self.scale = PAIR[coin]
        self.orders = [
            {
                "exchange": "binance",
                "symbol": pair,
                "side": chance.choice(("LONG", "SHORT")),
                "price": 1.0,
                "qty": chance.choice((1.5, 20.25, 300.0)) / self.scale,
                # Whole bars without any, and the first and last well inside of the bars.
                "timestamp": NOW - chance.randint(1, number - 2) * interval - chance.choice((0, 1, interval - 1)),
            }
            for _ in range(number // 3)
        ]
        self.orders.sort(key=itemgetter("timestamp"))

    def market(self):
        return liqdata.Market(
            orders=samples.columns(self.orders),
            bars=samples.columns(self.bars),
            open_interest=samples.columns(self.readings),
            now=NOW,
        )

    def fresh_readings(self, instant):
        """The latest reading of each venue; one older than a quarter of an hour counts no more."""
        latest = {}
        for reading in between(self.readings, instant - 15 * MINUTE, instant + 1):
            latest[reading["exchange"]] = reading["open_interest"]
        return latest

    def open_interest(self, instant):
        """The sum over all exchanges."""
        latest = self.fresh_readings(instant)
        return sum(latest.values()) if latest else None

    def week_before(self, bar):
        """The volumes of the bars of the week before one."""
        return [other["volume"] for other in between(self.bars, bar["timestamp"] - 7 * DAY, bar["timestamp"])]

    def volume_ratio(self, bar):
        before = self.week_before(bar)
        return bar["volume"] / (sum(before) / len(before)) if before else 1.0

    def realised(self, bar):
        """Base units of longs and of shorts, if the feed had an order in the day before the close."""
        start, end = bar["timestamp"], bar["timestamp"] + self.interval
        if not between(self.orders, end - DAY, end):
            return (None, None)
        return tuple(
            sum(order["qty"] * self.scale for order in between(self.orders, start, end) if order["side"] == side)
            for side in ("LONG", "SHORT")
        )

    def window(self, length):
        return [bar for bar in self.bars if bar["timestamp"] >= NOW - length]

    def rules(self):
        wide = 0.005 if self.coin == "BTC" else 0.01
        return reference.Rules(TIERS, tuple(min(wide, 1 / (2 * k)) for k in TIERS), WEIGHTS, CLOCKS)

    def per_day(self, bar):
        """The usual volume of a day, in place of open interest that is not known yet."""
        before = self.week_before(bar)
        usual = sum(before) / len(before) if before else bar["volume"]
        return usual * DAY / self.interval

    def replay(self, length, model):
        """The ledger after every bar of the window, or of all bars, with the time of its close."""
        bars = self.bars if length is None else self.window(length)
        opening = self.open_interest(bars[0]["timestamp"])
        relative = opening is None
        ledger = reference.Ledger(self.rules(), self.per_day(bars[0]) if relative else opening)
        close, read = bars[0]["timestamp"], {}
        for bar in bars:
            if (missing := bar["timestamp"] - close) > 3 * self.interval:
                ledger.lapse(missing / DAY)
            close = bar["timestamp"] + self.interval
            known, latest = self.open_interest(close), self.fresh_readings(close)
            if relative and known is not None:
                relative = False
                ledger.regroup(known / ledger.open_interest)
                read = latest
            elif relative:
                known = self.per_day(bar)
            # Positions of a silent exchange are not closed, nor opened again when it returns.
            if read and latest and read.keys() != latest.keys():
                ledger.regroup(sum(read.get(venue, now) for venue, now in latest.items()) / sum(read.values()))
            read = latest or read
            ledger.step(
                reference.Bar(
                    high=bar["high"],
                    low=bar["low"],
                    close=bar["close"],
                    volume_ratio=self.volume_ratio(bar),
                    days=self.interval / DAY,
                    open_interest=ledger.open_interest if known is None else known,
                    realised=self.realised(bar) if model == 3 else (None, None),
                )
            )
            yield close, ledger

    def heatmap(self, name, model, counted):
        """Prices, times and matrix by the rules of the documentation, tiers counted as often as said."""
        length = RANGES[name]
        stride = -(-STRIDES[name] // self.interval) * self.interval
        bars = self.window(length)
        ends = {NOW, *takewhile(lambda end: end > NOW - length, count(NOW // stride * stride, -stride))}
        columns = {}
        for close, ledger in self.replay(None, model):
            if close in ends:
                fine = defaultdict(float)
                for (j, _, _), usd in ledger.usd(counted(close)).items():
                    fine[j] += usd
                columns[close] = {j: usd for j, usd in fine.items() if usd > 0}
        low = ledger.bin(min(bar["low"] for bar in bars) * 0.97)
        high = ledger.bin(max(bar["high"] for bar in bars) * 1.03)
        factor = FACTORS[name]
        occupied = [j for column in columns.values() for j in column]
        first, last = min([low, *occupied]) // factor, max([high, *occupied]) // factor
        matrix = np.zeros((last - first + 1, len(columns)))
        for place, end in enumerate(sorted(columns)):
            for j, usd in columns[end].items():
                matrix[j // factor - first, place] += usd
        rows = np.arange(first, last + 1)
        return np.exp((rows + 0.5) * factor * 5e-4), sorted(columns), matrix

    def liqmap(self, name):
        """Bin width and the USD of each bin by (place, side), tier by tier."""
        *_, (_, ledger) = self.replay(RANGES[name], 2)
        price = self.bars[-1]["close"]
        decade = 10.0 ** math.floor(math.log10(price / 1000))
        width = min((decade * digit for digit in (1, 2, 5, 10)), key=lambda step: abs(step - price / 1000))
        bins = defaultdict(lambda: [0.0] * len(SHOWN))
        for (j, side, world), usd in ledger.usd((WEIGHTS, WEIGHTS)).items():
            bins[side, math.floor((ledger.mid(j) - price) / width)][SHOWN_FOR[world]] += usd
        return price, width, {place: tiers for place, tiers in sorted(bins.items()) if sum(tiers) > 0}


# Fine bins of a row.
FACTORS = {"12h": 1, "24h": 1, "3d": 1, "7d": 2, "1M": 2}

SOAK = bool(os.environ.get("LIQDATA_SOAK"))
COINS = (("BTC", 1), ("PEPE", 2))
WINDOWS = (
    ("12h", 15 * MINUTE),
    ("24h", 15 * MINUTE if SOAK else 30 * MINUTE),
    ("3d", 30 * MINUTE if SOAK else HOUR),
    ("7d", HOUR),
    ("1M", 4 * HOUR),
)
# Both coins and both models of each window in the long form; in the short one each pair of them with some windows, for
# the ledger of the tests is slow.
CASES = [
    (coin, name, interval, seed, model)
    for place, (name, interval) in enumerate((*WINDOWS, ("12h", 5 * MINUTE), ("24h", 5 * MINUTE)) if SOAK else WINDOWS)
    for which, (coin, seed) in enumerate(COINS)
    for model in (2, 3)
    if SOAK or (which, model - 2) == ((place + 1) % 2, 1 - place // 2 % 2)
]


@pytest.mark.parametrize("coin,name,interval,seed,model", CASES)
def test_a_heatmap_equals_the_ledger_in_every_column(coin, name, interval, seed, model):
    world = World(coin, interval, RANGES[name] // DAY + 9, seed)
    market = world.market()
    found = market.heatmap(coin, name, model, span="all")
    # Other tests compare fitted shares with the truth; this one checks the ledger with given shares.
    explain = found.meta["explain"]
    shares = explain.get("theta", (WEIGHTS, WEIGHTS))
    if model == 3 and explain["fit"]["state"] == "prior":
        np.testing.assert_allclose(shares, [[KAPPA * weight for weight in WEIGHTS]] * 2, rtol=1e-12)
    # The shares of an earlier column are those of its day.
    of_day = {NOW // DAY: shares}

    def counted(close):
        if model == 2:
            return shares
        if close // DAY not in of_day:
            then = market.liqmap(coin, "all", model=3, as_of=close)
            of_day[close // DAY] = then.meta["explain"]["theta"]
        return of_day[close // DAY]

    prices, times, matrix = world.heatmap(name, model, counted)
    assert found.times.astype("int64").tolist() == times
    assert found.prices.shape == prices.shape
    np.testing.assert_allclose(found.prices, prices, rtol=1e-12)
    np.testing.assert_allclose(found.matrix, matrix, **CLOSE)
    assert found.matrix.any(axis=0).all()
    assert found.current_price == world.bars[-1]["close"]
    assert found.updated_at == datetime.fromtimestamp(NOW / 1000, UTC)


MAPS = [
    (coin, name, interval, seed)
    for name, interval in (("1d", 5 * MINUTE if SOAK else 15 * MINUTE), ("7d", HOUR))
    for coin, seed in (("BTC", 3), ("PEPE", 4), ("BTC", 5))
]


@pytest.mark.parametrize("coin,name,interval,seed", MAPS)
def test_a_map_is_the_last_ledger_by_side_and_tier(coin, name, interval, seed):
    world = World(coin, interval, RANGES[name] // DAY + 8, seed)
    price, width, bins = world.liqmap(name)
    found = world.market().liqmap(coin, name, model=2, span="all")
    assert found.current_price == price
    assert found.bin_width == pytest.approx(width, rel=1e-12)
    assert found.leverages.tolist() == list(SHOWN)
    assert found.sides.tolist() == [("long", "short")[side] for side, _ in bins]
    centres = [price + (place + 0.5) * width for _, place in bins]
    np.testing.assert_allclose(found.prices, centres, rtol=1e-12)
    np.testing.assert_allclose(found.tiers, list(bins.values()), **CLOSE)
    np.testing.assert_allclose(found.total, [sum(tiers) for tiers in bins.values()], **CLOSE)


@pytest.mark.parametrize("missing", [3, 4, 30, 100])
def test_a_gap_of_bars_makes_positions_unlocated(missing):
    world = World("BTC", HOUR, 15, 11)
    whole = world.market().liqmap("BTC", "7d", model=2, span="all")
    del world.bars[-40 - missing : -40]
    price, _, bins = world.liqmap("7d")
    found = world.market().liqmap("BTC", "7d", model=2, span="all")
    assert found.current_price == price
    np.testing.assert_allclose(found.tiers, list(bins.values()), **CLOSE)
    assert found.meta["explain"]["gaps"] == (missing > 3)
    assert found.total.sum() != pytest.approx(whole.total.sum(), rel=1e-3)


def strongest(bins, price, width, side, usd_of):
    """Price and USD of the largest cluster of a side, the nearest of several as large."""
    rows = [(usd_of(tiers), price + (place + 0.5) * width) for (s, place), tiers in bins.items() if s == side]
    usd, centre = max(rows, key=lambda row: (row[0], -abs(row[1] - price)))
    return centre, usd


@pytest.mark.parametrize("coin,seed", [("BTC", 6), ("PEPE", 7)])
def test_levels_are_the_strongest_clusters_of_the_week(coin, seed):
    world = World(coin, HOUR, 15, seed)
    price, width, bins = world.liqmap("7d")
    largest = max(max(tiers[3:]) for tiers in bins.values())
    found = world.market().levels(coin, model=2, headline="strongest")
    assert (found["symbol"], found["price"], found["updatedAt"]) == (coin, price, NOW)
    assert list(found["tiers"]) == ["10", "25", "50", "100"]
    for tier_place, tier in enumerate(found["tiers"].values(), start=len(SHOWN) - len(LEVELS)):
        for side, name in enumerate(("long", "short")):
            centre, usd = strongest(bins, price, width, side, lambda tiers, tier_place=tier_place: tiers[tier_place])
            assert tier[f"{name}Price"] == pytest.approx(centre, rel=1e-12)
            assert tier[f"{name}Intensity"] == pytest.approx(usd / largest, rel=1e-9)


@pytest.mark.parametrize("coin,seed", [("BTC", 8), ("PEPE", 9)])
def test_max_pain_is_the_strongest_bin_of_a_day_and_of_a_week(coin, seed):
    world = World(coin, HOUR, 15, seed)
    market = world.market()
    found = market.maxpain(coin, model=2, headline="strongest")
    assert (found["symbol"], found["updatedAt"]) == (coin, NOW)
    for key, name in (("d1", "1d"), ("d7", "7d")):
        price, width, bins = world.liqmap(name)
        assert found["price"] == price
        for side, (spot, total) in enumerate((("long", "totalLong"), ("short", "totalShort"))):
            centre, usd = strongest(bins, price, width, side, sum)
            assert found[key][spot]["price"] == pytest.approx(centre, rel=1e-12)
            assert found[key][spot]["usd"] == pytest.approx(usd, rel=1e-9)
            assert found[key][spot]["distPct"] == pytest.approx(100 * (centre / price - 1), rel=1e-6)
            shown = market.liqmap(coin, name, model=2)
            of_side = shown.total[shown.sides == spot].sum()
            assert found[key][total] == pytest.approx(of_side, rel=1e-9)
            whole = sum(sum(tiers) for (s, _), tiers in bins.items() if s == side)
            assert of_side + shown.outside[f"{spot}_usd"] == pytest.approx(whole, rel=1e-9)


def test_without_open_interest_the_estimate_has_the_same_shape():
    world = World("BTC", HOUR, 15, 10)
    bars = samples.columns(world.bars)
    found = liqdata.Market(bars=bars, now=NOW).heatmap("BTC", "7d")
    longs = found.matrix[found.prices < found.current_price * 0.999, -1]
    shorts = found.matrix[found.prices > found.current_price * 1.001, -1]
    assert longs.sum() > 0
    assert shorts.sum() > 0
