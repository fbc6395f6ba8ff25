"""An hour of a live market, sped up: the long form for ``make soak``."""

import os

import pytest
from chromium import until

import liqdata

SPEED = 60
MINUTE = 60_000 / SPEED  # of the market, in milliseconds


def _counted(page, tools):
    """The size of the heap after a collection, in bytes, and the number of elements."""
    tools.send("HeapProfiler.collectGarbage")
    heap = tools.send("Runtime.getHeapUsage")["usedSize"]
    return heap, page.evaluate("document.getElementsByTagName('*').length")


@pytest.mark.skipif(not os.environ.get("LIQDATA_SOAK"), reason="an hour of a market: make soak")
def test_an_hour_of_a_live_market_grows_neither_memory_nor_elements(visit):
    with liqdata.demo(seed=6, live=True, speed=SPEED) as market, liqdata.serve(market) as server:
        page = visit(f"{server.url}/#min_usd=0&coin=all")
        until(page, "document.querySelector('.map').dataset.map !== undefined")
        tools = page.context.new_cdp_session(page)
        page.wait_for_timeout(30 * MINUTE)  # until the lists of the page are full
        heap, elements = _counted(page, tools)
        page.wait_for_timeout(60 * MINUTE)
        after, left = _counted(page, tools)
        assert page.get_attribute("[data-liqdata-state]", "data-liqdata-state") == "live"
    assert after < 1.1 * heap + 2e6
    assert abs(left - elements) < 200
