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
    "iso",
    "json_row",
    "output",
    "paging",
    "rows_schema",
]

MOST_ROWS = 500
FEW_ROWS = 50

_JSON = {"text": "string", "decimal": "string", "time": "string", "int": "integer", "float": "number"}
# The table has `min_usd` as text, because it can have more digits than a float.
_RECORDED = "a recorded source"
"""Announces that a parameter accepts the name of any recorded source, too."""

_AMOUNTS = frozenset({"min_usd"})

AS_OF = {
    "type": "string",
    "description": "Use only data received up to this instant: ISO 8601, UTC by default, or epoch milliseconds.",
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
        kind: Any = ["number", "string"] if name in _AMOUNTS else _JSON[parameter.type]
        more: dict[str, Any] = {} if parameter.default is None else {"default": parameter.default}
        if parameter.values and _RECORDED not in parameter.values:
            # A `Model` object has no spelling for agents.
            values = [each for each in parameter.values if each != "Model"]
            more["enum"] = [int(each) for each in values] if kind == "integer" else values
        made[name] = {"type": kind, "description": _sentence(parameter.meaning), **more}
    return made


def paging(default: int = FEW_ROWS, most: int = MOST_ROWS) -> dict[str, dict[str, Any]]:
    """The arguments that select a page of rows."""
    return {
        "limit": argument("integer", "most rows of the reply", default=default, minimum=1, maximum=most),
        "offset": argument("integer", "rows to skip; `next` of a truncated reply has it", default=0, minimum=0),
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


def rows_schema(columns: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The schema of a row."""
    properties = {}
    for each in columns:
        unit = f" ({each['unit']})" if each["unit"] else ""
        properties[each["name"]] = {
            "type": [_JSON[each["type"]], "null"],
            "description": f"{each['meaning'].rstrip('.')}{unit}.",
        }
        if each["type"] == "time":
            properties[each["name"]]["format"] = "date-time"
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def output(rows: dict[str, Any]) -> dict[str, Any]:
    """The schema of a reply."""
    properties: dict[str, Any] = {
        "kind": {
            "enum": ["realised", "estimate", "measured"],
            "description": "realised: liquidations that happened; estimate: computed from a model; measured: a score.",
        },
        "simulated": {"type": ["boolean", "null"], "description": "Whether the market is simulated; null: unknown."},
        "source": {"type": ["string", "null"], "description": "Where the rows come from; null: unknown."},
        "as_of": {"type": ["string", "null"], "format": "date-time", "description": "Instant of the newest data."},
        "model": {
            "type": "object",
            "description": "The model, of estimates.",
            "properties": {
                "number": {"type": ["integer", "null"]},
                "version": {"type": ["string", "null"]},
                "view": {
                    "type": ["string", "null"],
                    "description": "exposed: open interest that would be liquidated; expected: USD that exchanges "
                    "are expected to report; measured: positions that were seen.",
                },
            },
            "required": ["number", "version", "view"],
            "additionalProperties": False,
        },
        "price": {"type": ["number", "null"], "description": "Price at that instant, of estimates."},
        "coverage": {
            "type": ["object", "null"],
            "description": "What was recorded; null if the source does not say.",
            "properties": {
                "range": {"type": "string"},
                "covered": {"type": ["number", "null"], "description": "Covered share of the period, 0 to 1."},
                "data_from": {"type": ["string", "null"], "format": "date-time"},
                "gaps": {"type": "integer", "description": "Known gaps of all exchanges within the range."},
                "exchanges": {
                    "type": "array",
                    "items": rows_schema(
                        each for each in columns_of("coverage") if each["name"] in {"exchange", *BRIEF}
                    ),
                },
            },
            "required": ["range", "covered", "data_from", "gaps", "exchanges"],
            "additionalProperties": False,
        },
        "caveats": {"type": "array", "items": {"type": "string"}, "description": "What to say with these numbers."},
        "units": {"enum": ["usd", "relative"], "description": "relative: amounts are comparable, but are not USD."},
        "rows": {"type": "array", "items": rows},
        "returned": {"type": "integer", "description": "Number of rows in this reply."},
        "truncated": {"type": "boolean", "description": "Whether rows exist beyond those of this reply."},
        "remaining": {
            "type": ["integer", "null"],
            "description": "Number of rows beyond those of this reply; null if the source does not count them.",
        },
        "next": {
            "type": ["object", "null"],
            "description": "Arguments to add for the next rows; null if there are none, or if they cannot be read.",
            "additionalProperties": True,
        },
    }
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in {"model", "price"}],
        "additionalProperties": False,
    }


BRIEF = ("connected_share", "completeness", "gaps")
"""The columns of the coverage that every reply has."""


def iso(when: Any) -> str | None:
    """An instant as ISO 8601 text in UTC."""
    if when is None:
        return None
    if not isinstance(when, datetime):
        when = datetime.fromtimestamp(int(when) / 1000, UTC)
    return str(when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"))


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
    return str(value)
