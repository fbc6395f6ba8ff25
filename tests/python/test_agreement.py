"""Market, Client and AsyncClient say the same of one archive of weeks, method by method, over a real socket."""

import pytest
import weeks
from samples import DAY, HOUR, MINUTE, NOW

import liqdata
from liqdata import AsyncClient, BadQuery, Client, Market, Refused

# What is asked of each method; a refusal has to be the same as well.
ASKED = {
    "overview": [{}],
    "coins": [{}, {"range": "4h", "limit": 2}, {"range": "2h"}, {"limit": 0}],
    "exchanges": [{}, {"range": "1d"}],
    "largest": [{}, {"range": "12h", "limit": 1000}],
    "orders": [
        {},
        {"symbol": "BTC", "limit": 1000},
        {"symbol": ["BTCUSDT", "eth-usdt"], "exchange": "OKX"},
        {"limit": 7, "offset": 40},
        {"symbol": "NOSUCH"},
        {"exchange": "bnance"},
    ],
    "chart": [{}, {"symbol": "BTC"}, {"symbol": ("BTCUSDT", "PEPE")}],
    "heatmap": [{}, {"symbol": "ETH", "range": "7d", "model": 3}, {"symbol": ["BTC", "ETH"], "range": "12h"}],
    "liqmap": [{}, {"symbol": "ETH-PERP", "range": "7d"}, {"symbol": "BTC", "bin": 250.0}, {"symbol": "SOL"}],
    "levels": [{}, {"symbol": ["BTC", "ETH"]}, {"model": 3}],
    "maxpain": [{}, {"symbol": "ETH"}, {"model": 7}],
    "history": [
        {},
        {"by": (), "interval": "1d", "start": NOW - 20 * DAY},
        {"by": ("side", "exchange"), "interval": "5m", "start": NOW - 9 * DAY, "end": NOW - 8 * DAY},
        {"start": NOW + 2 * DAY},
    ],
    "cascades": [{}, {"symbol": "BTC", "gap": "5m", "min_usd": 0, "start": NOW - 9 * DAY}, {"gap": "2d"}],
    "undercount": [{}, {"range": "4h"}, {"range": "2d"}],
    "coverage": [{}, {"range": "1h"}, {"range": "1d"}, {"range": "3h"}],
    "gaps": [{}, {"start": NOW - DAY}, {"end": NOW - DAY}, {"start": NOW, "end": NOW - 1}],
    "bars": [
        {},
        {"symbol": "ETH-USDT", "interval": "1h", "start": NOW - 10 * DAY, "end": NOW - 9 * DAY},
        {"symbol": ["BTC", "ETH"], "start": NOW - HOUR},
        {"symbol": "SOL"},
        {"symbol": "BTCC"},
        {"interval": "7m"},
        {"interval": "90s"},
    ],
    "open_interest": [
        {},
        {"symbol": "ETH", "start": NOW - 3 * DAY, "end": NOW - 2 * DAY},
        {"symbol": ("BTC", "ETH"), "start": NOW - HOUR},
        {"symbol": "BTCC"},
    ],
    "maps": [
        {},
        {"symbol": "BTC", "kind": "levels", "start": NOW - DAY},
        {"version": "unknown"},
        {"version": "2.abc", "end": NOW},
        {"kind": "chart"},
        {"version": " "},
    ],
}
# Asked in tests of their own: a walk, and what waits for what is still to come.
ELSEWHERE = {"iter_orders": "below", "stream_orders": "test_stream.py"}
# What a connection has, and what a market has of its own.
APART = {"close", "aclose", "base_url", "export", "now", "replayed", "simulated", "symbols", "true_positions"}


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
def test_every_public_method_is_asked(kind):
    assert public(kind) - APART == ASKED.keys() | ELSEWHERE.keys()


def outcome(ask):
    """What was answered, or how it was refused."""
    try:
        return ask()
    except (BadQuery, Refused) as error:
        return type(error), getattr(error, "parameter", None), getattr(error, "status", None)


def dtypes(rows):
    return [
        rows.columns,
        [str(dtype) for dtype in rows.to_pandas().dtypes],
        rows.to_polars().schema,
        rows.to_arrow().schema,
    ]


def agree(told, wanted, asked):
    assert type(told) is type(wanted), asked
    if isinstance(wanted, dict) and any(isinstance(each, liqdata.Rows) for each in wanted.values()):
        assert told.keys() == wanted.keys(), asked
        for name, rows in wanted.items():
            agree(told[name], rows, (asked, name))
        return
    assert told == wanted, asked
    if isinstance(wanted, liqdata.Rows):
        assert dtypes(told) == dtypes(wanted), asked
        assert told.meta["as_of"] == wanted.meta["as_of"], asked
        assert told.meta["age"] == wanted.meta["age"], asked


@pytest.mark.parametrize("method", ASKED)
def test_they_answer_and_refuse_alike(local, served, connect, method):
    client = connect(served)
    answered = 0
    for asked in ASKED[method]:
        wanted = outcome(lambda asked=asked: getattr(local, method)(**asked))
        told = outcome(lambda asked=asked: getattr(client, method)(**asked))
        agree(told, wanted, (method, asked))
        answered += not isinstance(wanted, tuple)
    assert answered, "something has to be answered"


def test_the_archive_has_something_to_tell(local):
    """So that agreement is not that of nothing with nothing."""
    for method in ("orders", "history", "coverage", "gaps", "bars", "open_interest", "maps"):
        assert len(getattr(local, method)()) > 1, method
    assert len(local.gaps(start=NOW - 95 * MINUTE)) == 1
    assert local.maps().meta["versions"] == ["2.abc", None]
    assert len(local.history(by=(), interval="1d", start=NOW - 20 * DAY)) == 21
