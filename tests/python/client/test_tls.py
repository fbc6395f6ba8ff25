"""TLS between a client or a collector and a service: trusted certificates, and the errors of others."""

import socket
import ssl
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from scripted import answer, data

import liqdata
from liqdata import NoAnswer, _core, alerts
from liqdata.alerts.delivery import Deliveries

OK = {"24h": {"long_usd": 1.0, "short_usd": 2.0, "total_usd": 3.0, "cnt": 4}}
GOOD = data(OK)


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def serving(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.fixture
def trusted(authority, tmp_path, monkeypatch):
    """Trust our authority alone."""
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


@pytest.fixture
def _no_store(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.pem").touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "empty.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "empty"))


def refused_for_tls(client, service):
    with pytest.raises(NoAnswer) as caught:
        client.overview()
    assert type(caught.value) is NoAnswer
    assert f"TLS with 127.0.0.1:{service.port} failed" in str(caught.value)
    # No request and no retry.
    assert (service.requests, service.connections) == ([], 1)
    return str(caught.value)


@pytest.mark.usefixtures("trusted")
def test_a_certificate_of_an_authority_in_ssl_cert_file_is_trusted(connect, script, authority):
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1")))
    client = connect(service)
    for _ in range(3):
        assert client.overview() == OK
    assert (len(service.requests), service.connections) == (3, 1)


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_another_host_is_not_trusted(connect, script, authority):
    service = script(GOOD, tls=serving(authority.issue_cert("data.example")))
    assert "not valid for" in refused_for_tls(connect(service), service)


@pytest.mark.usefixtures("trusted")
def test_a_certificate_of_another_authority_is_not_trusted(connect, script):
    service = script(GOOD, tls=serving(trustme.CA().issue_cert("127.0.0.1")))
    refused_for_tls(connect(service), service)


@pytest.mark.usefixtures("trusted")
def test_an_expired_certificate_is_not_trusted(connect, script, authority):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1", not_after=yesterday)))
    assert "expired" in refused_for_tls(connect(service), service)


@pytest.mark.usefixtures("trusted")
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_an_old_tls_version_is_refused(connect, script, authority):
    old = serving(authority.issue_cert("127.0.0.1"))
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    service = script(GOOD, tls=old)
    refused_for_tls(connect(service), service)


def test_a_missing_ssl_cert_file_is_named_even_with_ssl_cert_dir(connect, script, authority, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    authority.cert_pem.write_to_path(tmp_path / "folder" / "authority.pem")
    file = tmp_path / "named.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "folder"))
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1")))
    for content in (None, b"", b"no certificate\n"):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(NoAnswer, match="trusted certificates") as caught:
            connect(service).overview()
        assert f"SSL_CERT_FILE: {file}" in str(caught.value)
    assert service.connections == 0


def test_the_bundle_of_other_programs_is_trusted_too(connect, script, authority, tmp_path, monkeypatch):
    file = tmp_path / "bundle.pem"
    authority.cert_pem.write_to_path(file)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        with monkeypatch.context() as context:
            context.setenv(variable, str(file))
            service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1")))
            assert connect(service).overview()["24h"]["cnt"] == 4


def test_an_unknown_authority_is_reported_with_the_variable_that_names_one(
    connect, script, authority, tmp_path, monkeypatch
):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1")))
    said = refused_for_tls(connect(service), service)
    assert "UnknownIssuer (its authority is not among the certificates of this machine" in said
    assert "set SSL_CERT_FILE to a PEM file" in said
    file = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1")))
    assert f"{file}, which SSL_CERT_FILE names" in refused_for_tls(connect(service), service)


@pytest.fixture
def untrusted(authority, monkeypatch):
    """The port of a server that no trusted authority vouches for."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    tls = serving(authority.issue_cert("127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def refuse():
            with suppress(OSError):
                while True:
                    plain, _ = listener.accept()
                    with plain, suppress(OSError), tls.wrap_socket(plain, server_side=True):
                        pass

        threading.Thread(target=refuse, daemon=True).start()
        yield listener.getsockname()[1]
        # A thread that waits in `accept` is not woken by `close`.
        listener.shutdown(socket.SHUT_RDWR)


def test_a_bucket_a_webhook_and_the_collector_name_the_variable_too(untrusted, monkeypatch, tmp_path):
    pytest.importorskip("obstore")
    reported, said = [], {}
    deliveries = Deliveries([alerts.Sender(webhook=f"https://127.0.0.1:{untrusted}/")], reported.append)
    deliveries.put({"alert": "coverage", "basis": "measured", "exchange": "okx", "connected_share": 0.9})
    deliveries.finish()
    said["webhook"] = reported[-1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{untrusted}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "a")
    with pytest.raises(liqdata.LiqdataError) as caught:
        liqdata.open("s3://bucket/archive")
    said["bucket"] = str(caught.value)
    settings = "".join(
        f'[exchanges.{name}]\nsocket = "wss://127.0.0.1:{untrusted}"\nrest = "https://127.0.0.1:{untrusted}"\n'
        for name in ("okx", "bybit")
    )
    collector = liqdata.collect(tmp_path / "archive", exchanges=["okx", "bybit"], settings=settings, once=True)
    with collector, pytest.raises(NoAnswer, match="no exchange is reachable: ") as caught:
        collector.wait()
    said["collector"] = str(caught.value)
    assert {name for name, text in said.items() if "set SSL_CERT_FILE to a PEM file" in text} == set(said), said


def tunnel(exchange):
    """Connect to the requested port of this machine, whatever the host."""
    port = int(exchange.request.target.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as target:
        exchange.send(b"HTTP/1.1 200 Connection established\r\n\r\n")

        def back():
            with suppress(OSError):
                while data := target.recv(65536):
                    exchange.send(data)

        backwards = threading.Thread(target=back, daemon=True)
        backwards.start()
        with suppress(OSError):
            while data := exchange.peer.recv(65536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        backwards.join()


def trouble_of_a_socket(service, folder):
    """The trouble of a collector with one socket, to an exchange behind a proxy."""
    port = service.port
    settings = (
        "coins = []\n[pace]\nretry_first = 0.01\nretry_most = 0.05\nconnect = 5.0\n"
        f'[exchanges.okx]\nsocket = "wss://venue.example:{port}"\nrest = "http://127.0.0.1:9"\n'
    )
    collector = _core.Collector(folder, ["okx"], [], settings, once=False)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            trouble = collector.status()["exchanges"][0]["trouble"] or ""
            if "wss://" in trouble:
                return trouble
            time.sleep(0.01)
        pytest.fail("the socket has no trouble")
    finally:
        collector.stop()


@pytest.mark.usefixtures("trusted")
def test_a_collectors_socket_is_tls_through_the_proxy_of_the_environment(script, authority, tmp_path, monkeypatch):
    proxy = script(tunnel)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:hunter2@"))
    venue = script(answer(b"", 503), tls=serving(authority.issue_cert("venue.example")))
    trouble = trouble_of_a_socket(venue, tmp_path / "archive")
    assert "the handshake was answered with 503" in trouble
    assert {request.target for request in proxy.requests} == {f"venue.example:{venue.port}"}
    assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6aHVudGVyMg=="
    assert venue.requests[0].headers["upgrade"] == "websocket"


@pytest.mark.usefixtures("trusted")
def test_a_collectors_socket_trusts_no_other_certificate(script, authority, tmp_path, monkeypatch):
    proxy = script(tunnel)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    venue = script(answer(b"", 503), tls=serving(authority.issue_cert("another.example")))
    trouble = trouble_of_a_socket(venue, tmp_path / "archive")
    assert "TLS: " in trouble
    assert f"through the proxy {proxy.url} (HTTPS_PROXY)" in trouble
    assert "not valid for" in trouble
    assert venue.requests == []


@pytest.mark.usefixtures("_no_store")
def test_a_collector_names_a_missing_trust_store(script, authority, tmp_path, monkeypatch):
    proxy = script(tunnel)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    venue = script(answer(b"", 503), tls=serving(authority.issue_cert("venue.example")))
    assert "TLS: " in trouble_of_a_socket(venue, tmp_path / "archive")
    assert venue.requests == []
