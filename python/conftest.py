"""Pytest settings of the docstring examples: all of them share one simulated market."""

from made_once import hold


def pytest_configure():
    """Share the simulated market, from wherever pytest is started."""
    hold()
