"""Buckets of which the downloader pays the traffic, read through obstore with the credentials of the environment."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from liqdata.cloud.objects import CLIENT, RETRY, http_allowed
from liqdata.files.safe_open import naming_failures

from .web import Refusal, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from .sources import Source


class Bucket:
    """The objects of a bucket that the downloader pays for."""

    def __init__(self, source: Source) -> None:
        try:
            self._library: Any = import_module("obstore")
            store: Any = import_module("obstore.store")
        except ImportError:
            msg = 'it needs obstore: pip install "liqdata[cloud]"'
            raise Refusal(msg, whole=True) from None
        config: dict[str, Any] = {"request_payer": True}
        if source.region and "AWS_ENDPOINT_URL" not in os.environ:
            config["region"] = source.region
        client = {**CLIENT, **http_allowed()}
        try:
            self._store = store.from_url(source.address, config=config, client_options=client, retry_config=RETRY)
        except Exception as error:  # noqa: BLE001 - obstore has no common class of errors in its old versions
            raise _refused(error) from None

    def listed(self, folder: str) -> Iterator[tuple[str, int]]:
        """Names and sizes of the objects in a folder."""
        try:
            for page in self._library.list(self._store, prefix=folder):
                yield from ((one["path"], int(one["size"])) for one in page)
        except Exception as error:  # noqa: BLE001
            raise _refused(error) from None

    def save(self, path: str, target: Path, seen: Callable[[int], object], is_ended: Callable[[], bool]) -> None:
        """Download an object; a part that exists already is continued."""
        part = target.with_name(f"{target.name}.part")
        target.parent.mkdir(parents=True, exist_ok=True)
        size = part.stat().st_size if part.exists() else 0
        try:
            whole = int(self._library.head(self._store, path)["size"])
            options = {"range": {"offset": size}} if size else {}
            pieces = self._library.get(self._store, path, options=options).stream() if size < whole else ()
        except FileNotFoundError:
            msg = "not published (404)"
            raise Refusal(msg, missing=True) from None
        except Exception as error:  # noqa: BLE001
            raise _refused(error) from None
        with naming_failures(part), part.open("ab") as out:
            for piece in _received(pieces):
                if is_ended():
                    raise Stopped
                out.write(piece)
                seen(len(piece))
        if part.stat().st_size != whole:
            part.unlink()
            msg = "its part is not that of the file"
            raise Refusal(msg, again=True)
        part.replace(target)


def _received(pieces: Iterable[Any]) -> Iterator[bytes]:
    """The pieces of a body; a failure is one of the network, and not of the disk."""
    try:
        for piece in pieces:
            yield bytes(piece)
    except Exception as error:  # noqa: BLE001
        raise _refused(error) from None


def _refused(error: Exception) -> Refusal:
    text = str(error).partition("\n\nDebug source")[0].strip()
    if "169.254.169.254" in str(error):
        text = "no credentials were found; set them in the environment, such as AWS_ACCESS_KEY_ID"
    return Refusal(f"it cannot be read: {text}", whole=True, again=True)
