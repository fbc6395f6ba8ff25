"""The table of endpoints, which ``/api`` of a server lists."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from liqdata import _core

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parameter(NamedTuple):
    """A parameter of an endpoint; its ``type`` is ``"text"`` or ``"int"``."""

    name: str
    default: str | int | None
    allowed: str
    values: tuple[str, ...]
    type: Literal["text", "int"]
    optional: bool
    meaning: str


# Columns that a reply has only if a parameter is set, and the name of this parameter.
_OPTIONAL_COLUMNS = {"group_id": "groups"}


class Endpoint(NamedTuple):
    """One endpoint: its parameters, and the columns or keys of its reply."""

    name: str
    path: str
    enveloped: bool
    parameters: tuple[Parameter, ...]
    meaning: str
    reply: Literal["rows", "object", "events", "csv"]
    columns: tuple[dict[str, Any], ...]
    extension: bool

    def reply_columns(self, asked: Mapping[str, object]) -> list[dict[str, Any]]:
        """The columns of the rows in Python that answer a request with these parameters."""
        return [
            column
            for column in self.columns
            if not column.get("extension")
            and (column["name"] not in _OPTIONAL_COLUMNS or asked.get(_OPTIONAL_COLUMNS[column["name"]], False))
        ]


@cache
def endpoints() -> dict[str, Endpoint]:
    """The endpoints by name: first those of the contract, in its order, then the extensions of liqdata."""
    contract, extensions = json.loads(_core.endpoints())
    return {
        entry["name"]: _endpoint(entry, extension=extension)
        for entries, extension in ((contract, False), (extensions, True))
        for entry in entries
    }


def _endpoint(entry: dict[str, Any], *, extension: bool) -> Endpoint:
    parameters = tuple(_parameter(parameter) for parameter in entry["parameters"])
    columns = tuple(entry["columns"])
    return Endpoint(**{**entry, "parameters": parameters, "columns": columns}, extension=extension)


def _parameter(parameter: dict[str, Any]) -> Parameter:
    return Parameter(**{**parameter, "default": _default(parameter), "values": tuple(parameter["values"])})


def _default(parameter: dict[str, Any]) -> str | int | None:
    default: str | None = parameter["default"]
    return int(default) if default is not None and parameter["type"] == "int" else default
