"""Crypto liquidation data: ten answers from a service, your own tables, an archive, or a simulated market.

>>> import liqdata
>>> market = liqdata.demo()  # simulated: no network, no account
>>> market.heatmap("BTC", "24h").matrix.ndim
2

The same ten methods stand on every source: :class:`Client` and :class:`AsyncClient` ask a service over HTTP,
:class:`Market` computes from tables in this process, :func:`open` from an archive, which :func:`collect` fills from the
exchanges and :func:`replay` tells again, :func:`demo` simulates, and :func:`serve` puts any market behind the same
contract. Importing the package loads neither numpy nor asyncio nor any frame or plotting library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import __version__

if TYPE_CHECKING:
    from . import errors, feeds, plot, types
    from ._asof import join_asof
    from ._export import Exported
    from ._ingest import Ingested, ingest
    from ._rebuild import Rebuilt, rebuild
    from ._replay import replay
    from ._verify import verify
    from .async_client import AsyncClient
    from .client import Client
    from .collector import Collector, collect
    from .errors import ArchiveError, BadQuery, Defect, LiqdataError, NoAnswer, Refused, TooSlow, UnexpectedReply
    from .grids import Heatmap, LiquidationMap
    from .margin import brackets, liquidation_price
    from .market import Market, demo, open
    from .model import Model
    from .rows import Rows
    from .scoring.card import Scorecard
    from .scoring.score import score
    from .server import Server, serve
    from .symbols import Symbol, symbol
    from .truth import score_truth

__all__ = [
    "ArchiveError",
    "AsyncClient",
    "BadQuery",
    "Client",
    "Collector",
    "Defect",
    "Exported",
    "Heatmap",
    "Ingested",
    "LiqdataError",
    "LiquidationMap",
    "Market",
    "Model",
    "NoAnswer",
    "Rebuilt",
    "Refused",
    "Rows",
    "Scorecard",
    "Server",
    "Symbol",
    "TooSlow",
    "UnexpectedReply",
    "__version__",
    "brackets",
    "collect",
    "demo",
    "errors",
    "feeds",
    "ingest",
    "join_asof",
    "liquidation_price",
    "open",
    "plot",
    "rebuild",
    "replay",
    "score",
    "score_truth",
    "serve",
    "symbol",
    "types",
    "verify",
]

_HOMES = {
    "ArchiveError": "errors",
    "AsyncClient": "async_client",
    "BadQuery": "errors",
    "Client": "client",
    "Collector": "collector",
    "Defect": "errors",
    "Exported": "_export",
    "Heatmap": "grids",
    "Ingested": "_ingest",
    "LiqdataError": "errors",
    "LiquidationMap": "grids",
    "Market": "market",
    "Model": "model",
    "NoAnswer": "errors",
    "Rebuilt": "_rebuild",
    "Refused": "errors",
    "Rows": "rows",
    "Scorecard": "scoring.card",
    "Server": "server",
    "Symbol": "symbols",
    "TooSlow": "errors",
    "UnexpectedReply": "errors",
    "brackets": "margin",
    "collect": "collector",
    "demo": "market",
    "errors": "",
    "feeds": "",
    "ingest": "_ingest",
    "join_asof": "_asof",
    "liquidation_price": "margin",
    "open": "market",
    "plot": "",
    "rebuild": "_rebuild",
    "replay": "_replay",
    "score": "scoring.score",
    "score_truth": "truth",
    "serve": "server",
    "symbol": "symbols",
    "types": "",
    "verify": "_verify",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        from ._doors import nearest

        msg = f"module {__name__!r} has no attribute {name!r}{nearest(name, __all__)}"
        raise AttributeError(msg)
    found: object = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
