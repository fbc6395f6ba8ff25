"""Markets in this process: from tables, an archive, a replay or a simulation."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, overload
from weakref import WeakValueDictionary

from . import _core
from .archive import Exported
from .calls.arguments import anchored, archive_folder, datetime_of, instant, number, switch, time_bounds
from .calls.progress import bar, checked_progress, counting
from .calls.traceback import public_call, public_methods
from .endpoints.requests import rows
from .errors import BadQuery, WrongState
from .ingestion.tables import rates, table
from .recorded_queries import RecordedQueries
from .source import convert
from .source.local import Clock, LocalSource, MirroredArchive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .model import Model
    from .recording.recorded import Recordings
    from .results.rows import Rows
    from .server import Server
    from .types import (
        ArchiveTable,
        Bound,
        Instant,
        MapKind,
        MapRow,
        PositionRow,
        Progress,
    )

__all__ = ["Market", "demo", "open", "replay"]

_DEMO_NOW = datetime(2026, 6, 1, tzinfo=UTC)
_SEEDS = 2**64
_MAX_SPEED = 1_000_000_000


@public_methods
class Market(RecordedQueries):
    """A market in this process, computed from your tables.

    :func:`liqdata.open`, :func:`liqdata.demo` and :func:`liqdata.replay` return markets of an archive or a simulation.

    Parameters
    ----------
    orders : table, optional
        Liquidation orders: ``exchange``, ``symbol`` (pair), ``side`` (of the liquidated position, LONG or SHORT),
        ``price``, ``qty`` (base units), ``value_usd``, ``timestamp`` (event time); optionally ``coin``, ``received_at``
        (the event time by default) and ``group_id`` (equal for all fills of one liquidation).
        A missing ``value_usd`` is price times quantity; a stated one must agree with it to 1 %. Orders of inverse
        contracts need ``value_usd``, because their quantity may count contracts. ``position_side`` and ``coin`` must
        agree with ``side`` and ``symbol``.
    bars : table, optional
        Price bars: ``symbol`` (coin), ``timestamp`` (open of the bar), ``open``, ``high``, ``low``, ``close``,
        ``volume`` (base units); optionally ``interval`` (milliseconds, a timedelta, or text such as ``"5m"``; whole
        minutes) or ``closes_at`` (must agree with ``interval`` if both are present). Without these columns the most
        common spacing of the rows is the interval.
    open_interest : table, optional
        Open-interest readings of one side (longs equal shorts): ``symbol`` (coin), ``timestamp``, and ``open_interest``
        (base units) or ``open_interest_usd``; optionally ``exchange``. Readings are summed over exchanges; a reading
        stays valid for at most 15 minutes. USD are converted to base units at the close of the last bar.
    liquidations : table, optional
        Liquidated USD per period, if you have no orders: ``symbol`` (coin), ``timestamp`` (start of the period),
        ``long_usd``, ``short_usd``; optionally ``interval`` as for bars, one length per coin. The USD of a period
        without a row are unknown; a period without liquidations needs a row of zeros. Periods shorter than half an hour
        must divide an hour and are summed to hours; an hour with a missing period is unknown. Model 3 is fitted to this
        table; for coins without a row in it, to the orders. Realised totals do not include this table.
    exchange : str, optional
        The exchange of rows without a column ``exchange``. If bars name several exchanges, only bars of this one are
        used.
    new_exchange : bool
        Accept exchanges that this package does not know. By default their rows are refused, because the name may be
        misspelt.
    quote_rates : mapping, optional
        Rates of quote currencies that do not count as USD, in USD per unit: a mapping from the currency to a number, or
        to a table of ``timestamp`` and ``rate``, each rate valid until the next one. Bars are converted to USD, and
        ``value_usd`` of orders is computed where it is missing. Without a rate, rows in such a currency are refused.
    now : int, datetime or str, optional
        The instant at which the windows end (*now*); by default the newest order time, bar close or open-interest time.
    progress : bool or callable
        Show a progress bar of the rows (needs tqdm; on a terminal or in a notebook), or call a function with the number
        of rows done and the total (``None`` if unknown).

    Raises
    ------
    BadQuery
        For a value that is not a table, a missing column, or a cell out of range. ``parameter`` names the table; the
        message names the column and the row.

    Notes
    -----
    A table is anything with ``__arrow_c_stream__``, a pandas or polars frame, a duckdb relation, a list of dict rows,
    or a mapping from column names to columns. Lazy polars frames are collected. The levels of a pandas index are read
    as columns with the names of the levels, an index of datetimes as ``timestamp``. Bars may also be a mapping from
    coins to rows of ccxt:
    ``bars={"BTC": exchange.fetch_ohlcv("BTC/USDT", "5m")}``. Times are epoch milliseconds, datetimes (naive ones are
    UTC) or ISO 8601 text, floored to milliseconds. A float becomes the decimal with the fewest digits that reads back
    as the same float. Null, NaN,
    NaT, pandas' NA and masked cells count as missing, which is an error in a required column. Rows may be in any order.
    Identical orders are allowed. Two bars, or two open-interest readings, of the same time are an error.

    Open interest that is implausible compared with the volume of the bars, but would be plausible in the other unit
    (USD or base units), is refused; the message shows both interpretations. At prices between 0.03 and 30 USD the two
    units are too similar for this check; ``docs/explanation/model.md`` describes the limits.

    Queries take ``as_of=``, which sets *now* and hides rows received later. A bar is used only after it has closed. A
    table of orders covers the time between its first and its last row; answers about realised orders warn with
    :class:`~liqdata.NotCovered` if nothing of their period is covered. Methods raise :class:`~liqdata.BadQuery` for a
    wrong parameter and for an ``as_of`` before the first observation, :class:`~liqdata.ArchiveError` if an archive
    cannot be read, and :class:`~liqdata.WrongState` if the market is closed. The four estimates (``heatmap``,
    ``liqmap``, ``levels`` and ``maxpain``) raise :class:`~liqdata.Refused`: status 404 for a coin without bars in the
    window, 400 if the bars are too long or too few for the range.

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
    >>> market.coins(as_of="2026-10-09T17:10Z")["coin"].tolist()
    ['BTC']
    """

    _source: LocalSource

    def __init__(
        self,
        orders: object = None,
        bars: object = None,
        open_interest: object = None,
        liquidations: object = None,
        *,
        exchange: str | None = None,
        new_exchange: bool = False,
        quote_rates: Mapping[str, object] | None = None,
        now: Instant | None = None,
        progress: Progress = False,
    ) -> None:
        checked_progress(progress)
        switch(new_exchange, "new_exchange")
        tables = (
            table(orders, "orders"),
            table(bars, "bars"),
            table(open_interest, "open_interest"),
            table(liquidations, "liquidations"),
        )
        at = instant(now, "now")
        with contextlib.closing(bar(wanted=progress, total=None, what="tables")) as shown:
            seen = None if progress is False else shown.update
            core = _core.Market(*tables, at, seen, exchange, new_exchange, rates(quote_rates))
        self._source = LocalSource(core)

    @property
    def simulated(self) -> bool:
        """Whether the market is simulated."""
        return self._source.core.simulated

    @property
    def replayed(self) -> bool:
        """Whether the market replays an archive (:func:`liqdata.replay`)."""
        return self._source.core.replayed

    @property
    def now(self) -> datetime | Any:  # rarely None, so callers need not check
        """The instant at which the windows end, UTC.

        It is the time of the newest data, so it advances when data arrive and not with the system clock. ``None`` while
        there are no data, as in a new archive.
        """
        return self._source.now

    @property
    def symbols(self) -> list[str]:
        """The coins that have bars and therefore estimates, sorted by name.

        :meth:`coins` ranks the coins that have orders. An archive with orders but no bars has no estimates.

        Examples
        --------
        >>> import liqdata
        >>> "BTC" in liqdata.demo().symbols
        True
        """
        return list(self._source.core.coins)

    @overload
    def maps(
        self,
        symbol: str | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow]: ...
    @overload
    def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[MapRow]]: ...
    @overload
    def maps(
        self,
        symbol: str | None = None,
        *,
        kind: MapKind | Literal["coins", "exchanges"] | None = None,
        version: None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str,
        as_of: Instant | None = None,
    ) -> Recordings: ...
    @overload
    def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | Literal["coins", "exchanges"] | None = None,
        version: None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str,
        as_of: Instant | None = None,
    ) -> dict[str, Recordings]: ...
    def maps(
        self,
        symbol: str | Sequence[str] | None = None,
        *,
        kind: MapKind | Literal["coins", "exchanges"] | None = None,
        version: str | Model | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        source: str | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow] | dict[str, Rows[MapRow]] | Recordings | dict[str, Recordings]:
        """The estimated maps that servers of an archive sent, unchanged; or recorded maps of another service.

        A server that runs with the collector stores the maps of chosen queries
        (``liqdata serve DIR --collect --keep-maps QUERY``; ``docs/how-to/upgrade.md``). To compare, call the estimate's
        own method with ``as_of``: it computes the map again from data received by then.
        Only archives have stored maps.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin, such as ``BTC``; all coins by default.
        kind : {"heatmap", "liqmap", "levels", "maxpain"}, optional
            Only estimates of this method. With ``source`` also ``"coins"`` or ``"exchanges"``.
        version : str or Model, optional
            Only maps of this model version (:attr:`Model.version`); ``"unknown"`` for maps without a stored version.
        start : int, datetime, str or timedelta, optional
            Only maps with a last bar that closed at or after this instant.
        end : int, datetime, str or timedelta, optional
            Only maps with a last bar that closed before this instant.
        source : str, optional
            Name of a recording, such as ``"coinglass"`` (:func:`liqdata.record`): its maps and rankings, without
            ``version``.
        as_of : int, datetime or str, optional
            Use only data received by this instant; *now* by default.

        Returns
        -------
        Rows or dict of str to Rows
            As :meth:`liqdata.Client.maps`. With ``source`` the recorded maps or rankings as objects, oldest first.

        Raises
        ------
        BadQuery
            If the maps exceed 1 GiB, for a wrong parameter, and for a name that is not recorded.
        LiqdataError
            If the call fails; :class:`Market` lists the classes.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.maps("BTC", kind="levels")  # only archives have any
        Rows(0 × kind, symbol, params, timestamp, computed_at, reply, explain, version; simulated)
        """
        if source is not None:
            from .recording.recorded import recordings

            if version is not None:
                msg = f"version: {version!r} is not allowed with source; allowed: None"
                raise BadQuery(msg, parameter="version")
            recorded = self._recorded(source)
            return recordings(recorded, source.lower(), symbol, kind, start=start, end=end, as_of=as_of)
        return self._source.ask_each(rows("maps", locals()))

    def _of(self, source: str | None) -> LocalSource:
        return self._source if source is None else self._recorded(source)._source  # noqa: SLF001 - the same class

    def _recorded(self, source: str) -> Market:
        """The market of the orders and maps that were recorded of another service."""
        from .recording.recorded import recorded_market

        self._source.open_core()
        known = self._source.recorded.get(source) if isinstance(source, str) else None
        if known is None:
            known = recorded_market(self._source, source, _archived)
            self._source.recorded[source] = known
        return known

    def true_positions(self, symbol: str = "BTC") -> Rows[PositionRow]:
        """The open positions of a simulated market, to compare with an estimate.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``; a trading pair in any spelling stands for its coin.

        Returns
        -------
        Rows
            ``symbol``, ``side``, ``leverage``, ``entry_price``, ``liquidation_price`` and ``qty`` (base units) as
            float, at the market's *now*. Empty for an unknown coin.

        Raises
        ------
        WrongState
            If the market is not simulated.

        Examples
        --------
        >>> import liqdata
        >>> {row["side"] for row in liqdata.demo().true_positions("ETH")} == {"LONG", "SHORT"}
        True
        """
        core = self._source.open_core()
        if not self.simulated:
            msg = (
                "only a simulated market, such as liqdata.demo(), knows all its positions; positions() returns "
                "observed positions of single accounts"
            )
            raise WrongState(msg)
        return convert.rows(core.true_positions(_coin(symbol)), self._source.origin(None))

    def export(
        self,
        url: str | os.PathLike[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        tables: Sequence[ArchiveTable] = ("orders", "bars", "open_interest"),
        partition: Literal["day"] = "day",
        iceberg: str | None = None,
        progress: Progress = False,
    ) -> Exported:
        """Copy the finished days of an archive to a folder or object storage.

        Only files that the address does not have yet are sent. The list of files, with the collector sessions and gaps,
        is sent last: an interrupted export leaves the previous state in place, and the next export continues it. Files
        with rows that were undone or corrected since an earlier export then move to ``superseded``. Other programs can
        read the files, which are Parquet. :func:`liqdata.open` opens the address and gives the same answers about the
        exported days.

        Parameters
        ----------
        url : str or path
            A folder, as a path or ``file:///folder``, or the address of a prefix (``s3://bucket/prefix``, ``gs://…``,
            ``az://…``) that is used by this archive alone. Credentials come from the environment
            (``AWS_ACCESS_KEY_ID`` etc.).
        start, end : int, datetime or str, optional
            Only days from ``start`` (inclusive) to ``end`` (exclusive); both must be the start of a UTC day. By default
            all days that ended at least an hour ago. A day that has not ended is never exported.
        tables : sequence of {"orders", "bars", "open_interest", "maps", "positions", "totals"}
            What to export; coverage is exported with the orders.
        partition : {"day"}
            Each file holds one UTC day, as in the archive.
        iceberg : str, optional
            Register the files in this Iceberg catalog, without a copy, and drop superseded ones: the name of a catalog
            of pyiceberg, ``NAME.NAMESPACE`` (the namespace ``liqdata`` by default), or an address such as
            ``"sqlite:////data/catalog.db"``. Needs ``liqdata[iceberg]``.
        progress : bool or callable
            Show a progress bar of the files (needs tqdm; on a terminal or in a notebook), or call a function with the
            number of files done and the total (``None`` if unknown).

        Returns
        -------
        Exported
            What is at the address now, and how much was sent.

        Raises
        ------
        ArchiveError
            If the address cannot be written, if it contains another archive or files that this export does not have, or
            if a file of the archive is damaged; ``path`` names the file.
        BadQuery
            For a wrong address, instant or table.
        WrongState
            If the market is not opened from an archive, or replays one.

        Notes
        -----
        Needs obstore (``pip install "liqdata[cloud]"``). A collector may write to the archive meanwhile.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> from liqdata import _core
        >>> folder = tempfile.mkdtemp() + "/archive"  # usually made by a collector
        >>> _core.ArchiveWriter(folder).close()
        >>> with liqdata.open(folder) as market:
        ...     market.export(f"{folder}-copy").sent
        0
        """
        source = self._source
        source.open_core()
        if self.simulated:
            msg = (
                "a simulated market is not exported: the rows of an archive count as observed; "
                "iter_orders().to_parquet(path) writes its orders, and bars(symbol) is a frame of its bars"
            )
            raise WrongState(msg)
        if source.archive is None:
            msg = (
                "a market of tables is not exported: an archive names the exchange of every bar and reading, and "
                "when each row was received, which tables do not; liqdata.ingest(folder, ...) makes an archive "
                "of tables, and liqdata.open(folder) exports it"
            )
            raise WrongState(msg)
        if source.clock is not None:
            msg = f"a replay is not exported; liqdata.open({source.archive[0]!r}) exports its archive"
            raise WrongState(msg)
        folder, as_of = source.archive
        if as_of is not None:
            msg = (
                "as_of: the files of an archive do not depend on an instant; allowed: a market that was opened "
                "without as_of"
            )
            raise BadQuery(msg, parameter="as_of")
        from .cloud.upload import export

        done = export(
            folder,
            url,
            start=start,
            end=end,
            tables=tables,
            partition=partition,
            iceberg=iceberg,
            progress=progress,
        )
        return Exported(**done._asdict())

    def serve(self, host: str = "127.0.0.1", port: int = 0, **settings: Any) -> Server:
        """Serve this market over HTTP, with the live page at ``/``.

        Parameters
        ----------
        host : str
            Address to listen on; loopback by default.
        port : int
            Port to listen on, 0 to 65535; 0 picks a free one.
        **settings
            The other parameters of :func:`liqdata.serve`, such as ``open=True`` to open the page in the browser.

        Returns
        -------
        Server
            A running server; a context manager with ``url`` and ``close()``.

        Raises
        ------
        BadQuery
            As :func:`liqdata.serve`.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.demo().serve() as server, liqdata.Client(server.url) as client:
        ...     client.levels("BTC")["symbol"]
        'BTC'
        """
        from .server import serve

        return serve(self, host, port, **settings)

    def close(self) -> None:
        """Refuse further calls, receive no more data and end the streams of this market.

        Reads of archive files that wait in the background are cancelled.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.close()
        >>> market.overview()
        Traceback (most recent call last):
        ...
        liqdata.errors.WrongState: market is closed
        """
        source = self._source
        source.closed = True
        source.core.end()
        for recorded in source.recorded.values():
            recorded.close()
        if source.mirrored is not None:
            source.mirrored.mirror.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        source = self._source
        if source.clock is not None:
            at, _ = source.core.clock or (None, None)
            known = () if source.archive is None else (source.revision,)
            return source.clock.make, (*source.clock.arguments, source.clock.speed, at, *known)
        if source.demo is not None:
            return _demo, source.demo
        if source.mirrored is not None and source.archive is not None:
            return _fetched, (*source.mirrored[1:], source.archive[1], source.revision)
        if source.archive is not None:
            return _archived, (*source.archive, source.revision)
        return _from_tables, (source.core.tables(), source.core.now)

    def __repr__(self) -> str:
        source = self._source
        label = "simulated, " if self.simulated else ""
        if source.archive is not None:
            where = source.archive[0] if source.mirrored is None else ", ".join(source.mirrored.addresses)
            label = f"{'replay of ' if self.replayed else ''}archive {where!r}, "
        if source.clock is not None and source.clock.speed is not None:
            label += f"{source.clock.speed:g} times as fast as here, "
        closed = ", closed" if source.closed else ""
        at = "nothing yet" if self.now is None else f"now={self.now:%Y-%m-%dT%H:%M:%SZ}"
        return f"Market({label}{len(self.symbols)} coins, {at}{closed})"


def _market(source: LocalSource) -> Market:
    """Make a market from a source other than tables."""
    made = Market.__new__(Market)
    made._source = source  # noqa: SLF001 - `Market(...)` itself takes tables
    return made


def known_by(market: Market, at: int) -> Market:
    """A market of only the rows of a market that were known by an instant (epoch ms)."""
    return _market(LocalSource(market._source.open_core().known_by(at)))  # noqa: SLF001 - its own module


def _coin(symbol: object) -> str:
    _core.question("levels", symbol=symbol)  # raises for a symbol that is not text
    return _core.coin(str(symbol))


@public_call
def open(
    path: str | os.PathLike[str] | Sequence[str],
    *,
    as_of: Instant | None = None,
    start: Instant | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> Market:
    """Open an archive, on this machine or in object storage; a collector may be filling it.

    Parameters
    ----------
    path : str, path-like or sequence of str
        The folder of the archive, or the address that :meth:`Market.export` wrote to, such as ``s3://bucket/prefix``.
        Several addresses, or ``s3://bucket/*`` for all archives one level below, are merged into one archive. A row
        that several archives have appears once, as stored by the archive that received it first. A time counts as
        covered if any of the archives covers it.
    as_of : int, datetime or str, optional
        Fix the market at this instant: rows received later are never visible. By default the market grows with the
        archive.
    start : int, datetime or str, optional
        Only for an address: use only days from this one on (the start of a UTC day). All days by default.
    cache : str or path-like, optional
        Only for an address: the folder for downloaded files, by default in the user's cache folder. Files in this
        folder are not downloaded again.
    progress : bool or callable
        Only for an address: show a progress bar of the files (needs tqdm; on a terminal or in a notebook), or call a
        function with the number of files done and the total (``None`` if unknown).

    Returns
    -------
    Market
        Realised totals cover the last 24 hours; :meth:`Market.iter_orders`, :meth:`Market.bars` and
        :meth:`Market.open_interest` cover the whole history. Pickling stores the path, and the revision of the
        content, which is ignored when the market is unpickled. So ``joblib.Memory``, diskcache and other caches that
        pickle their arguments compute again after the archive has changed. In a forked process the archive must be
        opened again. An address contains only finished days; open it again to see later exports.

    Raises
    ------
    ArchiveError
        If there is no archive or it cannot be read; ``path`` names the file.
    BadQuery
        For a wrong instant or address.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # usually made by a collector
    >>> _core.ArchiveWriter(folder).close()
    >>> with liqdata.open(folder) as market:
    ...     len(market.bars("BTC"))
    0
    """
    at = instant(as_of, "as_of")
    checked_progress(progress)
    several = list(path) if isinstance(path, list | tuple) else None
    if several is None and not (isinstance(path, str) and "://" in path):
        for name, value in {"start": start, "cache": cache}.items():
            if value is not None:
                msg = f"{name}: the archive {path!r} is on this machine; allowed: for an address such as s3://bucket/prefix"
                raise BadQuery(msg, parameter=name)
        return _archived(archive_folder(path), at)
    from .cloud.objects import checked
    from .cloud.upload import day

    addresses = [checked(one, "path") for one in ([path] if several is None else several)]
    if not addresses or len(set(addresses)) < len(addresses):
        msg = f"path: {path!r} names {'one address twice' if addresses else 'no archive'}; allowed: different addresses"
        raise BadQuery(msg, parameter="path")
    where = None if cache is None else os.path.realpath(anchored(os.fspath(cache), "cache"))
    return _fetched(addresses, day(start, "start"), where, at, progress=progress)


def _fetched(
    addresses: list[str],
    start: int | None,
    cache: str | None,
    as_of: int | None,
    revision: object = None,
    *,
    progress: Progress = False,
) -> Market:
    del revision  # in pickles, for caches
    from .cloud.mirror import mirrored

    mirror = mirrored(addresses, cache=cache, start=start, progress=progress)
    made = _archived(str(mirror.folder), as_of)
    made._source.mirrored = MirroredArchive(mirror, addresses, start, cache)  # noqa: SLF001 - as in _market
    return made


def _archived(path: str, as_of: int | None, revision: object = None) -> Market:
    del revision  # in pickles, for caches
    core = _core.Market.open(path, as_of)
    return _market(LocalSource(core, archive=(os.path.realpath(path), as_of)))


def collected(collector: _core.Collector, path: str | os.PathLike[str]) -> Market:
    """Open the archive that a collector in this process fills.

    Maps that a server sends are stored in it.

    Parameters
    ----------
    collector : _core.Collector
        The native collector.
    path : str or path-like
        The folder of the archive.
    """
    return _market(LocalSource(collector.market(), archive=(os.path.realpath(os.fspath(path)), None)))


@public_call
def demo(
    *,
    seed: int = 0,
    now: Instant | None = None,
    live: bool = False,
    speed: float = 1.0,
    progress: Progress = False,
) -> Market:
    """Simulate a market with known positions, without network or account.

    Simulated traders open leveraged positions, partly with stops, along a random price path with jumps. A position is
    liquidated when the mark price crosses its liquidation price. The market has ten coins, five exchanges, and 30 days
    of orders, open interest and bars: bars of 5 minutes, and of 1 minute in the last two days. Binance publishes only
    the largest liquidation of a symbol and second, and the recording of OKX has a gap. All answers are labelled as
    simulated.

    Parameters
    ----------
    seed : int
        0 to 2⁶⁴ - 1; the same seed and ``now`` give the same market.
    now : int, datetime or str, optional
        The instant at which the market ends, floored to 5 minutes; a fixed instant by default.
    live : bool
        Continue the simulation from ``now`` for 30 days of market time: bars close and orders arrive. The events are
        the same at any speed.
    speed : float
        Only with ``live``: how many times faster than real time the market runs. With ``speed=60`` an hour takes a
        minute.
    progress : bool or callable
        Show a progress bar of the simulated bars (needs tqdm; on a terminal or in a notebook), or call a function with
        the number of bars done and the total.

    Returns
    -------
    Market
        Its ``simulated`` is True. :meth:`Market.true_positions` returns the open positions, those at the last bar close
        for a live market. Streams of a live market wait for new orders until the market ends; :meth:`Market.close` ends
        it.

    Raises
    ------
    BadQuery
        For a seed, instant or speed outside its bounds, and for a speed without ``live``.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> market.simulated, "BTC" in market.symbols
    (True, True)

    :meth:`Market.stream_orders` follows a live one.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _SEEDS:
        msg = f"seed: {seed!r} is not allowed; allowed: a whole number from 0 to 2**64 - 1"
        raise BadQuery(msg, parameter="seed")
    at = instant(_DEMO_NOW if now is None else now, "now") or 0
    pace = _checked_speed(speed)
    if live:
        return _live(seed, at, pace, progress=progress)
    if pace != 1:
        msg = f"speed: {speed!r} has no effect on a market that is not live; allowed: with live=True"
        raise BadQuery(msg, parameter="speed")
    return _demo(seed, at, progress=progress)


def _checked_speed(speed: float) -> float:
    """The speed of a clock, or :class:`~liqdata.BadQuery`."""
    allowed = f"a number above 0, at most {_MAX_SPEED:,}"
    found = number(speed, "speed", allowed)
    if not 0 < found <= _MAX_SPEED:
        msg = f"speed: {speed!r} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="speed")
    return found


def _live(seed: int, now: int, speed: float | None, at: int | None = None, *, progress: Progress = False) -> Market:
    """Start a live simulation; without a speed, ``_core.Market.advance`` moves its clock."""
    with counting(progress, "demo", " bars") as seen:
        core = _core.Market.live_demo(seed, now, speed, at, seen)
    return _market(LocalSource(core, clock=Clock(_live, (seed, now), speed)))


def _demo(
    seed: int, now: int, habits: tuple[float, float, float] | None = None, *, progress: Progress = False
) -> Market:
    """Simulate a market, optionally with other trader habits (``docs/explanation/simulation.md``).

    Markets with equal seed, instant and habits share one immutable native market while any of them exists.
    """
    # With a progress bar the simulation is always computed, never shared.
    core = None if progress else _made.get((seed, now, habits))
    if core is None:
        with counting(progress, "demo", " bars") as seen:
            core = _core.Market.demo(seed, now, habits, seen)
        _made[seed, now, habits] = core
    return _market(LocalSource(core, demo=(seed, now, habits)))


_made: WeakValueDictionary[tuple[int, int, tuple[float, float, float] | None], _core.Market] = WeakValueDictionary()


def _from_tables(tables: tuple[_core.Table, ...], now: int | None) -> Market:
    return Market(*tables, now=None if now is None else datetime_of(now))  # milliseconds of 1971 look like seconds


@public_call
def replay(
    path: str | os.PathLike[str],
    *,
    start: Instant | None = None,
    end: Instant | None = None,
    speed: float = 60.0,
    progress: Progress = False,
) -> Market:
    """Replay an archive: its data arrive again in time order, at a chosen speed.

    A row becomes visible when the replay clock reaches the time at which the collector received it, so backfilled rows
    arrive late, as they did then. The same archive gives the same rows in the same order at any speed. Streams, a
    server (:func:`liqdata.serve`), the estimates and :meth:`Market.history` include new rows as they arrive.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive. Rows that a collector adds after this call are not replayed.
    start : int, datetime or str, optional
        Start of the replay; data received by then are visible from the beginning. By default just before the first
        received row.
    end : int, datetime or str, optional
        End of the replay; the last received row by default.
    speed : float
        How many times faster than real time the clock runs. With ``speed=60`` an hour takes a minute.
    progress : bool or callable
        Show a progress bar of the days while this call reads the archive (needs tqdm; on a terminal or in a notebook),
        or call a function with the number of days done and the total.

    Returns
    -------
    Market
        Its ``replayed`` is True, and so is ``meta["replayed"]`` of its answers. Its ``now`` is the time at which data
        last arrived; a later ``as_of`` is refused. When the replay ends, the streams end and the market remains usable;
        :meth:`Market.close` ends it earlier. Pickling stores the path and the time that the replay has reached. In a
        forked process the replay must be started again.

    Raises
    ------
    BadQuery
        For a wrong instant, for a speed that is not above 0, and if no data arrive between ``start`` and ``end``.
    ArchiveError
        If there is no archive or it cannot be read.

    Notes
    -----
    This call reads the archive once, one day at a time, to find out when rows arrive; only one day is in memory at a
    time. The names of all coins and exchanges are available from the start.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # usually made by a collector
    >>> writer = _core.ArchiveWriter(folder)
    >>> writer.append(liqdata.demo().iter_orders("BTC", max_rows=20).to_arrow(), None, None)
    >>> writer.close()
    >>> with liqdata.replay(folder, start="2026-05-31T22:30Z", speed=1) as market:  # some orders are still to come
    ...     0 < len(market.orders(limit=20)) < 20
    True
    """
    if not isinstance(path, str | os.PathLike) or "://" in os.fspath(path):
        msg = f"path: {path!r} is not allowed; allowed: the folder of an archive on this machine"
        raise BadQuery(msg, parameter="path")
    first, last = time_bounds(start, end)
    place = os.path.realpath(anchored(os.fspath(path), "path"))
    return _replayed(place, first, last, _checked_speed(speed), progress=progress)


def _replayed(  # noqa: PLR0917 - as pickles call it
    path: str,
    start: int | None,
    end: int | None,
    speed: float | None,
    at: int | None = None,
    revision: object = None,
    *,
    progress: Progress = False,
) -> Market:
    """Start a replay; without a speed, ``_core.Market.advance`` moves its clock."""
    del revision  # in pickles, for caches
    with counting(progress, "replay", " days") as seen:
        core = _core.Market.replay(path, start, end, speed, at, seen)
    return _market(LocalSource(core, archive=(path, None), clock=Clock(_replayed, (path, start, end), speed)))
