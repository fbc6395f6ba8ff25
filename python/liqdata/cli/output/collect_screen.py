"""Run the collector from the command line, with a live screen or plain lines."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import to_be_made
from liqdata.cli.background_alerts import Alerting
from liqdata.cli.logs import is_json
from liqdata.collector import check_replies, unreachable
from liqdata.market import collected
from liqdata.messaging.publisher import Publisher
from liqdata.server import serve as server_of
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["collect", "serve"]

POLL = 0.25
"""Seconds between two updates of the screen."""

REPEAT = 60.0
"""Seconds after which the status is printed again although it has not changed, if there is no screen."""

_PATIENCE = 10.0
"""Seconds in which the first exchange is expected to be reached."""

_QUEUED = 1000
"""Most warnings that wait for the first exchange."""

_LOG_LIMIT = 64 << 20
"""Size in bytes that the archive's write-ahead log exceeds only behind a stopped reader."""

COLUMNS = ("exchange", "state", "events/min", "events", "last event", "lag", "gaps", "rejected", "pending", "past")

COVERED = (
    "exchange", "covered", "sockets", "topics", "completeness", "recovered", "unpriced", "quarantined", "holes", "clock"
)  # fmt: skip
"""Columns about coverage: ``covered`` and ``recovered`` are of the last 24 hours, other counts since the start."""


def collect(
    archive: Path,
    *,
    exchanges: Sequence[str],
    coins: Sequence[str],
    settings: str,
    once: bool,
    positions: bool = False,
    publish: str | None = None,
    screen: bool | None = None,
) -> None:
    """Collect into an archive until SIGINT or SIGTERM, or until the backfill is complete.

    Parameters
    ----------
    archive : path
        Folder of the archive; created if it is missing.
    exchanges : sequence of str
        Exchanges by name; empty means all.
    coins : sequence of str
        Store data only of these coins. If empty, store the orders of all coins, and bars and open interest of the coins
        in ``settings``.
    settings : str
        Settings of the collector as text: TOML, or an object of JSON.
    once : bool
        Whether to stop after the backfill.
    positions : bool
        Whether to store snapshots of the positions of single accounts.
    publish : str, optional
        Address of the NATS server that the stored rows are published to.
    screen : bool, optional
        Whether to draw a live table. By default a table is drawn if standard output is a terminal and rich is
        installed.

    Raises
    ------
    NoAnswer
        If ``once`` is set and an exchange sent no data. Data of the other exchanges is stored.
    """
    with stop_signal() as enough:
        collector = _begin(archive, exchanges, coins, settings, once=once, positions=positions)
        publisher = None
        try:
            if publish is not None:
                publisher = Publisher(archive, publish)
            status = _watch(collector, enough, once=once, screen=screen)
        finally:
            collector.stop()
            if publisher is not None:
                publisher.close()
    if once and status is not None and not enough.is_set():
        check_replies(status)


def serve(
    archive: Path,
    *,
    exchanges: Sequence[str],
    coins: Sequence[str],
    settings: str,
    positions: bool = False,
    served: dict[str, Any],
    alerts: dict[str, Any] | None = None,
    screen: bool | None = None,
) -> None:
    """Collect into an archive and serve it at the same time, until SIGINT or SIGTERM.

    The address of the server is the first line of standard output. On exit the server finishes its pending replies
    before the collector stops, so it never sends data that are not stored.

    Parameters
    ----------
    archive : path
        Folder of the archive; created if it is missing.
    exchanges, coins, settings, positions
        As in :func:`collect`.
    served : dict
        Arguments of :func:`liqdata.serve`.
    alerts : dict, optional
        Rules and senders of :func:`liqdata.alerts.watch`, which runs while the server runs.
    screen : bool, optional
        As in :func:`collect`.
    """
    with stop_signal() as enough:
        collector = _begin(archive, exchanges, coins, settings, once=False, positions=positions)
        try:
            with (
                collected(collector, archive) as market,
                Alerting(market, alerts) as alerting,
                server_of(market, **served) as server,
            ):
                print(server.url, flush=True)
                print(f"the archive {archive}, as it is collected; Ctrl-C ends it", file=sys.stderr, flush=True)
                alerting.start(server, served)
                _watch(collector, enough, once=False, screen=screen)
                alerting.stop()
        finally:
            collector.stop()


def _begin(
    archive: Path, exchanges: Sequence[str], coins: Sequence[str], settings: str, *, once: bool, positions: bool
) -> _core.Collector:
    names = (list(exchanges), list(coins))
    is_json = settings.startswith("{")  # TOML never begins like this
    return _core.Collector(to_be_made(str(archive)), *names, settings, once, json=is_json, positions=positions)


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set.

    Enter this context first, so that no signal is lost.
    """
    enough = threading.Event()
    before: dict[int, Any] = {}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(*_: object) -> None:
        # Restore the previous handlers, so that a second signal can end a long shutdown.
        restore()
        enough.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, on_signal)
    try:
        yield enough
    finally:
        restore()


def _watch(collector: _core.Collector, enough: threading.Event, *, once: bool, screen: bool | None) -> Any:
    """Show the status until a signal or the end of the backfill; return the last status."""
    drawn = screen if screen is not None else sys.stdout.isatty() and find_spec("rich") is not None and not is_json()
    show: Callable[[dict[str, Any]], None]
    window: AbstractContextManager[object]
    if drawn:
        window, show = _screen()
    else:
        window, show = nullcontext(), _Lines().show
    network = _Network()
    with network, window:
        while not enough.wait(POLL):
            status = collector.status()
            if status is None:
                return None
            if network.look(status):
                show(status)
            if once and collector.over:
                break
        status = collector.status()
        if status is not None and network.look(status):
            show(status)
    if status is not None:
        _say(_summary(status))
    return status


def _screen() -> tuple[AbstractContextManager[object], Callable[[dict[str, Any]], None]]:
    from rich.console import Group
    from rich.live import Live

    live = Live(auto_refresh=False, transient=False)

    def show(status: dict[str, Any]) -> None:
        live.update(Group(_table(status), _covered_table(status)), refresh=True)

    return live, show


def _table(status: dict[str, Any]) -> Any:
    from rich.table import Table
    from rich.text import Text

    colours = {"live": "green", "degraded": "yellow", "down": "red", "starting": "dim", "stopped": "dim"}
    table = Table(title=_summary(status), title_justify="left", caption=Text(_troubles(status)), caption_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in {"exchange", "state"} else "right")
    for exchange in status["exchanges"]:
        state = exchange["state"]
        table.add_row(
            exchange["exchange"],
            f"[{colours.get(state, '')}]{state}[/]",
            *(_cells(exchange, status["at"])),
            end_section=False,
        )
    return table


def _covered_table(status: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title="covered and recovered: of 24 hours; counts: since the start", title_justify="left")
    for name in COVERED:
        table.add_column(name, justify="left" if name in {"exchange", "completeness"} else "right")
    for exchange in status["exchanges"]:
        table.add_row(exchange["exchange"], *_covered(exchange))
    return table


def _covered(exchange: dict[str, Any]) -> list[str]:
    share, known = exchange["connected_share"], exchange["completeness"]
    topics, ahead = exchange["topics"], exchange["clock_ahead"]
    return [
        "–" if share is None else f"{int(share * 1000) / 10:.1f} %",  # rounded down, so that only a full share is 100 %
        f"{exchange['sockets']}/{exchange['sockets_wanted']}" if exchange["sockets_wanted"] else "–",
        f"{topics - exchange['uncovered_count']}/{topics}" if topics else "–",
        "–" if known is None else known if known == "unknown" else f"{known}, {exchange['known_by']}",
        "–" if exchange["recovered"] is None else f"{exchange['recovered']:,}",
        f"{exchange['unpriced']:,}",
        f"{exchange['quarantined']:,}",
        f"{exchange['holes']:,}" if exchange["numbered"] or exchange["holes"] else "–",
        "–" if ahead is None else f"{ahead:+,} ms",
    ]


def _cells(exchange: dict[str, Any], now: int) -> list[str]:
    past = f"{exchange['asked']}/{exchange['to_ask']}" if exchange["asked"] < exchange["to_ask"] else "–"
    return [
        f"{exchange['events_per_minute']:,}",
        f"{exchange['events']:,}",
        _ago(exchange["last_event"], now),
        "–" if exchange["lag"] is None else f"{exchange['lag']:,} ms",
        f"{exchange['gaps']:,}",
        f"{exchange['rejected']:,}",
        f"{exchange['pending']:,}",
        past,
    ]


def _ago(instant: int | None, now: int) -> str:
    if instant is None:
        return "–"
    seconds = max(0, now - instant) // 1000
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name} ago"
    return f"{seconds} s ago"


def _summary(status: dict[str, Any]) -> str:
    text = f"stored {status['orders']:,} orders, {status['bars']:,} bars, {status['open_interest']:,} open interest"
    if "maps" in status:
        text += f", {status['maps']:,} maps" + (f" ({status['maps_lost']:,} not)" if status["maps_lost"] else "")
    if "positions" in status:
        seen = status["positions"]
        text += f", {seen['snapshots']:,} snapshots" + (
            f" (the last of {seen['positions']:,} positions)" if seen["snapshots"] else ""
        )
    waiting = f" · {status['waiting']:,} waiting" if status["waiting"] else ""
    log = ""
    if status["log_bytes"] > _LOG_LIMIT:
        log = f" · {status['log_bytes'] >> 20:,} MiB of log behind a stopped reader"
    trouble = f" · NOT WRITING: {status['trouble']}" if status["trouble"] else ""
    frames = f" · frames are not recorded: {status['raw']['trouble']}" if status["raw"]["trouble"] else ""
    return text + waiting + log + trouble + frames


def _troubles(status: dict[str, Any]) -> str:
    lines = []
    for exchange in status["exchanges"]:
        if exchange["trouble"]:
            lines.append(printable(f"{exchange['exchange']}: {exchange['trouble']}"))
        if exchange["uncovered_count"] and exchange["state"] != "starting":
            lines.append(f"{exchange['exchange']}: {exchange['uncovered_count']} topics not covered")
    if "positions" in status and status["positions"]["trouble"]:
        lines.append(printable(f"positions: {status['positions']['trouble']}"))
    return "\n".join(lines)


class _Network:
    """Says in one line that no exchange is reachable, instead of warnings about each.

    At the start warnings about exchanges wait until the first one is reached. While none is, they are dropped.
    """

    def __init__(self) -> None:
        self._logger = logging.getLogger("liqdata.feeds")
        self._waiting: deque[logging.LogRecord] = deque(maxlen=_QUEUED)
        self._is_reached = False
        self._began = time.monotonic()
        self._due = 0.0

    def __enter__(self) -> None:
        self._logger.addFilter(self.filter)

    def __exit__(self, *_: object) -> None:
        self._logger.removeFilter(self.filter)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to pass a warning now."""
        if not self._is_reached:
            self._waiting.append(record)
        return self._is_reached

    def look(self, status: Any) -> bool:
        """Whether to show a status; otherwise say, once a minute, why not."""
        answers = [exchange["reachable"] for exchange in status["exchanges"]]
        is_early = None in answers and time.monotonic() - self._began < _PATIENCE
        self._is_reached = True in answers or (False not in answers and not is_early)
        if self._is_reached:
            waiting, self._waiting = [*self._waiting], deque(maxlen=_QUEUED)
            for record in waiting:
                self._logger.handle(record)
        elif not is_early:
            self._waiting.clear()
            if time.monotonic() >= self._due:
                self._due = time.monotonic() + REPEAT
                if is_json():
                    logging.getLogger("liqdata.collect").warning("%s; trying again", unreachable(status))
                else:
                    _say(f"{_clock(status['at'])} {unreachable(status)}; trying again")
        return self._is_reached


class _Lines:
    """Prints a line for each exchange with a new state or a new kind of error, and once a minute for all exchanges.

    Until the minute is over, further errors of the same kind are only counted.
    """

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._kinds: set[tuple[str, str]] = set()
        self._due = 0.0

    def show(self, status: dict[str, Any]) -> None:
        due = time.monotonic() >= self._due
        if due:
            self._due = time.monotonic() + REPEAT
            self._kinds.clear()
        for exchange in status["exchanges"]:
            name, state, trouble = exchange["exchange"], exchange["state"], exchange["trouble"]
            kind = (name, trouble.partition(": ")[0]) if trouble else None
            if not due and self._states.get(name) == state and (kind is None or kind in self._kinds):
                continue
            self._states[name] = state
            if kind is not None:
                self._kinds.add(kind)
            cells = zip(COLUMNS[2:], _cells(exchange, status["at"]), strict=True)
            words = " · ".join(f"{column} {value}" for column, value in cells)
            said = f" · {trouble}" if trouble else ""
            more = exchange["troubles"] - self._counts.get(name, 0) - 1
            self._counts[name] = exchange["troubles"]
            if more > 0:
                said += f" (… {more:,} more)"
            _say(f"{_clock(status['at'])} {name} {state} · {words}{said}")
        if due:
            for exchange in status["exchanges"]:
                if exchange["connected_share"] is not None:
                    cells = zip(COVERED[1:], _covered(exchange), strict=True)
                    words = " · ".join(f"{column} {value}" for column, value in cells)
                    _say(f"{_clock(status['at'])} {exchange['exchange']} in 24 h · {words}")
            _say(f"{_clock(status['at'])} {_summary(status)}")


def _say(line: str) -> None:
    """Print a line; if the reader closed the pipe, discard all further output and continue collecting."""
    if is_json():
        print(printable(line), file=sys.stderr, flush=True)
        return
    try:
        # The line may contain text from an exchange, so it is escaped.
        print(printable(line), flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _clock(instant: int) -> str:
    return datetime.fromtimestamp(instant / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
