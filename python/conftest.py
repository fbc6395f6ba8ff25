"""The examples of the docstrings: all of them look at the same simulated market."""

from made_once import hold


def pytest_configure():
    """Begin to hold it, wherever the tests are started from."""
    hold()
