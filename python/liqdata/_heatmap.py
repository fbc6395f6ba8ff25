"""Heatmaps: estimates over price and time of where the next liquidations wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from . import _answers
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_ESTIMATES, OF_SERVICE, told
from .model import asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from .grids import Heatmap
    from .model import Model
    from .types import HeatmapRange, Instant, Instants
    from .types import Model as Number


@told(OF_SERVICE)
class _Heatmap(_Blocking):
    """Heatmaps, asked of a service."""

    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Heatmap: ...
    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> Iterator[Heatmap]: ...
    @overload
    def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Heatmap]: ...
    @overload
    def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Iterator[Heatmap]]: ...
    def heatmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """Estimated liquidations over price and time.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        range : {"12h", "24h", "3d", "7d", "1M"}
            Positions opened in the last so much time; ``"1d"``, ``"1w"`` and ``"30d"`` are understood as well. An
            extension of ours, where the bars reach back so far: ``"3M"`` (90 days), ``"6M"``, ``"1y"``, and ``"all"``
            since the bars begin.
        model : {2, 3} or Model
            2: USD of open interest exposed; 3: USD expected to be reported liquidated; or parameters of your own.
        exchange : str, optional
            The ledger of one exchange: its open interest and its orders; bars, and so the relative volume, are the
            coin's. All exchanges together by default. An extension of our server.
        as_of : int, datetime or str, or several of them, optional
            Answer as of then: nothing known later counts; now by default. Several instants give an iterator of heatmaps
            in their order, a few of them asked for at a time as they are taken (of :class:`AsyncClient` an asynchronous
            iterator). An extension of ``liqdata serve``.
        explain : bool
            Ask for what the estimate rests on, in ``meta["explain"]``, and for its :attr:`~Heatmap.long`,
            :attr:`~Heatmap.short`, :attr:`~Heatmap.low` and :attr:`~Heatmap.high`. A market in this process always
            tells it. An extension of ``liqdata serve``.

        Returns
        -------
        Heatmap or dict of str to Heatmap
            ``matrix`` is (P, T) float64, ``prices`` (P,) float64, ``times`` (T,) datetime64[ms].

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     map = client.heatmap("BTC", "12h")
        >>> map.matrix.shape == (map.prices.size, map.times.size)
        True
        """
        return self._when(
            "heatmap",
            symbol,
            _answers.heatmap,
            as_of,
            explain=explain,
            range=range,
            model=asked(model),
            exchange=exchange,
        )


@told(OF_SERVICE, _Heatmap)
class _AsyncHeatmap(_Awaiting):
    """Heatmaps, awaited from a service."""

    @overload
    async def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Heatmap: ...
    @overload
    async def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> AsyncIterator[Heatmap]: ...
    @overload
    async def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Heatmap]: ...
    @overload
    async def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, AsyncIterator[Heatmap]]: ...
    async def heatmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.heatmap`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.heatmap("BTC", "12h")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(ask(server.url)).times.size
        144
        """
        return await self._when(
            "heatmap",
            symbol,
            _answers.heatmap,
            as_of,
            explain=explain,
            range=range,
            model=asked(model),
            exchange=exchange,
        )


@told(OF_ESTIMATES, _Heatmap)
class _LocalHeatmap(_Local):
    """Heatmaps, made in this process."""

    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Heatmap: ...
    @overload
    def heatmap(
        self,
        symbol: str = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> Iterator[Heatmap]: ...
    @overload
    def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Heatmap]: ...
    @overload
    def heatmap(
        self,
        symbol: Sequence[str],
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, Iterator[Heatmap]]: ...
    def heatmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: HeatmapRange = "24h",
        model: Number | Model = 2,
        *,
        exchange: str | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.heatmap`, at ``as_of``.

        Several instants give an iterator of heatmaps in their order, made a few at a time as they are taken; with the
        range ``"all"`` of tables or a simulation those few cost one replay.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> maps = market.heatmap("BTC", "12h", as_of=["2026-05-31T06:00Z", "2026-05-31T12:00Z"])
        >>> [map.updated_at.hour for map in maps]
        [6, 12]
        """
        return self._when(
            "heatmap",
            symbol,
            _answers.heatmap,
            as_of,
            explain=explain,
            range=range,
            model=asked(model),
            exchange=exchange,
        )
