"""Who may ask a server and what one client can cost the others, as Python, the command line and a file say it."""

import dataclasses
import getpass
import http.client
import json
import os
import pickle
import socket
import ssl
import stat
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest
import samples
import trustme

import liqdata
from liqdata import _core, cli
from liqdata.server import Limits

TOKEN = "correct-horse-battery"  # noqa: S105 - opens servers of these tests alone
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is to be refused
OTHER = "another-horse-battery"
# Once, or again and again.
ROUNDS = range(10 if os.environ.get("LIQDATA_SOAK") else 1)


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    monkeypatch.delenv("LIQDATA_TOKEN", raising=False)


def port_of(server):
    return int(server.url.rpartition(":")[2])


def status(server, path="/health", **headers):
    """Status and body of one request, with these headers and the usual ones."""
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


def eventually(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


# Tokens.


@pytest.mark.parametrize("given", [TOKEN, [OTHER, TOKEN]], ids=["one", "several"])
def test_a_server_with_a_token_answers_those_that_send_it(market, given):
    with liqdata.serve(market, token=given) as server:
        with liqdata.Client(server.url, token=TOKEN) as client:
            assert client.overview() == market.overview()
        for wrong in (None, "wrong-horse-battery"):
            with liqdata.Client(server.url, token=wrong) as client:
                with pytest.raises(liqdata.Refused, match="a token is required") as caught:
                    client.overview()
                assert caught.value.status == 401
                assert TOKEN not in str(caught.value)
        assert status(server, "/api")[0] == 401
        assert TOKEN not in repr(server)


def test_a_client_reads_its_token_from_the_environment_and_does_not_pickle_it(market, monkeypatch):
    monkeypatch.setenv("LIQDATA_TOKEN", TOKEN)
    with liqdata.serve(market, token=[TOKEN, OTHER]) as server, liqdata.Client(server.url) as client:
        assert client.overview() == market.overview()
        packed = pickle.dumps(client)
        assert TOKEN.encode() not in packed
        monkeypatch.setenv("LIQDATA_TOKEN", OTHER)
        with pickle.loads(packed) as back:
            assert back.overview() == market.overview()
        monkeypatch.delenv("LIQDATA_TOKEN")
        with pickle.loads(packed) as back, pytest.raises(liqdata.Refused):
            back.overview()
        # A header that says who asks wins over the environment.
        monkeypatch.setenv("LIQDATA_TOKEN", "wrong-horse-battery")
        with liqdata.Client(server.url, headers={"authorization": f"Bearer {OTHER}"}) as named:
            assert named.overview() == market.overview()


@pytest.mark.parametrize("kind", [liqdata.Client, liqdata.AsyncClient])
def test_a_token_is_never_shown_or_pickled(kind):
    client = kind("http://127.0.0.1:9", token=TOKEN, retries=0)
    assert TOKEN not in repr(client)
    with pytest.raises(TypeError, match=r"LIQDATA_TOKEN") as caught:
        pickle.dumps(client)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["", "with blanks", "zeilen\numbruch", "schlüssel", 5, b"bytes"])
def test_an_invalid_token_is_refused_without_showing_it(token):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.Client("http://127.0.0.1:9", token=token)
    assert caught.value.parameter == "token"
    assert not isinstance(token, str) or not token or token not in str(caught.value)


def test_a_token_and_an_authorization_header_are_refused():
    with pytest.raises(liqdata.BadQuery, match="one of them"):
        liqdata.Client("http://127.0.0.1:9", token=TOKEN, headers={"Authorization": "Basic eA=="})


@pytest.mark.parametrize("token", ["", "short", "with blanks in the middle", [], [TOKEN, 5], 5, {"a": 1}, b"bytes" * 9])
def test_a_weak_or_malformed_token_is_refused(market, token):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.serve(market, token=token)
    assert caught.value.parameter == "token"
    assert not isinstance(token, str) or not token or token not in str(caught.value)


def test_the_command_creates_tokens_and_the_server_reloads_their_digests(market, capsys, tmp_path):
    made = []
    for name in ("ann", "ben"):
        assert cli.main(["token", name]) == 0
        out, err = capsys.readouterr()
        made.append((out.strip(), err.splitlines()[-1]))
        assert made[-1][1].endswith(f"# {name}")
        assert out.strip() not in err
    (ann, ann_line), (ben, ben_line) = made
    file = tmp_path / "tokens"
    file.write_text(ann_line + "\n")
    with liqdata.serve(market, token=file) as server:
        asks = {name: f"Bearer {token}" for name, token in (("ann", ann), ("ben", ben))}
        assert status(server, Authorization=asks["ann"])[0] == 200
        assert status(server, Authorization=asks["ben"])[0] == 401
        file.write_text(f"{ann_line}\n{ben_line}\n")
        eventually(lambda: status(server, Authorization=asks["ben"])[0] == 200)
        assert status(server, Authorization=asks["ann"])[0] == 200
        file.write_text(f"{ben_line}\n")
        eventually(lambda: status(server, Authorization=asks["ann"])[0] == 401)
    file.write_text("plain-text-token-of-ann\n")
    with pytest.raises(liqdata.BadQuery, match="line 1: not a token digest") as caught:
        liqdata.serve(market, token=file)
    assert "plain-text" not in str(caught.value)
    with pytest.raises(liqdata.BadQuery, match="no-such-file"):
        liqdata.serve(market, token=tmp_path / "no-such-file")


def test_a_token_is_added_to_the_servers_file_and_printed_alone(market, capsys, tmp_path):
    file, made = tmp_path / "tokens", {}
    for name in ("ann", "ben"):
        assert cli.main(["token", name, "--add", str(file)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        made[name] = out.removesuffix("\n")
        assert made[name] not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # An editor left no end of the last line, and the mode that its owner gave stays.
    file.write_text("# ours\n" + file.read_text().removesuffix("\n"))
    file.chmod(0o644)
    assert cli.main(["token", "--add", str(file)]) == 0
    made["nobody"] = capsys.readouterr().out.strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [line.partition("  ")[2] for line in file.read_text().splitlines()] == ["", "# ann", "# ben", ""]
    with liqdata.serve(market, token=file) as server:
        assert all(status(server, Authorization=f"Bearer {token}")[0] == 200 for token in made.values())


def test_a_token_that_cannot_be_added_is_not_printed(capsys, tmp_path):
    assert cli.main(["token", "ann", "--add", str(tmp_path / "missing" / "tokens")]) == cli.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert f"there is no folder {tmp_path / 'missing'}" in err


def test_the_output_of_the_token_command_is_a_valid_token_file(market, capsys, tmp_path):
    assert cli.main(["token", "ann"]) == 0
    out, err = capsys.readouterr()
    (tmp_path / "tokens").write_text(err)
    with liqdata.serve(market, token=tmp_path / "tokens") as server:
        assert status(server, Authorization=f"Bearer {out.strip()}")[0] == 200


# Names, origins, and the world outside.


def test_a_server_answers_only_to_its_host_names(market):
    with liqdata.serve(market, hosts="Data.Example.org") as server:
        for host in ("localhost", "127.0.0.1", "data.example.org:8443", "[::1]"):
            assert status(server, Host=host)[0] == 200
        code, body = status(server, Host="evil.example")
        assert code == 421
        assert json.loads(body)["success"] is False
        assert "evil.example" in body


def test_only_pages_of_allowed_origins_may_read_answers(market):
    with (
        liqdata.serve(market, origins=["https://board.example.org/"]) as server,
        closing(http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=30)) as connection,
    ):
        for origin, allowed in (("https://board.example.org", True), ("https://evil.example", False)):
            connection.request("GET", "/api/liquidations/coins", headers={"Origin": origin})
            response = connection.getresponse()
            response.read()
            assert response.getheader("Access-Control-Allow-Origin") == (origin if allowed else None)
    with (
        liqdata.serve(market) as server,
        closing(http.client.HTTPConnection("127.0.0.1", port_of(server))) as connection,
    ):
        connection.request("GET", "/health", headers={"Origin": "https://board.example.org"})
        assert connection.getresponse().getheader("Access-Control-Allow-Origin") is None


def test_a_public_address_requires_a_token_or_the_public_option(market):
    with pytest.raises(liqdata.BadQuery, match="everybody who reaches it may send queries") as caught:
        liqdata.serve(market, EVERYWHERE)
    assert caught.value.parameter == "host"
    for how in ({"token": TOKEN}, {"public": True}):
        with liqdata.serve(market, EVERYWHERE, **how) as server:
            answered = status(server, Authorization=f"Bearer {TOKEN}", Host="192.0.2.7")
            assert answered[0] == 200
            assert status(server, Authorization=f"Bearer {TOKEN}", Host="evil.example")[0] == 421


@pytest.mark.parametrize(
    "option, value",
    [
        ("hosts", 5),
        ("hosts", [""]),
        ("origins", "example.org"),
        ("origins", ["https://example.org/page"]),
        ("origins", ["https://me:secret@example.org"]),
        ("tls", "certificate.pem"),
        ("tls", ("no-such-certificate.pem", "key.pem")),
        ("limits", {"connection": 5}),
        ("limits", {"connections": 0}),
        ("limits", {"idle": float("nan")}),
        ("limits", {"idle": True}),
        ("limits", {"trusted_proxies": ["10.0.0.0/33"]}),
        ("limits", 5),
    ],
)
def test_an_option_out_of_bounds_is_refused_by_name(market, option, value):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.serve(market, **{option: value})
    assert caught.value.parameter == option
    assert "allowed" in str(caught.value) or "no-such-certificate.pem" in str(caught.value)


# TLS.


def test_tls_with_a_certificate_that_is_replaced_while_the_server_runs(market, monkeypatch, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"

    def issue():
        issued = authority.issue_cert("127.0.0.1", "localhost")
        issued.private_key_pem.write_to_path(key)
        certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))

    def shown(server):
        context = ssl.create_default_context(cafile=tmp_path / "authority.pem")
        with (
            socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            return secure.getpeercert(binary_form=True)

    issue()
    with liqdata.serve(market, tls=(certificate, key), token=TOKEN) as server:
        assert server.url.startswith("https://")
        with liqdata.Client(server.url, token=TOKEN) as client:
            assert client.overview() == market.overview()
        before = shown(server)
        assert shown(server) == before
        issue()
        eventually(lambda: shown(server) != before)
        # Plain HTTP and silent connections have no effect on other clients.
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b"200" not in plain.recv(100)
        with liqdata.Client(server.url, token=TOKEN) as client:
            assert client.overview() == market.overview()
    key.write_text("nothing")
    with pytest.raises(liqdata.BadQuery, match=r"key\.pem contains no private key"):
        liqdata.serve(market, tls=(certificate, key))


# What one client can cost the others.


def test_the_limits_are_those_of_the_native_half():
    limits = dataclasses.asdict(Limits())
    assert limits.pop("trusted_proxies") == ()
    # A quarter of the streams.
    assert limits.pop("streams_per_peer") is None
    assert limits == _core.limits()


@pytest.mark.parametrize("_round", ROUNDS)
def test_endless_request_heads_do_not_block_other_clients(market, _round):
    with liqdata.serve(market) as server, liqdata.Client(server.url, retries=0) as client:
        client.overview()
        sockets = []
        try:
            for _ in range(600):
                sockets.append(socket.create_connection(("127.0.0.1", port_of(server)), timeout=30))
                sockets[-1].sendall(b"GET /health HTTP/1.1\r\nx-slow: ")
            assert client.overview() == market.overview()
            with liqdata.Client(server.url, retries=0) as new:
                assert new.overview() == market.overview()
            began = time.monotonic()
            server.close()
            # Those who never finish their question are not waited for.
            assert time.monotonic() - began < Limits().grace
        finally:
            for one in sockets:
                one.close()


def test_a_server_closes_in_time_during_computations(market):
    server = liqdata.serve(market, limits={"grace": 1.0})
    addresses = [("127.0.0.1", port_of(server))] * 40
    asked = [socket.create_connection(address, timeout=30) for address in addresses]
    try:
        for number, one in enumerate(asked):
            at = samples.NOW - 60_000 * number
            question = f"/api/liq-heatmap?symbol=BTC&range=30d&model=2&as_of={at}"
            one.sendall(f"GET {question} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        time.sleep(0.3)
        began = time.monotonic()
        server.close()
        # One second of grace, and what a busy machine needs to notice.
        assert time.monotonic() - began < 3.0
        # Some were in progress; which ones were refused depends on the machine.
        replies = [one.recv(12) for one in asked]
        assert set(replies) <= {b"HTTP/1.1 200", b"HTTP/1.1 503", b""}
        assert any(one in {b"HTTP/1.1 200", b""} for one in replies)
    finally:
        for one in asked:
            one.close()


@pytest.mark.parametrize("_round", ROUNDS)
def test_a_server_closes_within_five_seconds_with_stuck_clients(market, _round):
    server = liqdata.serve(market)
    opened = [socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) for _ in range(120)]
    try:
        for number, one in enumerate(opened):
            at = samples.NOW - 60_000 * number
            heatmap = f"/api/liq-heatmap?symbol=BTC&range=30d&model=2&as_of={at}"
            request = {
                0: "GET /health HTTP/1.1\r\nx-slow: ",
                # Computed, and never read.
                1: f"GET {heatmap} HTTP/1.1\r\nhost: localhost\r\n\r\n" * 4,
                2: "GET /api/liquidations/stream HTTP/1.1\r\nhost: localhost\r\n\r\n",
            }[number % 3]
            one.sendall(request.encode())
        time.sleep(0.5)
        began = time.monotonic()
        server.close()
        took = time.monotonic() - began
        print(f"closed after {took:.2f} s")
        # What is promised, and what a busy machine needs to notice.
        assert took < Limits().grace + 1.0 == 6.0
        assert opened[1].recv(12) in {b"HTTP/1.1 200", b""}
    finally:
        for one in opened:
            one.close()


def answered(one, request="GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"):
    """What comes, nothing where the connection was ended."""
    said = b""
    with suppress(ConnectionResetError, BrokenPipeError):
        one.sendall(request.encode())
        while not said.endswith(b"}") and (piece := one.recv(4096)):
            said += piece
    return said


@pytest.mark.parametrize("_round", ROUNDS)
def test_a_peer_over_its_limit_loses_its_idlest_connection(market, _round):
    with liqdata.serve(market, limits={"per_peer": 4}) as server:
        address = ("127.0.0.1", port_of(server))
        sockets = []
        try:
            for _ in range(4):
                sockets.append(socket.create_connection(address, timeout=30))
                sockets[-1].sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
                time.sleep(0.05)
            # The first has sent a new request since: the second is the idlest. Single bytes do not count as activity.
            assert answered(sockets[0], "\r\n\r\n").startswith(b"HTTP/1.1 200")
            sockets[0].sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
            sockets[1].sendall(b"still there")
            time.sleep(0.05)
            with socket.create_connection(address, timeout=30) as new:
                assert answered(new).startswith(b"HTTP/1.1 200")
                assert not answered(sockets[1], "\r\n\r\n").startswith(b"HTTP/1.1 200")
                for one in (sockets[0], sockets[2], sockets[3]):
                    assert answered(one, "\r\n\r\n").startswith(b"HTTP/1.1 200")
        finally:
            for one in sockets:
                one.close()


def test_each_client_behind_a_trusted_proxy_has_its_own_limit(market):
    with liqdata.serve(market, limits={"per_peer": 1, "trusted_proxies": ["127.0.0.1"]}) as server:
        port = port_of(server)

        def follow(client):
            one = socket.create_connection(("127.0.0.1", port), timeout=30)
            head = f"GET /api/liquidations/stream HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: {client}\r\n\r\n"
            one.sendall(head.encode())
            return one, one.recv(100).split(b" ")[1]

        followers = [follow(client) for client in ("192.0.2.1", "192.0.2.2", "192.0.2.1")]
        assert [code for _, code in followers] == [b"200", b"200", b"429"]
        for one, _ in followers:
            one.close()


def test_queries_of_the_past_can_be_disabled(market):
    as_of = int(market.now.timestamp() * 1000) - 60_000
    with liqdata.serve(market, limits={"past": 0}) as server:
        assert status(server, "/api/liquidations/overview")[0] == 200
        assert status(server, f"/api/liquidations/overview?as_of={as_of}")[0] == 400
    with liqdata.serve(market) as server:
        assert status(server, f"/api/liquidations/overview?as_of={as_of}")[0] == 200


@pytest.mark.parametrize(
    "name, bad",
    [("past", -1), ("past", 1.5), ("past_queue", True), ("past_memory", -1), ("answer_memory", 1000)],
)
def test_a_limit_of_the_past_or_of_memory_out_of_bounds_is_refused(name, bad):
    with pytest.raises(
        liqdata.BadQuery, match=rf"limits: {name}: {bad!r} is not allowed; allowed: a whole number from"
    ):
        Limits(**{name: bad})


# The command line and its file.


@pytest.fixture
def serving(folder):
    """Serve a small archive by the command, with further words."""
    samples.archive(folder)

    def start(*arguments):
        command = [sys.executable, "-m", "liqdata", "serve", *map(str, (folder, *arguments))]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def test_the_command_line_overrides_the_server_file(serving, tmp_path):
    digest = _core_digest(TOKEN)
    (tmp_path / "tokens").write_text(digest + "\n")
    config = tmp_path / "serve.toml"
    config.write_text(
        'host = "0.0.0.0"\ntoken_file = "tokens"\nallow_host = ["data.example.org"]\n[limit]\nquery = 100\nidle = 2.5\n'
    )
    process = serving("--config", config, "--limit", "query=60")
    try:
        url = process.stdout.readline().strip()
        port = int(url.rpartition(":")[2])
        assert url.startswith("http://0.0.0.0:")
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            for path, host, code in (
                ("/health", "data.example.org", 200),
                ("/health", "evil.example", 421),
                ("/health?x=" + "1" * 80, "data.example.org", 414),
            ):
                connection.request("GET", path, headers={"Host": host, "Authorization": f"Bearer {TOKEN}"})
                response = connection.getresponse()
                response.read()
                assert response.status == code
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def asks(port):
    """The status of a request that a proxy hands on."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/health", headers={"X-Forwarded-For": "192.0.2.9"})
        return connection.getresponse().status


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not trusted"])
def test_a_trusted_proxy_forwards_the_client_address(serving, trusted):
    options = ["--limit", "per_peer=2", *(["--trusted-proxy", "127.0.0.0/8"] if trusted else [])]
    process = serving("--access-log", *options)
    followers = []
    try:
        port = int(process.stdout.readline().strip().rpartition(":")[2])
        # Three clients behind one proxy, and one of them a third time.
        for client in ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1", "192.0.2.1"):
            one = socket.create_connection(("127.0.0.1", port), timeout=30)
            head = f"GET /api/liquidations/stream HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: {client}\r\n\r\n"
            one.sendall(head.encode())
            followers.append((one, one.recv(100).split(b" ")[1]))
        codes = [code for _, code in followers]
        while followers:
            followers.pop()[0].close()
        eventually(lambda: asks(port) == 200)
    finally:
        for one, _ in followers:
            one.close()
        process.terminate()
        _, said = process.communicate(timeout=30)
    if trusted:
        assert codes == [b"200"] * 4 + [b"429"]
        assert '192.0.2.9 - "GET /health" 200' in said
    else:
        # All are the proxy's own, and it has two.
        assert codes == [b"200"] * 2 + [b"503"] * 3
        assert '127.0.0.1 - "GET /health" 200' in said
        assert "192.0.2.9" not in said


def _core_digest(token):
    import hashlib

    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


@pytest.mark.parametrize(
    "text, named",
    [
        ("hosts = []", "allow_host"),
        ("port = true", "a whole number"),
        ("port = ", "is not TOML"),
        ("[limit]\nconnection = 5", "is not a limit"),
        ('certificate = "one.pem"', "--key"),
    ],
)
def test_an_invalid_server_file_is_refused(capsys, tmp_path, text, named):
    config = tmp_path / "serve.toml"
    config.write_text(text)
    assert cli.main(["serve", "--demo", "--config", str(config)]) == cli.USAGE
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["connections", "connections=many", "walls=3", "idle=-1"])
def test_a_limit_on_the_command_line_is_a_name_and_a_value(capsys, monkeypatch, limit):
    monkeypatch.setattr(liqdata, "demo", lambda **_: pytest.fail("a market was made before it was looked at"))
    assert cli.main(["serve", "--demo", "--limit", limit]) == cli.USAGE
    assert "allowed" in capsys.readouterr().err


def test_the_command_serves_only_loopback_by_default(capsys):
    assert cli.main(["serve", "--demo", "--host", EVERYWHERE]) == cli.USAGE
    assert "--public" in capsys.readouterr().err


# What others may see of this machine.


@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_answers_contain_neither_folder_nor_user_of_an_archive(tmp_path, filled):
    archive = tmp_path / "secret-folder"
    writer = _core.ArchiveWriter(archive)
    if filled:
        bars = samples.bars()
        bars["interval"] = [5 * samples.MINUTE] * len(bars["symbol"])
        writer.append(samples.orders(), bars, samples.open_interest())
        writer.run("okx", "complete", samples.NOW - 12 * samples.HOUR, samples.NOW)
        writer.roll(samples.NOW - 24 * samples.HOUR)
    writer.close()
    hidden = [archive.name, str(tmp_path), getpass.getuser() if getpass.getuser() != "root" else "/root"]
    whole, estimated = {200}, {200} if filled else {200, 404}
    asked = {
        "/api": whole,
        "/health": whole,
        "/metrics": whole,
        "/llms.txt": whole,
        "/openapi.json": whole,
        "/ready": {200, 503},
        "/api/liquidations/coins?explain=1": {200, 400},
        "/api/liq-heatmap?symbol=BTC&explain=1": estimated,
        "/api/liq-map?symbol=BTC&explain=1": estimated,
        "/api/liq-levels?symbol=BTC&explain=1": estimated,
        "/api/liq-maxpain?symbol=BTC&explain=1": estimated,
        "/api/liquidations/no-such-thing?explain=1": {404},
    }
    with liqdata.open(archive) as market, liqdata.serve(market) as server:
        for path, codes in asked.items():
            code, body = status(server, path)
            assert code in codes, (path, code, body)
            assert [word for word in hidden if word in body] == [], path
        assert json.loads(status(server, "/api")[1])["source"] == "archive"
        if filled:
            # What damage there is has its place within the archive, and no other.
            next(archive.glob("orders/**/*.parquet")).write_bytes(b"short")
            code, body = status(server, "/ready")
            assert (code, len(json.loads(body)["damaged"])) == (200, 1), body
            assert [word for word in hidden if word in body] == []
        (archive / "journal.sqlite").unlink()
        assert status(server, "/ready")[0] == 503
        assert archive.name not in status(server, "/ready")[1]


# What happened.


def test_the_access_log_is_written_on_request(market, caplog):
    with caplog.at_level("INFO", logger="liqdata.access"):
        with liqdata.serve(market) as server:
            status(server)
        assert caplog.records == []
        limits = {"trusted_proxies": ["127.0.0.1"]}
        with liqdata.serve(market, access_log=True, token=TOKEN, limits=limits) as server:
            status(server, "/api?x=1")
            status(server, Authorization=f"Bearer {TOKEN}", **{"X-Forwarded-For": "192.0.2.9"})
            # Without a further call: a thread of the server hands them over.
            eventually(lambda: len(caplog.records) == 2)
    refused, answered = (record.getMessage() for record in caplog.records)
    assert refused.startswith('127.0.0.1 - "GET /api?x=1" 401 ')
    assert answered.startswith("192.0.2.9 sha256:")
    assert ' "GET /health" 200 ' in answered
    assert TOKEN not in caplog.text


def test_the_command_writes_its_log_as_json(serving, folder):
    process = serving("--access-log", "--log-format", "json")
    try:
        port = int(process.stdout.readline().strip().rpartition(":")[2])
        assert f"the archive {folder}" in process.stderr.readline()
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("GET", "/health")
            connection.getresponse().read()
        # It comes while the server runs.
        line = json.loads(process.stderr.readline())
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert (line["level"], line["logger"]) == ("info", "liqdata.access")
    assert '"GET /health" 200' in line["message"]
    assert line["time"].endswith("+00:00")
