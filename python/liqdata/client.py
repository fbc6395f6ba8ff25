"""The blocking client: ten questions to any service that speaks the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, overload

from ._cascades import _Cascades
from ._coverage import _Coverage
from ._heatmap import _Heatmap
from ._history import _History
from ._levels import _Levels
from ._liqmap import _Liqmap
from ._maps import _Maps
from ._orders import _Orders
from ._positions import _Positions
from ._series import _Series
from ._totals import _Totals
from ._undercount import _Undercount
from .types import Amount

if TYPE_CHECKING:
    from decimal import Decimal
    from typing import Unpack

    from .types import ClientOptions

__all__ = ["Client"]


class Client(
    _Totals[Amount],
    _History[Amount],
    _Cascades[Amount],
    _Undercount[Amount],
    _Positions[Amount],
    _Orders[Amount],
    _Heatmap,
    _Liqmap,
    _Levels,
    _Coverage,
    _Series,
    _Maps,
):
    """A blocking client of a service that speaks the contract.

    Safe in notebooks (a running event loop does not matter), in threads, after a fork, and interruptible by Ctrl-C.
    Connections are kept and reused; close the client, or use it in a ``with`` statement.

    Parameters
    ----------
    base_url : str, optional
        Address of the service, http or https, with or without a path prefix. Default: ``$LIQDATA_BASE_URL``.
    timeout : float
        Deadline of one call in seconds; it covers retries and the waits between them.
    connect_timeout : float
        Deadline of one attempt to connect, in seconds.
    retries : int
        Further attempts after the first; only what is worth repeating is repeated.
    rate_limit : float, optional
        Requests per second, all threads together. Waiting for a turn does not count against ``timeout``.
    max_body : int
        Largest reply taken, in bytes after decompression.
    decimals : {"decimal", "float", "text"}
        Whether decimal amounts in dict rows are exact :class:`~decimal.Decimal`, ``float``, or exact text.
    headers : mapping of str to str, optional
        Sent with every request; never shown in a repr, a log or an error.
    proxy : str, optional
        Address of a proxy; wins over the environment's. Loopback addresses are always asked directly.
    token : str, optional
        Sent as ``Authorization: Bearer`` with every request, as a server that was given tokens asks for it;
        ``$LIQDATA_TOKEN`` where it is not given. Never shown; a client whose token came from the environment can be
        pickled, and its worker reads its own.

    Raises
    ------
    BadQuery
        For an option outside its bounds; nothing is sent.

    Notes
    -----
    Over https the certificates of the system's authorities are trusted, or those of the PEM file that
    ``$SSL_CERT_FILE`` names when the client is made, such as that of a team's own authority.

    Every method with ``symbol`` also takes a sequence of symbols and then returns a dict by (upper-case) symbol in the
    order given. The symbols are fetched concurrently, eight at a time, duplicates once. The first failure ends the
    rest and is raised with its symbol in the notes.

    Every method raises :class:`~liqdata.BadQuery` before any I/O, and then :class:`~liqdata.NoAnswer`,
    :class:`~liqdata.TooSlow`, :class:`~liqdata.Refused` or :class:`~liqdata.UnexpectedReply`.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
    ...     client.coins("1h", limit=2).columns
    ['coin', 'long_usd', 'short_usd', 'total_usd', 'cnt']
    """

    if TYPE_CHECKING:  # the type of a client says how it gives amounts; ``_Service`` makes it

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
        def __init__(self, base_url: str | None = None, **options: Any) -> None: ...

    def close(self) -> None:
        """Refuse further calls; connections are closed once calls under way have ended.

        Examples
        --------
        >>> import liqdata
        >>> client = liqdata.Client("http://127.0.0.1:8000")
        >>> client.close()
        >>> client.overview()
        Traceback (most recent call last):
        ...
        RuntimeError: client is closed
        """
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
