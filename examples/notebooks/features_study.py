"""# A study of features: events, and how much a rank is worth

Does something that was known at the close of an hour say anything about the hour after it? One row per hour and coin,
an event study, and an information coefficient with its interval. The market is simulated: liquidations push its prices,
so the answers below are about this simulation. Nothing here is a strategy, and nothing says that one would earn
anything.
"""

# %%
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import liqdata

market = liqdata.demo()
hours = [row["closes_at"] for row in market.bars("BTC", interval="1h", start="-21d")]


def study(market, at):
    columns = ["price", "long_usd_1h", "short_usd_1h", "long_usd_2pct", "short_usd_2pct"]
    table = market.features(market.symbols, at, windows=["1h"], within=[2], columns=columns).to_pandas()
    below, above = table["long_usd_2pct"], table["short_usd_2pct"]
    realised = table["long_usd_1h"] - table["short_usd_1h"]
    return table[["at", "coin", "price", "long_usd_1h"]].assign(
        realised=realised / (table["long_usd_1h"] + table["short_usd_1h"]),  # of what was liquidated in the last hour
        waiting=(below - above) / (below + above),  # of what a move of 2 % would liquidate
    )


table = study(market, hours)
print(f"{len(table)} rows: {table['coin'].nunique()} coins, {table['at'].nunique()} hours")
table.tail(4)

# %% [markdown]
# For your own data, `market = liqdata.open("archive")` after `liqdata.fetch("archive", coins=["BTC", "ETH"],
# start="-30d")`; all that follows is the same.
#
# ## Nothing looks ahead
#
# The study is a function of a market and of instants, so that it can be checked: at a sample of instants it is computed
# again from only the rows that were known by then.

# %%
print(liqdata.check_lookahead(study, market, hours[-48:], sample=2))

# %% [markdown]
# ## Event study
#
# An event is an hour in which more longs were liquidated than in 95 % of the hours of that coin *before* it. Paths
# are in percent of the close of that hour, which is the first price at which one could have acted.

# %%
wide = table.pivot(index="at", columns="coin")
price, longs = wide["price"], wide["long_usd_1h"]
threshold = longs.expanding(min_periods=72).quantile(0.95).shift(1)
events = (longs > threshold).stack()
events = events[events].index
steps = np.arange(-6, 7)
paths = pd.DataFrame(
    {step: (100 * (price.shift(-step) / price - 1)).stack(future_stack=True).reindex(events) for step in steps}
).dropna()
paths.mean().round(3)

# %% [markdown]
# Hours of one day, and coins in one hour, are no independent trials: a crash is one event in ten coins. So whole days
# are drawn again, and the band holds 90 % of the means.

# %%
rng = np.random.default_rng(7)


def drawn_again(values, days, draws=2000):
    """The means of a table when whole days are drawn again."""
    groups = [group.to_numpy() for _, group in values.groupby(days)]
    sums = np.array([group.sum(axis=0) for group in groups])
    counts = np.array([len(group) for group in groups])
    picks = rng.integers(0, len(groups), (draws, len(groups)))
    return sums[picks].sum(axis=1) / counts[picks].sum(axis=1).reshape(-1, *[1] * (sums.ndim - 1))


day = paths.index.get_level_values("at").floor("D")
low, high = np.quantile(drawn_again(paths, day), [0.05, 0.95], axis=0)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(steps, paths.mean(), label="mean path")
ax.fill_between(steps, low, high, alpha=0.2, label="90 % of the means")
ax.axvline(0, color="grey", linewidth=1)
ax.set(xlabel="hours from the close of the event's hour", ylabel="price, % of that close")
ax.set_title(f"{len(paths)} hours with many liquidated longs, on {day.nunique()} days, simulated market")
legend = ax.legend()
print(f"an hour later {paths[1].mean():.3f} % ({low[7]:.3f} to {high[7]:.3f})")

# %% [markdown]
# Left of 0 the price falls because the falling price is what liquidates: events select their past. Only what is right
# of 0 could be a forecast.
#
# ## Information coefficient
#
# In each hour the coins are ranked by the feature and by the return of the *next* hour; the coefficient is the
# correlation of the ranks. Its mean over the hours has an interval, from days that are drawn again.

# %%
following = (price.shift(-1) / price - 1).stack(future_stack=True).rename("following")
data = table.set_index(["at", "coin"]).join(following)


def coefficients(name, shift=0):
    """The correlation of ranks in each hour, with the feature moved by some hours."""
    feature = data[name].unstack().shift(shift)
    ranks, returns = feature.rank(axis=1), data["following"].unstack().where(feature.notna()).rank(axis=1)
    return ranks.corrwith(returns, axis=1).dropna()


def described(found):
    low, high = np.quantile(drawn_again(found, found.index.floor("D")), [0.05, 0.95])
    return {"mean": found.mean(), "from": low, "to": high, "hours": len(found)}


summary = {name: described(coefficients(name)) for name in ("realised", "waiting")}
pd.DataFrame(summary).T.round(3).astype({"hours": int})

# %% [markdown]
# Two features were looked at. Of twenty without any content one would be outside such an interval of 90 % twice, on
# average; whoever tries twenty and shows one has to say so.
#
# ## One wrong hour
#
# The same, with the feature of the hour that is about to happen: what a table joined by the wrong label shows.

# %%
wrong = {f"{name}, an hour early": described(coefficients(name, shift=-1)) for name in ("realised", "waiting")}
pd.DataFrame(wrong).T.round(3).astype({"hours": int})

# %% [markdown]
# Such a coefficient is no discovery. It says that longs are liquidated in hours in which the price falls, and that a
# fall brings the price near to the levels of other longs.
#
# ## What this does not say
#
# - It is a simulation with one seed, three weeks long. Real markets have news, and other reasons to move.
# - There are no costs, no spread and no delay here. `latency="5m"` in `features` is the delay of your own pipeline.
# - An interval that contains 0 is no proof of nothing; one that does not is no proof of a profit.
# - Orders of real exchanges are incomplete: `covered_1h` and [the undercount](../../docs/explanation/undercount.md)
#   say how much.
