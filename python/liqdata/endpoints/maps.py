"""Estimated maps that a server sent and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import time_range
from liqdata.errors import BadQuery
from liqdata.model import Model
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata import _core
    from liqdata.results.rows import Rows
    from liqdata.source.convert import Origin
    from liqdata.types import Bound, Instant, MapKind


def maps(
    symbol: str | Sequence[str] | None,
    *,
    kind: MapKind | None,
    version: str | Model | None,
    start: Bound | None,
    end: Bound | None,
    as_of: Instant | None,
) -> Request[Rows[Any]]:
    """Request the stored maps of an archive."""
    parameters = {"symbol": symbol, "kind": kind, "version": _version(version), **time_range(start, end)}
    return Request("maps", _with_versions, parameters, as_of)


def _with_versions(reply: _core.Table, origin: Origin) -> Rows[Any]:
    """Convert a reply to rows, and list the model versions in their ``meta``."""
    found = convert.rows(reply, origin)
    _, versions = reply.codes("version")
    found.meta["versions"] = [*sorted(filter(None, versions)), *([None] if "" in versions else [])]
    return found


def _version(version: object) -> str | None:
    if version is None or (isinstance(version, str) and version.strip()):
        return version
    if isinstance(version, Model):
        return version.version
    msg = f'version: {version!r} is not allowed; allowed: the text of a version, a Model, or "unknown"'
    raise BadQuery(msg, parameter="version")
