"""As of an instant a market knows what a market of only the rows received by then knows: coverage, sums, features."""

import random

import pytest
import samples

import liqdata

NOW, MINUTE, HOUR, DAY = samples.NOW, samples.MINUTE, samples.HOUR, samples.DAY


def tables(seed):
    """Orders with quiet hours between them, some received hours late; bars and readings."""
    chance = random.Random(seed)
    orders = samples.orders(70, seed=seed)
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


FEATURES = {"windows": ("1h", "90m"), "within": (0.5, 2)}


@pytest.mark.parametrize("latency", [0, 5 * MINUTE], ids=["none", "five minutes"])
@pytest.mark.parametrize("model", [None, 2], ids=["usual", "exposure"])
def test_features_are_those_of_the_rows_received_by_then(latency, model):
    given = tables(1)
    whole = liqdata.Market(**given)
    chance = random.Random(3)
    times = sorted(chance.randrange(NOW - 20 * HOUR, NOW) for _ in range(12))
    options = {**FEATURES, "latency": latency, "model": model}
    found = whole.features(["BTC", "ETH"], times, **options)
    assert len(found) == 2 * len(times)
    for place, at in enumerate(times):
        then = liqdata.Market(**known(given, at - latency), now=at - latency)
        assert list(found[2 * place : 2 * place + 2]) == list(then.features(["BTC", "ETH"], [at], **options))
        for row in found[2 * place : 2 * place + 2]:
            assert row["known_at"] <= at - latency


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
