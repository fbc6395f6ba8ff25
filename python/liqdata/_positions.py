"""Positions of single accounts, as they were seen on a venue that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, overload

from . import _answers
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rows import Rows
    from .types import Instant, SeenPositionRow


@told(OF_SERVICE)
class _Positions(_Blocking, Generic[Amount]):
    """Positions of single accounts, asked of a service."""

    @overload
    def positions(self, symbol: str = "BTC", *, as_of: Instant | None = None) -> Rows[SeenPositionRow[Amount]]: ...
    @overload
    def positions(
        self, symbol: Sequence[str], *, as_of: Instant | None = None
    ) -> dict[str, Rows[SeenPositionRow[Amount]]]: ...
    def positions(
        self, symbol: str | Sequence[str] = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow[Amount]] | dict[str, Rows[SeenPositionRow[Amount]]]:
        """The positions of a coin in the last snapshot of single accounts. An extension of ``liqdata serve``.

        Only a venue that shows the positions of single accounts has any, and of it the accounts that were looked at:
        ``liqdata collect --positions`` looks at the most active and largest of Hyperliquid. None of it is estimated.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            By exchange and account: ``exchange``, ``account``, ``coin``, ``side``, ``qty`` (base units),
            ``entry_price``, ``leverage`` (float), ``margin_mode`` (``"cross"``, ``"isolated"``), ``liquidation_price``
            (``None`` where no price liquidates it), ``value_usd`` and ``observed_at`` (epoch ms, when the account was
            looked at). What is not known is ``None``. Of the last snapshot there is, however old that is. Empty where
            there is none, or the coin has none in it. ``meta`` has ``seen_share``: the share of the coin's open
            interest, both sides of it, that the positions make up, 0 to 1, ``None`` where that is not known, by
            exchange where there are several; and ``snapshot``: when the snapshot was complete, UTC.

        Raises
        ------
        BadQuery
            For a coin that nobody knows, and where the service has no positions.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.positions("BTC"))  # nobody looked at single accounts there
        0
        """
        return self._each("positions", symbol, _answers.positions, as_of)


@told(OF_SERVICE, _Positions)
class _AsyncPositions(_Awaiting, Generic[Amount]):
    """Positions of single accounts, awaited from a service."""

    @overload
    async def positions(
        self, symbol: str = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow[Amount]]: ...
    @overload
    async def positions(
        self, symbol: Sequence[str], *, as_of: Instant | None = None
    ) -> dict[str, Rows[SeenPositionRow[Amount]]]: ...
    async def positions(
        self, symbol: str | Sequence[str] = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow[Amount]] | dict[str, Rows[SeenPositionRow[Amount]]]:
        """As :meth:`liqdata.Client.positions`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def seen(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.positions("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(seen(server.url)).meta["seen_share"] is None
        True
        """
        return await self._each("positions", symbol, _answers.positions, as_of)


@told(OF_MARKET, _Positions)
class _LocalPositions(_Local):
    """Positions of single accounts, asked of a market in this process."""

    @overload
    def positions(self, symbol: str = "BTC", *, as_of: Instant | None = None) -> Rows[SeenPositionRow]: ...
    @overload
    def positions(self, symbol: Sequence[str], *, as_of: Instant | None = None) -> dict[str, Rows[SeenPositionRow]]: ...
    def positions(
        self, symbol: str | Sequence[str] = "BTC", *, as_of: Instant | None = None
    ) -> Rows[SeenPositionRow] | dict[str, Rows[SeenPositionRow]]:
        """As :meth:`liqdata.Client.positions`, at ``as_of``. Only archives have any.

        Raises
        ------
        BadQuery
            For a coin that nobody knows.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().positions("BTC").columns[:3]  # those of a simulation: Market.true_positions
        ['exchange', 'account', 'coin']
        """
        return self._each("positions", symbol, _answers.positions, as_of)
