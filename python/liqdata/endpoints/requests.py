"""Requests: the arguments of a method as the parameters of its endpoint.

A method passes its arguments by name. Those that the table of endpoints lists become parameters of the query. Most are
passed as they are, and the Rust core checks them; the others have a spelling of their own in Python (:data:`_SPELLED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import datetime_of, instant, period_text, relative, switch, symbols, time_range, usd
from liqdata.endpoints.cascades import gap_text
from liqdata.endpoints.contract import endpoints
from liqdata.endpoints.span import shown
from liqdata.errors import BadQuery
from liqdata.model import Model, native
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from liqdata.endpoints.contract import Parameter
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.record import Record
    from liqdata.results.rows import Rows
    from liqdata.source.convert import Origin

_JOINED = {"history", "cascades"}
"""Endpoints of which one query has all symbols; other endpoints get a query per symbol."""

_GROUPS = ("coin", "symbol", "exchange", "side")


def rows(endpoint: str, arguments: Mapping[str, Any]) -> Request[Rows[Any]]:
    """Request rows."""
    parameters = _parameters(endpoint, arguments)
    made = convert.rows
    if endpoint == "history":
        made = partial(_grouped, _checked_groups(parameters, arguments), parameters)
    elif endpoint == "maps":
        made = _with_versions
    elif endpoint == "positions":
        made = convert.positions
    elif endpoint == "orders" and arguments.get("source") is not None:
        made = partial(_with_source, arguments["source"])
    return Request(endpoint, made, parameters, arguments["as_of"])


def record(endpoint: str, arguments: Mapping[str, Any]) -> Request[Record]:
    """Request a reply that is one object."""
    parameters = _parameters(endpoint, arguments)
    return Request(endpoint, convert.record, parameters, arguments["as_of"], arguments.get("explain", False))


def heatmap(arguments: Mapping[str, Any]) -> Request[Heatmap]:
    """Request a heatmap."""
    parameters = _parameters("heatmap", arguments)
    return Request("heatmap", convert.heatmap, parameters, arguments["as_of"], arguments["explain"])


def liqmap(arguments: Mapping[str, Any]) -> Request[LiquidationMap]:
    """Request a liquidation map."""
    parameters = _parameters("liqmap", arguments)
    parameters |= _source_and_range(parameters["source"], parameters["range"])
    return Request("liqmap", convert.liqmap, parameters, arguments["as_of"], arguments["explain"])


def least_usd(min_usd: object) -> str | None:
    """The minimum amount as text with all its digits; ``None`` if there is none."""
    return None if min_usd is None else usd(min_usd)


def joined(symbol: object) -> str | None:
    """Several symbols as one text with commas; ``None`` for all."""
    return ",".join(symbols(symbol)) or None


def _parameters(endpoint: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as parameters of an endpoint."""
    table = endpoints()[endpoint].parameters
    found = {each.name: _spelled(each, arguments[each.name]) for each in table if each.name in arguments}
    if "start" in arguments:
        found |= time_range(arguments["start"], arguments["end"])
    is_range = found.get("start") is not None or found.get("end") is not None
    for each in table:
        # A service without an optional parameter answers its default. Start and end replace a default range.
        drops = is_range if each.name == "range" else each.optional and each.default is not None
        if drops and isinstance(found.get(each.name), str):
            found[each.name] = None if found[each.name] == each.default else found[each.name]
    if "span" in arguments:
        found |= shown(arguments["span"])
    if endpoint in _JOINED:
        found["symbol"] = joined(arguments["symbol"])
    return found


def _spelled(parameter: Parameter, value: object) -> object:
    """The value of a parameter as the Rust core takes it."""
    spelling = _SPELLED.get(parameter.name)
    absent = value is None and parameter.default is None and parameter.name not in _SWITCHES
    return value if spelling is None or absent else spelling(value)


def _by(by: Any) -> str:
    if isinstance(by, str):
        by = () if by == "none" else by.split(",")
    names: list[Any] = list(by) if isinstance(by, Iterable) else [by]
    for name in names:
        if name not in _GROUPS or names.count(name) > 1:
            allowed = f"one of {', '.join(map(repr, _GROUPS))}, several of them, or none (in Python ()) for totals"
            msg = f"by: {by!r} is not allowed; allowed: {allowed}"
            raise BadQuery(msg, parameter="by")
    return ",".join(names) or "none"


def _version(version: object) -> str:
    if isinstance(version, str) and version.strip():
        return version
    if isinstance(version, Model):
        return version.version
    msg = f'version: {version!r} is not allowed; allowed: the text of a version, a Model, or "unknown"'
    raise BadQuery(msg, parameter="version")


_SWITCHES = {"groups", "running", "sparse"}

_SPELLED: dict[str, Callable[[Any], object]] = {
    "by": _by,
    "gap": gap_text,
    "interval": period_text,
    "min_usd": usd,
    "model": native,
    "version": _version,
    # `_parameters` spells these three together with others.
    **dict.fromkeys(("span", "start", "end"), lambda _: None),
    **{name: partial(lambda name, wanted: "1" if switch(wanted, name) else None, name) for name in _SWITCHES},
}
"""How arguments are spelled as parameters."""


def _source_and_range(source: str | None, range: str) -> dict[str, str | None]:
    """Check the parameters ``range`` and ``source`` of a liquidation map, which restrict each other."""
    if source is None or source == "estimate":
        return {"source": None}
    if source != "positions":  # of a recording
        return {}
    # A `range` equal to the default is accepted, because the caller may not have passed it.
    _core.question("liqmap", range=range)
    if range not in {"1d", "all"}:
        msg = (
            f"range: {range!r} is not allowed for a map of observed positions, because their opening times are "
            f"unknown; "
            'allowed: "all", which is also the default'
        )
        raise BadQuery(msg, parameter="range")
    return {"range": "all"}


def _checked_groups(parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """The group columns of a history, which must show the symbol of a row."""
    groups = [] if parameters["by"] == "none" else parameters["by"].split(",")
    count = len((parameters["symbol"] or "").split(","))
    if count > 1 and not {"coin", "symbol"} & set(groups):
        msg = (
            f"by: {arguments['by']!r} does not show which of the {count} symbols a row belongs to; allowed: columns "
            "with 'coin' or 'symbol' among them"
        )
        raise BadQuery(msg, parameter="by")
    return groups


def _grouped(groups: list[str], parameters: Mapping[str, Any], reply: _core.Table, origin: Origin) -> Rows[Any]:
    """Convert a history to rows, without the group columns that were not requested.

    Without a start, ``meta["range"]`` has the time that the rows are about.
    """
    found = convert.rows(reply.keeping(_GROUPS, groups), origin)
    if parameters["start"] is None and origin.as_of is not None:
        end = origin.as_of
        if parameters["end"] is not None:
            ago = relative(parameters["end"])
            end = (
                datetime_of(instant(parameters["end"], "end") or 0)
                if ago is None
                else end - timedelta(milliseconds=ago)
            )
        found.meta["range"] = (end - timedelta(days=1), end)
    return found


def _with_versions(reply: _core.Table, origin: Origin) -> Rows[Any]:
    """Convert stored maps to rows, and list the model versions in their ``meta``."""
    found = convert.rows(reply, origin)
    _, versions = reply.codes("version")
    found.meta["versions"] = [*sorted(filter(None, versions)), *([None] if "" in versions else [])]
    return found


def _with_source(source: str, reply: _core.Table, origin: Origin) -> Rows[Any]:
    """Convert recorded orders to rows with a column that names the recording."""
    table: Any = reply  # the constructor that pickle uses takes columns
    restore, (state, count) = table.__reduce__()
    named = ("source", "text", ([0] * count, [source.lower()]), None)
    found = convert.rows(restore([*state, named], count), origin)
    found.meta["recording"] = source.lower()
    return found
