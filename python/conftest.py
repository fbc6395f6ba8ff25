"""Pytest settings of the docstring examples: all of them share one simulated market."""

from importlib.util import find_spec

from made_once import hold

# The extra needs other releases of some packages than the tests have.
collect_ignore = [] if find_spec("nautilus_trader") else ["liqdata/nautilus"]


def pytest_configure():
    """Share the simulated market, from wherever pytest is started."""
    hold()
