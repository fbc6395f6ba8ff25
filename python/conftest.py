"""The examples of the docstrings: all of them look at the same simulated markets, each made once."""

import pytest
from made_once import once


@pytest.fixture(autouse=True)
def made_once(monkeypatch):
    """Give the same simulated market wherever an example asks for the same one."""
    once(monkeypatch)
