"""The price that is drawn over a heatmap: what callers hand in, as times and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from . import _core
from ._inputs import instant
from .errors import BadQuery
from .rows import Rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Floats: TypeAlias = npt.NDArray[np.float64]
    Times: TypeAlias = npt.NDArray[np.datetime64]

    Price: TypeAlias = (
        pd.Series
        | pd.DataFrame
        | pl.DataFrame
        | pa.Table
        | pa.RecordBatch
        | Mapping[Any, Any]
        | Rows[Any]
        | Sequence[Mapping[str, Any]]
    )
    """A price over time: a Series, or bars with ``timestamp`` (time of the open) and ``close``."""

_PRICES = (
    "a Series or mapping by time, or bars of this coin with 'timestamp' and 'close' "
    "(dicts, a frame, an Arrow table or a mapping of columns)"
)
_BARS = ("timestamp", "closes_at", "close", "symbol")  # the columns that are read of bars


def points(symbol: str, price: Price, edges: Times | None) -> tuple[Times, Floats]:
    """Times and values of the price of a coin, in order of time; those between the edges of a map where it has any."""
    times, values = _points(symbol, price)
    if edges is not None:
        inside = (times >= edges[0]) & (times <= edges[-1])
        times, values = times[inside], values[inside]
    if not len(times):
        _refuse(f"none of it lies within the time of the {symbol} heatmap")
    if np.isnan(values).all():
        _refuse(f"all {len(values)} of its closes within the time of the {symbol} heatmap are missing (NaN)")
    order = np.argsort(times, kind="stable")
    return times[order], values[order]


def _refuse(what: str) -> NoReturn:
    message = f"price: {what}; allowed: {_PRICES}"
    raise BadQuery(message, parameter="price")


def _points(symbol: str, price: Any) -> tuple[Times, Floats]:
    """Tell the kinds of price apart; bars are drawn at their close, one spacing after their open where none is told."""
    columns = _columns(price)
    names = set(getattr(columns, "columns", columns if isinstance(columns, Mapping) else ()))
    if "close" not in names:
        if names and all(isinstance(name, str) for name in names):
            _refuse(f"it has columns {sorted(names)} and no 'close'")
        pairs = list(columns.items())
        return _paired((when for when, _ in pairs), [value for _, value in pairs])
    told = next((name for name in ("closes_at", "timestamp") if name in names), None)
    moments = getattr(columns, "index", None) if told is None else columns[told]
    if moments is None:
        _refuse("it has a 'close' and no 'timestamp'")
    times, closes = _paired(moments, columns["close"])
    if "symbol" in names:
        mine = _of_coin(symbol, list(columns["symbol"]), len(times))
        times, closes = times[mine], closes[mine]
    if len(times) > 1 and told != "closes_at":
        times = times + np.timedelta64(int(np.median(np.diff(np.sort(times)).astype(np.int64))), "ms")
    return times, closes


def _columns(price: Any) -> Any:
    """Give a price as a mapping by time or of columns, or as a frame that knows its index."""
    if isinstance(price, Rows | Sequence) and not isinstance(price, str | bytes):
        return _of_rows(price)
    if hasattr(price, "items"):
        return price
    if hasattr(price, "__arrow_c_stream__"):
        return _of_arrow(price)
    _refuse(f"a {type(price).__name__} names no times")


def _of_rows(rows: Rows[Any] | Sequence[Any]) -> dict[str, list[Any]]:
    """Give the columns of dicts that have the keys of the first; those that are not read are left empty."""
    columns: dict[str, list[Any]] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            _refuse(f"item {place} is {repr(row)[:80]}, which is no dict")
        if not place:
            columns = {name: [] for name in row}
        for name in _BARS:
            if name in row and name in columns:
                columns[name].append(row[name])
            elif name in row or name in columns:
                _refuse(f"rows 0 and {place} are not alike: only one has {name!r}")
    return columns


def _of_arrow(price: Any) -> dict[str, Any]:
    """Give the columns of a polars frame, or of whatever streams Arrow."""
    if type(price).__module__.partition(".")[0] == "polars" and hasattr(price, "columns"):
        return {name: price[name] for name in price.columns}
    import pyarrow as pa

    try:
        table = pa.table(price)
        return {name: _cells(table[name]) if name in _BARS else table[name] for name in table.column_names}
    except (TypeError, ValueError, KeyError) as error:
        _refuse(f"a {type(price).__name__} that is no table ({error})")


def _cells(column: pa.ChunkedArray) -> Any:
    """Give Arrow's cells as numpy, missing numbers as NaN; what repeats by its codes as a list."""
    import pyarrow as pa

    return column.to_pylist() if pa.types.is_dictionary(column.type) else column.to_numpy()


def _of_coin(symbol: str, symbols: list[Any], bars: int) -> npt.NDArray[np.bool_]:
    """Tell which bars are of this coin; some must be."""
    if len(symbols) != bars:
        _refuse(f"it has {bars} closes and {len(symbols)} symbols")
    coins = {name: _core.coin(str(name)) for name in set(symbols)}
    mine = np.asarray([coins[name] == symbol for name in symbols], dtype=bool)
    if bars and not mine.any():
        _refuse(f"it is of {sorted(set(map(str, symbols)))[:3]}, and the heatmap of {symbol!r}")
    return mine


def _paired(moments: Iterable[Any], closes: Any) -> tuple[Times, Floats]:
    """Read times and closes, as many of these as of those; a close that is missing is NaN."""
    times = _moments(moments)
    try:
        values = np.asarray(closes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        _refuse(f"a close is not a number ({error})")
    if values.shape != times.shape:
        _refuse(f"it has {len(times)} times and closes of the shape {values.shape}")
    if np.isinf(values).any():
        _refuse(f"the close at {times[np.isinf(values)][0]}Z is infinite")
    return times, values


def _moments(values: Iterable[Any]) -> Times:
    """Read instants given as epoch milliseconds, datetimes (naive ones are UTC), datetime64 or ISO text."""
    if getattr(getattr(values, "dtype", None), "kind", None) == "M":  # a whole column of datetimes
        times: Times = np.asarray(values, dtype="datetime64[ms]")
        if np.isnat(times).any():
            _refuse("a time is missing")
        return times
    return np.asarray([_moment(_whole(value)) for value in values], dtype="datetime64[ms]")


def _whole(value: Any) -> Any:
    """Give an integer back that became a float in a column that has had gaps."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _moment(value: Any) -> Any:
    millis = instant(value, "price")
    if millis is None:
        _refuse("a time is missing")
    return np.datetime64(millis, "ms")
