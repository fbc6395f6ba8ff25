"""What frames of grids carry besides their cells, and frames of other libraries as those of pandas."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import choice, datetime_of, instant, number, switch
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from .grid import Grid

__all__ = ["amounts", "as_pandas", "attributes", "labels", "positive", "prices", "stated", "twice"]

_LABELS = ("units", "view", "simulated", "source", "vendor")
_FRAMES = "a frame of pandas or polars, or a pyarrow table, as to_frame() makes it"
_NUMBERED = {"", "index", "level_0", "Unnamed: 0", "__index_level_0__"}
"""Names of a column that numbers the rows: files and other libraries have the index of a frame as a column."""
_UNITS = ("usd", "relative")
_VIEWS = ("exposed", "expected", "measured")


def attributes(grid: Grid, **more: Any) -> dict[str, Any]:
    """The attributes of a frame, from which :func:`stated` makes the grid again; JSON has a form for each."""
    known = {name: grid.meta[name] for name in ("source", "vendor") if isinstance(grid.meta.get(name), str)}
    return {
        "symbol": grid.symbol,
        "range": grid.range,
        "updated_at": None if grid.updated_at is None else grid.updated_at.isoformat(),
        "current_price": grid.current_price,
        "units": grid.units,
        "view": grid.view,
        "simulated": grid.simulated,
        **known,
        **more,
    }


def as_pandas(frame: object) -> pd.DataFrame:
    """A frame of any library as one of pandas, without a column that only numbers the rows.

    Raises
    ------
    BadQuery
        For what is not a frame.
    """
    import pandas as pd

    found: Any = frame
    if hasattr(found, "collect_schema") and hasattr(found, "to_dict"):  # polars
        found = pd.DataFrame(found.to_dict(as_series=False))
    elif not isinstance(found, pd.DataFrame) and hasattr(found, "to_pandas"):
        found = found.to_pandas()
    if not isinstance(found, pd.DataFrame):
        msg = f"frame: a {type(frame).__name__} is not a frame; allowed: {_FRAMES}"
        raise BadQuery(msg, parameter="frame")
    if not len(found):
        msg = "frame: has no rows; allowed: at least one"
        raise BadQuery(msg, parameter="frame")
    if not found.columns.is_unique:
        twice = found.columns[found.columns.duplicated()][0]
        msg = f"frame: has two columns {str(twice)!r}; allowed: each once"
        raise BadQuery(msg, parameter="frame")
    numbered = [
        one for one in found.columns if str(one) in _NUMBERED and found[one].tolist() == list(range(len(found)))
    ]
    return found.drop(columns=numbered) if numbered else found


def stated(
    frame: pd.DataFrame, given: Mapping[str, Any], ranges: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """The attributes of a frame, unless they are given, each checked.

    Raises
    ------
    BadQuery
        For one that is neither in the frame nor given, and for a value that is not allowed.
    """
    found = {**frame.attrs, **{name: value for name, value in given.items() if value is not None}}
    for name in given:
        if name not in found and name not in {"view", *optional}:
            what = {"units": _UNITS, "simulated": (True, False)}.get(name)
            of = "" if what is None else f"{what[0]!r} or {name}={what[1]!r}"
            msg = f"{name}: is not among the attributes of the frame, and is not given; allowed: {name}={of}"
            raise BadQuery(msg, parameter=name)
    if not isinstance(found["symbol"], str):
        msg = f"symbol: {found['symbol']!r} is not allowed; allowed: a coin, such as BTC"
        raise BadQuery(msg, parameter="symbol")
    found["symbol"] = _core.coin(found["symbol"])
    known = tuple(ranges)
    same = {"1d": "24h", "24h": "1d", "1w": "7d", "30d": "1M"}.get(str(found["range"]), found["range"])
    found["range"] = same if same in known and found["range"] not in known else choice(found["range"], "range", known)
    found["updated_at"] = _datetime(found["updated_at"])
    found["current_price"] = positive(found["current_price"], "current_price")
    found["units"] = choice(found["units"], "units", _UNITS)
    found["simulated"] = switch(found["simulated"], "simulated")
    if found.get("view") is None:
        found.pop("view", None)
    else:
        choice(found["view"], "view", _VIEWS)
    return found


def _datetime(at: Any) -> datetime | None:
    """The time of the last input, UTC; ``None`` if a map does not have it."""
    if at is None or (isinstance(at, datetime) and at.tzinfo is not None and at == at):  # noqa: PLR0124 - NaT
        return at
    millis = instant(at, "updated_at")
    if isinstance(at, str):
        with suppress(ValueError):  # with more digits than milliseconds
            exact = datetime.fromisoformat(at)
            if exact.tzinfo is not None:
                return exact
    return None if millis is None else datetime_of(millis)


def positive(value: Any, name: str) -> float:
    """A number above 0, or NaN for unknown.

    Raises
    ------
    BadQuery
        For anything else; it names the parameter ``name``.
    """
    allowed = "a finite number above 0, or NaN if it is unknown"
    found = number(value, name, allowed)
    if math.isnan(found) or 0 < found < math.inf:
        return found
    msg = f"{name}: {value!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter=name)


def labels(found: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of ``meta`` among the attributes of a frame."""
    return {name: found[name] for name in _LABELS if name in found}


def prices(values: Any) -> npt.NDArray[np.float64]:
    """A column of prices.

    Raises
    ------
    BadQuery
        For a value that is not a finite number above 0.
    """
    found = cells(values, "price")
    if wrong := found[~((found > 0) & (found < math.inf))].tolist():
        msg = f"frame: the column 'price' has {wrong[0]!r}; allowed: finite numbers above 0"
        raise BadQuery(msg, parameter="frame")
    return found


def amounts(values: Any, name: str, *, is_sparse: bool = False) -> npt.NDArray[np.float64]:
    """Amounts as floats; only those of a sparse grid may be NaN.

    Raises
    ------
    BadQuery
        For a value that is not a finite number from 0 on; ``name`` is its column.
    """
    import numpy as np

    found = cells(values, name)
    good = (found >= 0) & (found < math.inf)
    if wrong := found[~(good | np.isnan(found)) if is_sparse else ~good].tolist():
        empty = ", or NaN for an empty cell" if is_sparse else ""
        msg = f"frame: the column {name!r} has {wrong[0]!r}; allowed: finite numbers from 0 on{empty}"
        raise BadQuery(msg, parameter="frame")
    return found


def cells(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Cells as floats.

    Raises
    ------
    BadQuery
        For a value that is not a number; ``name`` is its column.
    """
    import numpy as np

    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        msg = f"frame: the column {name!r} has values that are not numbers; allowed: numbers"
        raise BadQuery(msg, parameter="frame") from None


def twice(values: Any, what: str) -> None:
    """Refuse ascending values that have one of them twice.

    Raises
    ------
    BadQuery
        It names the value.
    """
    import numpy as np

    again = np.flatnonzero(values[1:] == values[:-1])
    if again.size:
        msg = f"frame: has {what} {values[again[0]]!s} twice; allowed: each once"
        raise BadQuery(msg, parameter="frame")
