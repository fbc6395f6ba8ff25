""":func:`liqdata.join_asof`: joins two tables over time without look-ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, cast, overload

from liqdata import _core
from liqdata.calls.arguments import MONTH, period_text
from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery
from liqdata.results.rows import Rows

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl

    Nanoseconds = npt.NDArray[np.int64]
    By = str | Sequence[str] | Mapping[str, str] | None

__all__ = ["join_asof"]

_FRAMES = "a pandas or polars DataFrame, or Rows"
_TIMES = "datetimes (naive ones are UTC) or epoch milliseconds"
# Columns with the time at which a row of `right` became known, in order of preference; then those with the time of a
# row of `left`.
_KNOWN = ("closes_at", "computed_at", "received_at", "observed_at", "timestamp", "time")
_OF_LEFT = ("closes_at", "timestamp", "time")
_EXACT_TIMES = ("closes_at", "computed_at")
# Sets of columns that show that a row covers a period, so that it is not known at the open of the period.
_PERIODS = ({"open", "high", "low", "close"}, {"long_usd", "short_usd"})
_KEY_COLUMNS = ("symbol", "coin", "exchange", "side")
_COINS = {"coin": "symbol"}  # the value of `by` if left has pairs and right has coins as symbols
_HOUR = 3_600_000
_NANOSECONDS = 1_000_000
_FURTHEST = 9_200_000_000_000  # milliseconds that fit 64-bit nanoseconds: the year 2261
_SECONDS = (10**9, 10**11)  # epoch seconds, as in liqdata.calls.arguments


@overload
def join_asof(
    left: pl.DataFrame,
    right: pl.DataFrame | Rows[Any],
    *,
    by: By = None,
    left_on: str | None = None,
    right_on: str | None = None,
    interval: str | timedelta | int | None = None,
    tolerance: str | timedelta | int | None = None,
    allow_exact_matches: bool = True,
    suffix: str = "_right",
) -> pl.DataFrame: ...
@overload
def join_asof(
    left: pd.DataFrame | Rows[Any],
    right: pd.DataFrame | Rows[Any],
    *,
    by: By = None,
    left_on: str | None = None,
    right_on: str | None = None,
    interval: str | timedelta | int | None = None,
    tolerance: str | timedelta | int | None = None,
    allow_exact_matches: bool = True,
    suffix: str = "_right",
) -> pd.DataFrame: ...
@public_call
def join_asof(
    left: Any,
    right: Any,
    *,
    by: By = None,
    left_on: str | None = None,
    right_on: str | None = None,
    interval: str | timedelta | int | None = None,
    tolerance: str | timedelta | int | None = None,
    allow_exact_matches: bool = True,
    suffix: str = "_right",
) -> Any:
    """Join each row of ``left`` with the newest row of ``right`` that was known at its time.

    The tables need not be sorted; the result has the rows of ``left`` in their order. If no row of ``right`` was known
    yet, the columns of ``right`` have missing values. Among rows of ``right`` that became known
    at the same time, the last one in the table is used.

    Parameters
    ----------
    left, right : pandas.DataFrame, polars.DataFrame or Rows
        Two frames of the same library. ``Rows`` are converted to the library of the other table; two ``Rows`` become
        pandas frames.
    by : str, sequence of str or mapping of str to str, optional
        Columns that must be equal in both; a mapping from names in ``left`` to names in ``right``, such as
        ``{"coin": "symbol"}``, if the names differ. Rows with a missing key match nothing. Without ``by``, a ``right``
        with several symbols, coins, exchanges or sides is refused; ``()`` allows it.
    left_on : str, optional
        The column with the time of a row of ``left``; by default ``closes_at`` (a bar is complete then), ``timestamp``,
        ``time``, or a datetime index of pandas.
    right_on : str, optional
        The column with the time at which a row of ``right`` became known; by default ``closes_at``, ``computed_at``,
        ``received_at``, ``observed_at``, ``timestamp``, ``time``, or a datetime index of pandas. Rows of
        :meth:`Market.chart` have ``hour``, and are known one hour after it.
    interval : str, timedelta or int, optional
        Time between ``right_on`` and the moment at which a row of ``right`` is known. If ``right_on`` is the open of a
        period, as in :meth:`Market.history`, this is the length of the period, ``"1M"`` for a calendar month. A column
        ``interval`` (milliseconds) has the same effect.
    tolerance : str, timedelta or int, optional
        Maximum age of the joined row: ``"90s"``, a timedelta, or milliseconds; unlimited by default.
    allow_exact_matches : bool
        Whether a row of ``right`` that became known exactly at the time of a row of ``left`` matches this row.
    suffix : str
        Appended to columns of ``right`` that ``left`` also has.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        The columns of ``left``, then those of ``right`` without the keys.

    Raises
    ------
    BadQuery
        For values that are not frames, unknown columns, wrong or missing times, rows of periods without the end of the
        period, a ``right`` with several symbols if ``by`` is not given, and keys without common values, such as pairs
        in ``left`` and coins in ``right``.

    Notes
    -----
    Frames with a datetime index are accepted too: ``heatmap.to_frame().T`` has a row for each column of the map, known
    at the end of the column. Columns with the outcome of an event (such as the price change in the next hour) are known
    later than the event. Remove them from ``right``, or set ``right_on`` or ``interval`` to the time at which they are
    known.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> orders = market.orders("BTC", limit=100).to_pandas()
    >>> joined = liqdata.join_asof(orders, market.bars("BTC").to_pandas())
    >>> bool((joined["closes_at"] <= joined["timestamp"]).all()), len(joined)
    (True, 100)
    """
    import numpy as np

    library = _library(left, right)
    mine, theirs = _frame(library, left), _frame(library, right)
    pairs = _pairs(by)
    if _by_time(theirs) and not set(_KNOWN) & set(theirs.columns):
        theirs = theirs.reset_index(names=theirs.index.name if theirs.index.name in _KNOWN else "time")
    for side, frame, names in (("left", mine, pairs), ("right", theirs, pairs.values())):
        for name in names:
            if name not in frame.columns:
                _refuse("by", f"{name!r} is not a column of {side}", f"one of {_listed(frame)}")
    if by is None or pairs:
        _check_keys(mine, theirs, pairs)
    at = _nanoseconds("left", *_moments(mine, "left", left_on, _OF_LEFT))
    known = _known(theirs, right_on, interval)
    keyed = _keys(mine, list(pairs)), _keys(theirs, list(pairs.values()))
    _in_common(mine, pairs, *keyed)
    places = _places(at, known, *keyed, exact=allow_exact_matches)
    if tolerance is not None:
        age = at - known[places] if len(known) else np.zeros_like(at)
        places = np.where(age <= _span(tolerance), places, -1)
    keys = list(pairs.values())
    found = theirs.drop(columns=keys) if library.__name__ == "pandas" else theirs.drop(keys)
    found.columns = _renamed(list(mine.columns), list(found.columns), suffix)
    return _joined(library, mine, found, places)


def _renamed(mine: list[Any], theirs: list[Any], suffix: str) -> list[Any]:
    """The column names of right, with the suffix if left has the same name."""
    names = [f"{name}{suffix}" if name in mine else name for name in theirs]
    twice = [name for name in names if name in mine or names.count(name) > 1]
    if twice:
        _refuse("suffix", f"{suffix!r} makes two columns {twice[0]!r}", "a suffix that no column of left has")
    return names


def _refuse(parameter: str, what: str, allowed: str) -> NoReturn:
    msg = f"{parameter}: {what}; allowed: {allowed}"
    raise BadQuery(msg, parameter=parameter)


def _listed(frame: Any) -> str:
    return ", ".join(map(repr, frame.columns))


def _library(left: Any, right: Any) -> ModuleType:
    """The frame library of both tables; pandas for two ``Rows``."""
    from importlib import import_module

    named = set()
    for side, table in (("left", left), ("right", right)):
        home = type(table).__module__.partition(".")[0]
        if type(table).__name__ == "LazyFrame":
            _refuse(side, "a LazyFrame has no rows yet", "what its collect() gives")
        if home in {"pandas", "polars"} and type(table).__name__ == "Series":
            _refuse(side, "a Series is only one column", f"{_FRAMES}; to_frame() makes one")
        if not isinstance(table, Rows):
            if home not in {"pandas", "polars"} or not hasattr(table, "columns"):
                _refuse(side, f"a {type(table).__name__} is not a frame", _FRAMES)
            named.add(home)
    if len(named) > 1:
        _refuse("right", "the two frames are of different libraries", "both of pandas or both of polars")
    return import_module(named.pop() if named else "pandas")


def _frame(library: ModuleType, table: Any) -> Any:
    if isinstance(table, Rows):
        return table.to_pandas() if library.__name__ == "pandas" else table.to_polars()
    columns = list(table.columns)
    twice = [name for name in columns if columns.count(name) > 1] if len(set(columns)) < len(columns) else []
    if twice:
        _refuse("left", f"a frame has two columns {twice[0]!r}", "columns of different names")
    return table


def _pairs(by: By) -> dict[str, str]:
    """The key columns: names in left to names in right."""
    if by is None:
        return {}
    if isinstance(by, Mapping):
        return dict(by)
    names = [by] if isinstance(by, str) else list(by) if isinstance(by, Sequence) else [by]
    for name in names:
        if not isinstance(name, str):
            _refuse("by", f"{by!r} is not allowed", "names of columns, or a mapping of names in left to those in right")
    return {name: name for name in names}


def _check_keys(left: Any, right: Any, pairs: Mapping[str, str]) -> None:
    """Refuse a right table with several symbols if no key separates them."""
    if {"symbol", "coin"} & set(pairs.values()):
        return
    for name in _KEY_COLUMNS:
        if name not in right.columns or name in pairs.values():
            continue
        count = len(set(right[name].to_list()))
        if count > 1:
            # If only ``left`` has a column ``coin``, the symbols of ``right`` are coins.
            as_coins = name == "symbol" and "coin" in left.columns and "coin" not in right.columns
            by = _COINS if as_coins else name
            _refuse("by", f"right has rows of {count} different {name}s", f"by={by!r}, or by=() for any of them")


def _in_common(left: Any, pairs: Mapping[str, str], mine: list[Any] | None, theirs: list[Any] | None) -> None:
    """Refuse keys without common values, because no row would match."""
    of_left, of_right = ([key for key in keys or () if key is not None] for keys in (mine, theirs))
    if not of_left or not of_right or not set(of_left).isdisjoint(of_right):
        return
    first, other = (", ".join(map(repr, keys[0])) for keys in (of_left, of_right))
    as_coins = "coin" in left.columns and pairs.get("symbol") == "symbol"
    allowed = f"columns of equal cells, such as by={_COINS!r}" if as_coins else "columns of which some cells are equal"
    _refuse("by", f"no key is in both: left has {first} and right {other}", allowed)


def _moments(frame: Any, side: str, on: str | None, names: Sequence[str]) -> tuple[str, Any]:
    """The name and the cells of the column with the times of a frame."""
    if on is not None:
        if on not in frame.columns:
            _refuse(f"{side}_on", f"{on!r} is not a column of {side}", f"one of {_listed(frame)}")
        return on, frame[on]
    for name in names:
        if name in frame.columns:
            return name, frame[name]
    if _by_time(frame):
        return "index", frame.index
    _refuse(f"{side}_on", f"none of {_listed(frame)} is a known time column", f"the name of a column of {_TIMES}")


def _by_time(frame: Any) -> bool:
    """Whether a frame has a datetime index."""
    return getattr(getattr(getattr(frame, "index", None), "dtype", None), "kind", "O") == "M"


def _known(right: Any, on: str | None, interval: Any) -> Nanoseconds:
    """The times at which the rows of ``right`` became known."""
    later: Any = 0 if interval is None or interval == MONTH else int(period_text(interval))
    if on is None and "hour" in right.columns and not set(_KNOWN) & set(right.columns):
        return _nanoseconds("right", "hour", right["hour"]) + _HOUR * _NANOSECONDS
    name, moments = _moments(right, "right", on, _KNOWN)
    known = _nanoseconds("right", name, moments)
    if interval is None and on is None and name not in _EXACT_TIMES:
        columns = set(right.columns)
        if "interval" in columns:
            later = _whole(right["interval"])
        elif any(period <= columns for period in _PERIODS):
            _refuse(
                "interval",
                f"the rows of right are periods, and {name!r} is their start, not the time at which they became known",
                'a column closes_at, or the length of a period, such as interval="5m"',
            )
    closed: Nanoseconds = known + later * _NANOSECONDS
    return _month_later(closed) if interval == MONTH else closed


def _month_later(times: Nanoseconds) -> Nanoseconds:
    """As far into the next calendar month, UTC."""
    import numpy as np

    month = times.view("datetime64[ns]").astype("datetime64[M]")
    start, following = ((month + step).astype("datetime64[ns]").view(np.int64) for step in (0, 1))
    return cast("Nanoseconds", times + (following - start))


def _whole(cells: Any) -> Any:
    import numpy as np

    lengths = np.asarray(cells)
    missing = _missing(cells, lengths)
    if missing.any():
        _refuse("interval", f"column 'interval' of right, row {int(missing.argmax())}: is missing", "milliseconds")
    if lengths.dtype.kind == "O":  # nullable integers of pandas
        lengths = lengths.astype(np.int64) if all(type(cell) is int for cell in lengths.tolist()) else lengths
    if lengths.dtype.kind not in "iu" or (lengths <= 0).any():
        _refuse(
            "interval",
            "the column of right has values that are not milliseconds above 0",
            "milliseconds, or the parameter",
        )
    return lengths.astype(np.int64)


def _missing(cells: Any, found: Any) -> npt.NDArray[np.bool_]:
    """Which cells of a column are missing, according to numpy or the library."""
    import numpy as np

    if found.dtype.kind == "M":
        return cast("npt.NDArray[np.bool_]", np.isnat(found))
    if found.dtype.kind == "f":
        return cast("npt.NDArray[np.bool_]", np.isnan(found))
    if found.dtype.kind != "O":
        return np.zeros(len(found), dtype=bool)
    gone = cells.isna().tolist() if hasattr(cells, "isna") else [cell is None for cell in found.tolist()]
    return np.asarray([lost or cell is np.ma.masked for lost, cell in zip(gone, found.tolist(), strict=True)], bool)


def _nanoseconds(side: str, name: str, cells: Any) -> Nanoseconds:
    """Times as nanoseconds since the epoch, without rounding."""
    import numpy as np

    if type(cells).__module__.partition(".")[0] == "pandas" and getattr(cells.dtype, "kind", "O") == "M":
        import pandas as pd

        index = pd.DatetimeIndex(cells)
        cells = index if index.tz is None else index.tz_convert(None)
    found = np.asarray(cells)
    kind = found.dtype.kind
    if kind == "f" and not (np.isnan(found).any() or (found != np.floor(found)).any()):
        found, kind = found.astype(np.int64), "i"
    missing = _missing(cells, found)
    if missing.any():
        _refuse(side, f"column {name!r}, row {int(missing.argmax())}: is missing", _TIMES)
    if kind not in "Miu":
        what = f"column {name!r} holds {found.dtype if kind != 'O' else 'objects'}"
        _refuse(side, what, f"{_TIMES}; in pandas, pd.to_datetime(frame[{name!r}], utc=True) converts text")
    millis = found.astype("datetime64[ms]").astype(np.int64) if kind == "M" else found.astype(np.int64)
    if kind != "M" and len(millis) and _SECONDS[0] <= millis.min() and millis.max() < _SECONDS[1]:
        _refuse(side, f"column {name!r} looks like epoch seconds; give epoch milliseconds", _TIMES)
    if (abs(millis) > _FURTHEST).any():
        row = int((abs(millis) > _FURTHEST).argmax())
        _refuse(side, f"column {name!r}, row {row}: lies outside the years 1679 to 2261", _TIMES)
    return found.astype("datetime64[ns]").astype(np.int64) if kind == "M" else millis * _NANOSECONDS


def _span(tolerance: Any) -> int:
    """A duration in nanoseconds."""
    found: int | None = None
    if isinstance(tolerance, timedelta):
        found = tolerance // timedelta(microseconds=1) * 1000
    elif isinstance(tolerance, str):
        millis = _core.span(tolerance)
        found = None if millis is None else millis * _NANOSECONDS
    elif isinstance(tolerance, int) and not isinstance(tolerance, bool):
        found = tolerance * _NANOSECONDS
    if found is None or found < 0:
        _refuse("tolerance", f"{tolerance!r} is not allowed", 'such as "90s" or "5m", a timedelta, or milliseconds')
    return found


def _keys(frame: Any, names: list[str]) -> list[Any] | None:
    """The key of each row; ``None`` for a row with a missing part of the key."""
    if not names:
        return None
    rows = list(zip(*(frame[name].to_list() for name in names), strict=True))
    missing = frame[names].isna().any(axis=1).tolist() if hasattr(frame, "isna") else [None in row for row in rows]
    return [None if incomplete else row for row, incomplete in zip(rows, missing, strict=True)]


def _places(
    at: Nanoseconds, known: Nanoseconds, mine: list[Any] | None, theirs: list[Any] | None, *, exact: bool
) -> npt.NDArray[np.int64]:
    """The index of the matching row of right for each row of left, or -1."""
    import numpy as np

    places = np.full(len(at), -1, dtype=np.int64)
    groups: dict[Any, tuple[Any, Any]] = {None: (slice(None), np.arange(len(known)))}
    if mine is not None and theirs is not None:
        of_left, of_right = _grouped(mine), _grouped(theirs)
        groups = {key: (rows, of_right[key]) for key, rows in of_left.items() if key is not None and key in of_right}
    for wanted, rows in groups.values():
        order = rows[np.argsort(known[rows], kind="stable")]
        found = np.searchsorted(known[order], at[wanted], side="right" if exact else "left") - 1
        places[wanted] = np.where(found < 0, -1, order[found] if len(order) else -1)
    return places


def _grouped(keys: list[Any]) -> dict[Any, Any]:
    import numpy as np

    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    return {key: np.array(rows, dtype=np.int64) for key, rows in groups.items()}


def _joined(library: ModuleType, left: Any, right: Any, places: npt.NDArray[np.int64]) -> Any:
    """Both frames side by side, with the matched rows of right."""
    if library.__name__ == "pandas":
        taken = right.reset_index(drop=True).reindex(places)
        return library.concat([left, taken.set_axis(left.index)], axis="columns")
    if not len(right):
        return library.concat([left, right.clear(len(left))], how="horizontal")
    wanted = library.Series([None if place < 0 else place for place in places.tolist()], dtype=library.Int64)
    return library.concat([left, right.select(library.all().gather(wanted))], how="horizontal")
