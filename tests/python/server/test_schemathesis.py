"""Schemathesis against a running server, with and without a token: ``make soak``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import liqdata

TOKEN = "correct-horse-battery"  # noqa: S105  # a test's own

# Refusals that a schema cannot announce: unknown names, an end before its start, a parameter without effect, an instant
# before the first observation. So valid data may be refused; all else is checked.
EXCLUDED = "positive_data_acceptance"
CONFIG = """
# 503 of /ready says that the newest observation is older than allowed.
[[operations]]
include-path = "/ready"

[operations.checks.not_a_server_error]
enabled = false
"""


@pytest.mark.skipif(not os.environ.get("LIQDATA_SOAK"), reason="thousands of requests: make soak")
@pytest.mark.parametrize("guarded", [False, True])
def test_the_description_of_a_server_is_true(guarded, tmp_path):
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    with liqdata.demo(seed=3) as market, liqdata.serve(market, token=TOKEN if guarded else None) as server:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.url}/openapi.json"]
        command += ["--max-time", "120", "--phases", "examples,coverage,fuzzing", "--continue-on-failure"]
        command += ["--exclude-checks", EXCLUDED]
        if guarded:
            command += ["--header", f"Authorization: Bearer {TOKEN}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " generated" in done.stdout
