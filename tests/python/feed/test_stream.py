"""The orders as they arrive: both clients, the market in this process, and what interrupts a wait."""

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from decimal import Decimal

import pytest
from growing import NOW, Growing, first, growing
from samples import HERE as SUPPORT
from scripted import EVENTS, answer

import liqdata
from liqdata import _core


def take(stream, most):
    return [int(next(stream)["value_usd"]) for _ in range(most)]


def test_rows_equal_the_feed_and_their_ids_are_resume_positions():
    with growing() as (market, server), liqdata.Client(server.url) as client:
        start = first(market)
        market.add(1, 2, 3)
        with client.stream_orders(last_event_id=start) as stream:
            assert stream.last_event_id == start
            rows = [next(stream), next(stream)]
            place = stream.last_event_id
            rows.append(next(stream))
        assert rows == list(client.iter_orders())[::-1]
        assert rows[0]["value_usd"] == Decimal(1)
        assert isinstance(rows[0]["price"], Decimal)
        with client.stream_orders(last_event_id=place) as stream:
            assert take(stream, 1) == [3]


def test_decimals_may_be_floats_in_a_stream():
    with growing() as (market, server), liqdata.Client(server.url, decimals="float") as client:
        start = first(market)
        market.add(1)
        with client.stream_orders(last_event_id=start) as stream:
            assert type(next(stream)["price"]) is float


def test_filters_are_those_of_the_pages():
    with growing() as (market, server), liqdata.Client(server.url) as client:
        start = first(market)
        market.add(*range(1, 13))
        with client.stream_orders("btcusdt", "OKX", last_event_id=start) as stream:
            assert take(stream, 4) == [1, 5, 7, 11]
        inside = market.stream_orders("btcusdt", "OKX", last_event_id=start)
        assert take(inside, 4) == [1, 5, 7, 11]


@pytest.mark.parametrize("options", [{"symbol": "OKX:BTC"}, {"exchange": " "}, {"last_event_id": "a b"}])
def test_an_invalid_argument_is_refused_before_a_request(market, options):
    parameter = next(iter(options))
    client = liqdata.Client("http://127.0.0.1:1")
    for source in (client, liqdata.AsyncClient("http://127.0.0.1:1"), market):
        with pytest.raises(liqdata.BadQuery) as caught:
            source.stream_orders(**options)
        assert caught.value.parameter == parameter


def test_the_stream_of_tables_ends_and_that_of_a_growing_market_waits(market):
    assert list(market.stream_orders()) == []
    grown = Growing()
    stream = grown.stream_orders()
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(take(stream, 2)))
    thread.start()
    grown.add(1)
    grown.add(2)
    thread.join(30)
    assert seen == [1, 2]


def test_a_gap_is_refused_with_410_and_the_stream_continues():
    with growing(stored=2) as (market, server), liqdata.Client(server.url) as client:
        lost = first(market)
        market.add(1, 2, 3, 4, 5)
        for source in (client, market):
            stream = source.stream_orders(last_event_id=lost)
            with pytest.raises(
                liqdata.Refused, match=r"read (them|the skipped orders) with orders\(\) or iter_orders\(\)"
            ) as caught:
                next(stream)
            assert caught.value.status == 410
            assert stream.last_event_id == first(market)
            market.add(6)
            assert take(stream, 1) == [6]


@pytest.mark.parametrize("index", [answer({}, 404), answer({"extensions": [{"name": "bars"}]})], ids=["none", "a list"])
@pytest.mark.parametrize("page", [(b"{}", 404), (b"{}", 405), (b"<html>", 200)], ids=["404", "405", "a page"])
def test_a_service_without_a_stream_names_the_alternatives(script, connect, index, page):
    reply = answer(*page)
    service = script(lambda exchange: (index if exchange.request.path == "/api" else reply)(exchange))
    with pytest.raises(liqdata.BadQuery, match=r"does not announce stream: poll orders\(\)") as caught:
        begun(connect(service).stream_orders())
    assert caught.value.parameter == "stream"


def begun(stream):
    """The first row of a stream of either client."""
    if hasattr(stream, "__next__"):
        return next(stream)

    async def taken():
        return await anext(stream)

    return asyncio.run(taken())


def waiting(stream):
    """A thread that waits for the next row, and what came of it."""
    came = []

    def wait():
        try:
            came.append(next(stream, None))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
            came.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread, came


def test_closing_the_client_ends_a_wait_with_its_error():
    with growing() as (_, server):
        client = liqdata.Client(server.url)
        thread, came = waiting(client.stream_orders())
        client.close()
        thread.join(30)
        assert isinstance(came[0], RuntimeError)
        assert str(came[0]) == "client is closed"


def test_closing_the_stream_ends_a_wait_and_the_iteration():
    with growing() as (_, server), liqdata.Client(server.url) as client:
        stream = client.stream_orders()
        thread, came = waiting(stream)
        stream.close()
        thread.join(30)
        assert came == [None]
        assert list(stream) == []


def test_a_stream_recovers_from_a_server_shutdown():
    market = Growing()
    start = first(market)
    server = liqdata.serve(market)
    port = int(server.url.rpartition(":")[2])
    with liqdata.Client(server.url, retries=0) as client:
        stream = client.stream_orders(last_event_id=start)
        market.add(1)
        assert take(stream, 1) == [1]
        server.close()
        with pytest.raises(liqdata.NoAnswer):
            next(stream)
        market.add(2)
        with liqdata.serve(market, port=port):
            assert take(stream, 1) == [2]
            stream.close()


def test_many_orders_arrive_once_without_delay():
    with growing() as (market, server), liqdata.Client(server.url) as client:
        start = first(market)
        market.add(*range(1, 20_001))
        with client.stream_orders(last_event_id=start) as stream:
            assert take(stream, 20_000) == list(range(1, 20_001))


def test_async_for_yields_the_same_rows():
    async def main(market, url):
        start = first(market)
        market.add(1, 2)
        async with liqdata.AsyncClient(url) as client, client.stream_orders(last_event_id=start) as stream:
            seen = []
            async for row in stream:
                seen.append(int(row["value_usd"]))
                if len(seen) == 2:
                    market.add(3)
                if len(seen) == 3:
                    place = stream.last_event_id
                    break
            assert place == first(market)
            return seen

    with growing() as (market, server):
        assert asyncio.run(main(market, server.url)) == [1, 2, 3]


def test_a_cancelled_wait_loses_no_order():
    async def main(market, url):
        start = first(market)
        async with liqdata.AsyncClient(url) as client, client.stream_orders(last_event_id=start) as stream:
            seen = []
            for number in range(1, 61):
                market.add(number)
                try:
                    async with asyncio.timeout(number % 7 / 1000):
                        seen.append(int((await anext(stream))["value_usd"]))
                except TimeoutError:
                    pass
            while len(seen) < 60:
                seen.append(int((await anext(stream))["value_usd"]))
            return seen

    with growing() as (market, server):
        assert asyncio.run(main(market, server.url)) == list(range(1, 61))


ROW = (
    b'id: b\ndata: {"exchange":"okx","symbol":"BTCUSDT","side":"LONG","price":"1","qty":"1","value_usd":"1",'
    b'"timestamp":1781136000123}\n\n'
)


def test_a_slow_service_gets_one_request(script):
    def slow(exchange):
        exchange.wait(0.3)
        exchange.send(EVENTS % b"" + ROW)
        exchange.until_hung_up()

    service = script(slow)
    with liqdata.Client(service.url, timeout=20) as client:
        assert next(client.stream_orders())["value_usd"] == 1
    assert len(service.requests) == 1


def test_a_service_that_never_answers_is_too_slow(script):
    service = script(lambda exchange: exchange.wait())
    with liqdata.Client(service.url, timeout=2.0, retries=0) as client, pytest.raises(liqdata.TooSlow):
        next(client.stream_orders())
    assert len(service.requests) == 1


def test_a_silent_connection_is_replaced(script):
    def mute(exchange):
        exchange.send(EVENTS % b"X-Liqdata-Keep-Alive: 0.1\r\n" + b"id: a\n\n")
        exchange.until_hung_up()

    def alive(exchange):
        exchange.send(EVENTS % b"" + ROW)
        exchange.until_hung_up()

    service = script(mute, alive)
    with liqdata.Client(service.url) as client:
        assert next(client.stream_orders())["value_usd"] == 1
    assert [request.headers.get("last-event-id") for request in service.requests] == [None, "a"]


def test_one_stream_is_read_by_one_loop_after_another():
    with growing() as (market, server):
        client = liqdata.AsyncClient(server.url)
        stream = client.stream_orders(last_event_id=first(market))
        market.add(1)

        async def one():
            return int((await anext(stream))["value_usd"])

        async def give_up():
            async with asyncio.timeout(0.02):
                await anext(stream)

        assert asyncio.run(one()) == 1
        with pytest.raises(TimeoutError):
            asyncio.run(give_up())
        market.add(2)
        assert asyncio.run(one()) == 2
        asyncio.run(client.aclose())


def test_ending_an_async_stream_ends_a_wait():
    async def main(url):
        async with liqdata.AsyncClient(url) as client:
            stream = client.stream_orders()
            wait = asyncio.ensure_future(anext(stream, None))
            await asyncio.sleep(0)
            await stream.aclose()
            assert await asyncio.wait_for(wait, 30) is None
            other = asyncio.ensure_future(anext(client.stream_orders()))
            await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="client is closed"):
            await asyncio.wait_for(other, 30)

    with growing() as (_, server):
        asyncio.run(main(server.url))


def test_ctrl_c_ends_a_wait_at_once_and_the_stream_continues():
    source = """
        import os, signal, sys, threading, time
        sys.path.insert(0, sys.argv[1])
        import liqdata
        from growing import Growing, first

        market = Growing()
        with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
            with client.stream_orders(last_event_id=first(market)) as stream:
                market.add(1)
                next(stream)
                pressed = []

                def press():
                    time.sleep(0.2)
                    pressed.append(time.monotonic())
                    os.kill(os.getpid(), signal.SIGINT)

                threading.Thread(target=press).start()
                try:
                    next(stream)
                except KeyboardInterrupt:
                    took = time.monotonic() - pressed[0]
                market.add(2)
                assert int(next(stream)["value_usd"]) == 2
                print(took)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), str(SUPPORT)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.15


def test_a_script_can_exit_during_a_stream():
    source = """
        import sys, threading
        sys.path.insert(0, sys.argv[1])
        import liqdata
        from growing import Growing

        server = liqdata.serve(Growing())
        stream = liqdata.Client(server.url).stream_orders()
        threading.Thread(target=lambda: next(stream), daemon=True).start()
        """
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), str(SUPPORT)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 30


def test_the_stream_of_an_archive_resumes_after_a_restart(tmp_path):
    def rows(*numbers):
        return {
            "exchange": ["okx"] * len(numbers),
            "symbol": ["BTCUSDT"] * len(numbers),
            "side": ["LONG"] * len(numbers),
            "price": ["60123.45"] * len(numbers),
            "qty": ["0.125"] * len(numbers),
            "value_usd": [str(number) for number in numbers],
            "timestamp": [NOW + number for number in numbers],
            "received_at": [NOW + number for number in numbers],
        }

    writer = _core.ArchiveWriter(tmp_path / "archive")
    writer.append(rows(1, 2), None, None)
    with liqdata.open(tmp_path / "archive") as market, liqdata.serve(market) as server:
        start = first(market)
        with liqdata.Client(server.url) as client, client.stream_orders(last_event_id=start) as stream:
            writer.append(rows(3, 4), None, None)
            assert take(stream, 2) == [3, 4]
            assert take(market.stream_orders(last_event_id=start), 2) == [3, 4]
            place = stream.last_event_id
    writer.append(rows(5), None, None)
    with (
        liqdata.open(tmp_path / "archive") as market,
        liqdata.serve(market) as server,
        liqdata.Client(server.url) as client,
        client.stream_orders(last_event_id=place) as stream,
    ):
        assert take(stream, 1) == [5]
    writer.close()
