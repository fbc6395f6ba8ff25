#!/usr/bin/env bash
# Dask adds up a column of `decimal.Decimal` objects by putting their texts together, without an error.
#
# Seen with dask 2026.8.0 and pandas 3.1.1 on CPython 3.11.7, 2026-11-29. A pandas column of exact amounts has the dtype
# `object`. pandas adds it up exactly. `dask.dataframe` converts object columns to text (`dataframe.convert-string`), and the sum
# of a text column is its concatenation. Amounts for Dask need `decimal128[pyarrow]`, or floats.
#
# Output seen:
#   pandas: Decimal('4.0')
#   Dask: '1.52.5'
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "dask[dataframe]==2026.8.0" "pandas==3.1.1" "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
from decimal import Decimal

import dask.dataframe as dd
import pandas as pd

frame = pd.DataFrame({"usd": [Decimal("1.5"), Decimal("2.5")]})
exact = frame["usd"].sum()
print(f"pandas: {exact!r}")
found = dd.from_pandas(frame, npartitions=2)["usd"].sum().compute()
print(f"Dask: {found!r}")
sys.exit(0 if (exact, found) == (Decimal("4.0"), "1.52.5") else "this has changed")
PYTHON
