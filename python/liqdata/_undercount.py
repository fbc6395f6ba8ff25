"""What sampled exchanges leave out, estimated: columns of its own, in none of the totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from . import _answers
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .types import Amount

if TYPE_CHECKING:
    from .rows import Rows
    from .types import Instant, UndercountRow, Window


@told(OF_SERVICE)
class _Undercount(_Blocking, Generic[Amount]):
    """What sampled exchanges leave out, asked of a service."""

    def undercount(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[UndercountRow[Amount]]:
        """What each exchange published, and an estimate of all it liquidated. An extension of ``liqdata serve``.

        Exchanges that publish one liquidation per symbol and second leave out the others. What that loses is measured
        on the tapes of exchanges that publish all of theirs, thinned the same way in the same window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            By name: ``exchange``, ``sampling`` (which of its liquidations it publishes), ``observed_usd`` (exact
            decimal), ``estimated_usd``, ``low_usd``, ``high_usd`` (float, USD; an interval of 90 %) and ``method``.
            Where no complete tape tells enough, or the exchange does not say what it leaves out, the estimate is
            ``None`` and the method begins with ``unknown``. Of an exchange that publishes everything all amounts are
            the same.

        Raises
        ------
        BadQuery
            For a parameter that is not allowed, and where the service has no such estimate.

        Notes
        -----
        The estimate is of what was left out by the exchange, not of what was missed while nobody listened: see
        :meth:`Market.coverage` for that. No total contains it.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     {row["sampling"] for row in client.undercount("1h")}  # a simulation shows everything
        {'complete'}
        """
        return self._ask("undercount", _answers.rows, as_of, range=range)


@told(OF_SERVICE, _Undercount)
class _AsyncUndercount(_Awaiting, Generic[Amount]):
    """What sampled exchanges leave out, awaited from a service."""

    async def undercount(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[UndercountRow[Amount]]:
        """As :meth:`liqdata.Client.undercount`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def estimated(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.undercount("1h")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     {row["sampling"] for row in asyncio.run(estimated(server.url))}
        {'complete'}
        """
        return await self._ask("undercount", _answers.rows, as_of, range=range)


@told(OF_MARKET, _Undercount)
class _LocalUndercount(_Local):
    """What sampled exchanges leave out, asked of a market in this process."""

    def undercount(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[UndercountRow]:
        """As :meth:`liqdata.Client.undercount`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> {row["sampling"] for row in market.undercount("1h")}  # a simulation shows everything
        {'complete'}
        """
        return self._ask("undercount", _answers.rows, as_of, range=range)
