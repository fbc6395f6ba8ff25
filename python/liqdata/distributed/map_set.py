"""A data set of liquidation maps of many coins and instants."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata import _core
from liqdata.calls.arguments import datetime_of, instant, many, millis_of
from liqdata.calls.arguments import symbols as names_of
from liqdata.calls.traceback import public_call
from liqdata.endpoints.requests import liqmap
from liqdata.errors import BadQuery, Refused

from .files import PARQUET_MARKER, ZARR_MARKER, marked, parquet_files, zarr_files, zarr_groups
from .store import Store, checked_place
from .tasks import archive_path, checked_client, new_run, run_all, worker_market

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from liqdata.market import Market
    from liqdata.model import Model
    from liqdata.results.map import LiquidationMap
    from liqdata.types import Instant, MapRange, ModelNumber, Opened, Span

__all__ = ["WrittenMaps", "maps"]

_BATCH = 64  # maps of one call of the market


@dataclass(frozen=True)
class WrittenMaps:
    """The result of :func:`maps`.

    Attributes
    ----------
    out : str
        The folder or address of the data set.
    partitions : int
        Number of partitions of the request: one for each coin and UTC month.
    written : int
        Number of partitions that this call wrote; the others were complete already.
    maps : int
        Number of maps in all partitions.
    missing : int
        Number of pairs of coin and instant without a map, because there was too little data at the instant.

    Examples
    --------
    >>> from liqdata.distributed import WrittenMaps
    >>> WrittenMaps("/data/maps", partitions=2, written=1, maps=48, missing=0).written
    1
    """

    out: str
    partitions: int
    written: int
    maps: int
    missing: int


class _Partition(NamedTuple):
    """The maps of a coin in a month."""

    symbol: str
    month: str
    instants: list[int]

    @property
    def folder(self) -> str:
        return f"symbol={self.symbol}/month={self.month}"


@public_call
def maps(
    path: str | os.PathLike[str],
    symbols: str | Sequence[str],
    instants: Iterable[Instant],
    *,
    out: str | os.PathLike[str],
    client: object = None,
    range: MapRange = "7d",
    model: ModelNumber | Model | None = None,
    bin: float | None = None,
    span: Span | tuple[float, float] = "reach",
    opened: Opened | None = None,
    exchange: str | None = None,
) -> WrittenMaps:
    """Write the liquidation maps of many coins and instants as a data set of Parquet or Zarr.

    The maps are those of :meth:`liqdata.Market.liqmap` with ``as_of``, to the last bit. A partition has one coin and
    one UTC month, and is written as a whole. The same call again computes only partitions that are missing.

    Parameters
    ----------
    path : str or path-like
        The archive: a folder that all workers reach under this path, or an address such as ``"s3://bucket/prefix"``.
    symbols : str or sequence of str
        Coins, such as ``["BTC", "ETH"]``.
    instants : iterable of int, datetime or str
        The instants of the maps, none later than the newest data of the archive.
    out : str or path-like
        The folder or address of the data set, for this data set only. A name that ends in ``.zarr`` is a Zarr store
        (needs xarray and zarr), any other one a folder of Parquet files (needs pyarrow).
    client : distributed.Client, optional
        Compute on this Dask cluster; in this process by default.
    range, model, bin, span, opened, exchange
        As for :meth:`liqdata.Client.liqmap`.

    Returns
    -------
    WrittenMaps
        The number of partitions, of those written by this call, and of maps.

    Raises
    ------
    BadQuery
        For a wrong parameter, a coin without bars in the archive, and an instant after its newest data.
    ArchiveError
        If the archive cannot be read, or the data set cannot be written. Complete partitions remain.

    Notes
    -----
    Parquet has a file ``symbol=BTC/month=2026-11/maps.parquet`` with one row per bin: ``as_of``, ``updated_at``
    (UTC, ms), ``current_price``, ``bin_width``, ``price``, ``side`` (LONG or SHORT), USD of each leverage (such as
    ``"10"``), and ``total``, all float64 but for times and side. Zarr has a group of the same name with the dimensions
    ``as_of``, ``bin`` and ``leverage``; bins that a map does not have are NaN.

    A partition is computed again if its instants or the parameters change, or with another version of liqdata, not if
    the archive has changed: delete the data set after an undone ingest.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata.distributed import maps
    >>> def nightly(client):  # a distributed.Client
    ...     hours = [f"2026-11-{day:02}T00:00Z" for day in range(1, 31)]
    ...     return maps("s3://bucket/archive", ["BTC", "ETH"], hours, client=client, out="s3://bucket/maps")
    """
    place, archive = checked_place(out), archive_path(path)
    runner = checked_client(client)
    wanted = {
        "range": range,
        "model": model,
        "bin": bin,
        "span": span,
        "opened": opened,
        "exchange": exchange,
    }
    coins = list(dict.fromkeys(_coin(one, wanted) for one in names_of(symbols)))
    partitions = list(_partitions(coins, _instants(instants)))
    if not coins:
        msg = f"symbols: {symbols!r} names no coin; allowed: a coin, such as BTC, or several"
        raise BadQuery(msg, parameter="symbols")
    if place.endswith(".zarr"):
        Store(place).write(zarr_groups(coins))
    run = new_run()
    done = run_all(runner, _write, [(archive, run, place, partition, wanted) for partition in partitions])
    return WrittenMaps(
        out=place,
        partitions=len(partitions),
        written=sum(is_new for is_new, *_ in done),
        maps=sum(count for _, count, _ in done),
        missing=sum(missing for *_, missing in done),
    )


def _coin(symbol: str, wanted: dict[str, Any]) -> str:
    # Check the parameters before the first task.
    liqmap({**wanted, "symbol": symbol, "source": None, "as_of": None, "explain": False}).question()
    return _core.coin(symbol)


def _instants(instants: Any) -> list[int]:
    given = many(instants)
    if not given:
        msg = f"instants: {instants!r} is not allowed; allowed: one or several instants in a sequence"
        raise BadQuery(msg, parameter="instants")
    found = {instant(one, "instants") for one in given}
    if None in found:
        msg = "instants: None is given among the instants; allowed: only instants"
        raise BadQuery(msg, parameter="instants")
    return sorted(one for one in found if one is not None)


def _partitions(coins: list[str], instants: list[int]) -> Iterator[_Partition]:
    months: dict[str, list[int]] = {}
    for at in instants:
        months.setdefault(f"{datetime_of(at):%Y-%m}", []).append(at)
    for month, some in months.items():
        for coin in coins:
            yield _Partition(coin, month, some)


def _write(path: str, run: str, place: str, partition: _Partition, wanted: dict[str, Any]) -> tuple[bool, int, int]:
    """Write a partition unless it is complete; return whether it was written, and its number of maps and gaps."""
    store = Store(place)
    is_zarr = place.endswith(".zarr")
    marker = f"{partition.folder}/{ZARR_MARKER if is_zarr else PARQUET_MARKER}"
    query = {**wanted, "model": getattr(wanted["model"], "version", wanted["model"])}
    digest = hashlib.sha256(repr((_core.__version__, partition, query)).encode()).hexdigest()
    before = store.read(marker)
    known = {} if before is None else marked(before)
    if known.get("digest") == digest:
        return False, known["maps"], known["missing"]
    found = _computed(worker_market(path, run), partition, wanted)
    if before is not None:
        store.delete(marker)
    count, missing = len(found), len(partition.instants) - len(found)
    mark = {"digest": digest, "maps": count, "missing": missing}
    files = dict(zarr_files(found, mark) if is_zarr else parquet_files(found, mark))
    last = files.pop(marker.rpartition("/")[2])
    store.write((f"{partition.folder}/{name}", data) for name, data in files.items())
    store.write([(marker, last)])
    return True, count, missing


def _computed(market: Market, partition: _Partition, wanted: dict[str, Any]) -> list[tuple[int, LiquidationMap]]:
    if partition.instants[-1] > millis_of(market.now):
        latest = f"{market.now:%Y-%m-%dT%H:%M:%SZ}"
        msg = (
            f"instants: {datetime_of(partition.instants[-1]):%Y-%m-%dT%H:%M:%SZ} is later than the newest data of the "
            f"archive; allowed: at most {latest}"
        )
        raise BadQuery(msg, parameter="instants")
    if partition.symbol not in market.symbols:
        msg = (
            f"symbols: {partition.symbol!r} has no bars in the archive; allowed: one or several of "
            f"{', '.join(market.symbols)}"
        )
        raise BadQuery(msg, parameter="symbols")
    found: list[tuple[int, LiquidationMap]] = []
    for start in range(0, len(partition.instants), _BATCH):
        some = partition.instants[start : start + _BATCH]
        times = [datetime_of(at) for at in some]
        try:
            found += zip(some, market.liqmap(partition.symbol, as_of=times, **wanted), strict=True)
        except (Refused, BadQuery):
            found += [(at, one) for at in some if (one := _single(market, partition.symbol, at, wanted)) is not None]
    return found


def _single(market: Market, symbol: str, at: int, wanted: dict[str, Any]) -> LiquidationMap | None:
    """The map at an instant; ``None`` if there was too little data."""
    try:
        found: LiquidationMap = market.liqmap(symbol, as_of=datetime_of(at), **wanted)
    except Refused:
        return None
    except BadQuery as error:
        if error.parameter == "as_of":  # before the first observation
            return None
        raise
    return found
