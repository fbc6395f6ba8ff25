"""Prices to draw in a picture, converted from tables and series of the caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, cast

import numpy as np

from liqdata import _core
from liqdata.calls.arguments import instant
from liqdata.errors import BadQuery
from liqdata.ingestion.tables import OHLCV, is_ohlcv

from .import_order import pandas_first

if TYPE_CHECKING:
    from typing import Protocol

    import numpy.typing as npt
    import pyarrow as pa

    from liqdata.results.rows import Rows

    Floats: TypeAlias = npt.NDArray[np.float64]
    Times: TypeAlias = npt.NDArray[np.datetime64]

    # Protocols, so that type checkers need no frame library with types.
    class ArrowStream(Protocol):
        """A frame or table that exports the Arrow C stream."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    class Items(Protocol):
        """A pandas Series or frame."""

        def items(self) -> Iterable[tuple[Any, Any]]:
            """Labels and values."""
            ...

    Price: TypeAlias = (
        ArrowStream | Items | Mapping[Any, Any] | Rows[Any] | Sequence[Mapping[str, Any]] | Sequence[Sequence[float]]
    )
    """A price over time: a Series, bars with ``timestamp`` (time of the open) and ``close``, or candles of ccxt."""

_PRICES = (
    "a Series or mapping by time, or bars of this coin with 'timestamp' and 'close' "
    "(dicts, a frame, an Arrow table or a mapping of columns), or candles of ccxt"
)
_BARS = ("timestamp", "closes_at", "open", "high", "low", "close", "symbol")  # all columns of bars that this file reads
_MINUTE = 60_000
_NICE = tuple(_MINUTE * minutes for minutes in (1, 5, 15, 30, 60, 120, 240, 360, 720, 1440, 7 * 1440))


class Course(NamedTuple):
    """A price over time: closes sorted by time, and optionally the other prices of their bars."""

    times: Times
    closes: Floats
    bars: tuple[Floats, Floats, Floats] | None = None
    """Open, high and low of each bar."""
    span: int | None = None
    """Length of a bar in milliseconds."""

    def coarser(self, most: int) -> Course:
        """Resample to about ``most`` closes or fewer, and merge bars to the longer periods."""
        if len(self.times) <= max(most, 1):
            return self
        whole = int((self.times[-1] - self.times[0]).astype(np.int64))
        span = self.span or 1
        least = max(1, -(-whole // most))
        period = next((nice for nice in _NICE if nice >= least and not nice % span), -(-least // span) * span)
        # A close at the boundary of two periods belongs to the period that it ends.
        places = -(-self.times.astype("datetime64[ms]").astype(np.int64) // period)
        starts = np.flatnonzero(np.concatenate(([True], np.diff(places) > 0)))
        there = ~np.isnan(self.closes)
        marked = np.where(there, np.arange(len(places)), -1)
        last = np.maximum.reduceat(marked, starts)
        closes = np.where(last >= 0, self.closes[last], np.nan)
        times = (places[starts] * period).astype("datetime64[ms]")
        if self.bars is None:
            return Course(times, closes, None, period)
        opens, highs, lows = self.bars
        firsts = np.minimum.reduceat(np.where(there, np.arange(len(places)), len(places) - 1), starts)
        return Course(
            times, closes, (opens[firsts], np.fmax.reduceat(highs, starts), np.fmin.reduceat(lows, starts)), period
        )


def course(symbol: str, price: Price, edges: Times | None, what: str = "heatmap") -> Course:
    """Read the price of a coin, sorted by time, within the first and the last of ``edges``."""
    found = _course(symbol, price, what)
    times, closes = found.times, found.closes
    inside = np.ones(len(times), dtype=bool) if edges is None else (times >= edges[0]) & (times <= edges[-1])
    if not inside.any():
        _refuse(f"none of its times is within the time of the {symbol} {what}")
    if np.isnan(closes[inside]).all():
        _refuse(f"all {int(inside.sum())} of its closes within the time of the {symbol} {what} are missing (NaN)")
    order = np.flatnonzero(inside)[np.argsort(times[inside], kind="stable")]
    bars = None if found.bars is None else (found.bars[0][order], found.bars[1][order], found.bars[2][order])
    return Course(times[order], closes[order], bars, found.span)


def _refuse(what: str) -> NoReturn:
    message = f"price: {what}; allowed: {_PRICES}"
    raise BadQuery(message, parameter="price")


def _course(symbol: str, price: Any, what: str) -> Course:
    """Read any kind of price.

    Without ``closes_at``, a bar closes after the usual distance between two opens.
    """
    columns = _columns(price)
    names = set(getattr(columns, "columns", columns if isinstance(columns, Mapping) else ()))
    if "close" not in names:
        if names and all(isinstance(name, str) for name in names):
            _refuse(f"it has columns {sorted(names)} and no 'close'")
        pairs = list(columns.items())
        return Course(*_paired((when for when, _ in pairs), [value for _, value in pairs]))
    column = next((name for name in ("closes_at", "timestamp") if name in names), None)
    moments = getattr(columns, "index", None) if column is None else columns[column]
    if moments is None:
        _refuse("it has a 'close' and no 'timestamp'")
    times, closes = _paired(moments, columns["close"])
    bars = None
    if {"open", "high", "low"} <= names:
        bars = tuple(_values(times, columns[name], name) for name in ("open", "high", "low"))
    if "symbol" in names:
        mine = _of_coin(symbol, list(columns["symbol"]), len(times), what)
        times, closes = times[mine], closes[mine]
        bars = None if bars is None else tuple(values[mine] for values in bars)
    span = None
    if len(times) > 1:
        span = int(np.median(np.diff(np.sort(times)).astype(np.int64)))
        times = times if column == "closes_at" else times + np.timedelta64(span, "ms")
    return Course(times, closes, cast("tuple[Floats, Floats, Floats] | None", bars), span or None)


def _columns(price: Any) -> Any:
    """Convert a price to a mapping by time, a mapping of columns, or a frame with an index."""
    if getattr(price, "_picture", None) == "rows":  # not tested by class, because the module of Rows imports this one
        return {name: price[name] for name in price.columns if name in _BARS}
    if is_ohlcv(price):
        return _of_candles(price)
    if isinstance(price, Sequence) and not isinstance(price, str | bytes):
        return _of_rows(price)
    if hasattr(price, "items"):
        return price
    if hasattr(price, "__arrow_c_stream__"):
        return _of_arrow(price)
    _refuse(f"a {type(price).__name__} has no times")


def _of_candles(candles: Any) -> dict[str, list[Any]]:
    """The columns of candles of ccxt: lists of a time, four prices and a volume."""
    for place, candle in enumerate(candles):
        if len(candle) != len(OHLCV):
            _refuse(f"candle {place} has {len(candle)} cells instead of {len(OHLCV)}")
    return {name: [candle[place] for candle in candles] for place, name in enumerate(OHLCV[:-1])}


def _of_rows(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """The columns in :data:`_BARS` of a list of dicts with equal keys."""
    columns: dict[str, list[Any]] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            _refuse(f"item {place} is {repr(row)[:80]}, which is not a dict")
        if not place:
            columns = {name: [] for name in row}
        for name in _BARS:
            if name in row and name in columns:
                columns[name].append(row[name])
            elif name in row or name in columns:
                _refuse(f"rows 0 and {place} differ: only one has {name!r}")
    return columns


def _of_arrow(price: Any) -> dict[str, Any]:
    """The columns of a polars frame or an Arrow stream."""
    if type(price).__module__.partition(".")[0] == "polars" and hasattr(price, "columns"):
        return {name: price[name] for name in price.columns}
    import pyarrow as pa

    pandas_first()
    try:
        table = pa.table(price)
        return {name: _cells(table[name]) if name in _BARS else table[name] for name in table.column_names}
    except (TypeError, ValueError, KeyError) as error:
        _refuse(f"a {type(price).__name__} that is not a table ({error})")


def _cells(column: pa.ChunkedArray) -> Any:
    """Convert an Arrow column to numpy, with NaN for missing numbers, or a dictionary column to a list."""
    import pyarrow as pa

    return column.to_pylist() if pa.types.is_dictionary(column.type) else column.to_numpy()


def _of_coin(symbol: str, symbols: list[Any], bars: int, what: str) -> npt.NDArray[np.bool_]:
    """Which bars belong to this coin; refused if there is none."""
    if len(symbols) != bars:
        _refuse(f"it has {bars} closes and {len(symbols)} symbols")
    coins = {name: _core.coin(str(name)) for name in set(symbols)}
    mine = np.asarray([coins[name] == symbol for name in symbols], dtype=bool)
    if bars and not mine.any():
        _refuse(f"it is for {sorted(set(map(str, symbols)))[:3]}, but the {what} is for {symbol!r}")
    return mine


def _paired(moments: Iterable[Any], closes: Any) -> tuple[Times, Floats]:
    """Read times and closes, and check that there are equally many; missing closes are NaN."""
    times = _moments(moments)
    return times, _values(times, closes, "close")


def _values(times: Times, cells: Any, name: str) -> Floats:
    """Read a column with one price per time."""
    try:
        values = np.asarray(_unmasked(cells), dtype=np.float64)
    except (TypeError, ValueError) as error:
        _refuse(f"a {name} is not a number ({error})")
    if values.shape != times.shape:
        _refuse(f"it has {len(times)} times and {name}s of the shape {values.shape}")
    if np.isinf(values).any():
        _refuse(f"the {name} at {times[np.isinf(values)][0]}Z is infinite")
    return values


def _unmasked(cells: Any) -> Any:
    """Replace masked cells and pandas' NA by NaN."""
    if isinstance(cells, np.ma.MaskedArray):
        return np.ma.filled(cells.astype(np.float64), np.nan)
    if isinstance(cells, list | tuple) or getattr(getattr(cells, "dtype", None), "kind", None) == "O":
        return [np.nan if _is_hidden(cell) else cell for cell in cells]
    return cells


def _is_hidden(cell: Any) -> bool:
    return cell is np.ma.masked or type(cell).__name__ == "NAType"


def _moments(values: Iterable[Any]) -> Times:
    """Read instants given as epoch milliseconds, datetimes (naive ones are UTC), datetime64 or ISO text."""
    hidden = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(1, dtype=bool)
    if hidden.any():
        _refuse(f"a time is missing, in row {int(hidden.argmax())}")
    if getattr(getattr(values, "dtype", None), "kind", None) == "M":  # a whole column of datetimes
        times: Times = np.asarray(values, dtype="datetime64[ms]")
        if np.isnat(times).any():
            _refuse("a time is missing")
        return times
    return np.asarray([_moment(_whole(value)) for value in values], dtype="datetime64[ms]")


def _whole(value: Any) -> Any:
    """Convert a float without a fraction to an integer; columns with gaps store integers as floats."""
    if _is_hidden(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _moment(value: Any) -> Any:
    millis = instant(value, "price")
    if millis is None:
        _refuse("a time is missing")
    return np.datetime64(millis, "ms")
