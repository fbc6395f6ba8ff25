#!/usr/bin/env bash
# pyarrow's cast of decimals to doubles is not the nearest double: 0.3 becomes 0.30000000000000004.
#
# Seen with pyarrow 26.0.1 on CPython 3.11.7, 2026-11-30. The unscaled integer is multiplied by a power of ten that is itself rounded,
# so a third of all prices with one digit after the point is off by a place. `float(Decimal("0.3"))` and a parsed "0.3" are the
# nearest double, so a price that came as a decimal is not equal to the same price that came as a number, and a join or a lookup by
# price misses. The way by text (`cast(pa.string()).cast(pa.float64())`) is right.
#
# Output seen:
#   0.3: 0.30000000000000004
#   0.1 to 99.9 as decimal128(38, 1): 352 of 999 are not float(value)
#   by way of text: 0
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "pyarrow==26.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
from decimal import Decimal

import pyarrow as pa

values = [Decimal(number).scaleb(-1) for number in range(1, 1000)]
exact = pa.array(values, pa.decimal128(38, 1))


def off(doubles):
    return sum(float(value) != double for value, double in zip(values, doubles.to_pylist(), strict=True))


first = exact.cast(pa.float64())[2].as_py()
print("0.3:", first)
cast = off(exact.cast(pa.float64()))
print(f"0.1 to 99.9 as decimal128(38, 1): {cast} of {len(values)} are not float(value)")
text = off(exact.cast(pa.string()).cast(pa.float64()))
print("by way of text:", text)
sys.exit(0 if (first, cast, text) == (0.30000000000000004, 352, 0) else "this has changed")
PYTHON
