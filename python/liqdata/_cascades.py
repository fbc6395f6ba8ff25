"""Cascades: orders of one coin and side that follow each other closely, as events; asked for, and as they close."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic

from . import _answers, _core
from ._inputs import datetime_of, many, stretch, symbols, usd
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .errors import BadQuery
from .stream import AsyncCascadeStream, CascadeStream
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from .rows import Rows
    from .types import CascadeRow, Instant

_SECOND = 1000
_DAY = 24 * 60 * 60 * _SECOND
_MILLISECOND = timedelta(milliseconds=1)


@told(OF_SERVICE)
class _Cascades(_Blocking, Generic[Amount]):
    """Cascades, asked of a service."""

    def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CascadeRow[Amount]]:
        """Liquidations that followed each other closely, as events. An extension of ``liqdata serve``.

        Orders of one coin and side no further apart than ``gap``, on whatever exchanges, are one event; it counts once
        they have reached ``min_usd`` together.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            A coin (``BTC``), a trading pair (``BTCUSDT``, whose orders alone count then) or several, also with commas
            between them; everything by default.
        gap : str, timedelta or int
            The most time between one order and the next, by event time: ``"1ms"`` to ``"1d"``, or milliseconds from
            1000 on: fewer need their unit.
        min_usd : float or Decimal
            Only events of at least so many USD, 0 or more.
        start : int, datetime or str, optional
            Only events that began then or later; 24 hours before ``end`` by default.
        end : int, datetime or str, optional
            Only events that began before then, followed to their ends; by default all up to and with *now*.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            By ``start``: ``start`` and ``end`` (event times of the first and the last order, epoch ms), ``coin``,
            ``side``, ``usd`` (exact decimal), ``cnt`` (orders), ``venues`` (exchanges), ``largest_usd`` (exact decimal,
            the largest order), ``price_before`` (close of the last bar that had closed by the start), ``price_after``
            (close of the bar that the end lies in), ``change_1m``, ``change_5m``, ``change_1h`` (share by which the
            price moved on from ``price_after``), ``percentile_7d`` (share of the coin's events of the 7 days before the
            start, over by then, that had less USD). What bars do not tell, or not yet, is ``None``.

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, for more than a million events, and where the service has no cascades.

        Notes
        -----
        Prices are known at the closes of the market's bars: with bars of five minutes ``price_before`` is up to five
        minutes older than the start, ``price_after`` as much younger than the end, and no ``change_1m`` is told. An
        event whose end lies no more than ``gap`` before *now* may still grow.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     rows = client.cascades("BTC", gap="5m", min_usd=1_000_000)
        >>> all(row["usd"] >= row["largest_usd"] and row["end"] >= row["start"] for row in rows)
        True
        """
        return self._ask("cascades", _answers.rows, as_of, **asked(symbol, gap, min_usd, (start, end)))

    def stream_cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        last_event_id: str | None = None,
    ) -> CascadeStream[Amount]:
        """The cascades as they close: an iterator that waits for the next and has no end of its own.

        A cascade is told once, when the newest event time of all orders has passed its end by ``gap``, so that no order
        in time can join it. Its row is that of :meth:`cascades` then: what bars do not tell yet, such as the changes
        after it, is ``None``, and ask :meth:`cascades` for it later. An order that comes late may change what
        :meth:`cascades` tells of it; it is not told again. One that is more than two hours older than the newest
        changes nothing here. An extension of ``liqdata serve``.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Only this coin, or this trading pair (whose orders alone count then), or several of them.
        gap : str, timedelta or int
            The most time between one order and the next, as of :meth:`cascades`.
        min_usd : float or Decimal
            Only cascades of at least so many USD, 0 or more.
        last_event_id : str, optional
            Go on behind this cascade: an earlier stream's ``last_event_id``, of the same question. From now on where
            absent; a cascade that is under way counts.

        Returns
        -------
        CascadeStream
            An iterator of rows as of :meth:`cascades`; its ``last_event_id`` is the id of the last one. Use it in
            ``with``, or ``close()`` it.

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, and where the service does not announce ``events`` of its stream.
        NoAnswer
            If no connection can be had within the client's retries; asked again, the stream goes on where it was.
        Refused
            With status 410 if the service no longer knows the place to go on from, so that cascades are missing:
            :meth:`cascades` has them, and the stream, asked again, goes on behind the gap.

        Examples
        --------
        >>> import liqdata
        >>> def watch(url):
        ...     with liqdata.Client(url) as client, client.stream_cascades("BTC", min_usd=1_000_000) as stream:
        ...         for row in stream:
        ...             print(row["side"], row["usd"], row["cnt"])
        """
        core = self._core.cascade_stream(_named(symbol), spelled(gap), usd(min_usd), last_event_id)
        return CascadeStream(core, decimals=self._options.decimals)


@told(OF_SERVICE, _Cascades)
class _AsyncCascades(_Awaiting, Generic[Amount]):
    """Cascades, awaited from a service."""

    async def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CascadeRow[Amount]]:
        """As :meth:`liqdata.Client.cascades`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def events(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.cascades("BTC", gap="5m", min_usd=1_000_000)
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(events(server.url)))
        20
        """
        return await self._ask("cascades", _answers.rows, as_of, **asked(symbol, gap, min_usd, (start, end)))

    def stream_cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        last_event_id: str | None = None,
    ) -> AsyncCascadeStream[Amount]:
        """As :meth:`liqdata.Client.stream_cascades`, for ``async for``.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def watch(url):
        ...     async with liqdata.AsyncClient(url) as client, client.stream_cascades("BTC") as stream:
        ...         async for row in stream:
        ...             print(row["side"], row["usd"], row["cnt"])
        """
        core = self._core.cascade_stream(_named(symbol), spelled(gap), usd(min_usd), last_event_id)
        return AsyncCascadeStream(core, decimals=self._options.decimals)


@told(OF_MARKET, _Cascades)
class _LocalCascades(_Local):
    """Cascades, asked of a market in this process."""

    def cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[CascadeRow]:
        """As :meth:`liqdata.Client.cascades`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> events = market.cascades("BTC", gap="5m", min_usd=1_000_000)
        >>> len(events), all(event["usd"] >= event["largest_usd"] for event in events)
        (20, True)
        """
        return self._ask("cascades", _answers.rows, as_of, **asked(symbol, gap, min_usd, (start, end)))

    def stream_cascades(
        self,
        symbol: str | Iterable[str] | None = None,
        *,
        gap: str | timedelta | int = "60s",
        min_usd: float | Decimal = 100_000,
        last_event_id: str | None = None,
    ) -> CascadeStream:
        """As :meth:`liqdata.Client.stream_cascades`; in tables nothing arrives, and their stream ends at once.

        Examples
        --------
        >>> import liqdata
        >>> list(liqdata.demo().stream_cascades("BTC"))
        []
        """
        core = self._open().cascade_stream(_named(symbol), spelled(gap), usd(min_usd), last_event_id)
        return CascadeStream(core, decimals="decimal")


def asked(symbol: object, gap: object, min_usd: object, between: tuple[Any, Any]) -> dict[str, str | None]:
    """The parameters as a query string has them, checked as far as one can without the market."""
    names = symbols(symbol)
    first, last = (None if at is None else datetime_of(at).isoformat() for at in stretch(*between))
    return {
        "symbol": ",".join(names) if names else None,
        "gap": spelled(gap),
        "min_usd": usd(min_usd),
        "start": first,
        "end": last,
    }


def _named(symbol: object) -> object:
    """Several symbols as a query string has them; one, or what is none, as it is."""
    several = many(symbol)
    if several is None:
        return symbol
    names = symbols(several)
    return ",".join(names) if names else None


def spelled(gap: object) -> str:
    """A gap as a query string has it, checked: where a number alone would be taken for seconds, with its unit."""
    found = milliseconds(gap)
    return str(found) if found >= _SECOND else f"{found}ms"


def milliseconds(gap: object) -> int:
    """A gap in milliseconds, or :class:`~liqdata.BadQuery`."""
    found: int | None = None
    if isinstance(gap, timedelta):
        found = None if gap % _MILLISECOND else gap // _MILLISECOND
    elif isinstance(gap, str):
        found = _core.span(gap)
        if found is None and gap.isdecimal() and gap.isascii():
            found = int(gap)
    elif isinstance(gap, int) and not isinstance(gap, bool):
        found = gap
    if found is not None and 0 < found < _SECOND and not (isinstance(gap, timedelta) or _core.span(str(gap))):
        msg = f'gap: {gap} has no unit: it would be {gap} milliseconds; allowed: "{gap}s" for seconds, or "{gap}ms"'
        raise BadQuery(msg, parameter="gap")
    if found is None or not 0 < found <= _DAY:
        msg = f'gap: {gap!r} is not allowed; allowed: from "1ms" to "1d", such as "60s", a timedelta, or milliseconds'
        raise BadQuery(msg, parameter="gap")
    return found
