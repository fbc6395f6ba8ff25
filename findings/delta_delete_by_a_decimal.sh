#!/usr/bin/env bash
# `delete` of delta-rs deletes nothing for exact prices that are in the table, and reports success.
#
# Seen with deltalake 1.6.6 and pyarrow 26.0.1 on CPython 3.11.7, 2026-11-30. A predicate is SQL, in which `90010.1` is a double. The
# column is cast to doubles for the comparison, and that cast is off by a place for most values of this size. A correction such as "delete the row with this price" has to count the deleted rows, and to write the
# literal as `CAST('90010.1' AS DECIMAL(38, 18))`.
#
# Output seen:
#   101 prices: bare literals delete 0, literals with a cast delete 101
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "deltalake==1.6.6" "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
from decimal import Decimal

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

prices = [Decimal(number).scaleb(-1) for number in range(900_001, 1_000_000, 997)]
write_deltalake("table", pa.table({"price": pa.array(prices, pa.decimal128(38, 18))}))
table = DeltaTable("table")
any_of = " OR ".join(f"price = {price}" for price in prices)
bare = table.delete(any_of)["num_deleted_rows"]
left = table.to_pyarrow_table()["price"].to_pylist()
exact = " OR ".join(f"price = CAST('{price}' AS DECIMAL(38, 18))" for price in left)
rest = table.delete(exact)["num_deleted_rows"] if left else 0
print(f"{len(prices)} prices: bare literals delete {bare}, literals with a cast delete {rest}")
sys.exit(0 if (bare, rest) == (0, 101) else "this has changed")
PYTHON
