"""Open interest in base units or in USD: what a table may hold, and which readings are implausible."""

import itertools
import os
import random
from pathlib import Path

import pytest
import samples
from samples import HOUR, MINUTE, NOW

import liqdata
from liqdata import _core

RECORDED = os.environ.get("LIQDATA_REAL_DATA")
PRICES = {"BTC": 87_900.0, "ETH": 3_000.0, "SOL": 140.0, "SHIB": 1.2e-5}


def bars(coin, price, *, hours=72, volume=1e6, seed=5):
    """Hourly bars that turn over ``volume`` USD a day and wander by half a percent an hour."""
    chance, rows = random.Random(seed), []
    for place in range(hours):
        last, price = price, price * (1 + chance.gauss(0, 0.005))
        rows.append(
            {
                "symbol": coin,
                "timestamp": NOW - (hours - place) * HOUR,
                "open": last,
                "high": max(last, price),
                "low": min(last, price),
                "close": price,
                "volume": volume / 24 / price,
                "interval": HOUR,
            }
        )
    return samples.columns(rows)


def readings_of(coin, values, *, column="open_interest", start=None, step=HOUR, exchange="binance"):
    start = NOW - len(values) * step if start is None else start
    return {
        "symbol": [coin] * len(values),
        "exchange": [exchange] * len(values),
        "timestamp": [start + place * step for place in range(len(values))],
        column: list(values),
    }


def refusal(table, **tables):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.Market(open_interest=table, **tables)
    assert caught.value.parameter == "open_interest"
    return str(caught.value)


def test_usd_becomes_base_units_at_the_last_price_known_at_its_time():
    table = bars("ETH", 3_000.0, hours=4)
    opened, closes = table["timestamp"], table["close"]
    # At the open of the first, within it, at its close, within the second, and after the last.
    at = [opened[0], opened[0] + 9 * MINUTE, opened[1], opened[1] + 1, opened[3] + 2 * HOUR]
    prices = [table["open"][0], table["open"][0], closes[0], closes[0], closes[3]]
    usd = {"symbol": ["ETH"] * 5, "timestamp": at, "open_interest_usd": [1e6, 2e6, 3e6, 4e6, 5e6]}
    market = liqdata.Market(bars=table, open_interest=usd)
    rows = market.open_interest("ETH", as_of=opened[3] + 3 * HOUR)
    wanted = [value / price for value, price in zip(usd["open_interest_usd"], prices, strict=True)]
    assert [row["open_interest"] for row in rows] == wanted


def test_a_bar_after_a_gap_gives_its_open_price():
    table = bars("ETH", 3_000.0, hours=5)
    gappy = {name: [*cells[:2], *cells[4:]] for name, cells in table.items()}
    at = gappy["timestamp"][2]
    usd = {"symbol": ["ETH"] * 2, "timestamp": [at - 1, at + 1], "open_interest_usd": [1e6, 1e6]}
    rows = liqdata.Market(bars=gappy, open_interest=usd).open_interest("ETH")
    assert [row["open_interest"] for row in rows] == [1e6 / gappy["close"][1], 1e6 / gappy["open"][2]]


def test_estimates_of_usd_are_those_of_the_same_base_units():
    demo = samples.simulated()
    table, readings = demo.bars("BTC"), demo.open_interest("BTC").to_pandas()
    closes = {row["timestamp"] + row["interval"]: row["close"] for row in table}
    opens = {row["timestamp"]: row["open"] for row in table}
    at = readings["timestamp"].astype("datetime64[ms, UTC]").astype("int64")
    prices = [closes.get(time) or opens[time] for time in at]
    usd = readings.assign(open_interest_usd=readings["open_interest"] * prices)
    in_usd = liqdata.Market(bars=table, open_interest=usd.drop(columns="open_interest"))
    in_base = liqdata.Market(bars=table, open_interest=readings)
    assert in_usd.liqmap("BTC").total == pytest.approx(in_base.liqmap("BTC").total, rel=1e-9)
    assert in_usd.liqmap("BTC").total.sum() > 0


def test_a_table_has_either_column_or_both_at_a_price():
    table = bars("BTC", 87_900.0)
    both = readings_of("BTC", [300.0]) | {"open_interest_usd": [300.0 * 87_900.0]}
    market = liqdata.Market(open_interest=both | {"mark_price": [87_900.0]}, bars=table)
    assert [row["open_interest"] for row in market.open_interest("BTC")] == [300.0]
    said = refusal(both | {"mark_price": [100.0]}, bars=table)
    assert said.endswith("300: contradicts the open interest in USD at the price of the row")
    neither = readings_of("BTC", [1.0], column="interest")
    said = refusal(neither, bars=table)
    assert 'column "open_interest" is missing, and so is "open_interest_usd"' in said


@pytest.mark.parametrize("value", [None, float("nan"), -1.0, float("inf"), "x"])
def test_a_bad_number_of_usd_is_named_by_column_and_row(value):
    said = refusal(readings_of("BTC", [1e6, value], column="open_interest_usd"), bars=bars("BTC", 87_900.0))
    assert said.startswith('open_interest: column "open_interest_usd", row 1: ')


def test_usd_without_a_price_of_its_time_is_refused():
    table = bars("BTC", 87_900.0)
    usd = "open_interest_usd"
    assert "row 0: 5.0 USD" in (said := refusal(readings_of("BTC", [5.0], column=usd)))
    assert "BTC has no bars" in said
    assert "ETH has no bars" in refusal(readings_of("ETH", [5.0], column=usd), bars=table)
    first, last = table["timestamp"][0], table["timestamp"][-1] + HOUR
    early = readings_of("BTC", [5.0], column=usd, start=first - 1)
    assert "the first bar of BTC opens at" in refusal(early, bars=table)
    late = readings_of("BTC", [5e5], column=usd, start=last + 24 * HOUR + 1)
    assert "the last bar of BTC before it closes at" in refusal(late, bars=table)
    in_time = readings_of("BTC", [5e5], column=usd, start=last + 24 * HOUR)
    assert len(liqdata.Market(bars=table, open_interest=in_time).open_interest("BTC")) == 1


@pytest.mark.parametrize("coin", PRICES)
@pytest.mark.parametrize("share", [0.2, 1.0, 5.0])
def test_a_wrong_unit_is_refused_with_both_readings(coin, share):
    price, volume = PRICES[coin], 1e9
    table = bars(coin, price, volume=volume)
    chance = random.Random(2)
    usd = [share * volume * (1 + chance.gauss(0, 0.01)) for _ in range(48)]
    base = [value / price for value in usd]
    liqdata.Market(bars=table, open_interest=readings_of(coin, base))
    liqdata.Market(bars=table, open_interest=readings_of(coin, usd, column="open_interest_usd"))
    said = refusal(readings_of(coin, usd), bars=table)
    assert said.startswith('open_interest: column "open_interest", row ')
    assert f"{coin} at the price " in said
    assert "times the daily volume" in said
    assert said.endswith("if it is USD, name the column open_interest_usd")
    if 0.0005 < share / price < 1:
        return  # a small exchange may hold so little
    said = refusal(readings_of(coin, base, column="open_interest_usd"), bars=table)
    assert said.startswith('open_interest: column "open_interest_usd", row ')
    assert said.endswith(f"if it is in {coin}, name the column open_interest")


def test_one_reading_in_the_other_unit_is_found():
    table = bars("BTC", 87_900.0, volume=1e9)
    values = [11_000.0 + place for place in range(40)]
    values[17] *= 87_900.0
    said = refusal(readings_of("BTC", values), bars=table)
    assert said.startswith('open_interest: column "open_interest", row 17: 9.68e8 BTC at the price 88715 is 8.')
    assert "read as USD it is 1" in said


def test_an_undecidable_unit_is_taken_from_the_column_name():
    for price in (0.05, 1.0, 25.0):
        table = bars("XRP", price, volume=1e9)
        for column in ("open_interest", "open_interest_usd"):
            liqdata.Market(bars=table, open_interest=readings_of("XRP", [1e9 / price] * 5, column=column))
    silent = bars("BTC", 87_900.0, volume=0.0)
    silent |= dict.fromkeys(("open", "high", "low"), silent["close"])
    liqdata.Market(bars=silent, open_interest=readings_of("BTC", [1e9]))
    liqdata.Market(open_interest=readings_of("BTC", [1e9]))


def test_a_growing_market_takes_usd_at_the_prices_it_knows():
    table = bars("ETH", 3_000.0, volume=1e9)
    half = {name: cells[:36] for name, cells in table.items()}
    rest = {name: cells[36:] for name, cells in table.items()}
    market = _core.Market.growing(10)
    market.append(None, half, None)
    usd = readings_of("ETH", [1e9, 1e9], column="open_interest_usd", start=half["timestamp"][-1] + HOUR)
    market.append(None, rest, usd)
    readings = market.ask(_core.question("open_interest", symbol="ETH"))
    assert [row["open_interest"] for row in readings.dicts("float")] == [
        1e9 / half["close"][-1],
        1e9 / rest["close"][0],
    ]
    with pytest.raises(liqdata.BadQuery, match="if it is USD, name the column open_interest_usd"):
        market.append(None, None, readings_of("ETH", [1e9]))


def test_an_archive_takes_usd_at_the_prices_that_come_with_it(tmp_path):
    table = bars("ETH", 3_000.0)
    writer = _core.ArchiveWriter(tmp_path / "archive")
    usd = readings_of("ETH", [1e6], column="open_interest_usd")
    with pytest.raises(liqdata.BadQuery, match="ETH has no bars"):
        writer.append(None, None, usd)
    writer.append(None, table, usd)
    with pytest.raises(liqdata.BadQuery, match="name the column open_interest_usd"):
        writer.append(None, table, readings_of("ETH", [1e6]))
    writer.close()
    with liqdata.open(tmp_path / "archive") as market:
        rows = market.open_interest("ETH", as_of=NOW)
        assert [row["open_interest"] for row in rows] == [1e6 / table["close"][-2]]


def test_simulated_readings_of_any_price_pass_and_in_usd_only_by_their_name():
    demo = samples.simulated()
    for coin in ("BTC", "SOL", "XRP", "PEPE"):
        table, readings = demo.bars(coin), demo.open_interest(coin).to_pandas()
        liqdata.Market(bars=table, open_interest=readings)
        price = table[-1]["close"]
        usd = readings.assign(open_interest=readings["open_interest"] * price)
        if not 0.03 < price < 30:
            refusal(usd, bars=table)
        liqdata.Market(bars=table, open_interest=usd.rename(columns={"open_interest": "open_interest_usd"}))


@pytest.mark.skipif(RECORDED is None, reason="LIQDATA_REAL_DATA is not set")
class TestRecorded:
    """Years of bars and readings, hour by hour, as seven exchanges gave them."""

    @pytest.fixture
    def tables(self):
        pandas = pytest.importorskip("pandas")
        folder = Path(RECORDED) / "market"
        candles = pandas.read_parquet(folder / "unlicense_hourly_candles_multi_venue.parquet")
        names = {"coin": "symbol", "o": "open", "h": "high", "l": "low", "c": "close", "v": "volume"}
        candles = candles.rename(columns=names).sort_values("timestamp")
        candles["interval"] = HOUR
        readings = pandas.read_parquet(folder / "unlicense_hourly_open_interest.parquet")
        readings = readings.rename(columns={"coin": "symbol", "venue": "exchange", "oi_usd": "open_interest_usd"})
        return candles, readings.sort_values("timestamp")

    def pairs(self, tables):
        """Readings of each exchange with the bars of each, where they overlap."""
        candles, readings = tables
        for coin, venue in itertools.product(candles["symbol"].unique(), candles["venue"].unique()):
            table = candles[(candles["symbol"] == coin) & (candles["venue"] == venue)].drop(columns="venue")
            # The volume of this one is counted in contracts.
            if table.empty or venue == "okx":
                continue
            for exchange in readings["exchange"].unique():
                mine = readings[(readings["symbol"] == coin) & (readings["exchange"] == exchange)]
                there = mine["timestamp"].between(table["timestamp"].iloc[0], table["timestamp"].iloc[-1])
                if there.any():
                    yield coin, venue, exchange, table, mine[there]

    def test_recorded_readings_pass_mostly_in_their_own_unit_only(self, tables):
        caught = {}
        for coin, venue, exchange, table, usd in self.pairs(tables):
            # Open interest of a large exchange against the volume of a tiny one may be in either unit.
            if venue not in ("binance", "bybit", "hyperliquid", exchange):
                continue
            market = liqdata.Market(bars=table, open_interest=usd)
            base = market.open_interest(coin)
            assert len(base) == len(usd)
            liqdata.Market(bars=table, open_interest=base)
            try:
                liqdata.Market(bars=table, open_interest=usd.rename(columns={"open_interest_usd": "open_interest"}))
                caught.setdefault(coin, []).append(0)
            except liqdata.BadQuery:
                caught.setdefault(coin, []).append(1)
        shares = {coin: sum(found) / len(found) for coin, found in caught.items()}
        assert shares["BTC"] > 0.9
        assert shares["ETH"] > 0.7
        assert shares["SOL"] > 0.2
        assert shares["DOGE"] == 0

    def test_btc_of_one_exchange_is_checked_by_the_bars_of_another(self):
        pandas = pytest.importorskip("pandas")
        folder = Path(RECORDED) / "market"
        candles = pandas.read_csv(folder / "btc_15m_candles_20250622_20260622.csv", parse_dates=["timestamp"])
        candles["symbol"] = "BTC"
        readings = pandas.read_csv(folder / "btc_oi_5m_20251201_20260611.csv").rename(columns={"t": "timestamp"})
        readings["symbol"] = "BTC"
        base = readings.rename(columns={"oi": "open_interest"}).drop(columns="oi_usd")
        usd = readings.rename(columns={"oi_usd": "open_interest_usd"}).drop(columns="oi")
        known = liqdata.Market(bars=candles, open_interest=base)
        made = liqdata.Market(bars=candles, open_interest=usd).open_interest("BTC").to_pandas()
        assert made["open_interest"].to_numpy() == pytest.approx(base["open_interest"].to_numpy(), rel=0.05)
        assert len(known.open_interest("BTC")) == len(base)
        refusal(usd.rename(columns={"open_interest_usd": "open_interest"}), bars=candles)
        refusal(base.rename(columns={"open_interest": "open_interest_usd"}), bars=candles)
