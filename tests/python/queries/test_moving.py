"""Markets that move by a clock of their own: nothing is seen before its time, and everything is seen once."""

import os
import pickle
import subprocess
import sys
import threading
from datetime import timedelta
from decimal import Decimal

import pytest

import liqdata
from liqdata import _core
from liqdata.errors import ArchiveError, BadQuery
from liqdata.market import _live, _replayed

START = 1_781_136_000_000
MINUTE = 60_000
DAY = 86_400_000


def order(number, happened, received):
    return {
        "exchange": ["okx", "bybit"][number % 2],
        "symbol": ["BTCUSDT", "ETHUSDT", "SOLUSDT"][number % 3],
        "side": ["LONG", "SHORT"][number % 2],
        "price": Decimal(100 + number),
        "qty": Decimal(1),
        "value_usd": Decimal(100 + number),
        "timestamp": START + happened,
        "received_at": START + received,
    }


# Minutes of three days; some are received at once, some hours or a day late, two at one instant.
HAPPENED = [*range(0, 4300, 37), 5, 2000, 2000]
ORDERS = [
    order(number, minute * MINUTE, minute * MINUTE + [3, 3, 250, 7_200_000, DAY][number % 5])
    for number, minute in enumerate(HAPPENED)
]


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def bars():
    opens = range(START - DAY, START + 3 * DAY, 5 * MINUTE)
    prices = [60_000.0 + (at // MINUTE) % 977 for at in opens]
    return {
        "symbol": ["BTC"] * len(opens),
        "timestamp": list(opens),
        "interval": [5 * MINUTE] * len(opens),
        "open": prices,
        "high": [price + 40 for price in prices],
        "low": [price - 40 for price in prices],
        "close": prices,
        "volume": [10.0] * len(opens),
    }


def interest():
    times = range(START - DAY, START + 3 * DAY, 15 * MINUTE)
    return {
        "symbol": ["BTC"] * len(times),
        "exchange": ["binance"] * len(times),
        "timestamp": list(times),
        "open_interest": [1000.0 + at % 7 for at in range(len(times))],
    }


@pytest.fixture(scope="module", params=["journal", "files"])
def archive(request, tmp_path_factory):
    """Three days, in the journal alone or for the most part in files."""
    folder = tmp_path_factory.mktemp("moving") / request.param
    writer = _core.ArchiveWriter(folder)
    writer.append(columns(ORDERS), bars(), interest())
    if request.param == "files":
        writer.roll(START + 2 * DAY)
    writer.close()
    return str(folder)


def driven(archive, start=None, end=None, at=None):
    """A replay with a clock that the test advances."""
    return _replayed(archive, start, end, None, at)


def due(row):
    return max(row["received_at"], row["timestamp"])


def wanted(rows):
    """Orders as they arrive; those that are due together by their time and exchange."""
    return [
        {name: cell for name, cell in row.items() if name != "received_at"}
        for row in sorted(rows, key=lambda row: (due(row), row["timestamp"], row["exchange"]))
    ]


def by_time(rows):
    return sorted(rows, key=lambda row: (row["timestamp"], row["exchange"], row["symbol"]))


def test_a_replay_streams_everything_once_in_the_order_it_was_received(archive):
    seen = []
    for step in (1, 17):
        market = driven(archive)
        with market, market.stream_orders() as stream:
            for at in range(0, 4 * DAY + 1, step * 6 * 3_600_000):
                market._source.core.advance(START + at)
            market._source.core.advance(START + 5 * DAY)
            seen.append(list(stream))
    assert seen[0] == seen[1] == wanted(ORDERS)


def test_a_stream_yields_orders_when_they_are_due(archive):
    market = driven(archive, start=START + DAY)
    later = [row for row in wanted(ORDERS) if row in wanted([o for o in ORDERS if due(o) > START + DAY])]
    with market, market.stream_orders() as stream:
        got = []
        reading = threading.Thread(target=lambda: got.extend(stream))
        reading.start()
        market._source.core.advance(START + 5 * DAY)
        reading.join(60)
    assert got == later


def test_no_row_is_visible_before_it_was_received(archive):
    with driven(archive) as market, liqdata.open(archive) as whole:
        for hours in (0, 3, 11, 23, 25, 47, 60, 80):
            at = START + hours * 3_600_000
            market._source.core.advance(at)
            now = market.now
            assert now <= whole.now + timedelta(days=2)
            assert market.overview() == whole.overview(as_of=now)
            assert market.bars("BTC") == whole.bars("BTC", as_of=now)
            assert market.open_interest("BTC") == whole.open_interest("BTC", as_of=now)
            known = [row for row in ORDERS if due(row) <= at]
            assert by_time(market.iter_orders()) == by_time(wanted(known))
            assert market.history("BTC", start=START, end=START + 4 * DAY).to_pandas()["cnt"].sum() == sum(
                row["symbol"] == "BTCUSDT" for row in known
            )
            if hours:
                assert market.levels("BTC") == whole.levels("BTC", as_of=now)
                assert market.coverage("1h") == whole.coverage("1h", as_of=now)
            with pytest.raises(BadQuery) as raised:
                market.overview(as_of=now + timedelta(milliseconds=1))
            assert raised.value.parameter == "as_of"
            assert market.orders(limit=1).meta["replayed"] is True
            assert "replayed" in repr(market.orders(limit=1))
        assert "replayed" not in whole.orders(limit=1).meta


def test_a_replay_begins_and_ends_at_its_bounds(archive):
    start, end = START + DAY, START + 2 * DAY
    with driven(archive, start, end) as market:
        assert int(market.now.timestamp() * 1000) == start
        before = [row for row in ORDERS if due(row) <= start]
        assert len(list(market.iter_orders())) == len(before)
        with market.stream_orders() as stream:
            market._source.core.advance(START + 9 * DAY)
            assert list(stream) == wanted([row for row in ORDERS if start < due(row) <= end])
        assert market._source.core.clock == (end, end)
        assert int(market.now.timestamp() * 1000) <= end


def test_an_estimate_is_cached_until_a_bar_closes(archive):
    with driven(archive, START + DAY) as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        first = client.heatmap("BTC", "12h")
        market._source.core.advance(START + DAY + 4 * MINUTE)
        assert (client.heatmap("BTC", "12h").matrix == first.matrix).all()
        market._source.core.advance(START + DAY + 21 * MINUTE)
        assert client.heatmap("BTC", "12h").times[-1] > first.times[-1]


def test_a_server_streams_a_replay_and_its_end(archive):
    market = driven(archive, START + DAY)
    later = wanted([row for row in ORDERS if due(row) > START + DAY])
    with market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        # A client connects when it first waits, so the place to go on from is named.
        place = market.stream_orders().last_event_id
        with client.stream_orders(last_event_id=place) as stream:
            market._source.core.advance(START + DAY + 6 * 3_600_000)
            market._source.core.advance(START + 9 * DAY)
            assert [next(stream) for _ in later[-3:]] == later[:3]
        assert client.overview() == market.overview()


def test_closing_a_market_ends_its_streams(archive):
    market = driven(archive)
    stream = market.stream_orders()
    got = []
    reading = threading.Thread(target=lambda: got.extend(stream))
    reading.start()
    market.close()
    reading.join(60)
    assert not reading.is_alive()
    assert got == []
    with pytest.raises(RuntimeError, match="closed"):
        market.overview()


def test_a_replay_pickles_as_its_path_and_position(archive):
    with driven(archive) as market:
        market._source.core.advance(START + DAY)
        with pickle.loads(pickle.dumps(market)) as again:
            assert again.now == market.now
            assert again.overview() == market.overview()
        made_by, made_of = market.__reduce__()
        assert made_by is _replayed
        assert made_of[0] == os.path.realpath(archive)
        assert repr(market).startswith(f"Market(replay of archive {archive!r}, ")


FORK = """
import os, sys, warnings
import liqdata

warnings.simplefilter("ignore", liqdata.NotCovered)  # nothing has arrived yet

market = liqdata.replay(sys.argv[1], speed=1)
market.overview()
child = os.fork()
if child == 0:
    try:
        market.overview()
    except liqdata.ArchiveError as error:
        os._exit(0 if "before a fork" in str(error) else 1)
    os._exit(2)
assert os.waitpid(child, 0) == (child, 0)
market.overview()
"""


def test_a_forked_child_has_to_make_its_own(archive):
    done = subprocess.run(
        [sys.executable, "-c", FORK, archive], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "asked, parameter, words",
    [
        ({"speed": 0}, "speed", "a number above 0"),
        ({"speed": -60}, "speed", "a number above 0"),
        ({"speed": float("nan")}, "speed", "a number above 0"),
        ({"speed": float("inf")}, "speed", "a number above 0"),
        ({"speed": "fast"}, "speed", "not a number"),
        ({"start": START + 9 * DAY}, "start", "no row arrives after"),
        ({"start": START, "end": START}, "end", "is not after the start"),
        ({"start": "yesterday"}, "start", "is not an instant"),
        ({"path": "s3://bucket/prefix"}, "path", "on this machine"),
    ],
)
def test_a_replay_refuses_an_invalid_argument_by_name(archive, asked, parameter, words):
    with pytest.raises(BadQuery) as raised:
        liqdata.replay(**{"path": archive} | asked)
    assert raised.value.parameter == parameter
    assert words in str(raised.value)


def test_a_replay_needs_an_archive_with_rows(tmp_path):
    with pytest.raises(ArchiveError):
        liqdata.replay(tmp_path / "none")
    _core.ArchiveWriter(tmp_path / "empty").close()
    with pytest.raises(BadQuery, match="no rows that arrive"):
        liqdata.replay(tmp_path / "empty")


def test_a_replay_runs_at_the_given_speed(archive):
    with liqdata.replay(archive, speed=1_000_000) as market, market.stream_orders() as stream:
        assert list(stream) == wanted(ORDERS)
    assert "1e+06 times as fast" in repr(market)


# A simulation that goes on.


@pytest.fixture(scope="module")
def begun():
    return liqdata.demo()


def test_a_live_demo_begins_as_the_demo_and_goes_on_from_there(begun):
    now = int(begun.now.timestamp() * 1000)
    with _live(0, now, None) as market:
        assert market.simulated
        assert not market.replayed
        assert market.now == begun.now
        assert market.symbols == begun.symbols
        before = begun.iter_orders().to_arrow(decimals="decimal")
        assert market.iter_orders().to_arrow(decimals="decimal") == before
        assert market.bars("SOL") == begun.bars("SOL")
        assert market.true_positions("BTC") == begun.true_positions("BTC")
        assert (market.heatmap("BTC", "24h").matrix == begun.heatmap("BTC", "24h").matrix).all()
        levels = market.levels("BTC")
        assert market.levels("BTC") == levels == begun.levels("BTC")
        with market.stream_orders() as stream:
            market._source.core.advance(now + 3 * 3_600_000)
            arrived = [next(stream) for _ in range(len(market.iter_orders().to_arrow()) - len(before))]
        assert arrived
        # An answer that was computed before new rows is not given again.
        assert market.levels("BTC") == market.levels("BTC", as_of=market.now) != levels
        assert [row["timestamp"] for row in arrived] == sorted(row["timestamp"] for row in arrived)
        assert all(now < row["timestamp"] <= now + 3 * 3_600_000 for row in arrived)
        assert market.orders(limit=1).meta["simulated"] is True
        # The truth moves with it: every position lies where the price has not been.
        price = market.bars("BTC")[-1]["close"]
        positions = market.true_positions("BTC")
        for row in positions:
            assert (row["liquidation_price"] < price) == (row["side"] == "LONG")
        assert positions != begun.true_positions("BTC")
        tables = {name: market.bars(name).to_arrow() for name in ("BTC",)}
        assert liqdata.Market(bars=tables["BTC"]).now <= market.now
        with pickle.loads(pickle.dumps(market)) as again:
            assert again.now == market.now
            assert again.overview() == market.overview()
        with pytest.raises(RuntimeError, match="count as observed"):
            market.export("file:///nowhere")


def test_a_speed_without_movement_is_refused():
    with pytest.raises(BadQuery, match="live=True"):
        liqdata.demo(speed=60)
