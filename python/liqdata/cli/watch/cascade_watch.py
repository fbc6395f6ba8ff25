"""Watches cascades: shows each one, and sends alerts for large ones to a receiver.

In this file an event is a cascade that may still grow. Text from an exchange or a service is never executed: the
command runs without a shell, and receives the event as JSON on its standard input and as environment variables. Webhook
and command have a thread each, so a slow webhook delays neither the command nor the watch, and vice versa.
"""

from __future__ import annotations

import shlex
import shutil
import threading
import time
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from liqdata.calls.arguments import instant, millis_of, number, usd
from liqdata.cli.watch.conditions import Conditions, Thresholds
from liqdata.cli.watch.messages import format_of
from liqdata.cli.watch.senders import Alerts, Event, Webhook
from liqdata.endpoints.cascades import milliseconds
from liqdata.errors import BadQuery, LiqdataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from liqdata.client import Client
    from liqdata.market import Market
    from liqdata.types import CascadeRow, Instant

_HOUR = 60 * 60 * 1000


class _Seen(NamedTuple):
    """An event that has been shown: its time range, whether it is closed, and whether its alert was sent."""

    start: int
    end: int
    closed: bool
    alerted: bool


class Events:
    """Tracks cascades between polls.

    Each event is reported when it is large enough, and again when it closes.
    """

    def __init__(self, gap: int, since: int, alert: Decimal) -> None:
        self._gap, self._since, self._alert = gap, since, alert
        self._met: dict[tuple[str, str], list[_Seen]] = {}
        # Events that ended before this are forgotten, and never new.
        self._floor = since

    def start(self) -> int:
        """The start of the time range for the next poll, early enough to include every open event."""
        still = [met.start for line in self._met.values() for met in line if not met.closed]
        return min([self._floor - 2 * self._gap, *still])

    def news(self, rows: Sequence[CascadeRow], now: int) -> Iterator[tuple[Event, bool]]:
        """Yield the events of a poll that must be shown, each with a flag: whether to send an alert."""
        for row in rows:
            line = self._met.setdefault((row["coin"], row["side"]), [])
            # A late order may move the start or the end of an event, or merge two events.
            same = [met for met in line if met.start <= row["end"] and row["start"] <= met.end]
            if row["end"] < self._floor and not same:
                continue
            closed = row["end"] + self._gap < now
            large = row["usd"] >= self._alert
            shown = any(met.closed for met in same) or (bool(same) and not closed)
            alerted = any(met.alerted for met in same)
            if not shown or (large and not alerted):
                yield {**row, "state": "closed" if closed else "open"}, large and not alerted
            remaining = [met for met in line if met not in same]
            met = _Seen(row["start"], row["end"], closed or any(met.closed for met in same), alerted or large)
            self._met[row["coin"], row["side"]] = [*remaining, met]
        self._floor = max(self._floor, now - 2 * _HOUR)
        for key, line in self._met.items():
            self._met[key] = [met for met in line if not met.closed or met.end >= self._floor]


def watch(
    source: Client | Market,
    symbol: str | Sequence[str] | None = None,
    *,
    show: Callable[[Event], None],
    say: Callable[[str], None],
    min_usd: float | Decimal | str = 100_000,
    gap: str | int = "60s",
    alert_usd: float | Decimal | str | None = None,
    alert_order_usd: float | Decimal | str | None = None,
    alert_cluster_usd: float | Decimal | str | None = None,
    alert_distance: float = 1.0,
    alert_coverage: bool = False,
    webhook: str | None = None,
    webhook_format: str | None = None,
    webhook_secret: bytes | None = None,
    command: str | Sequence[str] | None = None,
    every: float = 1.0,
    since: Instant | None = None,
    most: int | None = None,
    after_poll: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Show cascades until Ctrl-C, and send large cascades to a webhook or a command.

    A cascade is shown with the ``state`` ``open`` when it reaches ``min_usd``, and again with ``closed`` when no more
    orders can join it. An alert is sent once, when the cascade reaches ``alert_usd``.

    The source is polled, because :meth:`liqdata.Client.stream_cascades` yields a cascade only after its end, which is
    too late for an alert.

    Parameters
    ----------
    source : Client or Market
        The source to poll with :meth:`liqdata.Client.cascades`.
    symbol : str or sequence of str, optional
        One or more coins or pairs; all coins by default.
    show, say : callable
        ``show`` is called with each cascade to show: a row of ``cascades()`` and its ``state``. ``say`` is called with
        error messages.
    min_usd, alert_usd : float, Decimal or str
        Minimum USD of a cascade to show, and of a cascade for which an alert is sent (``min_usd`` by default).
    gap : str or int
        Maximum time between two successive orders of a cascade, as in ``cascades()``.
    alert_order_usd : float, Decimal or str, optional
        Minimum USD of an order for which an alert is sent.
    alert_cluster_usd : float, Decimal or str, optional
        Minimum USD of a cluster of ``liqmap(symbol, "7d")``. An alert is sent when the price comes within
        ``alert_distance`` percent of it, and when the price passes its peak.
    alert_distance : float
        Distance of the price from the near edge of a cluster, in percent.
    alert_coverage : bool
        Send an alert when an exchange was not connected for half a minute, and when the source does not answer.
    webhook : str, optional
        An ``http`` or ``https`` address to which the alert is posted as JSON, with exact amounts as text.
    webhook_format : {"json", "telegram", "discord", "slack"}, optional
        The body that is posted; by default the format of the service at the host of the address, or JSON.
    webhook_secret : bytes, optional
        Key of a signature, which is sent in ``X-Liqdata-Signature``: ``sha256=`` and the HMAC with SHA-256, in hex, of
        the header ``X-Liqdata-Timestamp``, a full stop and the body.
    command : str or sequence of str, optional
        A program with its arguments. A string is split like in a shell, but no shell runs. The program gets the JSON
        on its standard input, and ``LIQDATA_COIN``, ``LIQDATA_SIDE``, ``LIQDATA_USD`` and so on in its environment.
    every : float
        Seconds between two polls.
    since : int, datetime or str, optional
        Skip cascades that ended before this instant; the source's *now* by default.
    most : int, optional
        Stop after ``show`` was called this many times.
    after_poll : callable
        Called without arguments after each poll.
    stop : threading.Event, optional
        The watch ends once it is set.

    Raises
    ------
    BadQuery
        If an argument is invalid. Failures of the source, the webhook and the command are reported by ``say``.
    """
    address, program = destinations(webhook, command)
    if address is not None:
        format_of(address, webhook_format)
    symbols = [] if symbol is None else [symbol] if isinstance(symbol, str) else list(symbol)
    thresholds = Thresholds(
        order_usd=alert_order_usd,
        cluster_usd=alert_cluster_usd,
        distance=alert_distance,
        coverage=alert_coverage,
    ).checked(symbols)
    pause, length = number(every, "every", "seconds above 0"), milliseconds(gap)
    if not 0 < pause <= threading.TIMEOUT_MAX:
        msg = f"every: {every!r} is not allowed; allowed: seconds above 0"
        raise BadQuery(msg, parameter="every")
    least = usd(min_usd)
    alert = Decimal(least if alert_usd is None else usd(alert_usd))
    first = None if since is None else instant(since, "since")
    looks = _Poller(source, symbol, {"gap": length, "min_usd": least}, (first, alert), say)
    looks.add(Conditions(source, symbols, thresholds, say), coverage=alert_coverage)
    alerts = Alerts(None if address is None else Webhook(address, webhook_format, webhook_secret), program, say)
    asleep, shown = stop or threading.Event(), 0
    try:
        while (most is None or shown < most) and not asleep.is_set():
            for event, is_alert in islice(looks.news(pause), None if most is None else most - shown):
                if is_alert:
                    alerts.put(event)
                show(event)
                shown += 1
            after_poll()
            if most is None or shown < most:
                asleep.wait(pause)
    except BaseException:
        alerts.abort()
        raise
    alerts.finish()


class _Poller:
    """Polls a source; of several successive failures only the first is reported."""

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
        self._conditions: Conditions | None = None
        self._with_coverage = False

    def add(self, conditions: Conditions, *, coverage: bool) -> None:
        """Poll these conditions, too; ``coverage``: alert when the source stops answering."""
        self._conditions, self._with_coverage = conditions, coverage

    def news(self, pause: float) -> Iterator[tuple[Event, bool]]:
        """Poll once and yield the events to show; ``pause`` only appears in the error message."""
        start = self._since if self._events is None else self._events.start()
        try:
            rows = self._source.cascades(self._symbol, start=start, **self._asked)
        except LiqdataError as error:
            # If the query is invalid in the first poll, it is invalid in all polls.
            if isinstance(error, BadQuery) and self._events is None:
                raise
            yield from self._fail(error, pause)
            return
        if rows.meta["as_of"] is None:  # the source has no data yet
            return
        self._now = millis_of(rows.meta["as_of"])
        if self._events is None:
            self._since = self._now if self._since is None else self._since
            self._events = Events(self._asked["gap"], self._since, self._alert)
        marks = {"basis": "realised", **({"simulated": True} if rows.meta.get("simulated") else {})}
        for event, is_alert in self._events.news(list(rows), self._now):
            yield {"alert": "cascade", **marks, **event}, is_alert
        if self._conditions is not None:
            try:
                for event in self._conditions.news(self._since or 0, self._now):
                    yield {**marks, **event}, True
            except LiqdataError as error:
                yield from self._fail(error, pause)
                return
        self._failed = False

    def _fail(self, error: LiqdataError, pause: float) -> Iterator[tuple[Event, bool]]:
        """Report the first of several successive failures."""
        if self._failed:
            return
        self._failed = True
        self._say(f"{error}; retrying every {pause:g} s")
        if self._with_coverage:
            event = {"alert": "coverage", "basis": "measured", "exchange": None, "error": str(error)}
            yield {**event, "timestamp": int(time.time() * 1000)}, True


def destinations(webhook: str | None, command: str | Sequence[str] | None) -> tuple[str | None, list[str] | None]:
    """Check the receivers of alerts: the webhook address, and the command, which is split into words."""
    return _checked_webhook(webhook), _program(command)


def _checked_webhook(webhook: str | None) -> str | None:
    """Check a webhook address.

    The error does not show the address, because it may contain a secret.
    """
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
    msg = "webhook: the value is not a valid address; allowed: an http or https address without user name and spaces"
    raise BadQuery(msg, parameter="webhook")


def _program(command: str | Sequence[str] | None) -> list[str] | None:
    """Split a command into words and check that the program exists."""
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
        msg = f"command: {words[0]!r} is not an executable program; allowed: a program with its arguments"
        raise BadQuery(msg, parameter="command")
    return words
