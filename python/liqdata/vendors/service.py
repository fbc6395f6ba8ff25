"""Sends the requests of a vendor's dialect, blocking or on an event loop.

A question is a generator: it yields requests (:class:`~liqdata.vendors.reply.Get`), receives replies or errors, and
returns the answer. So each vendor is written once for both kinds of clients.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypedDict, TypeVar

from liqdata import _core
from liqdata.calls.arguments import number
from liqdata.calls.traceback import public_call, public_methods, suggestion
from liqdata.errors import BadQuery, LiqdataError
from liqdata.source.options import _header_pairs

from .reply import AHEAD, Get, Reply

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Unpack

    from .paging import Faults

A = TypeVar("A")
K = TypeVar("K", bound=type)
Flow = Generator[Get, Reply, A]

CONNECT_TIMEOUT = 5.0
MAX_BODY = 64 * 2**20
_ALLOWED_KEY = "visible ASCII characters without blanks"
_DOCUMENTED = {
    "    %(base_url)s": """\
    base_url : str, optional
        Address of the service, with the path that all its paths have; its own by default.""",
    "    %(options)s": """\
    timeout : float
        Deadline of a request in seconds, including retries and the waits between them. Waits for the limit of the
        service do not count.
    retries : int
        Maximum number of attempts after the first one. Only errors that may be temporary are retried.
    proxy : str, optional
        Address of a proxy; replaces the proxy of the environment variables.
    headers : mapping of str to str, optional
        More HTTP headers to send. Their values are never shown.""",
}
"""The options of all vendors, for the docstrings of their classes."""


class VendorOptions(TypedDict):
    """The options that all vendors have."""

    base_url: str | None
    timeout: float
    retries: int
    proxy: str | None
    headers: Mapping[str, str] | None


def secret(value: object, parameter: str, variable: str, vendor: str) -> tuple[str, bool]:
    """A key from an argument or from an environment variable, and whether it comes from the argument.

    Raises
    ------
    BadQuery
        If there is none, or if it cannot be sent. The message never has the key.
    """
    found = value if value is not None else os.environ.get(variable) or None
    if found is None:
        msg = f"{parameter}: none is given and ${variable} is not set; allowed: the key that {vendor} gave you"
        raise BadQuery(msg, parameter=parameter)
    if not isinstance(found, str) or not found or not found.isascii() or not found.isprintable() or " " in found:
        what = "a text" if isinstance(found, str) else f"a {type(found).__name__}"
        msg = f"{parameter}: {what} that cannot be sent; allowed: {_ALLOWED_KEY}"
        raise BadQuery(msg, parameter=parameter)
    return found, value is not None


class Access:
    """The address of a vendor, its keys, and the connections."""

    def __init__(
        self,
        vendor: str,
        url: str,
        *,
        keys: Sequence[tuple[str, str]] = (),
        has_own_key: bool = False,
        hidden: str | None = None,
        **options: Unpack[VendorOptions],
    ) -> None:
        base_url, proxy = options["base_url"], options["proxy"]
        if base_url is not None and not isinstance(base_url, str):
            msg = f"base_url: {base_url!r} is not text; allowed: an http or https address"
            raise BadQuery(msg, parameter="base_url")
        if proxy is not None and not isinstance(proxy, str):
            msg = f"proxy: a {type(proxy).__name__} is not text; allowed: the address of a proxy, or None"
            raise BadQuery(msg, parameter="proxy")
        self.vendor = vendor
        self.options: dict[str, Any] = {
            "base_url": base_url,
            "timeout": number(options["timeout"], "timeout", "a number of seconds above 0"),
            "retries": options["retries"],
            "proxy": proxy,
        }
        self._url = base_url or url
        self._headers = _header_pairs(options["headers"])
        self.has_own_key = has_own_key
        self._secrets = [value for _, value in keys] + ([hidden] if hidden is not None else [])
        """Texts that no error and no log record shows."""
        self.core = self.connect(self._url, keys)

    def connect(self, url: str, keys: Sequence[tuple[str, str]]) -> _core.Client:
        """Connections to an address that send these keys."""
        given = {name.lower() for name, _ in self._headers}
        if clash := [name for name, _ in keys if name.lower() in given]:
            msg = f"headers: {clash[0]!r} is set by the client itself; allowed: other headers"
            raise BadQuery(msg, parameter="headers")
        return _core.Client(
            base_url=url,
            timeout=self.options["timeout"],
            connect_timeout=CONNECT_TIMEOUT,
            retries=self.options["retries"],
            rate_limit=None,
            max_body=MAX_BODY,
            headers=[*self._headers, *keys],
            proxy=self.options["proxy"],
            vendor=self.vendor,
            hidden=self._secrets,
        )

    def close(self) -> None:
        """Close the connections when running calls have ended."""
        self.core.close()

    def redact(self, error: LiqdataError) -> LiqdataError:
        """Remove keys from the texts of an error and of those it replaces; a service may repeat what it was sent."""
        found: BaseException | None = error
        while isinstance(found, LiqdataError):
            found.args = tuple(self.without_keys(value) for value in found.args)
            for name, value in vars(found).items():
                setattr(found, name, self.without_keys(value))
            # Hidden by `from None`, but error trackers show it and tblib pickles it.
            found = found.__context__
        return error

    def without_keys(self, value: Any) -> Any:
        """A text, or a list of texts, without keys."""
        if isinstance(value, list):  # the notes of an exception
            return [self.without_keys(one) for one in value]
        return _core.without_secrets(value, self._secrets) if isinstance(value, str) else value

    def begin(self, request: Get) -> Callable[..., _core.Call]:
        """Start a call."""
        return partial(self.core.begin_document, request.path, list(request.query.items()), request.weight, None)

    def reply(self, answer: tuple[int, list[tuple[str, str]], bytes]) -> Reply:
        """The answer of a call."""
        status, headers, body = answer
        now, served = int(time.time() * 1000), self.core.answered_at
        return Reply(status, dict(headers), body, now if served is None or served > now + AHEAD else served, now)

    def portable(self, kind: str) -> dict[str, Any]:
        """The options to create the same client in another process, which reads the keys from its environment."""
        if self.has_own_key or self._headers or self.core.holds_credentials:
            msg = (
                f"cannot pickle a {kind} that carries a key, headers or proxy credentials; make it in the worker "
                "instead, or let the environment variable hold the key there"
            )
            raise TypeError(msg)
        return self.options


def remake(kind: type[Any], options: dict[str, Any]) -> Any:
    """Create a client of a vendor from these options; called by pickle."""
    return kind(**options)


_CLASSES: list[type] = []


def vendor_methods(kind: K) -> K:
    """Shorten the tracebacks of a vendor's class, and let it say which vendor has a method that it lacks.

    ``%(base_url)s`` and ``%(options)s`` in its docstring become the description of these options.
    """
    public_methods(kind)
    for mark, text in _DOCUMENTED.items():
        kind.__doc__ = kind.__doc__ and kind.__doc__.replace(mark, text)
    kind.__getattr__ = _absent  # type: ignore[attr-defined]  # set at run time, so that type checkers report it
    _CLASSES.append(kind)
    return kind


METHODS = (
    "heatmap",
    "liqmap",
    "maxpain",
    "orders",
    "iter_orders",
    "history",
    "coins",
    "exchanges",
    "bars",
    "open_interest",
    "plan",
)


def _absent(self: object, name: str) -> object:
    kind = type(self)
    if hasattr(kind, name):  # a property that raised AttributeError: raise its own error again
        return object.__getattribute__(self, name)
    known = [] if name.startswith("_") else [one for one in dir(kind) if not one.startswith("_")]
    msg = f"{kind.__name__!r} object has no attribute {name!r}{suggestion(name, known)}"
    if name in METHODS:
        is_async = kind.__name__.startswith("Async")
        others = [
            one.__name__ for one in _CLASSES if hasattr(one, name) and one.__name__.startswith("Async") == is_async
        ]
        msg = f"{kind.__name__} has no {name}; {', '.join(others)} {'have' if len(others) > 1 else 'has'} it"
    raise AttributeError(msg, name=name, obj=self)


class Dialect:
    """The questions of a vendor, each a generator of requests."""

    def __init__(self, access: Access) -> None:
        self.access = access


D = TypeVar("D", bound=Dialect)


class VendorClient(Generic[D]):
    """What the blocking and the asyncio clients of all vendors have."""

    _connect: ClassVar[Callable[..., Any]]
    """Makes the dialect from the key and the options."""

    _faults: Faults | None = None
    """Gets the errors of orders that cannot be read; without it they are raised."""

    @public_call
    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        proxy: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        options: VendorOptions = {
            "base_url": base_url, "timeout": timeout, "retries": retries, "proxy": proxy, "headers": headers
        }  # fmt: skip
        self._use(self._connect(api_key, **options))

    def _use(self, dialect: D) -> None:
        self._dialect = dialect
        self._access = dialect.access

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._access.core.base_url

    def _options(self) -> dict[str, Any]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (type(self), {**self._access.portable(type(self).__name__), **self._options()})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}{', closed' if self._access.core.closed else ''})"


def _steps(flow: Flow[A], answer: Callable[[Get], Reply]) -> A:
    """Run a question with replies that are at hand at once."""
    step: Callable[[], Get] = partial(next, flow)
    while True:
        try:
            request = step()
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        try:
            reply = answer(request)
        except LiqdataError as error:
            step = partial(flow.throw, error)
        else:
            step = partial(flow.send, reply)


class BlockingVendor(VendorClient[D]):
    """A blocking client of a vendor."""

    def _run(self, flow: Flow[A]) -> A:
        try:
            return _steps(flow, lambda request: self._access.reply(self._access.begin(request)().wait()))
        except LiqdataError as error:
            raise self._access.redact(error) from error.__cause__

    def close(self) -> None:
        """Refuse further calls, and close the connections when running calls have ended.

        Examples
        --------
        >>> from liqdata import vendors
        >>> service = vendors.Coinalyze("key")
        >>> service.close()
        >>> service
        Coinalyze('https://api.coinalyze.net/v1', closed)
        """
        self._access.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._access.close()


class AsyncVendor(VendorClient[D]):
    """A client of a vendor for asyncio."""

    async def _run(self, flow: Flow[A]) -> A:
        try:
            return await self._steps(flow)
        except LiqdataError as error:
            raise self._access.redact(error) from error.__cause__

    async def _steps(self, flow: Flow[A]) -> A:
        from liqdata.calls.event_loop import answer

        step: Callable[[], Get] = partial(next, flow)
        while True:
            try:
                request = step()
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            begin = self._access.begin(request)
            try:
                reply = self._access.reply(await answer(begin))
            except LiqdataError as error:
                step = partial(flow.throw, error)
            else:
                step = partial(flow.send, reply)

    async def aclose(self) -> None:
        """Refuse further calls, and close the connections when running calls have ended.

        Examples
        --------
        >>> import asyncio
        >>> from liqdata import vendors
        >>> async def closed():
        ...     service = vendors.AsyncCoinalyze("key")
        ...     await service.aclose()
        ...     return service
        >>> asyncio.run(closed())
        AsyncCoinalyze('https://api.coinalyze.net/v1', closed)
        """
        self._access.close()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._access.close()


def meta_of(access: Access, reply: Reply, **more: Any) -> dict[str, Any]:
    """The ``meta`` of an answer: the source, the instant of the answer, and what the dialect says."""
    from liqdata.calls.arguments import datetime_of

    as_of: datetime = datetime_of(reply.answered_at)
    return {"source": access.core.base_url, "vendor": access.vendor, "as_of": as_of, "simulated": None, **more}
