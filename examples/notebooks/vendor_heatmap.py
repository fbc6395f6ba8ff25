"""# Is my vendor's heatmap any good?

A service sells heatmaps. Do they say more than the past of the price? Here a double of CoinGlass on this machine serves
the hours of a simulated day, of which the truth is known: its model 1 is nothing but the trailing mean price, its
model 2 an estimate of leveraged positions. With a key and recorded maps the same cells examine the real service.
"""

# %%
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import liqdata
from liqdata import vendors

market = liqdata.demo()
coin, day = "ETH", pd.Timedelta("1D")
hours = pd.date_range("2026-05-31T01:00Z", "2026-05-31T23:00Z", freq="h")
bars = market.bars(coin, interval="5min", start=hours[0] - day).to_pandas().set_index("timestamp")

# %% [markdown]
# ## The double
#
# It answers as the service documents it: cells as `[column, price, value]`, a price axis, candles.

# %%
clock = {"now": hours[0]}


def column(model, prices):
    """What one column of a model holds at the instant of the clock."""
    known = bars[bars.index < clock["now"]].tail(288)
    if model == "1":
        return 1e6 * np.exp(-0.5 * ((prices / known["close"].mean() - 1) / 0.02) ** 2)
    estimate = market.heatmap(coin, "24h", as_of=clock["now"])
    return np.interp(prices, estimate.prices, estimate.matrix[:, -1])


def reply(model):
    """The body of a heatmap."""
    known = bars[bars.index < clock["now"]].tail(3)
    prices = known["close"].iloc[-1] * np.linspace(0.92, 1.08, 161)
    cells = [[2, row, value] for row, value in enumerate(column(model, prices).round(2).tolist())]
    parts = known[["open", "high", "low", "close"]].itertuples()
    candles = [[int(at.timestamp()), *map(str, bar), "0"] for at, *bar in parts]
    data = {"y_axis": prices.tolist(), "liquidation_leverage_data": cells, "price_candlesticks": candles}
    return json.dumps({"code": "0", "msg": "success", "data": data}).encode()


class Double(BaseHTTPRequestHandler):
    """The paths of the service."""

    def do_GET(self):
        """Answer a request."""
        path = urlsplit(self.path).path
        body = reply(path[-1])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Log nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Double)
threading.Thread(target=server.serve_forever, daemon=True).start()
service = vendors.CoinGlass("a-key", base_url=f"http://127.0.0.1:{server.server_port}")
service.heatmap(coin, "24h", model=2).units

# %% [markdown]
# ## Is it the trailing mean price?
#
# Where is the centre of mass of each map, and where was the mean of the last day's closes? Positions are opened where
# the price was, so every map leans that way; a map that lies on the mean has learned nothing about leverage.

# %%
maps, rows = {"model 1": [], "model 2": []}, []
for hour in hours:
    clock["now"] = hour
    trailing = bars[bars.index < hour].tail(288)["close"].mean()
    for name, kept in maps.items():
        seen = service.heatmap(coin, "24h", model=int(name[-1]))
        kept.append(seen)
        mass = seen.matrix[:, -1]
        centre = (seen.prices * mass).sum() / mass.sum()
        rows.append((name, hour, 100 * (centre / seen.current_price - 1), 100 * (trailing / seen.current_price - 1)))
found = pd.DataFrame(rows, columns=["map", "hour", "centre_pct", "mean_pct"])
found["apart_pct"] = (found["centre_pct"] - found["mean_pct"]).abs()
print("distance of the centre of mass from the trailing mean price, in percent of the price")
found.groupby("map")["apart_pct"].describe()[["50%", "max"]].round(2)

# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, part in found.groupby("map"):
    ax.plot(part["mean_pct"], part["centre_pct"], "o", label=name, alpha=0.7)
ax.axline((0, 0), slope=1, color="gray", linewidth=1)
ax.set(xlabel="trailing mean price, % from the price", ylabel="centre of mass, % from the price")
ax.set_title("A map that lies on the line is the mean of the past")
legend = ax.legend()

# %% [markdown]
# ## Does it say what will be liquidated?
#
# Of each map, the cells that the price crossed in the next hour, against what was then liquidated. The range of the
# hour alone is what a map has to beat.

# %%
hourly = market.bars(coin, interval="1h", start=hours[0]).to_pandas().set_index("timestamp")
realised = market.history(coin, interval="1h", start=hours[0]).to_pandas().set_index("timestamp")["total_usd"]
crossed = {"range alone": [hourly.loc[hour, "high"] / hourly.loc[hour, "low"] for hour in hours]}
for name, kept in maps.items():
    crossed[name] = []
    for hour, seen in zip(hours, kept, strict=True):
        inside = (seen.prices >= hourly.loc[hour, "low"]) & (seen.prices <= hourly.loc[hour, "high"])
        crossed[name].append(seen.matrix[inside, -1].sum())
table = pd.DataFrame(crossed, index=hours).assign(liquidated=[realised.get(hour, 0.0) for hour in hours])
print("rank correlation with what was liquidated in the next hour")
table.rank().corr()["liquidated"].drop("liquidated").round(2)

# %% [markdown]
# ## The maps on one grid
#
# `liqdata.compare` puts maps on one grid as shares of their own sum, because units of services differ.

# %%
last = {name: kept[-1] for name, kept in maps.items()}
compared = liqdata.compare({**last, "ours": market.heatmap(coin, "24h", as_of=hours[-1])}, coin)
print(compared.to_markdown())
ax = compared.plot()

# %% [markdown]
# Model 1 is found out by the first picture: it lies on the line. A day of one simulated coin is too little for a
# verdict on what is liquidated; `liqdata.score` takes recorded maps of weeks, with intervals and nulls.

# %%
server.shutdown()
