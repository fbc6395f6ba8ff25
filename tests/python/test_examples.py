"""The examples run as they stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.skipif("LIQDATA_REAL_DATA" not in os.environ, reason="LIQDATA_REAL_DATA names no folder of recordings")
def test_real_input_gives_all_ten_answers_and_a_picture(tmp_path):
    picture = tmp_path / "heatmap.png"
    command = [sys.executable, str(EXAMPLES / "real_input.py"), str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("overview", "coins", "exchanges", "largest", "orders", "chart", "heatmap", "liqmap", "levels"):
        assert f"{name}: " in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
