#!/usr/bin/env bash
# delta-rs finds no row of a file in which the smallest value of a decimal column is below 0.00001, whatever is asked for.
#
# Seen with deltalake 1.6.6 and pyarrow 26.0.1 on CPython 3.11.7, 2026-11-30. The writer puts the statistics of the file into the
# log as JSON numbers, small ones with an exponent (`8.55e-6`). The reader cannot parse that as a decimal and takes null for the
# minimum, so every filter compares with null and the file is left out. Prices of small coins are such numbers. Without a filter
# all rows are there; a filter after reading finds them.
#
# Output seen:
#   log: {"price":8.55e-6}
#   without a filter: 2 rows
#   price = 2.5: 0 rows
#   price < 1: 0 rows
#   the same with 0.00855 instead of 0.00000855: 1 and 1 rows
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "deltalake==1.6.6" "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import json
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


def counts(folder, *prices):
    write_deltalake(folder, pa.table({"price": pa.array([Decimal(price) for price in prices], pa.decimal128(38, 18))}))
    table = DeltaTable(folder)
    filters = (None, [("price", "=", Decimal("2.5"))], [("price", "<", Decimal(1))])
    return [table.to_pyarrow_table(filters=one).num_rows for one in filters]


small = counts("small", "0.00000855", "2.5")
(log,) = Path("small/_delta_log").glob("*.json")
(added,) = [line["add"] for line in map(json.loads, log.read_text().splitlines()) if "add" in line]
text = added["stats"].partition('"minValues":')[2].partition("}")[0] + "}"
print("log:", text)
print(f"without a filter: {small[0]} rows")
print(f"price = 2.5: {small[1]} rows")
print(f"price < 1: {small[2]} rows")
larger = counts("larger", "0.00855", "2.5")
print(f"the same with 0.00855 instead of 0.00000855: {larger[1]} and {larger[2]} rows")
sys.exit(0 if (text, small, larger) == ('{"price":8.55e-6}', [2, 0, 0], [2, 1, 1]) else "this has changed")
PYTHON
