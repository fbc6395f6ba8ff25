"""Features of a service: the rows of the market that it serves, bit for bit, as clients and as CSV lines get them."""

import csv
import json
import random
import socket
import struct
import time
from datetime import timedelta
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest
import samples
from scripted import answer

import liqdata

NOW, MINUTE, HOUR, DAY = samples.NOW, samples.MINUTE, samples.HOUR, samples.DAY
NO_LIST = answer({"success": False}, 404)
TOKEN = "correct-horse-battery"  # noqa: S105 - opens servers of these tests alone
META = ("units", "view", "latency", "as_of")


@pytest.fixture(scope="module")
def small():
    """Tables with an exchange, relative maps of ETH, and quiet hours."""
    readings = samples.open_interest(coins=("BTC",))
    return liqdata.Market(samples.orders(300), samples.bars(), readings, now=NOW)


def cells(rows):
    """The columns of rows as Arrow has them, with every bit."""
    pa = pytest.importorskip("pyarrow")
    return pa.table(rows).combine_chunks()


def equal(found, wanted):
    assert found.columns == wanted.columns
    assert list(found) == list(wanted)
    assert cells(found).equals(cells(wanted))
    assert [found.meta[name] for name in META] == [wanted.meta[name] for name in META]


@pytest.mark.parametrize(
    "options",
    [
        {"at": [NOW - 3 * HOUR, NOW, NOW - 25 * HOUR, NOW]},
        {"at": "2h", "start": "-9h", "symbols": "BTC", "latency": "5m"},
        {"at": timedelta(hours=3), "start": NOW - 9 * HOUR, "end": "-1h", "model": 2, "within": [0.25, 1e-5]},
        {"at": [NOW], "exchange": "okx", "windows": [timedelta(minutes=90), "24H"], "range": "1d"},
        {"at": [NOW - HOUR], "model": liqdata.Model(tiers=[10, 50]), "columns": "below_leverage"},
        {"at": [NOW - HOUR], "windows": [], "within": []},
        {"at": [NOW - HOUR], "columns": []},
    ],
    ids=["list", "grid", "bounded grid", "exchange", "model", "no lists", "no columns"],
)
def test_rows_of_a_client_equal_those_of_the_market(small, connect, options):
    asked = {"symbols": ["BTC", "ETH"], **options}
    with liqdata.serve(small) as server:
        equal(connect(server).features(**asked), small.features(**asked))


def test_with_a_token_and_limits_and_bars_and_more_instants_than_a_url_has(small, connect):
    chance = random.Random(4)
    times = [NOW - chance.randrange(25 * HOUR) for _ in range(1200)]
    limits = {"past": 1, "past_queue": 0, "per_peer": 1}
    with liqdata.serve(small, token=TOKEN, limits=limits) as server:
        client = connect(server, token=TOKEN)
        bars = small.bars("BTC", interval="30m", start="-20h")
        equal(
            client.features("BTC", bars, columns=["bar_open", "price"]),
            small.features("BTC", bars, columns=["bar_open", "price"]),
        )
        options = {"columns": ["long_usd_1h", "covered_1h", "known_at"]}
        equal(client.features(["ETH", "BTC"], times, **options), small.features(["ETH", "BTC"], times, **options))
        with pytest.raises(liqdata.Refused, match="401"):
            connect(server).features("BTC", [NOW])


def test_the_demo_has_the_same_rows_as_its_server(market, server, connect):
    equal(
        connect(server).features(["BTC", "ETH"], "12h", start="-2d"),
        market.features(["BTC", "ETH"], "12h", start="-2d"),
    )


@pytest.mark.parametrize(
    "options",
    [
        {"symbols": "BTCC"},
        {"symbols": "BTC,ETH"},
        {"at": [NOW + 3 * DAY]},
        {"at": [NOW - 9999 * DAY]},
        {"at": "1h", "start": NOW + 1, "end": NOW + 2},
        {"at": "1h", "start": "-1h", "end": "-2h"},
        {"windows": ["1h", "1h"]},
        {"within": [100]},
        {"columns": ["price", "prise"]},
        {"range": "8d"},
        {"model": 7},
        {"exchange": "binanse"},
    ],
    ids=str,
)
def test_a_wrong_argument_is_the_same_error_as_that_of_the_market(small, connect, options):
    given = {"symbols": "BTC", "at": [NOW], **options}
    with pytest.raises(liqdata.BadQuery) as here:
        small.features(**given)
    with liqdata.serve(small) as server, pytest.raises(liqdata.BadQuery) as there:
        connect(server).features(**given)
    assert there.value.parameter == here.value.parameter


def test_a_service_that_does_not_announce_features_is_named(script, connect):
    service = script(NO_LIST)
    with pytest.raises(liqdata.BadQuery, match="does not announce features; allowed: what GET /api lists"):
        connect(service).features("BTC", [NOW])
    assert {request.path for request in service.requests} == {"/api/features", "/api"}


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "at,coin\n",
        f"at,coin,known_at\n{NOW},ETH,\n",
        f"at,coin,known_at\n{NOW + 1},BTC,\n",
        f"at,coin,known_at\n{NOW},BTC,x\n",
    ],
    ids=["nothing", "other names", "another coin", "another instant", "no instant"],
)
def test_other_rows_than_those_requested_are_refused(script, connect, lines):
    index = answer({"extensions": [{"name": "features", "parameters": []}]})
    reply = answer(lines.encode(), content_type="text/csv")
    service = script(lambda exchange: (index if exchange.request.path == "/api" else reply)(exchange))
    with pytest.raises(liqdata.UnexpectedReply):
        connect(service).features("BTC", [NOW], columns=["known_at"])


def read(url):
    with urlopen(url) as reply:
        return reply.read()


def test_a_url_gives_lines_for_any_reader(small):
    with liqdata.serve(small) as server:
        with urlopen(f"{server.url}/api/features?symbols=BTC,ETH&every=1h&start=-3h&columns=price,below_usd") as reply:
            assert reply.headers["content-type"] == "text/csv; charset=utf-8"
            assert reply.headers["transfer-encoding"] == "chunked"
            head, *lines = csv.reader(reply.read().decode().splitlines())
        with urlopen(f"{server.url}/openapi.json") as reply:
            described = json.load(reply)["paths"]["/api/features"]["get"]
        defaults = {each["name"]: each["schema"].get("default") for each in described["parameters"]}
        spelled = urlencode({name: value for name, value in defaults.items() if value})
        asked = f"{server.url}/api/features?symbols=BTC&at={NOW}"
        assert read(asked) == read(f"{asked}&{spelled}")
    assert head == ["at", "coin", "price", "below_usd", "units", "view"]
    rows = small.features(["BTC", "ETH"], "1h", start="-3h", columns=["price", "below_usd"])
    assert [(int(at), coin, float(price), float(usd) if usd else None) for at, coin, price, usd, *_ in lines] == [
        tuple(row.values()) for row in rows
    ]
    assert {(line[1], line[4]) for line in lines} == {("BTC", "usd"), ("ETH", "relative")}


def waiting(server):
    """The number of historical queries under way, by the metrics of a server."""
    with urlopen(f"{server.url}/metrics") as reply:
        (line,) = (line for line in reply.read().decode().splitlines() if line.startswith("liqdata_past_questions "))
    return float(line.split()[1])


def test_the_work_for_a_client_that_has_gone_ends(server):
    # All lines would take minutes.
    query = "symbols=BTC,ETH,SOL,XRP,DOGE&every=1m&start=-29d"
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port)) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader.sendall(f"GET /api/features?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert reader.recv(16).startswith(b"HTTP/1.1 200")
        assert waiting(server) == 1
    until = time.monotonic() + 20
    while waiting(server):
        assert time.monotonic() < until
