"""Walks over all orders of an archive, over a real socket: as a market in this process walks, and behind a day too."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import weeks
from samples import DAY, HOUR, NOW, columns
from scripted import answer

import liqdata
from liqdata import BadQuery, Refused, UnexpectedReply, _core


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return weeks.write(tmp_path_factory.mktemp("weeks") / "archive")


@pytest.fixture(scope="module")
def local(archive):
    with liqdata.open(archive) as market:
        yield market


@pytest.fixture(scope="module")
def served(local):
    with liqdata.serve(local) as server:
        yield server


ASKED = [
    {},
    {"symbol": "BTC"},
    {"symbol": "eth-usdt", "exchange": "OKX"},
    {"start": NOW - 15 * DAY, "end": NOW - 4 * DAY},
    {"end": NOW - 5 * DAY + 1},
    {"end": NOW - 5 * DAY},
    {"start": NOW - HOUR},
    {"as_of": NOW - 3 * DAY},
    {"as_of": NOW - 3 * DAY, "start": NOW - 6 * DAY, "symbol": "BTC"},
    {"max_rows": 200},
    {"min_usd": 50_000},
    {"end": NOW - 2 * DAY, "max_rows": 333},
    {"end": NOW - 40 * DAY},
]


@pytest.mark.parametrize("asked", ASKED)
def test_clients_walk_like_the_market(local, served, connect, asked):
    wanted = list(local.iter_orders(**asked))
    assert connect(served).iter_orders(**asked, page_size=300) == wanted
    assert wanted or asked["end"] < NOW - weeks.DAYS * DAY


def test_pages_may_end_among_the_orders_of_one_instant(local, served, connect):
    """Seven of them at one, three at another, and an order that is there twice."""
    bounds = {"start": NOW - 10 * DAY, "end": NOW - 5 * DAY + 1, "max_rows": 60}
    wanted = list(local.iter_orders(**bounds))
    assert [row["timestamp"] for row in wanted[:8]].count(NOW - 5 * DAY) == 7
    for page_size in (1, 2, 3, 7):
        assert connect(served).iter_orders(**bounds, page_size=page_size) == wanted


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_a_page_of_orders_of_any_time_is_that_of_the_market(local, served, connect):
    client = connect(served)
    for asked in (
        {"end": NOW - 5 * DAY + 1, "limit": 9},
        {"end": NOW - 5 * DAY + 1, "limit": 4, "offset": 5},
        {"start": NOW - 8 * DAY, "limit": 1000, "offset": 300, "symbol": "BTC"},
        {"start": "2026-05-20", "end": "2026-05-21", "symbol": ["BTC", "ETH"], "exchange": "okx"},
        {"start": 1, "end": 2},
    ):
        answered, wanted = client.orders(**asked), local.orders(**asked)
        assert answered == wanted, asked
    every = list(local.iter_orders(end=NOW - 5 * DAY + 1))
    assert list(local.orders(end=NOW - 5 * DAY + 1, limit=4, offset=5)) == every[5:9]
    with pytest.raises(BadQuery, match="is not after the start") as refused:
        client.orders(start=NOW, end=NOW)
    assert refused.value.parameter == "end"


def test_a_market_of_tables_is_walked_to_its_end(connect):
    """Its feed is all there is, and pages of any time are of it too."""
    table = weeks.orders(days=3, a_day=150)
    with liqdata.Market(table) as market, liqdata.serve(market) as server:
        client = connect(server)
        for asked in ({}, {"start": NOW - 2 * DAY}, {"end": NOW - DAY + 1, "symbol": "BTC"}, {"as_of": NOW - DAY}):
            assert client.iter_orders(**asked, page_size=70) == list(market.iter_orders(**asked))


def counted(rows):
    return Counter(tuple(row.values()) for row in rows)


def test_a_walk_during_arrivals_returns_each_row_once(tmp_path):
    """Late ones among them: newer than what was read, older, of the very instant that is being read."""
    path = weeks.write(tmp_path / "archive")
    with liqdata.open(path) as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        before = list(market.iter_orders())
        walk = client.iter_orders(page_size=90)
        given = [next(walk) for _ in range(400)]
        at = given[-1]["timestamp"]
        assert NOW - 6 * DAY < at < NOW - DAY, "behind the feed"
        late = {name: [row[name] for row in given[-1:]] * 4 for name in given[0]}
        late["timestamp"] = [NOW - 2 * HOUR, at, at, at - 10 * DAY]
        late["price"] = [Decimal(number) for number in (7, 8, 8, 9)]
        writer = _core.ArchiveWriter(path)
        writer.append(late, None, None)
        writer.close()
        given += walk
        assert walk.complete
        assert [row["timestamp"] for row in given] == sorted((row["timestamp"] for row in given), reverse=True)
        lost, doubled = counted(before) - counted(given), counted(given) - counted(market.iter_orders())
        assert (lost, doubled) == (Counter(), Counter())
        assert [row["price"] for row in given if row["timestamp"] == at - 10 * DAY][-1] == 9


def test_a_thousand_orders_of_one_instant_are_refused(tmp_path):
    one = {**FEED[0], "timestamp": NOW - 3 * DAY}
    rows = [dict(one, price=Decimal(price)) for price in range(1, 1102)] + [dict(one, timestamp=NOW)]
    path = weeks.write(tmp_path / "archive", columns(rows))
    with liqdata.open(path) as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert len(list(market.iter_orders())) == 1102
        walk = client.iter_orders(page_size=10)
        assert len([next(walk) for _ in range(1001)]) == 1001
        with pytest.raises(UnexpectedReply, match="more than 1000 orders share the instant 2026-05-29"):
            next(walk)
        assert walk.complete is None


def test_an_iterator_has_a_completeness_flag(local, served):
    with liqdata.Client(served.url) as client:
        for source in (local, client):
            walk = source.iter_orders("BTC")
            next(walk)
            assert (walk.complete, walk.meta["complete"]) == (None, None)
            rest = sum(1 for _ in walk)
            assert rest > 0
            assert walk.complete is True
            assert walk.meta["as_of"] == local.now
            assert "why" not in walk.meta
            bounded = source.iter_orders(max_rows=2)
            assert (len(list(bounded)), bounded.complete) == (2, True)
            past = source.iter_orders(as_of=NOW - DAY, max_rows=1)
            assert len(list(past)) == 1
            assert past.meta["as_of"] == datetime.fromtimestamp((NOW - DAY) / 1000, UTC)
    assert local.iter_orders("BTC").to_pandas().shape[0] == rest + 1


# What a service of the contract gives, and what it says of itself.
FEED = [
    {
        "exchange": "okx",
        "symbol": "BTCUSDT",
        "side": "LONG",
        "price": "1",
        "qty": "1",
        "value_usd": "1",
        "timestamp": NOW - 1000 * place,
    }
    for place in range(5)
]


def foreign(index):
    """A service that gives a feed, and ``index`` for its list; it does not know what else it is asked."""

    def play(exchange):
        query = exchange.request.query
        if exchange.request.path == "/api":
            return index(exchange)
        offset = int(query["offset"])
        return answer({"success": True, "data": FEED[offset : offset + int(query["limit"])]})(exchange)

    return play


@pytest.mark.parametrize(
    "index",
    [
        answer({"success": False}, 404),
        answer({}, 403),
        answer(b"<html>", content_type="text/html"),
        answer({"endpoints": [{"name": "orders", "parameters": [{"name": "limit"}]}], "everywhere": []}),
    ],
    ids=["no list", "a forbidden list", "a page of HTML", "a list without it"],
)
def test_a_service_without_history_returns_its_feed_as_incomplete(script, index):
    service = script(foreign(index))
    with liqdata.Client(service.url) as client:
        walk = client.iter_orders(page_size=3)
        assert len(list(walk)) == len(FEED)
        assert walk.complete is False
        assert walk.meta["complete"] is False
        assert "only the last 24 hours" in walk.meta["why"]
        assert client.iter_orders(max_rows=2).to_pandas().shape[0] == 2
    assert all(not {"start", "end", "as_of"} & request.query.keys() for request in service.requests)


def test_a_failure_to_read_the_endpoint_list_fails_the_walk(script):
    service = script(foreign(answer({}, 401)))
    with liqdata.Client(service.url, retries=0) as client:
        walk = client.iter_orders()
        with pytest.raises(Refused) as refused:
            list(walk)
        assert refused.value.status == 401
        assert walk.complete is None


@pytest.mark.parametrize("parameter", ["start", "end", "as_of"])
def test_a_time_range_is_refused_for_services_without_it(script, connect, parameter):
    service = script(foreign(answer({"success": False}, 404)))
    client = connect(service)
    for ask in (client.iter_orders, client.orders):
        with pytest.raises(BadQuery, match=f"does not announce {parameter} for orders") as refused:
            ask(**{parameter: NOW})
        assert refused.value.parameter == parameter
    assert {request.path for request in service.requests} == {"/api"}


def test_a_server_without_queries_of_the_past_refuses_them(local):
    with (
        liqdata.serve(local, limits={"past": 0}) as server,
        liqdata.Client(server.url) as client,
    ):
        walk = client.iter_orders()
        assert 0 < sum(1 for _ in walk) < 1000
        assert walk.complete is False
        assert "no historical queries" in walk.meta["why"]
        with pytest.raises(BadQuery, match="no historical queries"):
            next(client.iter_orders(start=NOW - 2 * DAY))
