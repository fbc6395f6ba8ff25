#!/usr/bin/env bash
# xarray appends times to a Zarr store in another unit than the store has, and they are read back months away.
#
# Seen with xarray 2026.9.0 and zarr 3.1.6 on CPython 3.11.7, 2026-11-30. Times are stored as whole numbers in a unit that is chosen from
# the first data set: "hours since" for full hours. Later times that are no full hours are encoded in a smaller unit, with a
# warning that only speaks of serializing them, and are written beside the old numbers under the old unit: 60.5 minutes become
# 3630 hours. A unit has to be set with the first write, in `encoding={"time": {"units": "milliseconds since 1970-01-01"}}`.
#
# Output seen:
#   appended: 2026-05-31T12:00:30
#   read: 2026-10-29T17:00:00
#   with a unit of its own: 2026-05-31T12:00:30
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "xarray==2026.9.0" "zarr==3.1.6" "pandas==3.1.1"
cd "$work"
venv/bin/python -W ignore - <<'PYTHON'
import sys

import numpy as np
import xarray as xr


def data(*times):
    return xr.Dataset({"usd": ("time", np.ones(len(times)))}, coords={"time": np.array(times, "datetime64[ns]")})


def last(store, encoding):
    data("2026-05-31T11:00", "2026-05-31T12:00").to_zarr(store, consolidated=False, encoding=encoding)
    data("2026-05-31T12:00:30").to_zarr(store, consolidated=False, append_dim="time")
    return str(xr.open_zarr(store, consolidated=False)["time"].values[-1].astype("datetime64[s]"))


plain = last("plain", None)
named = last("named", {"time": {"units": "milliseconds since 1970-01-01", "dtype": "int64"}})
print("appended: 2026-05-31T12:00:30")
print("read:", plain)
print("with a unit of its own:", named)
sys.exit(0 if (plain, named) == ("2026-10-29T17:00:00", "2026-05-31T12:00:30") else "this has changed")
PYTHON
