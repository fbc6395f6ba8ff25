"""The examples run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from exchange_double import DOUBLE, needs_double

EXAMPLES = Path(__file__).parents[3] / "examples"
VENUES = (
    "binance bybit okx gate bitget htx aster deribit kraken bitfinex dydx coinex lighter lighter_rh pacifica "  # noqa: SIM905
    "extended orderly".split()
)


@pytest.mark.skipif("LIQDATA_REAL_DATA" not in os.environ, reason="LIQDATA_REAL_DATA names no folder of recordings")
def test_real_input_gives_all_ten_answers_and_a_picture(tmp_path):
    picture = tmp_path / "heatmap.png"
    command = [sys.executable, str(EXAMPLES / "real_input.py"), str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("overview", "coins", "exchanges", "largest", "orders", "chart", "heatmap", "liqmap", "levels"):
        assert f"{name}: " in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_page_names_every_option_command_and_fault_of_the_doubles():
    source = (EXAMPLES / "exchange_double.rs").read_text(encoding="utf-8")
    written = (EXAMPLES.parent / "docs" / "dev" / "exchange-doubles.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`(?:--)?(\w[\w-]*)", written)) | set(re.findall(r'"do": "(\w+)"', written))
    known = re.findall(r'^ +"(?:--)?([\w-]+)" => ', source, re.MULTILINE)
    assert len(known) > 40
    assert [word for word in known if word not in words] == []


@needs_double
def test_the_smoke_test_of_all_exchanges_passes_on_the_doubles(tmp_path):
    hosts, settings = tmp_path / "hosts.toml", tmp_path / "settings.toml"
    command = [str(DOUBLE), "--rate", "50", "--settings", str(hosts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as doubles:
        doubles.stdout.readline()
        settings.write_text("history_days = 1\n" + hosts.read_text())
        smoke = [sys.executable, str(EXAMPLES / "live_smoke.py"), "--settings", str(settings), "--minutes", "0.05"]
        done = subprocess.run(smoke, capture_output=True, text=True, timeout=300, check=False)
        doubles.stdin.close()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sorted(line.partition(":")[0] for line in lines if ": live; " in line) == sorted(VENUES)
    assert int(lines[-1].removeprefix("kept ").partition(" ")[0]) > 0
