"""Liquidations and features in nautilus_trader (``pip install "liqdata[nautilus]"``, Python 3.12 or newer).

:class:`Liquidation`, :class:`LiquidationFeatures` and :class:`LiquidationGap` are custom data of nautilus_trader.
:func:`write_catalog` stores them, :func:`add_to_engine` adds them to a backtest, and :class:`LiqdataDataClient` follows
a service.
"""

try:
    import nautilus_trader  # noqa: F401 - whether it is there
except ModuleNotFoundError as error:
    message = 'liqdata.nautilus needs nautilus_trader and Python 3.12 or newer: pip install "liqdata[nautilus]"'
    raise ModuleNotFoundError(message, name=error.name) from error

from .backtest import add_to_engine, write_catalog
from .data import Liquidation, LiquidationFeatures, LiquidationGap
from .live import LiqdataDataClient, LiqdataDataClientConfig, LiqdataLiveDataClientFactory

__all__ = [
    "LiqdataDataClient",
    "LiqdataDataClientConfig",
    "LiqdataLiveDataClientFactory",
    "Liquidation",
    "LiquidationFeatures",
    "LiquidationGap",
    "add_to_engine",
    "write_catalog",
]
