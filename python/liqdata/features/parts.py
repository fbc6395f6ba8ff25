"""Requests for features: a few instants each, so that a query fits into a URL and an answer into a deadline."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import relative, time_range
from liqdata.errors import UnexpectedReply

if TYPE_CHECKING:
    from collections.abc import Generator

    from .question import FeatureQuestion, Grid

Reply = tuple[_core.Table, list[str], list[str]]

_QUERY = 7_680
"""Bytes of a query; ``liqdata serve`` takes 8 KiB by default."""
_PER_INSTANT = 16
_FIRST = 16
"""Instants of the first request."""
_SHORT, _LONG = 0.5, 2.0
"""Seconds: after a shorter answer the next request has more instants, after a longer one fewer."""


def requests(asked: FeatureQuestion) -> Generator[dict[str, Any], Reply, Reply]:
    """Yield the parameters of each request, receive its reply, and return the joined reply."""
    given = {name: value for name, value in _parameters(asked).items() if value is not None}
    instants = sorted(asked.instants)
    if asked.grid is not None:
        bounds = {name: value for name, value in time_range(asked.grid.start, asked.grid.end).items() if value}
        only = {"symbols": asked.symbols[0], "columns": "at,coin", "every": f"{asked.grid.step}ms", **bounds}
        table, _, _ = yield given | only
        instants = table.array("at").astype("int64").tolist()
        _check(instants, asked.grid)
    most = max(1, (_QUERY - _core.feature_query_length(given)) // _PER_INSTANT)
    tables, units, views = [], set(), set()
    done, size = 0, _FIRST
    while done < len(instants):
        part = instants[done : done + min(size, most)]
        began = time.monotonic()
        table, of_units, of_views = yield {**given, "at": ",".join(map(str, part))}
        took = time.monotonic() - began
        size = 2 * size if took < _SHORT else max(1, size // 2) if took > _LONG else size
        done += len(part)
        tables.append(table)
        units.update(of_units)
        views.update(of_views)
    opens = asked.opens if asked.columns is None or "bar_open" in asked.columns else None
    return _core.Table.joined_features(tables, opens), sorted(units), sorted(views)


def _check(instants: list[int], grid: Grid) -> None:
    """Refuse the instants of a reply that lacks some, such as one that a proxy cut."""
    steps = all(after - before == grid.step for before, after in itertools.pairwise(instants))
    if relative(grid.start) is None and relative(grid.end) is None and grid.start is not None and grid.end is not None:
        steps = instants == grid.instants(None)
    if not instants or not steps:
        msg = f"at: the {len(instants)} instants of the reply are not all of the requested ones"
        raise UnexpectedReply(msg, path="at")


def _parameters(asked: FeatureQuestion) -> dict[str, Any]:
    """The parameters of the endpoint, without instants."""
    columns = ["all"] if asked.columns is None else ["at", "coin", *asked.columns]
    return {
        "symbols": ",".join(asked.symbols),
        "windows": ",".join(name for name, _ in asked.windows) or "none",
        "within": ",".join(map(repr, asked.moves)) or "none",
        "range": asked.range,
        "model": asked.model,
        "exchange": asked.exchange,
        "latency": f"{asked.latency}ms",
        "columns": ",".join(name for name in dict.fromkeys(columns) if name != "bar_open"),
    }
