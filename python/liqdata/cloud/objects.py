"""Objects below an address such as ``s3://bucket/prefix``, accessed through obstore."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from liqdata.errors import ArchiveError, BadQuery

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

A = TypeVar("A")
T = TypeVar("T")

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file")
_ALLOWED = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///folder"
_AT_ONCE = 16  # concurrent requests
# Timeouts and retries, both much shorter than the defaults of obstore.
CLIENT = {"timeout": "300s", "connect_timeout": "5s"}
RETRY: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
_WHOLE = 1 << 28  # objects up to this size are sent in one request, so that an interruption leaves no parts of them
MOST = 1 << 28
"""Maximum size in bytes of objects that the manifest does not list, such as the manifest itself."""
_TICK = 0.05  # seconds between two checks for a signal
_NO_BUCKET = ("NoSuchBucket", "The specified bucket does not exist", "ContainerNotFound")
_METADATA_SERVICE = "169.254.169.254"  # where obstore looks for credentials if the environment has none


def is_address(path: object) -> bool:
    """Whether a path is an address of object storage, not a folder."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def checked(address: object, parameter: str) -> str:
    """Check an address and remove trailing slashes; raise :class:`~liqdata.BadQuery` for ``parameter``."""
    if not isinstance(address, str) or not is_address(address):
        msg = f"{parameter}: {address!r} is not an address; allowed: {_ALLOWED}"
        raise BadQuery(msg, parameter=parameter)
    parts = urlsplit(address)
    if "@" in parts.netloc and parts.scheme in {"s3", "s3a", "gs"}:
        msg = f"{parameter}: the address contains user info; set credentials in the environment; allowed: {_ALLOWED}"
        raise BadQuery(msg, parameter=parameter)
    if parts.scheme not in _SCHEMES or parts.query or parts.fragment or not (parts.netloc or parts.scheme == "file"):
        msg = f"{parameter}: {address!r} is not allowed; allowed: {_ALLOWED}"
        raise BadQuery(msg, parameter=parameter)
    return address.rstrip("/")


class Objects:
    """The objects below an address; failures raise :class:`~liqdata.ArchiveError` with the address."""

    def __init__(self, address: str, *, make: bool = False) -> None:
        self.address = address
        self._store = self._open(make=make)
        self._gate = asyncio.Semaphore(_AT_ONCE)

    def _open(self, *, make: bool) -> Any:
        try:
            self._library: Any = import_module("obstore")
            store: Any = import_module("obstore.store")
            self._errors: Any = import_module("obstore.exceptions")
        except ImportError as error:
            msg = f'{self.address}: object storage needs obstore: pip install "liqdata[cloud]"'
            raise ImportError(msg) from error
        try:
            if self.address.startswith("file:"):
                return store.from_url(self.address, mkdir=make)
            return store.from_url(self.address, client_options={**CLIENT, **http_allowed()}, retry_config=RETRY)
        except (self._errors.BaseError, OSError, ValueError) as error:
            raise self._failed(error, "") from None

    def _failed(self, error: Exception, path: str) -> ArchiveError:
        # The first paragraph of the error is the message; debug output of obstore follows.
        text = str(error).partition("\n\nDebug source")[0].strip()
        where = f"{self.address}/{path}" if path else self.address
        if any(sign in text for sign in _NO_BUCKET):
            text = "there is no such bucket"
        elif _METADATA_SERVICE in text:
            text = "no credentials were found; set them in the environment, such as AWS_ACCESS_KEY_ID"
        elif "UnknownIssuer" in str(error):  # in the debug output
            text += (
                ": UnknownIssuer (no trusted authority signed the certificate; behind a proxy that inspects TLS, set "
                "SSL_CERT_FILE to a PEM file with the proxy's root certificate)"
            )
        elif "Unable to canonicalize filesystem root" in text:
            text = "there is no such folder"
        return ArchiveError(f"{where}: {text}", path=where)

    async def _await(self, path: str, question: Awaitable[T]) -> T:
        async with self._gate:
            try:
                return await question
            except (self._errors.BaseError, OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError) and not any(sign in str(error) for sign in _NO_BUCKET):
                    raise
                raise self._failed(error, path) from None

    async def sizes(self) -> dict[str, int]:
        """The size of every object below the address, in bytes."""

        async def walk() -> dict[str, int]:
            found = self._library.list(self._store)
            return {one["path"]: one["size"] async for some in found for one in some}

        return await self._await("", walk())

    def below(self, name: str) -> Objects:
        """The objects below ``name``."""
        return Objects(f"{self.address}/{name}")

    async def prefixes(self) -> list[str]:
        """The addresses one level below."""
        found = await self._await("", self._library.list_with_delimiter_async(self._store))
        names = sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"])
        return [f"{self.address}/{name}" for name in names]

    async def length(self, path: str) -> int | None:
        """The size of an object in bytes; ``None`` if it does not exist."""
        try:
            found = await self._await(path, self._library.head_async(self._store, path))
        except FileNotFoundError:
            return None
        return int(found["size"])

    async def get(self, path: str, most: int = 0) -> bytes | None:
        """The bytes of an object; ``None`` if it does not exist.

        An object larger than ``most`` and :data:`MOST` bytes is refused before it is read.
        """

        async def whole() -> bytes:
            found = await self._library.get_async(self._store, path)
            size, allowed = int(found.meta["size"]), max(most, MOST)
            if size > allowed:
                msg = f"{self.address}/{path}: it is {size} bytes long; allowed: {allowed}"
                raise ArchiveError(msg, path=f"{self.address}/{path}")
            return bytes(await found.bytes_async())

        try:
            return await self._await(path, whole())
        except FileNotFoundError:
            return None

    async def delete(self, path: str) -> None:
        """Delete an object, if it exists."""
        with suppress(FileNotFoundError):
            await self._await(path, self._library.delete_async(self._store, path))

    async def put(self, path: str, data: bytes, attributes: dict[str, str] | None = None) -> None:
        """Write an object, either completely or not at all, with attributes such as ``Content-Type``."""
        parts = None if len(data) > _WHOLE else False
        sending = self._library.put_async(self._store, path, data, attributes=attributes, use_multipart=parts)
        try:
            await self._await(path, sending)
        except FileNotFoundError as error:
            raise self._failed(error, path) from None


def http_allowed() -> dict[str, bool]:
    """Allow http if the user configured an http endpoint."""
    named = (os.environ.get(name, "") for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"))
    return {"allow_http": True} if any(one.startswith("http://") for one in named) else {}


async def each(things: Iterable[A], work: Callable[[A], Coroutine[Any, Any, T]]) -> list[T]:
    """Apply ``work`` to all items concurrently; return the results in order, or raise the first error."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(thing: A) -> T:
        async with gate:
            return await work(thing)

    tasks = [asyncio.ensure_future(one(thing)) for thing in things]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def run(work: Callable[[Callable[[], bool]], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work on a new thread with its own event loop.

    The thread is needed, because the caller's event loop may be running. Ctrl-C ends the wait immediately. ``work``
    receives a function that returns whether to continue; parts of the work that run on further threads call it, because
    they cannot be cancelled.
    """
    ended = threading.Event()
    given_up = threading.Event()
    outcome: list[T] = []
    raised: list[BaseException] = []
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def main() -> T:
        loops.append((asyncio.get_running_loop(), asyncio.current_task()))
        if given_up.is_set():
            raise asyncio.CancelledError
        return await work(lambda: not given_up.is_set())

    def thread() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            raised.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=thread, name="liqdata-objects", daemon=True).start()
        # Python handles signals only between the short waits of this thread.
        while not ended.wait(_TICK):
            pass
    except BaseException:
        given_up.set()
        for loop, task in loops:
            if task is not None and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)
        raise
    if raised:
        raise raised[0]
    return outcome[0]
