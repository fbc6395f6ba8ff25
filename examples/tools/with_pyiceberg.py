# /// script
# requires-python = ">=3.11"
# dependencies = ["pyiceberg[sql-sqlite,pyarrow]==0.12.0", "pyarrow==26.0.1"]
# ///
"""Iceberg tables keep every digit; a filter needs a `Decimal` with the digits of the column, a float misses prices."""

import tempfile
from decimal import Decimal

from common import line, orders, some, table, total
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo

arrow = table()
with tempfile.TemporaryDirectory() as folder:
    catalog = SqlCatalog("here", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("liqdata")
    store = catalog.create_table("liqdata.orders", schema=arrow.schema)
    store.append(arrow)
    assert total(store.scan().to_arrow().to_pylist()) == total(orders())
    prices = some(arrow["price"].to_pylist(), 60)
    for price in prices:
        exact = price.normalize().quantize(Decimal("1e-18"))
        assert store.scan(row_filter=EqualTo("price", exact)).to_arrow().num_rows == arrow["price"].to_pylist().count(
            price
        )
    floats = [store.scan(row_filter=EqualTo("price", float(price))).to_arrow().num_rows for price in prices]
    assert floats.count(0) > len(prices) / 2, floats
    try:
        store.scan(row_filter=EqualTo("price", Decimal("0.5"))).to_arrow()
        raise SystemExit("a price of another scale is compared")
    except ValueError as error:
        assert "decimal(38, 18)" in str(error), error
line(
    "pyiceberg",
    "every digit is stored; a float finds few of its orders, a `Decimal` of another scale is refused",
    '`EqualTo("price", price.quantize(Decimal("1e-18")))`',
    "pyiceberg",
)
