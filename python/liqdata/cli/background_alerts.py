"""Sends alerts from a thread while a server runs."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from liqdata.alerts import watch
from liqdata.errors import LiqdataError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from liqdata.market import Market
    from liqdata.server import Server

__all__ = ["Alerting"]


class Alerting:
    """Watches a market in a thread, from :meth:`start` to :meth:`stop`, at the latest to the end of the context.

    Parameters
    ----------
    market : Market
        The market that is served.
    arguments : dict, optional
        Rules and senders of :func:`liqdata.alerts.watch`; no watch without them.
    """

    def __init__(self, market: Market, arguments: dict[str, Any] | None) -> None:
        self._market, self._arguments = market, arguments
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def start(self, server: Server, served: dict[str, Any]) -> None:
        """Begin to watch; the alerts link to the page of ``server``, which has the arguments ``served``."""
        if self._arguments is not None:
            page = _page_of(server, served)
            self._thread = threading.Thread(target=self._run, args=(page,), name="liqdata-alerts", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the watch, without waiting for it."""
        self._stop.set()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join(10.0)

    def _run(self, page: str | None) -> None:
        try:
            watch(self._market, stop=self._stop, page=page, **(self._arguments or {}))
        except LiqdataError as error:
            logging.getLogger("liqdata.alerts").warning("alerts have ended: %s", error)


def _page_of(server: Server, served: dict[str, Any]) -> str | None:
    """The address of the page for people; ``None`` if it is not served, or not known because a proxy is in front."""
    if not served["page"] or served["limits"].trusted_proxies:
        return None
    parts = urlsplit(server.url)
    if served["hosts"]:
        return f"{parts.scheme}://{served['hosts'][0]}:{parts.port}"
    return None if parts.hostname in {"0.0.0.0", "::"} else server.url  # noqa: S104 - compared, not listened on
