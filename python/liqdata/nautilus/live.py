"""A live data client of nautilus_trader that follows a service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nautilus_trader.config import LiveDataClientConfig
from nautilus_trader.live.data_client import LiveDataClient
from nautilus_trader.live.factories import LiveDataClientFactory
from nautilus_trader.model.identifiers import ClientId

from liqdata.async_client import AsyncClient
from liqdata.errors import LiqdataError, NoAnswer, Refused, UnexpectedReply

from .data import Liquidation, LiquidationGap, order_of, wrapped

if TYPE_CHECKING:
    from nautilus_trader.cache.cache import Cache
    from nautilus_trader.common.component import LiveClock, MessageBus
    from nautilus_trader.data.messages import SubscribeData, UnsubscribeData

    from liqdata.stream import AsyncOrderStream

__all__ = ["LiqdataDataClient", "LiqdataDataClientConfig", "LiqdataLiveDataClientFactory"]

_PAUSE = 1.0  # seconds before another attempt to connect
_GONE = 410  # the status of a service that no longer knows the position

# Types are checked without nautilus_trader, so that each class of it is `Any` there.


class LiqdataDataClientConfig(LiveDataClientConfig, frozen=True, kw_only=True):  # type: ignore[misc, call-arg]
    """The settings of :class:`LiqdataDataClient`.

    Parameters
    ----------
    url : str
        The address of the service (``liqdata serve``).
    token : str, optional
        Its token; ``$LIQDATA_TOKEN`` by default.
    exchange : str, optional
        Only orders of this exchange.
    min_usd : float, optional
        Only orders of at least this many USD.

    Examples
    --------
    >>> from liqdata.nautilus import LiqdataDataClientConfig
    >>> LiqdataDataClientConfig(url="http://127.0.0.1:8080").url
    'http://127.0.0.1:8080'
    """

    url: str
    token: str | None = None
    exchange: str | None = None
    min_usd: float | None = None


class LiqdataDataClient(LiveDataClient):  # type: ignore[misc]
    """The orders of a service as :class:`Liquidation`, and lost connections as :class:`LiquidationGap`.

    One stream serves all subscriptions. It begins with the first of them, continues after the last order when a
    connection breaks, and reports each loss once. :class:`LiqdataLiveDataClientFactory` makes the client.
    """

    def __init__(  # noqa: PLR0917 - as nautilus_trader calls it
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        config: LiqdataDataClientConfig,
        msgbus: MessageBus,
        cache: Cache,
        clock: LiveClock,
    ) -> None:
        super().__init__(
            loop=loop, client_id=ClientId(name), venue=None, msgbus=msgbus, cache=cache, clock=clock, config=config
        )
        self._settings = config
        self._service: AsyncClient[Any] | None = None
        self._stream: AsyncOrderStream[Any] | None = None

    async def _connect(self) -> None:
        # A lost connection is reported at once: the attempts are made here.
        self._service = AsyncClient(self._settings.url, token=self._settings.token, retries=0)

    async def _disconnect(self) -> None:
        stream, service, self._stream, self._service = self._stream, self._service, None, None
        if stream is not None:
            await stream.aclose()
        if service is not None:
            await service.aclose()

    async def _subscribe(self, command: SubscribeData) -> None:
        if command.data_type.type not in {Liquidation, LiquidationGap}:
            self._log.error(f"no live data of {command.data_type}; allowed: Liquidation and LiquidationGap")
            return
        if self._stream is None and self._service is not None:
            settings = self._settings
            self._stream = self._service.stream_orders(exchange=settings.exchange, min_usd=settings.min_usd)
            self.create_task(self._follow(self._stream), log_msg="orders")

    async def _unsubscribe(self, command: UnsubscribeData) -> None:
        """Keep the stream for the other subscriptions."""

    async def _follow(self, stream: AsyncOrderStream[Any]) -> None:
        since = self._clock.timestamp_ns()
        reported: set[bool] = set()  # of what has been lost since then
        while stream is self._stream:
            try:
                row = await anext(stream, None)
            except LiqdataError as error:
                lost = isinstance(error, UnexpectedReply) or getattr(error, "status", None) == _GONE
                if lost not in reported:
                    self._report(since, str(error), lost=lost)
                    reported.add(lost)
                if not lost and not isinstance(error, NoAnswer | Refused):
                    raise
                await asyncio.sleep(_PAUSE)
                continue
            if row is None:
                return
            since = self._clock.timestamp_ns()
            reported.clear()
            self._handle_data(wrapped(order_of(row, since)))

    def _report(self, since: int, reason: str, *, lost: bool) -> None:
        self._log.warning(reason)
        gap = LiquidationGap(ts_event=since, ts_init=self._clock.timestamp_ns(), lost=lost, reason=reason)
        self._handle_data(wrapped(gap))


class LiqdataLiveDataClientFactory(LiveDataClientFactory):  # type: ignore[misc]
    """Makes a :class:`LiqdataDataClient`; for ``TradingNode.add_data_client_factory``."""

    @staticmethod
    def create(  # noqa: PLR0917 - as nautilus_trader calls it
        loop: asyncio.AbstractEventLoop,
        name: str,
        config: LiqdataDataClientConfig,
        msgbus: MessageBus,
        cache: Cache,
        clock: LiveClock,
    ) -> LiqdataDataClient:
        """Make the client of a node."""
        return LiqdataDataClient(loop, name, config, msgbus, cache, clock)
