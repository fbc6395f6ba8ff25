# /// script
# requires-python = ">=3.11"
# dependencies = ["vectorbt==1.2.0", "pandas==3.1.1"]
# ///
"""vectorbt: signals from features in a frame labelled by the open of each bar, and what one wrong hour does."""

import vectorbt as vbt
from common import hours, line

frame = hours("BTC", "ETH", "SOL")


def earned(shift):
    """Return the total return of each coin, with the features moved by some bars."""
    wide = frame.pivot(index="timestamp", columns="symbol")  # labelled by the open, as in vectorbt
    held = (wide["long_usd_1h"] > wide["short_usd_1h"]).shift(shift, fill_value=False)
    portfolio = vbt.Portfolio.from_signals(wide["close"], held, ~held, fees=0.0005, freq="1h")
    return portfolio.total_return().round(4).to_dict()


right, late, early = earned(0), earned(1), earned(-1)
print(right, late, early)
assert all(len({right[coin], late[coin], early[coin]}) == 3 for coin in right)
line("vectorbt", "features as signals", "`bars` and features joined on `bar_open`", "vectorbt")
