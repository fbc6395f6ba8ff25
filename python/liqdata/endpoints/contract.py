"""The table of endpoints as the native half has it: what ``/api`` of a server lists."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from liqdata import _core

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parameter(NamedTuple):
    """What may be asked of an endpoint; text, or a whole number where ``type`` says so."""

    name: str
    default: str | int | None
    allowed: str
    values: tuple[str, ...]
    type: Literal["text", "int"]
    optional: bool
    meaning: str


# The columns that are there only where a parameter asks for them, and which.
_ASKED_FOR = {"group_id": "groups"}


class Endpoint(NamedTuple):
    """One endpoint: its question, and the columns of its rows or members of its object."""

    name: str
    path: str
    enveloped: bool
    parameters: tuple[Parameter, ...]
    meaning: str
    reply: Literal["rows", "object", "events"]
    columns: tuple[dict[str, Any], ...]
    extension: bool

    def answered(self, asked: Mapping[str, object]) -> list[dict[str, Any]]:
        """The columns that an answer has where that was asked: some are there only where a parameter asks for them."""
        return [
            column
            for column in self.columns
            if column["name"] not in _ASKED_FOR or asked.get(_ASKED_FOR[column["name"]], False)
        ]


@cache
def endpoints() -> dict[str, Endpoint]:
    """The contract's endpoints in its order, then those beside them, by name."""
    contract, beside = json.loads(_core.endpoints())
    return {
        entry["name"]: _endpoint(entry, extension=extension)
        for entries, extension in ((contract, False), (beside, True))
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
