# /// script
# requires-python = ">=3.11"
# dependencies = ["daft==0.6.14", "pyarrow==26.0.1"]
# ///
"""Daft finds an exact price that has the scale of the column, and divides only what was cast."""

import daft
from common import line, orders, some, table, total
from daft import col

arrow = table()
frame = daft.from_arrow(arrow)
assert frame.sum("value_usd").to_pydict()["value_usd"] == [total(orders())]
prices = some(arrow["price"].to_pylist(), 60)
assert all(frame.where(col("price") == price).count_rows() for price in prices)

bare = prices[0].normalize()
try:
    frame.where(col("price") == bare).count_rows()
    raise SystemExit("a price of another scale is compared")
except daft.exceptions.DaftCoreException as error:
    assert "exceed bounds" in str(error), error
coin = frame.where(col("coin") == "PEPE")
try:
    coin.select(col("value_usd") / col("qty"))
    raise SystemExit("exact columns are divided")
except daft.exceptions.DaftCoreException as error:
    assert "exceed bounds" in str(error), error
double = daft.DataType.float64()
parts = coin.agg(col("value_usd").cast(double).sum().alias("usd"), col("qty").cast(double).sum().alias("qty"))
(found,) = parts.select((col("usd") / col("qty")).alias("price")).to_pydict()["price"]
rows = [row for row in arrow.to_pylist() if row["coin"] == "PEPE"]
assert abs(found / float(total(rows) / total(rows, "qty")) - 1) < 1e-12
line(
    "Daft",
    "exact sums; look-ups by a `Decimal` with the 18 digits of the column",
    '`col("price") == price.quantize(Decimal("1e-18"))`; before a division `.cast(daft.DataType.float64())`',
    "daft",
)
