"""The HTTP server of a market."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import selectors
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from . import _core
from .calls.traceback import public_call
from .errors import BadQuery
from .source.local import LocalSource

if TYPE_CHECKING:
    from .market import Market

__all__ = ["Limits", "Server", "serve"]

_PORTS = 65535
_MOST = 2**31
# Smallest and largest value of the limits that do not have the bounds 1 and _MOST.
_BOUNDS = {"past": (0, _MOST), "past_queue": (0, _MOST), "past_memory": (0, 2**50), "answer_memory": (2**20, 2**50)}
# File descriptors that are left for everything but served connections: files of the market, sockets of a collector, and
# connections that are being refused.
_RESERVE = 192
# The most open files that macOS accepts where the hard limit is infinite (OPEN_MAX).
_OPEN_MAX = 10240
# Seconds between two deliveries of log records to `logging`.
_PROMPTLY = 0.1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the resources that clients can use; times are in seconds.

    The HTTP status of a request beyond a limit is in parentheses.

    Parameters
    ----------
    connections : int
        Maximum number of concurrent connections. At the limit a new connection replaces the one that has been idle
        longest. If all are busy, the new connection is refused; the client may retry after a second (503). The server
        raises the soft limit of open files (``RLIMIT_NOFILE``) to the hard one,
        leaves 192 files to other uses, and logs a warning if that reduces the limits.
    per_peer : int
        Maximum number of concurrent connections of one address. At the limit a new connection replaces the one of this
        address that has been idle longest. Behind a trusted proxy: maximum number of concurrent requests of one client
        (429).
    streams : int
        Maximum number of connections that stream orders.
    streams_per_peer : int, optional
        Maximum number of streams of one client, also behind a trusted proxy; a further one is refused (429). The
        default is a quarter of ``streams``.
    past : int
        Maximum number of concurrent historical requests (``as_of=``), in addition to current requests; historical
        requests have their own workers, reader and row cache. 0 disables them (``BadQuery``).
    past_queue : int
        Maximum number of historical requests that wait; further ones are refused, and may be retried later (503).
    past_memory : int
        Size of the cache for historical requests, in bytes.
    answer_memory : int
        Maximum memory of all replies, in bytes: cached replies (a little more than half of it) and replies that clients
        are still reading. At the limit requests are refused (503).
    query, headers : int
        Maximum length of the query string, and maximum total length of header names and values, in bytes.
    idle : float
        Maximum time to wait for the complete head (request line and headers) of the next request.
    head : float
        Maximum time from the first to the last byte of a head, and maximum time of the TLS handshake.
    request : float
        Maximum time from a complete head to the first byte of the reply (503).
    stall : float
        Maximum time in which a client reads no byte of its reply.
    grace : float
        Maximum time to wait for running replies when the server closes.
    trusted_proxies : sequence of str
        Addresses and networks that may set ``X-Forwarded-For``; the header is ignored from other addresses.

    Raises
    ------
    BadQuery
        For a value outside its bounds.

    Examples
    --------
    >>> from liqdata.server import Limits
    >>> Limits().connections, Limits(trusted_proxies=["10.0.0.0/8"]).trusted_proxies
    (512, ('10.0.0.0/8',))
    """

    connections: int = 512
    per_peer: int = 256
    streams: int = 256
    streams_per_peer: int | None = None
    past: int = 1
    past_queue: int = 32
    past_memory: int = 128 * 2**20
    answer_memory: int = 256 * 2**20
    query: int = 8192
    headers: int = 16384
    idle: float = 30.0
    head: float = 10.0
    request: float = 60.0
    stall: float = 30.0
    grace: float = 5.0
    trusted_proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if field.name == "trusted_proxies":
                object.__setattr__(self, field.name, _texts(value, "limits", "addresses and networks"))
            elif field.type in {"int", "int | None"}:
                least, most = _BOUNDS.get(field.name, (1, _MOST))
                if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                    allowed = f"a whole number from {least} to {most}"
                    msg = f"limits: {field.name}: {value!r} is not allowed; allowed: {allowed}"
                    raise BadQuery(msg, parameter="limits")
            elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                msg = f"limits: {field.name}: {value!r} is not allowed; allowed: a number of seconds above 0"
                raise BadQuery(msg, parameter="limits")


class Server:
    """A running server; made by :func:`serve`.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, market: Market, host: str, port: int, settings: dict[str, object]) -> None:
        self.market = market
        bridge, agents = _agents()
        settings = {**settings, "agents": agents}
        self._core = _core.Server(market._source.open_core(), host, port, settings)  # noqa: SLF001 - the native half of the market
        ended = threading.Event()
        # The threads do not reference the server: otherwise the server would never be garbage collected.
        self._end = weakref.finalize(self, _finish, ended, agents)
        threading.Thread(target=_deliver, args=(ended,), name="liqdata-logs", daemon=True).start()
        if bridge is not None and agents is not None:
            threading.Thread(
                target=_answer_agents, args=(bridge, agents, market), name="liqdata-agents", daemon=True
            ).start()

    @property
    def url(self) -> str:
        """Base address of the service, for a client."""
        return self._core.url

    def close(self) -> None:
        """Finish running replies within the limit ``grace``, then stop; may be called more than once.

        Examples
        --------
        >>> import liqdata
        >>> server = liqdata.serve(liqdata.demo())
        >>> server.close()
        >>> server.close()  # no effect
        """
        self._core.close()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url!r}{', closed' if self._core.closed else ''})"


def _agents() -> tuple[_core.Bridge, _core.Agents] | tuple[None, None]:
    """What passes the messages of agents, if this platform and the installed packages can answer them."""
    if find_spec("mcp_types") is None:  # a part of the MCP SDK since its version 2
        return None, None
    try:
        bridge = _core.Bridge()
    except NotImplementedError:  # Windows
        return None, None
    return bridge, _core.Agents(bridge)


def _finish(ended: threading.Event, agents: _core.Agents | None) -> None:
    """End the threads of a server."""
    ended.set()
    if agents is not None:
        agents.end()


def _answer_agents(bridge: _core.Bridge, agents: _core.Agents, market: Market) -> None:
    """Answer messages of agents until the server ends."""
    # Importing the SDK takes a second, so the first message is awaited without it.
    with selectors.DefaultSelector() as selector:
        selector.register(bridge, selectors.EVENT_READ)
        selector.select()
    numbers = bridge.drain()
    if numbers != [0]:
        import asyncio

        from .agents.over_http import answer_until_end

        asyncio.run(answer_until_end(numbers, bridge, agents, market))


def _deliver(ended: threading.Event) -> None:
    """Deliver log records to :mod:`logging`."""
    while not ended.wait(_PROMPTLY):
        _core.deliver_logs()


@public_call
def serve(
    market: Market,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    token: str | os.PathLike[str] | Iterable[str] | None = None,
    tls: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    limits: Limits | Mapping[str, object] | None = None,
    public: bool = False,
    access_log: bool = False,
    page: bool = True,
    open: bool = False,
) -> Server:
    """Serve a market over HTTP, for a team or for tests.

    Parameters
    ----------
    market : Market
        The market to serve.
    host : str
        Address to listen on; loopback by default.
    port : int
        Port to listen on, 0 to 65535; 0 picks a free one.
    token : str, path or sequence of str, optional
        Tokens, one of which a client must send as ``Authorization: Bearer`` (``Client(token=...)``). A token has at
        least 16 visible ASCII characters; its digest, which ``liqdata token`` prints, can be given instead. A path
        names a file with one digest per line, which is reloaded when it changes. Without tokens every client may send
        requests.
    tls : tuple of two paths, optional
        Certificate chain and private key in PEM; both are reloaded when they change.
    hosts : sequence of str
        Host names of the server, in addition to its addresses and ``localhost``. Requests for other host names are
        refused with status 421.
    origins : sequence of str
        Origins of web pages, such as ``"https://example.org"``, that may read replies in a browser (CORS).
    limits : Limits or mapping, optional
        Limits of the resources that clients can use; a mapping has the parameter names of
        :class:`liqdata.server.Limits` as keys.
    public : bool
        Allow requests from other machines without a token.
    access_log : bool
        Log every reply to the logger ``liqdata.access`` at level INFO: client, request, status, size of the body in
        bytes (``-`` if not yet known) and milliseconds until the first byte of the reply.
    page : bool
        Serve the live page at ``/``. Its files contain no data and need no token. Without it, ``/`` lists the endpoints
        as JSON, as ``/api`` does.
    open : bool
        Open the page in the default browser.

    Returns
    -------
    Server
        A running server; a context manager with ``url`` and ``close()``. It runs on its own threads.

    Raises
    ------
    BadQuery
        For an option outside its bounds, for a file that contains no token or certificate, and for an address that
        other machines can reach if neither ``token`` nor ``public=True`` is given.
    OSError
        If the server cannot listen on the address.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo(), token="correct-horse-battery") as server:
    ...     liqdata.Client(server.url, token="correct-horse-battery").levels("BTC")["symbol"]
    'BTC'
    """
    if not isinstance(getattr(market, "_source", None), LocalSource):
        msg = f"market: a {type(market).__name__} cannot be served; allowed: a liqdata.Market"
        raise TypeError(msg)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _PORTS:
        msg = f"port: {port!r} is not allowed; allowed: a whole number from 0 to {_PORTS}"
        raise BadQuery(msg, parameter="port")
    if not isinstance(host, str) or not host.strip():
        msg = f"host: {host!r} is not allowed; allowed: an address or name to listen on"
        raise BadQuery(msg, parameter="host")
    file = Path(token) if isinstance(token, os.PathLike) else None
    chosen = asdict(_within_open_files(limits_of(limits)))
    settings: dict[str, object] = {
        "tokens": [] if token is None or file else _tokens(token),
        "token_file": file,
        "tls": _files(tls),
        "hosts": [_host(name) for name in _texts(hosts, "hosts", "names of the server, such as data.example.org")],
        "origins": [_origin(one) for one in _texts(origins, "origins", "origins, such as https://example.org")],
        "trusted_proxies": list(chosen.pop("trusted_proxies")),
        "limits": {name: float(value) for name, value in chosen.items() if value is not None},
        "public": bool(public),
        "access_log": bool(access_log),
        "page": bool(page),
    }
    if open and not page:
        msg = "open: there is no page to open with page=False; allowed: open=True with page=True"
        raise BadQuery(msg, parameter="open")
    server = Server(market, host, port, settings)
    if open:
        import webbrowser

        webbrowser.open(server.url)
    return server


def limits_of(given: Limits | Mapping[str, object] | None) -> Limits:
    """Convert limits to an object; raise :class:`~liqdata.BadQuery` for a wrong one."""
    if given is None:
        return Limits()
    if isinstance(given, Limits):
        return given
    if not isinstance(given, Mapping):
        msg = f"limits: a {type(given).__name__} is not allowed; allowed: a mapping or a liqdata.server.Limits"
        raise BadQuery(msg, parameter="limits")
    names = [field.name for field in fields(Limits)]
    for name in given:
        if name not in names:
            msg = f"limits: {name!r} is not a limit; allowed: {', '.join(names)}"
            raise BadQuery(msg, parameter="limits")
    return Limits(**given)  # type: ignore[arg-type]  # the class checks them


def _within_open_files(limits: Limits) -> Limits:
    """Raise the soft limit of open files to the hard one, and reduce the limits to what it allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return limits
    infinite = resource.RLIM_INFINITY
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_MAX if hard == infinite else hard
    if most != infinite and most < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == infinite:
        return limits
    room = max(most - _RESERVE, most // 4, 1)
    # Half of the connections remain for other peers, and for requests that are no streams.
    half = max(room // 2, 1)
    within = replace(
        limits,
        connections=min(limits.connections, room),
        per_peer=min(limits.per_peer, half),
        streams=min(limits.streams, half),
    )
    if within != limits:
        before, after = asdict(limits), asdict(within)
        changes = [f"{name} from {before[name]} to {after[name]}" for name in before if before[name] != after[name]]
        logging.getLogger("liqdata.server").warning(
            "this process may open %d files, which reduces the limits: %s; ulimit -n or LimitNOFILE= allows more",
            most,
            ", ".join(changes),
        )
    return within


def _texts(given: object, parameter: str, allowed: str) -> tuple[str, ...]:
    """Check one text or several, and return them as a tuple."""
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable) or isinstance(several, bytes | Mapping):
        msg = f"{parameter}: a {type(given).__name__} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter=parameter)
    texts = tuple(several)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            msg = f"{parameter}: {text!r} is not allowed; allowed: {allowed}"
            raise BadQuery(msg, parameter=parameter)
    return texts


def _host(name: str) -> str:
    """A host name in the spelling of the ``Host`` header."""
    if "/" in name or any(map(str.isspace, name)):
        msg = f"hosts: {name!r} is not a host name; allowed: the name alone, such as data.example.org"
        raise BadQuery(msg, parameter="hosts")
    return name.removesuffix(".")


def _tokens(given: object) -> list[str]:
    """Check tokens and return them as a list; error messages never contain a token."""
    several = [given] if isinstance(given, str) else given
    allowed = "a text, several, or the path of a file"
    if not isinstance(several, Iterable) or isinstance(several, bytes | Mapping):
        msg = f"token: a {type(given).__name__} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="token")
    tokens = list(several)
    if not tokens or not all(isinstance(token, str) for token in tokens):
        msg = f"token: {'none is given' if not tokens else 'one is not text'}; allowed: {allowed}"
        raise BadQuery(msg, parameter="token")
    return tokens


def _files(tls: object) -> tuple[Path, Path] | None:
    if tls is None:
        return None
    if isinstance(tls, tuple | list) and all(isinstance(one, str | os.PathLike) for one in tls):
        try:
            certificate, key = tls
        except ValueError:
            pass
        else:
            return Path(certificate), Path(key)
    msg = f"tls: {tls!r} is not allowed; allowed: the paths of a certificate chain and of its private key, in PEM"
    raise BadQuery(msg, parameter="tls")


_USUAL = {"http": 80, "https": 443}
# A host name or an address.
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


def _origin(text: str) -> str:
    """An origin in the spelling of browsers, because origins are compared as text."""
    from urllib.parse import urlsplit

    bare = text.removesuffix("/").lower()
    try:
        parts = urlsplit(bare)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    is_bare = bare == f"{parts.scheme}://{parts.netloc}" and _HOST.fullmatch(host)
    if parts.scheme not in _USUAL or not is_bare:
        msg = (
            f"origins: {text!r} is not an origin; allowed: scheme, host and port alone, as a browser spells them (a "
            "name in ASCII, without a wildcard), such as https://example.org:8443"
        )
        raise BadQuery(msg, parameter="origins")
    return f"{parts.scheme}://{host}" + ("" if port in (None, _USUAL[parts.scheme]) else f":{port}")
