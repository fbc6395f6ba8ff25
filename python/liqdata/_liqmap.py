"""Liquidation maps: what waits at each price, estimated, or made of positions that were seen."""

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
    from collections.abc import Iterable, Sequence

    from .grids import LiquidationMap
    from .model import Model
    from .types import Instant, Instants, MapRange, MapSource
    from .types import Model as Number


@told(OF_SERVICE)
class _Liqmap(_Blocking):
    """Liquidation maps, asked of a service."""

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


@told(OF_SERVICE, _Liqmap)
class _AsyncLiqmap(_Awaiting):
    """Liquidation maps, awaited from a service."""

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


@told(OF_ESTIMATES, _Liqmap)
class _LocalLiqmap(_Local):
    """Liquidation maps, made in this process."""

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
