"""Delivers alerts to their receivers, each from a thread of its own.

Each receiver has a queue, so a slow webhook delays neither a program nor the watch, and vice versa. What a webhook or a
program did not take is sent again, in order, until it is ten minutes old. Every alert that was not delivered is
reported, and counted in the metrics of a server in this process. Messages to Telegram, Discord and Slack keep the rate
limits of these services: alerts that wait are joined to one message.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata import _core

from .failure import Again
from .messages import FORMATS, line_of
from .program import run
from .webhook import poster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .messages import Format
    from .sender import Sender

__all__ = ["Deliveries"]

_QUEUE_LENGTH = 1000  # maximum number of alerts in a queue
_LONGEST = 600.0  # maximum age of an alert that is sent again, in seconds
_PAUSE = 60.0  # maximum time between two attempts if the receiver names none, in seconds
_ATTEMPTS = 5  # maximum number of attempts once the watch has ended, at times that the receiver names

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
        format_, post = poster(sender.webhook, sender.format, sender.secret)
        return _Queue("webhook", post, report, format_)
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
        Name of the receiver in messages: ``webhook``, ``command`` or ``function``.
    deliver : callable
        Delivers events: one, or as many as its format allows in a message. They are sent again after :class:`Again`.
    report : callable
        Called with a message about each alert that was not delivered.
    format_ : Format
        How many events are delivered together, and how often.
    """

    def __init__(
        self,
        receiver: str,
        deliver: Callable[[list[Event]], object],
        report: Callable[[str], object],
        format_: Format = FORMATS["json"],
    ) -> None:
        self._receiver, self._deliver, self._report, self._format = receiver, deliver, report, format_
        self._waiting: queue.Queue[_Queued | None] = queue.Queue(_QUEUE_LENGTH)
        self._taken: list[Event] = []  # those that were taken from the queue and are not delivered yet
        self._failing = False
        self._ending = threading.Event()  # what fails from now on is not sent again
        self._stopped = threading.Event()  # a delivery that waits ends
        _core.count_alerts(receiver)
        self._thread = threading.Thread(target=self._run, name=f"liqdata-alerts-{receiver}", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Queue an event; it is dropped with a message if the queue is full."""
        _core.count_alerts(self._receiver, queued=1)
        try:
            self._waiting.put_nowait(_Queued(event, time.monotonic()))
        except queue.Full:
            self._fail([event], f" not sent: {_QUEUE_LENGTH} alerts wait for the {self._receiver}")

    def finish(self, deadline: float | None) -> None:
        """Deliver all queued alerts, then end the thread; drop and report those left at a time of ``monotonic``."""
        self._ending.set()
        with contextlib.suppress(queue.Full):  # the thread is still busy at the deadline
            self._waiting.put(None, timeout=_left(deadline))
        self._thread.join(_left(deadline))
        if self._thread.is_alive():
            self.abort()

    def abort(self) -> None:
        """Drop all queued alerts, and report them."""
        self._stopped.set()
        self._ending.set()
        dropped = [*self._taken]
        with contextlib.suppress(queue.Empty):
            while True:
                queued = self._waiting.get_nowait()
                dropped += [queued.event] if queued else []
        self._fail(dropped, f" may not have reached the {self._receiver}: the watch ended")

    def _run(self) -> None:
        queued, sent = self._waiting.get(), -self._format.pause
        while queued is not None and not self._stopped.is_set():
            self._taken = [queued.event]
            self._stopped.wait(max(0.0, sent + self._format.pause - time.monotonic()))
            if self._stopped.is_set():
                return
            events, following = self._together(queued.event)
            self._taken = [*events, *([following.event] if following and following is not _NEXT else [])]
            if not self._send(events, queued.at):
                return
            self._taken = self._taken[len(events) :]
            sent = time.monotonic()
            queued = self._waiting.get() if following is _NEXT else following

    def _send(self, events: list[Event], at: float) -> bool:
        """Deliver events, again if that may help; false if the thread has to end."""
        attempts = 0
        while True:
            is_last, attempts = self._ending.is_set(), attempts + 1
            try:
                self._deliver(events)
            except Exception as error:  # noqa: BLE001 - the next alert has its own chance, whatever a receiver raises
                if self._stopped.is_set():  # they are reported as dropped
                    return False
                pause = _pause(error, attempts, at, is_last=is_last)
                if pause is None:
                    self._fail(events, f": the {self._receiver} failed: {error}")
                    return True
                _core.count_alerts(self._receiver, repeated=1)
                named = getattr(error, "wait", None)
                if named is None and not self._failing:
                    self._failing = True
                    more = f" (and {len(events) - 1} more)" if len(events) > 1 else ""
                    self._report(
                        f"alert for {_subject(events[0])}{more}: the {self._receiver} failed: {error}; sending it again"
                    )
                # The end of the watch does not shorten a time that the receiver names.
                (self._ending if named is None else self._stopped).wait(pause)
                if self._stopped.is_set():
                    return False
            else:
                self._failing = False
                _core.count_alerts(self._receiver, delivered=len(events))
                return True

    def _fail(self, events: list[Event], how: str) -> None:
        """Count and report alerts that were not delivered."""
        _core.count_alerts(self._receiver, failed=len(events))
        for event in events:
            self._report(f"alert for {_subject(event)}{how}")

    def _together(self, event: Event) -> tuple[list[Event], _Queued | None]:
        """The events of the next message, and what follows: ``_NEXT`` of the queue; ``None`` ends the thread."""
        events, length = [event], len(line_of(event)) if self._format.most else 0
        while self._format.most:
            try:
                another = self._waiting.get_nowait()
            except queue.Empty:
                break
            if another is None:
                return events, None
            length += 1 + 2 * len(line_of(another.event))  # an escaped character takes two
            if length > self._format.most:
                return events, another
            events.append(another.event)
        return events, _NEXT


class _Queued(NamedTuple):
    """An alert in a queue, and the time of ``monotonic`` at which it was put there."""

    event: Event
    at: float


_NEXT = _Queued({}, 0.0)
"""Stands for the next alert of the queue."""


def _pause(error: Exception, attempts: int, at: float, *, is_last: bool) -> float | None:
    """The seconds until an alert is sent again after a failure; ``None`` if it is not."""
    if not isinstance(error, Again):
        return None
    pause = min(2.0 ** (attempts - 1), _PAUSE) if error.wait is None else error.wait
    if is_last and (error.wait is None or attempts >= _ATTEMPTS):
        return None
    return pause if time.monotonic() - at + pause <= _LONGEST else None


def _left(deadline: float | None) -> float | None:
    """The seconds until a deadline of ``monotonic``."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _subject(event: Event) -> str:
    """What an alert is about."""
    return str(event.get("coin") or event.get("symbol") or event.get("exchange") or "the source")
