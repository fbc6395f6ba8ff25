"""The reply of a tool: a page of rows, their coverage, and what to say with them."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from liqdata.calls.traceback import nearest
from liqdata.errors import BadQuery, LiqdataError, NotCovered
from liqdata.results.units import open_interest_age

from . import schema
from .schema import columns_of, cut, iso, json_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .tools import AgentTool

__all__ = ["MOST_BYTES", "answer"]

MOST_BYTES = 20_000
_MOST_EXCHANGES, _MOST_CAVEATS = 4_000, 3_000
"""Bytes of what stands before the rows; the rows get what is left."""
_COUNTS = 40
"""Bytes of the numbers that are known when the rows are."""
_MOST_NAMES = 10


def answer(tool: AgentTool, of: Any, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Answer a call of a tool.

    Parameters
    ----------
    tool : AgentTool
        The tool.
    of : Client or Market
        The source.
    given : mapping
        The arguments as the agent wrote them.

    Returns
    -------
    tuple of dict and str
        The reply and its JSON text, at most 20 kB.

    Raises
    ------
    LiqdataError
        For wrong arguments, and if the source does not answer.
    """
    asked = _checked(tool, given)
    count, offset = asked.pop("limit", schema.FEW_ROWS), asked.pop("offset", 0)
    as_of = asked.get("as_of")
    with warnings.catch_warnings(action="ignore", category=NotCovered):  # the caveats say it
        found = tool.find(of, asked, offset, count)
        meta: dict[str, Any] = getattr(found.of, "meta", {})
        covered, declared = _covered(of, meta, as_of)
    source = meta.get("source", declared.get("source"))
    newest = meta.get("as_of", getattr(of, "now", None))
    price = getattr(found.of, "current_price", None)
    if price is None and tool.kind == "estimate":
        price = found.of["price"]
    simulated = getattr(found.of, "simulated", meta.get("simulated", declared.get("simulated")))
    reply: dict[str, Any] = {
        "kind": tool.kind,
        "simulated": simulated,
        "source": None if source is None else cut(str(source)),
        "as_of": iso(newest),
        **({"model": _model(meta), "price": price} if tool.kind == "estimate" else {}),
        "coverage": _shortened(covered),
        "caveats": _caveats(tool, meta, covered, simulated=simulated, units=getattr(found.of, "units", "usd")),
        "units": getattr(found.of, "units", "usd"),
        "rows": [],
        "returned": 0,
        "truncated": False,
        "remaining": None,
        "next": None,
    }
    # The next rows are read as of the same instant, so that new data do not move them.
    instant = as_of if hasattr(of, "base_url") or newest is None else iso(newest)
    following = {"offset": offset + count, **({} if instant is None else {"as_of": instant})}
    left = MOST_BYTES - _COUNTS - len(_text({**reply, "next": following}))
    reply["rows"] = _fitting((json_row(row, found.columns) for row in found.rows), left)
    reply["returned"] = len(reply["rows"])
    reply["truncated"] = found.more or reply["returned"] < len(found.rows)
    end = offset + reply["returned"]
    reply["remaining"] = (None if found.total is None else found.total - end) if reply["truncated"] else 0
    if reply["truncated"] and (found.reachable is None or end < found.reachable):
        reply["next"] = {**following, "offset": end}
    return reply, _text(reply).decode()


def _fitting(values: Iterable[Any], left: int) -> list[Any]:
    """The first values that fit into so many bytes."""
    found = []
    for value in values:
        left -= len(_text(value)) + 1
        if left < 0:
            break
        found.append(value)
    return found


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _checked(tool: AgentTool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the names and types of arguments; the source checks their values."""
    asked = {}
    for name, value in given.items():
        wanted = tool.arguments.get(name)
        if wanted is None:
            names = ", ".join(tool.arguments)
            msg = f"{name}: {tool.name} has no such argument; allowed: {names}{nearest(name, list(tool.arguments))}"
            raise BadQuery(msg, parameter=name)
        if value is None:
            continue
        kind = wanted["type"]
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)  # noqa: PLW2901 - JSON has no other whole numbers
        if isinstance(value, bool) or not isinstance(value, _PYTHON[kind]):
            msg = f"{name}: {value!r} is not allowed; allowed: {_IN_WORDS[kind]}"
            raise BadQuery(msg, parameter=name)
        low, high = wanted.get("minimum"), wanted.get("maximum")
        if (low is not None and value < low) or (high is not None and value > high):
            upper = "on" if high is None else f"to {high}"
            msg = f"{name}: {value!r} is not allowed; allowed: a whole number from {low} {upper}"
            raise BadQuery(msg, parameter=name)
        asked[name] = value
    return asked


_PYTHON: dict[str, Any] = {"string": str, "integer": int, "number": (int, float, str)}
_IN_WORDS = {"string": "text", "integer": "a whole number", "number": "a number"}


def _model(meta: Mapping[str, Any]) -> dict[str, Any]:
    explain = meta.get("explain") or {}
    version, view = explain.get("modelVersion"), meta.get("view")
    return {
        "number": explain.get("modelNumber"),
        "version": None if version is None else cut(str(version)),
        "view": None if view is None else cut(str(view)),
    }


def _covered(of: Any, meta: Mapping[str, Any], as_of: str | None) -> tuple[dict[str, Any] | None, Mapping[str, Any]]:
    """What the source recorded, of the period of the answer, else of the last 24 hours; the `meta` that says so."""
    rows = meta.get("coverage")
    declared = meta
    if rows is None:
        try:
            rows = of.coverage("24h", **({} if as_of is None else {"as_of": as_of}))
        except LiqdataError:  # a service without this extension
            return None, declared
        declared = rows.meta
    asked = meta.get("question") or {}
    columns = [each for each in columns_of("coverage") if each["name"] in {"exchange", *schema.BRIEF}]
    exchanges = [json_row(each, columns) for each in rows]
    shares = [each["connected_share"] for each in exchanges if each["connected_share"] is not None]
    covered = {
        "range": asked.get("range", "24h") if "coverage" in meta else "24h",
        "covered": meta.get("covered", sum(shares) / len(shares) if shares else None),
        "data_from": iso(meta.get("data_from")),
        "gaps": sum(each["gaps"] or 0 for each in exchanges),
        "exchanges": exchanges,
    }
    return covered, declared


def _shortened(covered: dict[str, Any] | None) -> dict[str, Any] | None:
    """The coverage with as many exchanges as a reply has room for."""
    return None if covered is None else {**covered, "exchanges": _fitting(covered["exchanges"], _MOST_EXCHANGES)}


def _caveats(
    tool: AgentTool, meta: Mapping[str, Any], covered: Mapping[str, Any] | None, *, simulated: bool | None, units: str
) -> list[str]:
    """Sentences that belong to the numbers of an answer."""
    said = []
    if simulated:
        said.append("Simulated market: these numbers say nothing about a real market.")
    if meta.get("replayed"):
        said.append("Replay of an archive: the time is not the present.")
    if tool.kind == "estimate":
        said += _of_estimate(meta, units)
    if meta.get("damaged"):
        said.append(f"The archive has {meta['damaged']} damaged files; their rows are missing.")
    if covered is None:
        return [*said, "The source does not say what it recorded: missing liquidations may have happened."]
    if meta.get("covered") == 0:
        said.append("No part of the period is covered: zeros and missing rows mean unknown.")
    shown, all_of_them = len(_fitting(covered["exchanges"], _MOST_EXCHANGES)), len(covered["exchanges"])
    if shown < all_of_them:
        said.append(f"`coverage` lists {shown} of {all_of_them} exchanges; the tool coverage has all.")
    incomplete, sampled = _of_coverage(covered)
    room = _MOST_CAVEATS - len(_text([*said, sampled]))
    named = _fitting(incomplete, room)
    if len(named) < len(incomplete):
        named.append(f"Not fully covered, too: {len(incomplete) - len(named)} further exchanges.")
    return [*said, *named, *sampled]


def _of_estimate(meta: Mapping[str, Any], units: str) -> list[str]:
    said = ["Estimate of a model that sees no accounts; score_note has its scores. No forecast, no advice."]
    age = open_interest_age(meta)
    if age is not None:
        said.append(f"Amounts use {age}.")
    if units == "relative":
        said.append("Open interest is unknown, a multiple of the volume replaces it: amounts are not USD.")
    return said


def _of_coverage(covered: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """A sentence for each exchange that is not fully covered, and those about what is published in part."""
    incomplete = []
    for each in covered["exchanges"]:
        share, gaps = each["connected_share"], each["gaps"]
        if gaps or (share is not None and share < 1):
            part = "an unknown share" if share is None else f"{min(100 * share, 99.9):.1f} %"
            known = "" if not gaps else f", {gaps} known gap{'' if gaps == 1 else 's'}"
            incomplete.append(f"{each['exchange']}: {part} of the last {covered['range']} covered{known}.")
    sampled = [each["exchange"] for each in covered["exchanges"] if each["completeness"] not in {None, "complete"}]
    if not sampled:
        return incomplete, []
    names = ", ".join(sampled[:_MOST_NAMES])
    names += f" and {len(sampled) - _MOST_NAMES} more" if len(sampled) > _MOST_NAMES else ""
    return incomplete, [f"Published only in part by {names}: realised totals are lower bounds."]
