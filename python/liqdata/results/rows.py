"""Rows: a sequence of dicts, stored as columns and exported to frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from difflib import get_close_matches
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from liqdata import _core
from liqdata.calls.arguments import choice
from liqdata.calls.progress import bar, counting
from liqdata.calls.traceback import public_methods
from liqdata.errors import BadQuery
from liqdata.files.atomic_write import atomic_write
from liqdata.files.csv_rows import write_csv
from liqdata.frames.import_order import pandas_first

from . import exact
from .excel import write_excel
from .json_form import finite, schema_of
from .rows_text import as_html, as_text, more, taken

if TYPE_CHECKING:
    import os

    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes

    from liqdata.types import Progress, RowDecimals

__all__ = ["Rows"]

R = TypeVar("R")
_DECIMALS = ("float", "decimal")
_IN_PANDAS = (*_DECIMALS, "arrow")
_PANDAS_WITH_TEXT = 3  # since this version pandas has its own string type
_AT_ONCE = 1024  # rows converted to dicts at a time while iterating


@public_methods
class Rows(Generic[R]):
    """An immutable sequence of dict rows.

    The keys are those of the JSON reply. Decimal strings become exact :class:`~decimal.Decimal` objects (``float`` or
    text with the client option ``decimals``), numbers ``float``, counts ``int``, and times ``int`` epoch milliseconds.
    A slice is a ``Rows`` object; ``rows == [{...}, ...]`` compares by value.

    The class does not derive from :class:`collections.abc.Sequence`: frame libraries would then guess the column types
    from the first dict. Instead they read the columns through ``__arrow_c_stream__``, as in :meth:`to_arrow`.

    Frames made from orders have the additional column ``coin`` after ``symbol`` (``PEPE`` for ``1000PEPEUSDT``).

    Attributes
    ----------
    meta : dict
        ``source``, ``as_of`` (UTC datetime), ``simulated``, ``age`` (timedelta from the newest row to ``as_of``, or
        ``None``), ``coverage`` if known (for realised rows of a window, as in :meth:`Client.coverage`), ``covered``
        (the covered share of the period of realised rows, 0 to 1) and ``data_from`` (since when orders are known) if
        known, ``more`` (of orders: whether more match than this page has; ``None`` if the page is full and a service
        does not say it), ``replayed`` for a replay, and ``time_unit`` if a service sent instants in another unit than
        milliseconds, such as ``"seconds (converted)"``.

    Examples
    --------
    >>> import liqdata
    >>> rows = liqdata.demo().coins("24h", limit=3)
    >>> len(rows), list(rows[0])
    (3, ['coin', 'long_usd', 'short_usd', 'total_usd', 'cnt'])
    >>> rows.to_polars().shape
    (3, 5)
    """

    __slots__ = ("_decimals", "_table", "meta")
    _picture = "rows"  # the plots recognise this class by the attribute
    __hash__ = None  # type: ignore[assignment]  # compared by value, so not hashable

    def __init__(
        self, table: _core.Table, *, decimals: RowDecimals = "decimal", meta: dict[str, Any] | None = None
    ) -> None:
        self._table = table
        self._decimals: RowDecimals = decimals
        self.meta: dict[str, Any] = {} if meta is None else meta

    @property
    def columns(self) -> list[str]:
        """Column names, in order; available also without rows."""
        return self._table.names()

    def _rows(self) -> list[R]:
        # Create new dicts on each call, because callers may change them.
        return cast("list[R]", self._table.dicts(self._decimals))

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Rows[R]: ...
    @overload
    def __getitem__(self, index: str) -> npt.NDArray[Any]: ...
    def __getitem__(self, index: int | slice | str) -> R | Rows[R] | npt.NDArray[Any]:
        """A row as a dict, a slice as ``Rows``, or a column by name as a numpy array.

        Parameters
        ----------
        index : int, slice or str
            Index of a row, a slice, or the name of a column. The array of a column of decimals is ``float64``, of times
            ``datetime64[ms]`` (UTC), of counts ``int64`` (``float64`` if counts may be missing), of text ``object``.
            Missing values are NaN, NaT or ``None``.

        Raises
        ------
        BadQuery
            For an unknown column name.

        Examples
        --------
        >>> import liqdata
        >>> rows = liqdata.demo().largest(limit=3)
        >>> rows["value_usd"].dtype, rows["timestamp"].dtype
        (dtype('float64'), dtype('<M8[ms]'))
        """
        if isinstance(index, str):
            return self._column(index)
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            part = self._table.slice(start, step, len(range(start, stop, step)))
            return Rows(part, decimals=self._decimals, meta=self.meta)
        row: R = self._table.row(index, self._decimals)
        return row

    def _column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np

        kinds = dict(zip(self.columns, self._table.kinds(), strict=True))
        if name not in kinds:
            near = get_close_matches(name, kinds, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            msg = f"column: {name!r} is not a column of these rows{hint}; allowed: {', '.join(kinds)}"
            raise BadQuery(msg, parameter="column")
        if kinds[name] == "text":
            return np.array(self._table.objects(name, "float"), dtype=object)
        return self._table.array(name)

    def __iter__(self) -> Iterator[R]:
        return chain.from_iterable(map(self._made, range(0, len(self), _AT_ONCE)))

    def __reversed__(self) -> Iterator[R]:
        return iter(self[::-1])

    def __contains__(self, row: object) -> bool:
        return any(mine == row for mine in self)

    def index(self, row: object, start: int = 0, stop: int | None = None) -> int:
        """The index of the first row that equals ``row``, between ``start`` and ``stop``.

        Parameters
        ----------
        row : dict
            The row to find.
        start, stop : int
            First index to search, and the index before which to stop, as in ``list.index``.

        Returns
        -------
        int
            The index among all rows.

        Raises
        ------
        ValueError
            If no row is equal.

        Examples
        --------
        >>> import liqdata
        >>> rows = liqdata.demo().coins(limit=5)
        >>> rows.index(rows[3])
        3
        """
        first, end, _ = slice(start, stop).indices(len(self))
        for place, mine in enumerate(self[first:end], first):
            if mine == row:
                return place
        msg = f"{row!r} is not in these rows"
        raise ValueError(msg)

    def count(self, row: object) -> int:
        """The number of rows that equal ``row``.

        Parameters
        ----------
        row : dict
            The row to count.

        Returns
        -------
        int
            The number of equal rows.

        Examples
        --------
        >>> import liqdata
        >>> rows = liqdata.demo().coins(limit=5)
        >>> rows.count(rows[3])
        1
        """
        return sum(mine == row for mine in self)

    def _made(self, start: int) -> list[R]:
        """The batch of dicts that starts at an index."""
        part = self._table.slice(start, 1, min(_AT_ONCE, len(self) - start))
        return cast("list[R]", part.dicts(self._decimals))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows):
            return bool(self._rows() == other._rows())
        if isinstance(other, Sequence) and not isinstance(other, (str, bytes)):
            return len(other) == len(self) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))
        return NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._table, self._decimals, self.meta)

    def __repr__(self) -> str:
        labels = [label for label in ("simulated", "replayed") if self.meta.get(label)]
        labels += [text for text in (taken(self.meta), more(self.meta)) if text]
        label = "".join(f"; {one}" for one in labels)
        return f"Rows({len(self)} × {', '.join(self.columns)}{label})"

    def __str__(self) -> str:
        """A table for a terminal."""
        return as_text(self, self._table.kinds())

    def _repr_html_(self) -> str:
        return as_html(self, self._table.kinds())

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the rows of ``coins``, ``exchanges``, ``chart``, ``history`` or ``cascades``. Needs ``liqdata[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        **options
            Options of the function in :mod:`liqdata.plot` that has the same name as the method that returned the rows.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        BadQuery
            For rows that have no plot function, such as orders.

        Examples
        --------
        >>> import liqdata
        >>> from matplotlib.figure import Figure
        >>> ax = liqdata.demo().coins("1h").plot(Figure().add_subplot())
        >>> ax.get_xlabel()
        'USD liquidated'
        """
        from liqdata import plot

        return plot.draw(self, ax, **options)

    def to_pandas(
        self,
        *,
        index: str | None = None,
        decimals: Literal["float", "decimal", "arrow"] = "float",
        scale: int | None = None,
        progress: Progress = False,
    ) -> pd.DataFrame:
        """Convert to a pandas frame, without pyarrow unless ``decimals="arrow"``.

        Parameters
        ----------
        index : str, optional
            A column of times, such as ``"timestamp"``: it becomes the index and the rows are sorted, oldest first.
        decimals : {"float", "decimal", "arrow"}
            Money and prices as float64; as exact :class:`~decimal.Decimal` objects; or as exact columns of the type
            ``decimal128(38, 18)[pyarrow]`` (needs pyarrow), which pandas and Dask add up. Altair writes only floats.
        scale : int, optional
            Digits after the point of exact values, 0 to 38; 18 by default, whatever the rows are.
        progress : bool or callable
            Show a progress bar of the columns (needs tqdm; on a terminal or in a notebook), or call a function with the
            number of columns done and the total. With ``"decimal"``, a column of millions of rows takes seconds.

        Returns
        -------
        pandas.DataFrame
            With a :class:`~pandas.RangeIndex`, or a :class:`~pandas.DatetimeIndex` if ``index`` is given. Times are
            ``datetime64[ms, UTC]``, text is pandas' string type, integers are ``int64``, or ``Int64`` if values may be
            missing. Without rows the frame still has its columns and dtypes.

        Raises
        ------
        BadQuery
            If ``index`` is not a column of times, for a scale without exact values, and for a value that has more
            digits than ``scale`` after the point, or than 38 - ``scale`` before it.

        Examples
        --------
        >>> import liqdata
        >>> frame = liqdata.demo().orders(limit=5).to_pandas()
        >>> str(frame["timestamp"].dtype), str(frame["price"].dtype)
        ('datetime64[ms, UTC]', 'float64')
        >>> exact = liqdata.demo().orders("PEPE", limit=5).to_pandas(decimals="arrow")
        >>> str(exact["price"].dtype)
        'decimal128(38, 18)[pyarrow]'
        >>> hours = liqdata.demo().history("BTC").to_pandas(index="timestamp")
        >>> hours.index.name, hours.index.is_monotonic_increasing
        ('timestamp', True)
        """
        import pandas as pd

        times = [name for name, kind in zip(self._table.names(), self._table.kinds(), strict=True) if kind == "time"]
        if index is not None and index not in times:
            msg = f"index: {index!r} is not a column of times; allowed: {' or '.join(map(repr, times)) or 'none here'}"
            raise BadQuery(msg, parameter="index")
        form = choice(decimals, "decimals", _IN_PANDAS)
        digits = exact.scale_of(scale, wanted=form != "float")
        framed = self._table.framed()
        columns: dict[str, Any] = {}
        table = self.to_arrow(decimals="decimal", scale=digits) if form == "arrow" else None
        with closing(bar(wanted=progress, total=len(framed), what="columns", unit=" columns")) as shown:
            for name in framed:
                columns[name] = _column(self._table, name, None if form == "float" else digits, table)
                shown.update(1)
        # The frame owns the arrays, so no copy is needed.
        frame = pd.DataFrame(columns, index=pd.RangeIndex(len(self)), copy=False)
        if index is not None:
            frame = frame.set_index(index).sort_index(kind="stable")
        frame.attrs = {name: self.meta[name] for name in ("source", "simulated") if self.meta.get(name) is not None}
        return frame

    def to_polars(
        self,
        *,
        decimals: Literal["float", "decimal"] = "float",
        scale: int | None = None,
        progress: Progress = False,
    ) -> pl.DataFrame:
        """Convert to a polars frame through Arrow, without pyarrow.

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as Float64, or as exact ``Decimal(38, 18)``.
        scale : int, optional
            Digits after the point of exact values, 0 to 38; 18 by default, whatever the rows are.
        progress : bool or callable
            Show a progress bar of the columns (needs tqdm; on a terminal or in a notebook), or call a function with the
            number of columns done and the total. With ``"decimal"``, a column of millions of rows takes seconds.

        Returns
        -------
        polars.DataFrame
            Times are ``Datetime("ms", "UTC")``, text is String.

        Raises
        ------
        BadQuery
            For a scale without exact values, and for a value that has more digits than ``scale`` after the point, or
            than 38 - ``scale`` before it.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().orders(limit=5).to_polars(decimals="decimal")["price"].dtype
        Decimal(precision=38, scale=18)
        """
        import polars as pl

        arrow, digits = self._arrow(decimals, scale, progress)
        frame = pl.DataFrame(arrow)
        return frame if digits is None else exact.polars_frame(frame, self._table, digits)

    def to_arrow(
        self,
        *,
        decimals: Literal["float", "decimal"] = "float",
        scale: int | None = None,
        progress: Progress = False,
    ) -> pa.Table:
        """Convert to a pyarrow table.

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as float64, or as exact ``decimal128(38, 18)``.
        scale : int, optional
            Digits after the point of exact values, 0 to 38; 18 by default, whatever the rows are.
        progress : bool or callable
            Show a progress bar of the columns (needs tqdm; on a terminal or in a notebook), or call a function with the
            number of columns done and the total. With ``"decimal"``, a column of millions of rows takes seconds.

        Returns
        -------
        pyarrow.Table
            Times are ``timestamp[ms, tz=UTC]``, text is string.

        Raises
        ------
        BadQuery
            For a scale without exact values, and for a value that has more digits than ``scale`` after the point, or
            than 38 - ``scale`` before it.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().exchanges().to_arrow().column_names
        ['exchange', 'long_usd', 'short_usd', 'total_usd', 'cnt']
        """
        import pyarrow as pa

        pandas_first()
        arrow, digits = self._arrow(decimals, scale, progress)
        table = pa.table(arrow)
        return table if digits is None else exact.arrow_table(table, self._table, digits)

    def to_parquet(self, path: str | os.PathLike[str], *, decimals: Literal["float", "decimal"] = "float") -> int:
        """Write the rows to a Parquet file, without pyarrow.

        A file at ``path`` is replaced when the new one is complete.

        Parameters
        ----------
        path : str or path-like
            The file.
        decimals : {"float", "decimal"}
            Money and prices as double, or as exact ``decimal(38, 18)``.

        Returns
        -------
        int
            Number of rows written.

        Raises
        ------
        OSError
            If the file cannot be written.
        ValueError
            With ``decimals="decimal"``, for an amount with more than 18 digits after the point or 20 before it.

        Examples
        --------
        >>> import os, tempfile
        >>> import liqdata
        >>> liqdata.demo().coins(limit=5).to_parquet(os.path.join(tempfile.mkdtemp(), "coins.parquet"))
        5
        """
        fixed = choice(decimals, "decimals", _DECIMALS) == "decimal"
        with atomic_write(path) as unfinished:
            file = _core.ParquetFile(unfinished, fixed, table=self._table)
            file.write(self._table)
            file.close()
        return len(self)

    def to_csv(self, path: str | os.PathLike[str]) -> int:
        """Write the rows to a CSV file in UTF-8.

        Decimals have every digit, times are epoch milliseconds, and a missing value is an empty cell. A text that a
        spreadsheet would run as a formula gets a leading apostrophe, which :func:`liqdata.ingest` removes again. A file
        at ``path`` is replaced when the new one is complete.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        int
            Number of rows written.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> import liqdata
        >>> liqdata.demo().orders("BTC", limit=5).to_csv(os.path.join(tempfile.mkdtemp(), "orders.csv"))
        5
        """
        rows = Rows[Any](self._table, decimals="decimal")
        with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as out:
            write_csv(out, self.columns, rows)
        return len(self)

    def to_excel(self, path: str | os.PathLike[str]) -> int:
        """Write the rows to an Excel file (.xlsx). Needs ``liqdata[excel]``.

        Excel has no time zones and no exact decimals: times are UTC cells without a zone, to the millisecond, and the
        titles of their columns end with `` (UTC)``; prices and amounts are numbers of 15 digits. Text is never a
        formula or a link, and a missing value is an empty cell. The columns are those of :meth:`to_pandas`. The source
        of the rows and whether they are simulated are in the properties of the file. A file at ``path`` is replaced
        when the new one is complete.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        int
            Number of rows written.

        Raises
        ------
        BadQuery
            For more than 1,048,575 rows, which a sheet does not have.
        ModuleNotFoundError
            Without xlsxwriter.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> import liqdata
        >>> liqdata.demo().orders("BTC", limit=5).to_excel(os.path.join(tempfile.mkdtemp(), "orders.xlsx"))
        5
        """
        with atomic_write(path) as unfinished:
            write_excel(unfinished, self._table, self.meta)
        return len(self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts of JSON values, as the service sends them.

        ``json.dumps(rows.to_dicts())`` keeps every digit. A function of FastAPI returns them, or has the return type
        ``liqdata.Rows`` and returns the rows; so do the fields of pydantic models.

        Returns
        -------
        list of dict
            Prices and amounts are text with all digits, times epoch milliseconds (int), and values that are missing or
            not finite ``None``.

        Examples
        --------
        >>> import json
        >>> import liqdata
        >>> rows = liqdata.demo().orders("BTC", limit=2)
        >>> [type(cell).__name__ for cell in json.loads(json.dumps(rows.to_dicts()))[0].values()]
        ['str', 'str', 'str', 'str', 'str', 'str', 'int']
        """
        return [{name: finite(cell) for name, cell in row.items()} for row in self._table.dicts("text")]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """The schema of pydantic: rows are checked by their class and written as :meth:`to_dicts`."""
        return schema_of(cls, cls.to_dicts, listed=True)

    def head(self, n: int = 5) -> Rows[R]:
        """The first rows.

        Parameters
        ----------
        n : int
            Number of rows; a negative number leaves out so many rows at the end.

        Returns
        -------
        Rows

        Raises
        ------
        BadQuery
            If ``n`` is not a whole number.

        Examples
        --------
        >>> import liqdata
        >>> len(liqdata.demo().orders("BTC").head())
        5
        """
        try:
            return self[: index(n)]
        except TypeError:
            msg = f"n: {n!r} is not allowed; allowed: a whole number of rows"
            raise BadQuery(msg, parameter="n") from None

    def _arrow(self, decimals: str, scale: int | None, progress: Progress) -> tuple[_core.ArrowTable, int | None]:
        """The rows in Arrow's layout, and the scale that their exact columns get."""
        wanted = choice(decimals, "decimals", _DECIMALS) == "decimal"
        digits = exact.scale_of(scale, wanted=wanted)
        with counting(progress, "columns", " columns") as seen, exact.refused(self._table, digits):
            return self._table.arrow(wanted, seen), digits if wanted else None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C stream of the rows (money as float64); each call returns a new stream.

        ``requested_schema`` can change the types of text and times; other types in it are ignored.
        """
        return self._table.arrow(exact=False).__arrow_c_stream__(requested_schema)


def _restore(table: _core.Table, decimals: RowDecimals, meta: dict[str, Any]) -> Rows[Any]:
    return Rows(table, decimals=decimals, meta=meta)


def _column(table: _core.Table, name: str, scale: int | None, arrow: pa.Table | None) -> Any:
    """A column for a pandas frame, exact with a scale: a column of ``arrow`` if it is given, else objects."""
    import numpy as np
    import pandas as pd

    kind = dict(zip(table.names(), table.kinds(), strict=True)).get(name, "text")
    if kind == "text":
        codes, names = table.codes(name)
        # Each distinct text is created once and copied to its rows by code; `take` needs at least one text.
        known = names or [""]
        own_text = int(pd.__version__.partition(".")[0]) >= _PANDAS_WITH_TEXT
        texts = pd.array(known, dtype="str") if own_text else np.array(known, dtype=object)
        missing = (codes < 0).any()
        return pd.api.extensions.take(texts, codes, allow_fill=True) if missing else texts.take(codes)
    if kind == "decimal" and arrow is not None:
        exact.let_dask_add_up()
        return pd.arrays.ArrowExtensionArray(arrow[name])
    if kind == "decimal" and scale is not None:
        return pd.Series(exact.objects(table, name, scale), dtype="object")
    if kind == "time":
        return pd.DatetimeIndex(table.array(name)).tz_localize("UTC")
    if kind == "int" and (parts := table.integers(name)) is not None:
        return pd.arrays.IntegerArray(*parts)
    return table.array(name)
