# /// script
# requires-python = ">=3.11"
# dependencies = ["alphalens-reloaded==0.5.1", "pandas==3.1.1"]
# ///
"""alphalens: a feature as a factor at the instant of its decision, and what one wrong hour does."""

import alphalens
from common import hours, line

frame = hours("ADA", "AVAX", "BNB", "BTC", "DOGE", "ETH", "LINK", "PEPE", "SOL", "XRP")


def coefficient(shift):
    """Return the mean information coefficient of an hour, with the features moved by some bars."""
    wide = frame.assign(pressure=frame["long_usd_1h"] - frame["short_usd_1h"]).pivot(index="at", columns="symbol")
    factor = wide["pressure"].shift(shift).stack()
    data = alphalens.utils.get_clean_factor_and_forward_returns(factor, wide["price"], quantiles=2, periods=(1,))
    return alphalens.performance.mean_information_coefficient(data)["1h"]


right, late, early = coefficient(0), coefficient(1), coefficient(-1)
print(right, late, early)
assert abs(right) < 0.05
assert abs(early) > 0.3
line("alphalens", "features as a factor at their instant", "prices and factor indexed by `at`", "alphalens-reloaded")
