"""As of an instant a market knows what a market of only the rows received by then knows: coverage, sums, features."""

import csv
import itertools
import os
import random
from contextlib import closing, nullcontext
from datetime import datetime
from pathlib import Path

import pytest
import samples

import liqdata
from liqdata import _core
from liqdata.market import known_by

NOW, MINUTE, HOUR, DAY = samples.NOW, samples.MINUTE, samples.HOUR, samples.DAY


def tables(seed, count=70):
    """Orders with quiet hours between them, some received hours late; bars and readings."""
    chance = random.Random(seed)
    orders = samples.orders(count, seed=seed)
    keep = [row for row, at in enumerate(orders["timestamp"]) if (at // HOUR) % 5 != seed % 5]
    orders = {name: [cells[row] for row in keep] for name, cells in orders.items()}
    late = (0, 0, 1_500, 40 * MINUTE, 5 * HOUR)
    received = [at + chance.choice(late) for at in orders["timestamp"]]
    return {
        "orders": orders | {"received_at": received},
        "bars": samples.bars(hours=26, seed=seed),
        "open_interest": samples.open_interest(hours=26, seed=seed),
    }


def known(given, at):
    """The rows of tables that were known by an instant."""
    orders, bars, readings = given["orders"], given["bars"], given["open_interest"]

    def rows_until(table, known_at):
        rows = [row for row, one in enumerate(known_at) if one <= at]
        return {name: [cells[row] for row in rows] for name, cells in table.items()}

    closes = [open_ + 5 * MINUTE for open_ in bars["timestamp"]]
    return {
        "orders": rows_until(orders, orders["received_at"]),
        "bars": rows_until(bars, closes),
        "open_interest": rows_until(readings, readings["timestamp"]),
    }


def answers(market, at, **asked):
    """What realised answers say as of an instant, with their coverage."""
    day = {"start": at - 6 * HOUR, "end": at}
    said = [
        market.overview(**asked),
        market.coverage("4h", **asked),
        market.history("BTC", interval="1h", **day, **asked),
        market.history(by=("exchange",), interval="2h", **day, **asked),
        market.history(by=(), interval="1h", **day, **asked),
        market.cascades(min_usd=0, gap="30m", **day, **asked),
    ]
    names = ("covered", "covered_windows", "data_from", "coverage")
    return [(one if isinstance(one, dict) else list(one), [one.meta.get(name) for name in names]) for one in said]


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
@pytest.mark.parametrize("seed", range(4))
def test_realised_answers_as_of_an_instant_are_those_of_the_rows_received_by_then(seed):
    given = tables(seed)
    whole = liqdata.Market(**given)
    chance = random.Random(100 + seed)
    for at in sorted(chance.randrange(NOW - 20 * HOUR, NOW) for _ in range(12)):
        then = liqdata.Market(**known(given, at), now=at)
        assert answers(whole, at, as_of=at) == answers(then, at, as_of=at), at


def test_hours_after_the_last_known_row_are_unknown_and_not_zero():
    rows = [
        {
            "exchange": "binance",
            "symbol": "BTCUSDT",
            "side": "LONG",
            "price": 60_000.0,
            "qty": 1.0,
            "value_usd": 60_000.0,
            "timestamp": NOW + hour * HOUR,
        }
        for hour in (0, 1, 9)
    ]
    whole = liqdata.Market(orders=rows)
    asked = {"interval": "1h", "start": NOW + 3 * HOUR, "end": NOW + 5 * HOUR, "by": ()}
    with pytest.warns(liqdata.NotCovered):
        then = whole.history("BTC", as_of=NOW + 5 * HOUR, **asked)
    assert [(row["total_usd"], row["covered"]) for row in then] == [(None, 0.0)] * 2
    later = whole.history("BTC", **asked)
    assert [(row["total_usd"], row["covered"]) for row in later] == [(0, 1.0)] * 2


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """An archive, in which every row was received when it is written."""
    path = tmp_path_factory.mktemp("known") / "archive"
    samples.archive(path)
    return path


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_lists_of_instants_equal_single_answers_at_every_door(archived):
    given = tables(7)
    times = [NOW - hours * HOUR for hours in (9, 3, 5)]
    simulated = liqdata.demo()
    with liqdata.serve(simulated) as server, liqdata.Client(server.url) as client, liqdata.open(archived) as archive:
        for market in (liqdata.Market(**given), simulated, client, archive):
            start = times[0] - 30 * MINUTE
            asks = (
                lambda at, market=market: market.overview(as_of=at),
                lambda at, market=market: market.coverage("4h", as_of=at),
                lambda at, market=market: market.history("BTC", interval="30m", as_of=at),
                lambda at, market=market, start=start: market.history(by=(), start=start, as_of=at),
                lambda at, market=market: market.cascades("BTC", min_usd=0, as_of=at),
            )
            now = times if market is not archive else [archive.now] * 2
            for ask in asks[: 3 if market is archive else None]:
                found = ask(now)
                alone = [ask(at) for at in now]
                assert list(found) == alone
                assert [one.meta for one in found] == [one.meta for one in alone]


def test_many_answers_are_computed_while_they_are_read():
    market = liqdata.demo()
    times = [NOW - minutes * MINUTE for minutes in range(0, 300, 5)]
    found = market.levels("BTC", as_of=times)
    assert len(found) == len(times)
    assert not isinstance(found, list)
    first = next(iter(found))
    assert first == found[0] == market.levels("BTC", as_of=times[0])
    assert found[-1] == market.levels("BTC", as_of=times[-1])
    assert found[1:3] == [found[1], found[2]]


SOAK = bool(os.environ.get("LIQDATA_SOAK"))
FEATURES = {"windows": ("1h", "90m"), "within": (0.5, 2)}


def moments(seed, few, first, last):
    """Random instants in order: 500 of them in the soak."""
    chance = random.Random(seed)
    return sorted(chance.randrange(first, last) for _ in range(500 if SOAK else few))


def check_known_then(whole, coins, times, then, careful=(), **options):
    """The features of a market are those of a market of the rows that were known by each instant minus the latency.

    ``then`` opens that market. The columns in ``careful`` may be lower.
    """
    options = {**FEATURES, **options}
    latency = options.get("latency", 0)
    found = list(whole.features(coins, times, **options))
    assert [row["at"] for row in found] == [at for at in times for _ in coins]
    for place, at in enumerate(times):
        with then(at - latency) as market:
            wanted = list(market.features(coins, [at], **options))
        for row, known_row in zip(found[place * len(coins) :], wanted, strict=False):  # the first of the rest
            assert row["known_at"] is None or row["known_at"] <= at - latency
            assert all(row[name] <= known_row[name] for name in careful), (row, known_row)
            assert row == known_row | {name: row[name] for name in careful}, at


@pytest.mark.parametrize("latency", [0, 5 * MINUTE], ids=["none", "five minutes"])
@pytest.mark.parametrize("model", [None, 2], ids=["usual", "exposure"])
def test_features_of_tables_are_those_of_the_rows_received_by_then(latency, model):
    given = tables(1)

    def then(at):
        return nullcontext(liqdata.Market(**known(given, at), now=at))

    times = moments(3, 12, NOW - 20 * HOUR, NOW)
    check_known_then(liqdata.Market(**given), ["BTC", "ETH"], times, then, latency=latency, model=model)


def test_with_a_latency_features_are_those_of_that_much_earlier(market):
    times = moments(8, 12, NOW - 20 * DAY, NOW)
    late = market.features("BTC", times, windows=[], latency="5m")
    early = market.features("BTC", [at - 5 * MINUTE for at in times], windows=[])
    for row, earlier in zip(late, early, strict=True):
        ages = ("map_age_s", "oi_age_s")
        assert [round(row[name] - 300, 3) for name in ages] == [earlier[name] for name in ages]
        same = set(row) - {"at", *ages}
        assert {name: row[name] for name in same} == {name: earlier[name] for name in same}


def test_features_of_the_demo_are_those_of_the_rows_received_by_then(market):
    times = moments(9, 3, NOW - 20 * DAY, NOW)
    check_known_then(market, ["BTC", "PEPE"], times, lambda at: nullcontext(known_by(market, at)), latency=5 * MINUTE)


GAPS = {
    "binance": (NOW - 9 * HOUR - 7 * MINUTE, NOW - 8 * HOUR - 3 * MINUTE),
    "okx": (NOW - 5 * HOUR, NOW - 4 * HOUR + 13 * MINUTE),
}
BACKFILL = 40 * MINUTE


def with_gaps():
    """Tables in which orders of gaps were recovered after them, and other orders were late."""
    given = tables(5, 300)
    orders = given["orders"]
    for row, (exchange, at) in enumerate(zip(orders["exchange"], orders["timestamp"], strict=True)):
        start, end = GAPS.get(exchange, (0, 0))
        if start <= at < end:
            orders["received_at"][row] = end + BACKFILL
    return given


def collected(path, given, at):
    """An archive as a collector that knows these tables leaves it at an instant."""
    rows = known(given, at)
    with closing(_core.ArchiveWriter(path)) as writer:
        for exchange in samples.VENUES:
            start, end = GAPS.get(exchange, (at, at + 1))
            writer.run(exchange, "complete", NOW - 26 * HOUR, min(start, at))
            if end <= at:
                writer.run(exchange, "complete", end, at)
                writer.gap(exchange, start, end, "disconnected")
            if end + BACKFILL <= at:
                writer.recovered(exchange, start, end, 1, end + BACKFILL)
        intervals = [5 * MINUTE] * len(rows["bars"]["symbol"])
        writer.append(rows["orders"], rows["bars"] | {"interval": intervals}, rows["open_interest"])
        writer.roll(at)
    return path


def test_features_of_an_archive_are_those_of_an_archive_of_that_time(tmp_path):
    given = with_gaps()
    names = map(str, itertools.count())
    # In the gaps, before their recovery, after it, and at any time.
    fixed = [NOW - 8 * HOUR - 30 * MINUTE, NOW - 8 * HOUR + 20 * MINUTE, NOW - 4 * HOUR, NOW - 2 * HOUR]
    times = sorted([*fixed, *moments(10, 4, NOW - 24 * HOUR, NOW)])
    with liqdata.open(collected(tmp_path / "whole", given, NOW)) as whole:
        check_known_then(
            whole,
            ["BTC", "ETH"],
            times,
            lambda at: liqdata.open(collected(tmp_path / next(names), given, at)),
            latency=5 * MINUTE,
        )
        covered = [row["covered_1h"] for row in whole.features("BTC", fixed)]
    assert covered[0] < 1
    assert covered[1] < 1


def imported(path, given, at):
    """An archive of a file with the orders that were known by an instant."""
    orders = samples.sound(known(given, at)["orders"])
    file = path.with_suffix(".csv")
    with file.open("w", newline="", encoding="utf-8") as text:
        lines = csv.DictWriter(text, list(orders))
        lines.writeheader()
        lines.writerows(samples.rows(orders))
    liqdata.ingest(path, file)
    return path


def test_coverage_of_imported_orders_is_at_most_that_of_the_rows_received_by_then(tmp_path):
    given = with_gaps()
    names = map(str, itertools.count())
    times = moments(11, 4, NOW - 20 * HOUR, NOW)
    with liqdata.open(imported(tmp_path / "whole", given, NOW)) as whole:
        check_known_then(
            whole,
            ["BTC"],
            times,
            lambda at: liqdata.open(imported(tmp_path / next(names), given, at)),
            careful=("covered_1h", "covered_90m"),
            columns=["known_at", "covered_1h", "covered_90m"],
        )


@pytest.fixture(scope="module")
def recorded():
    """Eleven days of recorded BTC bars and open interest, and ETH orders with their times of receipt."""
    folder = os.environ.get("LIQDATA_REAL_DATA")
    if not folder:
        pytest.skip("LIQDATA_REAL_DATA names no folder with recorded data")

    def read(name):
        with (Path(folder) / "market" / name).open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    end = int(datetime.fromisoformat("2026-04-04T00:00Z").timestamp() * 1000)
    bars = [row for row in read("btc_5m_candles_20260324_20260622.csv") if int(row["timestamp"]) < end]
    readings = [row for row in read("btc_oi_5m_20251201_20260611.csv") if end - 12 * DAY <= int(row["t"]) < end]
    orders = read("eth_liq_orders_3ex_sample.csv")
    return {
        "bars": {"symbol": ["BTC"] * len(bars), "timestamp": [int(row["timestamp"]) for row in bars]}
        | {name: [float(row[name]) for row in bars] for name in ("open", "high", "low", "close", "volume")},
        "open_interest": {
            "symbol": ["BTC"] * len(readings),
            "timestamp": [int(row["t"]) for row in readings],
            "open_interest": [float(row["oi"]) for row in readings],
        },
        "orders": {
            "exchange": [row["exchange"] for row in orders],
            "symbol": [row["symbol"] for row in orders],
            "side": [row["side"].upper() for row in orders],
            "price": [row["mark_price"] for row in orders],
            "qty": [row["qty"] for row in orders],
            "value_usd": [float(row["qty"]) * float(row["mark_price"]) for row in orders],
            "timestamp": [int(row["event_ts"]) for row in orders],
            "received_at": [int(row["inserted_ts"]) for row in orders],
        },
    }


def test_features_of_recorded_data_are_those_of_the_rows_received_by_then(recorded):
    received = recorded["orders"]["received_at"]
    times = moments(12, 6, min(received), max(received) + 2 * HOUR)
    times = sorted([*times, *moments(13, 6, recorded["bars"]["timestamp"][600], max(received))])

    def then(at):
        return nullcontext(liqdata.Market(**known(recorded, at), now=at))

    whole = liqdata.Market(**recorded)
    assert any(row["cnt_1h"] for row in whole.features("ETH", times))
    for latency in (0, 5 * MINUTE):
        check_known_then(whole, ["BTC", "ETH"], times, then, latency=latency)


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_features_of_an_archive_are_those_of_single_answers_as_of_each_instant(archived):
    with liqdata.open(archived) as market:
        now = samples.NOW
        times = [now - hours * HOUR for hours in (20, 9, 3, 0)]
        for row, at in zip(market.features("BTC", times, within=[1]), times, strict=True):
            world = market.liqmap("BTC", "7d", opened="ever", as_of=at)
            swept = world.swept(world.current_price * 0.99, world.current_price * 1.01)
            assert (row["price"], row["long_usd_1pct"]) == (world.current_price, swept["long_usd"])
            day = market.history("BTC", by=(), interval="366d", start=at - DAY + 1, end=at + 1, as_of=at)
            assert row["covered_24h"] == pytest.approx(day.meta["covered"])
            assert row["cnt_24h"] == (sum(one["cnt"] or 0 for one in day) if row["covered_24h"] else None)
