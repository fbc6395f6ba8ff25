"""Catalogs and backtests of nautilus_trader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nautilus_trader.model.identifiers import ClientId
from nautilus_trader.persistence.catalog import ParquetDataCatalog

from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery
from liqdata.features.question import latency_of

from .data import CLIENT, features_of, orders_of, wrapped

if TYPE_CHECKING:
    import os
    from datetime import timedelta

    from nautilus_trader.backtest.engine import BacktestEngine

__all__ = ["add_to_engine", "write_catalog"]


@public_call
def write_catalog(
    catalog: ParquetDataCatalog | str | os.PathLike[str],
    *,
    orders: Any = None,
    features: Any = None,
    latency: str | timedelta | int = 0,
) -> ParquetDataCatalog:
    """Write orders and features to a catalog, oldest first.

    Parameters
    ----------
    catalog : ParquetDataCatalog, str or path-like
        The catalog, or its folder.
    orders : table, optional
        Rows of :meth:`liqdata.Market.orders`, or a table with the same columns. If it has a column ``received_at``,
        such as the orders of an archive's files, that is the ``ts_init``.
    features : Rows or table, optional
        Rows of :meth:`liqdata.Market.features`.
    latency : str, timedelta or int
        Without ``received_at``: how long after its event an order was received.

    Returns
    -------
    ParquetDataCatalog
        The catalog; it has the types ``Liquidation`` and ``LiquidationFeatures``.

    Raises
    ------
    BadQuery
        For a table without the columns, and for a wrong ``latency``.
    ValueError
        From nautilus_trader, if the catalog already has data of a part of this time.

    Notes
    -----
    nautilus_trader writes nothing, and prints that, if the catalog has a file of exactly this time.

    Examples
    --------
    >>> import liqdata, tempfile
    >>> from liqdata.nautilus import Liquidation, write_catalog
    >>> market = liqdata.demo()
    >>> catalog = write_catalog(tempfile.mkdtemp(), orders=market.orders("BTC", limit=20))
    >>> len(catalog.query(Liquidation))
    20
    """
    found = catalog if isinstance(catalog, ParquetDataCatalog) else ParquetDataCatalog(str(catalog))
    for data in _data(orders, features, latency):
        found.write_data(data)
    return found


@public_call
def add_to_engine(
    engine: BacktestEngine, *, orders: Any = None, features: Any = None, latency: str | timedelta | int = 0
) -> None:
    """Add orders and features to a backtest, before all data of the same instant.

    Data of one instant reach a strategy in the order in which they were added. Features that were added after bars
    would reach ``on_bar`` one bar late; so data that the engine has already are moved behind them.

    Parameters
    ----------
    engine : BacktestEngine
        The engine, not running. Data that it streams from iterators must be added later.
    orders, features, latency
        As for :func:`write_catalog`.

    Raises
    ------
    BadQuery
        As for :func:`write_catalog`.

    Notes
    -----
    A strategy receives them in ``on_data`` after
    ``subscribe_data(DataType(LiquidationFeatures, metadata={"coin": "BTC"}), client_id=ClientId("LIQDATA"))``; with
    ``{"coin": None}`` those of all coins. Without metadata nautilus_trader subscribes to all types with names that
    begin so: ``Liquidation`` would bring ``LiquidationFeatures`` too.

    Examples
    --------
    >>> import liqdata
    >>> from liqdata.nautilus import add_to_engine
    >>> from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
    >>> from nautilus_trader.config import LoggingConfig
    >>> engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
    >>> add_to_engine(engine, orders=liqdata.demo().orders("BTC", limit=20))
    >>> len(engine.data)
    20
    """
    found = [wrapped(one) for data in _data(orders, features, latency) for one in data]
    if not found:
        return
    others = engine.data
    if others:
        engine.clear_data()
    engine.add_data(found, client_id=ClientId(CLIENT))
    if others:
        engine.add_data(others, validate=False)  # as they were accepted before


def _data(orders: Any, features: Any, latency: Any) -> list[list[Any]]:
    """Lists of data, each oldest first; none that is empty."""
    if orders is None and features is None:
        msg = "orders and features are both None; allowed: at least one table"
        raise BadQuery(msg, parameter="orders")
    delay = latency_of(latency)
    found = [] if orders is None else [orders_of(orders, delay)]
    found += [] if features is None else [features_of(features)]
    return [data for data in found if data]
