"""The pages of what is promised name tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("reliability", "feeds")}
NAMED = re.findall(r"`([\w/]+\.(?:rs|py))::(\w+)`", "".join(PAGES.values()))


def test_every_row_names_a_test():
    for page, start, least in [("reliability", "# Faults", 50), ("feeds", "## What shows it", 40)]:
        _, _, told = PAGES[page].partition(start)
        rows = re.findall(r"^\| (?!fault|promised|what must|-).*$", told, re.MULTILINE)
        assert len(rows) > least
        assert [row for row in rows if "::" not in row] == []


def test_every_promise_in_bold_is_among_what_is_shown():
    page, _, shown = PAGES["feeds"].partition("## What shows it")
    _, _, columns = page.partition("### What the columns mean")
    promises = re.findall(r"^(?:- |  )?(\*\*.+?\*\*)", columns, re.MULTILINE)
    assert len(promises) > 20
    assert [promise for promise in promises if promise.strip(".") not in shown] == []


@pytest.mark.parametrize("file, name", sorted(set(NAMED)))
def test_a_test_that_is_named_exists(file, name):
    text = (ROOT / file).read_text(encoding="utf-8")
    mark = (
        r"#\[(?:tokio::)?test[^\n]*\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn "
        if file.endswith(".rs")
        else r"^(?:async )?def "
    )
    assert re.search(rf"{mark}{name}\b", text, re.MULTILINE), f"{file} has no test {name}"
