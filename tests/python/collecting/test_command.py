"""Collecting from the command line: what it refuses, what it prints, and that it ends at a signal."""

import os
import signal
import subprocess
import sys

import pytest

import liqdata
from liqdata import _core, cli
from liqdata.errors import ArchiveError, BadQuery


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_an_unknown_exchange_is_refused_with_the_allowed_ones(capsys, tmp_path):
    code, _, err = run(capsys, "collect", str(tmp_path / "archive"), "--exchanges", "mtgox")
    assert code == cli.USAGE
    assert "mtgox" in err
    assert "binance, bybit, okx" in err
    assert not (tmp_path / "archive").exists()


def test_a_symbol_that_names_no_coin_gets_a_hint(capsys, tmp_path):
    code, _, err = run(capsys, "collect", str(tmp_path / "archive"), "--coins", ":/:")
    assert code == cli.USAGE
    assert "coin" in err
    assert '"BTC"' in err


def test_an_invalid_setting_is_named(capsys, tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("[pace]\npoll = -1.0\n")
    code, _, err = run(capsys, "collect", str(tmp_path / "archive"), "--settings", str(file))
    assert code == cli.USAGE
    assert "pace.poll" in err
    code, _, err = run(capsys, "collect", str(tmp_path / "archive"), "--settings", str(tmp_path / "none.toml"))
    assert code == cli.USAGE
    assert "none.toml" in err


def test_a_bad_query_carries_its_parameter(tmp_path):
    with pytest.raises(BadQuery) as raised:
        _core.Collector(tmp_path / "archive", ["nowhere"], [], "", once=False)
    assert raised.value.parameter == "exchanges"


def test_a_second_writer_is_refused_with_the_process_of_the_first(tmp_path, nowhere):
    archive = tmp_path / "archive"
    first = _core.Collector(archive, ["okx"], [], nowhere, once=False)
    try:
        with pytest.raises(ArchiveError, match=str(os.getpid())):
            _core.Collector(archive, ["okx"], [], nowhere, once=False)
    finally:
        first.stop()
    assert first.closed
    assert first.status()["exchanges"][0]["state"] == "stopped"
    first.stop()


FORKS = """
import os, sys
import liqdata
from liqdata import _core

collector = _core.Collector(sys.argv[1], ["okx"], [], sys.argv[2], False)
receiver, sender = os.pipe()
child = os.fork()
if child == 0:
    # As a worker of multiprocessing ends: what it has of its parent is let go of, and it was never stopped here.
    assert collector.closed
    assert collector.status() is None
    if sys.argv[3] == "stopped":
        collector.stop()
    del collector
    os.write(sender, b"dropped")
    os._exit(0)
os.close(sender)
assert os.read(receiver, 100) == b"dropped"
assert os.waitpid(child, 0) == (child, 0)
# The parent's collects on.
assert not collector.closed
assert collector.status()["exchanges"][0]["exchange"] == "okx"
collector.stop()
# No other process has the lock of the archive.
_core.ArchiveWriter(sys.argv[1]).close()
"""


@pytest.mark.parametrize("how", ["stopped", "dropped"])
def test_a_forked_child_drops_a_collector_without_waiting_for_its_threads(tmp_path, nowhere, how):
    command = [sys.executable, "-c", FORKS, str(tmp_path / "archive"), nowhere, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_backfill_only_run_ends_without_any_answer(capsys, tmp_path, nowhere):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = str(tmp_path / "archive")
    code, out, err = run(capsys, "collect", archive, "--exchanges", "okx", "--once", "--settings", str(file))
    assert code == cli.FAILED
    assert "no exchange is reachable: okx: " in err
    assert "Connection refused" in err
    assert "stored 0 orders" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_command_gracefully(tmp_path, nowhere, number):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = tmp_path / "archive"
    command = [sys.executable, "-m", "liqdata", "collect", str(archive), "--exchanges", "okx", "--settings", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        # The first lines are printed once it runs.
        line = process.stdout.readline()
        assert "okx" in line
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "stored 0 orders" in out
    # The archive is free again.
    _core.Collector(archive, ["okx"], [], nowhere, once=False).stop()


def test_repeated_warnings_are_printed_once_and_then_every_minute(capsys, monkeypatch):
    from liqdata.cli.output import collect_screen as _collect

    clock = [0.0]
    monkeypatch.setattr(_collect.time, "monotonic", lambda: clock[0])
    venue = {
        "exchange": "okx",
        "state": "live",
        "events_per_minute": 0,
        "events": 0,
        "last_event": None,
        "lag": None,
        "gaps": 0,
        "rejected": 0,
        "pending": 0,
        "asked": 0,
        "to_ask": 0,
        "trouble": None,
        "troubles": 0,
        "connected_share": None,
    }
    status = {"at": 0, "exchanges": [venue], "orders": 0, "bars": 0, "open_interest": 0, "waiting": 0, "log_bytes": 0}
    status["trouble"] = None
    status["raw"] = {"trouble": None}
    lines = _collect._Lines()

    def shown():
        lines.show(status)
        return [line for line in capsys.readouterr().out.splitlines() if " okx " in line]

    assert len(shown()) == 1
    for number in range(413):
        venue.update(trouble=f"rejected: frame {number}", troubles=number + 1)
        said = shown()
        assert len(said) == (number == 0)
        assert all(line.endswith("rejected: frame 0") for line in said)
    # A change of state and another kind of warning are printed at once.
    venue.update(state="down", trouble="socket: no pong", troubles=414)
    assert len(shown()) == 1
    clock[0] += _collect.REPEAT
    venue.update(trouble="rejected: the last", troubles=827)
    (minute,) = shown()
    assert minute.endswith("rejected: the last (… 412 more)")
    clock[0] += _collect.REPEAT
    (quiet,) = shown()
    assert quiet.endswith("rejected: the last")


def test_a_screen_has_a_line_for_every_exchange_and_its_gaps(capsys):
    from liqdata.cli.output import collect_screen as _collect

    console = pytest.importorskip("rich.console").Console(width=160)
    venue = dict.fromkeys(("events_per_minute", "events", "gaps", "rejected", "pending", "asked", "to_ask"), 0) | {
        "last_event": None,
        "lag": None,
        "trouble": None,
        "uncovered_count": 0,
    }
    okx = venue | {"exchange": "okx", "state": "live", "events": 7, "uncovered_count": 2}
    gate = venue | {"exchange": "gate", "state": "down", "trouble": "socket: no pong"}
    counts = {"orders": 7, "bars": 0, "open_interest": 0, "waiting": 0, "log_bytes": 65 << 20}
    status = {"at": 0, "exchanges": [okx, gate], **counts, "trouble": None}
    status["raw"] = {"trouble": None}
    status["positions"] = {"positions": 1234, "snapshots": 2, "trouble": "the tape was lost"}
    assert "65 MiB of log behind a stopped reader" in _collect._summary(status)
    console.print(_collect._table(status))
    shown = capsys.readouterr().out
    for text in ("2 snapshots (the last of 1,234 positions)", "positions: the tape was lost"):
        assert text in shown
    for text in (
        "stored 7 orders",
        "okx",
        "live",
        "gate",
        "down",
        "gate: socket: no pong",
        "okx: 2 topics not covered",
    ):
        assert text in shown


def test_the_screen_shows_the_coverage_of_an_exchange():
    from liqdata.cli.output import collect_screen as _collect

    venue = {
        "connected_share": 0.99999,
        "completeness": "complete",
        "known_by": "verified",
        "sockets": 1,
        "sockets_wanted": 2,
        "topics": 5,
        "uncovered_count": 1,
        "recovered": 1200,
        "unpriced": 0,
        "quarantined": 3,
        "holes": 1,
        "numbered": 7,
        "clock_ahead": -12,
    }
    cells = ["99.9 %", "1/2", "4/5", "complete, verified", "1,200", "0", "3", "1", "-12 ms"]
    assert _collect._covered(venue) == cells
    unknown = dict.fromkeys(venue, None) | dict.fromkeys(
        ("sockets", "sockets_wanted", "topics", "uncovered_count", "unpriced", "quarantined", "holes", "numbered"), 0
    )
    assert _collect._covered(unknown) == ["–", "–", "–", "–", "–", "0", "0", "–", "–"]


def test_past_days_are_compacted_at_the_start(capsys, tmp_path, nowhere):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = tmp_path / "archive"
    orders = {
        "exchange": ["okx"],
        "symbol": ["BTCUSDT"],
        "coin": ["BTC"],
        "side": ["LONG"],
        "price": ["60000"],
        "qty": ["0.5"],
        "value_usd": ["30000"],
        "timestamp": [1_781_136_000_000],
    }
    writer = _core.ArchiveWriter(archive)
    writer.append(orders, None, None)
    writer.close()
    assert not list(archive.glob("orders/**/*.parquet"))
    code, _, _ = run(capsys, "collect", str(archive), "--exchanges", "okx", "--once", "--settings", str(file))
    assert code == cli.FAILED  # no exchange answers; stored rows are compacted all the same
    assert len(list(archive.glob("orders/**/*.parquet"))) == 1
    assert len(list(liqdata.open(archive).iter_orders())) == 1


@pytest.mark.parametrize("option", ["exchanges", "coins"])
def test_an_empty_option_does_not_select_all(capsys, tmp_path, option):
    code, _, err = run(capsys, "collect", str(tmp_path / "archive"), f"--{option}", " , ")
    assert code == 2
    assert f"{option}: ' , ' names nothing" in err


def test_settings_in_another_encoding_are_refused(capsys, tmp_path):
    file = tmp_path / "settings.toml"
    file.write_bytes(b"# caf\xe9\n")
    code, _, err = run(capsys, "collect", str(tmp_path / "archive"), "--settings", str(file))
    assert code == 2
    assert "is not UTF-8 from byte 5" in err


def test_the_command_continues_if_its_output_is_closed(tmp_path, nowhere):
    file = tmp_path / "settings.toml"
    file.write_text(nowhere)
    archive = tmp_path / "archive"
    command = [sys.executable, "-m", "liqdata", "collect", str(archive), "--exchanges", "okx", "--settings", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "okx" in process.stdout.readline()
        process.stdout.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        # Only its own warnings: no exchange answers here.
        assert all(line.startswith("liqdata: WARNING: okx: ") for line in process.stderr.read().splitlines())
