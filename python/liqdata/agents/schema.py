"""JSON schemas of arguments and rows, made from the table of endpoints."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.endpoints.contract import endpoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "argument",
    "arguments",
    "cluster_columns",
    "column",
    "columns_of",
    "cut",
    "iso",
    "json_row",
    "nullable",
    "output",
    "paging",
    "rows_schema",
]

MOST_ROWS = 500
FEW_ROWS = 50

_JSON = {"text": "string", "decimal": "string", "time": "string", "int": "integer", "float": "number"}
# The table has `min_usd` as text, because it can have more digits than a float; text is accepted for numbers.
_RECORDED = "a recorded source"
"""Announces that a parameter accepts the name of any recorded source, too."""

_AMOUNTS = frozenset({"min_usd"})

AS_OF = {
    "type": "string",
    "description": "Only data received up to this instant: ISO 8601 (UTC) or epoch milliseconds.",
}


def argument(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    """The schema of an argument."""
    return {"type": kind, "description": f"{meaning[0].upper()}{meaning[1:]}.", **more}


def arguments(endpoint: str, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The schemas of some parameters of an endpoint."""
    table = {each.name: each for each in endpoints()[endpoint].parameters}
    made = {}
    for name in names:
        parameter = table[name]
        kind = "number" if name in _AMOUNTS else _JSON[parameter.type]
        more: dict[str, Any] = {} if parameter.default is None else {"default": parameter.default}
        if parameter.values and _RECORDED not in parameter.values:
            # A `Model` object has no spelling for agents.
            values = [each for each in parameter.values if each != "Model"]
            more["enum"] = [int(each) for each in values] if kind == "integer" else values
        made[name] = {"type": kind, "description": _sentence(parameter.meaning), **more}
    return made


def nullable(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an optional argument: clients that send every argument send null for it."""
    enum = {"enum": [*wanted["enum"], None]} if "enum" in wanted else {}
    return {**wanted, "type": [wanted["type"], "null"], **enum}


def paging(default: int = FEW_ROWS, most: int = MOST_ROWS) -> dict[str, dict[str, Any]]:
    """The arguments that select a page of rows."""
    return {
        "limit": argument("integer", "most rows of the reply", default=default, minimum=1, maximum=most),
        "offset": argument("integer", "rows to skip, from `next`", default=0, minimum=0),
    }


def _sentence(meaning: str) -> str:
    text = meaning.removesuffix("; an extension of our server")
    return f"{text[0].upper()}{text[1:]}."


def column(name: str, kind: str, meaning: str, unit: str = "") -> dict[str, Any]:
    """A column that no endpoint has, in the form of the table."""
    return {"name": name, "type": kind, "meaning": meaning, "unit": unit}


def columns_of(endpoint: str) -> list[dict[str, Any]]:
    """The columns of the rows of an endpoint."""
    return endpoints()[endpoint].reply_columns({})


def cluster_columns() -> list[dict[str, Any]]:
    """The columns of the clusters of a map."""
    return list(json.loads(_core.cluster_columns()))


def rows_schema(kinds: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, Any]:
    """The schema of a row, with the columns of every kind of row; ``liqdata://columns`` has their meaning."""
    types: dict[str, dict[str, None]] = {}
    for each in (each for columns in kinds for each in columns):
        types.setdefault(each["name"], {})[_JSON[each["type"]]] = None
    return {"type": "object", "properties": {name: {"type": [*found, "null"]} for name, found in types.items()}}


def output(rows: dict[str, Any], kind: str) -> dict[str, Any]:
    """The schema of a reply."""
    of_estimate: dict[str, Any] = {"model": {"type": "object"}, "price": {"type": ["number", "null"]}}
    properties: dict[str, Any] = {
        "kind": {"const": kind},
        "simulated": {"type": ["boolean", "null"]},
        "source": {"type": ["string", "null"]},
        "as_of": {"type": ["string", "null"]},
        **(of_estimate if kind == "estimate" else {}),
        "coverage": {"type": ["object", "null"]},
        "caveats": {"type": "array", "items": {"type": "string"}},
        "units": {"enum": ["usd", "relative"]},
        "rows": {"type": "array", "items": rows},
        "returned": {"type": "integer"},
        "truncated": {"type": "boolean"},
        "remaining": {"type": ["integer", "null"]},
        "next": {"type": ["object", "null"]},
    }
    return {"type": "object", "properties": properties, "required": ["kind", "caveats", "rows", "truncated", "next"]}


BRIEF = ("connected_share", "completeness", "gaps")
"""The columns of the coverage that every reply has."""


def iso(when: Any) -> str | None:
    """An instant as ISO 8601 text in UTC."""
    if when is None:
        return None
    if not isinstance(when, datetime):
        when = datetime.fromtimestamp(int(when) / 1000, UTC)
    return str(when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"))


_MOST_TEXT = 200


def cut(text: str) -> str:
    """A text of a source, without the end of a very long one, so that every reply has room for a row."""
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def json_row(row: Mapping[str, Any], columns: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A row with JSON values: instants as ISO text, decimals as strings, missing values as null."""
    return {each["name"]: _json_value(row.get(each["name"]), each["type"]) for each in columns}


def _json_value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "time":
        return iso(value)
    if kind == "decimal":
        return f"{value:f}"
    if kind == "int":
        return int(value)
    if kind == "float":
        found = float(value)
        return found if abs(found) < float("inf") else None  # NaN and infinity have no JSON
    return cut(str(value))
