"""Converts tables of the caller to types that the Rust core reads.

Refusals say how to convert the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from liqdata import _core
from liqdata.calls.arguments import SINGLE
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol, TypeGuard

    class _Matrix(Protocol):
        """An array with two dimensions."""

        shape: tuple[int, int]

        def tolist(self) -> list[list[Any]]: ...


_TABLES = "a DataFrame, an Arrow table, or a mapping of columns of one length, or a list of dicts"
_ROWS_AND_COLUMNS = 2
OHLCV = ("timestamp", "open", "high", "low", "close", "volume")

# Classes that are not accepted as tables, by library and name, and how to make a table from each.
_RECIPES = {
    ("xarray", "Dataset"): "its to_dataframe().reset_index()",
    ("xarray", "DataArray"): "its to_dataframe(name=...).reset_index()",
    ("pandas", "Series"): "a DataFrame with every column, such as the one it was taken from",
    ("polars", "Series"): "a DataFrame with every column, such as the one it was taken from",
    ("dask", "DataFrame"): "its compute()",
    ("pyspark", "DataFrame"): "its toArrow()",
}
# Keys by which rows of ccxt are recognised.
_CCXT = {
    "orders": {"baseValue", "quoteValue", "contracts"},
    "open_interest": {"openInterestAmount", "openInterestValue"},
}
_TRADES = {"takerOrMaker", "fee"}
# How to write rows of ccxt so that they are accepted.
_NAMED = {
    "orders": """\
rows that name what ccxt leaves open: {'exchange': 'binance', 'symbol': row['symbol'], 'side': the position's, 'LONG' \
or 'SHORT' (ccxt has the order's of some exchanges and the position's of others), 'price': row['price'], 'qty': size \
/ row['price'] if market['inverse'] else size, 'value_usd': size if market['inverse'] else size * row['price'], \
'timestamp': row['timestamp']}, where market = exchange.market(row['symbol']) and size = row['contracts'] * \
market['contractSize'] (the row's contractSize, baseValue and quoteValue are missing or wrong for most exchanges; \
watch_liquidations of Binance has only the last fill in contracts: take float(row['info']['z']))""",
    "open_interest": """\
rows such as {'symbol': 'BTC', 'exchange': 'binance', 'timestamp': row['timestamp'], 'open_interest': \
row['openInterestAmount']} where that is in base units, or 'open_interest_usd': row['openInterestValue']""",
}


def table(value: Any, name: str) -> Any:
    """Convert a table to a type that the Rust core reads.

    The result is ``None``, a dict of columns, an Arrow stream, or the native table of ``Rows``.
    """
    own = getattr(value, "_table", value)  # Rows are passed on as native tables, with exact decimals
    if value is None or isinstance(own, _core.Table):
        return own
    if _is_empty(value):
        return None  # an empty list means no table
    _refuse_frames(value, name)
    columns = _columns(value, name)
    if columns is not None:
        return {
            str(column): _sound(_column(_instants(cells)), name, f"column {str(column)!r}")
            for column, cells in columns.items()
        }
    if _kind(value) == ("polars", "LazyFrame"):
        value = value.collect()  # the table is read into memory anyway
    if _kind(value) == ("polars", "DataFrame"):
        value = _without_nulls(value)
    if hasattr(value, "__arrow_c_stream__"):
        return _sound(value, name, "the table")
    if hasattr(value, "fetch_arrow_table"):
        return _sound(value.fetch_arrow_table(), name, "the table")
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        allowed = f"{_TABLES}; read a file first, such as by polars.read_parquet(path)"
        _refuse(name, f"a {type(value).__name__} is not a table", allowed)
    allowed = "a list of what it gives" if isinstance(value, Iterator) else _TABLES
    return _refuse(name, f"a {type(value).__name__} is not a table", allowed)


def rates(given: Mapping[str, object] | None) -> dict[str, Any] | None:
    """Convert rates of quote currencies (USD per unit) to types that the Rust core reads: numbers, or tables."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        what = f"a {type(given).__name__} is not a mapping of quote currencies"
        _refuse("quote_rates", what, 'USD per unit, such as {"EUR": 1.08}, or a table of timestamp and rate for each')
    made: dict[str, Any] = {}
    for quote, rate in given.items():
        is_number = isinstance(rate, int | float | str | Decimal) or not hasattr(rate, "__len__")
        made[str(quote)] = rate if is_number else table(rate, "quote_rates")
    return made


def sizes(given: object) -> Any:
    """Convert sizes of contracts to types that the Rust core reads: a number, or a table."""
    is_number = given is None or isinstance(given, int | float | str | Decimal) or not hasattr(given, "__len__")
    return given if is_number else table(given, "contract_size")


def _without_nulls(frame: Any) -> Any:
    """Cast columns without any value to text, because polars cannot export its type Null."""
    import polars as pl

    empty = [name for name, kind in frame.schema.items() if kind == pl.Null]
    return frame.with_columns([frame[name].cast(pl.String) for name in empty]) if empty else frame


def _refuse_frames(value: object, name: str) -> None:
    """Refuse a mapping from coins to frames.

    The message says how to write it as one table.
    """
    if isinstance(value, Mapping):
        for coin, frame in value.items():
            if hasattr(frame, "columns") or hasattr(frame, "column_names"):
                allowed = f"one table with a column 'symbol', such as frame.assign(symbol={coin!r}) of pandas"
                _refuse(name, f"{coin!r} is a {type(frame).__name__}", allowed)


def _is_empty(value: object) -> bool:
    return isinstance(value, list | tuple) and not value


def _columns(value: Any, name: str) -> Mapping[Any, Any] | None:
    """The columns of a mapping, a pandas frame or a list of rows; ``None`` for anything else."""
    kind = _kind(value)
    if kind in _RECIPES:
        what = "one column of a table" if kind[1] == "Series" else "not a table"
        _refuse(name, f"a {kind[1]} is {what}", _RECIPES[kind])
    if isinstance(value, Mapping):
        return _by_coin(value) if name == "bars" and _is_by_coin(value) else value
    if kind[0] == "pandas" and hasattr(value, "columns"):
        return _of_pandas(value, name)
    if isinstance(value, list | tuple):
        return _of_rows(value, name)
    if _is_matrix(value):
        return _of_rows(value.tolist(), name)
    return None


def _kind(value: object) -> tuple[str, str]:
    """The library and the name of a value's class."""
    return type(value).__module__.partition(".")[0], type(value).__name__


def _refuse(name: str, what: str, allowed: str) -> NoReturn:
    msg = f"{name}: {what}; allowed: {allowed}"
    raise BadQuery(msg, parameter=name)


def _of_pandas(frame: Any, name: str) -> dict[str, Any]:
    """The columns of a frame, and its index: times as ``timestamp``, other levels by name."""
    names = [str(column) for column in frame.columns]
    twice = {column for column in names if names.count(column) > 1}
    if twice:
        _refuse(name, f"column {min(twice)!r} is given twice", _TABLES)
    columns = {column: _column(frame.iloc[:, place]) for place, column in enumerate(names)}
    index = frame.index
    kind = type(index).__name__
    if kind == "MultiIndex":
        levels = {str(level): index.get_level_values(place) for place, level in enumerate(index.names) if level}
    elif kind == "DatetimeIndex":
        levels = {"timestamp": index}
    elif kind == "PeriodIndex" and "timestamp" not in columns:
        _refuse(name, "its index is of periods, not of instants", "the frame with index.to_timestamp() as its index")
    else:
        levels = {str(index.name): index} if index.name is not None else {}
    return {level: _column(cells) for level, cells in levels.items() if level not in columns} | columns


def _of_rows(rows: Sequence[Any], name: str) -> dict[str, list[Any]]:
    """The columns of rows that are dicts."""
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            _refuse_row(rows, place, name)
    keys: dict[Any, None] = {}
    for row in rows:
        keys.update(dict.fromkeys(row))
    if _CCXT.get(name, set()) & keys.keys():
        _refuse(name, "these are rows of ccxt", _NAMED[name])
    if name == "orders" and _TRADES & keys.keys():
        _refuse(name, "these rows are trades of ccxt, not liquidations", "liquidation orders")
    return {str(key): [row.get(key) for row in rows] for key in keys}


def _refuse_row(rows: Sequence[Any], place: int, name: str) -> NoReturn:
    """Refuse a row that is not a dict; the message says what to pass instead."""
    row = rows[place]
    if name == "bars" and place == 0 and is_ohlcv(rows):
        _refuse(name, "these rows do not name their coin", 'the same by coin, such as bars={"BTC": rows}')
    what = f"row {place} is a {type(row).__name__}, not a dict"
    _refuse(name, what, "a dict of columns each, or " + _TABLES)


def _is_matrix(value: object) -> TypeGuard[_Matrix]:
    """Whether this is a two-dimensional array, such as one of numpy."""
    return getattr(value, "ndim", 0) == _ROWS_AND_COLUMNS and hasattr(value, "tolist")


def is_ohlcv(rows: object) -> bool:
    """Whether rows are lists of a time, four prices and a volume, as ccxt returns them."""
    if _is_matrix(rows):
        return rows.shape[1] == len(OHLCV)
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes) or not rows:
        return False
    first = rows[0]
    return isinstance(first, Sequence) and not isinstance(first, str | bytes) and len(first) == len(OHLCV)


def _is_by_coin(bars: Mapping[Any, Any]) -> bool:
    """Whether a mapping is from coins to rows of ccxt, not from names to columns."""
    return bool(bars) and not any(name in bars for name in OHLCV) and all(map(is_ohlcv, bars.values()))


def _by_coin(bars: Mapping[Any, Iterable[Any]]) -> dict[str, list[Any]]:
    """Merge the bars of several coins into one table with a column ``symbol``."""
    columns: dict[str, list[Any]] = {name: [] for name in ("symbol", *OHLCV)}
    for coin, rows in bars.items():
        for place, row in enumerate(rows):
            if len(row) != len(OHLCV):
                what = f"row {place} of {coin!r} has {len(row)} cells"
                _refuse("bars", what, f"{len(OHLCV)}: {', '.join(OHLCV)}")
            columns["symbol"].append(coin)
            for name, cell in zip(OHLCV, row, strict=True):
                columns[name].append(cell)
    return columns


def _sound(value: Any, name: str, what: str) -> Any:
    """Validate a pyarrow object here, because the Arrow C interface does not pass on the lengths of buffers."""
    if type(value).__module__.partition(".")[0] == "pyarrow" and hasattr(value, "validate"):
        try:
            value.validate()
        except ValueError as error:
            msg = f"{name}: {what} is damaged: {error}; allowed: {_TABLES}"
            raise BadQuery(msg, parameter=name) from None
    return value


def _unmasked(cells: Any) -> Any:
    """The cells of a masked numpy array, with ``None`` for masked cells."""
    if not cells.mask.any():
        return cells.data
    return [None if hidden else cell for cell, hidden in zip(cells.data, cells.mask.tolist(), strict=True)]


def _instants(cells: Any) -> Any:
    """Convert a polars column of times to numpy, because old versions of polars export it as plain numbers.

    Other columns are returned unchanged.
    """
    if _kind(cells) == ("polars", "Series") and type(cells.dtype).__name__ in {"Date", "Datetime"}:
        return cells.to_numpy()
    return cells


def _column(cells: Any) -> Any:
    """Convert a pandas column to numpy, Arrow or a list, and masked cells to missing cells.

    Return others unchanged.
    """
    if hasattr(cells, "mask") and hasattr(cells, "filled") and getattr(cells, "ndim", 0) == 1:
        return _unmasked(cells)
    if type(cells).__module__.partition(".")[0] != "pandas" or not hasattr(cells, "dtype"):
        return cells
    dtype = cells.dtype
    if getattr(dtype, "tz", None) is not None:
        series = cells.dt.tz_convert("UTC").dt.tz_localize(None) if hasattr(cells, "dt") else cells.tz_convert(None)
        return series.to_numpy()
    if getattr(dtype, "kind", "O") in "iufM" and not hasattr(dtype, "na_value"):
        return cells.to_numpy()
    array = _arrow(cells)
    return _objects(cells) if array is None else array


def _objects(cells: Any) -> Any:
    """A pandas column as a list of Python objects, or as single-precision floats."""
    plain = getattr(cells.dtype, "numpy_dtype", None)
    if plain is not None and plain.kind == "f" and plain.itemsize <= SINGLE:  # objects would become doubles
        return cells.to_numpy(dtype="float32", na_value=float("nan"))
    return cells.astype(object).tolist()


def _arrow(cells: Any) -> Any:
    """A pandas column as an Arrow array, which the Rust core reads without a Python object for each cell.

    ``None`` without pyarrow, and for a column that Arrow does not represent with the same cells: mixed objects,
    decimals, truth values, durations, and types that only pandas has.
    """
    from pandas.api.types import infer_dtype

    try:
        import pyarrow as pa
    except ImportError:
        return None
    if cells.dtype == object and infer_dtype(cells, skipna=True) != "string":
        return None
    try:
        array = pa.array(cells, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):  # such as half a surrogate pair
        return None
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    kinds = (*_TEXTS, *_NUMBERS) if cells.dtype != object else _TEXTS
    return array if any(getattr(pa.types, f"is_{name}")(kind) for name in kinds) else None


_TEXTS = ("string", "large_string", "string_view")
_NUMBERS = ("integer", "floating", "timestamp")
