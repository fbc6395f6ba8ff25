"""Levels and max pain: the prices at which most waits, estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from . import _answers
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_ESTIMATES, OF_SERVICE, told
from .model import asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .model import Model
    from .types import Instant, Instants, Levels, MaxPain
    from .types import Model as Number


@told(OF_SERVICE)
class _Levels(_Blocking):
    """Levels and max pain, asked of a service."""

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
            ``short`` (``price``, ``usd``, signed ``distPct``), ``totalLong`` and ``totalShort`` (USD). ``["1d"]`` and
            ``["7d"]`` are ``["d1"]`` and ``["d7"]``; the keys are the contract's.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.maxpain("BTC")["d1"]["long"]["distPct"] < 0
        True
        """
        return self._listed("maxpain", symbol, _answers.plain, as_of, explain=explain, model=asked(model))


@told(OF_SERVICE, _Levels)
class _AsyncLevels(_Awaiting):
    """Levels and max pain, awaited from a service."""

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


@told(OF_ESTIMATES, _Levels)
class _LocalLevels(_Local):
    """Levels and max pain, made in this process."""

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
