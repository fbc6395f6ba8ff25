"""Answers as JSON values, and their schemas of pydantic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import millis_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

__all__ = ["exact_members", "finite", "numbers", "schema_of"]


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


def exact_members(shares: npt.NDArray[np.float64] | None, meta: dict[str, Any]) -> dict[str, Any]:
    """The members of a reply about the known positions of a blended map; none for another map.

    Parameters
    ----------
    shares : numpy.ndarray, optional
        The share of known positions in each bin or row.
    meta : dict
        The ``meta`` of the map.

    Returns
    -------
    dict
    """
    if shares is None:
        return {}
    exchanges = [
        {_camel(name): value for name, value in (one | {"observed_at": millis_of(one["observed_at"])}).items()}
        for one in meta.get("measured_exchanges", [])
    ]
    within = {str(percent): share for percent, share in meta.get("exact_within", {}).items()}
    return {
        "exactShare": numbers(shares),
        "exact": {"share": meta.get("exact_share"), "within": within, "exchanges": exchanges},
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


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
