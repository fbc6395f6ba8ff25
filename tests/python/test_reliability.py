"""The page of faults names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"`([\w/]+\.(?:rs|py))::(\w+)`", (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"))


def test_every_row_names_a_test():
    rows = re.findall(
        r"^\| (?!fault|-).*$", (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) > 50
    assert [row for row in rows if "::" not in row] == []


@pytest.mark.parametrize("file, name", sorted(set(NAMED)))
def test_a_test_that_is_named_exists(file, name):
    text = (ROOT / file).read_text(encoding="utf-8")
    mark = (
        r"#\[(?:tokio::)?test[^\n]*\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn "
        if file.endswith(".rs")
        else r"^(?:async )?def "
    )
    assert re.search(rf"{mark}{name}\b", text, re.MULTILINE), f"{file} has no test {name}"
