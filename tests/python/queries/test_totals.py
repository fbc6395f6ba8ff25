"""Totals, rankings, coverage and the largest orders of periods that are longer than a day, or lie in the past."""

import json
import warnings
from datetime import UTC, datetime
from decimal import Decimal
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import weeks
from samples import DAY, HOUR, NOW
from scripted import answer

import liqdata
from liqdata import BadQuery, Client

LENGTHS = {"3d": 3 * DAY, "7d": 7 * DAY, "1M": 30 * DAY, "3M": 90 * DAY, "6M": 180 * DAY, "1y": 365 * DAY}
RANKED = ("coins", "exchanges", "largest", "coverage")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with liqdata.open(weeks.write(tmp_path_factory.mktemp("totals") / "archive")) as market:
        yield market


@pytest.fixture(scope="module")
def tables():
    return liqdata.Market(weeks.orders())


def same(one, other):
    """Whether two answers have the same rows, of which equal ones may be in any order."""
    return sorted(tuple(row.values()) for row in one) == sorted(tuple(row.values()) for row in other)


@pytest.mark.parametrize("as_of", [None, NOW - 7 * DAY])
@pytest.mark.parametrize("name", LENGTHS)
def test_an_archive_sums_its_files_as_a_table_sums_its_rows(archive, tables, name, as_of):
    # The rows of an ingest are known when they are received, those of a table at their event.
    past = {} if as_of is None else {"as_of": as_of}
    counted = {row["exchange"]: row["cnt"] for row in archive.coverage(name, **past)}
    known = archive if past else tables
    assert archive.coins(name, **past) == known.coins(name, **past)
    assert archive.exchanges(name, **past) == known.exchanges(name, **past)
    assert archive.overview(range=name, **past) == known.overview(range=name, **past)
    assert same(archive.largest(name, 1000, **past), known.largest(name, 1000, **past))
    for row in archive.exchanges(name, **past):
        assert counted[row["exchange"]] == row["cnt"]
    total = archive.overview(range=name, **past)[name]
    assert total["cnt"] == sum(row["cnt"] for row in archive.coins(name, 200, **past))


@pytest.mark.parametrize("source", ["archive", "tables"])
def test_totals_of_any_period_are_those_of_history(source, request):
    market = request.getfixturevalue(source)
    period = {"start": NOW - 12 * DAY - 7 * HOUR, "end": NOW - 5 * DAY}
    wanted = {}
    for row in market.history(by="coin", interval="1d", sparse=True, **period):
        wanted[row["coin"]] = wanted.get(row["coin"], 0) + row["total_usd"]
    assert {row["coin"]: row["total_usd"] for row in market.coins(limit=200, **period)} == {
        coin: float(usd) for coin, usd in wanted.items()
    }
    exchanges = market.exchanges(**period)
    assert sum(row["total_usd"] for row in exchanges) == sum(wanted.values())
    assert market.overview(**period)["period"]["total_usd"] == float(sum(wanted.values()))
    orders = market.orders(limit=1000, **period)
    assert [row["value_usd"] for row in market.largest(limit=1000, **period)] == sorted(
        (row["value_usd"] for row in orders), reverse=True
    )


def test_a_range_of_a_day_is_the_window_however_it_is_asked(archive):
    day = {"start": NOW - DAY + 1, "end": NOW + 1}
    assert archive.coins("24h") == archive.coins(**day)
    assert archive.exchanges("24h") == archive.exchanges(**day)
    assert archive.largest("24h") == archive.largest(**day)
    assert archive.overview(**day)["period"] == archive.overview()["24h"]
    assert list(archive.overview(range="24h")) == ["1h", "4h", "12h", "24h"]


def test_totals_say_how_much_of_their_period_is_covered(archive):
    month = archive.overview(range="1M")
    assert month.meta["covered"] == month.meta["covered_windows"]["1M"] < 1
    assert month.meta["covered_windows"]["24h"] == archive.overview().meta["covered_windows"]["24h"]
    assert archive.coins("1M").meta["covered"] == month.meta["covered"]
    assert archive.coins("3d").meta["covered"] > 0.98
    shares = [row["connected_share"] for row in archive.coverage("1M") if row["completeness"] != "unknown"]
    assert shares == pytest.approx([21 / 30] * len(shares), abs=0.01)
    assert [row["connected_share"] for row in month.meta["coverage"]] == [
        row["connected_share"] for row in archive.coverage("1M")
    ]
    before = {"start": NOW - 60 * DAY, "end": NOW - 50 * DAY}
    for ask in (archive.coins, archive.exchanges, archive.largest, archive.overview):
        with pytest.warns(liqdata.NotCovered, match="no part of the period is covered"):
            assert ask(**before).meta["covered"] == 0
    assert all(row["connected_share"] == 0 for row in archive.coverage(**before))


def test_coverage_follows_its_period(archive):
    gap = {"start": NOW - 9 * DAY, "end": NOW - 9 * DAY + 2 * HOUR}
    rows = {row["exchange"]: row for row in archive.coverage(**gap)}
    assert (rows["bybit"]["connected_share"], rows["bybit"]["gaps"]) == (0.5, 1)
    assert (rows["okx"]["connected_share"], rows["okx"]["gaps"]) == (1.0, 0)
    assert rows["bybit"]["open_interest_outliers"] is None
    week = {row["exchange"]: row["gaps"] for row in archive.coverage("7d")}
    month = {row["exchange"]: row["gaps"] for row in archive.coverage("1M")}
    assert (week["okx"], week["bybit"], month["bybit"]) == (1, 0, 1)


def test_the_simulated_market_has_longer_windows_too(market):
    week, month = market.overview(range="7d"), market.overview(range="1M")
    assert month["24h"]["total_usd"] < week["7d"]["total_usd"] < month["1M"]["total_usd"]
    assert week["7d"] == week["1w"]
    assert sum(row["cnt"] for row in market.coins("7d", 200)) == week["7d"]["cnt"]
    shares = {row["exchange"]: row["connected_share"] for row in market.coverage("7d")}
    assert shares["okx"] == pytest.approx(1 - 0.75 / (7 * 24))
    assert shares["bybit"] == 1
    frame = week.to_pandas()
    assert frame["7d_total_usd"][0] == week["7d"]["total_usd"]
    assert "7d" in repr(week)


@pytest.mark.parametrize("ask", RANKED)
def test_wrong_periods_are_refused_by_name(market, server, connect, ask):
    client = connect(server)
    for source in (market, client):
        call = getattr(source, ask)
        for asked, parameter, said in (
            ({"range": "2d"}, "range", r"\"2d\" is not allowed; allowed: \"1h\".*\"1y\""),
            ({"range": "7d", "start": NOW - DAY}, "range", r"\"7d\" is given together with start = .*either range, or"),
            ({"range": "7d", "end": NOW}, "range", "together with end"),
            ({"start": NOW, "end": NOW - DAY}, "end", "is not after the start"),
            ({"start": NOW, "end": NOW}, "end", "is not after the start"),
            ({"start": "soon"}, "start", "soon"),
        ):
            with pytest.raises(BadQuery, match=said) as caught:
                call(**asked)
            assert caught.value.parameter == parameter, asked
    with pytest.raises(BadQuery, match="is after the newest observation") as caught:
        getattr(market, ask)(start="2030-01-01")
    assert caught.value.parameter == "start"


def test_the_service_refuses_a_range_together_with_a_start_but_for_the_default(server):
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{server.url}/api/liquidations/coins?range=4h&start={NOW - DAY}")
    with caught.value as refused:
        assert refused.code == 400
        assert json.load(refused)["error"]["parameter"] == "range"
    # Generated clients send every default.
    with urlopen(f"{server.url}/api/liquidations/coins?range=24h&start={NOW - DAY}&limit=2") as reply:
        given = reply.read()
    with urlopen(f"{server.url}/api/liquidations/coins?start={NOW - DAY}&limit=2") as reply:
        assert reply.read() == given


def test_the_contracts_windows_are_asked_in_its_words(script):
    service = script(answer({"success": True, "data": []}))
    with Client(service.url) as client, warnings.catch_warnings(action="ignore"):
        client.coins()
        client.largest("1d", 5)
        client.exchanges("12h")
    asked = [request.target for request in service.requests]
    assert asked[0].endswith("/api/liquidations/coins?range=24h&limit=30")
    assert asked[1].endswith("/api/liquidations/largest?range=24h&limit=5")
    assert asked[2].endswith("/api/liquidations/exchanges?range=12h")


@pytest.mark.parametrize("exchange", ["binance", "okx"])
def test_levels_and_max_pain_of_an_exchange_are_those_of_its_own_map(market, exchange):
    week = market.liqmap("BTC", "7d", exchange=exchange, span="all")
    pain = market.maxpain("BTC", exchange=exchange, headline="strongest")
    levels = market.levels("BTC", exchange=exchange, headline="strongest")
    assert pain.meta["explain"]["exchange"] == levels.meta["explain"]["exchange"] == exchange
    shown = market.liqmap("BTC", "7d", exchange=exchange)
    assert pain["d7"]["totalLong"] == pytest.approx(shown.total[shown.sides == "long"].sum())
    longs = week.sides == "long"
    assert pain["d7"]["long"]["price"] == week.prices[longs][week.total[longs].argmax()]
    everywhere = market.maxpain("BTC", headline="strongest")
    assert pain["d7"]["totalLong"] < everywhere["d7"]["totalLong"]


def test_an_exchange_is_refused_as_by_liqmap(market):
    for unknown in ("bnance", "deribit", "kraken"):
        with pytest.raises((BadQuery, liqdata.NoAnswer, liqdata.Refused)) as wanted:
            market.liqmap("BTC", "7d", exchange=unknown)
        for ask in (market.levels, market.maxpain):
            with pytest.raises(type(wanted.value)) as caught:
                ask("BTC", exchange=unknown)
            assert str(caught.value) == str(wanted.value)


def test_the_current_price_of_a_map_has_its_instant(market, server):
    last = market.bars("BTC")[-1]
    at = datetime.fromtimestamp(last["closes_at"] / 1000, UTC)
    with Client(server.url) as client:
        for source in (market, client):
            for map in (source.liqmap("BTC"), source.liqmap("BTC", source="positions"), source.heatmap("BTC")):
                assert (map.meta["price_at"], map.current_price) == (at, last["close"])
            for record in (source.levels("BTC"), source.maxpain("BTC")):
                assert (record.meta["price_at"], record["price"]) == (at, last["close"])
    with urlopen(f"{server.url}/api/liq-map?symbol=BTC") as reply:
        assert json.load(reply)["priceAt"] == last["closes_at"]


def test_a_running_bar_is_made_of_the_newest_bars(market):
    at = "2026-05-31T12:34:56Z"
    *closed, running = market.bars("BTC", start="2026-05-31T10:00Z", interval="1h", running=True, as_of=at)
    assert closed == list(market.bars("BTC", start="2026-05-31T10:00Z", interval="1h", as_of=at))
    minutes = market.bars("BTC", start="2026-05-31T12:00Z", as_of=at)
    assert running["timestamp"] == minutes[0]["timestamp"]
    assert running["closes_at"] == minutes[-1]["closes_at"] < running["timestamp"] + running["interval"]
    assert (running["open"], running["close"]) == (minutes[0]["open"], minutes[-1]["close"])
    assert running["high"] == max(bar["high"] for bar in minutes)
    assert running["volume"] == pytest.approx(sum(bar["volume"] for bar in minutes))
    for other in ({"end": "2026-05-31T12:00Z"}, {"interval": None}):
        asked = {"start": "2026-05-31T10:00Z", "interval": "1h", "as_of": at, **other}
        assert market.bars("BTC", running=True, **asked) == market.bars("BTC", **asked)


def test_a_period_that_has_just_ended_has_no_running_bar(market):
    asked = {"start": "2026-05-31T10:00Z", "interval": "1h", "as_of": "2026-05-31T12:00:30Z"}
    assert market.bars("BTC", running=True, **asked) == market.bars("BTC", **asked)


def test_the_simulated_market_publishes_a_part_of_its_positions(market):
    true = {(row["side"], row["leverage"], row["entry_price"]) for row in market.true_positions("BTC")}
    seen = market.positions("BTC")
    assert {row["exchange"] for row in seen} == {"bitget"}
    assert seen.meta["simulated"]
    assert 0 < len(seen) < len(true)
    assert all((row["side"], row["leverage"], float(row["entry_price"])) in true for row in seen)
    assert 0.05 < seen.meta["seen_share"] < 0.25
    map = market.liqmap("BTC", source="positions")
    assert map.view == "measured"
    assert map.simulated
    assert map.meta["seen_share"] == seen.meta["seen_share"]
    assert sum(row["value_usd"] for row in seen) > Decimal(1_000_000)
    with pytest.raises(liqdata.Refused, match="there are no positions"):
        market.liqmap("BTC", source="positions", as_of="2026-05-20")
