"""What the estimates are made of: price bars and open interest."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from . import _answers
from ._inputs import length, spelled
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from .rows import Rows
    from .types import BarRow, Instant, OpenInterestRow


@told(OF_SERVICE)
class _Series(_Blocking):
    """Bars and open interest, asked of a service."""

    @overload
    def bars(
        self,
        symbol: str = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow]: ...
    @overload
    def bars(
        self,
        symbol: Sequence[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[BarRow]]: ...
    def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow] | dict[str, Rows[BarRow]]:
        """The price bars of a coin that have closed. An extension of ``liqdata serve`` beside the ten endpoints.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        start : int, datetime or str, optional
            Only bars that opened then or later; one that has begun before it is left out.
        end : int, datetime or str, optional
            Only bars that closed by then; one that ends after it is left out.
        interval : str, timedelta or int, optional
            Length of the bars: such as ``"15m"``, ``"4h"``, ``"1d"`` or ``"1M"`` (which is ``"30d"``), a timedelta, or
            milliseconds; whole minutes. They open at multiples of it since the epoch and are made of the bars there are
            whose length divides it; of those that are there, where some are missing. As they are by default: in an
            archive of each time the shortest, and longer ones where no exchange has a shorter one, none of which lie in
            one another.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``symbol``, ``timestamp`` (open of the bar, epoch ms), ``closes_at`` (from when on it is known, epoch ms),
            ``open``, ``high``, ``low``, ``close`` (float), ``volume`` (base units), ``interval`` (ms). Empty for a coin
            that is known and has none. Of an archive one series of all its exchanges: the price of the one that was
            observed the longest, the volume of all.
            Where an ``interval`` is asked for, ``meta["earlier"]`` says that bars of the stretch lie before the first
            of these which cannot be made into it, mostly longer ones: ``timestamp`` (a datetime, the open of the first)
            and its ``interval`` (ms). Without ``interval`` they are in the answer. An extension of ``liqdata serve``.

        Raises
        ------
        BadQuery
            For an ``interval`` that is not whole minutes, a coin that nobody knows, and where the service has no bars.
        Refused
            400 for an ``interval`` that none of the coin's bars divide, such as one shorter than they are.

        Examples
        --------
        >>> from datetime import timedelta
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        ...     len(client.bars("BTC", interval="1h", start=market.now - timedelta(days=1)))
        24
        """
        return self._each("bars", symbol, _answers.rows, as_of, interval=_interval(interval), **spelled(start, end))

    @overload
    def open_interest(
        self,
        symbol: str = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow]: ...
    @overload
    def open_interest(
        self,
        symbol: Sequence[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OpenInterestRow]]: ...
    def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow] | dict[str, Rows[OpenInterestRow]]:
        """The readings of a coin's open interest. An extension of ``liqdata serve`` beside the ten endpoints.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        start : int, datetime or str, optional
            Only readings from then on.
        end : int, datetime or str, optional
            Only readings before then.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``symbol``, ``exchange`` (``None`` where a reading is a total), ``timestamp`` (epoch ms) and
            ``open_interest`` (base units, one side), in order of time. Empty for a coin that is known and has none.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.open_interest("BTC").columns
        ['symbol', 'exchange', 'timestamp', 'open_interest']
        """
        return self._each("open_interest", symbol, _answers.rows, as_of, **spelled(start, end))


@told(OF_SERVICE, _Series)
class _AsyncSeries(_Awaiting):
    """Bars and open interest, awaited from a service."""

    @overload
    async def bars(
        self,
        symbol: str = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow]: ...
    @overload
    async def bars(
        self,
        symbol: Sequence[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[BarRow]]: ...
    async def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow] | dict[str, Rows[BarRow]]:
        """As :meth:`liqdata.Client.bars`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def days(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.bars("BTC", interval="1d")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(days(server.url)))
        30
        """
        return await self._each(
            "bars", symbol, _answers.rows, as_of, interval=_interval(interval), **spelled(start, end)
        )

    @overload
    async def open_interest(
        self,
        symbol: str = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow]: ...
    @overload
    async def open_interest(
        self,
        symbol: Sequence[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OpenInterestRow]]: ...
    async def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow] | dict[str, Rows[OpenInterestRow]]:
        """As :meth:`liqdata.Client.open_interest`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def readings(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.open_interest("BTC", start="2026-05-31")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(readings(server.url)).columns[:2]
        ['symbol', 'exchange']
        """
        return await self._each("open_interest", symbol, _answers.rows, as_of, **spelled(start, end))


@told(OF_MARKET, _Series)
class _LocalSeries(_Local):
    """Bars and open interest, asked of a market in this process."""

    @overload
    def bars(
        self,
        symbol: str = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow]: ...
    @overload
    def bars(
        self,
        symbol: Sequence[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[BarRow]]: ...
    def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        interval: str | timedelta | int | None = None,
        as_of: Instant | None = None,
    ) -> Rows[BarRow] | dict[str, Rows[BarRow]]:
        """As :meth:`liqdata.Client.bars`, at ``as_of``.

        Raises
        ------
        BadQuery
            For an ``interval`` that is not whole minutes, and a coin that nobody knows.
        Refused
            400 for an ``interval`` that none of the coin's bars divide, such as one shorter than they are.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> len(market.bars("BTC", interval="1d")), len(market.bars("BTC", start="2026-05-31", interval="1h"))
        (30, 24)
        """
        return self._each("bars", symbol, _answers.rows, as_of, interval=_interval(interval), **spelled(start, end))

    @overload
    def open_interest(
        self,
        symbol: str = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow]: ...
    @overload
    def open_interest(
        self,
        symbol: Sequence[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[OpenInterestRow]]: ...
    def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[OpenInterestRow] | dict[str, Rows[OpenInterestRow]]:
        """As :meth:`liqdata.Client.open_interest`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> bool(market.open_interest("BTC", start="2026-05-31")["open_interest"].min() > 0)
        True
        """
        return self._each("open_interest", symbol, _answers.rows, as_of, **spelled(start, end))


def _interval(size: str | timedelta | int | None) -> str | None:
    """The length of bars as a query string has it."""
    return None if size is None else str(length(size))
