"""Finds what is alerted besides cascades: large orders, the price at a cluster of a map, and lost coverage.

Every alert has ``basis``: ``realised`` (reported orders), ``measured`` (observed positions or connections) or
``estimated`` (the model).
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from liqdata.client import Client
    from liqdata.market import Market
    from liqdata.results.map import LiquidationMap

    from .delivery import Event
    from .rule import Rule

__all__ = ["Clusters", "Coverage", "Orders"]

_LATE = 2 * 60 * 60 * 1000
"""How long an order may come after its time, in milliseconds."""

_LOSS = 30 / 3600
"""Loss of the covered share of an hour that is alerted: half a minute."""


class Orders:
    """Large orders, each alerted once.

    Parameters
    ----------
    rule : Rule
        A rule of the kind ``order``.
    symbol : str, optional
        A coin or pair; all by default.
    """

    def __init__(self, rule: Rule, symbol: str | None) -> None:
        self._least, self._symbol = Decimal(usd(rule.usd)), symbol
        self._polled: int | None = None
        self._alerted: dict[tuple[Any, ...], int] = {}

    def __str__(self) -> str:
        return "orders" if self._symbol is None else f"orders of {self._symbol}"

    def news(self, source: Client | Market, since: int, now: int) -> Iterator[Event]:
        """Poll once and yield the alerts, for orders since ``since``; ``now`` is the instant of the source."""
        # From the previous successful poll on, however long ago it was.
        start = since if self._polled is None else max(since, self._polled - _LATE)
        rows = list(source.iter_orders(self._symbol, min_usd=self._least, start=start))
        self._polled = now
        for row in self._new(rows, start):
            yield {"alert": "order", "basis": "realised", **row}

    def _new(self, rows: list[Any], start: int) -> Iterator[dict[str, Any]]:
        """Yield the rows that were not alerted, oldest first; forget those before ``start``."""
        self._alerted = {key: at for key, at in self._alerted.items() if at >= start}
        met: dict[tuple[Any, ...], int] = {}
        for row in sorted(rows, key=lambda row: row["timestamp"]):
            # Two equal orders of one instant are two orders.
            plain = tuple(str(row[name]) for name in ("exchange", "symbol", "side", "price", "qty", "timestamp"))
            met[plain] = met.get(plain, 0) + 1
            key = (*plain, met[plain])
            if key not in self._alerted:
                self._alerted[key] = row["timestamp"]
                yield dict(row)


class Clusters:
    """Clusters of one coin that the price comes near or passes, each alerted once per approach.

    Parameters
    ----------
    rule : Rule
        A rule of the kind ``cluster``.
    symbol : str
        The coin.
    report : callable
        Called with a message if the map is not in USD.
    """

    def __init__(self, rule: Rule, symbol: str, report: Callable[[str], object]) -> None:
        self._least, self._symbol, self._report = float(usd(rule.usd)), symbol, report
        self._approaches = _Approaches(1.0 if rule.distance is None else float(rule.distance))
        self._is_without_usd = False

    def __str__(self) -> str:
        return f"clusters of {self._symbol}"

    def news(self, source: Client | Market, since: int, now: int) -> Iterator[Event]:  # noqa: ARG002 - every condition gets both
        """Poll once and yield the alerts; ``now`` is the instant of the source."""
        grid: Any = source.liqmap(self._symbol, "7d")
        if grid.units != "usd":
            if not self._is_without_usd:
                self._is_without_usd = True
                self._report(
                    f"no alerts on clusters of {self._symbol}: its open interest is unknown, so the map has no USD"
                )
            return
        basis = "measured" if grid.view == "measured" else "estimated"
        for state, cluster in self._approaches.news(grid, self._least):
            yield {
                "alert": "cluster",
                "basis": basis,
                "state": state,
                "coin": grid.symbol,
                "side": cluster["side"],
                "price": grid.current_price,
                "distance": round(_signed_distance(cluster, grid.current_price), 4),
                "low_price": cluster["low_price"],
                "high_price": cluster["high_price"],
                "peak_price": cluster["peak_price"],
                "usd": round(cluster["amount"], 2),
                "timestamp": now,
            }


class Coverage:
    """Exchanges that lost their connection, each alerted once per loss."""

    def __init__(self) -> None:
        self._exchanges: dict[str, _Connection] = {}

    def __str__(self) -> str:
        return "coverage"

    def news(self, source: Client | Market, since: int, now: int) -> Iterator[Event]:  # noqa: ARG002 - every condition gets both
        """Poll once and yield the alerts; ``now`` is the instant of the source."""
        for row in source.coverage("1h"):
            known = self._exchanges.setdefault(row["exchange"], _Connection())
            share = row["connected_share"]
            if share is not None and known.is_newly_lost(float(share), now):
                yield {
                    "alert": "coverage",
                    "basis": "measured",
                    "exchange": row["exchange"],
                    "connected_share": float(share),
                    "last_event": row["last_event"],
                    "timestamp": now,
                }


class _Approaches:
    """The clusters of one coin that the price may reach, from poll to poll."""

    def __init__(self, distance: float) -> None:
        self._distance = distance
        self._known: list[dict[str, Any]] = []

    def news(self, grid: LiquidationMap, least: float) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield ``near`` and ``through`` with the cluster, each once per approach."""
        price = grid.current_price
        before, known = self._known, []
        for cluster in before:
            if _is_through(cluster, price):
                yield "through", cluster
            else:
                known.append(cluster)
        found: list[dict[str, Any]] = [{**row} for row in grid.clusters() if row["amount"] >= least]
        now = []
        for cluster in found:
            same = [each for each in before if _overlap(each, cluster)]
            far = abs(cluster["distance_pct"])
            # A cluster is near until the price is twice as far away, so that it is not alerted again and again.
            was_near = any(each["near"] for each in same)
            near = far <= self._distance or (was_near and far <= 2 * self._distance)
            if near and not was_near:
                yield "near", cluster
            now.append({**cluster, "near": near})
        # A cluster that grew too small or left the map may still be reached.
        rest = [each for each in known if each["near"] and not any(_overlap(each, cluster) for cluster in found)]
        self._known = [*now, *(each for each in rest if _distance(each, price) <= 2 * self._distance)]


def _is_through(cluster: dict[str, Any], price: float) -> bool:
    """Whether the price has passed the peak of a cluster."""
    return bool(price <= cluster["peak_price"] if cluster["side"] == "LONG" else price >= cluster["peak_price"])


def _distance(cluster: dict[str, Any], price: float) -> float:
    """Distance of the price from the near edge of a cluster, in percent."""
    edge = cluster["high_price"] if cluster["side"] == "LONG" else cluster["low_price"]
    return float(100 * abs(edge / price - 1))


def _signed_distance(cluster: dict[str, Any], price: float) -> float:
    """Distance of the nearest price of a cluster from the price, in percent of the price; 0 within the cluster."""
    nearest = min(max(price, cluster["low_price"]), cluster["high_price"])
    return float(100 * (nearest / price - 1))


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        one["side"] == other["side"]
        and one["low_price"] <= other["high_price"]
        and other["low_price"] <= one["high_price"]
    )


class _Connection:
    """The coverage of one exchange, from poll to poll."""

    def __init__(self) -> None:
        self._best: float | None = None
        self._last = 0.0
        self._lost_at: int | None = None

    def is_newly_lost(self, share: float, now: int) -> bool:
        """Whether coverage was lost since it was last known to be fine."""
        last, self._last = self._last, share
        if self._lost_at is not None:
            if share < last:
                self._lost_at = now
            elif now - self._lost_at >= 60_000:  # noqa: PLR2004 - a minute without a further loss
                self._lost_at, self._best = None, share
            return False
        if self._best is None or share > self._best:
            self._best = share
        if self._best - share < _LOSS:
            return False
        self._lost_at = now
        return True
