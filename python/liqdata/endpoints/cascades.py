"""Cascades: orders of one coin and side in quick succession, from the past or as they end."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import many, symbols, time_range, usd
from liqdata.errors import BadQuery
from liqdata.source import convert
from liqdata.source.request import Request
from liqdata.stream import AsyncCascadeStream, CascadeStream

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from liqdata.results.rows import Rows
    from liqdata.source.local import LocalSource
    from liqdata.source.service import Service
    from liqdata.types import Bound, Instant

_SECOND = 1000
_DAY = 24 * 60 * 60 * _SECOND
_MILLISECOND = timedelta(milliseconds=1)


def cascades(
    symbol: str | Iterable[str] | None,
    *,
    gap: str | timedelta | int,
    min_usd: float | Decimal,
    start: Bound | None,
    end: Bound | None,
    as_of: Instant | None,
) -> Request[Rows[Any]]:
    """Request the cascades that started between two instants."""
    names = symbols(symbol)
    times = time_range(start, end)
    parameters = {
        "symbol": ",".join(names) if names else None,
        "gap": gap_text(gap),
        "min_usd": usd(min_usd),
        **times,
    }
    return Request("cascades", convert.rows, parameters, as_of)


def stream_cascades(
    service: Service,
    symbol: str | Iterable[str] | None,
    *,
    gap: str | timedelta | int,
    min_usd: float | Decimal,
    last_event_id: str | None,
) -> CascadeStream[Any]:
    """Stream the cascades of a service as they end."""
    core = service.core.cascade_stream(_joined(symbol), gap_text(gap), usd(min_usd), last_event_id)
    return CascadeStream(core, decimals=service.options.decimals)


def stream_cascades_async(
    service: Service,
    symbol: str | Iterable[str] | None,
    *,
    gap: str | timedelta | int,
    min_usd: float | Decimal,
    last_event_id: str | None,
) -> AsyncCascadeStream[Any]:
    """Stream the cascades of a service as they end, for ``async for``."""
    core = service.core.cascade_stream(_joined(symbol), gap_text(gap), usd(min_usd), last_event_id)
    return AsyncCascadeStream(core, decimals=service.options.decimals)


def stream_cascades_local(
    source: LocalSource,
    symbol: str | Iterable[str] | None,
    *,
    gap: str | timedelta | int,
    min_usd: float | Decimal,
    last_event_id: str | None,
) -> CascadeStream[Any]:
    """Stream the cascades of a market in this process as they end."""
    core = source.open_core().cascade_stream(_joined(symbol), gap_text(gap), usd(min_usd), last_event_id)
    return CascadeStream(core, decimals="decimal")


def _joined(symbol: object) -> object:
    """Join several symbols with commas; return a single symbol unchanged."""
    several = many(symbol)
    if several is None:
        return symbol
    names = symbols(several)
    return ",".join(names) if names else None


def gap_text(gap: object) -> str:
    """The maximum time between two orders of a cascade, in the spelling of a query string."""
    found = milliseconds(gap)
    return str(found) if found >= _SECOND else f"{found}ms"


def milliseconds(gap: object) -> int:
    """Check the maximum time between two orders of a cascade, and convert it to milliseconds."""
    found: int | None = None
    if isinstance(gap, timedelta):
        found = None if gap % _MILLISECOND else gap // _MILLISECOND
    elif isinstance(gap, str):
        found = _core.span(gap)
        if found is None and gap.isdecimal() and gap.isascii():
            found = int(gap)
    elif isinstance(gap, int) and not isinstance(gap, bool):
        found = gap
    if found is not None and 0 < found < _SECOND and not (isinstance(gap, timedelta) or _core.span(str(gap))):
        msg = f'gap: {gap} has no unit: it would be {gap} milliseconds; allowed: "{gap}s" for seconds, or "{gap}ms"'
        raise BadQuery(msg, parameter="gap")
    if found is None or not 0 < found <= _DAY:
        msg = f'gap: {gap!r} is not allowed; allowed: from "1ms" to "1d", such as "60s", a timedelta, or milliseconds'
        raise BadQuery(msg, parameter="gap")
    return found
