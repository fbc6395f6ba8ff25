# /// script
# requires-python = ">=3.11"
# dependencies = ["lib-pybroker==2.0.2", "pandas==3.1.1"]
# ///
"""pybroker: features as registered columns, and what one wrong hour does."""

import pybroker
from common import hours, line

frame = hours("BTC", "ETH", "SOL")
pybroker.disable_progress_bar()
pybroker.disable_logging()
pybroker.register_columns(["long_usd_1h", "short_usd_1h"])


def hold(ctx):
    """Hold for the hour after an hour with more liquidated longs than shorts."""
    held = ctx.long_usd_1h[-1] > ctx.short_usd_1h[-1]
    if held and not ctx.long_pos():
        ctx.buy_shares = ctx.calc_target_shares(0.3)
    elif not held and ctx.long_pos():
        ctx.sell_all_shares()


def earned(shift):
    """Return the total return in percent, with the features moved by some bars."""
    data = frame.rename(columns={"timestamp": "date"})
    names = ["long_usd_1h", "short_usd_1h"]
    data[names] = data.groupby("symbol")[names].shift(shift, fill_value=0)
    data["date"] = data["date"].dt.tz_localize(None)
    strategy = pybroker.Strategy(data, data["date"].min(), data["date"].max())
    strategy.add_execution(hold, ["BTC", "ETH", "SOL"])
    return round(strategy.backtest().metrics.total_return_pct, 2)


right, late, early = earned(0), earned(1), earned(-1)
print(right, late, early)
line("pybroker", "features as registered columns", '`pybroker.register_columns(["long_usd_1h"])`', "lib-pybroker")
