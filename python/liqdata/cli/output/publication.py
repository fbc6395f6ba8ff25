"""The command ``publish``: one publication for each closed bar, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from liqdata.errors import LiqdataError, NoAnswer
from liqdata.publishing.publisher import Publisher, place
from liqdata.publishing.service import Service, checked_url
from liqdata.text.printable import counted, printable

from .collect_screen import stop_signal

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from liqdata.cli.source import Source

__all__ = ["publish"]

_TICK = 2.0  # seconds between two looks for a closed bar
_SETTLE = 15.0  # seconds to wait for the bars of other coins


def publish(source: Source, target: str, *, coins: Sequence[str] | None, stream: str | None, once: bool) -> None:
    """Publish the page of a source.

    Parameters
    ----------
    source : Source
        What answers; a market in this process is served on a loopback address meanwhile.
    target : str
        A folder or an address of object storage.
    coins : sequence of str, optional
        The coins; by default all.
    stream : str, optional
        Address of the server with live rows.
    once : bool
        Whether to end after one publication.
    """
    from liqdata import serve

    there = place(target)
    live = None if stream is None else checked_url(stream, "stream")
    with ExitStack() as opened, stop_signal() as ended:
        asked = opened.enter_context(source.opened())
        url = opened.enter_context(serve(asked, page=False)).url if source.here else asked.base_url
        service = Service(url, source.header, source.timeout)
        publisher = Publisher(service, there, coins=coins, stream=live)
        publisher.begin()
        if once:
            _publish(publisher, publisher.fresh(), there.address, ended)
            return
        source.warn_if_static()
        _follow(publisher, there.address, ended)


def _follow(publisher: Publisher, address: str, ended: threading.Event) -> None:
    """Publish whenever a bar has closed. A failure is reported once, and what failed is tried again."""
    waiting_since: float | None = None
    failure = ""
    while not ended.is_set():
        try:
            fresh = publisher.fresh()
            waiting_since = (waiting_since or time.monotonic()) if fresh else None
            waited = 0.0 if waiting_since is None else time.monotonic() - waiting_since
            if fresh and (len(fresh) == publisher.coins or waited >= _SETTLE):
                _publish(publisher, fresh, address, ended)
                waiting_since = None
            failure = ""
        except (LiqdataError, OSError) as error:
            if str(error) != failure:
                failure = str(error)
                print(f"{printable(failure)}; trying again", file=sys.stderr, flush=True)
        ended.wait(_TICK)


def _publish(publisher: Publisher, coins: list[str], address: str, ended: threading.Event) -> None:
    if not coins:
        msg = "nothing to publish: no coin has an estimate yet"
        raise NoAnswer(msg)
    done = publisher.publish(coins, ended)
    if done is None:
        return
    closed = datetime.fromtimestamp(done.closed / 1000, UTC)
    new = f"{done.new:,} new: {counted(done.new_bytes, 'byte')}"
    print(
        f"{printable(address)} has the bars until {closed:%Y-%m-%dT%H:%MZ}: {counted(done.answers, 'file')}, {new}",
        flush=True,
    )
