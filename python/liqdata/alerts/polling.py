"""Polls a source and sends alerts: :func:`watch`.

In this file an event is an alert, or a cascade that may still grow.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from liqdata.calls.arguments import instant, millis_of, number, symbols, usd
from liqdata.calls.traceback import public_call
from liqdata.endpoints.cascades import milliseconds
from liqdata.errors import BadQuery, LiqdataError

from .cascades import Cascades
from .conditions import Clusters, Coverage, Orders
from .delivery import Deliveries
from .messages import described
from .rule import Rule
from .sender import Sender

if TYPE_CHECKING:
    from liqdata.client import Client
    from liqdata.market import Market
    from liqdata.types import Instant

    from .delivery import Event

__all__ = ["watch"]

T = TypeVar("T")

_GRACE = 5.0
"""Seconds in which the queued alerts are delivered when a watch is stopped."""

_ALL: list[None] = [None]
"""Stands for all coins."""


@public_call
def watch(
    source: Client | Market,
    rules: Rule | Iterable[Rule],
    senders: Sender | Iterable[Sender] = (),
    *,
    show: Callable[[dict[str, Any]], object] | None = None,
    report: Callable[[str], object] | None = None,
    after_poll: Callable[[], object] | None = None,
    every: float = 1.0,
    since: Instant | None = None,
    most: int | None = None,
    stop: threading.Event | None = None,
    page: str | None = None,
) -> None:
    """Watch a source and send an alert when a rule applies, until Ctrl-C.

    The source is polled, because :meth:`liqdata.Client.stream_cascades` yields a cascade only after its end, which is
    too late for an alert. Each sender has a thread and a queue, so a slow one delays neither the others nor the watch.

    Parameters
    ----------
    source : Client or Market
        What is polled.
    rules : Rule or iterable of Rule
        What is alerted.
    senders : Sender or iterable of Sender
        Where alerts go.
    show : callable, optional
        Called with each alert as a dict, and with each cascade of at least ``min_usd`` twice: with the ``state``
        ``"open"`` when it reaches this amount, and with ``"closed"`` when no more orders can join it. Required without
        senders.
    report : callable, optional
        Called with a message if the source does not answer or an alert was not delivered. By default the messages are
        warnings of the logger ``liqdata.alerts``.
    after_poll : callable, optional
        Called without arguments after each poll.
    every : float
        Seconds between two polls.
    since : int, datetime or str, optional
        Skip cascades that ended before this instant, and orders before it; the source's *now* by default.
    most : int, optional
        Stop after this many events.
    stop : threading.Event, optional
        The watch ends once it is set. Alerts that are not delivered within five seconds after that are reported.
    page : str, optional
        Address of a live page of the source, to which the alerts link; by default that of the server of a client.

    Raises
    ------
    BadQuery
        If an argument is not allowed, or the source does not have cascades.

    Examples
    --------
    >>> import liqdata
    >>> from liqdata import alerts
    >>> with liqdata.demo() as market:
    ...     largest = max(market.cascades("BTC", start="-24h"), key=lambda cascade: cascade["usd"])
    ...     rule = alerts.Rule("cascade", largest["usd"], symbol="BTC")
    ...     since = largest["start"]
    ...     alerts.watch(market, rule, show=lambda alert: print(alert["coin"], alert["state"]), since=since, most=1)
    BTC closed
    """
    chosen = _listed(rules, Rule, "rules")
    receivers = _listed(senders, Sender, "senders")
    if not receivers and show is None:
        msg = "senders: none is given; allowed: one or more senders, or a function show"
        raise BadQuery(msg, parameter="senders")
    pause = _pause(every)
    report = logging.getLogger("liqdata.alerts").warning if report is None else report
    poller = _Poller(source, chosen, None if since is None else instant(since, "since"), pause, report)
    deliveries = Deliveries(receivers, report)
    page = getattr(source, "base_url", None) if page is None else _address(page)
    ended, count = stop or threading.Event(), 0
    show, after_poll = show or _nothing, after_poll or _nothing
    try:
        while (most is None or count < most) and not ended.is_set():
            for found, is_alert in islice(poller.news(), None if most is None else most - count):
                event = described(found, page)
                if is_alert:
                    deliveries.put(event)
                show(event)
                count += 1
            after_poll()
            if most is None or count < most:
                ended.wait(pause)
    except BaseException:
        deliveries.abort()
        raise
    deliveries.finish(_GRACE if ended.is_set() else None)


def _listed(given: T | Iterable[T], kind: type[T], name: str) -> list[T]:
    """One object or several as a list."""
    found = [given] if isinstance(given, kind) else list(given) if isinstance(given, Iterable) else None
    wrong = given if found is None else next((each for each in found if not isinstance(each, kind)), None)
    if found is None or wrong is not None:
        msg = f"{name}: a {type(wrong).__name__} is not allowed; allowed: one or more {kind.__name__}"
        raise BadQuery(msg, parameter=name)
    if not found and kind is Rule:
        msg = f"{name}: none is given; allowed: one or more {kind.__name__}"
        raise BadQuery(msg, parameter=name)
    return found


def _pause(every: float) -> float:
    pause = number(every, "every", "seconds above 0")
    if not 0 < pause <= threading.TIMEOUT_MAX:
        msg = f"every: {every!r} is not allowed; allowed: seconds above 0"
        raise BadQuery(msg, parameter="every")
    return pause


def _address(page: str) -> str:
    if isinstance(page, str) and page.startswith(("http://", "https://")):
        return page
    msg = f"page: {page!r} is not an address; allowed: one that begins with http:// or https://"
    raise BadQuery(msg, parameter="page")


def _nothing(*_: object) -> None:
    """Does nothing."""


def _coins(rule: Rule) -> list[str]:
    """The coins or pairs of a rule; none stands for all."""
    return [*symbols(rule.symbol)]


class _Cascades:
    """The cascades of one rule."""

    def __init__(self, rule: Rule) -> None:
        self._symbol = rule.symbol
        self._gap = milliseconds("60s" if rule.gap is None else rule.gap)
        self._alert = Decimal(usd(rule.usd))
        self._least = Decimal(usd(rule.usd if rule.min_usd is None else rule.min_usd))
        self._known: Cascades | None = None

    def __str__(self) -> str:
        return "cascades"

    def read(self, source: Client | Market, since: int | None) -> Any:
        start = since if self._known is None else self._known.start()
        return source.cascades(self._symbol, gap=self._gap, min_usd=self._least, start=start)

    def news(self, rows: Any, since: int, now: int) -> Iterator[tuple[Event, bool]]:
        if self._known is None:
            self._known = Cascades(self._gap, since, self._alert)
        return self._known.news(list(rows), now)


class _Poller:
    """Polls a source; of several successive failures of a condition only the first is reported."""

    def __init__(
        self,
        source: Client | Market,
        rules: list[Rule],
        since: int | None,
        pause: float,
        report: Callable[[str], object],
    ) -> None:
        self._source, self._since, self._pause, self._report = source, since, pause, report
        self._cascades = [_Cascades(rule) for rule in rules if rule.kind == "cascade"]
        # Each condition has at most one coin, because a failure for one coin must not silence another.
        self._conditions: list[Orders | Clusters | Coverage] = [
            *(Orders(rule, coin) for rule in rules if rule.kind == "order" for coin in _coins(rule) or _ALL),
            *(Clusters(rule, coin, report) for rule in rules if rule.kind == "cluster" for coin in _coins(rule)),
            *[Coverage()][: any(rule.kind == "coverage" for rule in rules)],
        ]
        self._now: int | None = None
        self._failed: set[object] = set()
        self._error = ""

    def news(self) -> Iterator[tuple[Event, bool]]:
        """Poll once and yield the events, each with a flag: whether it is an alert."""
        known = self._source in self._failed
        with self._reported(self._source):
            yield from self._poll()
        watches_coverage = any(isinstance(condition, Coverage) for condition in self._conditions)
        if self._source in self._failed and not known and watches_coverage:
            event = {"alert": "coverage", "basis": "measured", "exchange": None, "error": self._error}
            yield {**event, "timestamp": int(time.time() * 1000)}, True

    def _poll(self) -> Iterator[tuple[Event, bool]]:
        replies, failures = [], []
        for cascades in self._cascades:
            try:
                replies.append((cascades, cascades.read(self._source, self._since)))
            except LiqdataError as error:
                failures.append((cascades, error))
        # This fails if the source does not answer at all, which is reported once.
        meta = replies[0][1].meta if replies else self._source.overview().meta
        if meta["as_of"] is None:  # the source has no data yet
            return
        now = millis_of(meta["as_of"])
        if not meta.get("simulated"):
            now = min(now, int(time.time() * 1000))  # orders before the clock of a service that is wrong still come
        self._since = since = now if self._since is None else self._since
        labels = {"basis": "realised", **({"simulated": True} if meta.get("simulated") else {})}
        for cascades, failure in failures:
            with self._reported(cascades):
                raise failure
        for cascades, rows in replies:
            self._failed.discard(cascades)
            for event, is_alert in cascades.news(rows, since, now):
                yield {"alert": "cascade", **labels, **event}, is_alert
        for condition in self._conditions:
            events: list[Event] = []
            with self._reported(condition):
                events = list(condition.news(self._source, since, now))
            for event in events:
                yield {**labels, **event}, True
        self._now = now

    @contextmanager
    def _reported(self, part: object) -> Iterator[None]:
        """Report a failure of the source or of a condition, so that the other conditions are still judged."""
        try:
            yield
        except LiqdataError as error:
            # If a query is invalid in the first poll, it is invalid in all polls.
            if isinstance(error, BadQuery) and self._now is None:
                raise
            if part not in self._failed:
                self._failed.add(part)
                self._error = str(error)
                what = "" if part is self._source else f"{part}: "
                self._report(f"{what}{error}; retrying every {self._pause:g} s")
        else:
            self._failed.discard(part)
