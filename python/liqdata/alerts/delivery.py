"""Delivers alerts to their receivers, each from a thread of its own.

Each receiver has a queue, so a slow webhook delays neither a program nor the watch, and vice versa. Every alert that
was not delivered is reported. Messages to Telegram, Discord and Slack keep the rate limits of these services: alerts
that wait are joined to one message.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from .messages import FORMATS, words_of
from .program import run
from .webhook import poster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .messages import Format
    from .sender import Sender

__all__ = ["Deliveries"]

_QUEUE_LENGTH = 1000  # maximum number of alerts in a queue

Event = dict[str, Any]


class Deliveries:
    """Passes alerts on to every sender.

    Parameters
    ----------
    senders : iterable of Sender
        The receivers.
    report : callable
        Called with a message about each alert that was not delivered.
    """

    def __init__(self, senders: Iterable[Sender], report: Callable[[str], object]) -> None:
        self._queues = [_queue_of(sender, report) for sender in senders]

    def put(self, event: Event) -> None:
        """Queue an event for each receiver, without waiting."""
        for each in self._queues:
            each.put(event)

    def finish(self, within: float | None = None) -> None:
        """Deliver all queued alerts, but report those left after ``within`` seconds, then end the threads."""
        deadline = None if within is None else time.monotonic() + within
        for each in self._queues:
            each.finish(deadline)

    def abort(self) -> None:
        """Drop all queued alerts, and report them."""
        for each in self._queues:
            each.abort()


def _queue_of(sender: Sender, report: Callable[[str], object]) -> _Queue:
    if sender.webhook is not None:
        stopped = threading.Event()
        format_, post = poster(sender.webhook, sender.format, sender.secret, stopped)
        return _Queue("webhook", post, report, format_, stopped)
    if sender.command is not None:
        command = sender.command
        return _Queue("command", lambda events: run(command, events[0]), report)
    function = sender.function
    return _Queue("function", lambda events: function and function(events[0]), report)


class _Queue:
    """Delivers alerts to one receiver from a daemon thread, in order.

    Parameters
    ----------
    receiver : str
        Name of the receiver in messages: ``webhook`` or ``command``.
    deliver : callable
        Delivers events: one, or as many as its format allows in a message.
    report : callable
        Called with a message about each alert that was not delivered.
    format_ : Format
        How many events are delivered together, and how often.
    stopped : threading.Event, optional
        Set to end a delivery that waits.
    """

    def __init__(
        self,
        receiver: str,
        deliver: Callable[[list[Event]], object],
        report: Callable[[str], object],
        format_: Format = FORMATS["json"],
        stopped: threading.Event | None = None,
    ) -> None:
        self._receiver, self._deliver, self._report, self._format = receiver, deliver, report, format_
        self._waiting: queue.Queue[Event | None] = queue.Queue(_QUEUE_LENGTH)
        self._taken: list[Event] = []  # those that were taken from the queue and are not delivered yet
        self._stopped = threading.Event() if stopped is None else stopped
        self._thread = threading.Thread(target=self._run, name=f"liqdata-alerts-{receiver}", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queue an event; it is dropped with a message if the queue is full."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._report(f"alert for {_subject(event)} not sent: {_QUEUE_LENGTH} alerts wait for the {self._receiver}")

    def finish(self, deadline: float | None) -> None:
        """Deliver all queued alerts, then end the thread; drop and report those left at a time of ``monotonic``."""
        with contextlib.suppress(queue.Full):  # the thread is still busy at the deadline
            self._waiting.put(None, timeout=_left(deadline))
        self._thread.join(_left(deadline))
        if self._thread.is_alive():
            self.abort()

    def abort(self) -> None:
        """Drop all queued alerts, and report them."""
        self._stopped.set()
        dropped: list[Event | None] = [*self._taken]
        with contextlib.suppress(queue.Empty):
            while True:
                dropped.append(self._waiting.get_nowait())
        for event in dropped:
            if event is not None:
                self._report(f"alert for {_subject(event)} may not have reached the {self._receiver}: the watch ended")

    def _run(self) -> None:
        event, sent = self._waiting.get(), -self._format.pause
        while event is not None and not self._stopped.is_set():
            self._taken = [event]
            self._stopped.wait(max(0.0, sent + self._format.pause - time.monotonic()))
            if self._stopped.is_set():
                return
            events, event = self._together(event)
            self._taken = [*events, *([event] if event else [])]
            try:
                self._deliver(events)
            except Exception as error:  # noqa: BLE001 - the next alert has its own chance, whatever a receiver raises
                if self._stopped.is_set():  # they are reported as dropped
                    return
                for failed in events:
                    self._report(f"alert for {_subject(failed)}: the {self._receiver} failed: {error}")
            self._taken = self._taken[len(events) :]
            sent = time.monotonic()
            if event is _NEXT:
                event = self._waiting.get()

    def _together(self, event: Event) -> tuple[list[Event], Event | None]:
        """The events of the next message, and the event after them: ``None`` ends the thread."""
        events, length = [event], len(words_of(event)) if self._format.most else 0
        while self._format.most:
            try:
                another = self._waiting.get_nowait()
            except queue.Empty:
                break
            if another is None:
                return events, None
            length += 1 + 2 * len(words_of(another))  # an escaped character takes two
            if length > self._format.most:
                return events, another
            events.append(another)
        return events, _NEXT


_NEXT: Event = {}
"""Stands for the next event of the queue."""


def _left(deadline: float | None) -> float | None:
    """The seconds until a deadline of ``monotonic``."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _subject(event: Event) -> str:
    """What an alert is about."""
    return str(event.get("coin") or event.get("symbol") or event.get("exchange") or "the source")
