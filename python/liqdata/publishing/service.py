"""Requests to the server with the answers that are published."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from liqdata.errors import BadQuery, NoAnswer, Refused

from .questions import GRIDS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Answer", "Service", "checked_url"]

_GRID_TYPE = "application/vnd.liqdata.grid"
_TIMEOUT = 60.0  # seconds without any byte
_UNCHANGED, _NOT_ANSWERED = 304, {400, 404}
_FACTS = ("x-liqdata-open-interest", "x-liqdata-open-interest-age", "x-liqdata-damaged")
_POSITION = "api/liquidations/stream?events=orders,cascades,changes"
_NO_ROOM = {429, 503}
_LINES = 20  # of a stream, within which its position is


class Answer(NamedTuple):
    """The answer to a question: its entity tag, the bytes, and the headers that the page reads.

    Without bytes the answer is still the one with the tag.
    """

    tag: str
    body: bytes | None
    headers: dict[str, str]


class Service:
    """A liqdata server."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float | None = None) -> None:
        self.url = f"{checked_url(url, 'base_url')}/"
        self._headers = dict(headers)
        token = os.environ.get("LIQDATA_TOKEN")
        if token and not any(name.lower() == "authorization" for name in headers):
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout = _TIMEOUT if timeout is None else timeout
        is_near = urlsplit(url).hostname in {"127.0.0.1", "::1", "localhost"}
        handlers = [urllib.request.ProxyHandler({})] if is_near else []
        self._opener = urllib.request.build_opener(*handlers)
        self.now = 0
        self.is_simulated = False

    def ask(self, question: str, tag: str | None = None) -> Answer | None:
        """The answer to a question, without its bytes if it is still the one with ``tag``; ``None`` if there is none.

        Raises
        ------
        Refused
            If the server refuses to answer at all.
        NoAnswer
            If no complete answer arrives.
        """
        headers = {"Accept": _GRID_TYPE if question.startswith(GRIDS) else "application/json"}
        if tag is not None:
            headers["If-None-Match"] = tag
        with self._open(question, headers) as reply:
            if reply.status in _NOT_ANSWERED:
                return None
            if reply.status == _UNCHANGED:
                return Answer(tag or "", None, {})
            self.now = int(reply.headers.get("x-liqdata-now") or 0)
            self.is_simulated = reply.headers.get("x-liqdata-simulated") == "true"
            facts = {name: reply.headers[name] for name in _FACTS if name in reply.headers}
            return Answer(reply.headers.get("etag") or "", self._read(reply, question), facts)

    def object(self, question: str) -> dict[str, Any]:
        """The answer to a question as an object of JSON."""
        answer = self.ask(question)
        found: Any = None if answer is None else json.loads(answer.body or b"")
        if not isinstance(found, dict):
            msg = f"{self.url}{question}: there is no liqdata server that answers this"
            raise NoAnswer(msg)
        return found

    def position(self) -> str | None:
        """The position of the event stream now; ``None`` if the market has none, or if the server has no room."""
        try:
            stream = self._open(_POSITION, {"Accept": "text/event-stream"})
        except Refused as refusal:
            if refusal.status in _NO_ROOM:
                return None
            raise
        with stream as reply:
            for _ in range(_LINES):
                line: str = reply.readline().decode()
                if line.startswith("id:"):
                    return line[3:].strip()
                if not line:
                    break
        return None

    def _open(self, question: str, headers: Mapping[str, str]) -> Any:
        request = urllib.request.Request(self.url + question, headers={**self._headers, **headers})  # noqa: S310 - checked_url allows http and https alone
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as refusal:
            if refusal.code in {_UNCHANGED, *_NOT_ANSWERED}:
                return refusal
            with refusal:
                msg = f"{self.url}{question}: the server refused with status {refusal.code}"
                raise Refused(msg, status=refusal.code) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise NoAnswer(f"{self.url}: {reason}") from None

    def _read(self, reply: Any, question: str) -> bytes:
        try:
            body: bytes = reply.read()
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f"{self.url}{question}: {error}") from None
        return body


def checked_url(url: object, parameter: str) -> str:
    """Check the address of a server, and remove trailing slashes."""
    parts = urlsplit(url) if isinstance(url, str) else None
    is_good = parts is not None and parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc
    if parts is None or not is_good or parts.query or parts.fragment or set(str(url)) & set(" \"'<>;,"):
        msg = f"{parameter}: {url!r} is not allowed; allowed: the address of a server, such as https://live.example.org"
        raise BadQuery(msg, parameter=parameter)
    return str(url).rstrip("/")
