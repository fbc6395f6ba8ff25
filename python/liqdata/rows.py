"""Rows of one kind: a sequence of dicts that exports to frames without going through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from .calls.arguments import choice
from .calls.progress import bar, counting
from .calls.traceback import public_methods
from .errors import BadQuery
from .frames.import_order import pandas_first
from .text.repr import as_html, as_text

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes

    from . import _core
    from .types import Progress, RowDecimals

__all__ = ["Rows"]

R = TypeVar("R")
_DECIMALS = ("float", "decimal")
_PANDAS_WITH_TEXT = 3  # from this version on pandas has a string type of its own
_AT_ONCE = 1024  # rows that are made into dicts at once while iterating


@public_methods
class Rows(Generic[R]):
    """An immutable sequence of dict rows.

    It is none of :class:`collections.abc.Sequence`: a library of frames would take it for a list of dicts and guess the
    types from the first of them. It asks for the columns instead (``__arrow_c_stream__``), which are those of
    :meth:`to_arrow`.

    Keys and meaning are those of the wire. Decimal strings are exact :class:`~decimal.Decimal` in the dicts (``float``
    with ``decimals="float"`` on the client, text with ``"text"``), numbers are ``float``, counts ``int``, times ``int``
    epoch milliseconds. A slice is again ``Rows``; ``rows == [{...}, ...]`` compares by value.

    Frames of orders have one column more than the dicts: ``coin`` behind ``symbol`` (``1000PEPEUSDT`` is of ``PEPE``).

    Attributes
    ----------
    meta : dict
        ``source``, ``as_of`` (UTC datetime), ``simulated``, ``age`` (timedelta from the newest row to
        ``as_of``, or ``None``), where known ``coverage`` (of realised rows of a window, as
        :meth:`Client.coverage`), and ``replayed`` where an archive is told again.

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
    _picture = "rows"  # the plots recognise rows by it
    __hash__ = None  # type: ignore[assignment]  # how Python spells that what compares by value has no hash

    def __init__(
        self, table: _core.Table, *, decimals: RowDecimals = "decimal", meta: dict[str, Any] | None = None
    ) -> None:
        self._table = table
        self._decimals: RowDecimals = decimals
        self.meta: dict[str, Any] = {} if meta is None else meta

    @property
    def columns(self) -> list[str]:
        """Column names, in order; known of empty rows too."""
        return self._table.names()

    def _rows(self) -> list[R]:
        # Made anew each time: a dict that was handed out is the caller's own to change.
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
        """A row as a dict, a part as ``Rows``, or a column by its name as a numpy array.

        Parameters
        ----------
        index : int, slice or str
            Decimals of a column are ``float64``, times ``datetime64[ms]`` (UTC), counts ``int64`` (``float64``
            where one may be missing), text ``object``. A missing number is NaN, a missing time NaT, a missing text
            ``None``.

        Raises
        ------
        BadQuery
            For a name that is no column's.

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
            msg = f"column: {name!r} is none of these rows{hint}; allowed: {', '.join(kinds)}"
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
        """The place of the first row from ``start`` to before ``stop`` that equals ``row``; else ``ValueError``.

        Parameters
        ----------
        row : dict
            What the row has to equal.
        start, stop : int
            Where to look, as of a list's ``index``.

        Returns
        -------
        int
            Its place among all rows.

        Raises
        ------
        ValueError
            If none of them does.

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
        """How many rows equal ``row``.

        Parameters
        ----------
        row : dict
            What the rows have to equal.

        Returns
        -------
        int
            Their number.

        Examples
        --------
        >>> import liqdata
        >>> rows = liqdata.demo().coins(limit=5)
        >>> rows.count(rows[3])
        1
        """
        return sum(mine == row for mine in self)

    def _made(self, start: int) -> list[R]:
        """The dicts from a place on, as many as are made at once."""
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
        labels = (label for label in ("simulated", "replayed") if self.meta.get(label))
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
            What the function of :mod:`liqdata.plot` with the question's name takes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        BadQuery
            For rows that have no picture, such as orders.

        Examples
        --------
        >>> import liqdata
        >>> from matplotlib.figure import Figure
        >>> ax = liqdata.demo().coins("1h").plot(Figure().add_subplot())
        >>> ax.get_xlabel()
        'USD liquidated'
        """
        from . import plot

        return plot.draw(self, ax, **options)

    def to_pandas(self, *, decimals: Literal["float", "decimal"] = "float", progress: Progress = False) -> pd.DataFrame:
        """A pandas frame, made column by column from numpy (no pyarrow needed).

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as float64, or as exact :class:`~decimal.Decimal` objects of one scale per column.
        progress : bool or callable
            Show a bar of the columns (with tqdm, on a terminal or in a notebook), or tell a function how many are done
            and of how many: exact ones of millions of rows take seconds each.

        Returns
        -------
        pandas.DataFrame
            A :class:`~pandas.RangeIndex`; times are ``datetime64[ms, UTC]`` columns, text is pandas' own string type,
            whole numbers are ``int64``, or pandas' ``Int64`` where one may be missing.
            Empty rows keep their columns and dtypes.

        Raises
        ------
        ValueError
            With ``decimals="decimal"``, if no scale holds every value of a column within 38 digits.

        Examples
        --------
        >>> import liqdata
        >>> frame = liqdata.demo().orders(limit=5).to_pandas()
        >>> str(frame["timestamp"].dtype), str(frame["price"].dtype)
        ('datetime64[ms, UTC]', 'float64')
        """
        import pandas as pd

        exact = choice(decimals, "decimals", _DECIMALS) == "decimal"
        framed = self._table.framed()
        columns: dict[str, Any] = {}
        with closing(bar(wanted=progress, total=len(framed), what="columns", unit=" columns")) as shown:
            for name in framed:
                columns[name] = _column(self._table, name, exact=exact)
                shown.update(1)
        # The arrays are the frame's own: nobody else holds them.
        frame = pd.DataFrame(columns, index=pd.RangeIndex(len(self)), copy=False)
        frame.attrs = {name: self.meta[name] for name in ("source", "simulated") if self.meta.get(name) is not None}
        return frame

    def to_polars(self, *, decimals: Literal["float", "decimal"] = "float", progress: Progress = False) -> pl.DataFrame:
        """A polars frame, over Arrow and without pyarrow.

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as Float64, or as exact ``Decimal(38, s)`` with the smallest scale per column.
        progress : bool or callable
            Show a bar of the columns (with tqdm, on a terminal or in a notebook), or tell a function how many are done
            and of how many: those of ten million exact rows take seconds.

        Returns
        -------
        polars.DataFrame
            Times are ``Datetime("ms", "UTC")``, text is String.

        Raises
        ------
        ValueError
            With ``decimals="decimal"``, if no scale holds every value of a column within 38 digits.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().orders(limit=5).to_polars(decimals="decimal")["price"].dtype.is_decimal()
        True
        """
        import polars as pl

        return pl.DataFrame(self._arrow(decimals, progress))

    def to_arrow(self, *, decimals: Literal["float", "decimal"] = "float", progress: Progress = False) -> pa.Table:
        """A pyarrow table.

        Parameters
        ----------
        decimals : {"float", "decimal"}
            Money and prices as float64, or as exact ``decimal128(38, s)`` with the smallest scale per column.
        progress : bool or callable
            Show a bar of the columns (with tqdm, on a terminal or in a notebook), or tell a function how many are done
            and of how many: those of ten million exact rows take seconds.

        Returns
        -------
        pyarrow.Table
            Times are ``timestamp[ms, tz=UTC]``, text is string.

        Raises
        ------
        ValueError
            With ``decimals="decimal"``, if no scale holds every value of a column within 38 digits.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().exchanges().to_arrow().column_names
        ['exchange', 'long_usd', 'short_usd', 'total_usd', 'cnt']
        """
        import pyarrow as pa

        pandas_first()
        return pa.table(self._arrow(decimals, progress))

    def _arrow(self, decimals: str, progress: Progress) -> _core.ArrowTable:
        exact = choice(decimals, "decimals", _DECIMALS) == "decimal"
        with counting(progress, "columns", " columns") as seen:
            return self._table.arrow(exact, seen)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C stream of the rows (money as float64), as often as asked.

        Texts and instants come in the types that ``requested_schema`` names; where it names others, all come as they
        are.
        """
        return self._table.arrow(exact=False).__arrow_c_stream__(requested_schema)


def _restore(table: _core.Table, decimals: RowDecimals, meta: dict[str, Any]) -> Rows[Any]:
    return Rows(table, decimals=decimals, meta=meta)


def _column(table: _core.Table, name: str, *, exact: bool) -> Any:
    """What a pandas frame takes as this column."""
    import numpy as np
    import pandas as pd

    kind = dict(zip(table.names(), table.kinds(), strict=True)).get(name, "text")
    if kind == "text":
        codes, names = table.codes(name)
        # The distinct names are made once and taken by their codes; an empty column has a name to take from.
        known = names or [""]
        own_text = int(pd.__version__.partition(".")[0]) >= _PANDAS_WITH_TEXT
        texts = pd.array(known, dtype="str") if own_text else np.array(known, dtype=object)
        missing = (codes < 0).any()
        return pd.api.extensions.take(texts, codes, allow_fill=True) if missing else texts.take(codes)
    if kind == "decimal" and exact:
        return pd.Series(table.decimals(name), dtype="object")
    if kind == "time":
        return pd.DatetimeIndex(table.array(name)).tz_localize("UTC")
    if kind == "int" and (parts := table.integers(name)) is not None:
        return pd.arrays.IntegerArray(*parts)
    return table.array(name)
