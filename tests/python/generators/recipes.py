"""The recipes of ``docs/recipes``: their code, run as it stands, and what the pages say that it prints.

``python tests/python/generators/recipes.py`` writes what they print into the pages, or into those that are named.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "docs" / "how-to" / "recipes"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
BLOCKS = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def recipe(page):
    """The code of a page, and what the page says that it prints."""
    ((code, output),) = BLOCKS.findall(page.read_text(encoding="utf-8"))
    return code, output


def written(code):
    """The number of lines to write."""
    return sum(1 for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def printed(code, folder):
    """What the code prints, run in a folder and a namespace of its own; spaces at the ends of lines are ignored."""
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said):
        exec(compile(code, "recipe", "exec"), {"__name__": "__main__"})  # noqa: S102 - a page of our own
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().splitlines())


def main(names):
    os.environ.setdefault("MPLBACKEND", "agg")
    for page in PAGES:
        if names and page.stem not in names:
            continue
        code, before = recipe(page)
        with tempfile.TemporaryDirectory() as folder:
            now = printed(code, folder)
        print(f"{page.stem}: {written(code)} lines, {'as before' if now == before else 'written'}")
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(f"```text\n{before}```", f"```text\n{now}```"), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
