"""Markets in this process: the ten answers computed from tables, from an archive, or from a simulation."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from . import _answers, _core
from ._cascades import _LocalCascades
from ._coverage import _LocalCoverage
from ._doors import door
from ._export import _LocalExport
from ._heatmap import _LocalHeatmap
from ._history import _LocalHistory
from ._inputs import datetime_of, folder, instant, number
from ._intake import table
from ._levels import _LocalLevels
from ._liqmap import _LocalLiqmap
from ._local import _Mirrored, _Moves
from ._maps import _LocalMaps
from ._orders import _LocalOrders
from ._positions import _LocalPositions
from ._progress import bar, counting, meant
from ._series import _LocalSeries
from ._totals import _LocalTotals
from ._undercount import _LocalUndercount
from .errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rows import Rows
    from .types import Instant, PositionRow, Progress

__all__ = ["Market", "demo", "open"]

_DEMO_NOW = datetime(2026, 6, 1, tzinfo=UTC)
_SEEDS = 2**64
_FASTEST = 1_000_000_000


class Market(
    _LocalTotals,
    _LocalHistory,
    _LocalCascades,
    _LocalUndercount,
    _LocalPositions,
    _LocalOrders,
    _LocalHeatmap,
    _LocalLiqmap,
    _LocalLevels,
    _LocalCoverage,
    _LocalSeries,
    _LocalMaps,
    _LocalExport,
):
    """A market in this process: the ten answers from tables you have.

    Parameters
    ----------
    orders : table, optional
        Liquidation orders: ``exchange``, ``symbol`` (pair), ``side`` (of the liquidated position, LONG or SHORT),
        ``price``, ``qty`` (base units), ``value_usd``, ``timestamp`` (event time); optionally ``coin``,
        ``received_at`` (the event time where absent) and ``group_id`` (what all fills of one liquidation have in
        common).
    bars : table, optional
        Price bars: ``symbol`` (coin), ``timestamp`` (open of the bar), ``open``, ``high``, ``low``, ``close``,
        ``volume`` (base units); optionally ``interval`` (milliseconds, a timedelta, or such as ``"5m"``; whole
        minutes) or ``closes_at`` (the open and the interval, where both are given), else it is inferred as the
        commonest spacing.
    open_interest : table, optional
        Open interest, one side: ``symbol`` (coin), ``timestamp``, and either ``open_interest`` (base units) or
        ``open_interest_usd``; optionally ``exchange``: readings are summed over exchanges, each carried forward at most
        15 minutes. USD become base units at the last price of the coin's bars known at their time.
    liquidations : table, optional
        What was liquidated by period, where orders are not at hand: ``symbol`` (coin), ``timestamp`` (open of the
        period), ``long_usd``, ``short_usd``; optionally ``interval`` as for bars, one length for all periods of a coin.
        A period without a row is unknown; one in which nothing was liquidated needs a row of zeros. Shorter periods
        than half an hour are summed over hours and have to divide one; an hour that lacks one is unknown. Model 3 is
        fitted to them; coins without any are fitted to their orders. They are part of no realised total.
    now : int, datetime or str, optional
        The instant the windows end at; the newest of order time, bar close and open-interest time by default.
    progress : bool or callable
        Show a bar of the rows that are read (with tqdm, on a terminal or in a notebook), or tell a function how many
        are done and of how many (``None`` where that is unknown).

    Raises
    ------
    BadQuery
        For a table that is not one, a missing column, or a cell that cannot be meant; ``parameter`` names the table,
        the message column and row.

    Notes
    -----
    A table is anything with ``__arrow_c_stream__``, a pandas or polars frame, a duckdb relation, a list of dict rows,
    or a mapping of columns. A lazy frame of polars is collected. What a frame of pandas has in its index counts as
    columns: levels by their names, an index of instants as the ``timestamp``. Bars may also come by coin as ccxt has
    them: ``bars={"BTC": exchange.fetch_ohlcv("BTC/USDT", "5m")}``. Times are epoch milliseconds, datetimes (naive ones
    are UTC) or ISO 8601 text; what is finer than a millisecond is floored. Float columns become decimals by their
    shortest text. A cell that is null, NaN, NaT, pandas' NA or masked by numpy is missing, and refused where a value is
    needed. Rows may stand in any order; equal orders are legal, duplicate bars and open-interest readings are not.

    Open interest that would be far more or far less than is held anywhere beside such a volume of the bars, and usual
    in the other unit, is refused with both readings named. Prices between 0.03 and 30 USD do not part the units far
    enough to tell; ``docs/model.md`` says what else cannot be told.

    Every method takes ``as_of=``: it sets *now* and hides rows received later. A bar counts once it has closed. The
    four estimated answers raise :class:`~liqdata.Refused`: 404 for a coin that has no bars in the window, 400 for
    bars too coarse for the range.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.Market(
    ...     orders={
    ...         "exchange": ["binance"],
    ...         "symbol": ["BTCUSDT"],
    ...         "side": ["LONG"],
    ...         "price": ["82651.9"],
    ...         "qty": ["0.19"],
    ...         "value_usd": ["15703.861"],
    ...         "timestamp": ["2026-10-09T17:06:42.120Z"],
    ...     }
    ... )
    >>> market.overview()["1h"]["long_usd"]
    15703.861
    >>> market.coins(as_of="2026-10-09T17:00Z")
    Rows(0 × coin, long_usd, short_usd, total_usd, cnt)
    """

    def __init__(
        self,
        orders: object = None,
        bars: object = None,
        open_interest: object = None,
        liquidations: object = None,
        *,
        now: Instant | None = None,
        progress: Progress = False,
    ) -> None:
        meant(progress)
        tables = (
            table(orders, "orders"),
            table(bars, "bars"),
            table(open_interest, "open_interest"),
            table(liquidations, "liquidations"),
        )
        at = instant(now, "now")
        with contextlib.closing(bar(wanted=progress, total=None, what="tables")) as shown:
            core = _core.Market(*tables, at, None if progress is False else shown.update)
        self._set_up(core)

    def true_positions(self, symbol: str = "BTC") -> Rows[PositionRow]:
        """The open positions of a simulated market: the truth an estimate can be held against.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.

        Returns
        -------
        Rows
            ``symbol``, ``side``, ``leverage``, ``entry_price``, ``liquidation_price`` and ``qty`` (base units) as
            float, at the market's *now*. Empty for an unknown coin.

        Raises
        ------
        RuntimeError
            For a market that is not simulated: nobody knows its positions.

        Examples
        --------
        >>> import liqdata
        >>> {row["side"] for row in liqdata.demo().true_positions("ETH")} == {"LONG", "SHORT"}
        True
        """
        core = self._open()
        if not self.simulated:
            msg = (
                "only a simulated market knows its positions, and liqdata.demo() makes one; positions() has those of "
                "single accounts that were seen"
            )
            raise RuntimeError(msg)
        return _answers.rows(core.true_positions(_coin(symbol)), self._origin(None))

    def close(self) -> None:
        """Refuse further calls; in a market that moves nothing more arrives, and its streams end.

        Files of an archive that nobody asked for are read no more.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.close()
        >>> market.overview()
        Traceback (most recent call last):
        ...
        RuntimeError: market is closed
        """
        self._closed = True
        self._core.end()
        if self._mirror is not None:
            self._mirror.mirror.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._moves is not None:
            clock, _ = self._core.clock or (None, None)
            return self._moves.made_by, (*self._moves.made_of, self._moves.speed, clock)
        if self._demo is not None:
            return _demo, self._demo
        if self._mirror is not None and self._archive is not None:
            return _fetched, (*self._mirror[1:], self._archive[1])
        if self._archive is not None:
            return _archived, self._archive
        return _from_tables, (self._core.tables(), self._core.now)

    def __repr__(self) -> str:
        label = "simulated, " if self.simulated else ""
        if self._archive is not None:
            where = self._archive[0] if self._mirror is None else ", ".join(self._mirror.addresses)
            label = f"{'replay of ' if self.replayed else ''}archive {where!r}, "
        if self._moves is not None and self._moves.speed is not None:
            label += f"{self._moves.speed:g} times as fast as here, "
        closed = ", closed" if self._closed else ""
        at = "nothing yet" if self.now is None else f"now={self.now:%Y-%m-%dT%H:%M:%SZ}"
        return f"Market({label}{len(self.symbols)} coins, {at}{closed})"


def _coin(symbol: object) -> str:
    _core.question("levels", symbol=symbol)  # the check of every coin, for what is no text
    return _core.coin(str(symbol))


@door
def open(
    path: str | os.PathLike[str] | Sequence[str],
    *,
    as_of: Instant | None = None,
    start: Instant | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> Market:
    """A market that lies in an archive on this machine, which a collector may be filling, or in object storage.

    Parameters
    ----------
    path : str, path-like or sequence of str
        The archive's folder. Or the address that :meth:`Market.export` brought it to, such as ``s3://bucket/prefix``;
        several of them, or ``s3://bucket/*`` for all one level below, are one archive: each row once, as whoever
        received it first has it, and covered where any of them listened.
    as_of : int, datetime or str, optional
        The instant to stay at: nothing that was received later is seen, whatever is asked. As the archive grows by
        default.
    start : int, datetime or str, optional
        Of an address: only days from this one on, an instant at which a UTC day begins. All of them by default.
    cache : str or path-like, optional
        Of an address: the folder that its files are fetched into, below the user's folder of caches by default. What is
        there is not fetched again.
    progress : bool or callable
        Of an address: show a bar of the files that are fetched (with tqdm, on a terminal or in a notebook), or tell a
        function how many are done and of how many (``None`` where that is unknown).

    Returns
    -------
    Market
        Answers as any other. Realised totals are of the last 24 hours; estimates are made of what the archive has of
        the coin; :meth:`Market.iter_orders`, :meth:`Market.bars` and :meth:`Market.open_interest` reach the whole
        history. It pickles as its path, and must be opened again in a forked process. Behind an address lie days that
        are over; what is exported later is seen by whoever opens it again.

    Raises
    ------
    ArchiveError
        Where there is no archive, or it cannot be read; ``path`` names what is at fault.
    BadQuery
        For an instant that is none, or an address that is not understood.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # made by a collector otherwise
    >>> _core.ArchiveWriter(folder).close()
    >>> with liqdata.open(folder) as market:
    ...     market.overview()["24h"]["cnt"]
    0
    """
    at = instant(as_of, "as_of")
    meant(progress)
    several = list(path) if isinstance(path, list | tuple) else None
    if several is None and not (isinstance(path, str) and "://" in path):
        for name, value in {"start": start, "cache": cache}.items():
            if value is not None:
                msg = f"{name}: the archive {path!r} is on this machine; allowed: for an address such as s3://bucket/prefix"
                raise BadQuery(msg, parameter=name)
        return _archived(folder(path), at)
    from ._objects import checked
    from ._send import day

    addresses = [checked(one, "path") for one in ([path] if several is None else several)]
    if not addresses or len(set(addresses)) < len(addresses):
        msg = f"path: {path!r} names {'one address twice' if addresses else 'nothing'}; allowed: different addresses"
        raise BadQuery(msg, parameter="path")
    where = None if cache is None else os.path.realpath(cache)
    return _fetched(addresses, day(start, "start"), where, at, progress=progress)


def _fetched(
    addresses: list[str], start: int | None, cache: str | None, as_of: int | None, *, progress: Progress = False
) -> Market:
    from ._mirror import mirrored

    mirror = mirrored(addresses, cache=cache, start=start, progress=progress)
    made = _archived(str(mirror.folder), as_of)
    made._mirror = _Mirrored(mirror, addresses, start, cache)  # noqa: SLF001 - as in _of_archive
    return made


def _archived(path: str, as_of: int | None) -> Market:
    return _of_archive(_core.Market.open(path, as_of), path, as_of)


def collected(collector: _core.Collector, path: str | os.PathLike[str]) -> Market:
    """A market of the archive that a collector in this process fills; the maps that are served of it are kept."""
    return _of_archive(collector.market(), os.fspath(path), None)


def _of_archive(core: _core.Market, path: str, as_of: int | None) -> Market:
    made = Market.__new__(Market)
    return made._set_up(core, archive=(os.path.realpath(path), as_of))  # noqa: SLF001 - users make markets of tables


@door
def demo(
    *,
    seed: int = 0,
    now: Instant | None = None,
    live: bool = False,
    speed: float = 1.0,
    progress: Progress = False,
) -> Market:
    """A simulated market with known positions: works on a fresh machine with no network and no account.

    Traders with leverages, entries and stops live through a price path with jumps; those whose liquidation price the
    mark price crosses are liquidated. Ten coins, five venues, 30 days of 5-minute bars, 24 hours of orders. Everything
    it answers is labelled as simulated.

    Parameters
    ----------
    seed : int
        The same seed and the same ``now`` give the same market, 0 to 2⁶⁴ - 1.
    now : int, datetime or str, optional
        The instant the market ends at, floored to 5 minutes. A fixed instant by default, so that a market is
        reproducible from its seed alone.
    live : bool
        Whether it goes on: it begins as the one without, and from there its bars close and its orders arrive, for 30
        days of its own time. What happens is the same each time, whoever looks and however fast it goes.
    speed : float
        How many times as fast as here time passes in a live one: with ``speed=60`` an hour is a minute.
    progress : bool or callable
        Show a bar of the bars that its coins live through (with tqdm, on a terminal or in a notebook), or tell a
        function how many are done and of how many.

    Returns
    -------
    Market
        With ``simulated`` true and :meth:`Market.true_positions`, those at the last close of a bar where it is live.
        Streams of a live one wait for the next order and end where it does, and :meth:`Market.close` ends it.

    Raises
    ------
    BadQuery
        For a seed, an instant or a speed outside its bounds, and for a speed where nothing moves.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo(seed=7)
    >>> market.simulated, "BTC" in market.symbols
    (True, True)
    >>> with liqdata.demo(live=True, speed=3600) as live, live.stream_orders("BTC") as stream:
    ...     next(stream)["symbol"].startswith("BTC")
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _SEEDS:
        msg = f"seed: {seed!r} is not allowed; allowed: a whole number from 0 to 2**64 - 1"
        raise BadQuery(msg, parameter="seed")
    at = instant(_DEMO_NOW if now is None else now, "now") or 0
    pace = faster(speed)
    if live:
        return _live(seed, at, pace, progress=progress)
    if pace != 1:
        msg = f"speed: {speed!r} is of no use in a market that stands still; allowed: with live=True"
        raise BadQuery(msg, parameter="speed")
    return _demo(seed, at, progress=progress)


def faster(speed: float) -> float:
    """How many times as fast as here time passes, or :class:`~liqdata.BadQuery`."""
    allowed = f"a number above 0, at most {_FASTEST:,}"
    found = number(speed, "speed", allowed)
    if not 0 < found <= _FASTEST:
        msg = f"speed: {speed!r} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="speed")
    return found


def _live(seed: int, now: int, speed: float | None, at: int | None = None, *, progress: Progress = False) -> Market:
    """A simulated market that goes on; without a speed its clock is driven by hand (``_core.Market.advance``)."""
    made = Market.__new__(Market)
    with counting(progress, "demo", " bars") as seen:
        core = _core.Market.live_demo(seed, now, speed, at, seen)
    return made._set_up(core, moves=_Moves(_live, (seed, now), speed))  # noqa: SLF001 - as in _of_archive


def _demo(
    seed: int, now: int, habits: tuple[float, float, float] | None = None, *, progress: Progress = False
) -> Market:
    """A simulated market; of traders with other habits (``docs/simulation.md``) where they are given.

    Markets of one seed, instant and habits share what was made, which nothing changes, as long as one of them is there.
    """
    made = Market.__new__(Market)
    # Whoever looks on how it is made sees it made.
    core = None if progress else _made.get((seed, now, habits))
    if core is None:
        with counting(progress, "demo", " bars") as seen:
            core = _core.Market.demo(seed, now, habits, seen)
        _made[seed, now, habits] = core
    return made._set_up(core, demo=(seed, now, habits))  # noqa: SLF001 - as in _of_archive


_made: WeakValueDictionary[tuple[int, int, tuple[float, float, float] | None], _core.Market] = WeakValueDictionary()


def _from_tables(tables: tuple[_core.Table, ...], now: int | None) -> Market:
    return Market(*tables, now=None if now is None else datetime_of(now))  # a number of 1971 would look like seconds
