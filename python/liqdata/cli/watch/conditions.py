"""Finds what is alerted besides cascades: large orders, the price at a cluster of a map, and lost coverage.

Every alert has ``basis``: ``realised`` (reported orders), ``measured`` (observed positions or connections) or
``estimated`` (the model).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from liqdata.agents.clusters import clusters
from liqdata.calls.arguments import number, usd
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from liqdata.client import Client
    from liqdata.market import Market
    from liqdata.results.map import LiquidationMap

    from .senders import Event

__all__ = ["Conditions", "Thresholds"]

_LATE = 2 * 60 * 60 * 1000
"""How long an order may come after its time, in milliseconds."""

_LOSS = 30 / 3600
"""Loss of the covered share of an hour that is alerted: half a minute."""


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What is alerted besides cascades.

    Parameters
    ----------
    order_usd : optional
        Smallest order that is alerted.
    cluster_usd : optional
        Smallest cluster of the weekly liquidation map that is alerted when the price comes near.
    distance : float
        Distance of the price from the near edge of a cluster at which it is alerted, in percent.
    coverage : bool
        Whether lost coverage is alerted.
    """

    order_usd: Any = None
    cluster_usd: Any = None
    distance: float = 1.0
    coverage: bool = False

    def checked(self, symbols: Sequence[str]) -> Thresholds:
        """Check the values; clusters need coins."""
        distance = number(self.distance, "alert_distance", "percent above 0 and below 100")
        if not 0 < distance < 100:  # noqa: PLR2004 - percent
            msg = f"alert_distance: {self.distance!r} is not allowed; allowed: percent above 0 and below 100"
            raise BadQuery(msg, parameter="alert_distance")
        if self.cluster_usd is not None and not symbols:
            msg = "symbol: alerts on clusters need a coin; allowed: one or more coins, such as BTC"
            raise BadQuery(msg, parameter="symbol")
        return Thresholds(
            order_usd=None if self.order_usd is None else Decimal(usd(self.order_usd)),
            cluster_usd=None if self.cluster_usd is None else float(usd(self.cluster_usd)),
            distance=distance,
            coverage=self.coverage,
        )


class Conditions:
    """Polls a source and yields each alert once.

    Parameters
    ----------
    source : Client or Market
        What is polled.
    symbols : sequence of str
        Coins; empty means all.
    thresholds : Thresholds
        Checked thresholds.
    say : callable
        Called with messages about conditions that cannot be judged.
    """

    def __init__(
        self, source: Client | Market, symbols: Sequence[str], thresholds: Thresholds, say: Callable[[str], None]
    ) -> None:
        self._source, self._symbols, self._thresholds, self._say = source, list(symbols), thresholds, say
        self._orders = _Orders()
        self._polled: int | None = None
        self._clusters = {symbol: _Clusters(thresholds.distance) for symbol in symbols}
        self._coverage: dict[str, _Coverage] = {}
        self._without_usd: set[str] = set()

    def news(self, since: int, now: int) -> Iterator[Event]:
        """Poll once and yield the alerts, for orders since ``since``; ``now`` is the instant of the source."""
        if self._thresholds.order_usd is not None:
            yield from self._large_orders(since, now)
        if self._thresholds.cluster_usd is not None:
            for symbol in self._symbols:
                yield from self._near_clusters(symbol, now)
        if self._thresholds.coverage:
            yield from self._lost(now)

    def _large_orders(self, since: int, now: int) -> Iterator[Event]:
        # From the poll before on, however long ago it was.
        start = since if self._polled is None else max(since, self._polled - _LATE)
        self._polled = now
        every: list[str | None] = [None]
        for symbol in self._symbols or every:
            rows = self._source.iter_orders(symbol, min_usd=self._thresholds.order_usd, start=start)
            for row in self._orders.new(list(rows), start):
                yield {"alert": "order", "basis": "realised", **row}

    def _near_clusters(self, symbol: str, now: int) -> Iterator[Event]:
        grid: Any = self._source.liqmap(symbol, "7d")
        if grid.units != "usd":
            if symbol not in self._without_usd:
                self._without_usd.add(symbol)
                self._say(f"no alerts on clusters of {symbol}: its open interest is unknown, so the map has no USD")
            return
        basis = "measured" if grid.view == "measured" else "estimated"
        for state, cluster in self._clusters[symbol].news(grid, self._thresholds.cluster_usd):
            yield {
                "alert": "cluster",
                "basis": basis,
                "state": state,
                "coin": grid.symbol,
                "side": cluster["side"],
                "price": grid.current_price,
                "low_price": cluster["low_price"],
                "high_price": cluster["high_price"],
                "peak_price": cluster["peak_price"],
                "usd": round(cluster["amount"], 2),
                "timestamp": now,
            }

    def _lost(self, now: int) -> Iterator[Event]:
        for row in self._source.coverage("1h"):
            known = self._coverage.setdefault(row["exchange"], _Coverage())
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


class _Orders:
    """The orders that were alerted."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], int] = {}

    def new(self, rows: list[Any], start: int) -> Iterator[dict[str, Any]]:
        """Yield the rows that were not seen before, oldest first; forget those before ``start``."""
        self._seen = {key: at for key, at in self._seen.items() if at >= start}
        met: dict[tuple[Any, ...], int] = {}
        for row in sorted(rows, key=lambda row: row["timestamp"]):
            # Two equal orders of one instant are two orders.
            plain = tuple(str(row[name]) for name in ("exchange", "symbol", "side", "price", "qty", "timestamp"))
            met[plain] = met.get(plain, 0) + 1
            key = (*plain, met[plain])
            if key not in self._seen:
                self._seen[key] = row["timestamp"]
                yield dict(row)


class _Clusters:
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
        found = [cluster for cluster in clusters(grid) if cluster["amount"] >= least]
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


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        one["side"] == other["side"]
        and one["low_price"] <= other["high_price"]
        and other["low_price"] <= one["high_price"]
    )


class _Coverage:
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
