"""# Bring your own data

Orders, bars and open interest that you have, in whatever frame they are, become the same answers as those of a
service. And what is to stay goes into an archive.

The tables are made here, and written as CSV, Parquet and lists, as you might have them.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import liqdata

folder = Path(tempfile.mkdtemp())
times = pd.date_range("2026-05-20", periods=12 * 24 * 12, freq="5min", tz="UTC")
steps = np.random.default_rng(3).normal(0, 0.0012, len(times))
close = (60_000 * np.exp(np.cumsum(steps))).round(1)
bars = pd.DataFrame({"symbol": "BTC", "timestamp": times, "open": np.r_[60_000, close[:-1]], "close": close})
bars["high"], bars["low"] = bars[["open", "close"]].max(axis=1) * 1.0005, bars[["open", "close"]].min(axis=1) * 0.9995
bars["volume"] = 40.0
bars.to_csv(folder / "bars.csv", index=False)
interest = pl.DataFrame({"symbol": "BTC", "timestamp": times, "open_interest": 80_000.0 + 5 * np.arange(len(times))})
interest.write_parquet(folder / "open_interest.parquet")
names = ["exchange", "symbol", "side", "price", "qty", "value_usd", "timestamp"]
cells = [
    ("mine", "BTCUSDT", "LONG", "59000.5", "0.25", "14750.125", "2026-05-31T21:04:05.678Z"),
    ("mine", "BTCUSDT", "SHORT", "59800", "1.5", "89700", "2026-05-31T23:10:00Z"),
]
orders = [dict(zip(names, row, strict=True)) for row in cells]

# %% [markdown]
# ## Into a market
#
# pandas, polars, lists of dicts, dicts of columns, pyarrow, duckdb: each table may be of another kind. Amounts that
# come as text stay exact.

# %%
mine = liqdata.Market(
    orders=orders,
    bars=pd.read_csv(folder / "bars.csv"),
    open_interest=pl.scan_parquet(folder / "open_interest.parquet"),
    new_exchange=True,  # "mine" is no exchange that the package knows
)
print(mine)
print(mine.overview()["24h"])
print(mine.orders("BTC")[0])

# %%
ax = mine.heatmap("BTC", "3d").plot()

# %% [markdown]
# ## What is wrong is said
#
# A cell that cannot be meant is refused with its column and row, and so is a table in other units than it says.

# %%
try:
    liqdata.Market(bars=bars.assign(low=bars["low"].where(bars.index != 7)))
except ValueError as error:
    print(error)
try:
    liqdata.Market(orders=[orders[0] | {"side": "sell"}], new_exchange=True)
except ValueError as error:
    print(error)

# %% [markdown]
# ## Candles as ccxt has them
#
# `exchange.fetch_ohlcv("BTC/USDT", "5m")` gives lists; they come by coin. Without open interest a multiple of the
# volume stands in for it: shapes mean something then, amounts do not, and the unit says so.

# %%
ohlcv = [
    [int(bar.timestamp.timestamp()) * 1000, bar.open, bar.high, bar.low, bar.close, bar.volume]
    for bar in bars.itertuples()
]
rough = liqdata.Market(bars={"BTC": ohlcv})
print(rough.liqmap("BTC").units)

# %% [markdown]
# ## Into an archive
#
# What was there already is counted as repeated, so the same file twice adds nothing. What is refused is counted by
# its reason.

# %%
archive = folder / "archive"
print(liqdata.ingest(archive, bars=bars, open_interest=interest, exchange="mine", new_exchange=True))
print(liqdata.ingest(archive, folder / "bars.csv", orders=orders, exchange="mine"))

# %%
with liqdata.open(archive) as kept:
    short = kept.maxpain("BTC")["d7"]["short"]
    print(f"{short['usd'] / 1e6:.1f} m USD of shorts at {short['price']:,.0f}")
    print(kept.maxpain("BTC") == mine.maxpain("BTC"))
    days = kept.history("BTC", interval="1d", by="side", start="2026-05-31").to_pandas()
days
