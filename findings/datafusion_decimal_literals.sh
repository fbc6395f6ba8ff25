#!/usr/bin/env bash
# DataFusion finds none of the exact prices of a bitcoin that are looked up by their own digits.
#
# Seen with datafusion 55.0.0 and pyarrow 26.0.1 on CPython 3.11.7, 2026-11-30. A number with a point in SQL is a double, so
# `price = 90010.1` casts the decimal column to doubles, and that cast is not the nearest double for most values of this size. PostgreSQL and
# DuckDB read such a literal as a decimal. `SET datafusion.sql_parser.parse_float_as_decimal = true` does so here.
#
# Output seen:
#   101 prices, each of them in the table: 101 not found
#   with parse_float_as_decimal: 0 not found
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "datafusion==55.0.0" "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
from decimal import Decimal

import pyarrow as pa
from datafusion import SessionContext

prices = [Decimal(number).scaleb(-1) for number in range(900_001, 1_000_000, 997)]
base = SessionContext()
base.from_arrow(pa.table({"price": pa.array(prices, pa.decimal128(38, 18))}), name="orders")


def lost():
    sums = ", ".join(f"sum(CASE WHEN price = {price} THEN 1 ELSE 0 END) AS n{place}" for place, price in enumerate(prices))
    return [count for (count,) in base.sql(f"SELECT {sums} FROM orders").to_pydict().values()].count(0)


bare = lost()
print(f"{len(prices)} prices, each of them in the table: {bare} not found")
base.sql("SET datafusion.sql_parser.parse_float_as_decimal = true")
exact = lost()
print(f"with parse_float_as_decimal: {exact} not found")
sys.exit(0 if (bare, exact) == (101, 0) else "this has changed")
PYTHON
