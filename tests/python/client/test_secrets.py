"""What a client sends and never shows, though a service repeats it."""

import json
import logging
import pickle

import pytest
from scripted import answer

import liqdata

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
