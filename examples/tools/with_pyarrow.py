# /// script
# requires-python = ">=3.11"
# dependencies = ["pyarrow==26.0.1"]
# ///
"""pyarrow adds up exactly; its cast to doubles is off by a place, and it multiplies only what was cast."""

import pyarrow as pa
import pyarrow.compute as pc
from common import COINS, line, orders, table, total

import liqdata

arrow = table()
assert pc.sum(arrow["value_usd"]).as_py() == total(orders())
exact = arrow["price"].to_pylist()
cast = arrow["price"].cast(pa.float64()).to_pylist()
off = [price for price, double in zip(exact, cast, strict=True) if float(price) != double]
assert len(off) > len(exact) / 20, len(off)
market = liqdata.demo(seed=7)
floats = pa.concat_tables([market.orders(coin, limit=300).to_arrow() for coin in COINS])
assert floats["price"].to_pylist() == [float(price) for price in exact]
try:
    pc.multiply(arrow["price"], arrow["qty"])
    raise SystemExit("exact columns are multiplied")
except pa.ArrowInvalid as error:
    assert "77" in str(error), error
half = pa.decimal128(18, 9)
coin = arrow.filter(pc.equal(arrow["coin"], "SOL"))
product = pc.multiply(coin["price"].cast(half), coin["qty"].cast(half)).to_pylist()
assert product == coin["value_usd"].to_pylist()
line(
    "pyarrow",
    "exact sums; a cast of decimals to doubles is not the nearest double for a fifth of the prices",
    "doubles by `rows.to_arrow()` instead of a cast; `.cast(pa.decimal128(18, 9))` before a product",
    "pyarrow",
)
