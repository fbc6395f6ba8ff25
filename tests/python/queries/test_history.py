"""Liquidations over time, compared with a plain grouping of the same orders, over tables and an archive."""

import itertools
import random
import warnings
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import samples
from samples import DAY, HOUR, MINUTE, NOW
from scripted import answer, hang_up

import liqdata
from liqdata import BadQuery, NoAnswer, Refused, _core

COINS = {"BTCUSDT": "BTC", "ETHUSDT": "ETH", "1000PEPEUSDT": "PEPE", "BTCUSD": "BTC"}
GROUPS = ("coin", "symbol", "exchange", "side")


def many(days, seed=3):
    """Orders of several days, of all hours, a few at the very edges of periods."""
    chance = random.Random(seed)
    count = 150 * days
    at = [NOW - chance.randrange(days * DAY) for _ in range(count)] + [NOW, NOW - HOUR, NOW - HOUR - 1, NOW - DAY]
    rows = [
        {
            "exchange": chance.choice(samples.VENUES),
            "symbol": chance.choice(samples.PAIRS),
            "side": chance.choice(("LONG", "SHORT")),
            "price": Decimal(chance.randint(1, 999_999)) / 100,
            "qty": Decimal(chance.randint(1, 99_999)) / 1000,
            "value_usd": Decimal(chance.randint(1, 999_999)) / 10,
            "timestamp": when,
        }
        for when in at
    ]
    return samples.columns(rows)


@pytest.fixture(scope="module")
def orders():
    return samples.sound(many(9))


@pytest.fixture(scope="module")
def archive(orders, tmp_path_factory):
    """The same orders, all but the last days in files, with what was listened to."""
    path = tmp_path_factory.mktemp("history") / "archive"
    writer = _core.ArchiveWriter(path)
    writer.append(orders, None, None)
    for venue in samples.VENUES:
        writer.run(venue, "complete", NOW - 9 * DAY, NOW + 1)
    writer.gap("okx", NOW - 90 * MINUTE, NOW - 60 * MINUTE, "a test")
    writer.roll(NOW - 2 * DAY)
    writer.close()
    return path


@pytest.fixture(params=["tables", "archive"])
def market(request, orders, archive):
    if request.param == "tables":
        yield liqdata.Market(orders, now=NOW)
        return
    with liqdata.open(archive) as opened:
        yield opened


def plainly(orders, by, interval, period, wanted):
    """The expected history, by a plain loop."""
    groups = defaultdict(list)
    start, end = period
    for row in samples.rows(orders):
        row["coin"] = COINS[row["symbol"]]
        if start <= row["timestamp"] < end and wanted(row):
            key = (row["timestamp"] // interval * interval, *(row[name] for name in by))
            groups[key].append(row)
    made = []
    for key, rows in groups.items():
        long, short = (sum((r["value_usd"] for r in rows if r["side"] == s), Decimal(0)) for s in ("LONG", "SHORT"))
        made.append(
            dict(zip(("timestamp", *by), key, strict=True))
            | {"long_usd": long, "short_usd": short, "total_usd": long + short, "cnt": len(rows)}
            | {"largest_usd": max(r["value_usd"] for r in rows)}
        )
    return sorted(made, key=lambda row: tuple(row[name] for name in ("timestamp", *(n for n in GROUPS if n in by))))


def without(rows):
    return [{name: cell for name, cell in row.items() if name != "covered"} for row in rows]


def dense(sums, by, interval, period, coins=()):
    """The same rows with every period of each group and of the wanted coins: zeros, as all of the time is covered."""
    zero = {"long_usd": 0, "short_usd": 0, "total_usd": 0, "cnt": 0, "largest_usd": 0}
    start, end = period
    groups = {tuple(row[name] for name in by) for row in sums} or ({()} if not by else set())
    if tuple(by) == ("coin",):
        groups |= {(coin,) for coin in coins}
    rows = {(at, *group): zero for at in range(start // interval * interval, end, interval) for group in groups}
    for row in sums:
        key = (row["timestamp"], *(row[name] for name in by))
        rows[key] = {name: row[name] for name in zero}
    made = [dict(zip(("timestamp", *by), key, strict=True)) | row for key, row in rows.items()]
    return sorted(made, key=lambda row: tuple(row[name] for name in ("timestamp", *(n for n in GROUPS if n in by))))


def test_a_history_is_the_plain_grouping_of_its_orders(market, orders):
    chance = random.Random(11)
    subsets = [by for size in range(5) for by in itertools.permutations(GROUPS, size)]
    for _ in range(60):
        by = chance.choice(subsets)
        interval = chance.choice((MINUTE, 5 * MINUTE, 7 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 25 * HOUR, DAY, 3 * DAY))
        start = NOW - chance.randrange(1, 9 * DAY - HOUR)
        end = chance.choice((None, chance.randrange(start + 1, NOW + 2)))
        exchange = chance.choice((None, "okx", "OKX", "bybit"))
        least = chance.choice((None, 5000, Decimal("50000.5"), 99_999.9))
        symbol = chance.choice((None, "BTC", "pepe", "BTCUSDT", "btcusd"))
        if {"coin", "symbol"} & set(by):
            symbol = chance.choice((symbol, ["BTC", "ETHUSDT"], ("ETH", "PEPE")))
        named = {str(one).upper() for one in ([symbol] if isinstance(symbol, str) else symbol or [])}

        def wanted(row, named=named, exchange=exchange, least=least):
            return (
                (not named or row["coin"] in named or row["symbol"] in named)
                and (exchange is None or row["exchange"] == exchange.lower())
                and (least is None or row["value_usd"] >= Decimal(str(least)))
            )

        asked = {"interval": interval, "by": by, "start": start, "end": end, "exchange": exchange, "min_usd": least}
        found = market.history(symbol, sparse=True, **asked)
        sums = ["long_usd", "short_usd", "total_usd", "cnt", "largest_usd", "covered"]
        assert found.columns == ["timestamp", *by, *sums], asked
        last = NOW + 1 if end is None else end
        sums_of_orders = plainly(orders, by, interval, (start, last), wanted)
        assert without(found) == sums_of_orders, (symbol, asked)
        if interval >= HOUR:
            whole = market.history(symbol, **asked)
            assert {row["cnt"] is None for row in whole if row["covered"]} <= {False}
            known = [row for row in whole if row["cnt"] is not None]
            coins = {COINS.get(name, name) for name in named}
            assert without(known) == dense(sums_of_orders, by, interval, (start, last), coins), (symbol, asked)


@pytest.mark.parametrize("interval", [7, 120, 180, 11 * 60, 25 * 60])
def test_periods_that_do_not_nest_sum_their_minutes_to_the_edges(market, interval):
    chance = random.Random(interval)
    sums = ("long_usd", "short_usd", "total_usd", "cnt")
    for _ in range(3):
        start = NOW - chance.randrange(DAY, 8 * DAY)
        asked = {"by": ("exchange", "side"), "start": start, "end": start + chance.randrange(1, 3 * DAY)}
        wanted = defaultdict(lambda: [Decimal(0)] * (len(sums) + 1))
        for row in market.history(interval="1m", sparse=True, **asked):
            whole = wanted[row["timestamp"] // (interval * MINUTE) * interval * MINUTE, row["exchange"], row["side"]]
            whole[: len(sums)] = [total + row[name] for total, name in zip(whole, sums, strict=False)]
            whole[-1] = max(whole[-1], row["largest_usd"])
        rows = market.history(interval=interval * MINUTE, sparse=True, **asked)
        found = {
            (row["timestamp"], row["exchange"], row["side"]): [row[name] for name in (*sums, "largest_usd")]
            for row in rows
        }
        assert found == wanted


def test_a_history_sums_to_the_totals_of_the_windows(market):
    day = market.history(by=(), interval="1d", start=NOW - DAY + 1)
    overview = market.overview()["24h"]
    assert sum(row["cnt"] for row in day) == overview["cnt"]
    assert float(sum(row["total_usd"] for row in day)) == pytest.approx(overview["total_usd"], rel=1e-12)
    by_venue = market.history(by="exchange", interval="366d", start=NOW - DAY + 1)
    totals = defaultdict(Decimal)
    for row in by_venue:
        totals[row["exchange"]] += row["total_usd"]
    assert totals == {row["exchange"]: row["total_usd"] for row in market.exchanges("24h")}


def test_a_history_defaults_to_the_last_day_by_hour_and_coin(market):
    rows = market.history()
    assert rows.columns[:2] == ["timestamp", "coin"]
    assert {row["timestamp"] % HOUR for row in rows} == {0}
    assert rows[0]["timestamp"] == NOW - DAY
    assert rows[-1]["timestamp"] == NOW, "now itself is included"
    assert market.history(interval=timedelta(hours=1)) == rows == market.history(interval=HOUR)
    assert str(rows.to_pandas()["timestamp"].dtype) == "datetime64[ms, UTC]"


def test_the_covered_share_follows_the_recorded_sessions(orders, archive):
    assert {row["covered"] for row in liqdata.Market(orders, now=NOW).history()} == {1.0}
    # One of five exchanges is missing for three quarters of an hour.
    assert {row["covered"] for row in samples.simulated().history()} == {0.85, 1.0}
    with liqdata.open(archive) as market:
        found = {(row["timestamp"], row["exchange"]): row["covered"] for row in market.history(by="exchange")}
        assert found[NOW - 2 * HOUR, "okx"] == pytest.approx(0.5)
        others = [share for key, share in found.items() if key != (NOW - 2 * HOUR, "okx")]
        assert others == pytest.approx([1.0] * len(others))
        (total,) = (row for row in market.history(by=()) if row["timestamp"] == NOW - 2 * HOUR)
        assert total["covered"] == pytest.approx((1 + 1 + 0.5) / 3)
        # Of a period that was asked about in part, that part counts.
        row = market.history(by="exchange", exchange="okx", start=NOW - 3 * HOUR, end=NOW - HOUR, interval="1d")[0]
        assert row["covered"] == pytest.approx(0.75)


def test_several_may_be_named_in_one_text_as_on_a_command_line(market):
    wanted = market.history(["BTC", "ETHUSDT"], by=("coin", "side"), min_usd=Decimal("9.5"))
    assert market.history("btc,ETHUSDT", by="coin,side", min_usd="9.50") == wanted
    assert market.history(by="none") == market.history(by=())


def test_an_archive_as_of_an_instant_uses_no_later_rows(archive):
    at = NOW - 3 * DAY
    with liqdata.open(archive, as_of=at) as market:
        rows = market.history(by=(), start=NOW - 9 * DAY)
        assert market.history() == market.history(start=at - DAY)
        assert all(row["timestamp"] <= at for row in rows)
    with liqdata.open(archive) as now:
        assert now.history(by=(), start=NOW - 9 * DAY, as_of=at) == rows


def test_late_orders_do_not_change_earlier_coverage(tmp_path):
    """Whatever time they are of: before, within and after what was known then, and of another exchange."""
    folder, begun = tmp_path / "archive", NOW - NOW % DAY - 3 * DAY

    def bring(minutes, late, exchange="okx"):
        order = {"exchange": exchange, "symbol": "BTCUSDT", "side": "LONG", "price": 100, "qty": 1}
        rows = [{**order, "timestamp": begun + minute * MINUTE} for minute in minutes]
        times = [{**row, "received_at": row["timestamp"] + late} for row in rows]
        liqdata.ingest(folder, orders=samples.columns(times))

    def known(at):
        market = liqdata.open(folder)
        with warnings.catch_warnings():
            # Half an hour after the first order, nothing is known to be covered yet.
            warnings.simplefilter("ignore", liqdata.NotCovered)
            history = market.history(by=(), interval="1h", start=begun - DAY, end=begun + DAY, as_of=at)
        undercount = market.undercount(as_of=at)
        return [dict(row) for row in (*history, *market.coverage(as_of=at), *market.gaps(as_of=at), *undercount)]

    bring(range(0, 300, 7), 400)
    instants = [begun + minutes * MINUTE for minutes in (31, 119, 180, 299, 301, 700)]
    before = [known(at) for at in instants]
    # The hour of the first order is a day after the start of the range.
    assert before[2][24]["covered"] == 1.0
    for minutes, late, exchange in [
        (range(-600, -300, 9), DAY, "okx"),
        (range(3, 300, 10), DAY, "okx"),
        (range(0, 900, 7), DAY, "okx"),
        (range(701, 990, 9), 0, "okx"),
        (range(-60, 990, 9), DAY, "bybit"),
    ]:
        bring(minutes, late, exchange)
        assert [known(at) for at in instants] == before
    later = {row["exchange"]: row["connected_share"] for row in liqdata.open(folder).coverage(as_of=begun + 3 * DAY)}
    assert later.keys() == {"okx", "bybit"}


@pytest.mark.parametrize(
    "asked,parameter,words",
    [
        ({"interval": "90s"}, "interval", "whole minutes"),
        ({"interval": 0}, "interval", "whole minutes"),
        ({"interval": "367d"}, "interval", "whole minutes"),
        ({"by": "venue"}, "by", "'exchange'"),
        ({"by": ("coin", "coin")}, "by", "one of"),
        ({"by": None}, "by", "or none (in Python ()) for totals"),
        ({"symbol": ["BTC", "ETH"], "by": "side"}, "by", "does not show which of the 2 symbols"),
        ({"symbol": []}, "symbol", "None for everything"),
        ({"symbol": [1]}, "symbol", "such as BTC"),
        ({"symbol": " "}, "symbol", "such as BTC"),
        ({"symbol": 7}, "symbol", "a coin, a pair or several"),
        ({"exchange": ""}, "exchange", 'such as "binance"'),
        ({"min_usd": -1}, "min_usd", "from 0 on"),
        ({"min_usd": float("nan")}, "min_usd", "from 0 on"),
        ({"min_usd": "many"}, "min_usd", "from 0 on"),
        ({"start": NOW + DAY}, "start", "after the newest observation"),
        ({"start": NOW, "end": NOW - 1}, "end", "later instant"),
    ],
)
def test_an_invalid_argument_is_refused_by_name(market, asked, parameter, words):
    with pytest.raises(BadQuery) as refused:
        market.history(**asked)
    assert refused.value.parameter == parameter
    assert words in str(refused.value)


def test_no_orders_are_no_rows_of_the_same_columns():
    with pytest.warns(liqdata.NotCovered):
        rows = liqdata.Market().history("BTC", by=("side", "exchange"))
    assert len(rows) == 0
    assert rows.columns[:3] == ["timestamp", "side", "exchange"]
    assert rows.to_polars().shape == (0, 9)


def few(at):
    """Orders of one USD each at these instants."""
    count = len(at)
    columns = {"exchange": ["okx"], "symbol": ["BTCUSDT"], "side": ["LONG"], "price": [1.0], "qty": [1.0]}
    return {name: cells * count for name, cells in columns.items()} | {"value_usd": [1.0] * count, "timestamp": at}


@pytest.fixture(params=["tables", "archive", "client"])
def known_in_part(request, tmp_path):
    """A market that was covered for four hours, and has an order from before."""
    start = NOW - 6 * HOUR
    if request.param == "tables":  # a table is covered between its first and its last row
        table = few([start + 90 * MINUTE, start + 210 * MINUTE, start + 4 * HOUR])
        yield liqdata.Market(table, samples.bars(("BTC",)), now=NOW), {1: 0.5, 2: 1.0, 3: 1.0, 4: 1 / HOUR}, None
        return
    writer = _core.ArchiveWriter(tmp_path / "part")
    writer.append(few([start + 5 * MINUTE, start + 210 * MINUTE, NOW]), samples.bars(("BTC",)), None)
    writer.run("okx", "complete", start + 90 * MINUTE, start + 4 * HOUR)
    writer.close()
    with liqdata.open(tmp_path / "part") as market:
        shares = {1: 0.5, 2: 1.0, 3: 1.0}
        if request.param == "archive":
            yield market, shares, start + 5 * MINUTE
            return
        with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
            yield client, shares, start + 5 * MINUTE


def test_unknown_is_not_zero(known_in_part):
    market, shares, earlier = known_in_part
    start = NOW - 6 * HOUR
    rows = market.history(by=(), interval="1H", start=start, end=NOW)
    assert [row["timestamp"] for row in rows] == [start + hour * HOUR for hour in range(6)]
    assert [row["covered"] for row in rows] == pytest.approx([shares.get(hour, 0.0) for hour in range(6)])
    counts = [row["cnt"] for row in rows]
    if earlier is None:
        assert counts == [None, 1, 0, 1, 1, None]
    else:  # a known order counts without a session
        assert counts == [1, 0, 0, 1, None, None]
    for row in rows:
        unknown = [row[name] is None for name in ("long_usd", "short_usd", "total_usd", "cnt", "largest_usd")]
        assert set(unknown) == {row["cnt"] is None}
    frame = rows.to_pandas()
    assert frame["cnt"].isna().tolist() == frame["total_usd"].isna().tolist() == [cnt is None for cnt in counts]
    assert rows.to_polars()["total_usd"].null_count() == counts.count(None)
    assert 0 < rows.meta["covered"] < 1
    assert market.history(by=(), interval="1h", start=start, end=NOW, sparse=True) == [
        row for row in rows if row["cnt"]
    ]
    assert rows.meta["data_from"] < datetime.fromtimestamp((start + 2 * HOUR) / 1000, UTC)


def test_a_period_without_any_coverage_warns_once_at_the_calling_line(known_in_part):
    market, _, _ = known_in_part
    with warnings.catch_warnings(record=True, action="default") as seen:
        for _ in range(3):
            rows = market.history(start=NOW - 30 * HOUR, end=NOW - 25 * HOUR)
    (warning,) = [one for one in seen if issubclass(one.category, liqdata.NotCovered)]
    assert (Path(warning.filename).name, rows.meta["covered"], len(rows)) == ("test_history.py", 0.0, 0)
    assert "its orders begin at 2026-05-31T" in str(warning.message)
    with pytest.warns(liqdata.NotCovered, match="history: no part of the period is covered"):
        totals = market.history(by=(), start=NOW - 30 * HOUR, end=NOW - 25 * HOUR)
    assert {row["cnt"] for row in totals} == {None}
    assert market.overview().meta["covered"] > 0  # in part
    assert market.overview().meta["covered_windows"]["1h"] == 0


@pytest.mark.parametrize("bound", ["-4h", "-240min", "-14400000ms", timedelta(hours=4), timedelta(hours=-4)])
def test_a_bound_may_be_a_time_before_now(market, bound):
    wanted = market.history(start=NOW - 4 * HOUR)
    assert market.history(start=bound) == wanted
    assert market.orders(start=bound) == market.orders(start=NOW - 4 * HOUR)
    assert list(market.iter_orders(end=bound, max_rows=5)) == list(market.iter_orders(end=NOW - 4 * HOUR, max_rows=5))
    earlier = NOW - 2 * DAY
    assert market.history(start=bound, as_of=earlier) == market.history(start=earlier - 4 * HOUR, as_of=earlier)
    assert [row["timestamp"] for row in market.history(by=(), start="-7d", end="-6d", interval="1D")] == [NOW - 7 * DAY]
    with pytest.raises(BadQuery, match="is not after the start") as refused:
        market.history(start=bound, end="-1d")
    assert refused.value.parameter == "end"


def test_periods_have_the_names_of_pandas_too(market):
    for spelled in ("5min", "5T", timedelta(minutes=5), np.timedelta64(5, "m"), pd.Timedelta("5min")):
        assert market.history(interval=spelled, start="-2h") == market.history(interval="5m", start="-2h")
    assert market.history(interval="1H") == market.history(interval="1h")


def test_more_than_two_million_rows_are_refused_with_their_number(market):
    with pytest.raises(BadQuery, match=r"there would be 5261761 rows, and 2000000 are the most.*or sparse") as refused:
        market.history(by=(), interval="1m", start="2016-05-29", end="2026-05-31T00:01Z")
    assert refused.value.parameter == "interval"
    with pytest.raises(BadQuery, match="rows, and 2000000 are the most"):
        market.history(by=GROUPS, interval="1m", start=NOW - 365 * DAY)
    assert market.history(by=GROUPS, interval="1m", start=NOW - 365 * DAY, sparse=True)


def test_an_instant_before_all_data_is_refused_with_the_first(market):
    first = market.history(by=(), start=NOW - 20 * DAY, sparse=True)[0]["timestamp"]
    for ask in (market.history, market.overview, market.coins, market.maxpain):
        with pytest.raises(BadQuery, match="the first observation is of 2026-05-2") as refused:
            ask(as_of="2026-05-20")
        assert refused.value.parameter == "as_of"
    assert market.history(as_of=first + HOUR)


# Over a socket.


QUESTIONS = (
    {},
    {"by": (), "interval": "1d", "start": NOW - 9 * DAY},
    {"by": ("side", "exchange"), "interval": "5m", "start": NOW - 2 * DAY, "end": NOW - DAY},
    {"symbol": ["BTC", "ETHUSDT"], "by": "symbol", "min_usd": Decimal("1234.5"), "start": "2026-05-25T12:34:56.789Z"},
    {"symbol": "PEPE", "exchange": "OKX", "interval": timedelta(hours=6)},
    {"symbol": "SEI"},
)


def test_both_clients_return_the_answers_of_the_archive(archive, connect):
    with liqdata.open(archive) as market, liqdata.serve(market) as server:
        client = connect(server)
        for asked in QUESTIONS:
            found, wanted = client.history(**asked), market.history(**asked)
            assert found == wanted, asked
            assert found.columns == wanted.columns
            assert found.meta["source"] == server.url


def test_a_service_says_why_it_refuses(archive, connect):
    with liqdata.open(archive) as market, liqdata.serve(market) as server, pytest.raises(BadQuery) as refused:
        connect(server).history(start=NOW + DAY)
    assert refused.value.parameter == "start"
    assert "after the newest observation" in str(refused.value)


NOWHERE = answer({"success": False}, 404)


@pytest.mark.parametrize(
    "page,index",
    [
        (NOWHERE, NOWHERE),
        (NOWHERE, answer({"success": True, "extensions": [{"name": "stream"}]})),
        (answer(b"<html>", content_type="text/html"), answer(b"<html>", content_type="text/html")),
        (answer({}, 400), answer({})),
    ],
    ids=["neither", "others", "pages of HTML", "a refusal"],
)
def test_history_of_a_service_without_it_is_refused_by_name(script, connect, page, index):
    service = script(page, index)
    with pytest.raises(BadQuery, match="does not announce history") as refused:
        connect(service).history()
    assert refused.value.parameter == "history"
    assert [request.path for request in service.requests] == ["/api/liquidations/history", "/api"]


def test_a_failure_to_read_the_list_is_raised(script, connect):
    with pytest.raises(Refused) as refused:
        connect(script(NOWHERE, answer({}, 401))).history()
    assert refused.value.status == 401
    with pytest.raises(NoAnswer):
        connect(script(NOWHERE, hang_up), retries=0).history()
    announced = answer({"extensions": [{"name": "history"}]})
    with pytest.raises(Refused) as refused:
        connect(script(NOWHERE, announced)).history()
    assert refused.value.status == 404
    for status in (401, 500):
        service = script(answer({}, status))
        with pytest.raises((Refused, NoAnswer)):
            connect(service, retries=0).history()
        assert len(service.requests) == 1


def test_a_coin_that_is_asked_for_has_its_rows_without_orders(market):
    quiet = NOW - 3 * DAY
    for hours in (1, 2):
        rows = market.history("WIF", interval="1h", start=quiet, end=quiet + hours * HOUR)
        assert [row["coin"] for row in rows] == ["WIF"] * hours
        assert market.history("WIF", interval="1h", start=quiet, end=quiet + hours * HOUR, sparse=True) == []
    with pytest.raises(liqdata.BadQuery, match="WIFF"):
        market.history("WIFF", interval="1h", start=quiet, end=quiet + HOUR)


def test_a_history_without_a_start_says_what_it_took(market):
    rows = market.history(by=(), interval="12h")
    assert rows.meta["range"] == (market.now - timedelta(days=1), market.now)
    assert f"last 24 hours, {market.now - timedelta(days=1):%Y-%m-%d %H:%M}" in repr(rows)
    assert "last 24 hours" in str(rows)
    assert "range" not in market.history(by=(), start="-1d").meta


def test_orders_come_oldest_first_if_that_is_wanted(market):
    newest_first = list(market.iter_orders())
    assert list(market.iter_orders(oldest_first=True)) == newest_first[::-1]
    assert list(market.iter_orders(oldest_first=True, max_rows=7)) == newest_first[::-1][:7]
    between = {"start": NOW - 2 * DAY, "end": NOW - DAY}
    assert (
        list(market.iter_orders("BTC", oldest_first=True, **between))
        == list(market.iter_orders("BTC", **between))[::-1]
    )
