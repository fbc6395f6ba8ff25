"""What strangers try at a server: pages of other origins, forged addresses, and TLS that is none."""

import datetime as dt
import http.client
import itertools
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager

import pytest
import trustme

import liqdata

# Once, or again and again.
ROUNDS = range(10 if os.environ.get("LIQDATA_SOAK") else 1)


def port_of(server):
    return int(server.url.rpartition(":")[2])


def eventually(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


# Origins.

KNOWN = "https://example.com"
STRANGERS = (
    "null",
    "*",
    "",
    "https://evil-example.com",
    "https://example.com.evil.org",
    "https://evil.org/https://example.com",
    "https://example.com@evil.org",
    "https://sub.example.com",
    "https://example.co",
    "https://example.com:444",
    "https://example.com:443",
    "http://example.com",
    "https://EXAMPLE.com",
    "https://example.com.",
    "https://example.com/",
    " https://example.com",
    "https://example.com, https://evil.org",
    "https://evil.org https://example.com",
    "file://",
)


def cors(server, origin, method="GET", **headers):
    """The status, the allowed origin and the names of the CORS headers."""
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=30)) as connection:
        connection.request(method, "/api/liquidations/coins", headers={"Origin": origin, **headers})
        response = connection.getresponse()
        response.read()
        names = [name for name, _ in response.getheaders() if name.lower().startswith("access-control-allow")]
        return response.status, response.getheader("Access-Control-Allow-Origin"), names


def test_similar_origins_are_not_accepted(market):
    with liqdata.serve(market, origins=[KNOWN, "http://localhost:8080"]) as server:
        assert cors(server, KNOWN)[1] == KNOWN
        assert cors(server, "http://localhost:8080")[1] == "http://localhost:8080"
        asks = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
        assert cors(server, KNOWN, "OPTIONS", **asks)[:2] == (204, KNOWN)
        for origin in (*STRANGERS, "http://localhost", "http://localhost:80801", "http://127.0.0.1:8080"):
            # Python trims a field's blanks as servers do.
            if origin.strip() == KNOWN:
                continue
            assert cors(server, origin)[1:] == (None, []), origin
            status, allowed, names = cors(server, origin, "OPTIONS", **asks)
            assert (status != 204, allowed, names) == (True, None, []), origin


@pytest.mark.parametrize(
    "given, spelled",
    [
        ("https://Example.COM", KNOWN),
        ("HTTPS://example.com/", KNOWN),
        ("https://example.com:443", KNOWN),
        ("http://example.com:80", "http://example.com"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_origin_is_normalised_like_in_browsers(market, given, spelled):
    with liqdata.serve(market, origins=[given]) as server:
        assert cors(server, spelled)[1] == spelled


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "*",
        "https://*.example.com",
        "https://",
        "https://example.com/page",
        "https://bücher.example",
        "ftp://x.y",
        "https://example.com:x",
        "https://example.com:99999",
        "https://a b.example",
        "https://me@example.com",
        "//x.y",
    ],
)
def test_an_invalid_origin_is_refused(market, origin):
    with pytest.raises(liqdata.BadQuery, match="is not an origin; allowed: scheme, host and port") as refused:
        liqdata.serve(market, origins=[origin])
    assert refused.value.parameter == "origins"


# Who asks, behind a proxy.


class Followers:
    """Streams that are held open, each by whom a proxy says."""

    def __init__(self, server, stack):
        self._port, self._stack = port_of(server), stack

    def follow(self, *forwarded):
        """The status of one more stream with these forwarding headers in its request."""
        one = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        self._stack.callback(one.close)
        fields = "".join(f"x-forwarded-for: {field}\r\n" for field in forwarded)
        one.sendall(f"GET /api/liquidations/stream HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n".encode())
        return int(one.recv(100).split(b" ")[1])


FORGED = {
    "another before it": lambda number: [f"10.0.{number}.1, 192.0.2.1"],
    "another field before it": lambda number: [f"10.0.{number}.1", "192.0.2.1"],
    "the proxy before it": lambda number: [f"127.0.0.1, 192.0.2.{number}, 192.0.2.1"],
    "nonsense before it": lambda number: [f"nonsense {number}, 192.0.2.1"],
    "hundreds before it": lambda number: [
        ", ".join(f"10.{number}.0.{hop % 250}" for hop in range(600)) + ", 192.0.2.1"
    ],
    "ports": lambda number: [f"192.0.2.1:{1000 + number}"],
    "another spelling": lambda number: [f"::ffff:{'192.0.2.1' if number % 2 else 'c000:201'}"],
    "addresses of one network": lambda number: [f"2001:db8::{number:x}"],
    "with ports": lambda number: [f"[2001:db8::1:{number:x}:0:2]:{number + 1}"],
    "nonsense behind it": lambda number: [f"192.0.2.{number}, nonsense"],
    "no address behind it": lambda number: [f"192.0.2.{number}, 300.1.1.1"],
    "nothing behind it": lambda number: [f"192.0.2.{number},"],
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_client_behind_a_proxy_cannot_forge_addresses(market, forge):
    with ExitStack() as stack:
        limits = {"per_peer": 2, "trusted_proxies": ["127.0.0.1"]}
        server = stack.enter_context(liqdata.serve(market, limits=limits))
        followers = Followers(server, stack)
        assert [followers.follow(*forge(number)) for number in range(5)] == [200, 200, 429, 429, 429]
        # Another one has a share of its own.
        assert followers.follow("198.51.100.7") == 200


def test_an_untrusted_proxy_cannot_set_the_client_address(market):
    with ExitStack() as stack:
        limits = {"per_peer": 2, "trusted_proxies": ["10.0.0.0/8"]}
        server = stack.enter_context(liqdata.serve(market, limits=limits))
        followers = Followers(server, stack)
        said = [followers.follow(f"192.0.2.{number}") for number in range(4)]
        assert said[:2] == [200, 200]
        assert set(said[2:]) == {503}


# Streams.


def test_streams_per_client_are_limited_and_released_on_disconnection(market):
    limits = {"streams": 8, "trusted_proxies": ["127.0.0.1"]}
    with ExitStack() as stack, liqdata.serve(market, limits=limits) as server:
        others = Followers(server, stack)
        with ExitStack() as greedy:
            followers = Followers(server, greedy)
            assert [followers.follow("192.0.2.1") for _ in range(4)] == [200, 200, 429, 429]
            assert others.follow("192.0.2.2") == 200
        gone = time.monotonic()
        while others.follow("192.0.2.1") != 200:
            assert time.monotonic() - gone < 5
            time.sleep(0.1)


def test_the_share_of_streams_can_be_chosen(market):
    with ExitStack() as stack, liqdata.serve(market, limits={"streams": 8, "streams_per_peer": 8}) as server:
        followers = Followers(server, stack)
        assert [followers.follow("192.0.2.1") for _ in range(8)] == [200] * 8
    with pytest.raises(liqdata.BadQuery, match="streams_per_peer: 0 is not allowed"):
        liqdata.serve(market, limits={"streams_per_peer": 0})


def test_a_stream_of_a_revoked_token_ends_and_is_not_opened_again(market, tmp_path):
    from liqdata.cli.commands.serve_options import token

    (valid, line), (revoked, other) = token("valid"), token("revoked")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{line}\n{other}\n")
    with liqdata.serve(market, token=tokens) as server:
        with liqdata.Client(server.url, token=revoked) as client, client.stream_orders() as stream:
            # Replaced as a whole, as programs that write secrets do.
            (tmp_path / "new").write_text(f"{line}\n")
            (tmp_path / "new").replace(tokens)
            began = time.monotonic()
            with pytest.raises(liqdata.Refused) as caught:
                next(stream)
            assert caught.value.status == 401
            # A second until the stream ends, and another before the client asks again.
            assert time.monotonic() - began < 5
        with liqdata.Client(server.url, token=valid) as client:
            assert client.overview() == market.overview()


# Open files.


@contextmanager
def limited(files, *words):
    """A server of the command, of which the shell limits the open files; yields the process and its port."""
    command = f'ulimit {files}; exec "$0" -m liqdata serve --demo "$@"'
    process = subprocess.Popen(
        ["/bin/sh", "-c", command, sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process, int(process.stdout.readline().strip().rpartition(":")[2])
    finally:
        process.kill()
        process.communicate(timeout=30)


def opened(port, stack):
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))


def answered(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/health")
        return connection.getresponse().status


def test_idle_connections_leave_descriptors_under_a_low_limit():
    with ExitStack() as stack, limited("-n 128") as (process, port):
        idle = [opened(port, stack) for _ in range(200)]
        for number, one in enumerate(idle):
            if number % 2:
                one.sendall(b"GET /health HTTP/1.1\r\nx-slow: ")
        assert answered(port) == 200
        # Streams of one client are no way around it.
        statuses = []
        for _ in range(60):
            one = opened(port, stack)
            one.sendall(b"GET /api/liquidations/stream HTTP/1.1\r\nhost: localhost\r\n\r\n")
            statuses.append(one.recv(100).split(b" ")[1])
        assert statuses.count(b"200") == 4
        assert answered(port) == 200
        process.terminate()
        said = process.communicate(timeout=30)[1]
    assert said.count("reduces the limits") == 1
    assert "may open 128 files" in said
    assert "connections from 512 to 32, per_peer from 256 to 16, streams from 256 to 16" in said


def test_the_soft_limit_of_open_files_is_raised_to_the_hard_one():
    resource = pytest.importorskip("resource")
    with limited("-S -n 64") as (process, port):
        assert answered(port) == 200
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        assert soft == hard > 64
        process.terminate()
        assert "reduces" not in process.communicate(timeout=30)[1] or hard < 704


GREEDY = """
import os, resource, sys
import liqdata
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
server = liqdata.serve(liqdata.demo())
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    for _ in range(20):
        os.close(held.pop())
print(server.url, flush=True)
sys.stdin.read()
"""


def test_idle_connections_are_closed_if_descriptors_run_out():
    pytest.importorskip("resource")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with ExitStack() as stack, subprocess.Popen([sys.executable, "-c", GREEDY], **pipes, text=True) as process:
        port = int(process.stdout.readline().strip().rpartition(":")[2])
        for _ in range(50):
            opened(port, stack)
        assert answered(port) == 200
        process.stdin.close()


# TLS.


class Certified:
    """A certificate and its key in files, of an authority that clients trust."""

    def __init__(self, folder, monkeypatch):
        self.authority = trustme.CA()
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        trusted = folder / "authority.pem"
        self.authority.cert_pem.write_to_path(trusted)
        self.context = ssl.create_default_context(cafile=trusted)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)

    def issued(self, **options):
        """A chain and a key, as text."""
        issued = self.authority.issue_cert("127.0.0.1", "localhost", **options)
        return b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()

    def write(self, chain, key):
        self.certificate.write_bytes(chain)
        self.key.write_bytes(key)
        return self.certificate, self.key

    def shown(self, server):
        """The certificate that a server shows."""
        with (
            socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) as plain,
            self.context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            return secure.getpeercert(binary_form=True)


@pytest.fixture
def certified(tmp_path, monkeypatch):
    return Certified(tmp_path, monkeypatch)


def test_an_expired_server_certificate_is_not_trusted(market, certified):
    past = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)
    files = certified.write(*certified.issued(not_before=past - dt.timedelta(days=9), not_after=past))
    with liqdata.serve(market, tls=files) as server, liqdata.Client(server.url, retries=0) as client:
        with pytest.raises(liqdata.NoAnswer, match=r"TLS|certificate") as caught:
            client.overview()
        assert "expired" in " ".join([str(caught.value), *caught.value.__notes__]).lower()


def test_a_mismatched_key_is_refused_and_not_loaded(market, certified):
    (chain, key), (_, other) = certified.issued(), certified.issued()
    with pytest.raises(liqdata.BadQuery, match="cannot be used together") as refused:
        liqdata.serve(market, tls=certified.write(chain, other))
    assert refused.value.parameter == "tls"
    with liqdata.serve(market, tls=certified.write(chain, key)) as server:
        before = certified.shown(server)
        certified.key.write_bytes(other)
        time.sleep(2.5)
        assert certified.shown(server) == before
        new, its_key = certified.issued()
        certified.write(new, its_key)
        eventually(lambda: certified.shown(server) != before)


def test_incomplete_certificate_files_do_not_replace_the_loaded_ones(market, certified):
    with liqdata.serve(market, tls=certified.write(*certified.issued())) as server:
        before = certified.shown(server)
        chain, key = certified.issued()
        for half in (key[: len(key) // 2], b"", b"\x00" * 4096, b"-----BEGIN EC PRIVATE KEY-----\n"):
            certified.key.write_bytes(half)
            time.sleep(1.2)
            assert certified.shown(server) == before
        certified.key.unlink()
        time.sleep(1.2)
        assert certified.shown(server) == before
        certified.key.write_bytes(key)
        for half in (chain[: len(chain) // 3], chain[:-40]):
            certified.certificate.write_bytes(half)
            time.sleep(1.2)
            assert certified.shown(server) == before
        certified.certificate.write_bytes(chain)
        eventually(lambda: certified.shown(server) != before)


@pytest.mark.parametrize("_round", ROUNDS)
def test_unfinished_and_invalid_handshakes_do_not_block_other_clients(market, certified, _round):
    with ExitStack() as stack:
        server = stack.enter_context(liqdata.serve(market, tls=certified.write(*certified.issued())))
        client = stack.enter_context(liqdata.Client(server.url, retries=0))
        client.overview()
        # The begin of a greeting, which is promised to be longer.
        greeting = bytes.fromhex("16030100c8010000c40303")
        words = itertools.cycle((greeting, greeting[:1], b"", b"GET / HTTP/1.1\r\n", b"\x00" * 600))
        for said in itertools.islice(words, 600):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port_of(server)), timeout=30))
            one.sendall(said)
        slowest, done = [], threading.Event()

        def ask():
            while not done.is_set():
                began = time.monotonic()
                with liqdata.Client(server.url, retries=0) as new:
                    new.overview()
                slowest.append(time.monotonic() - began)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            # Meanwhile 200 more, a byte at a time.
            for _ in range(200):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", port_of(server)), timeout=30))
                for byte in greeting[:4]:
                    one.sendall(bytes([byte]))
        finally:
            done.set()
            asking.join()
        assert client.overview() == market.overview()
        assert len(slowest) > 0
        print(f"the slowest of {len(slowest)} took {max(slowest):.2f} s")
        assert max(slowest) < 5.0, max(slowest)
