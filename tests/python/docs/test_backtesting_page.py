"""The code of ``docs/how-to/backtesting.md``, run as written."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "backtesting.md").read_text(encoding="utf-8")
BEFORE, _, REST = PAGE.partition("## In the engines\n")
ENGINES, _, AFTER = REST.partition("\n## ")
SCRIPTS = {"nautilus_trader": "nautilus", "backtesting.py": "backtesting_py"}


def blocks_of(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_runs_and_one_hour_changes_the_result(capsys):
    blocks = blocks_of(BEFORE + AFTER)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - the page of this package
    results = {names["earned"](shift) for shift in (0, 1, -1)}
    assert len(results) == 3
    printed = capsys.readouterr().out
    assert "ahead looks ahead at" in printed
    assert "below_dist_pct" in printed


@pytest.mark.parametrize("section", ENGINES.split("\n### ")[1:], ids=lambda section: section.partition("\n")[0])
def test_the_code_for_an_engine_is_that_of_its_script(section):
    name = section.partition("\n")[0]
    script = (ROOT / "examples" / "tools" / f"with_{SCRIPTS.get(name, name)}.py").read_text(encoding="utf-8")
    assert blocks_of(section)
    for block in blocks_of(section):
        assert block in script
