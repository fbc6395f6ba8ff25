"""Single liquidation orders: the largest, one page, all of them, and new ones as they arrive."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import instant, resolved, switch, time_range, usd
from liqdata.calls.progress import bar
from liqdata.source import convert
from liqdata.source.request import Request
from liqdata.stream import AsyncOrderStream, OrderStream
from liqdata.walk import AsyncOrderIterator, OrderIterator, at_most, pages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from liqdata.results.rows import Rows
    from liqdata.source.local import LocalSource
    from liqdata.source.service import Service
    from liqdata.types import Bound, Instant, Progress, Window

_CHUNK = 2**16
"""Number of rows that are read from the Rust core at a time."""


def largest(
    range: Window,
    limit: int,
    *,
    symbol: str | Sequence[str] | None,
    exchange: str | None,
    min_usd: float | Decimal | None,
    as_of: Instant | None,
) -> Request[Rows[Any]]:
    """Request the largest orders of a window."""
    parameters = {
        "symbol": symbol,
        "range": range,
        "limit": limit,
        "exchange": exchange,
        "min_usd": _usd_or_none(min_usd),
    }
    return Request("largest", convert.rows, parameters, as_of)


def orders(
    symbol: str | Sequence[str] | None,
    exchange: str | None,
    limit: int,
    offset: int,
    *,
    min_usd: float | Decimal | None,
    start: Bound | None,
    end: Bound | None,
    groups: bool,
    as_of: Instant | None,
) -> Request[Rows[Any]]:
    """Request a page of orders."""
    parameters = {
        "symbol": symbol,
        "exchange": exchange,
        "limit": limit,
        "offset": offset,
        "min_usd": _usd_or_none(min_usd),
        **time_range(start, end),
        "groups": "1" if switch(groups, "groups") else None,
    }
    return Request("orders", convert.rows, parameters, as_of)


def iter_orders(
    service: Service,
    symbol: str | None,
    exchange: str | None,
    *,
    page_size: int,
    max_rows: int | None,
    progress: Progress,
    min_usd: float | Decimal | None,
    start: Bound | None,
    end: Bound | None,
    groups: bool,
    as_of: Instant | None,
) -> OrderIterator[Any]:
    """Iterate over all orders of a service."""
    at = instant(as_of, "as_of")
    walk = service.core.walk(
        symbol,
        exchange,
        _usd_or_none(min_usd),
        page_size,
        max_rows,
        *resolved(start, end, None),
        at,
        switch(groups, "groups"),
    )
    return OrderIterator(
        lambda: walk.begin_next().wait(),
        bar(wanted=progress, total=max_rows),
        lambda: service.options.origin(at)._replace(time_unit=walk.time_unit),
        lambda: walk.end,
        groups=groups,
    )


def iter_orders_async(
    service: Service,
    symbol: str | None,
    exchange: str | None,
    *,
    page_size: int,
    max_rows: int | None,
    progress: Progress,
    min_usd: float | Decimal | None,
    start: Bound | None,
    end: Bound | None,
    groups: bool,
    as_of: Instant | None,
) -> AsyncOrderIterator[Any]:
    """Iterate over all orders of a service, for ``async for``."""
    from liqdata.calls.event_loop import answer

    at = instant(as_of, "as_of")
    walk = service.core.walk(
        symbol,
        exchange,
        _usd_or_none(min_usd),
        page_size,
        max_rows,
        *resolved(start, end, None),
        at,
        switch(groups, "groups"),
    )
    return AsyncOrderIterator(
        lambda: answer(walk.begin_next),
        bar(wanted=progress, total=max_rows),
        lambda: service.options.origin(at)._replace(time_unit=walk.time_unit),
        lambda: walk.end,
        groups=groups,
    )


def iter_orders_local(
    source: LocalSource,
    symbol: str | None,
    exchange: str | None,
    *,
    page_size: int,
    max_rows: int | None,
    progress: Progress,
    min_usd: float | Decimal | None,
    start: Bound | None,
    end: Bound | None,
    groups: bool,
    as_of: Instant | None,
) -> OrderIterator[Any]:
    """Iterate over all orders of a market in this process."""
    least = _usd_or_none(min_usd)
    most = _core.walk_bounds(symbol, exchange, least, page_size, max_rows)
    at = instant(as_of, "as_of")
    core = source.open_core()
    first, last = resolved(start, end, core.now if at is None else at)
    grouped = switch(groups, "groups")
    history = core.history(symbol, exchange, least, first, last, at, grouped)
    if history is not None:
        following = history.next
    else:
        chunk = _CHUNK if most is None or (first, last) != (None, None) else min(_CHUNK, most)
        page = partial(core.page, symbol, exchange, least, chunk)
        following = pages(lambda offset: page(offset, at, grouped), chunk, first, last)
    shown = bar(wanted=progress, total=max_rows)
    return OrderIterator(at_most(following, most), shown, lambda: source.origin(at), groups=grouped)


def stream_orders(
    service: Service,
    symbol: str | None,
    exchange: str | None,
    *,
    min_usd: float | Decimal | None,
    last_event_id: str | None,
) -> OrderStream[Any]:
    """Stream the new orders of a service."""
    core = service.core.stream(symbol, exchange, _usd_or_none(min_usd), last_event_id)
    return OrderStream(core, decimals=service.options.decimals)


def stream_orders_async(
    service: Service,
    symbol: str | None,
    exchange: str | None,
    *,
    min_usd: float | Decimal | None,
    last_event_id: str | None,
) -> AsyncOrderStream[Any]:
    """Stream the new orders of a service, for ``async for``."""
    core = service.core.stream(symbol, exchange, _usd_or_none(min_usd), last_event_id)
    return AsyncOrderStream(core, decimals=service.options.decimals)


def stream_orders_local(
    source: LocalSource,
    symbol: str | None,
    exchange: str | None,
    *,
    min_usd: float | Decimal | None,
    last_event_id: str | None,
) -> OrderStream[Any]:
    """Stream the new orders of a market in this process."""
    core = source.open_core().stream(symbol, exchange, _usd_or_none(min_usd), last_event_id)
    return OrderStream(core, decimals="decimal")


def _usd_or_none(min_usd: object) -> str | None:
    """The minimum amount as text with all its digits; ``None`` if there is none."""
    return None if min_usd is None else usd(min_usd)
