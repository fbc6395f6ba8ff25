"""Text that a service, a venue or a file made up: it never reaches a terminal or a log as it came."""

import io
import json
import logging
import pickle
import sys
import time

import pytest
from scripted import answer, data

import liqdata
from liqdata import cli
from liqdata.cli.output import collect_screen as _collect

# Clears the screen, sets the title, rings, goes back over the line, forges a record, turns the writing around.
HOSTILE = "BTC\x1b[2J\x1b]0;owned\x07\x9b31m\r\nERROR liqdata: all is lost\u2028\u202e\x00\x7f"
RAW = set(HOSTILE) - set("BTC[2J]0;owned31mERROR liqdata: all is lost")


def tame(text):
    """Whether a text of one line holds nothing that was hostile."""
    return not RAW & set(text)


def row(**cells):
    return {
        "exchange": "okx",
        "symbol": "BTCUSDT",
        "side": "LONG",
        "price": "1",
        "qty": "1",
        "value_usd": "1",
        "timestamp": 1_781_136_000_000,
        **cells,
    }


REPLIES = {
    "a reason": answer(json.dumps({"success": False, "error": HOSTILE})),
    "a status with a reason": answer(json.dumps({"success": False, "message": HOSTILE}), 400),
    "a value": data([row(price=HOSTILE)]),
    "a side": data([row(side=HOSTILE)]),
    "a member": answer(json.dumps({"success": True, "data": [{HOSTILE: 1}]})),
    "a body": answer(HOSTILE),
    "a content type": answer("x", content_type="text/\x9b31m"),
    "a redirect": answer("", 302, location="http://x/\x9b31m"),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_message_shows_no_control_character_of_a_reply(connect, script, reply):
    client = connect(script(reply, reply, reply), retries=0)
    with pytest.raises(liqdata.LiqdataError) as caught:
        client.orders()
    for text in (str(caught.value), *getattr(caught.value, "__notes__", ())):
        assert tame(text), text
        assert tame(text.replace("\\n", "")), text
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_every_error_and_note_is_one_line():
    error = liqdata.NoAnswer(HOSTILE)
    error.add_note(HOSTILE)
    assert tame(str(error))
    assert tame(error.__notes__[0])
    assert "\\x1b[2J" in str(error)
    # What can be printed is left alone.
    assert str(liqdata.NoAnswer("¥ 10 – „fine“ ✓")) == "¥ 10 – „fine“ ✓"


def test_rows_and_grids_show_no_control_character(connect, script):
    client = connect(script(data([row(symbol=HOSTILE, exchange=HOSTILE)])))
    rows = client.orders()
    # The data are as they came, only what is shown is not.
    assert rows[0]["symbol"] == HOSTILE
    assert tame(repr(rows))
    assert tame(rows._repr_html_())
    assert tame(repr(rows[0]))
    grid = liqdata.demo().liqmap("BTC", "1d")
    grid = type(grid)(**{**vars(grid), "symbol": HOSTILE}) if hasattr(grid, "__dict__") else grid
    assert tame(repr(grid))
    assert tame(grid._repr_html_())


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_command_shows_no_control_character(capsys, script, form):
    service = script(data([row(symbol=HOSTILE, exchange=HOSTILE)]))
    assert cli.main(["orders", "--url", service.url, *form]) == 0
    out, _ = capsys.readouterr()
    assert "owned" in out
    assert tame(out.replace("\n", "")), out


def test_csv_is_escaped_on_a_terminal_alone(monkeypatch, script):
    for terminal in (True, False):
        out = io.StringIO()
        out.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stdout", out)
        service = script(data([row(symbol=HOSTILE)]))
        assert cli.main(["orders", "--url", service.url, "--csv"]) == 0
        assert tame(out.getvalue().replace("\n", "")) is terminal


def test_an_error_of_the_command_is_one_line(capsys, script):
    service = script(answer(json.dumps({"success": False, "error": HOSTILE})))
    assert cli.main(["orders", "--url", service.url]) != 0
    _, err = capsys.readouterr()
    assert err.startswith("liqdata: ")
    assert tame(err.replace("\n", "")), err
    assert not any(line.startswith("ERROR") for line in err.splitlines())


def test_a_log_record_is_one_line(connect, script, caplog):
    busy = answer(json.dumps({"success": False, "error": HOSTILE}), 503, Retry_After="0")
    client = connect(script(busy, answer("x", 503, Retry_After="\x9b31m"), data([])), retries=2)
    with caplog.at_level(logging.DEBUG, "liqdata"):
        client.orders()
    messages = [record.getMessage() for record in caplog.records]
    assert messages
    assert all(map(tame, messages)), messages


def test_an_error_message_of_an_exchange_is_one_log_line(capsys):
    _collect._say(f"okx down · {HOSTILE}")
    out, _ = capsys.readouterr()
    assert out.endswith("\n")
    assert tame(out.removesuffix("\n")), out
    status = {"exchanges": [{"exchange": "okx", "trouble": HOSTILE, "uncovered_count": 0, "state": "down"}]}
    assert tame(_collect._troubles(status))


@pytest.mark.parametrize("question", ["overview", "coins", "exchanges", "largest", "orders", "gaps"])
def test_coverage_is_printed_in_one_line(tmp_path, capsys, question):
    folder = tmp_path / "archive"
    orders = {name: [value, value] for name, value in row(exchange=HOSTILE).items()}
    orders["timestamp"] = [int(time.time() * 1000) - minutes * 60_000 for minutes in (10, 1)]
    liqdata.ingest(folder, orders=orders, new_exchange=True)
    assert cli.main([question, "--archive", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "connected in the last 24h: " in err
    assert tame((out + err).replace("\n", "")), err
    assert len(err.splitlines()) == 1
