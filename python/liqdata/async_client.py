"""The client for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, overload

from .async_queries import AsyncQueries
from .calls.traceback import public_methods
from .source.options import Options, remake
from .source.service import AsyncService
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal
    from typing import Unpack

    from .types import ClientOptions

__all__ = ["AsyncClient"]


@public_methods
class AsyncClient(AsyncQueries[Amount]):
    """A client for asyncio: the methods of :class:`~liqdata.Client` as coroutines.

    ``iter_orders``, ``stream_orders`` and ``stream_cascades`` are async iterators. Use ``async with`` or
    :meth:`aclose`. A cancelled await cancels its request.

    Parameters
    ----------
    base_url : str, optional
        Address of the service, http or https, with or without a path prefix. Default: ``$LIQDATA_BASE_URL``.
    timeout : float
        Deadline of a call in seconds, including retries and the waits between them.
    connect_timeout : float
        Deadline of one attempt to connect, in seconds.
    retries : int
        Maximum number of attempts after the first one. Only errors that may be temporary are retried.
    rate_limit : float, optional
        Maximum requests per second, over all threads. Waiting for this limit does not count against ``timeout``.
    max_body : int
        Maximum size of a reply in bytes, after decompression.
    decimals : {"decimal", "float", "text"}
        Type of decimal amounts in dict rows: exact :class:`~decimal.Decimal`, ``float``, or exact text.
    headers : mapping of str to str, optional
        HTTP headers to send with every request. Their values never appear in a repr, a log or an error.
    proxy : str, optional
        Address of a proxy; replaces the proxy of the environment variables. Loopback addresses never use a proxy.
    token : str, optional
        Token to send as ``Authorization: Bearer`` with every request; ``$LIQDATA_TOKEN`` by default. Never shown. A
        client with a token from the environment can be pickled; the process that unpickles it reads its own variable.

    Raises
    ------
    BadQuery
        For an option outside its bounds; nothing is sent.

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
    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        retries: int = 4,
        rate_limit: float | None = None,
        max_body: int = 64 * 2**20,
        decimals: Literal["decimal", "float", "text"] = "decimal",
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        token: str | None = None,
    ) -> None:
        self._source = AsyncService(
            Options(
                base_url,
                timeout=timeout,
                connect_timeout=connect_timeout,
                retries=retries,
                rate_limit=rate_limit,
                max_body=max_body,
                decimals=decimals,
                headers=headers,
                proxy=proxy,
                token=token,
            )
        )

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._source.core.base_url

    async def aclose(self) -> None:
        """Refuse further calls, and close the connections when running calls have ended.

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
        self._source.core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (
            type(self),
            self._source.options.portable(type(self).__name__),
        )

    def __repr__(self) -> str:
        return f"AsyncClient({self.base_url!r}{', closed' if self._source.core.closed else ''})"
