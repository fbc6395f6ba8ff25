"""What a server says without a token, and who the access log says has asked."""

import hashlib
import http.client
import json
import time
from contextlib import closing

import pytest
import samples

import liqdata

TOKENS = {"ann": "correct-horse-battery", "ben": "another-horse-battery", "": "nameless-horse-battery"}


def ask(server, path, *, method="GET", **headers):
    port = int(server.url.rpartition(":")[2])
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        names = {name.lower() for name, _ in response.getheaders()}
        return response.status, response.read().decode(), names


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def archive(tmp_path):
    samples.archive(tmp_path / "archive")
    with liqdata.open(tmp_path / "archive") as market:
        yield market, tmp_path / "archive"


@pytest.mark.parametrize("path", ["/health", "/ready", "/ready?max_age=4000000000"])
def test_a_probe_needs_no_token_and_says_nothing_about_data_without_one(archive, path):
    market, _ = archive
    with liqdata.serve(market, token=TOKENS["ann"]) as server:
        status, body, names = ask(server, path)
        assert (status, body) == (200, '{"success":true}')
        assert [name for name in names if name.startswith("x-liqdata")] == []
        whole = json.loads(ask(server, path, **bearer(TOKENS["ann"]))[1])
        assert whole["now"] == samples.NOW
        assert ask(server, path, method="HEAD")[:2] == (200, "")
        # A wrong token is said here as well.
        assert ask(server, path, **bearer("wrong-horse-battery"))[0] == 401


def test_a_probe_without_a_token_says_that_the_server_is_not_ready_and_not_why(archive):
    market, folder = archive
    with liqdata.serve(market, token=TOKENS["ann"]) as server:
        for path in ("/ready?max_age=60", "/ready"):
            status, body, names = ask(server, path)
            assert (status, json.loads(body)["error"]["message"]) == (
                503,
                "not ready; with a token the answer says why",
            )
            assert [name for name in names if name.startswith("x-liqdata")] == []
            assert ask(server, path, **bearer(TOKENS["ann"]))[0] == 503
            assert "not ready" not in ask(server, path, **bearer(TOKENS["ann"]))[1]
            # The archive is gone before the second question.
            (folder / "journal.sqlite").unlink(missing_ok=True)
        assert ask(server, "/health")[:2] == (200, '{"success":true}')


def test_no_other_path_is_open_and_a_mistake_in_a_probe_is_named(archive):
    market, _ = archive
    with liqdata.serve(market, token=TOKENS["ann"]) as server:
        for path in (
            "/api",
            "/metrics",
            "/openapi.json",
            "/ready/",
            "/health/x",
            "//health",
            "/api/liquidations/coins",
        ):
            assert ask(server, path)[0] == 401, path
        status, body, names = ask(server, "/ready?max_age=soon")
        assert (status, json.loads(body)["error"]["parameter"]) == (400, "max_age")
        assert [name for name in names if name.startswith("x-liqdata")] == []
        assert ask(server, "/health", method="POST")[0] == 405
        assert ask(server, "/health", Host="evil.example")[0] == 421


def test_a_server_without_tokens_says_everything(archive):
    market, _ = archive
    with liqdata.serve(market) as server:
        assert json.loads(ask(server, "/ready")[1])["now"] == samples.NOW


def test_the_access_log_names_the_owner_of_the_token(archive, caplog, tmp_path):
    def line(owner, token):
        remark = f"  # {owner}" if owner else ""
        return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}{remark}\n"

    named = TOKENS | {'eve "the" \t#1': "spaced-horse-battery"}
    (tmp_path / "tokens").write_text("# a remark\n\n" + "".join(line(*each) for each in named.items()))
    with (
        caplog.at_level("INFO", logger="liqdata.access"),
        liqdata.serve(archive[0], token=tmp_path / "tokens", access_log=True) as server,
    ):
        for token in named.values():
            ask(server, "/api", **bearer(token))
        ask(server, "/api", **bearer("wrong-horse-battery"))
        ask(server, "/health")
        end = time.monotonic() + 20
        while len(caplog.records) < 6 and time.monotonic() < end:
            time.sleep(0.05)
    owners = [record.getMessage().split(" ")[1] for record in caplog.records]
    digest = hashlib.sha256(TOKENS[""].encode()).hexdigest()
    assert owners == ["ann", "ben", f"sha256:{digest[:8]}", "eve__the___#1", "-", "-"]
    assert len({len(record.getMessage().split(" ")) for record in caplog.records}) == 1
    assert all(token not in caplog.text for token in named.values())
