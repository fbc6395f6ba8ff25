# /// script
# requires-python = ">=3.11"
# dependencies = ["pylance==14.0.2", "pyarrow==26.0.1"]
# ///
"""Lance stores every digit; a filter needs the type of the price."""

import tempfile

import lance
from common import line, some, table

arrow = table()
with tempfile.TemporaryDirectory() as folder:
    store = lance.write_dataset(arrow, f"{folder}/orders.lance")
    assert store.to_table().to_pylist() == arrow.to_pylist()
    for price in some(arrow["price"].to_pylist(), 60):
        typed = f"price = CAST('{price:f}' AS DECIMAL(38, 18))"
        assert store.to_table(filter=typed).num_rows == arrow["price"].to_pylist().count(price)
        try:
            store.to_table(filter=f"price = {price:f}")
            raise SystemExit("a bare number is compared with a price")
        except ValueError as error:
            assert "Decimal128" in str(error), error
line(
    "Lance",
    "every digit is stored; a bare number is refused",
    "`filter=\"price = CAST('0.5' AS DECIMAL(38, 18))\"`",
    "pylance",
)
