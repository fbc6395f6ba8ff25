"""The collector: stores public data of the exchanges in an archive, in the background."""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from . import _core
from .calls.arguments import folder, to_be_made
from .calls.traceback import public_call
from .errors import BadQuery, NoAnswer, WrongState
from .files.safe_open import read_text
from .market import collected

if TYPE_CHECKING:
    from .market import Market
    from .types import CollectorStatus

__all__ = ["Collector", "collect"]

# Seconds between two deliveries of log records to `logging`, and between two checks in `wait`.
_PROMPTLY = 0.1
_SETTINGS = "the path of a TOML file, TOML text, or a mapping with the same settings"


class Collector:
    """A running collector; made by :func:`collect`.

    It runs on its own threads until it is closed or the process ends. It does not run in a forked child.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> unreachable = {"exchanges": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
    >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", exchanges="okx", settings=unreachable) as collector:
    ...     collector.status()["exchanges"][0]["exchange"]
    'okx'
    """

    def __init__(self, core: _core.Collector, path: str, *, once: bool) -> None:
        self._core = core
        self._path = path
        self._once = once
        self._pid = os.getpid()
        ended = threading.Event()
        # Garbage collection also stops the collector: it stores the received rows and releases the archive.
        self._end = weakref.finalize(self, _stop, core, ended)
        threading.Thread(target=_deliver, args=(ended,), name="liqdata-logs", daemon=True).start()

    @property
    def path(self) -> str:
        """The folder of the archive."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether the collector has been closed."""
        return not self._end.alive

    def status(self) -> CollectorStatus:
        """Counts and connection state by exchange; after closing, those at the time of closing.

        Returns
        -------
        dict
            ``at`` and ``since`` (time of the status and of the start, epoch ms), ``exchanges`` (a list with a dict per
            exchange: ``exchange``, ``state``, ``events``, ``lag`` in ms, ``gaps``, ``trouble`` and more), the number of
            durable ``orders``, ``bars`` and ``open_interest`` readings, the number of rows ``waiting`` to be written,
            ``log_bytes`` (size of the archive's write-ahead log; more than 64 MiB while a stopped reader keeps it from
            being emptied), ``trouble`` (an error if rows cannot be written), and ``raw`` (counts of stored frames).
            With ``positions=True`` also ``positions``: whether the trade feed is ``live``, the number of ``accounts``
            in the last round of requests and how many of them are ``missing``, the number of ``snapshots``, the number
            of ``positions`` in the last snapshot, when it was complete (``last_snapshot``), and ``trouble``. Counts
            begin when the collector starts.

        Raises
        ------
        WrongState
            In a forked child, and while another thread closes the collector.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> unreachable = {"exchanges": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", exchanges="okx", settings=unreachable) as collector:
        ...     collector.status()["orders"]
        0
        """
        self._check_process()
        status = self._core.status()
        if status is None:
            msg = "the collector is being closed in another thread; its status is available after that"
            raise WrongState(msg)
        return cast("CollectorStatus", status)

    def market(self) -> Market:
        """The market of the archive; it includes new orders as soon as they are durable.

        The market remains usable after the collector is closed. If a server serves this market, the maps that it
        computes for the queries ``maps`` of the settings are stored in the archive (:meth:`liqdata.Market.maps`).

        Returns
        -------
        Market
            Like the result of :func:`liqdata.open`; :meth:`~liqdata.Market.stream_orders` yields new orders.

        Raises
        ------
        WrongState
            If the collector has been closed (use :func:`liqdata.open` then), and in a forked child.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> unreachable = {"exchanges": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", exchanges="okx", settings=unreachable) as collector:
        ...     len(collector.market().positions("BTC"))
        0
        """
        self._check_process()
        if self.closed:
            msg = f"the collector has been closed; liqdata.open({self._path!r}) reads its archive"
            raise WrongState(msg)
        return collected(self._core, self._path)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the backfill of ``once=True`` is stored, or the collector is closed.

        Parameters
        ----------
        timeout : float, optional
            Maximum time to wait, in seconds; unlimited by default. Ctrl-C ends the wait.

        Returns
        -------
        bool
            False if ``timeout`` passed first, otherwise True.

        Raises
        ------
        NoAnswer
            With ``once=True``, if an exchange returned no data; the data of the other exchanges are stored.
        WrongState
            In a forked child.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> unreachable = {"exchanges": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", exchanges="okx", settings=unreachable) as collector:
        ...     collector.wait(0.01)
        False
        """
        self._check_process()
        until = None if timeout is None else time.monotonic() + timeout
        while not self.closed and not (self._once and self._core.over):
            left = _PROMPTLY if until is None else min(_PROMPTLY, until - time.monotonic())
            if left <= 0:
                return False
            time.sleep(left)
        if self._once and not self.closed:
            check_replies(self.status())
        return True

    def close(self) -> None:
        """Close the connections, store the received rows and release the archive.

        May be called more than once.

        The call returns when all received rows are durable, usually within milliseconds. A Ctrl-C during the call is
        raised after that.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> unreachable = {"exchanges": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> collector = liqdata.collect(tempfile.mkdtemp() + "/archive", exchanges="okx", settings=unreachable)
        >>> collector.close()
        >>> collector.closed
        True
        """
        self._end()

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            msg = (
                f"the collector of {self._path} belongs to process {self._pid}, before a fork; open its archive "
                "in this process"
            )
            raise WrongState(msg)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        msg = f"a collector cannot be pickled: its sockets belong to this process; pickle liqdata.open({self._path!r})"
        raise TypeError(msg)

    def __repr__(self) -> str:
        if self._pid != os.getpid():
            return f"Collector({self._path!r}, of process {self._pid})"
        status = self._core.status() or {"exchanges": [], "orders": 0}
        state = "closed" if self.closed else "over" if self._once and self._core.over else "at work"
        live = sum(exchange["state"] == "live" for exchange in status["exchanges"])
        exchanges = "" if state != "at work" else f", {live} of {len(status['exchanges'])} exchanges live"
        return f"Collector({self._path!r}, {state}{exchanges}, {status['orders']:,} orders stored)"


def _stop(core: _core.Collector, ended: threading.Event) -> None:
    try:
        core.stop()
    finally:
        ended.set()


def _deliver(ended: threading.Event) -> None:
    """Deliver log records to :mod:`logging`."""
    while not ended.wait(_PROMPTLY):
        _core.deliver_logs()


@public_call
def collect(
    path: str | os.PathLike[str],
    *,
    exchanges: str | Iterable[str] | None = None,
    coins: str | Iterable[str] | None = None,
    settings: str | os.PathLike[str] | Mapping[str, object] | None = None,
    positions: bool = False,
    once: bool = False,
) -> Collector:
    """Collect public liquidations, bars and open interest of the exchanges into an archive.

    Parameters
    ----------
    path : str or path-like
        The folder of the archive, created if missing. Only one collector can write to an archive at a time; any number
        of markets and processes may read it.
    exchanges : str or sequence of str, optional
        Exchanges by name, such as ``["binance", "bybit"]``; all but ``"hyperliquid"`` by default. The liquidations of
        Hyperliquid are found by watching its ten most active makers, so they are ``sampled``; the coverage says which
        share is found (``docs/reference/feeds.md``). It has no past liquidations for ``once``.
    coins : str or sequence of str, optional
        Store only these coins, such as ``["BTC", "ETH"]``. By default orders of all coins, and bars and open interest
        of the coins in ``settings``.
    settings : str, path-like or mapping, optional
        Hosts, paths and times to use for the exchanges, and how long rows are kept, for ever by default
        (``docs/reference/collecting.md`` and ``docs/how-to/upgrade.md`` list the settings): the path of
        a TOML file, TOML text (recognised by an ``=``), or a mapping with the same keys.
    positions : bool
        Also store snapshots of the positions of the most active and largest accounts of Hyperliquid, within its
        public rate limit (:meth:`Market.positions`; ``docs/explanation/positions.md``). It cannot be combined with
        ``once``, because Hyperliquid does not publish past positions.
    once : bool
        Only backfill past data that the exchanges still publish, then end; :meth:`Collector.wait` waits for the end.

    Returns
    -------
    Collector
        A running collector; a context manager with ``status()``, ``market()``, ``wait()`` and ``close()``.

    Raises
    ------
    BadQuery
        For an unknown exchange, coin or setting, before anything is connected or created.
    ArchiveError
        If the archive cannot be written, or another collector writes to it; the message names its process.

    Examples
    --------
    >>> import liqdata
    >>> def watch(seconds):
    ...     with liqdata.collect("my-archive", exchanges=["binance", "okx"], coins="BTC") as collector:
    ...         collector.wait(seconds)
    ...         return collector.market().overview()["1h"], collector.status()["orders"]
    """
    place = folder(path)
    for name, value in (("positions", positions), ("once", once)):
        if not isinstance(value, bool):
            msg = f"{name}: {value!r} is not allowed; allowed: True or False"
            raise BadQuery(msg, parameter=name)
    if positions and once:
        msg = "positions: past positions are not published; allowed: False with once=True"
        raise BadQuery(msg, parameter="positions")
    place = os.path.realpath(to_be_made(place))
    names = (_names(exchanges, "exchanges"), _names(coins, "coins"))
    text, is_json = _read(settings)
    try:
        core = _core.Collector(place, *names, text, once, json=is_json, positions=positions)
    except BadQuery as error:
        if error.parameter != "symbols":  # the name on the command line
            raise
        raise BadQuery(str(error).replace("symbols", "coins", 1), parameter="coins") from None
    return Collector(core, place, once=once)


def check_replies(status: CollectorStatus) -> None:
    """Check that every exchange returned data in a backfill.

    Parameters
    ----------
    status : dict
        The result of :meth:`Collector.status`.

    Raises
    ------
    NoAnswer
        If an exchange returned nothing; the message names these exchanges and the reasons.
    """
    if nothing := unreachable(status):
        raise NoAnswer(nothing)
    exchanges = status["exchanges"]
    counts = [
        exchange["asked"] + exchange["bars"] + exchange["open_interest"] + exchange["events"] for exchange in exchanges
    ]
    silent = [exchange for exchange, count in zip(exchanges, counts, strict=True) if exchange["trouble"] and not count]
    if silent:
        some = len(exchanges) - len(silent)
        who = f"only {some} of {len(exchanges)} exchanges" if some else "no exchange"
        why = "; ".join(f"{exchange['exchange']}: {exchange['trouble']}" for exchange in silent)
        raise NoAnswer(f"{who} answered: {why}")


def unreachable(status: CollectorStatus) -> str | None:
    """Say that no exchange could be connected to, with one reason, which is usually that of all.

    Parameters
    ----------
    status : dict
        The result of :meth:`Collector.status`.

    Returns
    -------
    str or None
        ``None`` if an exchange is reachable, or none was tried.
    """
    exchanges = status["exchanges"]
    answers = [exchange["reachable"] for exchange in exchanges]
    if True in answers or False not in answers:
        return None
    why = [
        f"{exchange['exchange']}: {exchange['connect_error']}" for exchange in exchanges if exchange["connect_error"]
    ]
    others = f" ({len(exchanges) - 1} others)" if len(exchanges) > 1 else ""
    return f"no exchange is reachable: {min(why, key=len)}{others}"


def _names(given: object, parameter: str) -> list[str]:
    """Check names and return them as a list; empty for ``None``, which means all names."""
    if given is None:
        return []
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable) or isinstance(several, bytes | Mapping):
        msg = f"{parameter}: {given!r} is not allowed; allowed: a name, or several"
        raise BadQuery(msg, parameter=parameter)
    names = list(several)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            msg = f"{parameter}: {name!r} is not a name; allowed: a name, or several"
            raise BadQuery(msg, parameter=parameter)
    if not names:
        msg = f"{parameter}: {given!r} names nothing; omit it to select all"
        raise BadQuery(msg, parameter=parameter)
    return [name.strip() for name in names]


def _read(settings: object) -> tuple[str, bool]:
    """The text of the settings, and whether it is JSON."""
    if settings is None:
        return "", False
    if isinstance(settings, Mapping):
        try:
            return json.dumps(dict(settings), allow_nan=False, default=_plain), True
        except (TypeError, ValueError) as error:
            msg = f"settings: {error}; allowed: texts, numbers, lists and mappings, as in TOML"
            raise BadQuery(msg, parameter="settings") from None
    if isinstance(settings, str) and ("=" in settings or not settings.strip()):
        return settings, False
    if not isinstance(settings, str | os.PathLike):
        msg = f"settings: a {type(settings).__name__} is not allowed; allowed: {_SETTINGS}"
        raise BadQuery(msg, parameter="settings")
    file = Path(settings)
    try:
        return read_text(file), False
    except UnicodeDecodeError as error:
        msg = f"settings: {file} is not UTF-8 from byte {error.start}; allowed: TOML in UTF-8"
        raise BadQuery(msg, parameter="settings") from None
    except OSError as error:
        msg = f"settings: {file} cannot be read: {error.strerror}; allowed: {_SETTINGS}"
        raise BadQuery(msg, parameter="settings") from None


def _plain(value: object) -> object:
    """Convert other mappings to dicts, for JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    msg = f"a {type(value).__name__} is not a setting"
    raise TypeError(msg)
