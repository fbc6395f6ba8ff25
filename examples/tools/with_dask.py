# /// script
# requires-python = ">=3.11"
# dependencies = ["dask[dataframe]==2026.8.0", "pandas==3.1.1", "pyarrow==26.0.1"]
# ///
"""pandas and Dask add up exact columns of the Arrow type."""

import dask.dataframe
import pandas as pd
from common import COINS, line, orders, total

import liqdata

market = liqdata.demo(seed=7)
frame = pd.concat([market.orders(coin, limit=300).to_pandas(decimals="arrow") for coin in COINS])
rows = orders()
assert frame["value_usd"].sum() == total(rows)
lazy = dask.dataframe.from_pandas(frame.reset_index(drop=True), npartitions=3)
assert lazy["value_usd"].sum().compute() == total(rows)
assert lazy.groupby("coin")["value_usd"].sum().compute().sum() == total(rows)
assert lazy.groupby("exchange")["qty"].count().compute().sum() == len(rows)
needed = '`rows.to_pandas(decimals="arrow")`'
line("pandas", "exact sums and groups", needed, "pandas")
line("Dask", "exact sums and groups; a column of `Decimal` objects is added up as text", needed, "dask")
