"""Other services' liquidation data as the types of this package.

Each class is a client of one vendor and has the methods that the vendor can answer, with the vendor's ranges. Answers
are the same :class:`~liqdata.Heatmap`, :class:`~liqdata.LiquidationMap` and :class:`~liqdata.Rows` as those of
:class:`~liqdata.Client`. Each has a twin for asyncio. Keys come from the environment or from an argument, and are
never shown.

Examples
--------
>>> from liqdata import vendors
>>> service = vendors.Coinalyze("key")
>>> service.heatmap
Traceback (most recent call last):
AttributeError: Coinalyze has no heatmap; CoinAnk, CoinGlass, Hyblock have it
"""

from __future__ import annotations

from .asynchronous import AsyncCoinalyze, AsyncCoinAnk, AsyncCoinGlass, AsyncDataMaxi, AsyncHyblock, AsyncVelo
from .coinalyze import Coinalyze
from .coinank import CoinAnk
from .coinglass import CoinGlass
from .datamaxi import DataMaxi
from .hyblock import Hyblock
from .velo import Velo

__all__ = [
    "AsyncCoinAnk",
    "AsyncCoinGlass",
    "AsyncCoinalyze",
    "AsyncDataMaxi",
    "AsyncHyblock",
    "AsyncVelo",
    "CoinAnk",
    "CoinGlass",
    "Coinalyze",
    "DataMaxi",
    "Hyblock",
    "Velo",
]


def __getattr__(name: str) -> object:
    from difflib import get_close_matches

    known = {one.lower(): one for one in __all__}
    near = get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean {known[near[0]]!r}?" if near else f"; allowed: {', '.join(__all__)}"
    msg = f"module {__name__!r} has no attribute {name!r}{hint}"
    raise AttributeError(msg)
