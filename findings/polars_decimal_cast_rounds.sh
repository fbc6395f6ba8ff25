#!/usr/bin/env bash
# A strict cast of polars to a decimal type with fewer digits after the point rounds, where pyarrow refuses.
#
# Seen with polars 2.1.0 and pyarrow 26.0.1 on CPython 3.11.7, 2026-11-29. `strict=True` is documented to raise for values that
# do not fit. Digits before the point do; digits after the point are rounded away without a word. Prices of small coins have
# ten and more of them, so two columns of different scales must not be cast to the smaller one.
#
# Output seen:
#   polars: 0.0000 and an error for 12345678.5
#   pyarrow: ArrowInvalid
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "polars==2.1.0" "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
from decimal import Decimal

import polars as pl
import pyarrow as pa

prices = pl.Series([Decimal("0.0000112345")], dtype=pl.Decimal(38, 10))
cast = prices.cast(pl.Decimal(10, 4), strict=True)[0]
try:
    pl.Series([Decimal("12345678.5")], dtype=pl.Decimal(38, 10)).cast(pl.Decimal(10, 4), strict=True)
    large = "no error"
except pl.exceptions.PolarsError:
    large = "an error"
print(f"polars: {cast} and {large} for 12345678.5")
try:
    pa.array([Decimal("0.0000112345")], pa.decimal128(38, 10)).cast(pa.decimal128(10, 4))
    arrow = "no error"
except pa.ArrowInvalid as error:
    arrow = type(error).__name__
print(f"pyarrow: {arrow}")
sys.exit(0 if (str(cast), large, arrow) == ("0.0000", "an error", "ArrowInvalid") else "this has changed")
PYTHON
