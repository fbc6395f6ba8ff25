"""Custom data of nautilus_trader, and rows of this package converted to them."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from nautilus_trader.core.data import Data
from nautilus_trader.model.custom import customdataclass
from nautilus_trader.model.data import CustomData, DataType

from liqdata import _core
from liqdata.scoring.columns import Table

__all__ = ["CLIENT", "NANOS", "Liquidation", "LiquidationFeatures", "LiquidationGap"]

# nautilus_trader reads the annotations of these classes as types, so they are not postponed in this file. Types are
# checked without nautilus_trader, so that each class of it is `Any` there; it knows `dict` only without arguments.

CLIENT = "LIQDATA"
"""Name of the data client."""

NANOS = 1_000_000
"""In a millisecond."""

_INSTANTS = ("bar_open", "known_at")


@customdataclass
class Liquidation(Data):  # type: ignore[misc]
    """A liquidation order.

    Attributes
    ----------
    ts_event, ts_init : int
        When the order was filled, and when it was received; nanoseconds.
    coin, exchange, symbol : str
        Such as ``"BTC"``, ``"binance"`` and ``"BTCUSDT"``.
    side : str
        ``"LONG"`` or ``"SHORT"``: the position that was liquidated.
    price, qty, value_usd : float
        Price, amount in base units, and USD.
    """

    coin: str
    exchange: str
    symbol: str
    side: str
    price: float
    qty: float
    value_usd: float


@customdataclass
class LiquidationFeatures(Data):  # type: ignore[misc]
    """The features of a coin at a decision instant, a row of :meth:`liqdata.Market.features`.

    Attributes
    ----------
    ts_event, ts_init : int
        The decision instant; nanoseconds.
    coin : str
        Such as ``"BTC"``.
    values : dict
        The other columns by name; ``None`` where unknown. Instants in it are epoch milliseconds.
    """

    coin: str
    values: dict  # type: ignore[type-arg]


@customdataclass
class LiquidationGap(Data):  # type: ignore[misc]
    """A time in which the live client received no orders.

    Attributes
    ----------
    ts_event, ts_init : int
        When the last order or the connection was known to be there, and when the loss was noticed; nanoseconds.
    lost : bool
        Whether orders are missing for good. Otherwise they follow once the connection is back: each once, with a
        ``ts_event`` before and a ``ts_init`` after the gap.
    reason : str
        What the client reported.
    """

    lost: bool
    reason: str


def order_of(row: Mapping[str, Any], ts_init: int) -> Liquidation:
    """An order of a stream, received at an instant."""
    return Liquidation(
        ts_event=int(row["timestamp"]) * NANOS,
        ts_init=ts_init,
        coin=_core.coin(row["symbol"]),
        exchange=str(row["exchange"]),
        symbol=str(row["symbol"]),
        side=str(row["side"]),
        price=float(row["price"]),
        qty=float(row["qty"]),
        value_usd=float(row["value_usd"]),
    )


def orders_of(table: Any, latency: int) -> list[Liquidation]:
    """Orders, oldest first: received at their ``received_at``, or ``latency`` milliseconds after their event."""
    data = Table(table, "orders")
    names = ("exchange", "symbol", "side", "price", "qty", "value_usd")
    data.need("timestamp", *names)
    events = data.instants("timestamp")
    received = data.instants("received_at") if "received_at" in data else events + latency
    cells = [list(data.cells(name)) for name in names]
    found = [
        order_of({"timestamp": event, **dict(zip(names, row, strict=True))}, int(at) * NANOS)
        for event, at, row in zip(events, received, zip(*cells, strict=True), strict=True)
    ]
    return sorted(found, key=lambda one: (one.ts_init, one.ts_event))


def features_of(table: Any) -> list[LiquidationFeatures]:
    """Features by their instant."""
    data = Table(table, "features")
    data.need("at", "coin")
    instants = data.instants("at").tolist()
    names = [name for name in data.names if name not in {"at", "coin"}]
    cells = [_plain(data, name) for name in names]
    found = [
        LiquidationFeatures(
            ts_event=at * NANOS, ts_init=at * NANOS, coin=coin, values=dict(zip(names, row, strict=True))
        )
        for at, coin, *row in zip(instants, data.texts("coin"), *cells, strict=True)
    ]
    return sorted(found, key=lambda one: one.ts_init)


def _plain(data: Table, name: str) -> list[Any]:
    """The cells of a column: instants as epoch milliseconds, missing numbers as ``None``."""
    if name in _INSTANTS:
        return list(data.instants(name).tolist())
    cells = data.cells(name)
    plain = cells.tolist() if hasattr(cells, "tolist") else list(cells)
    return [None if isinstance(cell, float) and isnan(cell) else cell for cell in plain]


def wrapped(data: Data) -> CustomData:
    """Data as the message bus routes them: by coin, if they have one."""
    coin = getattr(data, "coin", None)
    return CustomData(DataType(type(data), metadata={"coin": coin} if coin else None), data)
