"""The files of a partition: Parquet with a row per bin, or a Zarr group."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from liqdata.calls.arguments import millis_of
from liqdata.results.grid import instants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from liqdata.results.map import LiquidationMap

__all__ = ["PARQUET_MARKER", "ZARR_MARKER", "marked", "parquet_files", "zarr_files", "zarr_groups"]

PARQUET_MARKER = "_complete.json"
"""Name of the file that marks a complete partition; other programs skip names that begin with an underscore."""

ZARR_MARKER = "zarr.json"
"""Name of the metadata of a group, which is written last."""


def marked(data: bytes) -> dict[str, Any]:
    """The mark in such a file."""
    found = json.loads(data)
    mark: dict[str, Any] = found.get("attributes", {"liqdata": found}).get("liqdata", {})
    return mark


def parquet_files(maps: list[tuple[int, LiquidationMap]], mark: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """One file, or none for a partition without maps, and the marker."""
    yield PARQUET_MARKER, json.dumps(mark).encode()
    if not maps:
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    leverages = sorted({int(one) for _, map in maps for one in map.leverages})
    counts = [len(map.prices) for _, map in maps]
    utc = pa.timestamp("ms", tz="UTC")

    def each(values: list[Any], kind: Any) -> Any:
        return pa.array(np.repeat(np.array(values), counts), kind)

    columns = {
        "as_of": each([at for at, _ in maps], utc),
        "updated_at": each([millis_of(map.updated_at) for _, map in maps], utc),
        "current_price": each([map.current_price for _, map in maps], pa.float64()),
        "bin_width": each([map.bin_width for _, map in maps], pa.float64()),
        "price": np.concatenate([map.prices for _, map in maps]),
        "side": pa.array(np.char.upper(np.concatenate([map.sides for _, map in maps])), pa.string()),
        **{str(leverage): np.concatenate([_tier(map, leverage) for _, map in maps]) for leverage in leverages},
        "total": np.concatenate([map.total for _, map in maps]),
    }
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    yield "maps.parquet", file.getvalue()


def _tier(map: LiquidationMap, leverage: int) -> Any:
    """USD of a leverage in each bin; 0 if the map does not have it."""
    where = np.flatnonzero(map.leverages == leverage)
    return map.tiers[:, where[0]] if len(where) else np.zeros(len(map.prices))


def zarr_groups(coins: list[str]) -> Iterator[tuple[str, bytes]]:
    """The groups above those of the partitions."""
    group = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}).encode()
    yield "zarr.json", group
    for coin in coins:
        yield f"symbol={coin}/zarr.json", group


def zarr_files(maps: list[tuple[int, LiquidationMap]], mark: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The keys of a group, the marker among them."""
    import xarray as xr
    from zarr.storage import MemoryStore

    bins = max((len(map.prices) for _, map in maps), default=0)
    leverages = sorted({int(one) for _, map in maps for one in map.leverages})
    shape = (len(maps), bins)
    tiers = np.full((*shape, len(leverages)), np.nan)
    price, total, is_short = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    for row, (_, map) in enumerate(maps):
        size = len(map.prices)
        price[row, :size], total[row, :size] = map.prices, map.total
        is_short[row, :size] = map.sides == "short"
        for column, leverage in enumerate(leverages):
            tiers[row, :size, column] = _tier(map, leverage)
    cells = ("as_of", "bin")
    updated = np.array([millis_of(map.updated_at) for _, map in maps], dtype="datetime64[ms]")
    dataset = xr.Dataset(
        {"tiers": ((*cells, "leverage"), tiers), "total": (cells, total)},
        coords={
            "as_of": instants(np.array([at for at, _ in maps], dtype="datetime64[ms]"), "as_of"),
            "leverage": np.array(leverages, dtype=np.int64),
            "price": (cells, price),
            "is_short": (cells, is_short),
            "updated_at": instants(updated, "as_of"),
            "current_price": ("as_of", np.array([map.current_price for _, map in maps])),
            "bin_width": ("as_of", np.array([map.bin_width for _, map in maps])),
        },
        attrs={"tz": "UTC", "units": maps[0][1].units if maps else "usd", "liqdata": mark},
    )
    keys: dict[str, Any] = {}
    dataset.to_zarr(MemoryStore(keys), consolidated=False, zarr_format=3)
    for name, data in keys.items():
        yield name, data.to_bytes()
