"""The README and the pages under docs say what is true: their Python runs, their commands and files exist."""

import re
from pathlib import Path

import pytest
from recipes import printed

ROOT = Path(__file__).parents[3]
MADE = ROOT / "docs" / "reference" / "python"
RECIPES = ROOT / "docs" / "how-to" / "recipes"
ALL = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("**/*.md"))]
ALL = [page for page in ALL if MADE not in page.parents]
# The recipes and the page of backtests have tests of their own.
PAGES = [page for page in ALL if RECIPES not in page.parents and ROOT / "examples" not in page.parents]
OWN = {"backtesting.md"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def blocks(page, language):
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


WITH_PYTHON = [page for page in PAGES if blocks(page, "python") and page.name not in OWN]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    said = printed("\n".join(blocks(page, "python")), tmp_path)
    if page.name == "positions.md":
        commented = re.findall(r"^ *print\(.*\)  # ([^:\n]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert said.splitlines() == commented


def test_the_readme_shows_four_sources_in_python():
    code = "\n".join(blocks(ROOT / "README.md", "python"))
    assert [name for name in ("demo(", "serve(", "Client(", "Market(") if f"liqdata.{name}" not in code] == []


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
        assert cli.main([command, "--help"]) == 0, command
    capsys.readouterr()


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_linked_by_a_page_exists(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_index_of_the_documentation_has_every_page():
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / target).resolve() for target in LINK.findall(index.read_text(encoding="utf-8"))}
    assert {page for page in PAGES if page != index} <= listed
    assert {page for page in ALL if page.name in {"index.md", "README.md"} and page != index} <= listed
