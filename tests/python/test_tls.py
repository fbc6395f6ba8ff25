"""TLS between a client and a service: what is trusted, and what is said of the rest."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from scripted import answer, data

from liqdata import NoAnswer

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
    """Trust our authority and nobody else."""
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
    # Nothing was asked, and nothing was tried again.
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
def test_a_certificate_of_its_own_making_is_not_trusted(connect, script):
    service = script(GOOD, tls=serving(trustme.CA().issue_cert("127.0.0.1")))
    refused_for_tls(connect(service), service)


@pytest.mark.usefixtures("trusted")
def test_an_expired_certificate_is_not_trusted(connect, script, authority):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1", not_after=yesterday)))
    assert "expired" in refused_for_tls(connect(service), service)


@pytest.mark.usefixtures("trusted")
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_an_old_protocol_is_not_spoken(connect, script, authority):
    old = serving(authority.issue_cert("127.0.0.1"))
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    service = script(GOOD, tls=old)
    refused_for_tls(connect(service), service)


@pytest.mark.usefixtures("trusted")
def test_http_behind_an_https_address_is_named_as_tls(connect, script):
    service = script(answer(b"plain text", 400))
    client = connect(service.url.replace("http:", "https:"))
    with pytest.raises(NoAnswer, match="TLS with"):
        client.overview()
    assert service.connections == 1


@pytest.mark.usefixtures("_no_store")
def test_https_without_a_trust_store_says_so(connect, script, authority):
    service = script(GOOD, tls=serving(authority.issue_cert("127.0.0.1")))
    with pytest.raises(NoAnswer, match="trusted certificates") as caught:
        connect(service).overview()
    assert "SSL_CERT_FILE" in str(caught.value)
    assert service.requests == []


@pytest.mark.usefixtures("_no_store")
def test_http_needs_no_trust_store(connect, script):
    service = script(GOOD)
    assert connect(service).overview() == OK
    # Away from loopback as well: a proxy stands in for the world.
    assert connect("http://data.example", proxy=service.url).overview() == OK
