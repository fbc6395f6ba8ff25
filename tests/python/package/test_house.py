"""The Python half keeps the house's rules: no import circles, small folders."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import liqdata

PACKAGE = Path(liqdata.__file__).parent
# The package imports names lazily, so its own file is no part of a circle.
FACE = "liqdata"
MOST = 14
FOLDERS = {".": 18}


def _name(path):
    """The dotted name of a file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def _imports(source, name, *, is_package=False, files=FILES):
    """The files of the package that a file imports anywhere, except for type checkers only."""
    tree = ast.parse(source)
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unseen = {inner for node in typed for inner in ast.walk(node)}
    here = name.split(".") if is_package else name.split(".")[:-1]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node in unseen:
            continue
        base = here[: len(here) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            full = f"{module}.{alias.name}"
            yield full if full in files else module


def _circle(arrows):
    """Files that lead back to themselves, if there are any."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return None


def test_there_are_no_import_cycles():
    arrows = {
        name: set(_imports(path.read_text(), name, is_package=path.name == "__init__.py")) - {name}
        for name, path in FILES.items()
        if name != FACE
    }
    assert len(arrows) > 100
    assert _circle(arrows) is None


@pytest.mark.parametrize("folder", sorted({str(path.parent.relative_to(PACKAGE)) for path in FILES.values()}))
def test_a_folder_has_few_files(folder):
    names = [path.name for path in PACKAGE.joinpath(folder).glob("*.py") if not path.name.startswith("__")]
    assert len(names) <= FOLDERS.get(folder, MOST), names


def test_an_import_cycle_is_found():
    circle = _circle({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}})
    assert circle in {"a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c"}
    source = """
from . import b
from ..d import e
from liqdata.f import g, h
if TYPE_CHECKING:
    from .i import j
def k():
    from .l import m
"""
    files = dict.fromkeys(["liqdata.p.b", "liqdata.f.g"])
    assert list(_imports(source, "liqdata.p.a", files=files)) == [
        "liqdata.p.b",
        "liqdata.d",
        "liqdata.f.g",
        "liqdata.f",
        "liqdata.p.l",
    ]
