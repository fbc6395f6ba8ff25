"""Pytest settings of the docstring examples: all of them share one simulated market."""

from importlib.util import find_spec

from made_once import hold


def pytest_ignore_collect(collection_path):
    """Leave out what needs an extra that is not installed: it brings other releases of some packages."""
    return True if collection_path.name == "nautilus" and not find_spec("nautilus_trader") else None


def pytest_configure():
    """Share the simulated market, from wherever pytest is started."""
    hold()
