"""What is recorded of a service: its questions, the replies as they come, and the objects made of stored replies."""

from __future__ import annotations

import inspect
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from liqdata import _core
from liqdata.calls.arguments import datetime_of, millis_of
from liqdata.client import Client
from liqdata.endpoints.contract import endpoints
from liqdata.errors import BadQuery, LiqdataError, UnexpectedReply
from liqdata.results.heatmap import Heatmap
from liqdata.source import convert
from liqdata.vendors.coinglass import LIMITS
from liqdata.vendors.hyblock import TOKEN_PATH
from liqdata.vendors.reply import AHEAD, NOT_AHEAD, Reply
from liqdata.vendors.service import BlockingVendor
from liqdata.vendors.vocabulary import coin_of

if TYPE_CHECKING:
    from liqdata.vendors.reply import Get

DAY = 24 * 60 * 60 * 1000
EVERY_COIN = "ALL"
"""The symbol of rankings, which are about all coins."""

ORDERS = "orders"
MAPS = ("heatmap", "liqmap", "levels", "maxpain")
RANKINGS = ("coins", "exchanges")
_VENDORS = ("CoinGlass", "Coinalyze", "CoinAnk", "Hyblock", "DataMaxi", "Velo")
_ORDERS_OF = ("binance", "okx", "bybit")
_ALLOWED = (
    f"the name of a vendor ({', '.join(name.lower() for name in _VENDORS)}), the address of a liqdata server, a "
    "liqdata.Client, or a blocking client of liqdata.vendors"
)
_ALLOWED_QUESTIONS = (
    f"names ({', '.join((ORDERS, *MAPS, *RANKINGS))}), or pairs of a name and a mapping with its arguments"
)


class Question(NamedTuple):
    """One question that is asked again and again."""

    kind: str
    symbol: str
    """A coin; :data:`EVERY_COIN` for rankings."""
    arguments: tuple[tuple[str, Any], ...]

    @property
    def params(self) -> str:
        """The arguments as in a URL."""
        return urlencode(self.arguments)

    @classmethod
    def stored(cls, row: Mapping[str, Any]) -> Question:
        """The question of a stored reply; its arguments are texts."""
        return cls(row["kind"], row["symbol"], tuple(parse_qsl(row["params"], keep_blank_values=True)))

    @property
    def key(self) -> str:
        """A text that identifies the question."""
        return " ".join(filter(None, (self.kind, self.symbol, self.params)))


class Served(NamedTuple):
    """A reply as it was served, and what is needed to decode it again."""

    body: str
    about: dict[str, Any]


class Refusals:
    """Why orders are not stored."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def append(self, why: object) -> None:
        """Note an order that is not stored."""
        self.first = self.first or str(why)
        self.count += 1


class Source(Protocol):
    """A service that is recorded."""

    name: str
    depth: int
    """How far back the first recording of orders goes, in milliseconds."""
    forgets_after: int | None
    """The age at which the service removes orders, in milliseconds; ``None`` if it is unknown."""

    def methods(self) -> Mapping[str, Any]:
        """The methods that can be recorded, by name."""
        ...

    def defaults(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The questions that are recorded unless others are given."""
        ...

    def served(self, question: Question) -> Served:
        """Ask a question; a reply that cannot be decoded raises."""
        ...

    def orders(self, question: Question, start: int | None, faults: Refusals) -> Iterator[dict[str, Any]]:
        """Orders from ``start`` on, newest first; those that cannot be read are faults."""
        ...

    def raw_side(self, order: Mapping[str, Any]) -> str:
        """The part of an order's identity that is its side."""
        ...

    def now(self, at: int) -> int:
        """The instant of the service, if it has a clock of its own; never after ``at``."""
        ...

    def shown(self, error: Exception | str) -> str:
        """The text of an error, without the keys of the service."""
        ...

    def end(self) -> None:
        """Cancel the running request, and all later ones."""
        ...

    def close(self) -> None:
        """Close the connections, if the recorder opened them."""
        ...


class Calls:
    """The running call of a source, which is cancelled when the recording ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Any = None
        self._ended = False

    def wait(self, call: Any) -> Any:
        """Wait for a call. It raises if the recording ends meanwhile, or has ended."""
        with self._lock:
            self._running = call
            if self._ended:
                call.cancel()
        return call.wait()

    def end(self) -> None:
        """Cancel the running call, and all later ones."""
        with self._lock:
            self._ended = True
            if self._running is not None:
                self._running.cancel()


class _Begun(NamedTuple):
    call: Any
    calls: Calls

    def wait(self) -> Any:
        return self.calls.wait(self.call)


class _Watched:
    """An object that begins calls, which are cancelled when the recording ends."""

    def __init__(self, inner: Any, calls: Calls) -> None:
        self._inner = inner
        self._calls = calls

    def walk(self, *given: Any) -> _Watched:
        return _Watched(self._inner.walk(*given), self._calls)

    def begin_next(self) -> _Begun:
        return _Begun(self._inner.begin_next(), self._calls)

    def begin_document(self, *given: Any) -> _Begun:
        return _Begun(self._inner.begin_document(*given), self._calls)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _WatchedAccess(_Watched):
    """Access to a vendor that remembers the last reply."""

    last: Reply | None = None

    def begin(self, request: Get) -> Any:
        started = self._inner.begin(request)
        return lambda: _Begun(started(), self._calls)

    def reply(self, answer: Any) -> Reply:
        found: Reply = self._inner.reply(answer)
        self.last = found
        return found

    def take_last(self) -> Reply | None:
        """Return the last reply since the last call."""
        last, self.last = self.last, None
        return last


def _twin(original: Any, **changed: Any) -> Any:
    """A copy of an object with other attributes; classes may refuse to be copied otherwise."""
    made = object.__new__(type(original))
    vars(made).update(vars(original), **changed)
    return made


class _Stored:
    """Access to a vendor that answers each request with a stored reply."""

    def __init__(self, access: Any, reply: Reply) -> None:
        self._access = access
        self._reply = reply

    def begin(self, request: Get) -> Any:
        return partial(_Waiting, request.path)

    def reply(self, answer: str) -> Reply:
        if answer == TOKEN_PATH:
            return self._reply._replace(body=b'{"access_token": "recorded", "expires_in": 3600}')
        return self._reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._access, name)


class _Waiting(NamedTuple):
    path: str

    def wait(self) -> str:
        return self.path


class VendorSource:
    """A vendor as a source of recordings."""

    def __init__(self, service: BlockingVendor[Any], *, own: bool) -> None:
        self._calls = Calls()
        self._original = service
        self._access = _WatchedAccess(service._access, self._calls)  # noqa: SLF001 - the same package
        self.service = _twin(service, _access=self._access)
        self.vendor = type(service).__name__
        self.name = self.vendor.lower()
        self.depth = 7 * DAY
        self.forgets_after = 7 * DAY if self.vendor == "CoinGlass" else None
        self._own = own

    def methods(self) -> dict[str, Any]:
        """The methods that can be recorded, by name."""
        found = {name: getattr(type(self.service), name, None) for name in (*MAPS, *RANKINGS)}
        found[ORDERS] = getattr(type(self.service), "iter_orders", None)
        return {name: method for name, method in found.items() if method is not None}

    def defaults(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The questions that are recorded unless others are given."""
        for name in self.methods():
            if name == ORDERS:
                yield from ((name, {"exchange": exchange}) for exchange in _ORDERS_OF)
            else:
                yield name, {}

    def served(self, question: Question) -> Served:
        """Ask a question; a reply that cannot be decoded raises."""
        self._access.take_last()
        _ask(self.service, question)
        last = self._access.take_last()
        if last is None:
            msg = f"{question.kind}: no reply came"
            raise UnexpectedReply(msg, path="")
        limits = {name: value for name, value in last.headers.items() if name in LIMITS.values()}
        about = {"vendor": self.vendor, "source": self.service.base_url, "headers": limits}
        return Served(_text(last.body), about)

    def orders(self, question: Question, start: int | None, faults: Refusals) -> Iterator[dict[str, Any]]:
        """Orders from ``start`` on, newest first; those that cannot be read are faults."""
        service = _twin(self.service, _faults=faults)
        found: Iterator[dict[str, Any]] = service.iter_orders(question.symbol, start=start, **dict(question.arguments))
        return found

    def raw_side(self, order: Mapping[str, Any]) -> str:
        """The part of an order's identity that is its side."""
        # A checked side depends on the other orders of its page, so it may change from one reading to the next.
        dialect = getattr(self.service, "_dialect", None)
        return "" if getattr(dialect, "sides", None) == "checked" else str(order["side"])

    def now(self, at: int) -> int:
        """The instant of the recorder."""
        return at

    def shown(self, error: Exception | str) -> str:
        """The text of an error, without the keys of the service."""
        return str(self._original._access.without_keys(_text_of(error)))  # noqa: SLF001 - the same package

    def end(self) -> None:
        """Cancel the running request, and all later ones."""
        self._calls.end()

    def close(self) -> None:
        """Close the connections, if the recorder opened them."""
        if self._own:
            self._original.close()


class ServerSource:
    """A liqdata server as a source of recordings."""

    def __init__(self, client: Client, *, own: bool) -> None:
        self._calls = Calls()
        self._original = client
        source = client._source  # noqa: SLF001 - the same package
        self._core: Any = _Watched(source.core, self._calls)
        self.client = _twin(client, _source=_twin(source, core=self._core))
        parts = urlsplit(client.base_url)
        self.name = re.sub("[^a-z0-9.]+", "-", f"{parts.netloc.rpartition('@')[2]}{parts.path}".lower()).strip("-.")
        self.depth = DAY
        self.forgets_after: int | None = None
        self._own = own

    def methods(self) -> dict[str, Any]:
        """The methods that can be recorded, by name."""
        found = {name: getattr(Client, name) for name in (*MAPS, *RANKINGS)}
        return {**found, ORDERS: Client.iter_orders}

    def defaults(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The questions that are recorded unless others are given."""
        return ((name, {}) for name in self.methods())

    def served(self, question: Question) -> Served:
        """Ask a question; a reply that cannot be decoded raises."""
        query = [(name, str(value)) for name, value in question.arguments]
        if question.symbol != EVERY_COIN:
            query.insert(0, ("symbol", question.symbol))
        path = endpoints()[question.kind].path
        _, _, body = self._core.begin_document(path, query).wait()
        made = Served(_text(body), {"source": self.client.base_url, "simulated": self._core.simulated})
        found = decoded(question, made.body, made.about, 0)
        check_instants(found, int(time.time() * 1000) + AHEAD)
        return made

    def orders(self, question: Question, start: int | None, faults: Refusals) -> Iterator[dict[str, Any]]:  # noqa: ARG002 - the core reads all orders of a page or none
        """Orders from ``start`` on, newest first."""
        first = None if start is None else datetime_of(start)
        return iter(self.client.iter_orders(question.symbol, start=first, **dict(question.arguments)))

    def raw_side(self, order: Mapping[str, Any]) -> str:
        """The part of an order's identity that is its side."""
        return str(order["side"])

    def now(self, at: int) -> int:
        """The instant of the server: that of a simulation is not the wall clock."""
        return min(self._core.answered_at or at, at)

    def shown(self, error: Exception | str) -> str:
        """The text of an error, which has no keys."""
        return _text_of(error)

    def end(self) -> None:
        """Cancel the running request, and all later ones."""
        self._calls.end()

    def close(self) -> None:
        """Close the connections, if the recorder opened them."""
        if self._own:
            self._original.close()


def _text_of(error: Exception | str) -> str:
    return str(error) if isinstance(error, LiqdataError | str) else f"{type(error).__name__}: {error}"


def check_instants(found: Any, latest: int) -> None:
    """Check that no instant of a map is ahead of this machine's clock.

    Raises
    ------
    UnexpectedReply
        For a map that is dated after ``latest``, or has a column that begins after it.
    """
    dated = getattr(found, "updated_at", None) if not isinstance(found, Mapping) else found.get("updatedAt")
    known = {"updatedAt": dated if isinstance(dated, int) else None if dated is None else millis_of(dated)}
    if isinstance(found, Heatmap) and found.times.size:
        # The last column may still be open.
        begin = found.times[-2:][0].astype("datetime64[ms]").astype("int64")
        known[f"times[{max(found.times.size - 2, 0)}]"] = int(begin)
    for path, at in known.items():
        if at is not None and at > latest:
            msg = f"{path}: {datetime_of(at).isoformat()} is not allowed; allowed: {NOT_AHEAD}"
            raise UnexpectedReply(msg, path=path)


def sources_of(value: object) -> list[Source]:
    """The sources of an argument: one, or several in a list or tuple."""
    found = [_source(one) for one in (value if isinstance(value, list | tuple) else [value])]
    names = [one.name for one in found]
    if not found or len(set(names)) < len(names):
        what = f"{', '.join(map(repr, names))} are given" if found else "none is given"
        raise BadQuery(f"source: {what}; allowed: one or several different ones of: {_ALLOWED}", parameter="source")
    return found


def _source(value: object) -> Source:
    from liqdata import vendors

    if isinstance(value, BlockingVendor):
        return VendorSource(value, own=False)
    if isinstance(value, Client):
        return ServerSource(value, own=False)
    if isinstance(value, str):
        if "://" in value:
            return ServerSource(Client(value), own=True)
        for name in _VENDORS:
            if value.lower() == name.lower():
                return VendorSource(getattr(vendors, name)(), own=True)
    what = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
    raise BadQuery(f"source: {what} is not allowed; allowed: {_ALLOWED}", parameter="source")


def questions_of(source: Source, symbols: Iterable[str], given: object) -> list[Question]:
    """The questions for a source: the given ones, or its own, for each symbol."""
    asked = list(source.defaults()) if given is None else _given(given)
    coins = list(dict.fromkeys(coin_of(symbol) for symbol in symbols))
    methods = source.methods()
    found = []
    for kind, arguments in asked:
        if kind not in methods:
            some = ", ".join(map(repr, methods)) or "none of this source"
            msg = f"questions: {source.name} cannot be asked for {kind!r}; allowed: {some}"
            raise BadQuery(msg, parameter="questions")
        known = inspect.signature(methods[kind]).parameters
        if unknown := [name for name in arguments if name not in known or name in {"self", "symbol", "start", "end"}]:
            msg = (
                f"questions: {kind} of {source.name} has no argument {unknown[0]!r} to record; allowed: those of {kind}"
            )
            raise BadQuery(msg, parameter="questions")
        pairs = tuple(sorted(arguments.items()))
        names = [EVERY_COIN] if kind in RANKINGS else coins
        found += [Question(kind, name, pairs) for name in names]
    if not found:
        what = f"{source.name} has no orders, maps or rankings" if given is None else "none are given"
        raise BadQuery(f"questions: {what}; allowed: {_ALLOWED_QUESTIONS}", parameter="questions")
    return list(dict.fromkeys(found))


def _given(value: object) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for one in value if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else [value]:
        if isinstance(one, str):
            found.append((one, {}))
        elif isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[1], Mapping):  # noqa: PLR2004 - a pair
            found.append((str(one[0]), dict(one[1])))
        else:
            raise BadQuery(f"questions: {one!r} is not allowed; allowed: {_ALLOWED_QUESTIONS}", parameter="questions")
    return found


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        msg = f"the body is not UTF-8 from byte {error.start}"
        raise UnexpectedReply(msg, path="") from None


def _ask(service: Any, question: Question) -> Any:
    symbol = () if question.kind in RANKINGS else (question.symbol,)
    return getattr(service, question.kind)(*symbol, **dict(question.arguments))


def decoded(question: Question, body: str, about: Mapping[str, Any], at: int) -> Any:
    """The object of a stored reply; the arguments of the question are texts."""
    kind, vendor = question.kind, about.get("vendor")
    if vendor is None:
        arguments: dict[str, Any] = dict(question.arguments)
        as_of = datetime_of(at) if at else None
        origin = convert.Origin(
            str(about["source"]), as_of, about.get("simulated"), question={"endpoint": kind, **arguments}
        )
        answer = _core.read_reply(kind, body.encode())
        if answer is None:
            msg = f"{kind}: the stored reply cannot be decoded"
            raise UnexpectedReply(msg, path="")
        make = {
            "heatmap": convert.heatmap,
            "liqmap": convert.liqmap,
            "levels": convert.record,
            "maxpain": convert.record,
        }
        return make.get(kind, convert.rows)(answer, origin)
    return _of_vendor(str(vendor), question, body, about, at)


def _of_vendor(vendor: str, question: Question, body: str, about: Mapping[str, Any], at: int) -> Any:
    from liqdata import vendors

    keys = ("recorded",) * (3 if vendor == "Hyblock" else 1)
    service = getattr(vendors, vendor)(*keys, base_url=about["source"])
    # Its instants were judged when it was received.
    reply = Reply(200, dict(about.get("headers") or {}), body.encode(), at)
    service._access = _Stored(service._access, reply)  # noqa: SLF001 - the same package
    known = inspect.signature(getattr(service, question.kind)).parameters
    typed = tuple((name, _typed(value, known[name])) for name, value in question.arguments)
    try:
        return _ask(service, question._replace(arguments=typed))
    finally:
        service.close()


def _typed(text: str, parameter: inspect.Parameter) -> Any:
    """An argument as it was before it became text."""
    try:
        number = json.loads(text)
    except ValueError:
        return text
    return number if isinstance(number, int | float) and not isinstance(parameter.default, str) else text
