"""What frames of grids carry besides their cells, and frames of other libraries as those of pandas."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import datetime_of, instant
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from .grid import Grid

__all__ = ["as_pandas", "attributes", "cells", "labels", "stated"]

_LABELS = ("units", "view", "simulated", "source", "vendor")
_FRAMES = "a frame of pandas or polars, or a pyarrow table, as to_frame() makes it"


def attributes(grid: Grid, **more: Any) -> dict[str, Any]:
    """The attributes of a frame, from which :func:`stated` makes the grid again; JSON has a form for each."""
    known = {name: grid.meta[name] for name in _LABELS if isinstance(grid.meta.get(name), str | bool)}
    return {
        "symbol": grid.symbol,
        "range": grid.range,
        "updated_at": None if grid.updated_at is None else grid.updated_at.isoformat(),
        "current_price": grid.current_price,
        **known,
        **more,
    }


def as_pandas(frame: object) -> pd.DataFrame:
    """A frame of any library as one of pandas.

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
    return found


def stated(frame: pd.DataFrame, given: Mapping[str, Any], needed: Iterable[str]) -> dict[str, Any]:
    """The attributes of a frame, unless they are given.

    Raises
    ------
    BadQuery
        For one that is neither in the frame nor given.
    """
    found = {**frame.attrs, **{name: value for name, value in given.items() if value is not None}}
    for name in needed:
        if name not in found:
            msg = f"{name}: is not among the attributes of the frame, and is not given; allowed: {name}="
            raise BadQuery(msg, parameter=name)
    at = found.get("updated_at")
    if at is not None and not (isinstance(at, datetime) and at.tzinfo is not None):
        millis = instant(at, "updated_at")
        found["updated_at"] = None if millis is None else datetime_of(millis)
        if isinstance(at, str):  # with more digits than milliseconds
            exact = datetime.fromisoformat(at)
            found["updated_at"] = exact if exact.tzinfo is not None else found["updated_at"]
    found["current_price"] = float(found["current_price"])
    return found


def labels(found: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of ``meta`` among the attributes of a frame."""
    return {name: found[name] for name in _LABELS if name in found}


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
