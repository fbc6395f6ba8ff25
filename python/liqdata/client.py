"""The blocking client of a service that implements the HTTP contract (``docs/reference/endpoints.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, overload

from .calls.traceback import public_methods
from .queries import Queries
from .source.options import Options, remake
from .source.service import BlockingService
from .types import Amount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal
    from typing import Unpack

    from .types import ClientOptions

__all__ = ["Client"]


@public_methods
class Client(Queries[Amount]):
    """A blocking client of a service that implements the HTTP contract.

    The contract is the set of endpoints in ``docs/reference/endpoints.md``. The client works in notebooks (also
    inside a running event loop), in threads and after a fork. Ctrl-C interrupts a call. Connections are reused. Close
    the client, or use it in a ``with`` statement.

    Parameters
    ----------
    base_url : str, optional
        Address of the service, http or https, with or without a path prefix. Default: ``$LIQDATA_BASE_URL``.
    timeout : float
        Deadline of a call in seconds, including retries and the waits between them.
    connect_timeout : float
        Deadline of one attempt to connect, in seconds.
    retries : int
        Maximum number of attempts after the first one. Only errors that may be temporary are retried.
    rate_limit : float, optional
        Maximum requests per second, over all threads. Waiting for this limit does not count against ``timeout``.
    max_body : int
        Maximum size of a reply in bytes, after decompression.
    decimals : {"decimal", "float", "text"}
        Type of decimal amounts in dict rows: exact :class:`~decimal.Decimal`, ``float``, or exact text.
    headers : mapping of str to str, optional
        HTTP headers to send with every request. Their values never appear in a repr, a log or an error.
    proxy : str, optional
        Address of a proxy; replaces the proxy of the environment variables. Loopback addresses never use a proxy.
    token : str, optional
        Token to send as ``Authorization: Bearer`` with every request; ``$LIQDATA_TOKEN`` by default. Never shown. A
        client with a token from the environment can be pickled; the process that unpickles it reads its own variable.

    Raises
    ------
    BadQuery
        For an option outside its bounds; nothing is sent.

    Notes
    -----
    For a sequence as ``symbol`` a method returns a dict with the upper-case symbols as keys, in the given order. The
    symbols are requested concurrently, eight at a time, and a repeated symbol only once. The first error cancels the
    remaining requests; its notes name the symbol.

    Parameters and methods marked "Needs ``liqdata serve``" are extensions of the liqdata server. With a service that
    does not announce them they raise :class:`~liqdata.BadQuery`. A :class:`~liqdata.Market` supports all of them.

    ``start=`` and ``end=`` take an instant (epoch milliseconds, a datetime or ISO 8601 text), or a time before the
    market's *now*: ``"-7d"``, ``"-90min"`` or a timedelta.

    The ``meta["covered"]`` of realised answers is the share of their period that is covered (0 to 1), if the service
    sends it. If it is 0, the answer warns with :class:`~liqdata.NotCovered`, because its zeros are unknown.

    Every method raises :class:`~liqdata.BadQuery` for a wrong parameter, before it sends a request. It raises
    :class:`~liqdata.NoAnswer` if the service cannot be reached after all retries; :class:`~liqdata.TooSlow` if the
    deadline passes; :class:`~liqdata.Refused` if the service replies with an error (see its ``status`` and ``body``);
    :class:`~liqdata.UnexpectedReply` if the reply breaks the contract; and
    :class:`~liqdata.WrongState` if the client is closed.

    Over https, the client trusts the certificate authorities of the system, or those in the PEM file that
    ``$SSL_CERT_FILE`` names when the client is created. Without this variable, those in the file that
    ``$REQUESTS_CA_BUNDLE`` or ``$CURL_CA_BUNDLE`` names are trusted too.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
    ...     client.coins("1h", limit=2).columns
    ['coin', 'long_usd', 'short_usd', 'total_usd', 'cnt']
    """

    _source: BlockingService

    @overload
    def __init__(
        self: Client[Decimal],
        base_url: str | None = None,
        *,
        decimals: Literal["decimal"] = "decimal",
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Client[float],
        base_url: str | None = None,
        *,
        decimals: Literal["float"],
        **options: Unpack[ClientOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Client[str],
        base_url: str | None = None,
        *,
        decimals: Literal["text"],
        **options: Unpack[ClientOptions],
    ) -> None: ...
    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        retries: int = 4,
        rate_limit: float | None = None,
        max_body: int = 64 * 2**20,
        decimals: Literal["decimal", "float", "text"] = "decimal",
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        token: str | None = None,
    ) -> None:
        self._source = BlockingService(  # pyright: ignore[reportIncompatibleVariableOverride] - a client has no other
            Options(
                base_url,
                timeout=timeout,
                connect_timeout=connect_timeout,
                retries=retries,
                rate_limit=rate_limit,
                max_body=max_body,
                decimals=decimals,
                headers=headers,
                proxy=proxy,
                token=token,
            )
        )

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._source.core.base_url

    def close(self) -> None:
        """Refuse further calls, and close the connections when running calls have ended.

        Examples
        --------
        >>> import liqdata
        >>> client = liqdata.Client("http://127.0.0.1:8000")
        >>> client.close()
        >>> client.overview()
        Traceback (most recent call last):
        ...
        liqdata.errors.WrongState: client is closed
        """
        self._source.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (
            type(self),
            self._source.options.portable(type(self).__name__),
        )

    def __repr__(self) -> str:
        return f"Client({self.base_url!r}{', closed' if self._source.core.closed else ''})"
