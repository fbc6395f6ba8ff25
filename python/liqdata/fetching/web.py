"""Requests to hosts with files: rates, retries, refusals by name, and downloads that continue where they stopped."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from liqdata import _core
from liqdata.files.safe_open import naming_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

T = TypeVar("T")

AT_ONCE = 4
"""Connections at once, to one host and in total."""

_TIMEOUT = 60.0  # seconds without any byte
_ATTEMPTS = 4  # for failures of the network and of the server
_BUSY = 8  # answers of 429 to one request, after each of which the host's wait is obeyed
_LONGEST_WAIT = 600.0  # seconds that a host may ask to wait
_PIECE = 1 << 18
_LISTING = 64 << 20  # maximum size of a listing in bytes
_OK, _PARTIAL, _NO_RANGE = 200, 206, 416
_MISSING = {404, 410}
_NOT_ALLOWED = {400, 405, 501}  # answers to HEAD of hosts that only know GET
_RETRIED = {408, 425, *range(500, 600)}
_BY_NAME = {
    401: "it asks for a key (401)",
    402: "it asks for a payment (402)",
    403: "it refuses (403): it blocks this country or network, or asks for a key or a payment",
    451: "it does not serve this country (451)",
}
_PAGES = (b"<!doctype html", b"<html")


class Refusal(Exception):
    """A file that a host does not give, and why.

    Attributes
    ----------
    reason : str
        Why, in a few words.
    whole : bool
        Whether the rest of the source would be refused for the same reason.
    again : bool
        Whether a later attempt may succeed.
    missing : bool
        Whether the file does not exist.
    """

    def __init__(self, reason: str, *, whole: bool = False, again: bool = False, missing: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.whole, self.again, self.missing = reason, whole, again, missing


class Stopped(Exception):
    """The download was ended by the caller."""


class _Host:
    """The pace of a host: one table of rates, and the waits that the host asks for."""

    def __init__(self, rate: float) -> None:
        self._interval = 60.0 / rate
        self._lock = threading.Lock()
        self._next = 0.0
        self.gate = threading.Semaphore(AT_ONCE)

    def turn(self) -> float:
        """The seconds until the next request may be sent, which is then taken."""
        with self._lock:
            at = max(self._next, time.monotonic())
            self._next = at + self._interval
            return at - time.monotonic()

    def pause(self, seconds: float) -> None:
        """Send nothing for some time."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


class Web:
    """Requests to several hosts."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        self._hosts = {name: _Host(rate) for name, rate in rates.items()}
        self._ended = threading.Event()
        self._opener = urllib.request.build_opener()

    def end(self) -> None:
        """End all requests and waits soon."""
        self._ended.set()

    def is_ended(self) -> bool:
        """Whether :meth:`end` was called."""
        return self._ended.is_set()

    def read(self, url: str, headers: Mapping[str, str] | None = None) -> tuple[bytes, Mapping[str, str]]:
        """The body of a listing, and the headers."""

        def whole(reply: Any) -> tuple[bytes, Mapping[str, str]]:
            body = reply.read(_LISTING + 1)
            if len(body) > _LISTING:
                msg = "the listing is longer than 64 MiB"
                raise Refusal(msg, whole=True)
            _refuse_page(body, reply)
            _refuse_short(len(body), _length(reply))
            return body, reply.headers

        return self._patiently(lambda: self._send(url, headers or {}, whole))

    def size(self, url: str, headers: Mapping[str, str] | None = None) -> int | None:
        """The size of a file in bytes; ``None`` if the host does not say.

        Raises
        ------
        Refusal
            If there is no such file, or it is not given.
        """
        try:
            return self._patiently(lambda: self._send(url, headers or {}, _length, method="HEAD"))
        except Refusal as refusal:
            if refusal.reason in {f"it answered {status}" for status in _NOT_ALLOWED}:
                return None
            raise

    def save(self, url: str, target: Path, headers: Mapping[str, str], seen: Callable[[int], object]) -> None:
        """Download a file; a part that exists already is continued.

        ``seen`` is called with the number of bytes of each piece that arrives.
        """
        part, tag = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.tag")
        target.parent.mkdir(parents=True, exist_ok=True)

        def once() -> None:
            size, said = _begun(part, tag)
            wanted = {**headers, "Range": f"bytes={size}-", "If-Range": said} if size else {**headers}
            try:
                self._send(url, wanted, lambda reply: self._store(reply, part, tag, size, seen))
            except _NoRange:
                part.unlink(missing_ok=True)
                raise

        self._patiently(once)
        with naming_failures(target):
            part.replace(target)
            tag.unlink(missing_ok=True)

    def _store(self, reply: Any, part: Path, tag: Path, size: int, seen: Callable[[int], object]) -> None:
        """Write the body of a reply to the part of a file."""
        continued = reply.status == _PARTIAL
        first, whole = _range(reply) if continued else (0, None)
        if continued and first != size:
            raise _NoRange(f"it answered bytes from {first} on, not from {size}")
        expected = _length(reply)
        got = 0
        with naming_failures(part):
            tag.write_text(reply.headers.get("ETag") or reply.headers.get("Last-Modified") or "", encoding="utf-8")
            with part.open("ab" if continued else "wb") as out:
                for piece in self._pieces(reply):
                    if not got and not continued:
                        _refuse_page(piece, reply)
                    out.write(piece)
                    got += len(piece)
                    seen(len(piece))
        _refuse_short(got, expected)
        if whole is not None and size + got != whole:
            raise _NoRange(f"the file ends after {size + got} of {whole} bytes")

    def _pieces(self, reply: IO[bytes]) -> Iterator[bytes]:
        while True:
            if self._ended.is_set():
                raise Stopped
            # A failure here is one of the network, and not of the disk.
            with _failures():
                piece = reply.read(_PIECE)
            if not piece:
                return
            yield piece

    def _send(self, url: str, headers: Mapping[str, str], take: Callable[[Any], T], *, method: str = "GET") -> T:
        host = self._hosts.setdefault(urlsplit(url).netloc, _Host(300.0))
        if self._ended.wait(host.turn()):
            raise Stopped
        request = urllib.request.Request(url, method=method)  # noqa: S310 - the table allows http and https only
        agent = f"liqdata/{_core.__version__} (python)"
        for name, value in {"User-Agent": agent, "Accept-Encoding": "identity", "Accept": "*/*", **headers}.items():
            request.add_unredirected_header(name, value) if name in headers else request.add_header(name, value)
        with host.gate, _failures():
            try:
                with self._opener.open(request, timeout=_TIMEOUT) as reply:
                    return take(reply)
            except urllib.error.HTTPError as answer:
                with answer:
                    wait = _wait(answer.headers.get("Retry-After"))
                    if answer.code in {429, 503} and wait is not None:
                        host.pause(wait)
                    raise _refused(answer.code, wait) from None

    def _patiently(self, act: Callable[[], T]) -> T:
        """Repeat a request that failed for a reason that may pass."""
        failed = busy = 0
        while True:
            try:
                return act()
            except _Busy as answer:
                busy += 1
                if busy >= _BUSY:
                    msg = "it limits requests (429) and asks to wait for long"
                    raise Refusal(msg, whole=True, again=True) from None
                self._pause(answer.wait if answer.wait is not None else float(2**busy))
            except _Broken as fault:
                failed += 1
                if failed >= _ATTEMPTS:
                    raise Refusal(str(fault), whole=fault.whole, again=True) from None
                self._pause(0.25 * 2**failed)

    def _pause(self, seconds: float) -> None:
        if self._ended.wait(min(seconds, _LONGEST_WAIT)):
            raise Stopped


class _Broken(Exception):
    """A failure that may pass: of the network, of the server, or a body that was cut."""

    def __init__(self, text: str, *, whole: bool = False) -> None:
        super().__init__(text)
        self.whole = whole


class _NoRange(_Broken):
    """The rest of a file is not that of its part, which has to be downloaded again."""


class _Busy(Exception):
    """The host asks to wait."""

    def __init__(self, wait: float | None) -> None:
        super().__init__()
        self.wait = wait


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError:
        raise
    except urllib.error.URLError as error:
        msg = f"it cannot be reached: {error.reason}"
        raise _Broken(msg, whole=True) from None
    except (http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
        msg = f"the connection failed: {str(error) or type(error).__name__}"
        raise _Broken(msg) from None


def _refused(status: int, wait: float | None) -> Exception:
    if status == _NO_RANGE:
        return _NoRange("it does not have the rest of the file")
    if status == 429:  # noqa: PLR2004 - too many requests
        return _Busy(wait)
    if status in _MISSING:
        return Refusal(f"not published ({status})", missing=True)
    if status in _BY_NAME:
        return Refusal(_BY_NAME[status], whole=True)
    if status in _RETRIED:
        return _Busy(wait) if wait is not None else _Broken(f"it answered {status}")
    return Refusal(f"it answered {status}")


def _wait(text: str | None) -> float | None:
    """The seconds of ``Retry-After``, which may be a date."""
    if not text:
        return None
    with suppress(ValueError):
        return max(0.0, float(text))
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return None


def _begun(part: Path, tag: Path) -> tuple[int, str]:
    """The size of the part of a file, and the version of the file; 0 if the version is not known."""
    with suppress(OSError):
        said = tag.read_text(encoding="utf-8")
        # A weak tag does not promise the same bytes.
        if said and not said.startswith("W/"):
            return part.stat().st_size, said
    return 0, ""


def _length(reply: Any) -> int | None:
    text = reply.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def _range(reply: Any) -> tuple[int, int | None]:
    """First byte and whole length of ``Content-Range: bytes 7-99/100``."""
    text = reply.headers.get("Content-Range", "").removeprefix("bytes ")
    span, _, whole = text.partition("/")
    first = span.partition("-")[0]
    return int(first) if first.isdecimal() else -1, int(whole) if whole.isdecimal() else None


def _refuse_page(begin: bytes, reply: Any) -> None:
    """Refuse an HTML page that is sent in place of a file, as by a login page of a network."""
    kind = reply.headers.get("Content-Type", "")
    if kind.startswith("text/html") or begin.lstrip()[:32].lower().startswith(_PAGES):
        msg = "it sent an HTML page in place of the file: a login page of this network, or a block page"
        raise Refusal(msg, whole=True, again=True)


def _refuse_short(got: int, expected: int | None) -> None:
    if expected is not None and got != expected:
        raise _Broken(f"the body ends after {got} of {expected} bytes")
