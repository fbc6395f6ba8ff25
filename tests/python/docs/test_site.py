"""The documentation site: built from an unchanged checkout, without a broken link or anchor, and checked for real."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site():
    command = [sys.executable, str(ROOT / "tests" / "site" / "build.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "site"


def test_the_site_has_every_part_and_the_notebooks_have_their_pictures(site):
    for page in (
        "index.html",
        "tutorial/demo.html",
        "how-to/coming-from.html",
        "explanation/known.html",
        "reference/python/Market.html",
        "reference/exchanges/binance.html",
        "dev/architecture.html",
    ):
        assert (site / page).stat().st_size > 2000, page
    assert "five_minutes-1.png" in (site / "notebooks" / "five_minutes.html").read_text(encoding="utf-8")
    assert (site / "notebooks" / "five_minutes-1.png").stat().st_size > 1000


def test_a_page_for_language_models_lists_every_part(site):
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# liqdata\n\n> liqdata downloads")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        *("## Notebooks", "## Tutorial", "## How to", "## Explanation", "## Reference")
    ]
    for line in text.splitlines():
        if line.startswith("- ["):
            assert (site / line.partition("](")[2].partition(")")[0]).exists(), line


def test_broken_links_anchors_and_foreign_hosts_are_found(tmp_path):
    right = '<a href="about.html#part">a</a><a href="https://example.org">b</a><h2 id="part">c</h2>'
    broken = (
        '<a href="nowhere.html">a</a><a href="about.html#nowhere">b</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "index.html").write_text(right + broken, encoding="utf-8")
    (tmp_path / "about.html").write_text(right, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / "site" / "check.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert sorted(done.stdout.splitlines()) == [
        "index.html: about.html#nowhere has no such anchor",
        "index.html: loads https://example.org/x.js from another host",
        "index.html: nowhere.html does not exist",
    ]
