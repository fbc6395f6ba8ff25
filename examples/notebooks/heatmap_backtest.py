"""# A back-test of the heatmap

Each hour of a day a heatmap is made of what was known then. Did the cells that the price crossed in the next hour
hold more than others, when they were held against what was then liquidated? And does the map tell more than the move
alone?
"""

# %%
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import liqdata

market = liqdata.demo()
coins = ["BTC", "ETH", "SOL", "XRP"]
hours = pd.date_range("2026-05-31T01:00Z", "2026-05-31T23:00Z", freq="h")

# %% [markdown]
# ## Maps as they were known
#
# `as_of` sets *now* and hides what was received later. Several instants give the maps one after the other.

# %%
maps = {coin: list(market.heatmap(coin, "24h", as_of=hours)) for coin in coins}
maps["BTC"][0]

# %% [markdown]
# ## What the price crossed, and what was liquidated
#
# Of the last column of each map, the cells between the low and the high of the hour that followed.

# %%
cells = []
for coin in coins:
    bars = market.bars(coin, interval="1h", start=hours[0]).to_pandas().set_index("timestamp")
    realised = market.history(coin, interval="1h", start=hours[0]).to_pandas().set_index("timestamp")["total_usd"]
    for hour, known in zip(hours, maps[coin], strict=True):
        low, high = bars.loc[hour, ["low", "high"]]
        crossed = known.matrix[(known.prices >= low) & (known.prices <= high), -1].sum()
        cells.append((coin, hour, crossed, 100 * (high / low - 1), realised[hour]))
frame = pd.DataFrame(cells, columns=["coin", "hour", "crossed_usd", "range_pct", "liquidated_usd"])
frame.drop(columns="hour").head(3).round(2)

# %% [markdown]
# ## Ranks, and a null
#
# Large moves cross more cells and liquidate more, whatever the map says. The range of the hour alone is what the map
# has to beat.

# %%
ranks = frame.groupby("coin")[["crossed_usd", "range_pct", "liquidated_usd"]].rank()
told = {coin: part.corr()["liquidated_usd"][:2] for coin, part in ranks.groupby(frame["coin"])}
print("rank correlation with what was liquidated, hour by hour")
pd.DataFrame(told).round(2)

# %%
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for coin, part in frame[frame["liquidated_usd"] > 0].groupby("coin"):
    ax.loglog(part["crossed_usd"], part["liquidated_usd"], "o", label=coin, alpha=0.7)
ax.set(xlabel="USD in the cells that were crossed, by estimate", ylabel="USD liquidated")
ax.set_title("An hour each, simulated market")
legend = ax.legend()

# %% [markdown]
# The map at one of these hours, and the bars that followed it:

# %%
last = maps["BTC"][13]
later = market.bars("BTC", interval="15m", start=last.updated_at, end=hours[17])
ax = last.plot()
ax.set_xlim(right=np.datetime64(hours[17].tz_localize(None)))
(line,) = ax.plot(later["closes_at"], later["close"], color="white", linewidth=1)

# %% [markdown]
# ## What to do for a claim
#
# Twenty-three hours of one simulated day are too few, and ranks say nothing of amounts. `liqdata.score` holds maps
# against what was liquidated given the path of the price, with intervals and nulls, and the scorecard in the
# documentation says what ours score, and where they fail. The cells hold what is exposed, of which a share is
# liquidated and a share of that reported: the ratio of the two is no error of the map.

# %%
ratio = np.median(frame["liquidated_usd"] / frame["crossed_usd"])
print(f"in the median hour {ratio:.0%} of what was crossed by estimate was liquidated")
