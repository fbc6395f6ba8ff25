"""The code of ``docs/how-to/backtesting.md``, run as written."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "backtesting.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_and_one_hour_changes_the_result(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - the page of this package
    results = {names["earned"](shift) for shift in (0, 1, -1)}
    assert len(results) == 3
    printed = capsys.readouterr().out
    assert "ahead looks ahead at" in printed
    assert "below_dist_pct" in printed
