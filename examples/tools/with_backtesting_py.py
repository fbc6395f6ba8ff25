# /// script
# requires-python = ">=3.11"
# dependencies = ["backtesting==0.6.6", "pandas==3.1.1"]
# ///
"""backtesting.py: features as columns of its data, and what one wrong hour does."""

from backtesting import Backtest, Strategy
from common import hours, line

frame = hours("BTC")


class AfterLongs(Strategy):
    """Holds for the hour after an hour with more liquidated longs than shorts."""

    def init(self):
        """Nothing is computed: the features are columns."""

    def next(self):
        """Decide at the close of a bar; the order is filled at the next open."""
        held = self.data.long_usd_1h[-1] > self.data.short_usd_1h[-1]
        if held and not self.position:
            self.buy()
        elif not held:
            self.position.close()


def earned(shift):
    """Return the total return in percent, with the features moved by some bars."""
    data = frame.set_index("timestamp").rename(columns=str.title)
    for name in ("long_usd_1h", "short_usd_1h"):
        data[name] = frame[name].shift(shift, fill_value=0).to_numpy()
    return round(Backtest(data, AfterLongs, cash=10_000_000, commission=0.0005).run()["Return [%]"], 2)


right, late, early = earned(0), earned(1), earned(-1)
print(right, late, early)
assert len({right, late, early}) == 3
line("backtesting.py", "features as columns of its data", "`self.data.long_usd_1h[-1]`", "backtesting")
