"""Input tables of scores: columns as checked numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from liqdata import _core
from liqdata.calls.arguments import instant
from liqdata.errors import BadQuery
from liqdata.frames.import_order import pandas_first
from liqdata.ingestion.tables import table
from liqdata.results.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats: TypeAlias = npt.NDArray[np.float64]
Millis: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
LONG, SHORT = 0, 1
SIDES = ("long", "short")

_SECONDS = (10**9, 10**11)  # as in liqdata.calls.arguments


def rows(columns: Mapping[str, tuple[str, Any]]) -> Rows[Any]:
    """Make rows from columns: pairs of a kind (``text``, ``float``, ``int``, ``time``, ``bool``) and cells."""
    state: list[tuple[str, str, Any, None]] = []
    length = 0
    for name, (kind, cells) in columns.items():
        plain = list(cells) if isinstance(cells, (list, tuple)) else cells.tolist()
        length = len(plain)
        if kind == "text":
            names = list(dict.fromkeys(plain))
            places = {text: place for place, text in enumerate(names)}
            state.append((name, kind, ([places[text] for text in plain], names), None))
        else:
            state.append((name, kind, plain, None))
    made = _core.Table._restore(state, length)  # noqa: SLF001 - the native constructor from columns
    return Rows(made, decimals="float")


def refuse(parameter: str, what: str, allowed: str) -> NoReturn:
    """Raise :class:`~liqdata.BadQuery` for a parameter."""
    raise BadQuery(f"{parameter}: {what}; allowed: {allowed}", parameter=parameter)


class Table:
    """An input table, read column by column."""

    def __init__(self, value: Any, parameter: str) -> None:
        self.parameter = parameter
        data = table(value, parameter)
        columns = data if isinstance(data, dict) else _columns_of(data, parameter)
        self._columns = {name: _unmasked(cells) for name, cells in columns.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def need(self, *names: str) -> None:
        """Refuse a table without these columns, or with columns of different lengths."""
        for name in names:
            if name not in self._columns:
                refuse(self.parameter, f"column {name!r} is missing", f"the columns {', '.join(names)}")
        lengths = {len(self._columns[name]) for name in self._columns}
        if len(lengths) > 1:
            refuse(self.parameter, f"columns of {sorted(lengths)} rows", "columns of one length")

    def floats(self, name: str, *, least: float | None = None, unknown: bool = False) -> Floats:
        """A column of numbers, at least ``least``; NaN and missing cells are allowed only with ``unknown``."""
        cells = self._columns[name]
        array = np.asarray(cells)
        if array.dtype.kind in "iuf":
            found = array.astype(np.float64)
        else:
            found = np.asarray([self._number(name, row, cell) for row, cell in enumerate(cells)], dtype=np.float64)
        wrong = np.isinf(found) if unknown else ~np.isfinite(found)
        if least is not None:
            wrong |= found < least
        if wrong.any():
            row = int(np.argmax(wrong))
            allowed = "finite numbers" + ("" if least is None else f" from {least:g} on")
            refuse(self.parameter, f"column {name!r}, row {row}: {found[row]:g} is not allowed", allowed)
        return found

    def _number(self, name: str, row: int, cell: Any) -> float:
        if cell is None or type(cell).__name__ == "NAType":
            return float("nan")
        try:
            if not isinstance(cell, bool):
                return float(cell)
        except (TypeError, ValueError):
            pass
        refuse(self.parameter, f"column {name!r}, row {row}: {cell!r} is not a number", "numbers, or numbers as text")

    def cells(self, name: str) -> Any:
        """A column, unchanged."""
        return self._columns[name]

    def instants(self, name: str) -> Millis:
        """A column of instants, as epoch milliseconds."""
        cells = self._columns[name]
        array = np.asarray(cells)
        if array.dtype.kind == "M":
            if np.isnat(array).any():
                refuse(self.parameter, f"column {name!r}, row {int(np.argmax(np.isnat(array)))} is missing", "instants")
            return array.astype("datetime64[ms]").astype(np.int64)
        if array.dtype.kind in "iu" or (array.dtype.kind == "f" and bool(np.all(array == np.floor(array)))):
            found = array.astype(np.int64)
            if len(found) and bool(np.all((found >= _SECONDS[0]) & (found < _SECONDS[1]))):
                what = f"column {name!r}, row 0: {found[0]} and all other cells look like epoch seconds"
                refuse(self.parameter, what, "epoch milliseconds, datetimes or ISO 8601 text")
            return found
        found = np.empty(len(array), dtype=np.int64)
        for row, cell in enumerate(cells):
            at = instant(cell, f"{self.parameter}: column {name!r}, row {row}") if cell is not None else None
            if at is None:
                refuse(self.parameter, f"column {name!r}, row {row} is missing", "instants")
            found[row] = at
        return found

    def texts(self, name: str) -> list[str]:
        """A column of text."""
        found = []
        for row, cell in enumerate(self._columns[name]):
            if not isinstance(cell, str):
                refuse(self.parameter, f"column {name!r}, row {row}: {cell!r} is not a name", "text")
            found.append(cell.strip())
        return found

    def spans(self, name: str) -> Millis:
        """A column of durations, in milliseconds."""
        cells = self._columns[name]
        array = np.asarray(cells)
        if array.dtype.kind == "m":
            return array.astype("timedelta64[ms]").astype(np.int64)
        return np.asarray([self._span(name, row, cell) for row, cell in enumerate(cells)], dtype=np.int64)

    def _span(self, name: str, row: int, cell: Any) -> int:
        found = span(cell)
        if found is None:
            refuse(self.parameter, f"column {name!r}, row {row}: {cell!r} is not a length of time", LENGTHS)
        return found


LENGTHS = 'whole minutes, such as "30m", "1h", a timedelta, or milliseconds'


def span(value: Any) -> int | None:
    """Milliseconds of a duration in whole minutes; ``None`` for anything else."""
    found: int | None = None
    if isinstance(value, str):
        found = _core.span(value)
    elif hasattr(value, "total_seconds"):
        found = round(value.total_seconds() * 1000)
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        found = int(value)
    return found if found is not None and found > 0 and not found % MINUTE else None


def mine(data: Table, symbol: str) -> Flags | None:
    """Which rows belong to a coin; ``None`` if the table has no column ``symbol``."""
    if "symbol" not in data:
        return None
    texts = data.texts("symbol")
    coins = {text: _core.coin(text) for text in set(texts)}
    names = np.asarray([coins[text] for text in texts], dtype=object)
    chosen: Flags = names == symbol
    if not chosen.any():
        seen = sorted(set(names.tolist()))[:5]
        what = f"no row has the symbol {symbol!r}" + ("" if seen else ", it is empty")
        refuse(
            data.parameter, what, f"rows with this symbol; the table has {seen}" if seen else "rows with this symbol"
        )
    return chosen


def _columns_of(data: Any, parameter: str) -> dict[str, Any]:
    """The columns of rows of this package, of a polars frame, or of an Arrow stream."""
    if isinstance(data, _core.Table):
        kinds = dict(zip(data.names(), data.kinds(), strict=True))
        return {
            name: data.objects(name, "text") if kind == "text" else data.array(name) for name, kind in kinds.items()
        }
    if type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "columns"):
        return {name: data[name].to_numpy() for name in data.columns}
    try:
        import pyarrow as pa
    except ImportError:
        refuse(parameter, f"a {type(data).__name__} needs pyarrow to be read", "pandas, polars, or columns of arrays")
    pandas_first()
    arrow = pa.table(data)
    return {name: _cells(arrow[name]) for name in arrow.column_names}


def _unmasked(cells: Any) -> Any:
    """Convert an Arrow array to a list, and masked and NA cells to ``None``; return other columns unchanged."""
    if hasattr(cells, "to_pylist"):
        return cells.to_pylist()
    if not isinstance(cells, list | tuple):
        return cells
    hidden = {"MaskedConstant", "NAType"}
    return [None if type(cell).__name__ in hidden else cell for cell in cells]


def _cells(column: Any) -> Any:
    import pyarrow as pa

    return column.to_pylist() if pa.types.is_dictionary(column.type) else column.to_numpy()
