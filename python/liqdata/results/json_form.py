"""Answers as JSON values, and their schemas of pydantic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

__all__ = ["finite", "numbers", "schema_of"]


def finite(cell: Any) -> Any:
    """A cell, or ``None`` for a float that JSON does not have."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def numbers(array: npt.NDArray[np.float64]) -> list[Any]:
    """An array as nested lists, with ``None`` for what is not finite."""
    import numpy as np

    cells: npt.NDArray[Any] = array
    missing = ~np.isfinite(array)
    if missing.any():
        cells = array.astype(object)
        cells[missing] = None
    found: list[Any] = cells.tolist()
    return found


def schema_of(kind: type[Any], form: Callable[[Any], Any], *, listed: bool = False) -> Any:
    """The schema with which pydantic checks and writes an answer.

    Parameters
    ----------
    kind : type
        The class of the answer, which is all that is checked.
    form : callable
        Converts an answer to JSON values.
    listed : bool
        Whether the JSON values are a list of objects, not one object.

    Returns
    -------
    dict
        A schema of pydantic-core.
    """
    from pydantic_core import core_schema

    written = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
    return core_schema.is_instance_schema(
        kind,
        serialization=core_schema.plain_serializer_function_ser_schema(
            form, return_schema=core_schema.list_schema(written) if listed else written
        ),
    )
