"""The Python half keeps the house's laws: no two files import each other in a circle, late imports included."""

import ast
from pathlib import Path

import pytest

import liqdata

PACKAGE = Path(liqdata.__file__).parent
# The package hands on what its files have, late and by name.
FACE = "__init__"


def _imports(source):
    """The files of the package that a file imports, wherever in it that stands, but for type checkers alone."""
    tree = ast.parse(source)
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unseen = {inner for node in typed for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if node in unseen:
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names]


def _circles(arrows):
    """Files that lead back to themselves, with the way."""

    def walk(at, way):
        for following in sorted(arrows[at] & arrows.keys()):
            if following == way[0]:
                yield [*way, following]
            elif following not in way and following > way[0]:
                yield from walk(following, [*way, following])

    return [" -> ".join(circle) for start in sorted(arrows) for circle in walk(start, [start])]


@pytest.mark.parametrize("folder", [".", "cli", "plot", "scoring"])
def test_no_files_import_each_other_in_a_circle(folder):
    found = (PACKAGE / folder).glob("*.py")
    files = {path.stem: set(_imports(path.read_text())) for path in found if path.stem != FACE}
    assert len(files) > 10
    assert _circles(files) == []


def test_a_circle_is_found_once_and_a_line_not_at_all():
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}}) == ["a -> b -> c -> a"]
    assert list(
        _imports("from . import b\nif TYPE_CHECKING:\n    from .e import f\ndef f():\n    from .c import d\n")
    ) == ["b", "c"]
