"""The client for asyncio: the same questions as coroutines.

Finished calls are queued in the native half, and one byte on a socket pair wakes the event loop, which settles them on
its own thread: no thread per call, and no foreign thread ever touches the interpreter.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from . import _answers, _core
from ._answers import Convert, batch
from ._inputs import many
from ._progress import bar
from .client import Options, remake
from .stream import AsyncOrderStream
from .walk import AsyncOrderIterator

if TYPE_CHECKING:
    from .grids import Heatmap, LiquidationMap
    from .rows import Rows
    from .types import (
        ChartRow,
        CoinRow,
        ExchangeRow,
        HeatmapRange,
        Levels,
        MapRange,
        MaxPain,
        Model,
        OrderRow,
        Overview,
        Window,
    )

__all__ = ["AsyncClient"]

A = TypeVar("A")

Begin = Callable[["_core.Bridge | None", int], _core.Call]


class _Link:
    """One event loop's end of the bridge: which futures wait for which calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.pid = os.getpid()
        self.bridge = _core.Bridge()
        self.waiting: dict[int, asyncio.Future[None]] = {}
        self.tokens = itertools.count(1)
        loop.add_reader(self.bridge.fileno(), self.settle)

    def settle(self) -> None:
        for token in self.bridge.drain():
            future = self.waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


_links: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Link] = weakref.WeakKeyDictionary()


def _link(loop: asyncio.AbstractEventLoop) -> _Link | None:
    link = _links.get(loop)
    if link is None or link.pid != os.getpid():
        try:
            link = _Link(loop)
        except NotImplementedError:
            # A loop that watches no descriptors (Windows' default): a thread waits instead.
            return None
        _links[loop] = link
    return link


async def _answer(begin: Begin) -> Any:
    """Awaits one call; a cancelled await cancels the call."""
    loop = asyncio.get_running_loop()
    link = _link(loop)
    if link is None:
        call = begin(None, 0)
        try:
            return await asyncio.to_thread(call.wait)
        except asyncio.CancelledError:
            call.cancel()
            raise
    token = next(link.tokens)
    future = link.waiting[token] = loop.create_future()
    try:
        call = begin(link.bridge, token)
        try:
            await future
        except asyncio.CancelledError:
            call.cancel()
            raise
    finally:
        link.waiting.pop(token, None)
    return call.wait()


class AsyncClient:
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
    ) -> None:
        self._options = Options(
            base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            retries=retries,
            rate_limit=rate_limit,
            max_body=max_body,
            decimals=decimals,
            headers=headers,
            proxy=proxy,
        )
        self._core = self._options.core

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._core.base_url

    async def _ask(self, question: _core.Question, convert: Convert[A]) -> A:
        answer = await _answer(lambda bridge, token: self._core.begin(question, bridge, token))
        return convert(answer, self._options.origin())

    async def _each(self, symbol: object, make: Callable[[Any], _core.Question], convert: Convert[A]) -> Any:
        symbols = many(symbol)
        if symbols is None:
            return await self._ask(make(symbol), convert)
        questions = batch(symbols, make)
        if not questions and not self._core.closed:
            return {}
        asked, names = list(questions.values()), list(questions)
        answers = await _answer(lambda bridge, token: self._core.begin_many(asked, names, bridge, token))
        origin = self._options.origin()
        return {name: convert(answer, origin) for name, answer in zip(names, answers, strict=True)}

    async def overview(self) -> Overview:
        """As :meth:`liqdata.Client.overview`."""
        answer: Overview = await self._ask(_core.overview(), _answers.plain)
        return answer

    async def coins(self, range: Window = "24h", limit: int = 30) -> Rows[CoinRow]:
        """As :meth:`liqdata.Client.coins`."""
        return await self._ask(_core.coins(range, limit), _answers.rows)

    async def exchanges(self, range: Window = "24h") -> Rows[ExchangeRow]:
        """As :meth:`liqdata.Client.exchanges`."""
        return await self._ask(_core.exchanges(range), _answers.rows)

    async def largest(self, range: Window = "24h", limit: int = 20) -> Rows[OrderRow]:
        """As :meth:`liqdata.Client.largest`."""
        return await self._ask(_core.largest(range, limit), _answers.rows)

    @overload
    async def orders(
        self, symbol: str | None = None, exchange: str | None = None, limit: int = 50, offset: int = 0
    ) -> Rows[OrderRow]: ...
    @overload
    async def orders(
        self, symbol: Sequence[str], exchange: str | None = None, limit: int = 50, offset: int = 0
    ) -> dict[str, Rows[OrderRow]]: ...
    async def orders(
        self,
        symbol: str | Sequence[str] | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Rows[OrderRow] | dict[str, Rows[OrderRow]]:
        """As :meth:`liqdata.Client.orders`."""
        answer: Rows[OrderRow] | dict[str, Rows[OrderRow]] = await self._each(
            symbol, lambda one: _core.orders(one, exchange, limit, offset), _answers.rows
        )
        return answer

    @overload
    async def chart(self, symbol: str = "BTCUSDT") -> Rows[ChartRow]: ...
    @overload
    async def chart(self, symbol: Sequence[str]) -> dict[str, Rows[ChartRow]]: ...
    async def chart(self, symbol: str | Sequence[str] = "BTCUSDT") -> Rows[ChartRow] | dict[str, Rows[ChartRow]]:
        """As :meth:`liqdata.Client.chart`."""
        answer: Rows[ChartRow] | dict[str, Rows[ChartRow]] = await self._each(symbol, _core.chart, _answers.rows)
        return answer

    @overload
    async def heatmap(self, symbol: str = "BTC", range: HeatmapRange = "24h", model: Model = 2) -> Heatmap: ...
    @overload
    async def heatmap(
        self, symbol: Sequence[str], range: HeatmapRange = "24h", model: Model = 2
    ) -> dict[str, Heatmap]: ...
    async def heatmap(
        self, symbol: str | Sequence[str] = "BTC", range: HeatmapRange = "24h", model: Model = 2
    ) -> Heatmap | dict[str, Heatmap]:
        """As :meth:`liqdata.Client.heatmap`."""
        answer: Heatmap | dict[str, Heatmap] = await self._each(
            symbol, lambda one: _core.heatmap(one, range, model), _answers.heatmap
        )
        return answer

    @overload
    async def liqmap(self, symbol: str = "BTC", range: MapRange = "1d") -> LiquidationMap: ...
    @overload
    async def liqmap(self, symbol: Sequence[str], range: MapRange = "1d") -> dict[str, LiquidationMap]: ...
    async def liqmap(
        self, symbol: str | Sequence[str] = "BTC", range: MapRange = "1d"
    ) -> LiquidationMap | dict[str, LiquidationMap]:
        """As :meth:`liqdata.Client.liqmap`."""
        answer: LiquidationMap | dict[str, LiquidationMap] = await self._each(
            symbol, lambda one: _core.liqmap(one, range), _answers.liqmap
        )
        return answer

    @overload
    async def levels(self, symbol: str = "BTC") -> Levels: ...
    @overload
    async def levels(self, symbol: Sequence[str]) -> dict[str, Levels]: ...
    async def levels(self, symbol: str | Sequence[str] = "BTC") -> Levels | dict[str, Levels]:
        """As :meth:`liqdata.Client.levels`."""
        answer: Levels | dict[str, Levels] = await self._each(symbol, _core.levels, _answers.plain)
        return answer

    @overload
    async def maxpain(self, symbol: str = "BTC") -> MaxPain: ...
    @overload
    async def maxpain(self, symbol: Sequence[str]) -> dict[str, MaxPain]: ...
    async def maxpain(self, symbol: str | Sequence[str] = "BTC") -> MaxPain | dict[str, MaxPain]:
        """As :meth:`liqdata.Client.maxpain`."""
        answer: MaxPain | dict[str, MaxPain] = await self._each(symbol, _core.maxpain, _answers.plain)
        return answer

    def iter_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        page_size: int = 1000,
        max_rows: int | None = None,
        progress: bool = False,
    ) -> AsyncOrderIterator:
        """As :meth:`liqdata.Client.iter_orders`, for ``async for``."""
        walk = self._core.walk(symbol, exchange, page_size, max_rows)
        return AsyncOrderIterator(
            lambda: _answer(walk.begin_next), bar(wanted=progress, total=max_rows), self._options.origin
        )

    def stream_orders(
        self, symbol: str | None = None, exchange: str | None = None, *, last_event_id: str | None = None
    ) -> AsyncOrderStream:
        """As :meth:`liqdata.Client.stream_orders`, for ``async for``."""
        core = self._core.stream(symbol, exchange, last_event_id)
        return AsyncOrderStream(core, decimals=self._options.decimals)

    async def aclose(self) -> None:
        """Refuse further calls; connections are closed once calls under way have ended."""
        self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (type(self), self._options.portable(type(self).__name__))

    def __repr__(self) -> str:
        return f"AsyncClient({self.base_url!r}{', closed' if self._core.closed else ''})"
