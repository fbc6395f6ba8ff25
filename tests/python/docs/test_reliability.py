"""The pages of what is promised name tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# The sections of promises, and how many there are at least.
SHOWN = {"Exchanges": 80, "Positions": 10, "Undercount": 7}
FILES = {
    "reliability": "dev/reliability",
    "promises": "dev/promises",
    "feeds": "reference/feeds",
    "collecting": "reference/collecting",
}
PAGES = {name: (ROOT / "docs" / f"{file}.md").read_text(encoding="utf-8") for name, file in FILES.items()}
NAMED_IN = re.compile(r"`([\w/]+\.(?:rs|py))::(\w+)`")
NAMED = NAMED_IN.findall("".join(PAGES.values()))


def test_every_row_names_a_test():
    shown = [("promises", f"## {section}", least) for section, least in SHOWN.items()]
    for page, start, least in [("reliability", "# Faults", 50), *shown]:
        _, _, written = PAGES[page].partition(start)
        written = written.partition("\n## ")[0] if page == "promises" else written
        rows = re.findall(r"^\| (?!#|fault|promised|what must|-).*$", written, re.MULTILINE)
        assert len(rows) > least
        assert [row for row in rows if "::" not in row] == []


# The rows of the matrix: a service, a venue, an archive, and what is easily got wrong between Python and native code.
MATRIX = {
    *(f"H{number}" for number in range(1, 28)),
    *(f"W{number}" for number in range(1, 9)),
    *(f"S{number}" for number in (*range(1, 9), 10)),
    *(f"T{number}" for number in range(1, 7)),
}


def test_every_number_of_the_matrix_has_its_row_with_a_figure():
    found = []
    for row in re.findall(r"^\| ([HWST]\d.*) \|$", PAGES["reliability"], re.MULTILINE):
        numbers, fault, happens, figure, shown = row.split(" | ")
        found += numbers.split(", ")
        assert all((fault, happens)), row
        assert re.search(r"\d", figure), row
        assert NAMED_IN.search(shown), row
    assert sorted(found) == sorted(MATRIX)


def test_every_promise_in_bold_is_among_what_is_shown():
    shown = PAGES["promises"]
    _, _, columns = PAGES["feeds"].partition("### What the columns mean")
    columns += PAGES["collecting"]
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
