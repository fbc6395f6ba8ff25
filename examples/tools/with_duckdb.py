# /// script
# requires-python = ">=3.11"
# dependencies = ["duckdb==2.0.1", "pyarrow==26.0.1"]
# ///
"""DuckDB reads an Arrow table in place: exact sums and look-ups, and days of UTC once the session is in UTC."""

import duckdb
from common import line, orders, some, table, total

arrow = table()
base = duckdb.connect()
assert base.sql("SELECT sum(value_usd) FROM arrow").fetchall() == [(total(orders()),)]
for price in some(arrow["price"].to_pylist()):
    count = arrow["price"].to_pylist().count(price)
    assert base.execute("SELECT count(*) FROM arrow WHERE price = ?", [price]).fetchall() == [(count,)]
    assert base.sql(f"SELECT count(*) FROM arrow WHERE price = {price:f}").fetchall() == [(count,)]

days = "SELECT DISTINCT strftime(timestamp, '%Y-%m-%d') FROM arrow"
utc = {f"{row['timestamp']:%Y-%m-%d}" for row in arrow.select(["timestamp"]).to_pylist()}
base.execute("SET TimeZone = 'Asia/Tokyo'")
assert {day for (day,) in base.sql(days).fetchall()} != utc
base.execute("SET TimeZone = 'UTC'")
assert {day for (day,) in base.sql(days).fetchall()} == utc
line("DuckDB", "exact sums and look-ups in place; days are those of the session", "`SET TimeZone = 'UTC'`", "duckdb")
