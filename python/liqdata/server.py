"""A server of any market over the contract."""

from __future__ import annotations

import math
import os
import re
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

from . import _core
from .calls.traceback import public_call
from .errors import BadQuery

if TYPE_CHECKING:
    from .market import Market

__all__ = ["Limits", "Server", "serve"]

_PORTS = 65535
_MOST = 2**31
# Where a number has other bounds than 1 and the above: none of them, and bytes.
_BOUNDS = {"past": (0, _MOST), "past_queue": (0, _MOST), "past_memory": (0, 2**50), "answer_memory": (2**20, 2**50)}
# Seconds that a log record may wait.
_PROMPTLY = 0.1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one client of a server can cost the others; times are in seconds.

    Parameters
    ----------
    connections : int
        Connections served at once. Where all are taken, the one that has been idle longest makes room; where all are
        being answered, one more is told to come back in a second (503).
    per_peer : int
        Connections among them that one peer may hold; with one more it loses its own that has been idle longest. Behind
        a trusted proxy: requests that one client may have under way (429).
    streams : int
        Connections among them that may follow the stream of orders.
    past : int
        Questions about the past (``as_of=``) answered at once, beside those about now: with workers, a reader and kept
        rows of their own. With 0 none is answered (``BadQuery``).
    past_queue : int
        Questions about the past that wait; one more is told to come back (503).
    past_memory : int
        What is kept of the past for the next question about it, in bytes.
    answer_memory : int
        What answers take together in memory, in bytes: those that are kept, a little more than half of it, and those
        that clients are still reading. Beyond it no further answer is made (503).
    query, headers : int
        Longest query string, and longest sum of header names and values, in bytes.
    idle : float
        Longest silence before the next request's head is whole.
    head : float
        Longest time from the first byte of a head to its last, and for agreeing on TLS.
    request : float
        Longest time from a whole head to the first byte of its answer (503).
    stall : float
        Longest time in which a client that is being answered reads nothing.
    grace : float
        Longest wait for answers under way once the server has been told to stop.
    trusted_proxies : sequence of str
        Addresses and networks whose ``X-Forwarded-For`` says who asks; anybody else's is not believed.

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
            if field.name == "trusted_proxies":
                object.__setattr__(self, field.name, _texts(value, "limits", "addresses and networks"))
            elif field.type == "int":
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
        self._core = _core.Server(market._source.open_core(), host, port, settings)  # noqa: SLF001 - the market's native half
        ended = threading.Event()
        # A thread that knows nothing of the server, so that one that is dropped unclosed ends it, too.
        self._end = weakref.finalize(self, ended.set)
        threading.Thread(target=_deliver, args=(ended,), name="liqdata-logs", daemon=True).start()

    @property
    def url(self) -> str:
        """Base address of the service; give it to a client."""
        return self._core.url

    def close(self) -> None:
        """Finish the answers under way, within the limit ``grace``, and stop; again is harmless.

        Examples
        --------
        >>> import liqdata
        >>> server = liqdata.serve(liqdata.demo())
        >>> server.close()
        >>> server.close()  # harmless
        """
        self._core.close()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url!r}{', closed' if self._core.closed else ''})"


def _deliver(ended: threading.Event) -> None:
    """Hand log records to :mod:`logging` as they come."""
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
) -> Server:
    """Serve a market over the same contract, for a team or for tests.

    Parameters
    ----------
    market : Market
        What answers.
    host : str
        Address to listen on; loopback unless told otherwise.
    port : int
        Port to listen on, 0 to 65535; 0 picks a free one.
    token : str, path or sequence of str, optional
        What a client has to send as ``Authorization: Bearer`` (``Client(token=...)``): one token or several, each of at
        least 16 visible ASCII characters or its digest as ``liqdata token`` prints it; or the path of a file of such
        digests, a line each, which is read again when it changes. Everybody may ask where there is none.
    tls : tuple of two paths, optional
        Certificate chain and private key in PEM; both are read again when they change.
    hosts : sequence of str
        Names the server answers to beside its addresses and ``localhost``; a request that names another gets 421.
    origins : sequence of str
        Origins, such as ``"https://example.org"``, whose pages a browser lets read the answers (CORS).
    limits : Limits or mapping, optional
        What one client can cost the others; names and defaults are those of :class:`liqdata.server.Limits`.
    public : bool
        That everybody who can reach an address beyond this machine may ask, without a token.
    access_log : bool
        Whether each answer is noted by the logger ``liqdata.access``, at the level of information: who asked, what, the
        status, the bytes of the body (``-`` where they are not known yet) and the milliseconds to its beginning.

    Returns
    -------
    Server
        A context manager with ``url`` and ``close()``. It runs on threads of its own.

    Raises
    ------
    BadQuery
        For an option outside its bounds, a file that holds no token or certificate, and an address that other machines
        reach where there is neither a token nor ``public=True``.
    OSError
        If the address cannot be listened on.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo(), token="correct-horse-battery") as server:
    ...     liqdata.Client(server.url, token="correct-horse-battery").levels("BTC")["symbol"]
    'BTC'
    """
    from .market import Market

    if not isinstance(market, Market):
        msg = f"market: a {type(market).__name__} cannot be served; a liqdata.Market can"
        raise TypeError(msg)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _PORTS:
        msg = f"port: {port!r} is not allowed; allowed: a whole number from 0 to {_PORTS}"
        raise BadQuery(msg, parameter="port")
    if not isinstance(host, str) or not host.strip():
        msg = f"host: {host!r} is not allowed; allowed: an address or name to listen on"
        raise BadQuery(msg, parameter="host")
    file = Path(token) if isinstance(token, os.PathLike) else None
    chosen = asdict(limits_of(limits))
    settings: dict[str, object] = {
        "tokens": [] if token is None or file else _tokens(token),
        "token_file": file,
        "tls": _files(tls),
        "hosts": [_host(name) for name in _texts(hosts, "hosts", "names of the server, such as data.example.org")],
        "origins": [_origin(one) for one in _texts(origins, "origins", "origins, such as https://example.org")],
        "trusted_proxies": list(chosen.pop("trusted_proxies")),
        "limits": {name: float(value) for name, value in chosen.items()},
        "public": bool(public),
        "access_log": bool(access_log),
    }
    return Server(market, host, port, settings)


def limits_of(given: Limits | Mapping[str, object] | None) -> Limits:
    """The limits that are given, or :class:`~liqdata.BadQuery`."""
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
            msg = f"limits: {name!r} is no limit; allowed: {', '.join(names)}"
            raise BadQuery(msg, parameter="limits")
    return Limits(**given)  # type: ignore[arg-type]  # checked by the class itself


def _texts(given: object, parameter: str, allowed: str) -> tuple[str, ...]:
    """Several texts, or one."""
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
    """A name as requests carry it."""
    if "/" in name or any(map(str.isspace, name)):
        msg = f"hosts: {name!r} is no name; allowed: the name alone, such as data.example.org"
        raise BadQuery(msg, parameter="hosts")
    return name.removesuffix(".")


def _tokens(given: object) -> list[str]:
    """Tokens, which no message tells."""
    several = [given] if isinstance(given, str) else given
    allowed = "a text, several, or the path of a file"
    if not isinstance(several, Iterable) or isinstance(several, bytes | Mapping):
        msg = f"token: a {type(given).__name__} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="token")
    tokens = list(several)
    if not tokens or not all(isinstance(token, str) for token in tokens):
        msg = f"token: {'none is given' if not tokens else 'one is no text'}; allowed: {allowed}"
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
# A name or an address.
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


def _origin(text: str) -> str:
    """An origin as browsers spell it, which is all that is compared: no other of the same name or place is it."""
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
            f"origins: {text!r} is no origin; allowed: scheme, host and port alone, as a browser spells them (a name "
            "in ASCII, without a wildcard), such as https://example.org:8443"
        )
        raise BadQuery(msg, parameter="origins")
    return f"{parts.scheme}://{host}" + ("" if port in (None, _USUAL[parts.scheme]) else f":{port}")
