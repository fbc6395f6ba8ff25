"""Sends alerts from a thread while a server runs."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from liqdata.alerts import watch
from liqdata.errors import LiqdataError
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from liqdata.market import Market

__all__ = ["alerting"]


@contextmanager
def alerting(market: Market, arguments: dict[str, Any] | None) -> Iterator[threading.Event]:
    """Watch a market in a thread; the watch ends once the yielded event is set, at the latest on exit.

    Parameters
    ----------
    market : Market
        The market that is served.
    arguments : dict, optional
        Rules and senders of :func:`liqdata.alerts.watch`; no watch without them.
    """
    stop = threading.Event()
    if arguments is None:
        yield stop
        return

    def report(text: str) -> None:
        print(f"liqdata: {printable(text)}", file=sys.stderr, flush=True)

    def run() -> None:
        try:
            watch(market, report=report, stop=stop, **arguments)
        except LiqdataError as error:
            report(f"alerts have ended: {error}")

    thread = threading.Thread(target=run, name="liqdata-alerts", daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(10.0)
