# /// script
# requires-python = ">=3.11"
# dependencies = ["xarray==2026.9.0", "zarr==3.1.6", "netcdf4==1.7.5.1.post1", "pandas==3.1.1"]
# ///
"""Heatmaps are written to netCDF, and appended to a Zarr store; both give the times back."""

import tempfile

import numpy as np
import xarray as xr
from common import line

import liqdata

market = liqdata.demo(seed=7)
with tempfile.TemporaryDirectory() as folder:
    heatmap = market.heatmap("BTC", "12h").to_xarray()
    heatmap.to_netcdf(f"{folder}/heatmap.nc")
    with xr.open_dataarray(f"{folder}/heatmap.nc") as read:
        assert np.array_equal(read.to_numpy(), heatmap.to_numpy())
        assert np.array_equal(read["time"].to_numpy(), heatmap["time"].to_numpy())
    maps = [market.heatmap("BTC", "12h", as_of=at) for at in ("2026-05-31T11:59:30Z", "2026-06-01T00:00Z")]
    for place, map in enumerate(maps):
        data = map.to_xarray().to_dataset().isel(price=slice(100)).assign_coords(price=np.arange(100.0))
        data.to_zarr(f"{folder}/store", consolidated=False, append_dim="time" if place else None)
    found = xr.open_zarr(f"{folder}/store", consolidated=False)["time"].to_numpy()
    assert np.array_equal(found, np.concatenate([map.times for map in maps]))
line("xarray", "netCDF files give back amounts and times", "`heatmap.to_xarray()`", "xarray")
line("zarr", "heatmaps are appended and read back at their times", '`to_zarr(store, append_dim="time")`', "zarr")
