"""The client for asyncio: the same questions as coroutines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, overload

from ._cascades import _AsyncCascades
from ._coverage import _AsyncCoverage
from ._heatmap import _AsyncHeatmap
from ._history import _AsyncHistory
from ._levels import _AsyncLevels
from ._liqmap import _AsyncLiqmap
from ._maps import _AsyncMaps
from ._orders import _AsyncOrders
from ._positions import _AsyncPositions
from ._series import _AsyncSeries
from ._told import made_as
from ._totals import _AsyncTotals
from ._undercount import _AsyncUndercount
from .client import Client
from .types import Amount

if TYPE_CHECKING:
    from decimal import Decimal
    from typing import Unpack

    from .types import ClientOptions

__all__ = ["AsyncClient"]


@made_as(Client)
class AsyncClient(
    _AsyncTotals[Amount],
    _AsyncHistory[Amount],
    _AsyncCascades[Amount],
    _AsyncUndercount[Amount],
    _AsyncPositions[Amount],
    _AsyncOrders[Amount],
    _AsyncHeatmap,
    _AsyncLiqmap,
    _AsyncLevels,
    _AsyncCoverage,
    _AsyncSeries,
    _AsyncMaps,
):
    """The client for asyncio: the same names as :class:`~liqdata.Client`, as coroutines.

    ``iter_orders`` and ``stream_orders`` are async iterators; use ``async with`` or :meth:`aclose`. A cancelled await
    cancels its request.

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

    if TYPE_CHECKING:  # the type of a client says how it gives amounts; ``_Service`` makes it

        @overload
        def __init__(
            self: AsyncClient[Decimal],
            base_url: str | None = None,
            *,
            decimals: Literal["decimal"] = "decimal",
            **options: Unpack[ClientOptions],
        ) -> None: ...
        @overload
        def __init__(
            self: AsyncClient[float],
            base_url: str | None = None,
            *,
            decimals: Literal["float"],
            **options: Unpack[ClientOptions],
        ) -> None: ...
        @overload
        def __init__(
            self: AsyncClient[str],
            base_url: str | None = None,
            *,
            decimals: Literal["text"],
            **options: Unpack[ClientOptions],
        ) -> None: ...
        def __init__(self, base_url: str | None = None, **options: Any) -> None: ...

    async def aclose(self) -> None:
        """Refuse further calls; connections are closed once calls under way have ended.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def once(url):
        ...     client = liqdata.AsyncClient(url)
        ...     try:
        ...         return len(await client.coins(limit=3))
        ...     finally:
        ...         await client.aclose()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(once(server.url))
        3
        """
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
