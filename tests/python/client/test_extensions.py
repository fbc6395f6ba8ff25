"""Extensions that only our server is asked for: as_of, explain, several instants; and who is not."""

import asyncio
import os
import signal
import threading
from urllib.request import urlopen

import pytest
from samples import DAY, HOUR, NOW
from scripted import answer

from liqdata import AsyncClient, BadQuery, Client, NoAnswer, Refused, UnexpectedReply
from liqdata.types import CoverageRow

THEN = NOW - DAY
SEVERAL = [THEN - place * HOUR for place in range(9)]
REALISED = ("overview", "coins", "exchanges", "largest", "orders", "chart")
ESTIMATES = ("heatmap", "liqmap", "levels", "maxpain")
OTHERS = ("history", "cascades", "undercount", "coverage", "gaps", "bars", "open_interest", "maps", "positions")
NOWHERE = answer({"success": False}, 404)
OURS = answer({"everywhere": [{"name": "as_of"}, {"name": "explain"}]})


def service_of(index, reply=NOWHERE):
    """A service that says ``index`` of itself and ``reply`` to everything else."""
    return lambda exchange: (index if exchange.request.path == "/api" else reply)(exchange)


def paths(service):
    return {request.path for request in service.requests}


@pytest.mark.parametrize("method", [*REALISED, *ESTIMATES, *OTHERS])
def test_as_of_is_not_asked_of_a_service_that_does_not_announce_it(script, connect, method):
    for index in (NOWHERE, answer(b"<html>"), answer({"everywhere": [{"name": "explain"}]})):
        service = script(service_of(index))
        with pytest.raises(BadQuery, match=f"does not announce as_of for {method}") as refused:
            getattr(connect(service), method)(as_of=THEN)
        assert refused.value.parameter == "as_of"
        assert paths(service) == {"/api"}


@pytest.mark.parametrize("method", ESTIMATES)
def test_neither_are_several_instants_nor_an_explanation(script, connect, method):
    service = script(service_of(NOWHERE))
    for asked, parameter in (({"as_of": SEVERAL}, "as_of"), ({"explain": True}, "explain")):
        with pytest.raises(BadQuery, match=f"does not announce {parameter}") as refused:
            list(getattr(connect(service), method)(**asked))
        assert refused.value.parameter == parameter
    assert paths(service) == {"/api"}


def test_a_failure_to_read_the_list_is_raised(script, connect):
    for status, kind in ((401, Refused), (500, Refused), (403, Refused)):
        service = script(service_of(answer({}, status)))
        with pytest.raises(kind) as refused:
            connect(service, retries=0).coins(as_of=THEN)
        assert refused.value.status == status
    with pytest.raises(NoAnswer):
        connect("http://127.0.0.1:9", retries=0).coins(as_of=THEN)


def test_the_list_is_read_once(server, script, connect):
    rows = answer({"success": True, "data": []})
    service = script(service_of(OURS, rows))
    client = connect(service)
    for _ in range(3):
        client.coins(as_of=THEN)
    assert [request.path for request in service.requests].count("/api") == 1
    assert [request.query["as_of"] for request in service.requests[1:]] == [str(THEN)] * 3


def test_a_question_without_it_is_the_contracts(script, connect):
    service = script(service_of(OURS, answer({"success": True, "data": []})))
    connect(service).coins()
    assert [(request.path, request.query) for request in service.requests] == [
        ("/api/liquidations/coins", {"range": "24h", "limit": "30"})
    ]


def test_a_reply_without_the_explanation_that_was_asked_for_is_unexpected(script, connect):
    levels = {"success": True, "data": {"symbol": "BTC", "price": 1.0, "updatedAt": NOW, "tiers": {}}}
    service = script(service_of(OURS, answer(levels)))
    with pytest.raises(UnexpectedReply, match="explain") as broken:
        connect(service).levels(explain=True)
    assert broken.value.path == "explain"
    assert "explain" not in connect(service).levels().meta


@pytest.mark.parametrize("method", REALISED)
def test_coverage_of_the_answer_is_preferred_and_optional(script, connect, method):
    body = {} if method == "overview" else []
    service = script(service_of(OURS, answer({"success": True, "data": body})))
    assert "coverage" not in getattr(connect(service), method)().meta
    (request,) = service.requests
    assert {name.lower(): text for name, text in request.headers.items()}["prefer"] == "explain"


@pytest.mark.parametrize("method", [*ESTIMATES, "undercount", "coverage", "gaps", "bars", "open_interest", "maps"])
def test_other_queries_do_not_prefer_coverage(script, connect, method):
    service = script(NOWHERE)
    with pytest.raises((BadQuery, Refused)):
        getattr(connect(service), method)()
    assert all("prefer" not in map(str.lower, request.headers) for request in service.requests)


def test_a_service_that_announces_coverage_must_send_it(script, connect):
    def explaining(explain):
        return script(answer({"success": True, "data": [], **explain}, preference_applied="explain"))

    row = dict.fromkeys(CoverageRow.__annotations__) | {
        "exchange": "okx",
        "completeness": "sampled",
        "known_by": "documented",
    }
    row |= {"gaps": 2, "cnt": 7}
    client = connect(explaining({"explain": {"coverage": [row], "and": "more"}}))
    assert client.coins().meta["coverage"] == [row]
    assert "coverage" not in client.history(start=THEN).meta  # not of a time range
    for explain, path in (
        ({}, "explain"),
        ({"explain": 3}, "explain"),
        ({"explain": {"coverage": 3}}, "explain.coverage"),
        ({"explain": {"coverage": [{"exchange": "okx"}]}}, "explain.coverage[0]"),
    ):
        with pytest.raises(UnexpectedReply) as refused:
            connect(explaining(explain)).coins()
        assert refused.value.path.startswith(path)


def test_bars_of_another_coin_are_no_answer(script, connect):
    bar = {"symbol": "BTC", "timestamp": NOW - HOUR, "closes_at": NOW, "interval": HOUR, "volume": 1.0}
    bar |= dict.fromkeys(("open", "high", "low", "close"), 2.0)
    index = answer({"extensions": [{"name": "bars", "path": "/api/bars"}]})
    client = connect(script(service_of(index, answer({"success": True, "data": [bar]}))))
    assert len(client.bars("btcusdt")) == 1
    with pytest.raises(UnexpectedReply, match="'BTC' is not the requested 'ETH'"):
        client.bars("ETH")


def test_explanations_follow_the_unchanged_reply(server):
    for path in ("/api/liq-heatmap?range=12h", "/api/liq-map", "/api/liq-levels", "/api/liq-maxpain"):
        with (
            urlopen(f"{server.url}{path}") as plain,
            urlopen(f"{server.url}{path}{'&' if '?' in path else '?'}explain=1") as explained,
        ):
            body = plain.read()
            assert explained.read().startswith(body[:-1] + b',"explain":{'), path


def test_maps_without_explain_have_no_sides_and_only_the_shown_cells(server):
    with Client(server.url) as client:
        plain, explained = client.heatmap("BTC", "12h"), client.heatmap("BTC", "12h", explain=True)
        assert plain == explained
        assert plain.long is None
        assert (explained.long + explained.short == explained.matrix).all()
        plain, explained = client.liqmap("BTC"), client.liqmap("BTC", explain=True)
        assert plain.fine[4].shape[1] < explained.fine[4].shape[1]
        assert plain.swept(low=plain.prices[0]) == explained.swept(low=plain.prices[0])


def hanging(exchange):
    exchange.until_hung_up()
    return False


def test_instants_are_asked_for_a_few_at_a_time_and_a_cancelled_task_takes_them_back(script):
    service = script(service_of(OURS, hanging))

    async def ask():
        async with AsyncClient(service.url, retries=0, timeout=60) as client:
            asked = asyncio.create_task(client.liqmap(as_of=SEVERAL))
            await asyncio.to_thread(service.until, lambda: len(estimates(service)) == 4)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await asyncio.to_thread(service.until, lambda: service.hung_up >= 4)
            heatmaps = await client.heatmap(as_of=SEVERAL)
            taken = asyncio.create_task(anext(heatmaps))
            await asyncio.to_thread(service.until, lambda: len(estimates(service)) == 8)
            taken.cancel()
            with pytest.raises(asyncio.CancelledError):
                await taken

    asyncio.run(ask())
    service.until(lambda: service.hung_up >= 8)
    assert len(estimates(service)) == 8


def estimates(service):
    return [request for request in service.requests if request.path != "/api"]


@pytest.mark.parametrize("method", ["liqmap", "heatmap"])
def test_an_interrupt_takes_them_back_as_well(script, method):
    service = script(service_of(OURS, hanging))

    def interrupt():
        service.until(lambda: len(estimates(service)) == 4)
        os.kill(os.getpid(), signal.SIGINT)

    with Client(service.url, retries=0, timeout=60) as client:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            list(getattr(client, method)(as_of=SEVERAL))
        thread.join()
        service.until(lambda: service.hung_up >= 4)
    assert len(estimates(service)) == 4


def test_the_first_failure_is_raised_with_its_instant(server):
    with Client(server.url) as client:
        early = "2015-06-18"
        for symbol, note in (
            ("BTC", "as_of: 2015-06-18T00:00:00Z"),
            (["BTC"], "symbol: BTC, as_of: 2015-06-18T00:00:00Z"),
        ):
            with pytest.raises(BadQuery, match="the first observation is of 2026-05-02") as refused:
                client.liqmap(symbol, as_of=[client.overview().meta["as_of"], early])
            assert refused.value.__notes__ == [note]
