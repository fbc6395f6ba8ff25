# /// script
# requires-python = ">=3.11"
# dependencies = ["deltalake==1.6.6", "pyarrow==26.0.1"]
# ///
"""Delta tables (delta-rs) keep every digit; filters and deletions by a small exact price need another way."""

import tempfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from common import line, orders, some, table, total
from deltalake import DeltaTable, write_deltalake

arrow = table()
with tempfile.TemporaryDirectory() as folder:
    write_deltalake(folder, arrow)
    delta = DeltaTable(folder)
    kept = delta.to_pyarrow_table()
    assert pc.sum(kept["value_usd"]).as_py() == total(orders())
    prices = some(arrow["price"].to_pylist(), 60)
    # The smallest price of the file is below a hundred-thousandth, and its statistics are read back as null.
    assert [delta.to_pyarrow_table(filters=[("price", "=", price)]).num_rows for price in prices] == [0] * len(prices)
    exact = pa.decimal128(38, 18)
    for price in prices:
        found = kept.filter(pc.equal(kept["price"], pa.scalar(price, exact)))
        assert found.num_rows == arrow["price"].to_pylist().count(price)
    missed = [price for price in prices if not delta.delete(f"price = {price:f}")["num_deleted_rows"]]
    assert missed
    for price in missed:
        wanted = arrow["price"].to_pylist().count(price)
        assert delta.delete(f"price = CAST('{price:f}' AS DECIMAL(38, 18))")["num_deleted_rows"] == wanted
    assert min(DeltaTable(folder).to_pyarrow_table()["price"].to_pylist()) > Decimal(0)
line(
    "Delta Lake (delta-rs)",
    "every digit is stored; `filters=` find nothing in a file with a price below 0.00001, and `delete` misses prices",
    "filter after reading: `table.filter(pc.equal(…))`; `delete(\"price = CAST('0.0000085505' AS DECIMAL(38, 18))\")`",
    "deltalake",
)
