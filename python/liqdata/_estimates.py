"""Estimates of where the next liquidations wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from . import _answers, _core
from ._inputs import choice
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_ESTIMATES, OF_SERVICE, told
from .errors import BadQuery
from .model import asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from .grids import Heatmap, LiquidationMap
    from .model import Model
    from .types import HeatmapRange, Instant, Instants, Levels, MapRange, MapSource, MaxPain
    from .types import Model as Number


@told(OF_SERVICE)
class _Estimates(_Blocking):
    """Estimates of where the next liquidations wait, asked of a service."""

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

    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> LiquidationMap: ...
    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[LiquidationMap]]: ...
    def liqmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """Estimated liquidations by price and leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        range : {"1d", "7d"}
            Positions opened in the last so much time; as an extension of ours all ranges that :meth:`heatmap` takes.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`; an extension of our server.
        bin : float, optional
            How much price a bin spans, at most the current price, and such that there are at most 100,000 bins; the
            step 1, 2 or 5 times a power of ten nearest to 0.1 % of the price by default. An extension of our server.
        exchange : str, optional
            As for :meth:`heatmap`; an extension of our server.
        source : {"estimate", "positions"}, optional
            ``"positions"`` makes the map of positions that were seen (:meth:`positions`) instead of estimating it: it
            is measured, and of few of all there are. ``range`` and ``model`` say nothing then and must be left out, or
            ``range`` be ``"all"``: positions do not tell when they were opened. An extension of ``liqdata serve``.
        as_of : int, datetime or str, or several of them, optional
            Answer as of then: nothing known later counts; now by default. Several instants give a list in their order,
            a few of them asked for at a time. An extension of ``liqdata serve``.
        explain : bool
            Ask for what the estimate rests on, in ``meta["explain"]``, and for its :attr:`~LiquidationMap.low`,
            :attr:`~LiquidationMap.high` and the ledger's own grid, by which :meth:`~LiquidationMap.swept` goes. A
            market in this process always tells it. An extension of ``liqdata serve``.

        Returns
        -------
        LiquidationMap or dict of str to LiquidationMap
            ``tiers`` is (N, L) float64 in USD, ``prices``, ``sides`` and ``total`` are (N,), ``leverages`` (L,).
            Of positions that were seen ``meta`` has ``view`` (``"measured"``), ``seen_share`` (of the coin's open
            interest, both sides of it; ``None`` where that is not known) and ``measured``: ``positions``, ``accounts``,
            ``observed_at`` (epoch ms), ``unplaced_usd`` (of positions that no price liquidates) and ``crossed_usd`` (of
            those whose price was passed since).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.liqmap("BTC").leverages.tolist()
        [10, 25, 50, 100]
        """
        return self._listed(
            "liqmap",
            symbol,
            _answers.liqmap,
            as_of,
            explain=explain,
            model=asked(model),
            bin=bin,
            exchange=exchange,
            **_made_of(source, range),
        )

    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Levels: ...
    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Levels]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Levels]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Levels]]: ...
    def levels(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """The strongest long and short cluster of each leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`; an extension of our server.
        as_of : int, datetime or str, or several of them, optional
            Answer as of then: nothing known later counts; now by default. Several instants give a list in their order,
            a few of them asked for at a time. An extension of ``liqdata serve``.
        explain : bool
            Ask for what the estimate rests on, in ``meta["explain"]``. A market in this process
            always tells it. An extension of ``liqdata serve``.

        Returns
        -------
        dict or dict of str to dict
            As on the wire: ``symbol``, ``price``, ``updatedAt`` (epoch ms) and ``tiers`` by leverage, each with
            ``longPrice``, ``longIntensity``, ``shortPrice``, ``shortIntensity`` (intensities 0 to 1).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.levels("ETH")["tiers"])
        ['10', '25', '50', '100']
        """
        return self._listed("levels", symbol, _answers.plain, as_of, explain=explain, model=asked(model))

    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> MaxPain: ...
    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[MaxPain]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, MaxPain]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[MaxPain]]: ...
    def maxpain(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """The strongest long and short cluster of a day and of a week.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``; of a pair, in any spelling, its coin.
        model : {2, 3} or Model, optional
            As for :meth:`heatmap`; an extension of our server.
        as_of : int, datetime or str, or several of them, optional
            Answer as of then: nothing known later counts; now by default. Several instants give a list in their order,
            a few of them asked for at a time. An extension of ``liqdata serve``.
        explain : bool
            Ask for what the estimate rests on, in ``meta["explain"]``. A market in this process
            always tells it. An extension of ``liqdata serve``.

        Returns
        -------
        dict or dict of str to dict
            As on the wire: ``symbol``, ``price``, ``updatedAt`` (epoch ms), ``d1`` and ``d7`` with ``long`` and
            ``short`` (``price``, ``usd``, signed ``distPct``), ``totalLong`` and ``totalShort`` (USD).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.maxpain("BTC")["d1"]["long"]["distPct"] < 0
        True
        """
        return self._listed("maxpain", symbol, _answers.plain, as_of, explain=explain, model=asked(model))


@told(OF_SERVICE, _Estimates)
class _AsyncEstimates(_Awaiting):
    """Estimates of where the next liquidations wait, awaited from a service."""

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

    @overload
    async def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> LiquidationMap: ...
    @overload
    async def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[LiquidationMap]: ...
    @overload
    async def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, LiquidationMap]: ...
    @overload
    async def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[LiquidationMap]]: ...
    async def liqmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.liqmap`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.liqmap("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(ask(server.url)).leverages.tolist()
        [10, 25, 50, 100]
        """
        return await self._listed(
            "liqmap",
            symbol,
            _answers.liqmap,
            as_of,
            explain=explain,
            model=asked(model),
            bin=bin,
            exchange=exchange,
            **_made_of(source, range),
        )

    @overload
    async def levels(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Levels: ...
    @overload
    async def levels(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Levels]: ...
    @overload
    async def levels(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Levels]: ...
    @overload
    async def levels(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Levels]]: ...
    async def levels(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.levels`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.levels(["BTC", "ETH"])
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     list(asyncio.run(ask(server.url)))
        ['BTC', 'ETH']
        """
        return await self._listed("levels", symbol, _answers.plain, as_of, explain=explain, model=asked(model))

    @overload
    async def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> MaxPain: ...
    @overload
    async def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[MaxPain]: ...
    @overload
    async def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, MaxPain]: ...
    @overload
    async def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[MaxPain]]: ...
    async def maxpain(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.maxpain`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def ask(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.maxpain("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(ask(server.url))["d1"]["long"]["distPct"] < 0
        True
        """
        return await self._listed("maxpain", symbol, _answers.plain, as_of, explain=explain, model=asked(model))


@told(OF_ESTIMATES, _Estimates)
class _LocalEstimates(_Local):
    """Estimates of where the next liquidations wait, asked of a market in this process."""

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

    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> LiquidationMap: ...
    @overload
    def liqmap(
        self,
        symbol: str = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, LiquidationMap]: ...
    @overload
    def liqmap(
        self,
        symbol: Sequence[str],
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[LiquidationMap]]: ...
    def liqmap(
        self,
        symbol: str | Sequence[str] = "BTC",
        range: MapRange = "1d",
        *,
        model: Number | Model | None = None,
        bin: float | None = None,
        exchange: str | None = None,
        source: MapSource | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.liqmap`, at ``as_of``.

        Several instants give a list in their order. With the range ``"all"`` of tables or a simulation any number of
        them cost one replay.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> map = market.liqmap("BTC", "7d")
        >>> map.swept(low=0.95 * map.current_price)["long_usd"] > 0
        True
        """
        return self._listed(
            "liqmap",
            symbol,
            _answers.liqmap,
            as_of,
            explain=explain,
            model=asked(model),
            bin=bin,
            exchange=exchange,
            **_made_of(source, range),
        )

    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> Levels: ...
    @overload
    def levels(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[Levels]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, Levels]: ...
    @overload
    def levels(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[Levels]]: ...
    def levels(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.levels`, at ``as_of``.

        Several instants give a list in their order.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> list(market.levels("ETH")["tiers"])
        ['10', '25', '50', '100']
        """
        return self._listed("levels", symbol, _answers.plain, as_of, explain=explain, model=asked(model))

    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> MaxPain: ...
    @overload
    def maxpain(
        self,
        symbol: str = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> list[MaxPain]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Instant | None = None,
        explain: bool = False,
    ) -> dict[str, MaxPain]: ...
    @overload
    def maxpain(
        self,
        symbol: Sequence[str],
        *,
        model: Number | Model | None = None,
        as_of: Iterable[Instant],
        explain: bool = False,
    ) -> dict[str, list[MaxPain]]: ...
    def maxpain(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        model: Number | Model | None = None,
        as_of: Instants | None = None,
        explain: bool = False,
    ) -> Any:
        """As :meth:`liqdata.Client.maxpain`, at ``as_of``.

        Several instants give a list in their order.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> answers = market.maxpain("BTC", as_of=["2026-05-30", "2026-05-31"])
        >>> [answer["d1"]["short"]["distPct"] > 0 for answer in answers]
        [True, True]
        """
        return self._listed("maxpain", symbol, _answers.plain, as_of, explain=explain, model=asked(model))


def _made_of(source: MapSource | None, range: MapRange) -> dict[str, str]:
    """What the map is made of and over which range, as the question has it."""
    if source is None or choice(source, "source", ("estimate", "positions")) == "estimate":
        return {"range": range}
    # The default cannot be told from what is given; whatever else is wrong with a range its rule says.
    _core.question("liqmap", range=range)
    if range not in {"1d", "all"}:
        msg = (
            f"range: {range!r} is not allowed of positions that were seen, which do not tell when they were opened; "
            'allowed: "all", which is also meant where none is given'
        )
        raise BadQuery(msg, parameter="range")
    return {"range": "all", "source": source}
