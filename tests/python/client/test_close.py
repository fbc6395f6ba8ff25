"""What ends with a client, a walk or a server, and what does not."""

import subprocess
import sys
import time

import psutil
import pytest

import liqdata


def established(port):
    mine = psutil.Process().net_connections(kind="tcp")
    return sum(1 for link in mine if link.raddr and link.raddr.port == port and link.status == "ESTABLISHED")


def test_a_closed_client_closes_its_connections(market):
    with liqdata.serve(market) as server:
        port = int(server.url.rpartition(":")[2])
        client = liqdata.Client(server.url)
        client.overview()
        assert established(port) > 0
        client.close()
        deadline = time.monotonic() + 10
        while established(port):
            assert time.monotonic() < deadline, "a connection is still open"


def test_a_failed_walk_fails_again_instead_of_ending(market):
    server = liqdata.serve(market)
    client = liqdata.Client(server.url, retries=0)
    rows = client.iter_orders(page_size=50)
    next(rows)
    server.close()
    with pytest.raises(liqdata.NoAnswer):
        list(rows)
    with pytest.raises(liqdata.NoAnswer):
        next(rows)


# In a process of its own: where a server runs, a thread of it may be the one that hands the records over.
INTERRUPTED = """
import logging, sys
import liqdata

class Interrupting(logging.Handler):
    def emit(self, record):
        raise KeyboardInterrupt(record.name)

logger = logging.getLogger("liqdata.client")
logger.addHandler(Interrupting())
logger.setLevel(logging.DEBUG)
with liqdata.Client(sys.argv[1]) as client:
    try:
        client.overview()
    except KeyboardInterrupt as interrupt:
        print("interrupted by", interrupt)
"""


def test_an_interrupt_during_the_delivery_of_records_is_raised(server):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, server.url], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "interrupted by liqdata.client"


def test_parameters_are_checked_even_without_symbols(market):
    with pytest.raises(liqdata.BadQuery):
        market.heatmap([], range="nope")
    with pytest.raises(liqdata.BadQuery):
        market.orders([], limit=0)
    assert market.chart([]) == {}


def test_rows_of_a_window_have_their_coverage(market):
    covered = market.coins("1h").meta["coverage"]
    assert {row["exchange"] for row in covered} == {row["exchange"] for row in market.exchanges("24h")}
    assert {row["completeness"] for row in covered} == {"complete", "sampled"}


def test_an_estimate_without_open_interest_is_marked_as_relative(market):
    bare = liqdata.Market(bars=market.bars("BTC"))
    assert bare.heatmap("BTC").units.startswith("relative")
    assert bare.liqmap("BTC").units.startswith("relative")
    assert not market.heatmap("BTC").units.startswith("relative")


def test_a_served_estimate_without_open_interest_is_marked_as_relative(market, connect):
    bare = liqdata.Market(bars=market.bars("BTC"))
    with liqdata.serve(bare) as server:
        client = connect(server)
        for _ in range(2):  # the second is the answer as it is kept
            assert client.heatmap("BTC").units == bare.heatmap("BTC").units
            assert client.liqmap("BTC").units == bare.liqmap("BTC").units
    with liqdata.serve(market) as server:
        assert connect(server).heatmap("BTC").units == market.heatmap("BTC").units
