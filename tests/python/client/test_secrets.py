"""What a client sends and never shows, though a service repeats it."""

import json
import logging
import pickle

import pytest
from scripted import answer

import liqdata
from liqdata import vendors

TOKEN = "s3cr3t-0123456789-abcdefghij"  # noqa: S105 - not a real token
KEY = 'quoted "key" of mine'


def echo(status, form):
    """Repeat the headers of the request in a refusal."""

    def play(exchange):
        secrets = {name: value for name, value in exchange.request.headers.items() if "key" in name or "auth" in name}
        body = form(" ".join(map(str, secrets.values())))
        return answer(body, status)(exchange)

    return play


FORMS = {
    "a reason": (403, lambda secret: json.dumps({"success": False, "error": {"message": f"who is {secret}?"}})),
    "text": (401, lambda secret: f"who is {secret}?"),
    "a long text": (404, lambda secret: "x" * 2040 + secret),
    "no success": (200, lambda secret: json.dumps({"success": False, "error": f"who is {secret}?"})),
    "no JSON": (200, lambda secret: secret),
    "a wrong value": (200, lambda secret: json.dumps({"success": True, "data": {"symbol": "BTC", "price": secret}})),
    "again and again": (503, lambda secret: f"who is {secret}?"),
}


@pytest.mark.parametrize("form", FORMS)
def test_errors_mask_secrets_that_a_service_repeats(script, form, caplog):
    service = script(echo(*FORMS[form]))
    caplog.set_level(logging.DEBUG)
    options = {"token": TOKEN, "headers": {"X-Key": KEY}, "retries": 1, "timeout": 5.0}
    with liqdata.Client(service.url, **options) as client, pytest.raises(liqdata.LiqdataError) as caught:
        client.levels("BTC")
    error = caught.value
    pickled = pickle.dumps(error, protocol=0).decode("latin-1")
    shown = [str(error), repr(error), repr(error.__dict__), pickled, caplog.text, *getattr(error, "__notes__", [])]
    for text in shown:
        for secret in (TOKEN, TOKEN[:12], KEY, json.dumps(KEY)[1:-1]):
            assert secret not in text
    if isinstance(error, liqdata.Refused) and "x" not in error.body:
        assert "***" in error.body


@pytest.mark.parametrize("key", ["key", "api", "k", "ab1"])
def test_a_short_key_is_masked_as_a_whole_word_and_no_word_loses_a_part(script, key):
    body = {"message": f"Invalid/Missing API key: '{key}' is unknown; keyboard, capital, ab12"}
    service = script(answer(body, 401))
    with vendors.Coinalyze(key, base_url=service.url, retries=0) as client, pytest.raises(liqdata.Refused) as caught:
        client.history("BTCUSDT_PERP.A", interval="1h")
    assert "API key: '***' is unknown; keyboard, capital, ab12" in str(caught.value)
    assert str(caught.value).count("***") == 1


@pytest.mark.parametrize(
    "value, said",
    [
        ("proxy.example:3128", "has no scheme"),
        ("me:hunter2@proxy.example:3128", "***@proxy.example:3128"),
        ("10.0.0.1:3128", "has no scheme"),
    ],
)
def test_a_proxy_without_a_scheme_is_refused_with_its_password_masked(value, said):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.Client("https://data.example", proxy=value)
    assert caught.value.parameter == "proxy"
    assert said in str(caught.value)
    with pytest.raises(liqdata.BadQuery, match=r"exchanges\.okx\.proxy: .* is not the address of a proxy") as caught:
        liqdata.collect("archive", exchanges=["okx"], settings={"exchanges": {"okx": {"proxy": value}}})
    assert "hunter2" not in str(caught.value)


def test_a_variable_that_names_no_proxy_is_refused_where_it_applies(monkeypatch, tmp_path):
    monkeypatch.setenv("HTTPS_PROXY", "ftp://me:hunter2@proxy.example")
    with pytest.raises(liqdata.BadQuery, match=r'"ftp://\*\*\*@proxy.example", the value of HTTPS_PROXY'):
        liqdata.Client("https://data.example")
    with pytest.raises(liqdata.BadQuery, match=r'HTTPS_PROXY: "ftp://\*\*\*@proxy.example"'):
        liqdata.collect(tmp_path / "archive", exchanges=["okx"])
    liqdata.Client("http://data.example").close()
    liqdata.Client("https://data.example", proxy="http://proxy.example:3128").close()
    monkeypatch.setenv("NO_PROXY", "data.example")
    liqdata.Client("https://data.example").close()


def test_damage_of_a_service_is_warned_of_once_and_in_its_answers(script, caplog):
    rows = {"success": True, "data": []}
    service = script(answer(rows, x_liqdata_damaged="2"))
    with liqdata.Client(service.url) as client:
        assert client.coins().meta["damaged"] == 2
        assert client.exchanges().meta["damaged"] == 2
        said = [record for record in caplog.records if record.name == "liqdata.archive"]
        assert [record.levelname for record in said] == ["WARNING"]
        assert "2 files of its archive are damaged" in said[0].getMessage()
        service.play(answer(rows))
        assert "damaged" not in client.coins().meta
