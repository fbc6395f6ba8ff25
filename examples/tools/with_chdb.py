# /// script
# requires-python = ">=3.11"
# dependencies = ["chdb==4.4.0", "pyarrow==26.0.1"]
# ///
"""ClickHouse (chdb) finds a price by `=`, not by `IN`, and divides exact columns to a wrong number without an error."""

import chdb
from common import line, orders, table, total

arrow = table()
prices = sorted(set(arrow["price"].to_pylist()))


def asked(query: str) -> str:
    """Return a single value, as text."""
    return str(chdb.query(query, "CSV")).strip().strip('"')


assert float(asked("SELECT sum(value_usd) FROM Python(arrow)")) == float(total(orders()))
assert asked(f"SELECT count(*) FROM Python(arrow) WHERE price = {prices[0]:f}") != "0"
bare = asked(f"SELECT count(*) FROM Python(arrow) WHERE price IN ({', '.join(f'{price:f}' for price in prices)})")
text = ", ".join(f"'{price:f}'" for price in prices)
assert int(bare) < arrow.num_rows, bare
assert asked(f"SELECT count(*) FROM Python(arrow) WHERE price IN ({text})") == str(arrow.num_rows)

coin = [row for row in arrow.to_pylist() if row["coin"] == "PEPE"]
right = float(total(coin) / total(coin, "qty"))
ratio = "SELECT {}(sum(value_usd)) / {}(sum(qty)) FROM Python(arrow) WHERE coin = 'PEPE'"
assert abs(float(asked(ratio.format("", ""))) / right - 1) > 0.5
assert abs(float(asked(ratio.format("toFloat64", "toFloat64"))) / right - 1) < 1e-12
assert asked("SELECT count(DISTINCT toDate(timestamp, 'UTC')) FROM Python(arrow)") == "1"
line(
    "ClickHouse (chdb)",
    "exact sums, look-ups by `=`; bare numbers in `IN` miss orders, ratios of exact columns are wrong without an error",
    "`price IN ('0.0000085505', …)` with quotes; `toFloat64(value_usd) / toFloat64(qty)`",
    "chdb",
)
