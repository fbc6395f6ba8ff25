#!/usr/bin/env bash
# ibis compares a column with a `Decimal` of Python rounded to three digits after the point.
#
# Seen with ibis-framework 12.0.0 and duckdb 1.5.6 on CPython 3.11.7, 2026-11-30. A decimal literal without a type is written as
# `CAST(0.0000085505 AS DECIMAL(18, 3))`, which is 0.000, whatever its digits and the type of the column are. A filter by an
# exact price finds no row, and `price >= Decimal("0.0004")` finds rows from zero on. A literal needs its type:
# `ibis.literal("0.0000085505").cast("decimal(38, 18)")`.
#
# Output seen:
#   SQL: CAST(0.0000085505 AS DECIMAL(18, 3))
#   price == Decimal("0.0000085505"): 0 rows; with a type: 1 row
#   price >= Decimal("0.0004"): 2 rows, right is 1
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    "ibis-framework[duckdb]==12.0.0" "duckdb==1.5.6" "pyarrow==26.0.1" "pandas==3.1.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import re
import sys
from decimal import Decimal

import ibis
import pyarrow as pa

prices = pa.array([Decimal("0.0000085505"), Decimal("1.5")], pa.decimal128(38, 18))
rows = ibis.memtable(pa.table({"price": prices}))
equal = rows.filter(rows.price == Decimal("0.0000085505"))
literal = re.search(r"CAST\([^)]*\)\s*\)?", ibis.to_sql(equal))[0]
print("SQL:", literal)
typed = rows.filter(rows.price == ibis.literal("0.0000085505").cast("decimal(38, 18)"))
counts = equal.count().execute(), typed.count().execute()
print(f'price == Decimal("0.0000085505"): {counts[0]} rows; with a type: {counts[1]} row')
above = rows.filter(rows.price >= Decimal("0.0004")).count().execute()
print(f'price >= Decimal("0.0004"): {above} rows, right is 1')
as_seen = (literal, *counts, above) == ("CAST(0.0000085505 AS DECIMAL(18, 3))", 0, 1, 2)
sys.exit(0 if as_seen else "this has changed")
PYTHON
