"""Faults of a service as Python exceptions, through both clients; ``tests/contract/faults.rs`` tests the faults."""

import socket
import threading
import time

import pytest
from scripted import Service, answer, data, silence

import liqdata
from liqdata import NoAnswer, Refused, TooSlow, UnexpectedReply

OK = {"1h": {"long_usd": 1.0, "short_usd": 2.0, "total_usd": 3.0, "cnt": 4}}
GOOD = data(OK)
BUSY = answer({"success": False}, 503, retry_after="0")


def fails(kind, call, *arguments):
    with pytest.raises(kind) as caught:
        call(*arguments)
    assert type(caught.value) is kind
    return caught.value


# One exception class each.


def test_no_answer_has_its_cause_as_a_note(connect):
    # A bound socket that does not listen refuses connections.
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        client = connect(f"http://127.0.0.1:{bound.getsockname()[1]}", retries=1)
        error = fails(NoAnswer, client.overview)
    assert isinstance(error, ConnectionError)
    assert str(error).endswith("refused the connection; 2 attempts")
    assert any(note.startswith("caused by: ") for note in error.__notes__)


def test_too_slow_has_the_deadline_and_the_failure_before_as_a_note(connect, script):
    service = script(BUSY, silence)
    client = connect(service, timeout=0.5)
    error = fails(TooSlow, client.overview)
    assert isinstance(error, TimeoutError)
    assert error.seconds == 0.5
    assert "within 0.5 s; 2 attempts" in str(error)
    assert any("503" in note for note in error.__notes__)
    service.until(lambda: service.hung_up == service.connections)
    service.play(GOOD)
    assert client.overview() == OK


def test_refused_has_status_body_and_wait(connect, script):
    service = script(answer("slow down", 429, retry_after="61"), GOOD)
    client = connect(service)
    error = fails(Refused, client.overview)
    assert (error.status, error.body, error.retry_after) == (429, "slow down", 61.0)
    assert str(error).endswith("(429 Too Many Requests): slow down; retry after 61 s")
    assert client.overview() == OK


def test_an_unexpected_reply_has_a_path(connect, script):
    service = script(answer("<html>Log in to the hotel</html>", content_type="text/html"), GOOD)
    client = connect(service)
    error = fails(UnexpectedReply, client.overview)
    assert isinstance(error, ValueError)
    assert error.path == ""
    assert "text/html" in str(error)
    assert client.overview() == OK


# Options.


def test_options_of_a_client_bound_retries_and_bodies(connect, script):
    service = script(BUSY)
    fails(Refused, connect(service, retries=2).overview)
    assert len(service.requests) == 3
    service.play(GOOD)
    assert "max_body = 10 bytes" in str(fails(UnexpectedReply, connect(service, max_body=10).overview))


def test_a_client_uses_its_proxy_and_masks_its_password(connect, script):
    proxy = script(GOOD, answer("who are you?", 407))
    client = connect("http://data.example", proxy=proxy.url.replace("//", "//me:hunter2@"))
    assert client.overview() == OK
    assert proxy.requests[0].target == "http://data.example/api/liquidations/overview"
    assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")
    error = fails(Refused, client.overview)
    assert "proxy" in str(error)
    for shown in (str(error), repr(error), repr(client)):
        assert "hunter2" not in shown


def test_waiting_for_the_rate_limit_does_not_count_against_the_deadline(connect, script):
    service = script(GOOD)
    outcomes = connect(service, rate_limit=20.0, timeout=0.3).at_once("overview", times=12)
    assert outcomes == [OK] * 12
    span = service.requests[-1].at - service.requests[0].at
    assert 11 / 20 * 0.9 < span < 2


# Several symbols.


def test_eight_symbols_are_requested_at_a_time(connect, script):
    eight, lock, under_way, peak = threading.Barrier(8), threading.Lock(), 0, 0

    def with_seven_others(exchange):
        nonlocal under_way, peak
        with lock:
            under_way += 1
            peak = max(peak, under_way)
        eight.wait(10)
        with lock:
            under_way -= 1
        symbol = exchange.request.query["symbol"]
        return data({"symbol": symbol, "price": 1.0, "updatedAt": 0, "tiers": {}})(exchange)

    service = script(with_seven_others)
    symbols = [f"C{place}" for place in range(24)]
    assert list(connect(service).levels(symbols)) == symbols
    assert (len(service.requests), peak) == (24, 8)


def test_the_first_failure_of_many_symbols_is_raised_with_its_symbol(connect, script):
    def all_but_one(exchange):
        known = exchange.request.query["symbol"] != "BAD"
        return (silence if known else answer(b"no such coin", 404))(exchange)

    service = script(all_but_one)
    began = time.monotonic()
    error = fails(Refused, connect(service).levels, ["BTC", "ETH", "BAD", "SOL"])
    assert time.monotonic() - began < 5
    assert any("BAD" in note for note in error.__notes__)
    service.until(lambda: service.hung_up >= service.connections - 1)


# The end.


def test_a_closed_client_refuses_queries(connect, script):
    service = script(GOOD)
    client = connect(service)
    client.overview()
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="client is closed"):
        client.overview()
    with pytest.raises(RuntimeError, match="client is closed"):
        client.levels(["BTC", "ETH"])
    assert len(service.requests) == 1


def test_a_test_service_closes_with_calls_in_flight():
    with Service(silence) as service:
        client = liqdata.Client(service.url, timeout=0.2)
        fails(TooSlow, client.overview)
