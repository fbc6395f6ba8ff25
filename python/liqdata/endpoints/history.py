"""Liquidations over time: sums by period and group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import length, switch, symbols, time_range, usd
from liqdata.errors import BadQuery
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from datetime import timedelta
    from decimal import Decimal

    from liqdata import _core
    from liqdata.results.rows import Rows
    from liqdata.source.convert import Convert, Origin
    from liqdata.types import Bound, HistoryGroup, Instant

_GROUPS = ("coin", "symbol", "exchange", "side")


def history(
    symbol: str | Iterable[str] | None,
    *,
    interval: str | timedelta | int,
    by: HistoryGroup | Iterable[HistoryGroup],
    start: Bound | None,
    end: Bound | None,
    exchange: str | None,
    min_usd: float | Decimal | None,
    sparse: bool,
    as_of: Instant | None,
) -> Request[Rows[Any]]:
    """Request liquidated USD by period and group."""
    groups = _groups(by)
    names = symbols(symbol)
    if len(names) > 1 and not {"coin", "symbol"} & set(groups):
        msg = (
            f"by: {by!r} does not show which of the {len(names)} symbols a row belongs to; allowed: columns with "
            "'coin' or 'symbol' among them"
        )
        raise BadQuery(msg, parameter="by")
    if exchange is not None and not (isinstance(exchange, str) and exchange.strip()):
        msg = f"exchange: {exchange!r} is not allowed; allowed: the name of an exchange, such as binance"
        raise BadQuery(msg, parameter="exchange")
    parameters = {
        "symbol": ",".join(names) if names else None,
        "interval": str(length(interval)),
        "by": ",".join(groups) or "none",
        **time_range(start, end),
        "exchange": None if exchange is None else str(exchange),
        "min_usd": None if min_usd is None else usd(min_usd),
        "sparse": "1" if switch(sparse, "sparse") else None,
    }
    return Request("history", _grouped(groups), parameters, as_of)


def _grouped(groups: list[str]) -> Convert[Rows[Any]]:
    """Return a conversion of replies that drops the group columns that were not requested."""

    def converted(reply: _core.Table, origin: Origin) -> Rows[Any]:
        return convert.rows(reply.keeping(_GROUPS, groups), origin)

    return converted


def _groups(by: Any) -> list[str]:
    if isinstance(by, str):
        by = () if by == "none" else by.split(",")
    names: list[Any] = list(by) if isinstance(by, Iterable) else [by]
    for name in names:
        if name not in _GROUPS or names.count(name) > 1:
            allowed = f"one of {', '.join(map(repr, _GROUPS))}, several of them, or none (in Python ()) for totals"
            msg = f"by: {by!r} is not allowed; allowed: {allowed}"
            raise BadQuery(msg, parameter="by")
    return names
