"""Watching cascades: shown as they come, and told to a webhook or a command where they are large.

Whatever an exchange or a service says stays data: a command is run without a shell, and gets an event as JSON on its
input and in its environment. Alerts are told on a thread of their own, so that a slow one keeps nobody waiting and ends
nothing.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import shlex
import shutil
import ssl
import subprocess
import threading
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from liqdata.calls.arguments import instant, millis_of, number, usd
from liqdata.endpoints.cascades import milliseconds
from liqdata.errors import BadQuery, LiqdataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from liqdata.client import Client
    from liqdata.market import Market
    from liqdata.types import CascadeRow, Instant

_HOUR = 60 * 60 * 1000
_WAITING = 1000  # alerts that wait to be told at most
_SECONDS = 10.0  # for a webhook or a command
_SUCCESS = range(200, 300)

Event = dict[str, Any]


class _Met(NamedTuple):
    """An event that has been shown: as far as it is known, and what was told of it."""

    start: int
    end: int
    closed: bool
    alerted: bool


class Events:
    """What is new from look to look: an event once it counts, and once more when nothing can join it."""

    def __init__(self, gap: int, since: int, alert: Decimal) -> None:
        self._gap, self._since, self._alert = gap, since, alert
        self._met: dict[tuple[str, str], list[_Met]] = {}

    def start(self, now: int) -> int:
        """From when on events have to be looked at: of those that are open, all."""
        still = [met.start for line in self._met.values() for met in line if not met.closed]
        return min([max(self._since, now - 2 * _HOUR) - 2 * self._gap, *still])

    def news(self, rows: Sequence[CascadeRow], now: int) -> Iterator[tuple[Event, bool]]:
        """What there is to show of a look, and whether it is an alert."""
        for row in rows:
            if row["end"] < self._since:
                continue
            line = self._met.setdefault((row["coin"], row["side"]), [])
            # A late order may have moved its start or its end, or joined two.
            same = [met for met in line if met.start <= row["end"] and row["start"] <= met.end]
            closed = row["end"] + self._gap < now
            large = row["usd"] >= self._alert
            shown = any(met.closed for met in same) or (bool(same) and not closed)
            alerted = any(met.alerted for met in same)
            if not shown or (large and not alerted):
                yield {**row, "state": "closed" if closed else "open"}, large and not alerted
            kept = [met for met in line if met not in same and (not met.closed or met.end > now - 2 * _HOUR)]
            met = _Met(row["start"], row["end"], closed or any(met.closed for met in same), alerted or large)
            self._met[row["coin"], row["side"]] = [*kept, met]


class _Alerts:
    """Tells alerts to a webhook and a command, one after the other, on a thread that ends with the process."""

    def __init__(self, webhook: str | None, command: list[str] | None, say: Callable[[str], None]) -> None:
        self._webhook, self._command, self._say = webhook, command, say
        self._waiting: queue.Queue[Event | None] = queue.Queue(_WAITING)
        self._running: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._tell, name="liqdata-watch", daemon=True)
        if webhook is not None or command is not None:
            self._thread.start()

    def put(self, event: Event) -> None:
        """Have an event told."""
        if self._thread.is_alive():
            try:
                self._waiting.put_nowait(event)
            except queue.Full:
                self._say(f"an alert of {event['coin']} is left out: {_WAITING} wait to be told already")

    def close(self, *, wait: bool) -> None:
        """End; what waits is told before where there is time for that."""
        if not self._thread.is_alive():
            return
        if wait:
            self._waiting.put(None)
            self._thread.join()
        elif self._running is not None:
            self._running.kill()

    def _tell(self) -> None:
        while (event := self._waiting.get()) is not None:
            text = json.dumps(event, default=str, allow_nan=False).encode()
            if self._webhook is not None:
                self._told("webhook", partial(_post, self._webhook, text))
            if self._command is not None:
                self._told("command", partial(self._run, event, text))

    def _told(self, what: str, tell: Callable[[], None]) -> None:
        try:
            tell()
        except (OSError, http.client.HTTPException, ValueError, subprocess.SubprocessError) as error:
            self._say(f"the {what} failed: {error}")

    def _run(self, event: Event, text: bytes) -> None:
        command = self._command or []
        # No text holds a NUL in an environment; elsewhere it stays as it came.
        cells = {f"LIQDATA_{name.upper()}": str(cell) for name, cell in event.items() if cell is not None}
        told = os.environ | {name: text.replace("\0", "") for name, text in cells.items()}
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=told) as running:  # noqa: S603 - there is no shell
            self._running = running
            try:
                running.communicate(text, timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                running.kill()
                msg = f"{command[0]} took longer than {_SECONDS:.0f} s and was ended"
                raise ValueError(msg) from None
            finally:
                self._running = None
        if running.returncode:
            msg = f"{command[0]} ended with {running.returncode}"
            raise ValueError(msg)


def _post(webhook: str, text: bytes) -> None:
    """Send JSON to an address; a redirection is a failure, for the event would be sent to somebody else."""
    parts = urlsplit(webhook)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=_SECONDS, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, text, {"Content-Type": "application/json", "User-Agent": "liqdata"})
        status = connection.getresponse().status
    finally:
        connection.close()
    if status not in _SUCCESS:
        msg = f"{host} answered {status}"
        raise ValueError(msg)


def watch(
    source: Client | Market,
    symbol: str | Sequence[str] | None = None,
    *,
    show: Callable[[Event], None],
    say: Callable[[str], None],
    min_usd: float | Decimal | str = 100_000,
    gap: str | int = "60s",
    alert_usd: float | Decimal | str | None = None,
    webhook: str | None = None,
    command: str | Sequence[str] | None = None,
    every: float = 1.0,
    since: Instant | None = None,
    most: int | None = None,
) -> None:
    """Show cascades as they come, until Ctrl-C, and tell those that are large to a webhook or a command.

    An event is shown once it has reached ``min_usd``, with ``state`` ``open``, and once more when nothing can join it,
    with ``closed``. Once it has reached ``alert_usd`` it is told, once.

    It asks again and again rather than follow :meth:`liqdata.Client.stream_cascades`: a stream tells a cascade once it
    is over, and an alert is to come while it goes on.

    Parameters
    ----------
    source : Client or Market
        Who is asked, by :meth:`liqdata.Client.cascades`, which reads only what is new.
    symbol : str or sequence of str, optional
        A coin, a pair or several; everything by default.
    show, say : callable
        Take an event, a row of ``cascades`` with its ``state``; and a sentence about what failed.
    min_usd, alert_usd : float, Decimal or str
        From how many USD on an event is shown, and told (``min_usd`` by default).
    gap : str or int
        As of ``cascades``.
    webhook : str, optional
        An ``http`` or ``https`` address; the event is posted there as JSON, exact amounts as text.
    command : str or sequence of str, optional
        A program with its arguments (a text is split as a shell would, and no shell is run). It gets the JSON on its
        input, and ``LIQDATA_COIN``, ``LIQDATA_SIDE``, ``LIQDATA_USD`` and so on in its environment.
    every : float
        Seconds between two looks.
    since : int, datetime or str, optional
        Events that were over before then are left out; the source's *now* by default.
    most : int, optional
        End behind so many shown.

    Raises
    ------
    BadQuery
        For what is not allowed. Failures of the source, the webhook and the command are said and end nothing.
    """
    address, program = ways(webhook, command)
    pause, length = number(every, "every", "seconds above 0"), milliseconds(gap)
    if not 0 < pause <= threading.TIMEOUT_MAX:
        msg = f"every: {every!r} is not allowed; allowed: seconds above 0"
        raise BadQuery(msg, parameter="every")
    least = usd(min_usd)
    alert = Decimal(least if alert_usd is None else usd(alert_usd))
    first = None if since is None else instant(since, "since")
    looks = _Looks(source, symbol, {"gap": length, "min_usd": least}, (first, alert), say)
    alerts = _Alerts(address, program, say)
    asleep, shown = threading.Event(), 0
    try:
        while most is None or shown < most:
            for event, is_alert in islice(looks.news(pause), None if most is None else most - shown):
                show(event)
                shown += 1
                if is_alert:
                    alerts.put(event)
            if most is None or shown < most:
                asleep.wait(pause)
    except BaseException:
        alerts.close(wait=False)
        raise
    alerts.close(wait=True)


class _Looks:
    """Asks a source again and again; what fails is said, once until it goes well again."""

    def __init__(
        self,
        source: Client | Market,
        symbol: str | Sequence[str] | None,
        asked: dict[str, Any],
        since: tuple[int | None, Decimal],
        say: Callable[[str], None],
    ) -> None:
        self._source, self._symbol, self._asked, self._say = source, symbol, asked, say
        self._since, self._alert = since
        self._events: Events | None = None
        self._now = 0
        self._failed = False

    def news(self, pause: float) -> Iterator[tuple[Event, bool]]:
        """What is new of a look; another comes after so many seconds."""
        start = self._since if self._events is None else self._events.start(self._now)
        try:
            rows = self._source.cascades(self._symbol, start=start, **self._asked)
        except LiqdataError as error:
            # What is refused at the first look is refused at all of them.
            if isinstance(error, BadQuery) and self._events is None:
                raise
            if not self._failed:
                self._say(f"{error}; asked again every {pause:g} s")
            self._failed = True
            return
        self._failed = False
        if rows.meta["as_of"] is None:  # nothing has been observed yet
            return
        self._now = millis_of(rows.meta["as_of"])
        if self._events is None:
            self._events = Events(self._asked["gap"], self._now if self._since is None else self._since, self._alert)
        yield from self._events.news(list(rows), self._now)


def ways(webhook: str | None, command: str | Sequence[str] | None) -> tuple[str | None, list[str] | None]:
    """How alerts are told, before anything is watched: the address and the program with its arguments."""
    return _checked(webhook), _program(command)


def _checked(webhook: str | None) -> str | None:
    """The address of a webhook, or :class:`~liqdata.BadQuery`; it may hold a secret, so it is not repeated."""
    if webhook is None:
        return None
    try:
        parts = urlsplit(webhook)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
        sound = sound and parts.port != 0 and webhook.isascii() and webhook.isprintable() and " " not in webhook
    except (ValueError, AttributeError, TypeError):
        sound = False
    if sound:
        return webhook
    msg = "webhook: what is given is no address; allowed: an http or https address, without a user and a blank"
    raise BadQuery(msg, parameter="webhook")


def _program(command: str | Sequence[str] | None) -> list[str] | None:
    """The words of a command, or :class:`~liqdata.BadQuery`."""
    if command is None:
        return None
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        msg = f"command: {command!r} cannot be split ({error}); allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command") from None
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words):
        msg = f"command: {command!r} is not allowed; allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command")
    if shutil.which(words[0]) is None:
        msg = f"command: {words[0]!r} is not there, or cannot be run; allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command")
    return words
