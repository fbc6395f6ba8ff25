"""Market, Client and AsyncClient say the same of one archive of weeks, method by method, over a real socket."""

import asyncio
import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice

import pytest
import samples
import weeks
from numpy.testing import assert_array_equal
from samples import DAY, HOUR, MINUTE, NOW

import liqdata
from liqdata import AsyncClient, BadQuery, Client, Heatmap, LiquidationMap, Market, Refused, _core

THEN = NOW - 7 * DAY
# More than are asked for at a time.
MANY = [THEN - place * HOUR for place in range(5)]
COUNT = 31
OWN = liqdata.Model(tiers=[10, 25, 50, 100], nu=1.5, name="ours")

# What is asked of each method; a refusal has to be the same as well.
ASKED = {
    "overview": [
        {},
        {"as_of": THEN},
        {"as_of": "2031-01-01"},
        {"as_of": "soon"},
        {"range": "12h"},
        {"range": "1M"},
        {"range": "7d", "as_of": THEN},
        {"start": NOW - 9 * DAY, "end": NOW - 8 * DAY},
        {"start": "-36h"},
        {"range": "7d", "end": THEN},
        {"start": NOW, "end": NOW - 1},
        {"start": NOW + 2 * DAY},
    ],
    "coins": [
        {},
        {"range": "4h", "limit": 2},
        {"range": "2h"},
        {"limit": 0},
        {"limit": 1, "as_of": THEN},
        {"range": "3d"},
        {"range": "1y", "limit": 2, "as_of": THEN},
        {"start": NOW - 9 * DAY, "end": THEN},
        {"end": THEN},
        {"range": "1M", "start": THEN},
        {"start": THEN, "end": THEN},
    ],
    "exchanges": [
        {},
        {"range": "1d"},
        {"as_of": "2026-05-20T12:00:00.5Z"},
        {"range": "1w"},
        {"range": "6M", "as_of": THEN},
        {"start": "-3d", "end": "-1d"},
    ],
    "largest": [
        {},
        {"range": "7d", "limit": 1000},
        {"range": "1M", "symbol": "BTC", "exchange": "okx", "limit": 9},
        {"start": NOW - 12 * DAY, "end": THEN, "symbol": ["BTCUSDT", "ETH"], "min_usd": 2_000},
        {"range": "3M", "as_of": THEN},
        {"range": "7d", "symbol": "NOSUCH"},
        {"range": "12h", "limit": 1000},
        {"as_of": THEN},
        {"symbol": "BTC", "exchange": "okx", "min_usd": 2_000, "limit": 9},
        {"symbol": ["BTCUSDT", "ETH"], "exchange": "OKX"},
        {"min_usd": 10**9},
        {"symbol": "NOSUCH"},
        {"exchange": "bnance"},
        {"min_usd": -1},
        {"min_usd": "much"},
    ],
    "orders": [
        {},
        {"symbol": "BTC", "limit": 1000},
        {"symbol": ["BTCUSDT", "eth-usdt"], "exchange": "OKX"},
        {"limit": 7, "offset": 40},
        {"symbol": "NOSUCH"},
        {"exchange": "bnance"},
        {"as_of": THEN, "symbol": ["BTC", "ETH"]},
        {"start": NOW - 12 * DAY, "end": THEN, "limit": 100, "offset": 3},
        {"start": THEN, "as_of": THEN + DAY, "symbol": "BTC"},
        {"end": THEN, "exchange": "bnance"},
        {"start": NOW, "end": NOW - 1},
        {"min_usd": 50_000.5, "limit": 9},
        {"groups": True, "symbol": "ETH"},
        {"groups": True, "min_usd": 90_000, "start": NOW - 12 * DAY, "limit": 1000},
        {"groups": 1},
        {"min_usd": -5},
    ],
    "chart": [{}, {"symbol": "BTC"}, {"symbol": ("BTCUSDT", "PEPE")}, {"as_of": THEN, "symbol": ["BTC"]}],
    "heatmap": [
        {},
        {"symbol": "ETH", "range": "7d", "model": 3},
        {"symbol": ["BTC", "ETH"], "range": "12h"},
        {"model": 3, "explain": True},
        {"symbol": ["BTC", "ETH"], "range": "12h", "as_of": THEN, "explain": True},
        {"range": "12h", "model": OWN, "as_of": MANY, "explain": True},
        {"symbol": ["BTC", "ETH"], "range": "12h", "as_of": MANY[:2]},
        {"as_of": [THEN, None]},
        {"as_of": [THEN, NOW - 300 * DAY], "range": "12h"},
        {"explain": 1},
        {"exchange": "binance", "range": "12h", "explain": True},
        {"exchange": "OKX", "symbol": ["BTC", "ETH"], "range": "3d"},
        {"exchange": "bnance"},
        {"exchange": "deribit"},
        {"exchange": "binance", "range": "3M"},
        {"range": "all", "as_of": THEN},
        {"range": "2h"},
        {"model": 1},
    ],
    "liqmap": [
        {},
        {"symbol": "ETH-PERP", "range": "7d"},
        {"symbol": "BTC", "bin": 250.0},
        {"symbol": "SOL"},
        {"model": OWN, "explain": True},
        {"model": 3, "explain": True},
        {"as_of": MANY, "explain": True},
        {"symbol": ["ETH", "BTC"], "as_of": MANY[:3]},
        {"symbol": "SOL", "as_of": MANY},
        {"source": "positions"},
        {"source": "positions", "range": "all", "bin": 250.0, "exchange": "hyperliquid", "as_of": [NOW, THEN]},
        {"source": "positions", "range": "7d"},
        {"source": "positions", "model": 3},
        {"source": "positions", "symbol": "ETH"},
        {"source": "tape"},
        {"exchange": "bnance"},
        {"exchange": "okx", "range": "3d"},
        {"bin": 0},
        {"bin": 1e-9},
    ],
    "levels": [
        {},
        {"exchange": "OKX", "as_of": MANY, "symbol": ["BTC", "ETH"]},
        {"exchange": "bnance"},
        {"exchange": "deribit"},
        {"symbol": ["BTC", "ETH"]},
        {"model": 3},
        {"model": OWN},
        {"explain": True, "as_of": THEN},
        {"as_of": MANY, "symbol": ["BTC", "ETH"]},
        {"as_of": []},
    ],
    "maxpain": [
        {},
        {"exchange": "binance", "explain": True},
        {"exchange": "bnance"},
        {"exchange": "deribit"},
        {"symbol": "ETH"},
        {"model": 7},
        {"model": OWN, "explain": True},
        {"as_of": MANY, "symbol": "ETH", "explain": True},
    ],
    "history": [
        {},
        {"by": (), "interval": "1d", "start": NOW - 20 * DAY},
        {"by": ("side", "exchange"), "interval": "5m", "start": NOW - 9 * DAY, "end": NOW - 8 * DAY},
        {"start": NOW + 2 * DAY},
        {"as_of": THEN},
        {"symbol": ("BTC", "ETH"), "exchange": "okx", "min_usd": 20_000, "start": NOW - 12 * DAY, "interval": "4h"},
        {"symbol": "ETHUSDT", "by": ("symbol", "side"), "min_usd": "2500.5"},
        {"interval": "1M", "start": NOW - 20 * DAY},
        {"exchange": "bnance"},
        {"symbol": "NOSUCH"},
        {"symbol": ("BTC", "ETH"), "by": ()},
        {"interval": "90s"},
        {"min_usd": -1},
    ],
    "cascades": [
        {},
        {"symbol": "BTC", "gap": "5m", "min_usd": 0, "start": NOW - 9 * DAY},
        {"gap": "2d"},
        {"min_usd": 0, "as_of": THEN},
        {"min_usd": 0, "start": NOW - 12 * DAY, "end": NOW - 8 * DAY},
        {"symbol": ["BTC", "ETH"], "min_usd": 1000, "gap": 600_000, "end": THEN},
        {"start": NOW, "end": NOW - 1},
        {"symbol": "NOSUCH"},
        {"min_usd": -1},
    ],
    "undercount": [{}, {"range": "4h"}, {"range": "2d"}, {"as_of": THEN}],
    "coverage": [
        {},
        {"range": "1h"},
        {"range": "1d"},
        {"range": "3h"},
        {"as_of": THEN},
        {"range": "1M"},
        {"range": "7d", "as_of": THEN},
        {"start": NOW - 10 * DAY, "end": THEN},
        {"start": NOW, "end": NOW - 1},
    ],
    "gaps": [{}, {"start": NOW - DAY}, {"end": NOW - DAY}, {"start": NOW, "end": NOW - 1}, {"as_of": THEN}],
    "bars": [
        {},
        {"symbol": "ETH-USDT", "interval": "1h", "start": NOW - 10 * DAY, "end": NOW - 9 * DAY},
        {"symbol": ["BTC", "ETH"], "start": NOW - HOUR},
        {"symbol": "SOL"},
        {"symbol": "BTCC"},
        {"interval": "7m"},
        {"interval": "90s"},
        {"interval": "1w", "running": True},
        {"interval": "1h", "running": True, "as_of": THEN + MINUTE, "start": THEN - DAY},
        {"running": 1},
        {"as_of": THEN, "interval": "1d"},
        {"symbol": ["BTC", "ETH"], "interval": "1h", "end": NOW - 10 * DAY},
    ],
    "open_interest": [
        {},
        {"symbol": "ETH", "start": NOW - 3 * DAY, "end": NOW - 2 * DAY},
        {"symbol": ("BTC", "ETH"), "start": NOW - HOUR},
        {"symbol": "BTCC"},
        {"as_of": THEN, "start": THEN - HOUR},
    ],
    "positions": [{}, {"symbol": ["BTC", "ETH"]}, {"symbol": "BTCC"}, {"as_of": THEN}, {"as_of": NOW - 8 * DAY}],
    "maps": [
        {},
        {"symbol": "BTC", "kind": "levels", "start": NOW - DAY},
        {"version": "unknown"},
        {"version": "2.abc", "end": NOW},
        {"kind": "chart"},
        {"version": " "},
        {"as_of": NOW - DAY + MINUTE},
    ],
}
# What is followed, from before the orders that came last.
FOLLOWED = {
    "stream_orders": [
        {},
        {"symbol": "btc"},
        {"symbol": "ETHUSDT", "exchange": "OKX"},
        {"min_usd": 1500},
        {"symbol": "NOSUCH"},
        {"exchange": "bnance"},
        {"min_usd": -1},
    ],
    "stream_cascades": [
        {"min_usd": 0},
        {"symbol": ["BTC", "ETH"], "gap": "5s", "min_usd": 1000},
        {"symbol": "NOSUCH"},
        {"gap": "2d"},
        {"min_usd": -1},
    ],
}
# Asked in a test of its own.
ELSEWHERE = {"iter_orders": "test_walk_past.py"}
# What a connection has, and what a market has of its own.
APART = {"close", "aclose", "base_url", "export", "live", "now", "replayed", "serve", "simulated", "symbols"}
APART |= {"features", "true_positions"}


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


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", [Client, AsyncClient, Market])
def test_the_questions_cover_every_public_method(kind):
    assert public(kind) - APART == ASKED.keys() | FOLLOWED.keys() | ELSEWHERE.keys()


def outcome(ask):
    """The answer, or the refusal."""
    try:
        found = ask()
        if isinstance(found, dict) and found and all(isinstance(one, Iterator) for one in found.values()):
            return {name: list(one) for name, one in found.items()}
        return list(found) if isinstance(found, Iterator) else found
    except (BadQuery, Refused) as error:
        # A client says first who refused what.
        said = re.sub(r"^127\.0\.0\.1:\d+ refused /api/\S+ \(\d+ [A-Z][\w ]*\): ", "", str(error))
        return type(error), getattr(error, "parameter", None), getattr(error, "status", None), said


def dtypes(rows):
    return [
        rows.columns,
        [str(dtype) for dtype in rows.to_pandas().dtypes],
        rows.to_polars().schema,
        rows.to_arrow().schema,
    ]


def agree(answer, wanted, asked):
    assert type(answer) is type(wanted), asked
    if isinstance(wanted, list):
        assert len(answer) == len(wanted), asked
        for place, one in enumerate(wanted):
            agree(answer[place], one, (asked, place))
        return
    if isinstance(wanted, LiquidationMap):
        for name in ("view", "seen_share", "measured"):
            assert "measured" not in wanted.meta or answer.meta[name] == wanted.meta[name], asked
    if isinstance(wanted, Heatmap | LiquidationMap) and "explain" in answer.meta:
        rests_alike(answer, wanted, asked)
    if isinstance(wanted, dict) and any(isinstance(each, liqdata.Rows) for each in wanted.values()):
        assert answer.keys() == wanted.keys(), asked
        for name, rows in wanted.items():
            agree(answer[name], rows, (asked, name))
        return
    assert answer == wanted, asked
    for name in ("coverage", "earlier"):
        assert getattr(answer, "meta", {}).get(name) == getattr(wanted, "meta", {}).get(name), (asked, name)
    if isinstance(wanted, liqdata.Rows):
        assert dtypes(answer) == dtypes(wanted), asked
        assert answer.meta["as_of"] == wanted.meta["as_of"], asked
        assert answer.meta["age"] == wanted.meta["age"], asked
        assert answer.meta.get("seen_share") == wanted.meta.get("seen_share"), asked


def rests_alike(answer, wanted, asked):
    """The inputs of an estimate and the values derived from them are equal bit for bit."""
    for name in ("explain", "view", "as_of", "age"):
        assert answer.meta[name] == wanted.meta[name], (asked, name)
    for name in ("long", "short", "low", "high"):
        if hasattr(wanted, name):
            assert_array_equal(getattr(answer, name), getattr(wanted, name), str((asked, name)))
    if isinstance(wanted, LiquidationMap):
        assert answer.fine[:4] == wanted.fine[:4], asked
        assert answer.swept(0.9 * wanted.current_price) == wanted.swept(0.9 * wanted.current_price), asked


def one_by_one(asked):
    """The questions that one of several symbols and instants comes to."""
    lists = {
        name: each for name, each in asked.items() if name in {"symbol", "as_of"} and isinstance(each, list | tuple)
    }
    return [asked | dict(zip(lists, each, strict=True)) for each in itertools.product(*lists.values())]


@pytest.mark.parametrize("method", ASKED)
def test_a_client_answers_and_refuses_like_the_market(local, served, connect, method):
    client = connect(served)
    answered = 0
    for asked in ASKED[method]:
        wanted = outcome(lambda asked=asked: getattr(local, method)(**asked))
        answer = outcome(lambda asked=asked: getattr(client, method)(**asked))
        if isinstance(wanted, tuple) and len(alone := one_by_one(asked)) > 1:
            # Of several that are refused a client raises what came first.
            refused = [outcome(lambda each=each: getattr(local, method)(**each)) for each in alone]
            assert answer in [wanted, *(each for each in refused if isinstance(each, tuple))], (method, asked)
        else:
            agree(answer, wanted, (method, asked))
        answered += not isinstance(wanted, tuple)
    assert answered, "something has to be answered"


# Orders that come while the archive is open, in bursts; the last closes the cascades before it.
COME = [
    {
        "exchange": samples.VENUES[place % 3],
        "symbol": ("BTCUSDT", "ETHUSDT")[place % 2],
        "side": ("LONG", "SHORT")[place // 6 % 2],
        "price": Decimal(100 + place),
        "qty": Decimal(place + 1) / 10,
        "value_usd": Decimal(100 * (place + 1)),
        "timestamp": NOW + (place // 6) * 10 * MINUTE + place * 1000 + (DAY if place == COUNT - 1 else 0),
    }
    for place in range(COUNT)
]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """An archive to which orders came while it was open: the market, its server, and the places before them."""
    folder = weeks.write(tmp_path_factory.mktemp("followed") / "archive")
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        before = {name: getattr(market, name)().last_event_id for name in FOLLOWED}
        writer = _core.ArchiveWriter(folder)
        writer.append(samples.columns(COME), None, None)
        writer.close()
        yield market, server, before


def rows_of(stream, most):
    """The next rows of a stream, of either kind."""
    if not hasattr(stream, "__anext__"):
        with stream:
            return list(islice(stream, most))

    async def taken():
        async with stream:
            return [await anext(stream) for _ in range(most)]

    return asyncio.run(taken())


def coming(asked):
    """How many of the orders are asked for."""
    pair = {None: "", "btc": "BTC"}.get(asked.get("symbol"), asked.get("symbol"))
    wanted = sum(
        row["symbol"].startswith(pair)
        and row["exchange"] == asked.get("exchange", row["exchange"]).lower()
        and row["value_usd"] >= asked.get("min_usd", 0)
        for row in COME
    )
    return wanted or 1


@pytest.mark.parametrize("method", FOLLOWED)
def test_client_streams_yield_and_refuse_like_those_of_the_market(followed, connect, method):
    market, server, before = followed
    client = connect(server)
    rows = 0
    for asked in FOLLOWED[method]:
        start = {"last_event_id": before[method], **asked}
        most = coming(asked) if method == "stream_orders" else 3
        wanted = outcome(lambda start=start, most=most: rows_of(getattr(market, method)(**start), most))
        agree(outcome(lambda start=start, most=most: rows_of(getattr(client, method)(**start), most)), wanted, asked)
        rows += isinstance(wanted, list) and len(wanted)
    assert rows >= 6


def test_the_archive_has_rows_to_compare(local):
    """Agreement of two empty archives would prove nothing."""
    for method in ("orders", "history", "coverage", "gaps", "bars", "open_interest", "maps", "positions"):
        assert len(getattr(local, method)()) > 1, method
    for realised in ("overview", "coins", "exchanges", "largest", "orders", "chart", "history", "cascades"):
        assert len(getattr(local, realised)().meta["coverage"]) > 1, realised
    assert local.heatmap(model=3).low is not None
    assert local.liqmap(model=3).high is not None
    assert len(local.gaps(start=NOW - 95 * MINUTE)) == 1
    measured = local.liqmap(source="positions")
    assert (measured.meta["view"], measured.meta["seen_share"], measured.meta["measured"]["accounts"]) == (
        "measured",
        0.125,
        2,
    )
    assert local.maps().meta["versions"] == ["2.abc", None]
    assert len(local.history(by=(), interval="1d", start=NOW - 20 * DAY)) == 21
