"""Cascades as they close: each once, when nothing in time can join it, wherever a reader left off."""

import asyncio
import json
import random
import subprocess
import sys
import urllib.request
from decimal import Decimal
from itertools import islice

import pytest
from scripted import Service, answer

import liqdata
from liqdata import BadQuery, _core
from liqdata.market import _replayed

START = 1_781_136_000_000
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
GAP = 60 * SECOND
LEAST = 400
END = START + 9 * HOUR
ASKED = {"gap": "60s", "min_usd": LEAST}


def drawn():
    """Orders in bursts of some coins; one in nine comes late, by up to a quarter of an hour."""
    chance = random.Random(4)
    rows = []
    for burst in range(70):
        at = START + 7 * MINUTE * burst
        symbol, side = chance.choice(["BTCUSDT", "ETHUSDT", "1000PEPEUSDT"]), chance.choice(["LONG", "SHORT"])
        for _ in range(chance.randint(1, 7)):
            at += chance.randint(1, 80) * SECOND
            late = chance.randint(1, 900) * SECOND if chance.randrange(9) == 0 else chance.randint(0, 3) * SECOND
            rows.append(
                {
                    "exchange": chance.choice(["okx", "bybit", "binance"]),
                    "symbol": chance.choice(["BTCUSDT", "BTCUSDC"]) if symbol == "BTCUSDT" else symbol,
                    "side": side,
                    "price": Decimal(100),
                    "qty": Decimal(1),
                    "value_usd": Decimal(chance.randint(20, 300)),
                    "timestamp": at,
                    "received_at": at + late,
                }
            )
    return sorted(rows, key=lambda row: (row["received_at"], row["timestamp"], row["exchange"]))


ORDERS = drawn()
COINS = {"BTCUSDT": "BTC", "BTCUSDC": "BTC", "ETHUSDT": "ETH", "1000PEPEUSDT": "PEPE"}


def name(row):
    return COINS[row["symbol"]], row["side"]


def runs(orders):
    """The events of orders: coin and side, start, end and USD."""
    lines = {}
    for row in orders:
        lines.setdefault(name(row), []).append((row["timestamp"], row["value_usd"]))
    for line, cells in lines.items():
        cells.sort()
        start, end, usd = cells[0][0], cells[0][0], 0
        for at, more in cells:
            if at > end + GAP:
                yield line, start, end, usd
                start, usd = at, 0
            end, usd = at, usd + more
        yield line, start, end, usd


def closing():
    """When each cascade closes and what it is then, by a look at all orders whenever one has come."""
    closed = []
    for count in range(1, len(ORDERS) + 1):
        known = ORDERS[:count]
        newest = max(row["timestamp"] for row in known)
        over = sorted((end, line, start, usd) for line, start, end, usd in runs(known) if end + GAP < newest)
        for end, line, start, usd in over:
            again = any(line == other and start <= before[1] and before[0] <= end for other, before, *_ in closed)
            if usd >= LEAST and not again:
                closed.append((line, (start, end), usd, known[-1]["received_at"]))
    return closed


CLOSED = closing()


def brief(row):
    return (row["coin"], row["side"]), (row["start"], row["end"]), row["usd"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cascades") / "archive"
    opens = range(START - 24 * HOUR, END, MINUTE)
    prices = [60_000.0 + (at // MINUTE) % 977 for at in opens]
    shape = {"open": prices, "high": prices, "low": prices, "close": prices, "volume": [10.0] * len(opens)}
    bars = {"symbol": ["BTC"] * len(opens), "timestamp": list(opens), "interval": [MINUTE] * len(opens), **shape}
    writer = _core.ArchiveWriter(folder)
    writer.append({column: [row[column] for row in ORDERS] for column in ORDERS[0]}, bars, None)
    writer.close()
    return str(folder)


def driven(archive):
    """A replay of the archive from before its first order, with a clock that the test advances."""
    return _replayed(archive, START - 1, None, None, None)


@pytest.fixture(scope="module")
def replayed(archive):
    """A replay at its end, its server, and the resume position before the first cascade."""
    market = driven(archive)
    with market, liqdata.serve(market) as server:
        with market.stream_cascades(**ASKED) as stream:
            begin = stream.last_event_id
        market._source.core.advance(END)
        yield market, server, begin


def test_the_sample_has_late_orders_that_change_cascades():
    assert len(CLOSED) > 12
    final = {(line, start, end) for line, start, end, usd in runs(ORDERS) if usd >= LEAST}
    assert any((line, *span) not in final for line, span, *_ in CLOSED)


def test_each_cascade_is_streamed_once_as_the_query_reports_it(archive):
    market = driven(archive)
    with market, market.stream_cascades(**ASKED) as stream:
        seen = []
        for row in ORDERS:
            market._source.core.advance(row["received_at"])
            # As many as have closed by now come without a wait for the clock.
            for _ in range(sum(at <= row["received_at"] for *_, at in CLOSED) - len(seen)):
                found = next(stream)
                assert found in list(market.cascades(**ASKED, start=START))
                seen.append(found)
        assert [brief(row) for row in seen] == [(line, span, usd) for line, span, usd, _ in CLOSED]
        market._source.core.advance(END)
        assert list(stream) == []
    later = {brief(row): row for row in market_rows(archive)}
    assert any(row["change_1h"] is None and later[brief(row)]["change_1h"] for row in seen if brief(row) in later)


def market_rows(archive):
    with liqdata.open(archive) as market:
        return list(market.cascades(**ASKED, start=START))


def test_a_resumed_stream_has_every_cascade_once(replayed, connect):
    market, server, begin = replayed
    with market.stream_cascades(**ASKED, last_event_id=begin) as stream:
        wanted = list(stream)
    assert {brief(row)[0] for row in wanted} == {line for line, *_ in CLOSED}
    assert len(wanted) == len({(brief(row)[0], row["start"]) for row in wanted})
    client = connect(server)
    for most in (1, 4, len(wanted)):
        place, seen = begin, []
        while len(seen) < len(wanted):
            rows, place = read(client.stream_cascades(**ASKED, last_event_id=place), min(most, len(wanted) - len(seen)))
            seen += rows
        assert seen == wanted
        with market.stream_cascades(**ASKED, last_event_id=place) as rest:
            assert list(rest) == []


def read(stream, most):
    """So many rows of a stream of either face, and its place then."""
    if hasattr(stream, "__next__"):
        with stream:
            return list(islice(stream, most)), stream.last_event_id

    async def some():
        async with stream:
            rows = [await anext(stream) for _ in range(most)]
            return rows, stream.last_event_id

    return asyncio.run(some())


def test_filtered_cascades_are_a_subset_of_all(replayed):
    market, server, begin = replayed
    with market.stream_cascades(gap="60s", min_usd=0, last_event_id=begin) as stream:
        every = list(stream)
    assert len(every) > len(CLOSED)
    with liqdata.Client(server.url) as client:
        for symbol, coins in {"BTC": ["BTC"], "PEPE": ["PEPE"], ("PEPE", "ETH"): ["PEPE", "ETH"]}.items():
            wanted = [row for row in every if row["coin"] in coins]
            rows, _ = read(
                client.stream_cascades(gap=GAP, min_usd="0", last_event_id=begin, symbol=symbol), len(wanted)
            )
            drop = {"percentile_7d": None}
            assert [row | drop for row in rows] == [row | drop for row in wanted]


def test_an_open_cascade_at_the_start_is_streamed_whole(archive):
    market = driven(archive)
    (_, (_, end), usd, at) = max(CLOSED, key=lambda closed: closed[1][1] - closed[1][0])
    with market:
        market._source.core.advance(end - 1)
        with market.stream_cascades(**ASKED) as stream:
            begun = stream.last_event_id
            market._source.core.advance(at)
            row = next(stream)
        assert (row["end"], row["usd"]) == (end, usd)
        with market.stream_cascades(**ASKED, last_event_id=begun) as stream:
            assert next(stream) == row


def test_cascade_events_have_an_event_name_and_orders_have_none(replayed):
    _, server, begin = replayed
    address = f"{server.url}/api/liquidations/stream?events=cascades&min_usd={LEAST}&last_event_id={begin}"
    with urllib.request.urlopen(address, timeout=30) as reply:
        lines = [reply.readline().decode() for _ in range(8)]
    assert lines[:4] == ["retry: 1000\n", "event: position\n", "data: {}\n", "\n"]
    assert lines[4] == "event: cascade\n"
    data = next(line for line in lines[4:] if line.startswith("data: "))
    assert set(json.loads(data[6:])) >= {"start", "end", "coin", "side", "usd", "cnt", "exchanges", "largest_usd"}


def test_an_invalid_resume_position_is_a_gap(replayed):
    market, server, begin = replayed
    series = begin.partition("-")[0]
    with liqdata.Client(server.url) as client:
        for place in ("1-0-0-0", "nonsense", f"{series}-0-999999999-0", f"{series}-7-3-0"):
            for source in (market, client):
                with source.stream_cascades(**ASKED, last_event_id=place) as stream:
                    with pytest.raises(liqdata.Refused) as gone:
                        next(stream)
                    assert gone.value.status == 410
                    assert stream.last_event_id.startswith(series)


def test_a_service_without_cascade_streams_is_refused_by_name(script, connect):
    for index in (answer({"success": False}, 404), answer(b'{"extensions": [{"name": "stream", "parameters": []}]}')):
        service = script(index)
        stream = connect(service).stream_cascades()
        with pytest.raises(BadQuery, match="does not announce events for stream") as refused:
            read(stream, 1)
        assert refused.value.parameter == "events"
        assert {request.path for request in service.requests} == {"/api"}


def test_an_order_stream_ignores_unknown_events():
    row = '{"exchange":"okx","symbol":"BTCUSDT","side":"LONG","price":"1","qty":"1","value_usd":"1","timestamp":1}'

    def play(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        exchange.send(b"event: cascade\nid: a-1\ndata: {}\n\n" + f"id: a-2\ndata: {row}\n\n".encode())
        exchange.wait()

    with Service(play) as service, liqdata.Client(service.url) as client, client.stream_orders() as stream:
        assert next(stream)["exchange"] == "okx"
        assert stream.last_event_id == "a-2"


@pytest.mark.parametrize(
    "query,parameter",
    [
        ("events=all", "events"),
        ("gap=5s", "gap"),
        ("events=cascades&exchange=okx", "exchange"),
        ("min_usd=-1", "min_usd"),
    ],
)
def test_an_invalid_argument_is_refused(replayed, query, parameter):
    _, server, _ = replayed
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.url}/api/liquidations/stream?{query}", timeout=30)
    assert refused.value.code == 400
    assert json.load(refused.value)["error"]["parameter"] == parameter


def test_the_command_prints_cascades(replayed):
    _, server, begin = replayed
    command = [
        sys.executable,
        "-m",
        "liqdata",
        "stream",
        "--cascades",
        "--min-usd",
        str(LEAST),
        "--last-event-id",
        begin,
    ]
    done = subprocess.run(
        [*command, "--limit", "3", "--json", "--url", server.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["coin"], row["side"]) for row in rows] == [line for line, *_ in CLOSED[:3]]
    refused = subprocess.run(
        [*command[:5], "--exchange", "okx", "--url", server.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode != 0
    assert "a cascade covers all exchanges" in refused.stderr
