"""A server of any market over the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from . import _core
from .errors import BadQuery

if TYPE_CHECKING:
    from .market import Market

__all__ = ["Server", "serve"]

_PORTS = 65535


class Server:
    """A running server; made by :func:`serve`.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, market: Market, host: str, port: int) -> None:
        self.market = market
        self._core = _core.Server(market._open(), host, port)  # noqa: SLF001 - the market's native half

    @property
    def url(self) -> str:
        """Base address of the service; give it to a client."""
        return self._core.url

    def close(self) -> None:
        """Finish the answers under way, 5 seconds at most, and stop; again is harmless."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url!r}{', closed' if self._core.closed else ''})"


def serve(market: Market, host: str = "127.0.0.1", port: int = 0) -> Server:
    """Serve a market over the same contract, for a team or for tests.

    Parameters
    ----------
    market : Market
        What answers.
    host : str
        Address to listen on; loopback unless told otherwise.
    port : int
        Port to listen on, 0 to 65535; 0 picks a free one.

    Returns
    -------
    Server
        A context manager with ``url`` and ``close()``. It runs on threads of its own.

    Raises
    ------
    BadQuery
        For a port outside its bounds.
    OSError
        If the address cannot be listened on.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server:
    ...     liqdata.Client(server.url).levels("BTC")["symbol"]
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
    return Server(market, host, port)
