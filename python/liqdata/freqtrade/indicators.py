"""Columns of features for the candles of freqtrade."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, Literal

from liqdata import _core
from liqdata.calls.arguments import datetime_of, many
from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery, WrongState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    import pandas as pd

    from liqdata.market import Market

__all__ = ["add_features"]

_AGE = "map_age_s"


@public_call
def add_features(
    dataframe: pd.DataFrame,
    metadata: Mapping[str, Any],
    market: Market | str | os.PathLike[str],
    timeframe: str,
    *,
    columns: Literal["all"] | Iterable[str] = "all",
    windows: Iterable[str | timedelta | int] = ("1h", "24h"),
    within: Iterable[float] = (1, 2, 5),
    exchange: str | None = None,
    latency: str | timedelta | int = 0,
) -> pd.DataFrame:
    """Add columns of features to candles, each row from only what was known when its candle closed.

    For ``populate_indicators`` of a strategy. freqtrade labels a candle by its open and decides at its close, so the
    features of a row are those of ``date`` plus the timeframe.

    Parameters
    ----------
    dataframe : pandas.DataFrame
        The candles, with a column ``date`` (their opens), oldest first.
    metadata : mapping
        Its ``pair``, such as ``"BTC/USDT:USDT"``, names the coin.
    market : Market, Client, str or path-like
        Where the features come from. An archive's folder, or the address of a service, is opened once per process.
    timeframe : str
        The length of a candle: ``self.timeframe`` of the strategy.
    columns, windows, within, exchange, latency
        As for :meth:`liqdata.Market.features`.

    Returns
    -------
    pandas.DataFrame
        A new frame with the columns of :meth:`liqdata.Market.features`, without ``at``, ``coin`` and ``bar_open``.
        They are missing where a candle closed before the market's first bar, or where the last bar of the market was
        a whole timeframe old or older.

    Raises
    ------
    WrongState
        If the newest candle is such a row: it is too stale for a decision.
    BadQuery
        For a wrong parameter, and for an unknown coin.
    LiqdataError
        If a call fails; :class:`Client` and :class:`Market` list the classes.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> candles = market.bars("BTC", interval="1h", start="-6h").to_pandas().rename(columns={"timestamp": "date"})
    >>> found = liqdata.freqtrade.add_features(
    ...     candles, {"pair": "BTC/USDT:USDT"}, market, "1h", columns=["long_usd_1h"]
    ... )
    >>> len(found), found.columns[-1]
    (6, 'long_usd_1h')
    """
    from liqdata.scoring.columns import Table

    length = _core.span(timeframe) if isinstance(timeframe, str) else None
    if not length:
        msg = f'timeframe: {timeframe!r} is not allowed; allowed: the length of a candle, such as "5m" or "1h"'
        raise BadQuery(msg, parameter="timeframe")
    pair = metadata.get("pair")
    if not isinstance(pair, str):
        msg = f'metadata: {metadata!r} is not allowed; allowed: a mapping with a pair, such as "BTC/USDT:USDT"'
        raise BadQuery(msg, parameter="metadata")
    data = Table(dataframe, "dataframe")
    data.need("date")
    opens = data.instants("date")
    if not len(opens):
        msg = "dataframe: no rows; allowed: at least one candle"
        raise BadQuery(msg, parameter="dataframe")
    source: Any = _opened(os.fspath(market), os.getpid()) if isinstance(market, str | os.PathLike) else market
    # Nothing is known before the first bar, and an instant from then on has features.
    bars = source.bars(pair, interval=length, start=int(opens[0]), end=int(opens[-1]) + length)
    known = opens[opens >= bars[0]["timestamp"]] if len(bars) else opens[:0]
    if not len(known):
        raise _stale(pair, int(opens[-1]) + length, "no bar from then or before is known", length)
    wanted = "all" if columns == "all" else [*(many(columns) or [columns]), _AGE]
    rows = source.features(
        pair,
        {"timestamp": known, "closes_at": known + length},
        columns=wanted,
        windows=windows,
        within=within,
        exchange=exchange,
        latency=latency,
    )
    features = rows.to_pandas()
    features.index = known
    age = features[_AGE]
    fresh = age < length / 1000
    if not fresh.iloc[-1]:
        raise _stale(pair, int(known[-1]) + length, f"its last bar is {age.iloc[-1]:g} s old", length)
    names = [name for name in features.columns if name not in {"at", "coin", "bar_open"}]
    if wanted != "all":
        names = [name for name in names if name in wanted[:-1]]
    found = features.loc[fresh, names].reindex(opens)
    return dataframe.assign(**{name: found[name].array for name in names})


@functools.cache
def _opened(place: str, process: int) -> Any:  # noqa: ARG001 - a forked process opens its own
    """A market of an archive, or a client of a service."""
    from liqdata.client import Client
    from liqdata.market import open

    return Client(place) if place.startswith(("http://", "https://")) else open(place)


def _stale(pair: str, at: int, why: str, length: int) -> WrongState:
    return WrongState(
        f"the features of {pair} at {datetime_of(at):%Y-%m-%dT%H:%M:%SZ} are stale: {why}; allowed: less than a "
        f"candle of {length // 1000} s"
    )
