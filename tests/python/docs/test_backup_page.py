"""The commands of ``docs/how-to/backup.md``, run as written."""

import re
import subprocess
import sys
from pathlib import Path

import buckets

import liqdata

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "backup.md").read_text(encoding="utf-8")


def test_the_commands_of_the_page_back_up_and_restore(tmp_path):
    buckets.archive(tmp_path / "archive")
    block = re.search(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
    commands = re.findall(r"^liqdata (.*?)(?:  +#.*)?$", block, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "liqdata", *command.split()], cwd=tmp_path, timeout=120, check=False
        )
        assert done.returncode == 0, command
    with liqdata.open(tmp_path / "archive") as before, liqdata.open(tmp_path / "restored") as after:
        assert list(after.iter_orders()) == list(before.iter_orders())
