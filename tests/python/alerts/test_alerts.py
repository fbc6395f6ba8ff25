"""Alerts: rules and senders, and the bodies, signatures and rates of the services, on local doubles."""

import dataclasses
import hashlib
import hmac
import html
import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from drawn import liqmap

import liqdata
from liqdata import BadQuery, alerts
from liqdata.alerts import Rule, Sender, delivery, messages, webhook
from liqdata.alerts.conditions import Clusters, Coverage, Orders
from liqdata.alerts.delivery import Deliveries


class Service:
    """A double of a service: it stores requests and answers with the given replies, then with 200."""

    def __init__(self):
        self.requests, self.replies = [], []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.requests.append(
                    SimpleNamespace(at=time.monotonic(), path=self.path, headers=self.headers, body=body)
                )
                status, headers, text = service.replies.pop(0) if service.replies else (200, {}, b"ok")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                """Requests are not the test's output."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def service():
    made = Service()
    yield made
    made.close()


ORDER = {
    "alert": "order",
    "basis": "realised",
    "exchange": "okx",
    "symbol": "BTC-USDT-SWAP",
    "side": "LONG",
    "price": 97000,
    "qty": 1,
    "value_usd": 2_500_000,
    "timestamp": 1_780_000_000_000,
}


def until(true):
    """Wait for a condition that another thread brings about."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def send(sender, *events):
    """Deliver events, and return what was reported."""
    reported = []
    deliveries = Deliveries([sender], reported.append)
    for event in events:
        deliveries.put(event)
    deliveries.finish()
    return reported


def test_each_service_gets_its_own_body(service):
    hostile = {**ORDER, "symbol": "@everyone <!channel> *x*"}
    for name, path in (
        ("telegram", "/bot1:a/sendMessage?chat_id=-7"),
        ("discord", "/api/webhooks/1/a"),
        ("slack", "/services/a"),
    ):
        assert send(Sender(webhook=service.url + path, format=name), hostile) == []
    telegram, discord, slack = (json.loads(request.body) for request in service.requests)
    line = "@everyone <!channel> *x*: long of 2.50M USD liquidated on okx at 97000, 20:26:40 UTC [realised]"
    assert service.requests[0].path == "/bot1:a/sendMessage"
    assert (telegram["chat_id"], telegram["text"]) == ("-7", line)
    assert discord["allowed_mentions"] == {"parse": []}
    assert r"\*x\*" in discord["content"]
    assert slack["text"].startswith("@everyone &lt;!channel&gt;")
    assert not slack["mrkdwn"]


def test_the_address_names_the_service_and_telegram_needs_a_chat():
    names = {
        "https://api.telegram.org/bot1:a/sendMessage?chat_id=7": "telegram",
        "https://discord.com/api/webhooks/1/a": "discord",
        "https://hooks.slack.com/services/a": "slack",
        "https://example.org/": "json",
    }
    assert {address: messages.format_of(address, None)[0].name for address in names} == names
    with pytest.raises(BadQuery, match="webhook: an address of Telegram needs a chat"):
        messages.format_of("https://api.telegram.org/bot1:a/sendMessage", None)


def test_a_receiver_can_verify_the_signature(service):
    assert send(Sender(webhook=service.url, secret=b"key"), ORDER) == []
    [request] = service.requests
    assert json.loads(request.body) == ORDER
    signed = request.headers["X-Liqdata-Timestamp"].encode() + b"." + request.body
    expected = "sha256=" + hmac.new(b"key", signed, hashlib.sha256).hexdigest()
    assert request.headers["X-Liqdata-Signature"] == expected


def test_alerts_that_wait_are_joined_within_the_rate_limit(service):
    many = [{**ORDER, "exchange": f"number{place}"} for place in range(60)]
    assert send(Sender(webhook=service.url, format="slack"), *many) == []
    texts = [json.loads(request.body)["text"] for request in service.requests]
    assert all(len(text) <= 4000 for text in texts)
    joined = "\n".join(texts)
    assert [f"on number{place} " in joined for place in range(60)] == [True] * 60
    assert 2 <= len(texts) <= 6
    assert min(np.diff([request.at for request in service.requests])) >= 0.95


@pytest.mark.parametrize(
    "name,reply",
    [
        ("slack", (429, {"Retry-After": "1"}, b"")),
        ("telegram", (429, {}, b'{"ok":false,"parameters":{"retry_after":1}}')),
    ],
)
def test_a_refused_message_is_sent_again_after_the_time_that_the_service_names(service, name, reply):
    service.replies.append(reply)
    assert send(Sender(webhook=f"{service.url}/?chat_id=7", format=name), ORDER) == []
    first, second = service.requests
    assert first.body == second.body
    assert second.at - first.at >= 1.0


def test_a_message_that_stays_refused_is_reported(service, monkeypatch):
    monkeypatch.setattr(delivery, "_ATTEMPTS", 2)
    service.replies += [(429, {"Retry-After": "0"}, b"")] * 3
    assert send(Sender(webhook=service.url, format="slack"), ORDER) == [
        "alert for BTC-USDT-SWAP: the webhook failed: 127.0.0.1 answered 429"
    ]


@pytest.mark.parametrize("stated", ["nan", "-inf", "-5", "soon", "", "1e400"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"parameters":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"parameters":{"retry_after":1' + b"0" * 400 + b"}}",
        b'{"parameters":{"retry_after":NaN}}',
        b'{"parameters":[]}',
        b"[]",
        b"\xff",
    ],
)
def test_a_wait_that_makes_no_sense_is_not_waited_for(stated, body):
    reply = SimpleNamespace(headers={"Retry-After": stated}, read=lambda _: body)
    assert webhook._wait_of(reply) in (None, 1.0)


@pytest.mark.parametrize(
    "headers, body",
    [
        ({"Retry-After": "nan"}, b"[" * 60_000),
        ({}, b'{"parameters":{"retry_after":1' + b"0" * 400 + b"}}"),
        ({"Retry-After": "-inf"}, b""),
    ],
    ids=["nested", "huge", "negative"],
)
def test_a_receiver_that_asks_for_nonsense_gets_the_message_again(service, quick, headers, body, capfd):
    service.replies.append((429, headers, body))
    reported = []
    deliveries = Deliveries([Sender(webhook=service.url, format="slack")], reported.append)
    deliveries.put(ORDER)
    until(lambda: len(service.requests) == 2)
    deliveries.finish()
    assert len(reported) == 1
    assert "answered 429; sending it again" in reported[0]
    assert capfd.readouterr().err == ""


def test_a_source_with_a_clock_that_was_ahead_still_gives_alerts():
    """A proxy or a machine that is a year ahead for one poll hides no order after it."""
    year, hour = 365 * 24 * 60 * 60 * 1000, 60 * 60 * 1000
    begin = int(time.time() * 1000)
    polls = iter([begin + year, begin + 1000, begin + 2000])
    stop, received, asked = threading.Event(), [], []

    class Rows(list):
        meta: ClassVar = {}

    class Source:
        def cascades(self, _symbol, *, start, **_):
            asked.append(start)
            at = next(polls)
            row = {"coin": "BTC", "side": "LONG", "start": begin + 500, "end": begin + 900, "usd": Decimal(9)}
            row |= {"cnt": 3, "exchanges": "okx", "largest_usd": Decimal(5)}
            rows = Rows([row] if at == begin + 2000 else [])
            rows.meta = {"as_of": datetime.fromtimestamp(at / 1000, UTC)}
            if at == begin + 2000:
                stop.set()
            return rows

    alerts.watch(Source(), Rule("cascade", 1), Sender(function=received.append), every=0.01, stop=stop)
    assert [alert["usd"] for alert in received] == [9]
    assert all(start is None or start < begin + hour for start in asked)


@pytest.fixture
def quick(monkeypatch):
    """Let a failed alert be sent again at once."""
    monkeypatch.setattr(delivery, "_PAUSE", 0.01)


def counted(receiver):
    """The metrics of alerts, by what they count."""
    with (
        liqdata.serve(liqdata.Market()) as server,
        urllib.request.urlopen(f"{server.url}/metrics", timeout=30) as answer,
    ):
        page = answer.read().decode()
    found = re.findall(rf'liqdata_alerts_(\w+?)(?:_total)?{{receiver="{receiver}"}} (\d+)', page)
    return {name: int(value) for name, value in found}


def grown(receiver, before):
    return {name: value - before.get(name, 0) for name, value in counted(receiver).items()}


def test_a_failed_alert_is_counted_and_sent_again_before_those_after_it(service, quick):
    before, reported = counted("webhook"), []
    service.replies += [(500, {}, b""), (503, {}, b""), (502, {}, b"")]
    deliveries = Deliveries([Sender(webhook=service.url)], reported.append)
    for name in ("okx", "bybit"):
        deliveries.put({**ORDER, "exchange": name})
    until(lambda: len(service.requests) == 5)
    deliveries.finish()
    assert [json.loads(request.body)["exchange"] for request in service.requests] == ["okx"] * 4 + ["bybit"]
    assert reported == ["alert for BTC-USDT-SWAP: the webhook failed: 127.0.0.1 answered 500; sending it again"]
    assert grown("webhook", before) == {"waiting": 0, "delivered": 2, "failed": 0, "repeated": 3}


def test_an_alert_reaches_a_webhook_that_starts_later(quick):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    reported, received = [], []
    deliveries = Deliveries([Sender(webhook=f"http://127.0.0.1:{port}/")], reported.append)
    deliveries.put(ORDER)
    until(lambda: reported)
    with socket.create_server(("127.0.0.1", port)) as listener:
        connection, _ = listener.accept()
        with connection:
            received.append(connection.recv(65_536))
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        deliveries.finish()
    assert received
    [report] = reported
    assert "Connection refused; sending it again" in report or "Errno" in report


def test_a_program_that_fails_is_run_again(tmp_path, quick):
    file, reported = tmp_path / "runs", []
    code = (
        f"import sys; file = open({str(file)!r}, 'a+'); file.write('x'); file.seek(0); sys.exit(len(file.read()) < 3)"
    )
    deliveries = Deliveries([Sender(command=[sys.executable, "-c", code])], reported.append)
    deliveries.put(ORDER)
    until(lambda: file.exists() and len(file.read_text()) == 3)
    deliveries.finish()
    assert reported == [f"alert for BTC-USDT-SWAP: the command failed: {sys.executable} ended with 1; sending it again"]


def test_an_alert_is_given_up_at_its_age_and_the_next_one_is_sent(service, quick, monkeypatch):
    monkeypatch.setattr(delivery, "_LONGEST", 0.2)
    before, reported = counted("webhook"), []
    deliveries = Deliveries([Sender(webhook=service.url)], reported.append)
    service.replies += [(500, {}, b"")] * 10_000
    deliveries.put(ORDER)
    until(lambda: len(reported) == 2)
    service.replies.clear()
    deliveries.put(ORDER)
    deliveries.finish()
    assert reported[-1] == "alert for BTC-USDT-SWAP: the webhook failed: 127.0.0.1 answered 500"
    after = grown("webhook", before)
    assert (after["delivered"], after["failed"], after["waiting"]) == (1, 1, 0)
    assert after["repeated"] > 0


@pytest.mark.parametrize("status", [302, 400, 401, 404, 410])
def test_an_alert_that_is_refused_for_good_is_sent_once(service, status):
    before = counted("webhook")
    service.replies.append((status, {}, b""))
    assert send(Sender(webhook=service.url), ORDER) == [
        f"alert for BTC-USDT-SWAP: the webhook failed: 127.0.0.1 answered {status}"
    ]
    assert len(service.requests) == 1
    assert grown("webhook", before) == {"waiting": 0, "delivered": 0, "failed": 1, "repeated": 0}


@pytest.mark.parametrize(
    "headers,body",
    [
        ({"Retry-After": "nan"}, b""),
        ({"Retry-After": "-inf"}, b""),
        ({"Retry-After": "soon"}, b""),
        ({}, b'{"parameters":{"retry_after":NaN}}'),
        ({}, b'{"parameters":[1e999]}'),
        ({}, b"[" * 60_000),
        ({}, b'{"a":' * 20_000),
        ({}, b"\xff\xfe\x00"),
    ],
    ids=str,
)
def test_an_odd_answer_is_an_ordinary_failure(service, quick, headers, body):
    service.replies.append((429, headers, body))
    reported = []
    deliveries = Deliveries([Sender(webhook=service.url)], reported.append)
    deliveries.put(ORDER)
    until(lambda: len(service.requests) == 2)
    deliveries.finish()
    assert reported == ["alert for BTC-USDT-SWAP: the webhook failed: 127.0.0.1 answered 429; sending it again"]


ALERTS = [
    (ORDER, "symbol=BTC&range=24h"),
    ({**ORDER, "symbol": "1000PEPEUSDT"}, "symbol=PEPE&range=24h"),
    ({**ORDER, "symbol": "#&x=<y>"}, "symbol=%23%26x%3D%3Cy%3E&range=24h"),
    (
        {
            "alert": "cascade",
            "basis": "realised",
            "state": "open",
            "coin": "ETH",
            "side": "SHORT",
            "usd": 5_200_000,
            "cnt": 12,
            "exchanges": 3,
            "start": 0,
        },
        "symbol=ETH&range=24h",
    ),
    (
        {
            "alert": "cluster",
            "basis": "estimated",
            "state": "near",
            "coin": "BTC",
            "side": "SHORT",
            "price": 97_328.0,
            "distance": 0.5137,
            "low_price": 97_828.0,
            "high_price": 98_628.0,
            "usd": 31_200_000,
            "timestamp": 0,
        },
        "symbol=BTC&range=7d",
    ),
    ({"alert": "coverage", "basis": "measured", "exchange": "okx", "connected_share": 0.9}, "panel=coverage"),
    ({"alert": "coverage", "basis": "measured", "exchange": None, "error": "no route"}, "panel=coverage"),
]


@pytest.mark.parametrize("alert,fragment", ALERTS)
def test_every_alert_says_what_happened_and_links_to_the_page(service, alert, fragment):
    made = messages.described(alert, "https://data.example.org:8080/")
    assert made["text"] == messages.words_of(alert)
    assert made["link"] == f"https://data.example.org:8080/#{fragment}"
    assert "link" not in messages.described(alert, None)
    for name, member in (("slack", "text"), ("discord", "content"), ("telegram", "text")):
        assert send(Sender(webhook=f"{service.url}/?chat_id=7", format=name), made) == []
        text = json.loads(service.requests[-1].body)[member]
        assert (html.unescape(text) if name == "slack" else text).endswith(f" {made['link']}")
    assert send(Sender(webhook=service.url), made) == []
    assert json.loads(service.requests[-1].body) == made


class Source:
    """A source with a price that falls through a cluster of longs, and an exchange that loses its connection."""

    def __init__(self):
        self.price, self.share = 60_000.0, 1.0

    def liqmap(self, symbol, range):
        grid = liqmap()
        prices = np.array([57_000.0, 58_000.0, 59_000.0])
        there = prices < self.price
        tiers = np.zeros((3, len(grid.leverages)))
        tiers[1, 0], tiers[0, 0], tiers[2, 0] = 50e6, 1e6, 1e6
        assert range == "7d"
        return dataclasses.replace(
            grid,
            symbol=symbol,
            current_price=self.price,
            bin_width=1000.0,
            prices=prices[there],
            sides=np.array(["long"] * 3)[there],
            tiers=tiers[there],
            total=tiers.sum(axis=1)[there],
        )

    def coverage(self, range):
        assert range == "1h"
        return [{"exchange": "okx", "connected_share": self.share, "last_event": 1}]


def test_a_cluster_is_alerted_near_and_through_and_each_once():
    source, reported = Source(), []
    clusters = Clusters(Rule("cluster", 10e6, symbol="BTC", distance=1.0), "BTC", reported.append)
    found = []
    for price in (60_000.0, 58_900.0, 58_950.0, 58_800.0, 57_900.0, 57_900.0):
        source.price = price
        found += [(price, alert["state"], alert["basis"], alert["distance"]) for alert in clusters.news(source, 0, 1)]
    # The distance is that of the upper edge, 58,500, and none within the cluster.
    far = round(100 * (58_500 / 58_900 - 1), 4)
    assert found == [(58_900.0, "near", "estimated", far), (57_900.0, "through", "estimated", 0.0)]
    assert reported == []


def test_lost_coverage_is_alerted_once_per_loss():
    source = Source()
    coverage = Coverage()
    found = []
    for minute, share in enumerate((1.0, 0.999, 0.98, 0.96, 0.96, 0.96, 0.96, 0.94)):
        source.share = share
        found += [(minute, alert["connected_share"]) for alert in coverage.news(source, 0, minute * 60_000)]
    assert found == [(2, 0.98), (7, 0.94)]


def test_large_orders_of_a_market_are_alerted_once():
    with liqdata.demo() as market:
        largest = market.orders("BTC", limit=1000).to_pandas()["value_usd"].max()
        orders = Orders(Rule("order", float(largest), symbol="BTC"), "BTC")
        now = int(market.orders("BTC", limit=1)[0]["timestamp"])
        first = list(orders.news(market, 0, now + 1))
        assert [alert["basis"] for alert in first] == ["realised"] * len(first)
        assert list(orders.news(market, 0, now + 1)) == []


def test_large_orders_are_alerted_once_after_any_pause_between_polls():
    hour = 60 * 60 * 1000

    class Source:
        now = 0

        def iter_orders(self, _symbol, *, min_usd, start):
            assert min_usd == 1
            for at in range(start + -start % hour, self.now + 1, hour):
                yield dict.fromkeys(("exchange", "symbol", "side", "price", "qty"), "x") | {"timestamp": at}

    source = Source()
    orders = Orders(Rule("order", 1), None)
    found = []
    for source.now in (4 * hour, 5 * hour, 11 * hour, 12 * hour, 19 * hour):
        found += [alert["timestamp"] // hour for alert in orders.news(source, 2 * hour, source.now)]
    assert found == list(range(2, 20))


@pytest.mark.parametrize(
    "arguments,parameter",
    [
        ({"kind": "price", "usd": 1}, "kind"),
        ({"kind": "cascade"}, "usd"),
        ({"kind": "order", "usd": -1}, "usd"),
        ({"kind": "cascade", "usd": 1, "min_usd": "much"}, "min_usd"),
        ({"kind": "cascade", "usd": 1, "gap": "soon"}, "gap"),
        ({"kind": "cluster", "usd": 1}, "symbol"),
        ({"kind": "cluster", "usd": 1, "symbol": []}, "symbol"),
        ({"kind": "cluster", "usd": 1, "symbol": "BTC", "distance": 0}, "distance"),
        ({"kind": "cluster", "usd": 1, "symbol": "BTC", "distance": "near"}, "distance"),
        ({"kind": "coverage", "usd": 1}, "usd"),
        ({"kind": "order", "usd": 1, "gap": "60s"}, "gap"),
        ({"kind": "order", "usd": 1, "distance": 2}, "distance"),
    ],
)
def test_a_wrong_rule_is_refused_by_name(arguments, parameter):
    with pytest.raises(BadQuery, match=f"^{parameter}: ") as refused:
        Rule(**arguments)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize(
    "arguments,parameter",
    [
        ({}, "webhook"),
        ({"webhook": "http://here/", "command": "cat"}, "command"),
        ({"webhook": "ftp://here/"}, "webhook"),
        ({"webhook": "http://"}, "webhook"),
        ({"webhook": "http://u:p@here/"}, "webhook"),
        ({"webhook": 7}, "webhook"),
        ({"webhook": "http://here/", "format": "xml"}, "format"),
        ({"webhook": "http://here/", "secret": b""}, "secret"),
        ({"webhook": "http://here/", "secret": "text"}, "secret"),
        ({"command": "cat", "format": "slack"}, "format"),
        ({"command": "cat", "secret": b"key"}, "secret"),
        ({"command": ""}, "command"),
        ({"command": "'"}, "command"),
        ({"command": ["a\0b"]}, "command"),
        ({"command": "/no/such/program --loud"}, "command"),
        ({"function": "print"}, "function"),
    ],
)
def test_a_wrong_sender_is_refused_by_name(arguments, parameter):
    with pytest.raises(BadQuery) as refused:
        Sender(**arguments)
    assert refused.value.parameter == parameter


def test_a_sender_never_shows_the_address_of_its_webhook():
    made = Sender(webhook="https://hooks.slack.com/services/T0/B0/secret", secret=b"key")
    assert repr(made) == "Sender(webhook of hooks.slack.com, slack)"
    with pytest.raises(BadQuery) as refused:
        Sender(webhook="ftp://hooks.slack.com/secret")
    assert "secret" not in str(refused.value)


def test_one_watch_has_many_rules_and_senders(service):
    """Two rules on cascades, one on orders and one on coverage; a webhook and a function get the same alerts."""
    received, shown = [], []
    with liqdata.demo() as market:
        day = market.cascades(start="-24h")
        of_btc = max(row["usd"] for row in day if row["coin"] == "BTC")
        of_eth = max(row["usd"] for row in day if row["coin"] == "ETH")
        largest = market.largest("24h", limit=1)[0]
        rules = [
            Rule("cascade", of_btc, symbol="BTC"),
            Rule("cascade", of_eth, symbol="ETH", min_usd=0),
            Rule("order", largest["value_usd"]),
            Rule("coverage"),
        ]
        senders = [Sender(webhook=service.url), Sender(function=received.append)]
        polled, since = threading.Event(), day.meta["as_of"] - timedelta(days=1)
        alerts.watch(market, rules, senders, show=shown.append, since=since, after_poll=polled.set, stop=polled)
    found = {(alert["alert"], alert.get("coin") or alert["symbol"]) for alert in received}
    assert found == {("cascade", "BTC"), ("cascade", "ETH"), ("order", largest["symbol"])}
    assert sorted(json.loads(request.body)["alert"] for request in service.requests) == sorted(
        alert["alert"] for alert in received
    )
    assert all(alert["simulated"] for alert in received)
    below = [event for event in shown if event["alert"] == "cascade" and event not in received]
    assert below
    assert {event["coin"] for event in below} == {"ETH"}


def test_a_rule_without_cascades_takes_the_time_of_the_source():
    shown = []
    with liqdata.demo() as market:
        rows = market.largest("24h", limit=3)
        rule, since = Rule("order", rows[-1]["value_usd"]), rows.meta["as_of"] - timedelta(days=1)
        alerts.watch(market, rule, show=shown.append, since=since, most=3)
    assert [event["alert"] for event in shown] == ["order"] * 3


def test_failures_are_logged_unless_a_function_handles_them(caplog):
    polls = []

    def stop_after_two():
        polls.append(1)
        if len(polls) == 2:
            stop.set()

    stop = threading.Event()
    with liqdata.Client("http://127.0.0.1:1", retries=0) as client:
        alerts.watch(
            client, Rule("cascade", 1), Sender(function=print), every=0.01, stop=stop, after_poll=stop_after_two
        )
    (record,) = [record for record in caplog.records if record.name == "liqdata.alerts"]
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith("; retrying every 0.01 s")


def test_a_condition_that_fails_for_one_coin_is_reported_and_the_others_are_judged():
    with liqdata.demo() as demo:
        tables = {"bars": demo.bars("ETH", start="-3d"), "open_interest": demo.open_interest("ETH", start="-3d")}
        orders = list(islice(demo.iter_orders("BTC"), 5))
    # BTC has orders and no bars, so only its map is refused.
    rules = [Rule("cluster", 1, symbol=["BTC", "ETH"], distance=50), Rule("order", 1, symbol="BTC")]
    shown, reported, polls, stop = [], [], [], threading.Event()

    def stop_after_two():
        polls.append(1)
        if len(polls) == 2:
            stop.set()

    with liqdata.Market(orders=orders, **tables) as market:
        alerts.watch(
            market,
            rules,
            show=shown.append,
            report=reported.append,
            every=0.01,
            since=orders[-1]["timestamp"],
            stop=stop,
            after_poll=stop_after_two,
        )
    (message,) = reported
    assert message.startswith('clusters of BTC: "BTC" is unknown')
    assert {(event["alert"], event.get("coin", "BTC")) for event in shown} == {("cluster", "ETH"), ("order", "BTC")}


def test_a_function_that_fails_is_reported_and_gets_the_next_alert():
    received = []

    def fail_first(alert):
        received.append(alert["exchange"])
        if len(received) == 1:
            raise RuntimeError("no room")

    events = [{**ORDER, "exchange": "okx"}, {**ORDER, "exchange": "bybit"}]
    assert send(Sender(function=fail_first), *events) == ["alert for BTC-USDT-SWAP: the function failed: no room"]
    assert received == ["okx", "bybit"]


@pytest.mark.parametrize(
    "arguments,parameter",
    [
        (([],), "rules"),
        (("cascade",), "rules"),
        ((7,), "rules"),
        ((Rule("coverage"), ["http://here/"]), "senders"),
        ((Rule("coverage"),), "senders"),
    ],
)
def test_an_argument_that_is_no_rule_or_sender_is_refused(market, arguments, parameter):
    with pytest.raises(BadQuery) as refused:
        alerts.watch(market, *arguments)
    assert refused.value.parameter == parameter


def test_a_server_marks_its_alerts_as_simulated(service, tmp_path):
    key = tmp_path / "key"
    key.write_text("secret\n")
    arguments = ["serve", "--demo", "--alert-symbol", "BTC", "--alert-cluster-usd", "100000", "--alert-distance", "5"]
    arguments += ["--webhook", service.url, "--webhook-format", "slack", "--webhook-secret", str(key)]
    with subprocess.Popen([sys.executable, "-m", "liqdata", *arguments], stdout=subprocess.PIPE, text=True) as running:
        url = running.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        deadline = time.monotonic() + 60
        while not service.requests and time.monotonic() < deadline:
            time.sleep(0.05)
        running.terminate()
        running.wait(30)
    text = json.loads(service.requests[0].body)["text"]
    assert "BTC: the price" in text
    assert "is near a cluster of" in text
    assert f"[estimated, simulated] {url}/#symbol=BTC&amp;range=7d" in text
    assert service.requests[0].headers["X-Liqdata-Signature"].startswith("sha256=")


def test_alerts_without_a_receiver_are_refused():
    for arguments, words in (
        (["serve", "--demo", "--alert-coverage"], "alerts have no receiver; add --webhook URL or --command PROGRAM"),
        (["watch", "--demo", "--webhook-format", "slack"], "only for a webhook; add --webhook URL"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "liqdata", *arguments], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 2
        assert words in done.stderr
