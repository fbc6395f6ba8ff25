"""The examples of the docstrings: all of them look at the same simulated markets, each made once."""

import functools

import pytest

from liqdata import _core, market

_made = functools.cache(_core.Market.demo)


def _demo(seed, now, habits=None):
    """As ``market._demo``; the native half, which nothing ever changes, is that of the last time."""
    new = market.Market.__new__(market.Market)
    return new._set_up(_made(seed, now, habits), demo=(seed, now, habits))


@pytest.fixture(autouse=True)
def made_once(monkeypatch):
    """Give the same simulated market wherever an example asks for the same one."""
    monkeypatch.setattr(market, "_demo", _demo)
