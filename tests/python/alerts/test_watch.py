"""Watching cascades: real events of an archive that grows, a webhook on a socket, a program, and Ctrl-C."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import samples
from samples import MINUTE, NOW

import liqdata
from liqdata import BadQuery, _core
from liqdata.alerts import Rule, Sender, polling, program, watch
from liqdata.alerts import webhook as posts
from liqdata.alerts.cascades import Cascades

RULE = Rule("cascade", 100_000)


def order(at, usd, *, side="LONG", symbol="BTCUSDT", venue="okx"):
    named = {"exchange": venue, "symbol": symbol, "side": side}
    return {**named, "price": 1, "qty": 1, "value_usd": Decimal(usd), "timestamp": NOW + at}


@pytest.fixture
def growing(tmp_path):
    """An archive, and what lets it grow."""
    writer = _core.ArchiveWriter(tmp_path / "archive")

    def grow(*rows):
        writer.append(samples.columns(list(rows)), None, None)

    grow(order(-MINUTE * 60, 1))
    with liqdata.open(tmp_path / "archive") as market:
        yield market, grow
    writer.close()


@pytest.fixture
def webhook():
    """A server that stores what is posted, and answers with the given codes."""
    posted, codes = [], []

    class Recorder(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(codes.pop(0) if codes else 204)
            self.end_headers()

        def log_message(self, *_):
            """Requests are not the test's output."""

    with HTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook?key=secret", posted, codes
        server.shutdown()
        thread.join()


def test_a_cascade_is_shown_when_it_is_large_and_when_it_closes_and_alerted_once(growing, webhook):
    market, grow = growing
    address, posted, _ = webhook
    shown, reported = [], []
    steps = iter(
        [
            (order(0, 60_000), order(1000, 50_000, venue="bybit")),
            (order(2000, 500_000),),
            (order(3000, 1), order(2 * MINUTE, 1, symbol="ETHUSDT")),
        ]
    )

    def show(event):
        shown.append(event)
        rows = next(steps, None)
        if rows:
            grow(*rows)

    grow(*next(steps))
    rule = Rule("cascade", 500_000, min_usd=100_000)
    options = {"every": 0.01, "since": NOW - MINUTE, "most": 2}
    watch(market, rule, Sender(webhook=address), show=show, report=reported.append, **options)
    assert [(event["state"], event["usd"]) for event in shown[:1]] == [("open", 110_000)]
    assert shown[1]["usd"] == 610_000
    assert [(event["usd"], event["coin"], event["exchanges"]) for event in posted] == [("610000", "BTC", 2)]
    assert reported == []


def test_each_look_shows_what_is_new_of_it():
    events = Cascades(gap=MINUTE, since=NOW, alert=Decimal(200))

    def look(now, *rows):
        stated = [
            {"coin": "BTC", "side": "LONG", "start": NOW + start, "end": NOW + end, "usd": Decimal(usd)}
            for start, end, usd in rows
        ]
        return [(event["usd"], event["state"], alert) for event, alert in events.news(stated, NOW + now)]

    assert look(0, (-2, -1, 500)) == [], "it was over before"
    assert look(10, (5, 10, 100)) == [(100, "open", False)]
    assert look(20, (5, 20, 150)) == [], "it goes on"
    assert look(30, (5, 30, 200)) == [(200, "open", True)], "large enough"
    assert events.start() <= NOW + 5, "what is open is looked at"
    assert look(31 + MINUTE, (5, 30, 200)) == [(200, "closed", False)]
    assert look(32 + MINUTE, (4, 30, 210)) == [], "a late order changes a reported cascade"
    assert look(9 * MINUTE, (5, 30, 200), (8 * MINUTE, 8 * MINUTE, 300)) == [(300, "open", True)]
    assert events.start() <= NOW + 8 * MINUTE


def test_what_was_forgotten_is_not_new_again():
    """Events of all ages are answered at each poll; as in a replay, minutes pass between two polls."""
    market = [(minute * MINUTE, minute * MINUTE + MINUTE) for minute in range(0, 600, 7)]
    events, found = Cascades(gap=MINUTE, since=NOW, alert=Decimal(1)), []
    for minute in range(0, 800, 11):
        now = NOW + minute * MINUTE
        rows = [
            {"coin": coin, "side": "LONG", "start": NOW + start, "end": NOW + end, "usd": Decimal(5)}
            for coin in ("BTC", "ETH")
            for start, end in market
            if NOW + end >= events.start() and NOW + end <= now
        ]
        found += [(event["coin"], event["start"]) for event, alert in events.news(rows, now) if alert]
    assert sorted(found) == sorted((coin, NOW + start) for coin in ("BTC", "ETH") for start, _ in market)


def test_what_fails_is_said_and_ends_nothing(growing, webhook, tmp_path):
    market, grow = growing
    address, posted, codes = webhook
    codes += [404, 302]
    reported, shown = [], []
    grow(order(0, 200_000), order(0, 300_000, side="SHORT"), order(0, 400_000, symbol="ETHUSDT"))
    failing = [sys.executable, "-c", "raise SystemExit(3)"]
    senders = [Sender(webhook=address), Sender(command=failing)]
    watch(market, RULE, senders, show=shown.append, report=reported.append, every=0.01, since=NOW - 1, most=3)
    assert len(shown) == len(posted) == 3
    # What failed before the watch ended was tried once more.
    failures = sorted(text.split(": ", 1)[1] for text in reported if not text.endswith("; sending it again"))
    assert failures == [
        *[f"the command failed: {sys.executable} ended with 3"] * 3,
        "the webhook failed: 127.0.0.1 answered 302",
        "the webhook failed: 127.0.0.1 answered 404",
    ]
    assert {text.split(":")[0] for text in reported} == {"alert for BTC", "alert for ETH"}
    assert "secret" not in "".join(reported)
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/program\n")
    broken.chmod(0o700)
    sender = Sender(command=[str(broken)])
    watch(market, RULE, sender, report=reported.append, every=0.01, since=NOW - 1, most=1)
    assert "No such file" in reported[-1]


def test_a_webhook_that_answers_byte_by_byte_delays_no_command(growing, tmp_path, monkeypatch):
    market, grow = growing
    monkeypatch.setattr(posts, "_TIMEOUT", 0.7)
    monkeypatch.setattr(program, "_TIMEOUT", 0.7)
    listener = socket.create_server(("127.0.0.1", 0))

    def drip():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Filler: 1\r\n" * 100:
                connection.send(bytes([byte]))
                time.sleep(0.1)

    threading.Thread(target=drip, daemon=True).start()
    out = tmp_path / "out"
    touch = [sys.executable, "-c", f"import time; open({str(out)!r}, 'w').write(str(time.time()))"]
    reported, shown = [], []
    grow(order(0, 200_000))
    began = time.time()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    senders = [Sender(webhook=address), Sender(command=touch)]
    watch(market, RULE, senders, show=shown.append, report=reported.append, every=0.01, since=NOW - 1, most=1)
    elapsed = time.time() - began
    listener.close()
    failed = "alert for BTC: the webhook failed: 127.0.0.1 took longer than 1 s"
    # It is sent again if the watch had not ended yet.
    assert [text for text in reported if not text.endswith("; sending it again")] == [failed]
    assert out.exists()
    assert len(shown) == 1
    assert elapsed < 10, "the whole answer would take 130 s"


def test_an_alert_is_sent_while_no_program_reads_the_output(growing, webhook):
    market, grow = growing
    address, posted, _ = webhook
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65536)
    os.set_blocking(writer, True)
    with liqdata.serve(market) as server:
        arguments = ["watch", "--url", server.url, "--every", "0.05", "--json", "--since", str(NOW - 1)]
        with subprocess.Popen(
            [sys.executable, "-m", "liqdata", *arguments, "--webhook", address],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        ) as running:
            for number in range(3):
                grow(order(number * 3 * MINUTE, 250_000 + number))
            deadline = time.monotonic() + 60
            while len(posted) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 130
            assert running.stderr.read() == ""
    os.close(writer)
    os.close(reader)
    assert [event["usd"] for event in posted] == ["250000", "250001", "250002"]


def test_an_alert_that_was_not_sent_is_reported(growing):
    market, grow = growing
    listener = socket.create_server(("127.0.0.1", 0))
    reported = []

    def interrupt(_):
        raise KeyboardInterrupt

    grow(order(0, 200_000))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with pytest.raises(KeyboardInterrupt):
        watch(
            market,
            RULE,
            Sender(webhook=address),
            show=interrupt,
            report=reported.append,
            every=0.01,
            since=NOW - 1,
        )
    listener.close()
    assert reported == ["alert for BTC may not have reached the webhook: the watch ended"]


def test_a_stopped_watch_ends_in_time_and_names_what_was_not_delivered(growing, monkeypatch):
    monkeypatch.setattr(polling, "_GRACE", 0.2)
    market, grow = growing
    reported, stop = [], threading.Event()
    # It accepts connections and never answers.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for place, coin in enumerate(["BTC", "ETH", "SOL"]):
            grow(order(place, 200_000, symbol=f"{coin}USDT"))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        watch(
            market,
            Rule("order", 100_000),
            Sender(webhook=address),
            report=reported.append,
            since=NOW - 1,
            stop=stop,
            after_poll=stop.set,
        )
    assert sorted(reported) == [
        f"alert for {coin}USDT may not have reached the webhook: the watch ended" for coin in ("BTC", "ETH", "SOL")
    ]


def test_a_program_gets_the_event_and_no_text_of_a_venue_becomes_code(growing, tmp_path, monkeypatch):
    market, grow = growing
    out = tmp_path / "out"
    monkeypatch.chdir(tmp_path)
    hostile = "$(TOUCH${IFS}PWNED);`TOUCH${IFS}PWNED`"
    grow(order(0, "123456.75", symbol=hostile))
    code = "import os,sys; open(sys.argv[1],'w').write(os.environ['LIQDATA_COIN']+'\\n'+sys.stdin.read())"
    command = f"'{sys.executable}' -c \"{code}\" {out}"
    reported = []
    watch(market, RULE, Sender(command=command), report=reported.append, every=0.01, since=NOW - 1, most=1)
    assert reported == []
    coin, event = out.read_text().split("\n", 1)
    stated = json.loads(event)
    assert coin == stated["coin"] == hostile
    assert (stated["usd"], stated["state"], stated["price_before"]) == ("123456.75", "open", None)
    assert {path.name for path in tmp_path.iterdir()} == {"archive", "out"}


@pytest.mark.parametrize(
    "asked,parameter",
    [
        ({"every": 0}, "every"),
        ({"every": "soon"}, "every"),
        ({"since": "soon"}, "since"),
        ({"page": "data.example.org"}, "page"),
        ({"page": 7}, "page"),
        ({"rules": Rule("cascade", 1, symbol="BTCC")}, "symbol"),
    ],
)
def test_an_invalid_argument_is_refused_by_name(growing, asked, parameter):
    with pytest.raises(BadQuery) as refused:
        watch(growing[0], **{"rules": RULE, "show": print, **asked})
    assert refused.value.parameter == parameter


def test_the_command_shows_what_comes_to_a_service_and_ends_at_once_at_ctrl_c(growing):
    market, grow = growing
    with liqdata.serve(market) as server:
        arguments = ["watch", "--url", server.url, "--every", "0.05", "--json", "--since", str(NOW - 1)]
        with subprocess.Popen(
            [sys.executable, "-m", "liqdata", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        ) as running:
            grow(order(0, 250_000))
            event = json.loads(running.stdout.readline())
            assert (event["coin"], event["usd"], event["state"]) == ("BTC", "250000", "open")
            running.send_signal(signal.SIGINT)
            out, err = running.communicate()
    assert running.returncode == 130
    assert (out, err) == ("", "")


def test_the_command_says_that_nothing_comes_in_a_simulated_market():
    arguments = ["watch", "--demo", "--every", "0.05"]
    with subprocess.Popen([sys.executable, "-m", "liqdata", *arguments], stderr=subprocess.PIPE, text=True) as running:
        try:
            assert select.select([running.stderr], [], [], 60)[0]
            assert running.stderr.readline().startswith("simulated market: no new data arrives; ")
        finally:
            running.kill()
