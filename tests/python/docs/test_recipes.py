"""The recipes run as they stand, print what their pages say, and are as short as they are said to be."""

import ast
import re

import pytest
from PIL import Image
from recipes import FOLDER, PAGES, printed, recipe, written

FILES = re.compile(r'"([\w-]+\.(?:png|gif|parquet))"')
LONGEST = 10
WIDEST = 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_recipe_prints_what_its_page_says(page, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    code, output = recipe(page)
    assert output.strip()
    assert printed(code, tmp_path) == output
    for name in FILES.findall(code):
        assert (tmp_path / name).stat().st_size > 0, name
        if name.endswith(".gif"):
            with Image.open(tmp_path / name) as film:
                assert film.n_frames == len(output.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_recipe_is_ten_lines_or_fewer(page):
    code, _ = recipe(page)
    assert 0 < written(code) <= LONGEST
    lines = [part.lineno for part in ast.walk(ast.parse(code)) if isinstance(part, ast.stmt)]
    assert len(lines) == len(set(lines)), "a statement a line"
    assert max(map(len, code.splitlines())) <= WIDEST


def test_the_list_of_recipes_has_each_of_them():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [page.name for page in PAGES]
    assert len(listed) == 12
