"""Estimated maps as they were served, and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from . import _answers
from ._inputs import spelled
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told
from .errors import BadQuery
from .model import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import _core
    from ._answers import Origin
    from .rows import Rows
    from .types import Instant, MapKind, MapRow


@told(OF_SERVICE)
class _Maps(_Blocking):
    """Maps that were served, asked of a service."""

    @overload
    def maps(
        self,
        symbol: str | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow]: ...
    @overload
    def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[MapRow]]: ...
    def maps(
        self,
        symbol: str | Sequence[str] | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow] | dict[str, Rows[MapRow]]:
        """The estimated maps of an archive as they were served: what was shown then. An extension of ``liqdata serve``.

        A server that runs with the collector (``liqdata serve DIR --collect``) keeps each map that it computes. The
        same question asked ``as_of`` an instant computes it anew, from what was known then; the two can be compared.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Coin, such as ``BTC``; all of them by default.
        kind : {"heatmap", "liqmap", "levels", "maxpain"}, optional
            Only answers to this question.
        version : str or Model, optional
            Only maps made by this version of a model (:attr:`Model.version`); ``"unknown"`` for those of which none
            was kept.
        start : int, datetime or str, optional
            Only maps whose last bar closed then or later.
        end : int, datetime or str, optional
            Only maps whose last bar closed before then.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows or dict of str to Rows
            ``kind``, ``symbol``, ``params`` (the rest of the question, such as ``range=24h&model=2``), ``timestamp``
            (close of the last bar, epoch ms), ``computed_at`` (epoch ms), ``reply`` (the JSON that was sent, as text)
            ``explain`` (what the estimate rested on, JSON as text) and ``version`` (of the model that made it,
            :attr:`Model.version`; ``None`` where none was kept), by time. ``meta["versions"]`` has every version among
            them: maps of different ones are different maps, and :func:`liqdata.score` keeps them apart. A map that was
            made again for the same bar because older data had come in is there twice. Only archives have any.

        Raises
        ------
        BadQuery
            For maps of more than a gibibyte (64 MiB over HTTP): ask for a shorter stretch of time.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.maps("BTC", kind="levels")
        Rows(0 × kind, symbol, params, timestamp, computed_at, reply, explain, version; simulated)
        """
        return self._each(
            "maps", symbol, _versioned, as_of, kind=kind, version=_version(version), **spelled(start, end)
        )


@told(OF_SERVICE, _Maps)
class _AsyncMaps(_Awaiting):
    """Maps that were served, awaited from a service."""

    @overload
    async def maps(
        self,
        symbol: str | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow]: ...
    @overload
    async def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[MapRow]]: ...
    async def maps(
        self,
        symbol: str | Sequence[str] | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow] | dict[str, Rows[MapRow]]:
        """As :meth:`liqdata.Client.maps`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def kept(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.maps("BTC")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(kept(server.url)))
        0
        """
        return await self._each(
            "maps", symbol, _versioned, as_of, kind=kind, version=_version(version), **spelled(start, end)
        )


@told(OF_MARKET, _Maps)
class _LocalMaps(_Local):
    """Maps that were served, asked of a market in this process."""

    @overload
    def maps(
        self,
        symbol: str | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow]: ...
    @overload
    def maps(
        self,
        symbol: Sequence[str],
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> dict[str, Rows[MapRow]]: ...
    def maps(
        self,
        symbol: str | Sequence[str] | None = None,
        *,
        kind: MapKind | None = None,
        version: str | Model | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        as_of: Instant | None = None,
    ) -> Rows[MapRow] | dict[str, Rows[MapRow]]:
        """As :meth:`liqdata.Client.maps`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.maps("BTC", kind="levels")  # only archives have any
        Rows(0 × kind, symbol, params, timestamp, computed_at, reply, explain, version; simulated)
        """
        return self._each(
            "maps", symbol, _versioned, as_of, kind=kind, version=_version(version), **spelled(start, end)
        )


def _versioned(answer: _core.Table, origin: Origin) -> Rows[Any]:
    """Rows with the versions among them."""
    found = _answers.rows(answer, origin)
    _, versions = answer.codes("version")
    found.meta["versions"] = [*sorted(filter(None, versions)), *([None] if "" in versions else [])]
    return found


def _version(version: object) -> str | None:
    """The version that is asked for."""
    if version is None or (isinstance(version, str) and version.strip()):
        return version
    if isinstance(version, Model):
        return version.version
    msg = f'version: {version!r} is not allowed; allowed: the text of a version, a Model, or "unknown"'
    raise BadQuery(msg, parameter="version")
