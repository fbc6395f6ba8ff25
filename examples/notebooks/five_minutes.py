"""# Five minutes with liqdata

What was liquidated, where the next liquidations wait by estimate, and how answers become frames and pictures. The
market is simulated: no network, no account, the same numbers every time.
"""

# %%
import liqdata
from liqdata import plot

market = liqdata.demo()
market

# %% [markdown]
# ## What was liquidated
#
# Totals of the last day, coins by liquidated USD, the largest orders. Rows are dicts with exact amounts; a notebook
# shows them as a table.

# %%
totals = market.overview()["24h"]
print(f"{totals['cnt']:,} orders, {totals['total_usd']:,.0f} USD in 24 hours")
market.coins("24h", limit=5)

# %%
for order in market.largest(limit=3):
    print(order["exchange"], order["symbol"], order["side"], order["value_usd"], "USD at", order["price"])

# %%
ax = market.history("BTC", interval="1h", by="exchange").plot()

# %% [markdown]
# ## Frames
#
# Every list of rows turns into the frame you work with, column by column.

# %%
frame = market.orders(limit=1000).to_pandas()
print(frame.dtypes.to_string())
frame.groupby("exchange")["value_usd"].agg(["count", "sum", "max"]).round()

# %%
market.chart("BTC").to_polars().head(3)

# %% [markdown]
# ## Where the next ones wait, by estimate
#
# Nobody publishes open positions. The heatmap and the liquidation map spread the open interest over assumed leverages
# and entries, and remove what the price has crossed since. They are right in order of size, near the price.

# %%
heatmap = market.heatmap("BTC", "24h")
ax = heatmap.plot(levels=market.levels("BTC"))

# %%
liqmap = market.liqmap("BTC", "7d")
price = liqmap.current_price
swept = liqmap.swept(low=0.95 * price, high=1.05 * price)
print(f"at {price:,.0f}: {swept['long_usd'] / 1e6:.0f} m USD of longs within 5 % below")
print(f"at {price:,.0f}: {swept['short_usd'] / 1e6:.0f} m USD of shorts within 5 % above")
ax = liqmap.plot()

# %% [markdown]
# Here the truth is known, as it never is of a real market: the positions of the simulated traders.

# %%
true = market.true_positions("BTC").to_pandas()
longs = true[(true["side"] == "LONG") & (true["liquidation_price"] >= 0.95 * price)]
print(f"{(longs['qty'] * longs['liquidation_price']).sum() / 1e6:.0f} m USD of longs in truth")

# %% [markdown]
# ## The same over HTTP
#
# Any market can be served, and a client asks the same questions. Questions that the contract does not know are
# refused before anything is sent.

# %%
with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
    print(client.overview() == market.overview(), client.heatmap("BTC", "24h") == heatmap)
    try:
        client.coins(range="2h")
    except ValueError as error:
        print(error)

# %%
ax = plot.maxpain(market.maxpain("BTC"))
