"""# The same script, four sources

A script that is written against one source runs against the others unchanged: a simulated market, tables, an archive,
and a service over HTTP.
"""

# %%
import tempfile
from pathlib import Path

import pandas as pd

import liqdata


def report(source):
    """What a morning's report asks; nothing in it knows where the answers come from."""
    totals = source.overview()["24h"]
    liqmap = source.liqmap("BTC", "7d")
    swept = liqmap.swept(low=0.97 * liqmap.current_price)
    largest = source.largest(limit=1)[0]
    return {
        "orders": totals["cnt"],
        "m USD": round(totals["total_usd"] / 1e6, 3),
        "largest": f"{largest['exchange']} {largest['symbol']} {largest['value_usd']:,.0f}",
        "top coins": ", ".join(row["coin"] for row in source.coins(limit=3)),
        "BTC": liqmap.current_price,
        "m USD of longs within 3 %": round(swept["long_usd"] / 1e6, 1),
        "max pain above": source.maxpain("BTC")["d1"]["short"]["price"],
    }


# %% [markdown]
# ## A simulated market

# %%
demo = liqdata.demo()
reports = {"demo": report(demo)}
reports["demo"]

# %% [markdown]
# ## Tables
#
# The simulation's own orders, bars and open interest, as if they were yours.

# %%
orders = demo.iter_orders().to_polars(decimals="decimal")
bars, interest = demo.bars("BTC").to_pandas(), demo.open_interest("BTC").to_pandas()
tables = liqdata.Market(orders=orders, bars=bars, open_interest=interest, now=demo.now)
reports["tables"] = report(tables)

# %% [markdown]
# ## An archive
#
# A collector fills it from the exchanges; here the tables do.

# %%
folder = Path(tempfile.mkdtemp()) / "archive"
print(liqdata.ingest(folder, orders=orders, bars=bars, open_interest=interest, exchange="binance", source="the demo"))
archive = liqdata.open(folder, as_of=demo.now)
reports["archive"] = report(archive)

# %% [markdown]
# ## A service
#
# Yours is an address, `liqdata.Client("https://…")`. Here it is the tables behind a server on this machine.

# %%
with liqdata.serve(tables) as server, liqdata.Client(server.url) as client:
    reports["client"] = report(client)

# %% [markdown]
# ## Side by side

# %%
frame = pd.DataFrame(reports)
frame

# %% [markdown]
# What is realised is equal to the last digit wherever it comes from. So are estimates in this process; a map that
# came over HTTP has its bins and no finer grid, so a sum that ends within one takes it in part.

# %%
exact = ["orders", "m USD", "largest", "top coins", "BTC", "max pain above"]
print({name: bool(frame.loc[exact, name].equals(frame.loc[exact, "demo"])) for name in frame})

# %%
archive.close()
demo.close()
