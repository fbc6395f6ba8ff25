"""Cascades of tables, archives and services, compared with a plain loop over the same orders and bars."""

import json
import os
import random
import urllib.error
import urllib.request
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal

import pytest
import samples
from samples import DAY, HOUR, MINUTE, NOW
from scripted import answer

import liqdata
from liqdata import BadQuery, _core

COINS = {"BTCUSDT": "BTC", "ETHUSDT": "ETH", "1000PEPEUSDT": "PEPE", "BTCUSD": "BTC"}
SECOND = 1000


def bursts(days, seed=5):
    """Orders that come in bursts, some of them across midnights, with single ones between."""
    chance = random.Random(seed)
    rows = []
    starts = [NOW - chance.randrange(days * DAY) for _ in range(60 * days)]
    starts += [NOW - day * DAY - 30 * SECOND for day in range(days)] + [NOW - 20 * SECOND]
    for start in starts:
        at, symbol, side = start, chance.choice(samples.PAIRS), chance.choice(("LONG", "SHORT"))
        for _ in range(chance.choice((1, 1, 2, 5, 9))):
            rows.append(
                {
                    "exchange": chance.choice(samples.VENUES),
                    "symbol": symbol,
                    "side": side,
                    "price": Decimal(chance.randint(1, 999_999)) / 100,
                    "qty": Decimal(chance.randint(1, 99_999)) / 1000,
                    "value_usd": Decimal(chance.randint(1, 999_999)) / 10,
                    "timestamp": at,
                }
            )
            at = min(at + chance.randrange(40 * SECOND), NOW)
    chance.shuffle(rows)
    return samples.columns(rows)


@pytest.fixture(scope="module")
def orders():
    return samples.sound(bursts(20))


@pytest.fixture(scope="module")
def bars():
    return samples.bars(hours=20 * 24)


@pytest.fixture(scope="module")
def archive(orders, bars, tmp_path_factory):
    """The same, all but the last days in files."""
    path = tmp_path_factory.mktemp("cascades") / "archive"
    writer = _core.ArchiveWriter(path)
    writer.append(orders, bars | {"interval": [5 * MINUTE] * len(bars["symbol"])}, None)
    writer.roll(NOW - 2 * DAY)
    writer.close()
    return path


@pytest.fixture(params=["tables", "archive"])
def market(request, orders, bars, archive):
    if request.param == "tables":
        yield liqdata.Market(orders, bars, now=NOW)
        return
    with liqdata.open(archive) as opened:
        yield opened


def runs_of(orders, gap, wanted):
    """The orders of each coin, run by run, with its side."""
    lines = defaultdict(list)
    for row in samples.rows(orders):
        if wanted(row):
            lines[COINS[row["symbol"]], row["side"]].append(row)
    runs = defaultdict(list)
    for (coin, side), rows in lines.items():
        rows.sort(key=lambda row: row["timestamp"])
        run = []
        for row in rows:
            if not run or row["timestamp"] - run[-1]["timestamp"] > gap:
                run = []
                runs[coin].append((side, run))
            run.append(row)
    return runs


def priced(start, end, closes):
    """What closes of five minutes tell of an event."""
    after = -(-end // (5 * MINUTE)) * 5 * MINUTE

    def change(length):
        both = closes.get(after), closes.get(after + length)
        return None if None in both else both[1] / both[0] - 1

    return {
        "price_before": closes.get(start // (5 * MINUTE) * 5 * MINUTE),
        "price_after": closes.get(after),
        "change_1m": None,
        "change_5m": change(5 * MINUTE),
        "change_1h": change(HOUR),
    }


def plainly(tables, gap, least, period, wanted=lambda _: True):
    """The expected cascades, by plain loops."""
    orders, bars = tables
    closes = defaultdict(dict)
    for bar in samples.rows(bars):
        closes[bar["symbol"]][bar["timestamp"] + 5 * MINUTE] = bar["close"]
    made = []
    for coin, runs in runs_of(orders, gap, wanted).items():
        events = [
            {
                "start": run[0]["timestamp"],
                "end": run[-1]["timestamp"],
                "coin": coin,
                "side": side,
                "usd": sum(row["value_usd"] for row in run),
                "cnt": len(run),
                "exchanges": len({row["exchange"] for row in run}),
                "largest_usd": max(row["value_usd"] for row in run),
            }
            for side, run in runs
        ]
        events = [event for event in events if event["usd"] >= least]
        for event in events:
            start = event["start"]
            before = [one["usd"] for one in events if one["start"] >= start - 7 * DAY and one["end"] + gap < start]
            less = sum(usd < event["usd"] for usd in before)
            share = {"percentile_7d": less / len(before) if before else None}
            if period[0] <= start < period[1]:
                made.append(event | priced(start, event["end"], closes[coin]) | share)
    return sorted(made, key=lambda row: (row["start"], row["coin"], row["side"]))


def test_cascades_equal_those_of_a_plain_loop(market, orders, bars):
    chance = random.Random(7)
    found_any = 0
    for _ in range(40 if os.environ.get("LIQDATA_SOAK") else 10):
        gap = chance.choice((SECOND, 20 * SECOND, MINUTE, 10 * MINUTE, HOUR))
        least = chance.choice((0, 20_000, Decimal("100000.5"), 300_000))
        start = NOW - chance.randrange(1, 18 * DAY)
        end = chance.choice((None, chance.randrange(start + 1, NOW + DAY)))
        symbol = chance.choice((None, "BTC", "pepe", "BTCUSDT", ["BTCUSD", "ETH"]))
        named = {str(one).upper() for one in ([symbol] if isinstance(symbol, str) else symbol or [])}

        def wanted(row, named=named):
            return not named or COINS[row["symbol"]] in named or row["symbol"] in named

        found = market.cascades(symbol, gap=gap, min_usd=least, start=start, end=end)
        period = (start, NOW + 1 if end is None else end)
        wanted_rows = plainly((orders, bars), gap, least, period, wanted)
        assert list(found) == wanted_rows, (symbol, gap, least, start, end)
        found_any += len(found)
    assert found_any > 300


@pytest.mark.parametrize("place", ["tables", "archive"])
def test_one_minute_bars_give_the_change_within_a_minute(tmp_path, place):
    first = NOW - 3 * HOUR
    chance = random.Random(8)
    opens = [first + minute * MINUTE for minute in range(180)]
    closes = [100 + round(chance.random() * 10, 2) for _ in opens]
    bars = {"timestamp": opens, "symbol": ["BTC"] * 180, "interval": [MINUTE] * 180, "volume": [1.0] * 180}
    bars |= {"open": closes, "high": closes, "low": closes, "close": closes}
    # An event within a minute, one of which the next minute has no bar, and one that ends as a bar closes.
    ends = [first + 10 * MINUTE + 31 * SECOND, first + 60 * MINUTE + 1, first + 90 * MINUTE]
    gone = 61
    bars = {name: cells[:gone] + cells[gone + 1 :] for name, cells in bars.items()}
    rows = [
        {"exchange": "okx", "symbol": "BTCUSDT", "side": "LONG", "timestamp": at}
        for end in ends
        for at in (end - 20 * SECOND, end)
    ]
    amounts = {"price": Decimal(100), "qty": Decimal(2000), "value_usd": Decimal(200_000)}
    orders = samples.columns([{**row, **amounts} for row in rows])
    if place == "tables":
        market = liqdata.Market(orders, bars, now=NOW)
    else:
        liqdata.ingest(tmp_path / "archive", orders=orders, bars=bars, exchange="okx")
        market = liqdata.open(tmp_path / "archive", as_of=NOW)
    with market:
        rows = market.cascades("BTC", gap="60s")
    # What the first bar that closes at or behind the end says, and the bar a minute later.
    assert [row["change_1m"] for row in rows] == [
        pytest.approx(closes[11] / closes[10] - 1),
        None,
        pytest.approx(closes[90] / closes[89] - 1),
    ]
    assert rows[1]["price_after"] == closes[60]
    assert rows[0]["change_5m"] == pytest.approx(closes[15] / closes[10] - 1)


def test_cascades_default_to_a_day_a_minute_and_100_000_usd(market, orders, bars):
    found = market.cascades()
    assert list(found) == plainly((orders, bars), MINUTE, 100_000, (NOW + 1 - DAY, NOW + 1))
    assert len(found) > 10
    assert found == market.cascades(gap=timedelta(minutes=1), min_usd="100000") == market.cascades(gap=60_000)
    frame = found.to_pandas()
    assert str(frame["start"].dtype) == str(frame["end"].dtype) == "datetime64[ms, UTC]"
    assert list(frame.columns) == list(liqdata.types.CascadeRow.__annotations__)


def test_an_event_of_one_side_does_not_join_that_of_the_other():
    rows = [
        {
            "exchange": venue,
            "symbol": pair,
            "side": side,
            "price": 1,
            "qty": usd,
            "value_usd": usd,
            "timestamp": NOW + at,
        }
        for venue, pair, side, usd, at in (
            ("okx", "BTCUSDT", "LONG", 60_000, 0),
            ("bybit", "BTCUSD", "LONG", 50_000, MINUTE),
            ("okx", "BTCUSDT", "SHORT", 99_999, 0),
            ("okx", "ETHUSDT", "LONG", 99_999, 0),
            ("okx", "BTCUSDT", "LONG", 100_000, 2 * MINUTE + 1),
        )
    ]
    found = liqdata.Market(samples.columns(rows)).cascades()
    shown = [(row["start"] - NOW, row["end"] - NOW, row["usd"], row["cnt"], row["exchanges"]) for row in found]
    assert shown == [(0, MINUTE, 110_000, 2, 2), (2 * MINUTE + 1, 2 * MINUTE + 1, 100_000, 1, 1)]
    assert found[1]["percentile_7d"] == 0.0
    assert found[0]["percentile_7d"] is None
    assert found[0]["price_before"] is found[0]["price_after"] is None, "there are no bars"


@pytest.mark.parametrize("hours", [1, 12, 24 * 3, 24 * 6])
def test_cascades_as_of_an_instant_use_no_later_rows(orders, bars, archive, hours):
    at = NOW - hours * HOUR - 17
    asked = {"gap": "10m", "min_usd": 50_000, "start": at - 2 * DAY}

    def wanted(row):
        return row["timestamp"] <= at

    closed = {
        name: [cell for cell, opened in zip(cells, bars["timestamp"], strict=True) if opened + 5 * MINUTE <= at]
        for name, cells in bars.items()
    }
    expected = plainly((orders, closed), 10 * MINUTE, 50_000, (at - 2 * DAY, at + 1), wanted)
    assert list(liqdata.Market(orders, bars, now=NOW).cascades(as_of=at, **asked)) == expected
    with liqdata.open(archive) as now, liqdata.open(archive, as_of=at) as then:
        # Bars were received when they were written, which is no time of theirs.
        amounts = [
            {name: row[name] for name in ("start", "end", "coin", "side", "usd", "percentile_7d")} for row in expected
        ]
        for found in (now.cascades(as_of=at, **asked), then.cascades(**asked)):
            assert [{name: row[name] for name in amounts[0]} for row in found] == amounts


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")  # the orders begin after the last day of the bars
def test_polling_a_growing_archive_equals_reading_it_again(tmp_path, bars):
    """Orders in their time, late ones of before, repeated ones, and days that become files meanwhile."""
    rows = samples.rows(bursts(4, seed=9))
    rows.sort(key=lambda row: row["timestamp"])
    chance = random.Random(2)
    # Some come hours or days late.
    late = chance.sample(rows, 40)
    soon = [row for row in rows if row not in late]
    writer = _core.ArchiveWriter(tmp_path / "archive")
    writer.append(samples.columns(soon[:400]), bars | {"interval": [5 * MINUTE] * len(bars["symbol"])}, None)
    questions = [{}, {"symbol": "BTC", "gap": "5m", "min_usd": 0}, {"min_usd": 1000, "start": NOW - 40 * HOUR}]
    sizes = set()
    with liqdata.open(tmp_path / "archive") as polled:
        for place in range(400, len(soon) + 60, 60):
            answers = [polled.cascades(**asked) for asked in questions]
            with liqdata.open(tmp_path / "archive") as fresh:
                assert answers == [fresh.cascades(**asked) for asked in questions]
            sizes.add(len(answers[1]))
            more = soon[place : place + 60] + [late.pop() for _ in range(min(5, len(late)))] + soon[place - 3 : place]
            writer.append(samples.columns(more), None, None)
            if place % 240 == 160:
                writer.roll(more[0]["timestamp"] // DAY * DAY)
    writer.close()
    assert len(sizes) > 3


@pytest.mark.parametrize(
    "asked,parameter,words",
    [
        ({"gap": 0}, "gap", '"1ms" to "1d"'),
        ({"gap": "25h"}, "gap", '"1ms" to "1d"'),
        ({"gap": "soon"}, "gap", '"1ms" to "1d"'),
        ({"gap": None}, "gap", '"1ms" to "1d"'),
        ({"gap": True}, "gap", '"1ms" to "1d"'),
        ({"gap": timedelta(microseconds=1)}, "gap", '"1ms" to "1d"'),
        ({"min_usd": -1}, "min_usd", "from 0 on"),
        ({"min_usd": None}, "min_usd", "from 0 on"),
        ({"min_usd": float("inf")}, "min_usd", "from 0 on"),
        ({"symbol": []}, "symbol", "None for everything"),
        ({"symbol": 7}, "symbol", "a coin, a pair or several"),
        ({"symbol": "BTCC"}, "symbol", "BTC"),
        ({"start": NOW + DAY}, "start", "after the newest observation"),
        ({"start": NOW, "end": NOW - 1}, "end", "later instant"),
    ],
)
def test_an_invalid_argument_is_refused_by_name(market, asked, parameter, words):
    with pytest.raises(BadQuery) as refused:
        market.cascades(**asked)
    assert refused.value.parameter == parameter
    assert words in str(refused.value)


@pytest.mark.parametrize("path", ["cascades?", "stream?events=cascades&"])
def test_a_bad_gap_has_the_same_message_over_http(market, path):
    with liqdata.serve(market) as server:
        for gap in ("60", "999", "0", "25h", "soon"):
            with pytest.raises(urllib.error.HTTPError) as answered:
                urllib.request.urlopen(f"{server.url}/api/liquidations/{path}gap={gap}", timeout=30)
            error = json.load(answered.value)["error"]
            assert (answered.value.code, error["parameter"]) == (400, "gap")
            with pytest.raises(BadQuery) as refused:
                market.cascades(gap=gap)
            if gap in ("60", "999"):
                assert str(refused.value) == f"gap: {error['message']}; allowed: {error['allowed']}"
        for gap in ("60ms", "1000", "60s"):
            urllib.request.urlopen(f"{server.url}/api/liquidations/{path}gap={gap}", timeout=30).close()


def test_a_service_takes_a_gap_in_milliseconds(market, connect):
    with liqdata.serve(market) as server:
        for gap in ("60ms", timedelta(milliseconds=999), 1000):
            assert connect(server).cascades(gap=gap, min_usd=0) == market.cascades(gap=gap, min_usd=0)


QUESTIONS = (
    {},
    {"symbol": ["BTC", "ETHUSDT"], "gap": "5m", "min_usd": Decimal("1234.5"), "start": NOW - 9 * DAY},
    {"symbol": "pepe", "gap": timedelta(hours=1), "min_usd": 0, "start": "2026-05-25T12:34:56.789Z", "end": NOW - DAY},
    {"symbol": "SEI"},
)


def test_both_clients_return_the_answers_of_the_archive(archive, connect):
    with liqdata.open(archive) as market, liqdata.serve(market) as server:
        client = connect(server)
        for asked in QUESTIONS:
            found, wanted = client.cascades(**asked), market.cascades(**asked)
            assert found == wanted, asked
            assert found.columns == wanted.columns
            assert found.meta["source"] == server.url
        with pytest.raises(BadQuery, match="after the newest observation"):
            client.cascades(start=NOW + DAY)


def test_cascades_of_a_service_without_them_are_refused_by_name(script, connect):
    nowhere = answer({"success": False}, 404)
    with pytest.raises(BadQuery, match="does not announce cascades") as refused:
        connect(script(nowhere, nowhere)).cascades()
    assert refused.value.parameter == "cascades"
