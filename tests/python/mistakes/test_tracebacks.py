"""What a mistake looks like on the screen: the line that made it and one of ours, and bugs in full."""

import re
import subprocess
import sys
import textwrap

import pytest
import samples

import liqdata

SETUP = """
import asyncio
import liqdata
import samples

market = samples.market()
server = liqdata.serve(market)
client = liqdata.Client(server.url)
unreachable = liqdata.Client("http://127.0.0.1:9", retries=0)


async def alone(ask):
    async with liqdata.AsyncClient(server.url) as service:
        await ask(service)
"""

MISTAKES = [
    'market.coins(range="2h")',
    'market.overview(as_of="soon")',
    'market.heatmap("NOPE")',
    'market.heatmap(["BTC", "NOPE"])',
    'market.history(by="venue")',
    'market.bars("BTC", interval="7m")',
    'market.coins()["usd"]',
    'market.coins().to_pandas(decimals="exact")',
    'market.heatmap("BTC").plot(price=3)',
    "liqdata.Market(bars=[1])",
    'liqdata.Client("ftp://example.org")',
    'liqdata.open("/nowhere/at/all")',
    'liqdata.symbols.parse("???")',
    'liqdata.feeds.decode("binance", "{")',
    "liqdata.score(3, 3)",
    "liqdata.Model(phi0=9)",
    "liqdata.join_asof(1, 2)",
    'client.coins(range="2h")',
    'client.heatmap("NOPE")',
    'client.history(interval="7s")',
    "client.iter_orders(page_size=0)",
    "unreachable.overview()",
    'unreachable.levels(["BTC", "ETH"])',
]

AWAITED = ['coins(range="2h")', 'heatmap("NOPE")', 'history(by="venue")', 'levels(["BTC", "NOPE"])']


def ours(traceback):
    """The frames of the package in a printed traceback."""
    return re.findall(r'^  File "[^"]*/liqdata/[^"]*", line \d+, in (\S+)$', traceback, re.MULTILINE)


def shown(script, *flags):
    """What Python prints on the end of a script."""
    command = [sys.executable, *flags, "-c", SETUP + textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=samples.HERE)
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout + done.stderr


def printed_of(statements):
    """For each statement what Python prints of its error."""
    lines = "\n".join(
        f"try:\n    {statement}\nexcept Exception:\n    traceback.print_exc()\n    print('=====', file=sys.stderr)"
        for statement in statements
    )
    printed = shown("import sys, traceback\n" + lines).split("=====\n")
    assert len(printed) == len(statements) + 1
    return printed


@pytest.fixture(scope="module")
def tracebacks():
    awaited = [f"asyncio.run(alone(lambda service: service.{call}))" for call in AWAITED]
    return dict(zip([*MISTAKES, *AWAITED], printed_of([*MISTAKES, *awaited]), strict=False))


@pytest.mark.parametrize("mistake", [*MISTAKES, *AWAITED])
def test_a_traceback_has_the_line_of_the_caller_and_one_of_the_package(tracebacks, mistake):
    traceback = tracebacks[mistake]
    assert len(ours(traceback)) == 1, traceback
    assert "During handling" not in traceback
    assert re.search(r"^liqdata\.errors\.\w+: ", traceback, re.MULTILINE), traceback


def test_a_traceback_of_a_failed_walk_has_the_line_that_iterates():
    assert ours(shown("list(unreachable.iter_orders())")) == ["__next__", "_more"]


@pytest.mark.skipif(not hasattr(liqdata._core, "_Faulty"), reason="a release build has no bugs on purpose")
def test_a_bug_is_shown_in_full():
    printed = shown("""
        market._source.core = type("Core", (), {"ask": lambda *_: liqdata._core._Faulty("lost").call()})()
        market.coins()
    """)
    assert ours(printed)[-2:] == ["coins", "ask"]
    assert "please report it: lost (in Market.coins)" in printed


def test_development_mode_has_the_full_traceback():
    assert ours(shown('market.coins(range="2h")', "-X", "dev")) == ["coins", "ask", "question"]


@pytest.mark.parametrize(
    "statement,said",
    [
        ('market.coins(rnge="4h")', "coins() got an unexpected keyword argument 'rnge'; did you mean 'range'?"),
        (
            'client.orders(symbols="BTC")',
            "orders() got an unexpected keyword argument 'symbols'; did you mean 'symbol'?",
        ),
        (
            "market.overview(coin=1)",
            "overview() got an unexpected keyword argument 'coin'; allowed: range, start, end, source, as_of",
        ),
        ("client.overview(1)", "overview() takes 1 positional argument but 2 were given"),
        ("liqdata.demo(sead=1)", "demo() got an unexpected keyword argument 'sead'; did you mean 'seed'?"),
        ("liqdata.Market(oders=1)", "__init__() got an unexpected keyword argument 'oders'; did you mean 'orders'?"),
    ],
)
def test_a_misspelt_parameter_is_refused_with_the_nearest_one(statement, said):
    printed = shown(statement)
    assert said in printed
    assert len(ours(printed)) <= 1
