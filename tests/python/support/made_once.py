"""The simulated markets that are asked for most are made once: nothing ever changes them, so all may look at the same.

They are held from when a test has first made them: the default one, and the one of the pages and of the tests of the
web page. Markets of other seeds and instants end with who made them.
"""

from weakref import WeakValueDictionary

from liqdata import market

NOW = round(market._DEMO_NOW.timestamp() * 1000)
USUAL = ((0, NOW, None), (7, NOW, None))


class Made(WeakValueDictionary):
    """What ``liqdata.demo`` has made, as the package keeps it; and the first of each usual market for good."""

    def __init__(self, known):
        self.first = {}
        super().__init__(known)

    def __setitem__(self, key, core):
        if key in USUAL:
            core = self.first.setdefault(key, core)
        super().__setitem__(key, core)


def hold():
    """Hold the usual markets of this process once there are any."""
    if not isinstance(market._made, Made):
        market._made = Made(market._made)
