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


def test_an_answer_of_our_server_is_as_of_its_market():
    market = samples.simulated()
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert client.coins().meta["as_of"] == market.now
        assert client.heatmap("BTC").meta["as_of"] == market.now
        assert client.orders().meta["age"] == market.orders().meta["age"]


def test_an_answer_of_another_service_is_as_of_its_date_header(connect, script):
    assert as_of(connect, script(answer(ROWS, date=DATE))) == LONG_AGO


@pytest.mark.parametrize("header", [{}, {"date": "yesterday"}, {"x_liqdata_now": "now"}, {"x_liqdata_now": str(2**62)}])
def test_an_answer_without_a_date_is_as_of_the_local_clock(connect, script, header):
    before = datetime.now(UTC)
    assert before <= as_of(connect, script(answer(ROWS, **header))) <= datetime.now(UTC)


def test_the_instant_of_our_market_precedes_the_date_header(connect, script):
    found = as_of(connect, script(answer(ROWS, date=DATE, x_liqdata_now="1000000000500")))
    assert found == LONG_AGO.replace(microsecond=500_000)


# Instants that are not known yet.


@pytest.mark.parametrize("ask", ["overview", "coins", "orders", "heatmap", "levels", "bars", "history", "coverage"])
def test_an_instant_in_the_future_is_refused(ask):
    market = samples.simulated()
    with pytest.raises(liqdata.BadQuery, match="2030-01-01") as caught:
        getattr(market, ask)(as_of="2030-01-01")
    assert caught.value.parameter == "as_of"
    assert f"{market.now:%Y-%m-%dT%H:%M:%S}" in str(caught.value)


def test_one_future_instant_of_several_is_refused():
    market = samples.simulated()
    with pytest.raises(liqdata.BadQuery, match="2030-01-01") as caught:
        market.levels("BTC", as_of=[market.now, "2030-01-01"])
    assert caught.value.parameter == "as_of"
