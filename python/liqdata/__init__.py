"""Crypto liquidation data from a service, your own tables, an archive, or a simulated market.

>>> import liqdata
>>> market = liqdata.demo()  # simulated: no network, no account
>>> market.heatmap("BTC", "24h").matrix.ndim
2

All sources have the same methods. :class:`Client` and :class:`AsyncClient` request answers from a service over HTTP. A
:class:`Market` computes them in this process: from your tables, from an archive (:func:`open`) or from a simulation
(:func:`demo`). :func:`collect` fills an archive with data of the exchanges. :func:`replay` replays an archive at a
chosen speed, and :func:`serve` serves any market over HTTP.
Importing the package loads neither numpy nor asyncio nor any frame or plotting library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import __version__

if TYPE_CHECKING:
    from . import (
        alerts,
        archive,
        collector,
        distributed,
        errors,
        features,
        feeds,
        freqtrade,
        margin,
        plot,
        scoring,
        server,
        stream,
        symbols,
        types,
        vendors,
    )
    from .async_client import AsyncClient
    from .client import Client
    from .collector import collect
    from .errors import (
        ArchiveError,
        BadQuery,
        LiqdataError,
        NoAnswer,
        NotCovered,
        Refused,
        TooSlow,
        UnexpectedReply,
        WrongState,
    )
    from .features import assert_no_lookahead, check_lookahead
    from .fetching.fetch import fetch
    from .files.read import read
    from .frames.asof import join_asof
    from .ingestion.ingest import ingest
    from .market import Market, demo, open, replay
    from .model import Model
    from .recording.recorder import Recorder, record
    from .results.heatmap import Heatmap
    from .results.map import LiquidationMap
    from .results.record import Record, frame
    from .results.rows import Rows
    from .scoring.known_positions import score_truth
    from .scoring.league.referee import league
    from .scoring.score import score
    from .scoring.shares import fit_shares
    from .server import serve
    from .vendors.comparison import Comparison, compare

__all__ = [
    "ArchiveError",
    "AsyncClient",
    "BadQuery",
    "Client",
    "Comparison",
    "Heatmap",
    "LiqdataError",
    "LiquidationMap",
    "Market",
    "Model",
    "NoAnswer",
    "NotCovered",
    "Record",
    "Recorder",
    "Refused",
    "Rows",
    "TooSlow",
    "UnexpectedReply",
    "WrongState",
    "__version__",
    "alerts",
    "archive",
    "assert_no_lookahead",
    "check_lookahead",
    "collect",
    "collector",
    "compare",
    "demo",
    "distributed",
    "errors",
    "features",
    "feeds",
    "fetch",
    "fit_shares",
    "frame",
    "freqtrade",
    "ingest",
    "join_asof",
    "league",
    "margin",
    "open",
    "plot",
    "read",
    "record",
    "replay",
    "score",
    "score_truth",
    "scoring",
    "serve",
    "server",
    "stream",
    "symbols",
    "types",
    "vendors",
]

_MODULES = {
    "alerts",
    "archive",
    "collector",
    "distributed",
    "errors",
    "features",
    "feeds",
    "freqtrade",
    "margin",
    "nautilus",
    "plot",
    "scoring",
    "server",
    "stream",
    "symbols",
    "types",
    "vendors",
}

# The module of each name, which is imported when the name is first used.
_HOMES = {
    "ArchiveError": "errors",
    "AsyncClient": "async_client",
    "BadQuery": "errors",
    "Client": "client",
    "Comparison": "vendors.comparison",
    "Heatmap": "results.heatmap",
    "LiqdataError": "errors",
    "LiquidationMap": "results.map",
    "Market": "market",
    "Model": "model",
    "NoAnswer": "errors",
    "NotCovered": "errors",
    "Record": "results.record",
    "Recorder": "recording.recorder",
    "Refused": "errors",
    "Rows": "results.rows",
    "TooSlow": "errors",
    "UnexpectedReply": "errors",
    "WrongState": "errors",
    "assert_no_lookahead": "features",
    "check_lookahead": "features",
    "collect": "collector",
    "compare": "vendors.comparison",
    "demo": "market",
    "fetch": "fetching.fetch",
    "frame": "results.record",
    "ingest": "ingestion.ingest",
    "join_asof": "frames.asof",
    "open": "market",
    "read": "files.read",
    "record": "recording.recorder",
    "replay": "market",
    "league": "scoring.league.referee",
    "score": "scoring.score",
    "fit_shares": "scoring.shares",
    "score_truth": "scoring.known_positions",
    "serve": "server",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    found: object
    if name in _MODULES:
        found = import_module(f".{name}", __name__)
    elif name in _HOMES:
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    else:
        from .calls.traceback import nearest

        msg = f"module {__name__!r} has no attribute {name!r}{nearest(name, __all__)}"
        raise AttributeError(msg)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
