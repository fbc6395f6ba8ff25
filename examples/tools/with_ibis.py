# /// script
# requires-python = ">=3.11"
# dependencies = ["ibis-framework[duckdb]==12.0.0", "duckdb==1.5.6", "pyarrow==26.0.1", "pandas==3.1.1"]
# ///
"""ibis writes a `Decimal` into SQL with three digits: an exact price is found once the type of the literal is named."""

import ibis
from common import line, orders, some, table, total

arrow = table()
rows = ibis.memtable(arrow)
assert rows.value_usd.sum().execute() == total(orders())
small = [price for price in some(arrow["price"].to_pylist(), 90) if price.normalize().as_tuple().exponent < -3]
assert small
kind = "decimal(38, 18)"
for price in small:
    assert price not in rows.filter(rows.price == price).to_pyarrow()["price"].to_pylist()
    wanted = arrow["price"].to_pylist().count(price)
    assert rows.filter(rows.price == ibis.literal(str(price)).cast(kind)).count().execute() == wanted
line(
    "ibis",
    "exact sums; a `Decimal` of Python is rounded to three digits, so small prices are not found",
    '`ibis.literal(str(price)).cast("decimal(38, 18)")`',
    "ibis-framework",
)
