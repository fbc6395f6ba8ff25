"""The package as such: what importing it costs, what it names, how its parts travel and end."""

import asyncio
import copy
import importlib.metadata
import importlib.resources
import inspect
import json
import pickle
import subprocess
import sys
import typing
from datetime import UTC, datetime
from weakref import WeakValueDictionary

import pytest
import samples

import liqdata
from liqdata import AsyncClient, Client, Market

TEN = ["overview", "coins", "exchanges", "largest", "orders", "chart", "heatmap", "liqmap", "levels", "maxpain"]


def script(body):
    done = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, timeout=240, check=False, cwd=samples.HERE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- what importing costs


HEAVY = [
    "numpy",
    "asyncio",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "xarray",
    "matplotlib",
    "requests",
    "tqdm",
    "rich",
]


@pytest.mark.parametrize(
    "statement", ["import liqdata", "import liqdata.errors", "from liqdata import BadQuery, Refused"]
)
def test_importing_the_package_loads_no_other_library(statement):
    body = f"import sys; {statement}; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert script(body) == "[]"


def test_a_blocking_answer_loads_neither_asyncio_nor_frames():
    body = f"""
import sys, liqdata, samples
market = samples.market()
list(market.orders()), market.overview(), market.maxpain("BTC"), market.heatmap("BTC")
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    assert script(body) == "['numpy']"


def test_every_public_name_is_there_and_listed():
    assert len(set(liqdata.__all__)) == len(liqdata.__all__)
    for name in liqdata.__all__:
        assert getattr(liqdata, name) is not None, name
    assert set(liqdata.__all__) <= set(dir(liqdata))
    assert script("import liqdata; print(set(liqdata.__all__) <= set(dir(liqdata)))") == "True"
    for name in ("Client", "AsyncClient", "Market", "demo", "serve", "Rows", "Heatmap", "LiquidationMap", "errors"):
        assert name in liqdata.__all__
    star = {}
    exec("from liqdata import *", star)  # noqa: S102 - the statement is what is tested
    assert set(liqdata.__all__) <= set(star)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = liqdata.nonsense
    assert not hasattr(liqdata, "numpy")


def test_a_lazy_name_is_the_one_its_module_has():
    from liqdata import client, errors, market
    from liqdata.results import heatmap, rows

    assert liqdata.Client is client.Client
    assert liqdata.Market is market.Market
    assert liqdata.Rows is rows.Rows
    assert liqdata.Heatmap is heatmap.Heatmap
    assert liqdata.BadQuery is errors.BadQuery
    for name in set(errors.__all__) - {"Defect"}:
        assert getattr(liqdata, name) is getattr(errors, name)


def test_the_version_is_that_of_the_distribution():
    assert liqdata.__version__ == importlib.metadata.version("liqdata")
    assert all(part.isdecimal() for part in liqdata.__version__.split(".")[:2])


def test_the_package_says_that_it_is_typed():
    files = importlib.resources.files(liqdata)
    assert files.joinpath("py.typed").is_file()
    assert files.joinpath("_core.pyi").is_file()


# --- signatures


SIGNATURES = {
    "overview": {},
    "coins": {"range": "24h", "limit": 30},
    "exchanges": {"range": "24h"},
    "largest": {"range": "24h", "limit": 20},
    "orders": {"symbol": None, "exchange": None, "limit": 50, "offset": 0},
    "chart": {"symbol": "BTCUSDT"},
    "heatmap": {"symbol": "BTC", "range": "24h", "model": 2},
    "liqmap": {"symbol": "BTC", "range": "1d"},
    "levels": {"symbol": "BTC"},
    "maxpain": {"symbol": "BTC"},
}
WALK = {"page_size": 1000, "max_rows": None, "progress": False, "min_usd": None}
OPTIONS = {
    "timeout": 10.0,
    "connect_timeout": 5.0,
    "retries": 4,
    "rate_limit": None,
    "max_body": 64 * 2**20,
    "decimals": "decimal",
    "headers": None,
    "proxy": None,
    "token": None,
}


def parameters(function, kind):
    found = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in found if one.kind is kind and one.name != "self"}


def positional(function):
    return parameters(function, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def named(function):
    return parameters(function, inspect.Parameter.KEYWORD_ONLY)


@pytest.mark.parametrize("kind", [Client, AsyncClient, Market])
@pytest.mark.parametrize("method", TEN)
def test_every_source_takes_the_contracts_parameters_and_defaults(kind, method):
    function = getattr(kind, method)
    assert list(positional(function).items()) == list(SIGNATURES[method].items())
    further = {
        "overview": ("range", "start", "end"),
        "coins": ("start", "end"),
        "exchanges": ("start", "end"),
        "largest": ("symbol", "exchange", "min_usd", "start", "end"),
        "orders": ("min_usd", "start", "end"),
        "heatmap": ("exchange", "source"),
        "liqmap": ("model", "bin", "opened", "exchange", "source"),
        "levels": ("model", "exchange"),
        "maxpain": ("model", "source", "exchange"),
    }
    ours = dict.fromkeys((*further.get(method, ()), "as_of"))
    ours |= {"groups": False} if method == "orders" else {}
    ours |= {"span": "reach", "view": "modelled"} if method in {"heatmap", "liqmap"} else {}
    ours |= {"opened": "ever"} if method == "heatmap" else {}
    ours |= {"headline": "reach"} if method in {"levels", "maxpain"} else {}
    ours |= {"source": None} if kind is Market and method in {"overview", "coins", "exchanges", "orders"} else {}
    assert named(function) == ours | ({"explain": False} if "model" in SIGNATURES[method] or "model" in ours else {})


@pytest.mark.parametrize("kind", [Client, AsyncClient, Market])
def test_every_source_walks_the_feed_with_the_same_options(kind):
    assert positional(kind.iter_orders) == {"symbol": None, "exchange": None}
    ours = dict.fromkeys(("min_usd", "start", "end", "as_of")) | {"groups": False, "oldest_first": False}
    ours |= {"source": None} if kind is Market else {}
    assert named(kind.iter_orders) == WALK | ours


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_clients_take_the_options_of_the_documentation(kind):
    assert positional(kind.__init__) == {"base_url": None}
    assert named(kind.__init__) == OPTIONS


def test_markets_demos_and_servers_take_what_the_documentation_says():
    assert positional(Market.__init__) == dict.fromkeys(("orders", "bars", "open_interest", "liquidations"))
    tables = {"exchange": None, "new_exchange": False, "quote_rates": None}
    assert named(Market.__init__) == tables | {"now": None, "progress": False}
    assert positional(liqdata.demo) == {}
    assert named(liqdata.demo) == {"seed": 0, "now": None, "live": False, "speed": 1.0, "progress": False}
    assert list(positional(liqdata.serve)) == ["market", "host", "port"]
    assert inspect.signature(liqdata.serve).parameters["host"].default == "127.0.0.1"
    assert inspect.signature(liqdata.serve).parameters["port"].default == 0
    assert positional(Market.coverage) == {"range": "24h"}


def public(kind):
    return [
        (name, member)
        for base in kind.__mro__
        if base.__module__.startswith("liqdata")
        for name, member in vars(base).items()
        if inspect.isfunction(member) and (not name.startswith("_") or name == "__init__")
    ]


@pytest.mark.parametrize("kind", [Client, AsyncClient, Market, liqdata.Rows, liqdata.Heatmap, liqdata.LiquidationMap])
def test_every_public_method_is_typed_and_documented(kind):
    for name, function in public(kind):
        signature = inspect.signature(function)
        for parameter in list(signature.parameters.values())[1:]:
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter.name)
        assert signature.return_annotation is not inspect.Signature.empty, name
        assert name == "__init__" or inspect.getdoc(function), name


@pytest.mark.parametrize("kind", [Client, AsyncClient, Market])
@pytest.mark.parametrize("method", [name for name, defaults in SIGNATURES.items() if "symbol" in defaults])
def test_one_symbol_and_many_have_overloads_of_their_own(kind, method):
    # Estimates are made at one instant or at several.
    instants = 2 if method in {"heatmap", "liqmap", "levels", "maxpain"} else 1
    assert len(typing.get_overloads(getattr(kind, method))) == 2 * instants


def test_the_shapes_of_rows_can_be_imported():
    from liqdata import types

    for name in types.__all__:
        assert getattr(types, name) is not None
    market = samples.simulated()
    for kind, answer in (
        (types.OrderRow, market.orders(groups=True)),
        (types.CoinRow, market.coins()),
        (types.ExchangeRow, market.exchanges()),
        (types.ChartRow, market.chart()),
        (types.CoverageRow, market.coverage()),
        (types.BarRow, market.bars()),
        (types.PositionRow, market.true_positions()),
    ):
        assert list(kind.__annotations__) == answer.columns
    keys = list(types.Overview.__annotations__)
    assert [key for key in keys if key in types.Overview.__required_keys__] == list(market.overview())
    assert [*market.overview(range="7d")][-1] in keys
    assert list(types.Levels.__annotations__) == list(market.levels())
    assert list(types.MaxPain.__annotations__) == list(market.maxpain())


# --- pickling


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_answer_pickles(protocol):
    market = samples.simulated()
    answers = {**samples.ten(market), "many": market.heatmap(["BTC", "ETH"], "12h"), "truth": market.true_positions()}
    back = pickle.loads(pickle.dumps(answers, protocol=protocol))
    assert back == answers
    for name, answer in answers.items():
        assert type(back[name]) is type(answer)
        assert getattr(back[name], "meta", None) == getattr(answer, "meta", None)


def test_a_market_of_tables_pickles_with_all_its_answers():
    orders = samples.orders()
    orders["received_at"] = [at + 1000 * place for place, at in enumerate(orders["timestamp"])]
    bases = [symbol.partition("USD")[0].lower() for symbol in orders["symbol"]]
    orders["coin"] = [None if place % 2 else base for place, base in enumerate(bases)]
    market = Market(orders=orders, bars=samples.bars(), open_interest=samples.open_interest())
    back = pickle.loads(pickle.dumps(market))
    assert (back.now, back.symbols, back.simulated) == (market.now, market.symbols, False)
    for options in ({}, {"as_of": market.now}, {"as_of": samples.NOW - samples.HOUR}):
        assert samples.ten(back, **options) == samples.ten(market, **options)
    again = pickle.loads(pickle.dumps(back))
    assert samples.ten(again) == samples.ten(market)
    assert samples.ten(copy.deepcopy(market)) == samples.ten(market)


def test_a_simulated_market_pickles_as_its_seed(monkeypatch):
    market = samples.simulated()
    packed = pickle.dumps(market)
    assert len(packed) < 1000
    # In a process that has not made it.
    monkeypatch.setattr(liqdata.market, "_made", WeakValueDictionary())
    back = pickle.loads(packed)
    assert back.simulated
    assert back.orders() == market.orders()
    assert back.true_positions("SOL") == market.true_positions("SOL")


def test_a_client_pickles_with_its_options():
    with Client("http://127.0.0.1:9/prefix/", timeout=3.5, retries=1, decimals="float", rate_limit=2.0) as client:
        back = pickle.loads(pickle.dumps(client))
    assert back.base_url == client.base_url
    assert back._source.options.portable_options == client._source.options.portable_options
    assert back._source.options.decimals == "float"
    back.close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "secrets",
    [{"headers": {"X-Key": "hush-hush"}}, {"proxy": "http://me:hush-hush@127.0.0.1:3128"}],
    ids=["headers", "proxy"],
)
def test_a_client_with_secrets_refuses_to_pickle_and_never_shows_them(kind, secrets):
    client = kind("http://127.0.0.1:9", **secrets)
    with pytest.raises(TypeError, match="make it in the worker") as caught:
        pickle.dumps(client)
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(client)


# --- closing


def test_a_closed_market_refuses_every_question():
    with Market() as market, pytest.warns(liqdata.NotCovered):
        assert market.orders() == []
    for method in [*TEN, "iter_orders", "bars", "coverage", "true_positions"]:
        with pytest.raises(RuntimeError, match="market is closed"):
            getattr(market, method)()
    for method in ("orders", "chart", "heatmap", "liqmap", "levels", "maxpain"):
        for symbols in ([], ["NOPE"]):
            with pytest.raises(RuntimeError, match="market is closed"):
                getattr(market, method)(symbols)
    assert "closed" in repr(market)
    market.close()


def test_a_closed_client_refuses_every_question():
    with Client("http://127.0.0.1:9") as client:
        pass
    for method in [*TEN, "iter_orders"]:
        with pytest.raises(RuntimeError, match=r"^client is closed$"):
            getattr(client, method)()
    assert "closed" in repr(client)
    client.close()


def test_every_way_to_wait_on_a_closed_client_is_an_error_of_this_package(server):
    client = Client(server.url)
    stream, cascades, walk = client.stream_orders(), client.stream_cascades(), client.iter_orders(page_size=1000)
    maps = client.heatmap("BTC", as_of=["2026-05-31", "2026-06-01"])
    next(walk)
    client.close()
    waits = (
        lambda: next(stream),
        lambda: next(cascades),
        lambda: next(maps),
        client.coverage,
        lambda: client.levels(["BTC", "ETH"]),
        client.stream_orders,
    )
    for wait in waits:
        with pytest.raises(liqdata.errors.WrongState, match=r"^client is closed$") as caught:
            wait()
        assert isinstance(caught.value, liqdata.LiqdataError)
        assert repr(pickle.loads(pickle.dumps(caught.value))) == repr(caught.value)

    async def ask():
        client = AsyncClient(server.url)
        stream = client.stream_orders()
        await client.aclose()
        for wait in (client.coins, lambda: anext(stream), lambda: client.levels(["BTC", "ETH"])):
            with pytest.raises(liqdata.errors.WrongState, match=r"^client is closed$"):
                await wait()

    asyncio.run(ask())


def test_a_coroutine_outside_of_asyncio_names_it():
    client = AsyncClient("http://127.0.0.1:9")
    for begin in (client.coins, lambda: anext(client.stream_orders()), lambda: anext(client.iter_orders())):
        with pytest.raises(liqdata.errors.WrongState, match=r"AsyncClient needs asyncio; .* await trio\.to_thread"):
            begin().__await__().__next__()  # as another event loop runs it


def test_a_callback_keeps_its_own_error(market):
    def fail(*_):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match=r"^mine$") as caught:
        market.orders(limit=5).to_pandas(progress=fail)
    assert type(caught.value) is RuntimeError


def test_what_a_market_cannot_do_is_an_error_of_this_package(tmp_path):
    with Market() as market:
        for call in (market.true_positions, lambda: market.export(tmp_path / "copy")):
            with pytest.raises(liqdata.errors.WrongState):
                call()


def test_a_closed_market_cannot_be_served():
    market = Market()
    market.close()
    with pytest.raises(RuntimeError, match="market is closed"):
        liqdata.serve(market)


# --- the simulated market


DIGEST = """
import hashlib, json, liqdata

def digest(seed):
    market = liqdata.demo(seed=seed, now="2026-06-01T00:00Z")
    parts = [list(market.iter_orders("BTC")), list(market.coins("1M")), list(market.exchanges("1M")),
             list(market.true_positions("BTC")), list(market.bars("ETH")),
             market.maxpain("SOL"), market.heatmap("BTC", "7d", 3).matrix.tobytes().hex()]
    return [market.now.isoformat(), hashlib.sha256(repr(parts).encode()).hexdigest()]
"""


def test_a_seed_gives_the_same_market_in_every_process():
    here = {}
    exec(DIGEST, here)  # noqa: S102 - the same text here and there
    first, other = json.loads(script(f"{DIGEST}\nprint(json.dumps([digest(0), digest(1)]))"))
    assert first == here["digest"](0)
    assert other[0] == first[0]
    assert other[1] != first[1]


def test_markets_of_one_seed_share_what_was_made_and_are_closed_each_by_itself():
    first = liqdata.demo()
    second = liqdata.demo()
    assert second is not first
    assert second._source.core is first._source.core
    assert liqdata.demo(now="2026-05-31")._source.core is not first._source.core
    first.close()
    with pytest.raises(RuntimeError, match="market is closed"):
        first.overview()
    assert second.orders() == samples.simulated().orders()


def test_progress_of_a_new_simulated_market_is_reported():
    stated = []
    made = samples.simulated()
    with liqdata.demo(progress=lambda done, of: stated.append((done, of))) as market:
        assert stated[-1][0] == stated[-1][1] > 0
        assert market._source.core is not made._source.core


def test_the_simulated_market_has_enough_coins_exchanges_bars_and_orders():
    market = samples.simulated()
    assert market.simulated
    assert {"BTC", "ETH", "SOL"} < set(market.symbols)
    assert len(market.symbols) >= 9
    orders = list(market.iter_orders())
    assert len({row["exchange"] for row in orders}) >= 5
    now = round(market.now.timestamp() * 1000)
    assert all(now - 30 * samples.DAY <= row["timestamp"] <= now for row in orders)
    for coin in market.symbols:
        bars = market.bars(coin)
        assert (now - bars[0]["timestamp"]) == 30 * samples.DAY
        assert all(row["low"] <= min(row["open"], row["close"]) <= row["high"] for row in bars[::500])
    assert market.now == datetime(2026, 6, 1, tzinfo=UTC)


def test_true_positions_are_open_and_lie_on_their_side_of_the_price():
    market = samples.simulated()
    for symbol in market.symbols:
        price = market.bars(symbol)[-1]["close"]
        positions = market.true_positions(symbol)
        assert positions.columns == ["symbol", "side", "leverage", "entry_price", "liquidation_price", "qty"]
        assert {row["side"] for row in positions} == {"LONG", "SHORT"}
        for row in positions:
            assert row["symbol"] == symbol
            assert row["qty"] > 0
            assert row["leverage"] > 1
            below = row["liquidation_price"] < min(row["entry_price"], price)
            above = row["liquidation_price"] > max(row["entry_price"], price)
            assert below if row["side"] == "LONG" else above
    assert market.true_positions("btc") == market.true_positions("BTC")


def test_only_a_simulated_market_knows_its_positions():
    with pytest.raises(RuntimeError, match="simulated"):
        Market().true_positions("BTC")


def test_the_coins_of_estimates_are_listed_and_the_ranking_is_a_question():
    market = samples.simulated()
    assert market.symbols == sorted(market.symbols)
    assert pickle.loads(pickle.dumps(market.symbols)) == market.symbols
    assert market.coins()[0]["coin"] in market.symbols


def test_coverage_of_tables_is_unknown():
    market = Market(orders=samples.orders(), now=samples.NOW)
    rows = market.coverage("1h")
    assert [row["exchange"] for row in rows] == sorted(samples.VENUES)
    for row in rows:
        assert row["connected_share"] is None
        assert row["completeness"] == "unknown"
        mine = market.orders(exchange=row["exchange"], limit=1000)
        assert row["last_event"] == mine[0]["timestamp"]
        assert row["cnt"] == sum(order["timestamp"] > samples.NOW - samples.HOUR for order in mine)
