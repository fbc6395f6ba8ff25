"""The README and the pages under docs say what is true: their Python runs, their commands and files exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def blocks(page, language):
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    source = "\n".join(blocks(page, "python"))
    command = [sys.executable, "-W", "error", "-c", f"import matplotlib\nmatplotlib.use('agg')\n{source}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readme_has_a_tour_in_python():
    assert len(blocks(ROOT / "README.md", "python")) >= 5


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(blocks(ROOT / "README.md", "sh"))))
    assert {"demo", "test"} <= named <= targets


def test_every_command_of_the_readme_is_one(capsys):
    from liqdata import cli

    named = re.findall(r"^liqdata ([a-z]+)", "\n".join(blocks(ROOT / "README.md", "sh")), re.MULTILINE)
    assert named
    for command in named:
        with pytest.raises(SystemExit) as ending:
            cli.main([command, "--help"])
        assert ending.value.code == 0, command
    capsys.readouterr()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_a_page_points_at_exists(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
