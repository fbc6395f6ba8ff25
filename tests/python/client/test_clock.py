"""Which clock an answer goes by: the service's own, whatever the time is on this machine."""

from datetime import UTC, datetime

import pytest
import samples
from scripted import answer

import liqdata

LONG_AGO = datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
DATE = "Sun, 09 Sep 2001 01:46:40 GMT"
ROWS = {"success": True, "data": []}


def as_of(connect, service):
    rows = connect(service).coins()
    return rows.meta["as_of"]


def test_an_answer_of_ours_is_as_of_its_market():
    market = samples.simulated()
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert client.coins().meta["as_of"] == market.now
        assert client.heatmap("BTC").meta["as_of"] == market.now
        assert client.orders().meta["age"] == market.orders().meta["age"]


def test_one_of_another_service_is_as_of_its_date(connect, script):
    assert as_of(connect, script(answer(ROWS, date=DATE))) == LONG_AGO


@pytest.mark.parametrize("header", [{}, {"date": "yesterday"}, {"x_liqdata_now": "now"}, {"x_liqdata_now": str(2**62)}])
def test_one_that_tells_no_time_is_as_of_this_machine(connect, script, header):
    before = datetime.now(UTC)
    assert before <= as_of(connect, script(answer(ROWS, **header))) <= datetime.now(UTC)


def test_our_markets_instant_goes_before_the_date(connect, script):
    found = as_of(connect, script(answer(ROWS, date=DATE, x_liqdata_now="1000000000500")))
    assert found == LONG_AGO.replace(microsecond=500_000)


# Instants that are not known yet.


@pytest.mark.parametrize("ask", ["overview", "coins", "orders", "heatmap", "levels", "bars", "history", "coverage"])
def test_an_instant_after_the_newest_that_is_known_is_refused(ask):
    market = samples.simulated()
    with pytest.raises(liqdata.BadQuery, match="2030-01-01") as caught:
        getattr(market, ask)(as_of="2030-01-01")
    assert caught.value.parameter == "as_of"
    assert f"{market.now:%Y-%m-%dT%H:%M:%S}" in str(caught.value)


def test_of_several_instants_as_well():
    market = samples.simulated()
    with pytest.raises(liqdata.BadQuery, match="2030-01-01") as caught:
        market.levels("BTC", as_of=[market.now, "2030-01-01"])
    assert caught.value.parameter == "as_of"
