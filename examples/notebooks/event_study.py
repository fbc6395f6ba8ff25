"""# Event study around cascades

Liquidations that follow each other closely are told as events. What did the price do before, during and after them?
On a simulated market, in which liquidations push the price: what shows here was put there.
"""

# %%
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import liqdata

market = liqdata.demo()
events = market.cascades(gap="60s", min_usd=500_000, end="2026-05-31T23:00Z")  # the hour after each is over
print(f"{len(events)} events of half a million USD and more")
events[:5]

# %%
ax = events.plot()

# %% [markdown]
# ## The path around each event
#
# The price at each minute is the close of the last bar that had closed by then, so nothing looks ahead. Paths are in
# percent of the price that was known when the event began.

# %%
frame = events.to_pandas()
bars = pd.concat(rows.to_pandas() for rows in market.bars(market.symbols).values())
minutes = np.arange(-60, 61, 5)
paths = pd.DataFrame(index=frame.index, columns=minutes, dtype=float)
for minute in minutes:
    at = frame.assign(at=frame["start"] + pd.Timedelta(minutes=int(minute)))
    paths[minute] = liqdata.join_asof(at, bars, by={"coin": "symbol"}, left_on="at")["close"]
paths = 100 * (paths.div(paths[0], axis=0) - 1)
paths.groupby(frame["side"]).mean()[[-60, -30, -10, 0, 10, 30, 60]].round(2)

# %% [markdown]
# ## How sure is that?
#
# Events of one coin and hour are no independent trials. Whole hours are drawn again, all events in them together; the
# band holds 90 % of the means that come out.

# %%
rng = np.random.default_rng(7)
hours = frame["start"].dt.floor("h")
bands = {}
for side in ("LONG", "SHORT"):
    mine, when = paths[frame["side"] == side], hours[frame["side"] == side]
    groups = [group.to_numpy() for _, group in mine.groupby(when)]
    drawn = [
        np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))]).mean(axis=0) for _ in range(500)
    ]
    bands[side] = mine.mean().to_numpy(), *np.quantile(drawn, [0.05, 0.95], axis=0)
    mean, low, high = (curve[-1] for curve in bands[side])
    print(f"{side}: {len(mine)} events in {len(groups)} hours, {mean:.2f} % an hour later ({low:.2f} to {high:.2f})")

# %%
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for side, colour in (("LONG", "tab:blue"), ("SHORT", "tab:orange")):
    mean, low, high = bands[side]
    ax.plot(minutes, mean, color=colour, label=f"{side.lower()}s liquidated")
    ax.fill_between(minutes, low, high, color=colour, alpha=0.2)
ax.axvline(0, color="grey", linewidth=1)
ax.set(xlabel="minutes from the start of the event", ylabel="price, % of that at the start")
ax.set_title("Mean path around cascades, 90 % bands, simulated market")
legend = ax.legend()

# %% [markdown]
# ## What it does not say
#
# Left of 0 the price moves because that is what liquidates: events select their past. Right of it the first ten
# minutes hold the event itself. What is left for a forecast is what comes after the event, from the first price that
# was known once it was over:

# %%
after = frame.groupby("side")[["change_5m", "change_1h"]].agg(["mean", "std", "count"])
(100 * after.drop(columns="count", level=1)).round(3)
