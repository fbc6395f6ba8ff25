"""Awaiting the native half's calls on an event loop.

Finished calls are queued in the native half, and one byte on a socket pair wakes the event loop, which settles them on
its own thread: no thread per call, and no foreign thread ever touches the interpreter.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import weakref
from collections.abc import Callable
from typing import Any

from liqdata import _core

Begin = Callable[["_core.Bridge | None", int], _core.Call]


class _Link:
    """One event loop's end of the bridge: which futures wait for which calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.pid = os.getpid()
        self.bridge = _core.Bridge()
        self.waiting: dict[int, asyncio.Future[None]] = {}
        self.tokens = itertools.count(1)
        loop.add_reader(self.bridge.fileno(), self.settle)

    def settle(self) -> None:
        for token in self.bridge.drain():
            future = self.waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


# A loop holds its link, as what reads for it, until it is closed. Held here as well, the futures of calls that nobody
# waits for any more would keep their loop, and with it the link and its two descriptors, for ever.
_links: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Link]] = weakref.WeakKeyDictionary()


def _link(loop: asyncio.AbstractEventLoop) -> _Link | None:
    known = _links.get(loop)
    link = None if known is None else known()
    if link is None or link.pid != os.getpid():
        try:
            link = _Link(loop)
        except NotImplementedError:
            # A loop that watches no descriptors (Windows' default): a thread waits instead.
            return None
        _links[loop] = weakref.ref(link)
    return link


async def answer(begin: Begin) -> Any:
    """Await one call; a cancelled await cancels the call."""
    loop = asyncio.get_running_loop()
    link = _link(loop)
    if link is None:
        call = begin(None, 0)
        try:
            return await asyncio.to_thread(call.wait)
        except asyncio.CancelledError:
            call.cancel()
            raise
    token = next(link.tokens)
    future = link.waiting[token] = loop.create_future()
    try:
        call = begin(link.bridge, token)
        try:
            await future
        except asyncio.CancelledError:
            call.cancel()
            raise
    finally:
        link.waiting.pop(token, None)
    return call.wait()
