#!/usr/bin/env bash
# A filter of pyiceberg by a float finds few of the rows with that price, and says nothing.
#
# Seen with pyiceberg 0.12.0 and pyarrow 26.0.1 on CPython 3.11.7, 2026-11-30. `EqualTo("price", 0.3)` on a decimal column turns the
# float into a `Decimal` with all digits of the double (0.299999999999999988…), cut to the scale of the column, which is equal to the
# price only where the double has no other digits. `EqualTo("price", Decimal("0.3"))` is refused, since it has another scale;
# `Decimal("0.3").quantize(Decimal("1e-18"))` finds the row.
#
# Output seen:
#   0.1 to 9.9 by float: 19 of 99
#   by a Decimal with 18 digits: 99 of 99
#   Decimal("0.3"): ValueError
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "pyiceberg[sql-sqlite,pyarrow]==0.12.0" "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo

prices = [Decimal(number).scaleb(-1) for number in range(1, 100)]
table = pa.table({"price": pa.array(prices, pa.decimal128(38, 18))})
catalog = SqlCatalog("here", uri="sqlite:///catalog.db", warehouse=Path.cwd().as_uri())
catalog.create_namespace("some")
orders = catalog.create_table("some.orders", schema=table.schema)
orders.append(table)


def found(row_filter):
    return orders.scan(row_filter=row_filter).to_arrow().num_rows


floats = sum(found(EqualTo("price", float(price))) for price in prices)
print(f"0.1 to 9.9 by float: {floats} of {len(prices)}")
digits = sum(found(EqualTo("price", price.quantize(Decimal("1e-18")))) for price in prices)
print(f"by a Decimal with 18 digits: {digits} of {len(prices)}")
try:
    found(EqualTo("price", Decimal("0.3")))
    exact = "no error"
except ValueError as error:
    exact = type(error).__name__
print(f'Decimal("0.3"): {exact}')
sys.exit(0 if (floats, digits, exact) == (19, 99, "ValueError") else "this has changed")
PYTHON
