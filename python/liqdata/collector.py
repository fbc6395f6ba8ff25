"""A collector: what the exchanges tell, into an archive, while the block it stands in goes on."""

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
from .errors import BadQuery, NoAnswer
from .market import collected

if TYPE_CHECKING:
    from .market import Market
    from .types import CollectorStatus

__all__ = ["Collector", "collect"]

# Seconds that a log record may wait, and between two looks of those who wait for the end.
_PROMPTLY = 0.1
_SETTINGS = "the path of a TOML file, TOML text, or a mapping of the same"


class Collector:
    """A collector at work; made by :func:`collect`.

    It runs on threads of its own until it is closed, at the latest when the process ends. A forked child has none of
    it.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> nobody = {"venues": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
    >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", venues="okx", settings=nobody) as collector:
    ...     collector.status()["venues"][0]["exchange"]
    'okx'
    """

    def __init__(self, core: _core.Collector, path: str, *, once: bool) -> None:
        self._core = core
        self._path = path
        self._once = once
        self._pid = os.getpid()
        ended = threading.Event()
        # What is dropped without a word is stopped all the same, so that the archive is let go of and nothing is lost.
        self._end = weakref.finalize(self, _stop, core, ended)
        threading.Thread(target=_deliver, args=(ended,), name="liqdata-logs", daemon=True).start()

    @property
    def path(self) -> str:
        """The archive's folder."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether it has been stopped."""
        return not self._end.alive

    def status(self) -> CollectorStatus:
        """How it goes, venue by venue; once closed, how it went.

        Returns
        -------
        dict
            ``at`` and ``since`` (epoch ms), ``venues`` (a dict each: ``exchange``, ``state``, ``events``, ``lag`` in
            ms, ``gaps``, ``trouble`` and more), ``orders``, ``bars`` and ``open_interest`` that are durable, rows that
            are ``waiting`` to be, ``trouble`` where nothing can be written, and ``raw``: how many frames are kept.
            Where positions are looked at, ``positions``: whether the trades are heard (``live``), the ``accounts`` of
            the last round and how many of them are ``missing``, how many ``snapshots`` there were, the ``positions`` of
            the last one and when it was complete (``last_snapshot``), and ``trouble``. Counts are since it began.

        Raises
        ------
        RuntimeError
            In a forked child: the collector is its parent's.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> nobody = {"venues": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", venues="okx", settings=nobody) as collector:
        ...     collector.status()["orders"]
        0
        """
        self._check_process()
        told = self._core.status()
        if told is None:
            msg = "the collector is being closed in another thread; its status can be had once that is done"
            raise RuntimeError(msg)
        return cast("CollectorStatus", told)

    def market(self) -> Market:
        """A market of the archive, which grows as orders become durable; it outlives the collector.

        The estimated maps that servers of it answer with are kept in the archive (:meth:`liqdata.Market.maps`).

        Returns
        -------
        Market
            As of :func:`liqdata.open`, with :meth:`~liqdata.Market.stream_orders` for the orders to come.

        Raises
        ------
        RuntimeError
            If the collector has been closed: :func:`liqdata.open` reads what it left. In a forked child.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> nobody = {"venues": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", venues="okx", settings=nobody) as collector:
        ...     len(collector.market().orders())
        0
        """
        self._check_process()
        if self.closed:
            msg = f"the collector has been closed; liqdata.open({self._path!r}) reads what it left"
            raise RuntimeError(msg)
        return collected(self._core, self._path)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is over: until the past is kept where only that was asked for (``once``), or it is closed.

        Parameters
        ----------
        timeout : float, optional
            Most seconds to wait; for ever by default. Ctrl-C ends the wait.

        Returns
        -------
        bool
            Whether it is over.

        Raises
        ------
        NoAnswer
            If only the past was asked for and an exchange told nothing; what the others told is kept.
        RuntimeError
            In a forked child.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> nobody = {"venues": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> with liqdata.collect(tempfile.mkdtemp() + "/archive", venues="okx", settings=nobody) as collector:
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
            told_something(self.status())
        return True

    def close(self) -> None:
        """Close the sockets, keep what came in, and let go of the archive; again is harmless.

        It takes as long as what has come in needs to become durable, as a rule a few milliseconds. Ctrl-C meanwhile is
        raised in the end.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> nobody = {"venues": {"okx": {"socket": "ws://127.0.0.1:1", "rest": "http://127.0.0.1:1"}}}
        >>> collector = liqdata.collect(tempfile.mkdtemp() + "/archive", venues="okx", settings=nobody)
        >>> collector.close()
        >>> collector.closed
        True
        """
        self._end()

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            msg = (
                f"the collector of {self._path} is process {self._pid}'s, before a fork; its archive can be opened here"
            )
            raise RuntimeError(msg)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        msg = f"a collector cannot be pickled: its sockets are this process's; pickle liqdata.open({self._path!r})"
        raise TypeError(msg)

    def __repr__(self) -> str:
        if self._pid != os.getpid():
            return f"Collector({self._path!r}, of process {self._pid})"
        told = self._core.status() or {"venues": [], "orders": 0}
        state = "closed" if self.closed else "over" if self._once and self._core.over else "at work"
        live = sum(venue["state"] == "live" for venue in told["venues"])
        venues = "" if state != "at work" else f", {live} of {len(told['venues'])} venues live"
        return f"Collector({self._path!r}, {state}{venues}, {told['orders']:,} orders kept)"


def _stop(core: _core.Collector, ended: threading.Event) -> None:
    try:
        core.stop()
    finally:
        ended.set()


def _deliver(ended: threading.Event) -> None:
    """Hand log records to :mod:`logging` as they come."""
    while not ended.wait(_PROMPTLY):
        _core.deliver_logs()


@public_call
def collect(
    path: str | os.PathLike[str],
    *,
    venues: str | Iterable[str] | None = None,
    coins: str | Iterable[str] | None = None,
    settings: str | os.PathLike[str] | Mapping[str, object] | None = None,
    positions: bool = False,
    once: bool = False,
) -> Collector:
    """Collect liquidations, bars and open interest from the exchanges' public feeds into an archive on this machine.

    Parameters
    ----------
    path : str or path-like
        The archive's folder; made where there is none. One collector writes to an archive, any number of markets and
        processes read it meanwhile.
    venues : str or sequence of str, optional
        Exchanges by name, such as ``["binance", "bybit"]``; all by default.
    coins : str or sequence of str, optional
        Coins, such as ``["BTC", "ETH"]``, whose orders, bars and open interest are kept. By default the orders of all
        coins, and bars and open interest of those that ``settings`` names.
    settings : str, path-like or mapping, optional
        Hosts, paths and times (``docs/feeds.md`` has them all): the path of a TOML file, TOML text (a text with an
        ``=``), or a mapping of the same shape.
    positions : bool
        Look at the positions of the most active and largest accounts of Hyperliquid, too, within its public rate limit,
        and keep snapshots of them (:meth:`Market.positions`; ``docs/positions.md``). Not with ``once``: the venue tells
        no past of them.
    once : bool
        Only fetch the past that the exchanges still tell, then be over: :meth:`Collector.wait` waits for it.

    Returns
    -------
    Collector
        At work already; a context manager with ``status()``, ``market()``, ``wait()`` and ``close()``.

    Raises
    ------
    BadQuery
        For a venue, a coin or a setting that is none, before anything is connected to or made.
    ArchiveError
        If the archive cannot be written, also because another collector does: it names that process.

    Examples
    --------
    >>> import liqdata
    >>> def watch(seconds):
    ...     with liqdata.collect("my-archive", venues=["binance", "okx"], coins="BTC") as collector:
    ...         collector.wait(seconds)
    ...         return collector.market().overview()["1h"], collector.status()["orders"]
    """
    place = folder(path)
    for name, value in (("positions", positions), ("once", once)):
        if not isinstance(value, bool):
            msg = f"{name}: {value!r} is not allowed; allowed: True or False"
            raise BadQuery(msg, parameter=name)
    if positions and once:
        msg = "positions: their past is not told, so that they cannot be asked for once; allowed: False with once=True"
        raise BadQuery(msg, parameter="positions")
    place = os.path.realpath(to_be_made(place))
    asked = (_names(venues, "venues"), _names(coins, "coins"))
    text, is_json = _read(settings)
    try:
        core = _core.Collector(place, *asked, text, once, json=is_json, positions=positions)
    except BadQuery as error:
        if error.parameter != "symbols":  # as the command line has it
            raise elsewhere(error, asked[0], "positions=True") from None
        raise BadQuery(str(error).replace("symbols", "coins", 1), parameter="coins") from None
    return Collector(core, place, once=once)


def told_something(status: CollectorStatus) -> None:
    """Raise where exchanges that were asked for the past told nothing at all.

    Parameters
    ----------
    status : dict
        As of :meth:`Collector.status`.

    Raises
    ------
    NoAnswer
        Naming them and why.
    """
    asked = status["venues"]
    told = [venue["asked"] + venue["bars"] + venue["open_interest"] + venue["events"] for venue in asked]
    mute = [venue for venue, count in zip(asked, told, strict=True) if venue["trouble"] and not count]
    if mute:
        some = len(asked) - len(mute)
        who = f"only {some} of {len(asked)} exchanges" if some else "no exchange"
        said = "; ".join(f"{venue['exchange']}: {venue['trouble']}" for venue in mute)
        raise NoAnswer(f"{who} answered: {said}")


def elsewhere(error: BadQuery, venues: Iterable[str], positions: str) -> BadQuery:
    """The error, or where it names an exchange that tells something else than liquidations, one that says so.

    Parameters
    ----------
    error : BadQuery
        What was refused.
    venues : iterable of str
        The exchanges that were asked for.
    positions : str
        How positions are asked for.

    Returns
    -------
    BadQuery
    """
    if error.parameter != "venues" or not any(name.strip().lower() == "hyperliquid" for name in venues):
        return error
    msg = f"{error}; Hyperliquid tells no liquidations of the whole market, but positions: {positions} looks at those"
    return BadQuery(msg, parameter="venues")


def _names(given: object, parameter: str) -> list[str]:
    """Names, of which there must be some: none given means all, none named nothing."""
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
        msg = f"{parameter}: {given!r} names nothing; leave it out to mean all"
        raise BadQuery(msg, parameter=parameter)
    return [name.strip() for name in names]


def _read(settings: object) -> tuple[str, bool]:
    """The text of settings, and whether it is JSON."""
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
        return file.read_text(encoding="utf-8"), False
    except UnicodeDecodeError as error:
        msg = f"settings: {file} is not UTF-8 from byte {error.start}; allowed: TOML in UTF-8"
        raise BadQuery(msg, parameter="settings") from None
    except OSError as error:
        msg = f"settings: {file} cannot be read: {error.strerror}; allowed: {_SETTINGS}"
        raise BadQuery(msg, parameter="settings") from None


def _plain(value: object) -> object:
    """A mapping that is no dict, as one."""
    if isinstance(value, Mapping):
        return dict(value)
    msg = f"a {type(value).__name__} is no setting"
    raise TypeError(msg)
