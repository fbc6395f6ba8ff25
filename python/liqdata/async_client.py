"""The client for asyncio: the same questions as coroutines."""

from __future__ import annotations

from typing import Self

from ._cascades import _AsyncCascades
from ._estimates import _AsyncEstimates
from ._history import _AsyncHistory
from ._orders import _AsyncOrders
from ._totals import _AsyncTotals

__all__ = ["AsyncClient"]


class AsyncClient(_AsyncTotals, _AsyncHistory, _AsyncCascades, _AsyncOrders, _AsyncEstimates):
    """The client for asyncio: the same names as :class:`~liqdata.Client`, as coroutines.

    Parameters are those of :class:`~liqdata.Client`. ``iter_orders`` and ``stream_orders`` are async
    iterators; use ``async with`` or :meth:`aclose`. A cancelled await cancels its request.

    Examples
    --------
    >>> import asyncio, liqdata
    >>> async def main(url):
    ...     async with liqdata.AsyncClient(url) as client:
    ...         coins, map = await asyncio.gather(client.coins(limit=3), client.heatmap("ETH", "12h"))
    ...         return len(coins), map.symbol
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     asyncio.run(main(server.url))
    (3, 'ETH')
    """

    async def aclose(self) -> None:
        """Refuse further calls; connections are closed once calls under way have ended."""
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
