"""What is alerted: :class:`Rule`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from liqdata.calls.arguments import choice, number, symbols, usd
from liqdata.calls.traceback import public_methods
from liqdata.endpoints.cascades import milliseconds
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from decimal import Decimal

__all__ = ["Rule"]

_FIELDS = {
    "cascade": ("usd", "symbol", "gap", "min_usd"),
    "order": ("usd", "symbol"),
    "cluster": ("usd", "symbol", "distance"),
    "coverage": (),
}
"""The kinds of alerts, and the fields that each has."""


@public_methods
@dataclass(frozen=True)
class Rule:
    """A condition for which an alert is sent.

    Parameters
    ----------
    kind : {"cascade", "order", "cluster", "coverage"}
        ``"cascade"``: a cascade reaches ``usd``. ``"order"``: an order has at least ``usd``. ``"cluster"``: the price
        comes near a cluster of ``liqmap(symbol, "7d")``, and when it passes the peak of the cluster. ``"coverage"``: an
        exchange was not connected for half a minute, or the source does not answer.
    usd : float, Decimal or str, optional
        Smallest cascade, order or cluster. Required for these kinds.
    symbol : str or sequence of str, optional
        Coins or pairs, all by default. A cluster needs at least one coin.
    gap : str, timedelta or int, optional
        Of a cascade: maximum time between two successive orders, as in :meth:`liqdata.Client.cascades`; ``"60s"`` by
        default.
    min_usd : float, Decimal or str, optional
        Of a cascade: smallest cascade that :func:`watch` shows; ``usd`` by default.
    distance : float, optional
        Of a cluster: distance of the price from its near edge, in percent; 1 by default.

    Raises
    ------
    BadQuery
        For a value that is not allowed, and for a field that another kind has.

    Examples
    --------
    >>> from liqdata import alerts
    >>> alerts.Rule("cluster", 20_000_000, symbol="BTC", distance=0.5)
    Rule(kind='cluster', usd=20000000, symbol='BTC', distance=0.5)
    """

    kind: Literal["cascade", "order", "cluster", "coverage"]
    usd: float | Decimal | str | None = None
    symbol: str | Sequence[str] | None = None
    gap: str | timedelta | int | None = None
    min_usd: float | Decimal | str | None = None
    distance: float | None = None

    def __post_init__(self) -> None:
        allowed = _FIELDS[choice(self.kind, "kind", tuple(_FIELDS))]
        for name in ("usd", "symbol", "gap", "min_usd", "distance"):
            if getattr(self, name) is not None and name not in allowed:
                kinds = " or ".join(repr(kind) for kind, names in _FIELDS.items() if name in names)
                msg = f"{name}: a rule of the kind {self.kind!r} has none; allowed: with the kind {kinds}"
                raise BadQuery(msg, parameter=name)
        for name in ("usd", "min_usd"):
            _check_usd(getattr(self, name), name)
        if self.usd is None and "usd" in allowed:
            msg = f"usd: missing; allowed: the smallest {self.kind} in USD"
            raise BadQuery(msg, parameter="usd")
        if self.kind == "cluster" and not symbols(self.symbol):
            msg = "symbol: alerts on clusters need a coin; allowed: one or more coins, such as BTC"
            raise BadQuery(msg, parameter="symbol")
        if self.gap is not None:
            milliseconds(self.gap)
        _check_distance(self.distance)

    def __repr__(self) -> str:
        given = ((each.name, getattr(self, each.name)) for each in fields(self))
        return f"Rule({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


def _check_usd(value: object, name: str) -> None:
    if value is None:
        return
    try:
        usd(value)
    except BadQuery:
        msg = f"{name}: {value!r} is not allowed; allowed: USD from 0 on"
        raise BadQuery(msg, parameter=name) from None


def _check_distance(value: float | None) -> None:
    allowed = "percent above 0 and below 100"
    if value is None or 0 < number(value, "distance", allowed) < 100:  # noqa: PLR2004 - percent
        return
    msg = f"distance: {value!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter="distance")
