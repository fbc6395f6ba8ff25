"""The server through its Python face and its command: life, refusals, and a good end."""

import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
import samples

import liqdata


def fetch(url, method="GET", **headers):
    """Status, headers and JSON of an address, refusals included."""
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.headers, json.loads(response.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers, json.loads(refusal.read())


# Life.


def test_a_server_answers_inside_its_with_block_and_not_after(market):
    with liqdata.serve(market) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.url)
        assert server.market is market
        with liqdata.Client(server.url, retries=0) as client:
            assert client.overview() == market.overview()
            server.close()
            with pytest.raises(liqdata.NoAnswer):
                client.overview()
    assert "closed" in repr(server)


def test_a_server_may_be_closed_twice_and_by_many(market):
    server = liqdata.serve(market)
    server.close()
    server.close()
    other = liqdata.serve(market)
    threads = [threading.Thread(target=other.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def test_a_port_may_be_chosen_and_used_again_after_the_end(market):
    with liqdata.serve(market) as server:
        port = int(server.url.rpartition(":")[2])
    for _ in range(3):
        with liqdata.serve(market, port=port) as server:
            assert server.url == f"http://127.0.0.1:{port}"
            assert fetch(f"{server.url}/health")[0] == 200


def test_a_port_that_is_taken_is_an_error_that_names_the_address(market):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            liqdata.serve(market, port=port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_of_another_machine_cannot_be_listened_on(market, host):
    with pytest.raises(OSError, match=re.escape(f"cannot listen on {host}:0")):
        liqdata.serve(market, host)


@pytest.mark.parametrize("port", [-1, 65536, "80", 80.0, True, None])
def test_a_port_out_of_bounds_is_refused(market, port):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.serve(market, port=port)
    assert caught.value.parameter == "port"


@pytest.mark.parametrize("host", ["", " ", None, 5])
def test_an_invalid_host_is_refused(market, host):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.serve(market, host=host)
    assert caught.value.parameter == "host"


def test_only_a_market_can_be_served():
    with pytest.raises(TypeError, match="cannot be served"):
        liqdata.serve({"orders": []})


def small(exchange):
    """A market of one order."""
    order = {"exchange": exchange, "symbol": "BTCUSDT", "side": "LONG", "price": "1", "qty": "2", "value_usd": "2"}
    return liqdata.Market(orders={name: [cell] for name, cell in {**order, "timestamp": 1_781_136_000_000}.items()})


def test_several_servers_serve_several_markets():
    first, second = small("binance"), small("okx")
    with liqdata.serve(first) as one, liqdata.serve(second) as two, liqdata.serve(first) as three:
        for server, exchange in ((one, "binance"), (two, "okx"), (three, "binance")):
            with liqdata.Client(server.url) as client:
                assert [row["exchange"] for row in client.exchanges()] == [exchange]


def test_a_server_has_a_reference_to_its_market():
    with liqdata.serve(small("gate")) as server, liqdata.Client(server.url) as client:
        gc.collect()
        assert client.orders()[0]["exchange"] == "gate"


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_an_empty_market_has_complete_empty_answers():
    empty = {name: [] for name in ("exchange", "symbol", "side", "price", "qty", "value_usd", "timestamp")}
    with liqdata.serve(liqdata.Market(orders=empty)) as server, liqdata.Client(server.url) as client:
        assert client.coins() == []
        assert client.chart() == []
        assert list(client.iter_orders()) == []
        assert {window: totals["cnt"] for window, totals in client.overview().items()} == dict.fromkeys(
            ["1h", "4h", "12h", "24h"], 0
        )
        with pytest.raises(liqdata.Refused) as caught:
            client.heatmap("BTC")
        assert caught.value.status == 404


# Refusals, in exactly one shape.


@pytest.mark.parametrize(
    "query,parameter,allowed",
    [
        ("/api/liquidations/coins?range=2h", "range", ["1h", "4h", "12h", "24h"]),
        ("/api/liquidations/coins?range=", "range", ["1h", "24h"]),
        ("/api/liquidations/coins?limit=0", "limit", ["1", "200"]),
        ("/api/liquidations/coins?limit=201", "limit", ["1", "200"]),
        ("/api/liquidations/coins?limit=ten", "limit", ["1", "200"]),
        ("/api/liquidations/largest?limit=1001", "limit", ["1", "1000"]),
        ("/api/liquidations?offset=-1", "offset", ["0"]),
        ("/api/liquidations?symbol=", "symbol", []),
        ("/api/liquidations/overview?range=2d", "range", ["24h", "7d"]),
        ("/api/liquidations/coins?rage=24h", "rage", ["range", "limit"]),
        ("/api/liquidations/coins?limit=5&limit=6", "limit", []),
        ("/api/liq-heatmap?model=1", "model", ["2", "3"]),
        ("/api/liq-heatmap?range=1h", "range", ["12h", "24h", "3d", "7d", "1M"]),
        ("/api/liq-map?range=24H", "range", ["1d", "7d"]),
    ],
)
def test_a_parameter_outside_the_contract_is_400_and_named(server, query, parameter, allowed):
    status, headers, body = fetch(server.url + query)
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert body.keys() == {"success", "error"}
    assert body["success"] is False
    assert body["error"].keys() == {"parameter", "message", "allowed"}
    assert body["error"]["parameter"] == parameter
    assert body["error"]["message"]
    for word in allowed:
        assert word in json.dumps(body["error"]["allowed"])


@pytest.mark.parametrize("path", ["/api/liq-heatmap", "/api/liq-map", "/api/liq-levels", "/api/liq-maxpain"])
def test_an_unknown_coin_is_400_and_names_the_symbol(server, path):
    status, headers, body = fetch(f"{server.url}{path}?symbol=NOPE")
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert body["success"] is False
    assert body["error"]["parameter"] == "symbol"
    assert "NOPE" in body["error"]["message"]


def test_a_pair_is_accepted_as_its_coin(server):
    status, _, body = fetch(f"{server.url}/api/liq-levels?symbol=BTC-USDT-SWAP")
    assert status == 200
    assert body["data"]["symbol"] == "BTC"


@pytest.mark.parametrize("path", ["/nothing", "/api/liquidations/nothing", "/api/liq-heatmap/", "/api/../etc/passwd"])
def test_an_unknown_path_is_404_in_the_same_shape(server, path):
    status, headers, body = fetch(server.url + path)
    assert status == 404
    assert headers["content-type"] == "application/json"
    assert body["success"] is False
    assert body["error"].keys() >= {"message"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_405_in_the_same_shape(server, method):
    status, headers, body = fetch(f"{server.url}/api/liquidations/overview", method)
    assert status == 405
    assert headers["allow"] == "GET, HEAD"
    assert headers["content-type"] == "application/json"
    assert body["success"] is False
    assert method in body["error"]["message"]


def test_the_refusals_of_the_server_are_those_of_the_client(server, connect):
    with pytest.raises(liqdata.BadQuery) as here:
        connect(server).coins(limit=201)
    _, _, there = fetch(f"{server.url}/api/liquidations/coins?limit=201")
    assert here.value.parameter == there["error"]["parameter"]
    assert there["error"]["message"] in str(here.value)


def test_the_ten_paths_answer_without_parameters(server):
    for path in ("overview", "coins", "exchanges", "largest", "chart"):
        status, headers, body = fetch(f"{server.url}/api/liquidations/{path}")
        assert (status, headers["content-type"], body["success"]) == (200, "application/json", True)
        assert body.keys() == {"success", "data"}
    assert len(fetch(f"{server.url}/api/liquidations")[2]["data"]) == 50
    for path in ("liq-levels", "liq-maxpain"):
        assert fetch(f"{server.url}/api/{path}")[2].keys() == {"success", "data"}
    assert list(fetch(f"{server.url}/api/liq-heatmap")[2]) == [
        *("symbol", "range", "model", "updatedAt", "currentPrice", "prices", "times", "matrix"),
        *("units", "view", "simulated", "priceAt", "stepMs", "rowStep", "outside"),
    ]
    assert list(fetch(f"{server.url}/api/liq-map")[2]) == [
        *("symbol", "range", "updatedAt", "currentPrice", "binWidth", "leverages", "bins"),
        *("units", "view", "simulated", "priceAt", "outside", "within", "clusters", "bounds", "fine"),
    ]


# The end.


def test_an_answer_in_progress_is_finished_before_shutdown(market):
    with liqdata.serve(market) as server:
        port = int(server.url.rpartition(":")[2])
        with socket.socket() as peer:
            # A peer that takes little at a time has most of its answer still to come when the server closes.
            peer.settimeout(30)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(("127.0.0.1", port))
            peer.sendall(b"GET /api/liq-heatmap?symbol=BTC&range=1M HTTP/1.1\r\nhost: localhost\r\n\r\n")
            got = peer.recv(1)
            closing = threading.Thread(target=server.close)
            closing.start()
            with pytest.raises(ConnectionError):
                until_refused(port)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            while more := peer.recv(1 << 20):
                got += more
            closing.join(30)
            assert not closing.is_alive()
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    if b"chunked" in head.lower():
        body = unchunked(body)
    assert json.loads(body)["matrix"] == market.heatmap("BTC", "1M").matrix.tolist()


def until_refused(port):
    """Connect until the port is closed."""
    while True:
        socket.create_connection(("127.0.0.1", port), timeout=30).close()


def unchunked(body):
    whole = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if not int(size, 16):
            return whole
        whole, body = whole + body[: int(size, 16)], body[int(size, 16) + 2 :]


def test_an_idle_connection_does_not_delay_shutdown(market):
    server = liqdata.serve(market)
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30), liqdata.Client(server.url) as client:
        client.overview()
        closing = threading.Thread(target=server.close)
        closing.start()
        closing.join(4)
        assert not closing.is_alive()


def test_a_script_with_an_open_server_exits():
    source = (
        "import liqdata, samples; server = liqdata.serve(samples.market());"
        "print(liqdata.Client(server.url).levels()['symbol'])"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=samples.HERE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "BTC\n", "")


# The command.


@pytest.mark.parametrize("number,seed", [(signal.SIGTERM, None), (signal.SIGINT, 5)])
def test_the_command_serves_until_a_signal(number, seed):
    options = [] if seed is None else ["--seed", str(seed)]
    command = [sys.executable, "-X", "dev", "-m", "liqdata", "serve", "--demo", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            with liqdata.Client(url) as client:
                assert client.overview() == liqdata.demo(seed=seed or 0).overview()
                process.send_signal(number)
                out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out) == (0, "")
    assert err == "a simulated market; Ctrl-C ends it\n"


def test_an_invalid_address_is_named_by_the_command(folder):
    samples.archive(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "liqdata", "serve", str(folder), "--port", port],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ},
        )
    assert done.returncode != 0
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
