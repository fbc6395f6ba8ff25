"""What the realised totals cover, and when orders are known to have been missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _answers
from ._inputs import spelled
from ._local import _Local
from ._service import _Awaiting, _Blocking
from ._told import OF_MARKET, OF_SERVICE, told

if TYPE_CHECKING:
    from .rows import Rows
    from .types import CoverageRow, GapRow, Instant, Window


@told(OF_SERVICE)
class _Coverage(_Blocking):
    """Coverage and gaps, asked of a service."""

    def coverage(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[CoverageRow]:
        """What the realised totals of a window cover, venue by venue. An extension of ``liqdata serve``.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window; ``"1d"`` is ``"24h"``.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``connected_share`` (0 to 1, or ``None`` where tables do not tell), ``completeness``
            (``complete``, ``sampled`` or ``unknown``: a sampled venue's totals are a lower bound), ``known_by`` (how
            that is known: ``documented`` by the venue's own words, ``verified`` by its own numbers, or ``unknown``),
            ``last_event`` (epoch ms or ``None``), ``gaps`` and ``cnt``; then of what a collector wrote down, else
            ``None``: ``topics`` that were asked for and ``topics_covered`` at the end of the window, orders
            ``recovered`` by asking again for what was missed; by whole days, rows ``rejected`` as unreadable or out of
            their time, orders ``unpriced``, those ``quarantined`` because their unit is in doubt and those
            ``unjudged``, which are kept though nothing measured theirs, ``holes`` in the
            venue's own numbers, and how many of these were held against the one before (``numbered``);
            ``clock_ahead``, by how many milliseconds the clock that listened ran before the venue's; and where a venue
            tells totals of its own, ``compared_usd``, what is kept of the hours and contracts that were held against
            them, beside ``venue_usd``, what it says. A topic that was not heard takes its part of all topics from
            ``connected_share``.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.coverage("1h").columns[:3]
        ['exchange', 'connected_share', 'completeness']
        """
        return self._ask("coverage", _answers.rows, as_of, range=range)

    def gaps(
        self, start: Instant | None = None, end: Instant | None = None, *, as_of: Instant | None = None
    ) -> Rows[GapRow]:
        """The stretches of time in which orders are known to have been missed. An extension of ``liqdata serve``.

        Parameters
        ----------
        start : int, datetime or str, optional
            Only gaps that reach beyond it.
        end : int, datetime or str, optional
            Only gaps that begin before it.
        as_of : int, datetime or str, optional
            Answer as of then: nothing known later counts; now by default. An extension of ``liqdata serve``.

        Returns
        -------
        Rows
            ``exchange``, ``start`` and ``end`` (epoch ms), ``reason``, ``topic`` (``None`` where nothing of it was
            heard), ``state``, ``recovered_at`` (epoch ms), ``recovered`` (orders) and ``holds``, by their start. Only
            archives know of any. ``holds`` is ``None`` where orders may be missing, else what damage took: ``"bars"``,
            ``"open_interest"``, ``"positions"`` or ``"maps"`` (those of no exchange, an empty text). A gap is
            ``"recovered"`` once the exchange has told all that it tells of that time, and ``"lost"`` where it cannot be
            asked any more; until then it is ``"open"``. Where several gaps were asked for at once, ``recovered`` counts
            the orders of all of them.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.gaps()
        Rows(0 × exchange, start, end, reason, topic, state, recovered_at, recovered, holds; simulated)
        """
        return self._ask("gaps", _answers.rows, as_of, **spelled(start, end))


@told(OF_SERVICE, _Coverage)
class _AsyncCoverage(_Awaiting):
    """Coverage and gaps, awaited from a service."""

    async def coverage(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[CoverageRow]:
        """As :meth:`liqdata.Client.coverage`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def covered(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.coverage("1h")
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     asyncio.run(covered(server.url)).columns[0]
        'exchange'
        """
        return await self._ask("coverage", _answers.rows, as_of, range=range)

    async def gaps(
        self, start: Instant | None = None, end: Instant | None = None, *, as_of: Instant | None = None
    ) -> Rows[GapRow]:
        """As :meth:`liqdata.Client.gaps`.

        Examples
        --------
        >>> import asyncio, liqdata
        >>> async def missed(url):
        ...     async with liqdata.AsyncClient(url) as client:
        ...         return await client.gaps()
        >>> with liqdata.serve(liqdata.demo()) as server:
        ...     len(asyncio.run(missed(server.url)))
        0
        """
        return await self._ask("gaps", _answers.rows, as_of, **spelled(start, end))


@told(OF_MARKET, _Coverage)
class _LocalCoverage(_Local):
    """Coverage and gaps, asked of a market in this process."""

    def coverage(self, range: Window = "24h", *, as_of: Instant | None = None) -> Rows[CoverageRow]:
        """As :meth:`liqdata.Client.coverage`, at ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> {row["exchange"] for row in market.coverage()} == {row["exchange"] for row in market.exchanges()}
        True
        """
        return self._ask("coverage", _answers.rows, as_of, range=range)

    def gaps(
        self, start: Instant | None = None, end: Instant | None = None, *, as_of: Instant | None = None
    ) -> Rows[GapRow]:
        """As :meth:`liqdata.Client.gaps`, as far as it was known ``as_of``.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> market.gaps()
        Rows(0 × exchange, start, end, reason, topic, state, recovered_at, recovered, holds; simulated)
        """
        return self._ask("gaps", _answers.rows, as_of, **spelled(start, end))
