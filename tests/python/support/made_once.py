"""The simulated market that is asked for by default is made once: nothing ever changes it, so all may look at the same.

One is held, from when a test has first made it. Markets of other seeds and instants end with who made them.
"""

from weakref import WeakValueDictionary

from liqdata import market

USUAL = (0, round(market._DEMO_NOW.timestamp() * 1000), None)


class Made(WeakValueDictionary):
    """What ``liqdata.demo`` has made, as the package keeps it; and the first of the usual markets for good."""

    usual = None

    def __setitem__(self, key, core):
        if key == USUAL:
            if self.usual is None:
                self.usual = core
            core = self.usual
        super().__setitem__(key, core)


def hold():
    """Hold the usual market of this process once there is one."""
    if not isinstance(market._made, Made):
        market._made = Made(market._made)
