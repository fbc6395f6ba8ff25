# /// script
# requires-python = ">=3.11"
# dependencies = ["polars==2.1.0"]
# ///
"""polars adds up, finds, divides and writes exact columns."""

import tempfile
from pathlib import Path

import polars as pl
from common import COINS, line, orders, some, total

import liqdata

market = liqdata.demo(seed=7)
frame = pl.concat([market.orders(coin, limit=300).to_polars(decimals="decimal") for coin in COINS])
rows = orders()
assert frame["value_usd"].sum() == total(rows)
for price in some(frame["price"].to_list()):
    wanted = frame["price"].to_list().count(price)
    assert frame.filter(pl.col("price") == price).height == wanted
    assert frame.sql(f"SELECT * FROM self WHERE price = {price:f}").height == wanted
coin = frame.filter(pl.col("coin") == "PEPE")
found = coin.select(pl.col("value_usd").sum() / pl.col("qty").sum()).item()
right = total(coin.to_dicts()) / total(coin.to_dicts(), "qty")
assert abs(found / right - 1) < 1e-9
with tempfile.TemporaryDirectory() as folder:
    frame.write_parquet(Path(folder) / "orders.parquet")
    assert pl.read_parquet(Path(folder) / "orders.parquet").equals(frame)
line("polars", "exact sums, look-ups, ratios and files", "—", "polars")
