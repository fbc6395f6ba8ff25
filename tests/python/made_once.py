"""Simulated markets that are made once and asked often: nothing ever changes one, so all may look at the same."""

import functools

from liqdata import _core, market


@functools.cache
def _made(seed, now, habits):
    return _core.Market.demo(seed, now, habits, None)


def once(monkeypatch):
    """Give the same native half wherever ``liqdata.demo`` is asked for the same market."""

    def demo(seed, now, habits=None, *, progress=False):
        assert progress is False, "of a market that is made once no progress is to be told"
        new = market.Market.__new__(market.Market)
        return new._set_up(_made(seed, now, habits), demo=(seed, now, habits))

    monkeypatch.setattr(market, "_demo", demo)
