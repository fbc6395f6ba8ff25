"""What can go wrong between a client and a service: the fault matrix, through both clients."""

import email.utils
import gzip
import socket
import sys
import threading
import time
from contextlib import ExitStack

import psutil
import pytest
from scripted import (
    Service,
    answer,
    bomb,
    data,
    drip,
    endless_headers,
    hang_up,
    raw,
    redirect,
    reset,
    silence,
    truncated,
)

import liqdata
from liqdata import NoAnswer, Refused, TooSlow, UnexpectedReply

OK = {"1h": {"long_usd": 1.0, "short_usd": 2.0, "total_usd": 3.0, "cnt": 4}}
GOOD = data(OK)
BUSY = answer({"success": False}, 503, retry_after="0")
HIDDEN = "hunter2"


def fails(kind, call, *arguments):
    with pytest.raises(kind) as caught:
        call(*arguments)
    assert type(caught.value) is kind
    return caught.value


def everything_said(error):
    return "\n".join([str(error), repr(error), *getattr(error, "__notes__", [])])


@pytest.fixture
def refusing():
    """An address that refuses connections for as long as the test runs."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


# Nobody there.


def test_a_refused_connection_is_tried_again_and_named(connect, refusing):
    began = time.monotonic()
    error = fails(NoAnswer, connect(refusing, retries=2).overview)
    assert "refused the connection" in str(error)
    assert "3 attempts" in str(error)
    assert any(note.startswith("caused by: ") for note in error.__notes__)
    assert time.monotonic() - began < 5


@pytest.fixture
def deaf():
    """An address whose connections are never taken up: its queue is full, so the kernel drops what knocks."""
    with ExitStack() as open_, socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        for _ in range(8):
            knocking = open_.enter_context(socket.socket())
            knocking.settimeout(0)
            knocking.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems answer where the queue is full")
def test_a_connection_that_nobody_takes_up_ends_at_its_own_time_out(connect, deaf):
    client = connect(deaf, connect_timeout=0.5, retries=0)
    took = []
    for _ in range(3):
        began = time.monotonic()
        error = fails(NoAnswer, client.overview)
        took.append(time.monotonic() - began)
        assert "within 0.5 s" in str(error)
    assert 0.4 <= min(took) <= 0.6

    # Tried again, as often as is allowed and the deadline of the call has room for.
    assert "3 attempts" in str(fails(NoAnswer, connect(deaf, connect_timeout=0.2, retries=2).overview))
    began = time.monotonic()
    with pytest.raises(NoAnswer, match=r"[23] attempts"):
        connect(deaf, connect_timeout=0.4, timeout=1.0, retries=9).overview()
    assert time.monotonic() - began < 1.5


def test_a_service_that_starts_late_is_found(connect, market):
    with socket.socket() as held, ExitStack() as later:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        client = connect(f"http://127.0.0.1:{port}", retries=0)
        fails(NoAnswer, client.overview)
        held.close()
        later.enter_context(liqdata.serve(market, port=port))
        assert set(client.overview()) == {"1h", "4h", "12h", "24h"}


def test_a_name_that_cannot_be_resolved_is_named(connect):
    # A label this long is refused by the resolver itself: nobody is asked.
    name = "a" * 64 + ".invalid"
    error = fails(NoAnswer, connect(f"http://{name}", retries=1).overview)
    assert f"cannot resolve the name of {name}" in str(error)
    assert "2 attempts" in str(error)


# Connections and bodies that break off.


@pytest.mark.parametrize(
    "fault",
    [
        hang_up,
        reset(),
        reset(b"HTTP/1.1 200 OK\r\ncontent-le"),
        reset(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
        raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n"),
        truncated(b'{"success": true, "data": {}}', 30),
        raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\r\n"),
    ],
    ids=["hang up", "reset", "reset in headers", "reset in body", "ends in headers", "short body", "short chunk"],
)
def test_an_answer_that_breaks_off_is_asked_for_again(connect, script, fault):
    service = script(fault, GOOD)
    assert connect(service).overview() == OK
    assert len(service.requests) == 2

    service = script(fault)
    client = connect(service, retries=1)
    error = fails(NoAnswer, client.overview)
    assert "2 attempts" in str(error)
    assert len(service.requests) == 2
    service.play(GOOD)
    assert client.overview() == OK


def test_a_body_that_is_good_json_but_short_is_never_parsed(connect, script):
    service = script(truncated(b'{"success": true, "data": {}}', 1000))
    error = fails(NoAnswer, connect(service, retries=0).overview)
    assert "broke off after 29 bytes" in str(error)


def test_a_gzip_body_cut_short_is_no_answer_of_numbers(connect, script):
    whole = gzip.compress(b'{"success": true, "data": {}}')
    service = script(answer(whole[:-10], content_encoding="gzip"), GOOD)
    client = connect(service, retries=0)
    error = fails(UnexpectedReply, client.overview)
    assert "decompress" in str(error)
    assert client.overview() == OK


# Slowness.


@pytest.mark.parametrize("fault", [drip(b" " * 1000, 0.05), silence], ids=["drip", "silence"])
def test_the_deadline_holds_against_an_answer_that_does_not_end(connect, script, fault):
    service = script(fault, GOOD)
    client = connect(service, timeout=1.0)
    began = time.monotonic()
    error = fails(TooSlow, client.overview)
    assert 0.9 < time.monotonic() - began < 1.6
    assert error.seconds == 1.0
    assert "within 1 s" in str(error)
    assert isinstance(error, TimeoutError)
    assert client.overview() == OK


def test_the_deadline_covers_retries_and_names_the_failure_before(connect, script):
    service = script(BUSY, BUSY, silence)
    began = time.monotonic()
    error = fails(TooSlow, connect(service, timeout=0.5).overview)
    assert 0.4 < time.monotonic() - began < 1.1
    assert "3 attempts" in str(error)
    assert any("503" in note for note in error.__notes__)


def test_a_call_given_up_leaves_no_connection_behind(connect, script):
    service = script(silence)
    client = connect(service, timeout=0.05)
    for _ in range(5):
        fails(TooSlow, client.overview)
    service.until(lambda: service.hung_up == service.connections == 5)


# Heads that make no sense.


def test_headers_without_end_are_given_up_before_they_fill_the_memory(connect, script):
    service = script(endless_headers)
    before = psutil.Process().memory_info().rss
    fails(NoAnswer, connect(service, retries=0).overview)
    service.until(lambda: service.hung_up == 1)
    # What the kernel holds on both sides is counted too.
    assert service.sent < 32 << 20
    assert psutil.Process().memory_info().rss - before < 50 << 20


def test_one_header_of_a_megabyte_is_refused(connect, script):
    service = script(answer(b"{}", x_long="1" * (1 << 20)), GOOD)
    client = connect(service, retries=0)
    error = fails(NoAnswer, client.overview)
    assert len(str(error)) < 500
    assert client.overview() == OK


@pytest.mark.parametrize("words", ["SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 two hundred\r\n\r\n", "\0" * 64])
def test_what_does_not_speak_http_is_asked_once(connect, script, words):
    service = script(raw(words))
    error = fails(NoAnswer, connect(service).overview)
    assert "does not answer in HTTP" in str(error)
    assert len(service.requests) == 1


# Statuses, retries, Retry-After.


@pytest.mark.parametrize("retries", [0, 1, 4])
@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_n_retries_are_n_plus_1_attempts(connect, script, retries, status):
    service = script(answer(b"later", status, retry_after="0"))
    client = connect(service, retries=retries)
    error = fails(Refused, client.overview)
    assert (error.status, error.body, error.retry_after) == (status, "later", 0.0)
    assert len(service.requests) == retries + 1
    service.play(GOOD)
    assert client.overview() == OK


def test_418_is_tried_again_once(connect, script):
    service = script(answer(b"", 418, retry_after="0"))
    assert fails(Refused, connect(service).overview).status == 418
    assert len(service.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 422, 451, 501, 505])
def test_what_will_not_get_better_is_asked_once(connect, script, status):
    service = script(answer(b"", status))
    assert fails(Refused, connect(service).overview).status == status
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    "body,content_type",
    [
        ("<html><body>nginx</body></html>", "text/html"),
        ('{"success": false, "error": {"parameter": "limit", "message": "no such luck"}}', "application/json"),
        ("", "text/plain"),
        ("é" * 4000, "text/plain; charset=utf-8"),
        (b"\xff" * 4000, "application/octet-stream"),
    ],
    ids=["html", "json", "empty", "long", "bytes"],
)
def test_a_refusal_carries_status_and_the_first_2_kb(connect, script, status, body, content_type):
    service = script(answer(body, status, content_type=content_type), GOOD)
    client = connect(service)
    error = fails(Refused, client.overview)
    assert (error.status, error.retry_after) == (status, None)
    assert len(error.body.encode()) <= 2048
    if isinstance(body, str):
        assert error.body == body.encode()[:2048].decode()
    assert str(status) in str(error)
    assert ("no such luck" in str(error)) == ("no such luck" in str(body))
    assert len(service.requests) == 1
    assert client.overview() == OK


@pytest.mark.parametrize(
    "body,said",
    [
        ("slow down\nplease", ": slow down"),
        ('{"detail": "no such plan"}', ': {"detail": "no such plan"}'),
        ('{"success": false, "message": "no such luck"}', ": no such luck"),
        ("<html><body>nginx</body></html>", "(404 Not Found)"),
    ],
    ids=["text", "another shape", "of the contract", "markup"],
)
def test_a_refusal_says_the_services_reason(connect, script, body, said):
    assert str(fails(Refused, connect(script(answer(body, 404))).overview)).endswith(said)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_who_asks_says_where_a_token_goes(connect, script, status):
    service = script(answer("who are you?", status))
    said = str(fails(Refused, connect(service).overview))
    assert ": who are you?; no token was sent: one goes in token= or $LIQDATA_TOKEN, other keys in headers=" in said
    said = str(fails(Refused, connect(service, token=HIDDEN).overview))
    assert said.endswith(": who are you?; a token was sent")
    assert HIDDEN not in said


def test_a_refusal_says_how_long_the_service_wants_to_wait(connect, script):
    service = script(answer("slow down", 429, retry_after="61"))
    said = str(fails(Refused, connect(service).overview))
    assert said.endswith("(429 Too Many Requests): slow down; it wants to be asked again in 61 s")


def http_date(since):
    return email.utils.formatdate(1_800_000_000 + since, usegmt=True)


@pytest.mark.parametrize(
    "said,waits",
    [
        ({"retry_after": "1"}, 1.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": http_date(1), "date": http_date(0)}, 1.0),
        ({"retry_after": http_date(-3600), "date": http_date(0)}, 0.0),
    ],
    ids=["a second", "none", "a date ahead", "a date gone by"],
)
def test_a_retry_after_that_makes_sense_is_waited_for(connect, script, said, waits):
    service = script(answer(b"", 429, **said), GOOD)
    assert connect(service).overview() == OK
    assert waits <= service.gaps[0] + 0.001
    assert service.gaps[0] < waits + 0.8


@pytest.mark.parametrize("nonsense", ["-5", "soon", "", "1e999", "NaN"])
def test_a_retry_after_that_makes_no_sense_is_ignored(connect, script, nonsense):
    service = script(answer(b"", 503, retry_after=nonsense), GOOD)
    assert connect(service).overview() == OK
    assert service.gaps[0] < 1.0

    service = script(answer(b"", 503, retry_after=nonsense))
    assert fails(Refused, connect(service, retries=0).overview).retry_after is None


@pytest.mark.parametrize(
    "said,seconds,timeout",
    [
        ({"retry_after": "1000000000"}, 1e9, 10.0),
        ({"retry_after": "61"}, 61.0, 100.0),
        ({"retry_after": "5"}, 5.0, 4.0),
        ({"retry_after": http_date(3600), "date": http_date(0)}, 3600.0, 10.0),
    ],
    ids=["a lifetime", "over a minute", "past the deadline", "a far date"],
)
def test_a_retry_after_that_is_too_long_is_handed_on_at_once(connect, script, said, seconds, timeout):
    service = script(answer(b"", 429, **said), GOOD)
    client = connect(service, timeout=timeout)
    began = time.monotonic()
    error = fails(Refused, client.overview)
    assert time.monotonic() - began < 2
    assert (error.status, error.retry_after) == (429, seconds)
    assert len(service.requests) == 1
    assert client.overview() == OK


def test_two_failures_then_an_answer_wait_within_the_jitter(connect, script):
    service = script(answer(b"", 500), answer(b"", 500), GOOD)
    assert connect(service).overview() == OK
    first, second = service.gaps
    assert first < 0.1 + 0.4
    assert second < 0.2 + 0.4


def test_a_dead_service_is_not_stormed(connect, script):
    service = script(answer(b"", 503))
    client = connect(service, timeout=30.0)
    outcomes = client.at_once("overview", times=200)
    assert {type(outcome) for outcome in outcomes} == {Refused}
    assert 200 < len(service.requests) <= 200 + 36
    before = len(service.requests)
    fails(Refused, client.overview)
    assert len(service.requests) == before + 1
    service.play(GOOD)
    assert client.overview() == OK


# Answers that are none.


@pytest.mark.parametrize("reason", [{"message": "closed on Sundays"}, "closed on Sundays"])
def test_success_false_is_a_refusal_not_data(connect, script, reason):
    service = script(answer({"success": False, "error": reason, "data": OK}), GOOD)
    client = connect(service)
    error = fails(Refused, client.overview)
    assert (error.status, error.retry_after) == (200, None)
    assert "closed on Sundays" in str(error)
    assert error.body.startswith('{"success": false')
    assert len(service.requests) == 1
    assert client.overview() == OK


def test_a_page_of_html_is_named_by_its_content_type(connect, script):
    service = script(answer("<html>Log in to the hotel</html>", content_type="text/html; charset=utf-8"), GOOD)
    client = connect(service)
    error = fails(UnexpectedReply, client.overview)
    assert "text/html" in str(error)
    assert error.path == ""
    assert len(service.requests) == 1
    assert client.overview() == OK


def test_the_content_type_is_no_matter_where_the_body_is_good(connect, script):
    service = script(answer({"success": True, "data": OK}, content_type="text/html"))
    assert connect(service).overview() == OK


def test_a_bomb_is_stopped_at_the_cap(connect, script):
    service = script(bomb(200 << 20), GOOD)
    client = connect(service, max_body=1 << 20)
    before = psutil.Process().memory_info().rss
    began = time.monotonic()
    error = fails(UnexpectedReply, client.overview)
    # 200 MB take some tenths of a second to unpack, a megabyte a millisecond.
    assert time.monotonic() - began < 0.5
    assert psutil.Process().memory_info().rss - before < 50 << 20
    assert "max_body = 1048576" in str(error)
    assert len(service.requests) == 1
    assert client.overview() == OK


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_of_the_cap_is_taken_and_one_byte_more_is_not(connect, script, announced):
    body = b'{"success": true, "data": {}}'
    plain = answer(body) if announced else raw(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + body)
    service = script(plain)
    assert connect(service, max_body=len(body)).overview() == {}
    error = fails(UnexpectedReply, connect(service, max_body=len(body) - 1).overview)
    assert f"max_body = {len(body) - 1}" in str(error)


# Redirects.


def test_redirects_within_the_service_are_followed_three_times(connect, script):
    service = script(*(redirect(f"/moved/{hop}?x=1", 301 + hop) for hop in range(3)), GOOD)
    assert connect(service).overview() == OK
    assert [request.target for request in service.requests[1:]] == [f"/moved/{hop}?x=1" for hop in range(3)]


def test_a_loop_of_redirects_ends(connect, script):
    service = script(redirect("/again", 307))
    error = fails(Refused, connect(service).overview)
    assert error.status == 307
    assert "/again" in str(error)
    assert len(service.requests) == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_port_is_not_followed(connect, script, status):
    elsewhere = script(GOOD)
    service = script(redirect(f"{elsewhere.url}/api/liquidations/overview", status))
    error = fails(Refused, connect(service).overview)
    assert error.status == status
    assert elsewhere.url in str(error)
    assert len(service.requests) == 1
    assert elsewhere.connections == 0


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost.example/api",
        "//other.example/api",
        "file:///etc/passwd",
        "http://[",
    ],
)
def test_a_redirect_to_elsewhere_is_refused_by_name(connect, script, target):
    service = script(redirect(target), GOOD)
    client = connect(service)
    error = fails(Refused, client.overview)
    assert error.status == 302
    assert target in str(error)
    assert client.overview() == OK


def test_a_redirect_to_another_name_of_this_machine_or_to_https_is_not_followed(connect, script):
    service = script(GOOD)
    for target in (f"http://localhost:{service.port}/", f"https://127.0.0.1:{service.port}/"):
        service.play(redirect(target))
        before = service.connections
        assert target in str(fails(Refused, connect(service).overview))
        assert service.connections == before + 1


# Connections that are kept.


def test_a_connection_is_used_again(connect, script):
    service = script(GOOD)
    client = connect(service)
    for _ in range(20):
        client.overview()
    assert (len(service.requests), service.connections) == (20, 1)


def test_a_refusal_does_not_cost_the_connection(connect, script):
    service = script(answer(b"no", 404), redirect("/x"), GOOD)
    client = connect(service)
    fails(Refused, client.overview)
    client.overview()
    assert (len(service.requests), service.connections) == (3, 1)


def test_a_connection_closed_while_it_was_idle_costs_no_call(connect, script):
    service = script(answer({"success": True, "data": OK}, close=True))
    client = connect(service, retries=1)
    for _ in range(20):
        assert client.overview() == OK
        service.until(lambda: service.hung_up == service.connections)
    assert len(service.requests) == 20


def test_a_kept_connection_that_is_closed_at_the_next_request_costs_no_call(connect, script):
    service = script(GOOD, hang_up, GOOD)
    client = connect(service)
    assert client.overview() == OK
    assert client.overview() == OK
    assert (len(service.requests), service.connections) == (3, 2)


# Proxies.


@pytest.fixture
def _no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.usefixtures("_no_proxies")
class TestProxy:
    def test_a_proxy_is_asked_and_told_its_credentials(self, connect, script):
        proxy = script(GOOD)
        client = connect(
            "http://data.example/v1", proxy=proxy.url.replace("//", f"//me:{HIDDEN}@"), headers={"x-key": HIDDEN}
        )
        assert client.overview() == OK
        (request,) = proxy.requests
        assert request.target == "http://data.example/v1/api/liquidations/overview"
        assert request.headers["proxy-authorization"].startswith("Basic ")
        assert HIDDEN not in repr(client)

    def test_a_proxy_that_refuses_connections_is_named_without_its_password(self, connect, refusing):
        client = connect("http://data.example", proxy=refusing.replace("//", f"//me:{HIDDEN}@"), retries=0)
        said = everything_said(fails(NoAnswer, client.overview))
        assert "proxy" in said
        assert refusing.removeprefix("http://") in said
        assert HIDDEN not in said

    def test_a_proxy_that_wants_credentials_says_so(self, connect, script):
        proxy = script(answer(b"who are you?", 407, proxy_authenticate="Basic"))
        client = connect("http://data.example", proxy=proxy.url.replace("//", f"//me:{HIDDEN}@"))
        error = fails(Refused, client.overview)
        said = everything_said(error)
        assert error.status == 407
        assert "proxy" in said
        assert HIDDEN not in said
        assert len(proxy.requests) == 1

    def test_a_tunnel_that_is_refused_is_named_without_its_password(self, connect, script):
        proxy = script(answer(b"who are you?", 407, proxy_authenticate="Basic"))
        client = connect("https://data.example", proxy=proxy.url.replace("//", f"//me:{HIDDEN}@"), retries=0)
        said = everything_said(fails(NoAnswer, client.overview))
        assert proxy.requests[0].target == "data.example:443"
        assert "proxy" in said
        assert HIDDEN not in said

    def test_the_environments_proxy_is_honoured(self, connect, script, monkeypatch):
        proxy = script(GOOD)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert connect("http://data.example").overview() == OK
        assert proxy.requests[0].target.startswith("http://data.example/")

    @pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
    def test_the_environments_proxy_that_fails_is_named_with_its_variable(self, connect, refusing, monkeypatch, name):
        monkeypatch.setenv(name, refusing.replace("//", f"//me:{HIDDEN}@"))
        said = everything_said(fails(NoAnswer, connect("http://data.example", retries=0).overview))
        assert f"data.example through the proxy {refusing} ({name}) refused the connection" in said
        assert HIDDEN not in said

    def test_the_option_wins_over_the_environment(self, connect, script, monkeypatch):
        ours, theirs = script(GOOD), script(GOOD)
        monkeypatch.setenv("HTTP_PROXY", theirs.url)
        assert connect("http://data.example", proxy=ours.url).overview() == OK
        assert (ours.connections, theirs.connections) == (1, 0)

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    @pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
    def test_loopback_is_asked_directly_whatever_the_environment_says(self, connect, script, monkeypatch, name, host):
        proxy, service = script(GOOD), script(GOOD)
        monkeypatch.setenv(name, proxy.url)
        assert connect(f"http://{host}:{service.port}").overview() == OK
        assert (proxy.connections, service.connections) == (0, 1)


# Pace.


def test_requests_are_spaced_by_the_rate_limit(connect, script):
    service = script(GOOD)
    client = connect(service, rate_limit=50.0)
    client.at_once("overview", times=8)
    client.overview()
    assert len(service.requests) == 9
    span = service.requests[-1].at - service.requests[0].at
    assert 8 / 50 * 0.9 < span < 2


def test_waiting_for_a_turn_does_not_count_against_the_deadline(connect, script):
    service = script(GOOD)
    outcomes = connect(service, rate_limit=20.0, timeout=0.3).at_once("overview", times=12)
    assert outcomes == [OK] * 12
    span = service.requests[-1].at - service.requests[0].at
    assert span > 0.3


def test_a_sequence_of_symbols_is_asked_eight_at_a_time(connect, script):
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


# After the end.


def test_a_closed_client_refuses_to_ask(connect, script):
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


def test_a_service_closes_with_its_calls_under_way():
    with Service(silence) as service:
        client = liqdata.Client(service.url, timeout=0.2)
        fails(TooSlow, client.overview)
