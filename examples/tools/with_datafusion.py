# /// script
# requires-python = ">=3.11"
# dependencies = ["datafusion==55.0.0", "pyarrow==26.0.1"]
# ///
"""DataFusion reads a decimal in SQL as a double: prices are not found, and a ratio of exact columns overflows."""

from common import line, orders, some, table, total
from datafusion import SessionContext

arrow = table()
base = SessionContext()
base.from_arrow(arrow, name="orders")
prices = some(arrow["price"].to_pylist(), 10)


def count(price: str) -> int:
    """Return how many orders have a price, written as SQL."""
    return base.sql(f"SELECT count(*) AS n FROM orders WHERE price = {price}").to_pydict()["n"][0]


assert base.sql("SELECT sum(value_usd) AS usd FROM orders").to_pydict()["usd"] == [total(orders())]
lost = [price for price in prices if not count(f"{price:f}")]
assert len(lost) > len(prices) / 4, (len(lost), len(prices))
base.sql("SET datafusion.sql_parser.parse_float_as_decimal = true")
assert all(count(f"{price:f}") == arrow["price"].to_pylist().count(price) for price in prices)

coin = [row for row in arrow.to_pylist() if row["coin"] == "PEPE"]
ratio = "SELECT sum(value_usd){} / sum(qty){} AS price FROM orders WHERE coin = 'PEPE'"
try:
    base.sql(ratio.format("", "")).to_pydict()
    raise SystemExit("a ratio of exact sums does not overflow any more")
except Exception as error:
    assert "overflow" in str(error).lower(), error
(found,) = base.sql(ratio.format("::double", "::double")).to_pydict()["price"]
assert abs(found / float(total(coin) / total(coin, "qty")) - 1) < 1e-12
line(
    "DataFusion",
    "exact sums; a price written in SQL is a double and finds about half of its orders",
    "`SET datafusion.sql_parser.parse_float_as_decimal = true`; before a division `value_usd::double / qty::double`",
    "datafusion",
)
