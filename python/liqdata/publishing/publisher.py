"""Writes the page and its answers as files, again with each closed bar, to a folder or to object storage."""

from __future__ import annotations

import hashlib
import json
import re
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from liqdata import _core
from liqdata.calls.arguments import anchored
from liqdata.cloud.folder import Folder
from liqdata.cloud.objects import Objects, checked, each, is_address, run
from liqdata.errors import ArchiveError, BadQuery

from .questions import BAR, GRIDS, RANGES, first_question, of_all, of_coin

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Sequence

    from .service import Service

__all__ = ["Published", "Publisher", "place"]

Place: TypeAlias = Folder | Objects

INDEX = "published.json"
"""The file that says which file has the answer to a question. It is written last."""

_DATA = "data/"
_RETIRED = 900_000  # milliseconds that a file stays after it is listed no longer
_LASTS = "public, max-age=31536000, immutable"  # a file with the hash of its bytes in its name
_INDEX_LASTS = "public, max-age=15"
_PAGE_LASTS = "public, max-age=60"
_JSON = "application/json"
_NO_SCRIPT = re.compile(r"<noscript>.*</noscript>")
_ASSET = re.compile(r"([a-z]+)\.([a-z]+)\?v=([0-9a-f]{12})")
_OWN = re.compile(r"data/[0-9a-f]{32}\.(json|grid)|(app|icon)-[0-9a-f]{12}\.(js|css|svg)|THIRD-PARTY\.txt")
_UNFINISHED = re.compile(r"(^|/)\.[^/]+\.[0-9a-f]{32}\.tmp$")


class _File(NamedTuple):
    """A file to write: its content type, and how long a cache may use it."""

    name: str
    data: bytes
    kind: str
    lasts: str


class Published(NamedTuple):
    """What one publication has: the last closed bar (epoch ms), and how much of it is new."""

    closed: int
    answers: int
    new: int
    new_bytes: int


class _Entry(NamedTuple):
    """The file with an answer, its entity tag at the server, and the headers that the page reads."""

    file: str
    tag: str
    headers: dict[str, str]

    def listed(self) -> dict[str, Any]:
        return {"file": self.file, **({"headers": self.headers} if self.headers else {})}


_Entries: TypeAlias = dict[str, _Entry]
"""The answers by question."""


def place(given: str) -> Place:
    """The folder or the object storage at an address."""
    if not given:
        raise BadQuery("url: '' is empty; allowed: a folder or an address such as s3://BUCKET/KEY", parameter="url")
    if not is_address(given):
        return Folder(Path(anchored(given, "url")).resolve())
    address = checked(given, "url")
    parts = urlsplit(address)
    return Folder(Path(unquote(parts.path)).resolve()) if parts.scheme == "file" else Objects(address, make=True)


class Publisher:
    """Publishes what a server answers to the page.

    Parameters
    ----------
    service : Service
        The server that is asked.
    target : Folder or Objects
        Where the files are written.
    coins : sequence of str, optional
        The coins; by default all that the server has estimates of.
    stream : str, optional
        Address of the server with the live rows.
    """

    def __init__(
        self, service: Service, target: Place, *, coins: Sequence[str] | None = None, stream: str | None = None
    ) -> None:
        self._service = service
        self._target = target
        self._stream = stream
        self._about = service.object("api")
        known: list[str] = self._about.get("coins") or []
        self._coins = list(known if coins is None else dict.fromkeys(coins))
        if unknown := sorted(set(self._coins) - set(known)):
            msg = f"coins: {unknown[0]!r} has no estimates here; allowed: {', '.join(known) or 'none yet'}"
            raise BadQuery(msg, parameter="coins")
        # The tag of the map that was last looked at, and the close of its last bar.
        self._seen: dict[str, tuple[str, int]] = dict.fromkeys(self._coins, ("", 0))
        self._closes: dict[str, int] = dict.fromkeys(self._coins, 0)
        self._of_coins: dict[str, _Entries] = {}
        self._of_all: _Entries = {}
        self._stored: set[str] = set()
        self._index: dict[str, Any] = {}

    @property
    def coins(self) -> int:
        """Number of coins that are published."""
        return len(self._coins)

    def begin(self) -> None:
        """Read what the target has, and write the parts of the page; its start page follows the first publication."""
        sizes = run(lambda _: self._target.sizes())
        index = run(lambda _: self._target.get(INDEX))
        foreign = sorted(name for name in sizes if not _OWN.fullmatch(name) and not _UNFINISHED.search(name))
        if index is None and foreign:
            msg = (
                f"{self._target.address} already contains {foreign[0]!r}; name a target that is empty, or one that was "
                "published to"
            )
            raise ArchiveError(msg, path=self._target.address)
        self._index = {} if index is None else self._read(index)
        self._stored = {name for name in sizes if _is_answer(name)}
        *parts, self._start_page = _page(self._stream)
        self._put([file for file in parts if file.name not in sizes or file.lasts != _LASTS])

    def _read(self, index: bytes) -> dict[str, Any]:
        """The index of the publication before this one."""
        try:
            found = json.loads(index)
            files = {one["file"] for one in found["answers"].values()}
            retired = {name: int(at) for name, at in found["retired"].items() if _is_answer(name)}
        except (ValueError, KeyError, TypeError, AttributeError):
            where = f"{self._target.address}/{INDEX}"
            msg = f"{where} is not the index of a publication; delete it to have it written again"
            raise ArchiveError(msg, path=where) from None
        return {"files": files, "retired": retired}

    def fresh(self) -> list[str]:
        """The coins of which a bar has closed since their last publication."""
        self._service.object("health")
        newest = max(self._closes.values(), default=0)
        # Late bars of a coin are waited for, unless they have stopped.
        latest = min((closed for closed in self._closes.values() if closed >= newest - BAR), default=0)
        if latest and self._service.now < latest + BAR:
            return []
        for coin, (tag, _) in self._seen.items():
            answer = self._service.ask(first_question(coin), tag or None)
            if answer is not None and answer.body is not None:
                self._seen[coin] = (answer.tag, int(json.loads(answer.body)["updatedAt"]))
        return [coin for coin, (_, closed) in self._seen.items() if closed > self._closes[coin]]

    def publish(self, coins: Sequence[str], ended: threading.Event) -> Published | None:
        """Write the answers about these and the published coins, and about all together, then the index.

        ``None`` if ``ended`` is set meanwhile; the publication before stays as it is then.
        """
        position = None if self._stream is None else self._service.position()
        self._service.object("health")
        now = self._service.now
        closes = self._closes | {coin: self._seen[coin][1] for coin in coins}
        of_coins = dict(self._of_coins)
        sent: list[int] = []
        for coin in dict.fromkeys([*coins, *of_coins]):
            entries = self._entries(of_coin(coin, now), of_coins.get(coin, {}), sent, ended)
            if entries is None:
                return None
            of_coins[coin] = entries
        of_all_coins = self._entries(of_all(now), self._of_all, sent, ended)
        if of_all_coins is None:
            return None
        self._send(_add(of_all_coins, "api", self._about_published([*of_coins]), {}, ""), sent)
        answers = dict(of_all_coins)
        for entries in of_coins.values():
            answers |= entries
        closed = max(closes.values())
        self._finish(answers, position, now, closed)
        self._of_coins, self._of_all, self._closes = of_coins, of_all_coins, closes
        return Published(closed, len(self._index["files"]), len(sent), sum(sent))

    def _entries(
        self, questions: Iterable[str], known: _Entries, sent: list[int], ended: threading.Event
    ) -> _Entries | None:
        """Ask questions and write the answers; add the sizes of new files to ``sent``. ``None`` if it is to end."""
        entries: _Entries = {}
        files: dict[str, bytes] = {}
        for question in questions:
            if ended.is_set():
                return None
            self._ask(question, known.get(question), entries, files)
        self._send(files, sent)
        return entries

    def _send(self, files: dict[str, bytes], sent: list[int]) -> None:
        new = [_File(name, data, _kind(name), _LASTS) for name, data in files.items() if name not in self._stored]
        self._put(new)
        self._stored |= files.keys()
        sent += [len(file.data) for file in new]

    def _ask(self, question: str, known: _Entry | None, entries: _Entries, files: dict[str, bytes]) -> None:
        """Ask a question, and add the answer to the entries, and to the files if it has changed."""
        answer = self._service.ask(question, known.tag if known else None)
        if answer is None:
            return
        if answer.body is not None:
            files |= _add(entries, question, answer.body, answer.headers, answer.tag)
        elif known is not None:
            entries[question] = known

    def _about_published(self, coins: list[str]) -> bytes:
        """What ``/api`` says, of what is published."""
        about = {name: self._about.get(name) for name in ("version", "source", "simulated", "now")}
        return _encoded({**about, "coins": coins, "endpoints": [], "extensions": []})

    def _finish(self, answers: _Entries, position: str | None, now: int, closed: int) -> None:
        """Write the index and the start page, and delete what no reader asks for any more."""
        at = time.time_ns() // 1_000_000
        files = {one.file for one in answers.values()}
        retired: dict[str, int] = self._index.get("retired", {})
        # A file that no index lists was left by a publication that did not finish.
        for name in self._stored - files:
            retired.setdefault(name, at)
        old = [name for name, since in retired.items() if since < at - _RETIRED and name not in files]
        retired = {name: since for name, since in retired.items() if name not in files and name not in old}
        facts = {"x-liqdata-now": str(now)}
        if self._service.is_simulated:
            facts["x-liqdata-simulated"] = "true"
        index = {
            "closed": closed,
            "publishedAt": at,
            "position": position,
            "headers": facts,
            "answers": {question: one.listed() for question, one in sorted(answers.items())},
            "retired": retired,
        }
        self._put([_File(INDEX, _encoded(index), _JSON, _INDEX_LASTS)])
        self._put([self._start_page])
        self._index = {"files": files, "retired": retired}
        run(lambda _: each(old, self._target.delete))
        self._stored -= set(old)

    def _put(self, files: list[_File]) -> None:
        async def put(file: _File) -> None:
            attributes = {"Content-Type": file.kind, "Cache-Control": file.lasts}
            await self._target.put(file.name, file.data, attributes)

        run(lambda _: each(files, put))


def _is_answer(name: str) -> bool:
    """Whether a file is an answer of a publication. No other file is ever deleted."""
    return name.startswith(_DATA) and _OWN.fullmatch(name) is not None


def _add(entries: _Entries, question: str, body: bytes, headers: dict[str, str], tag: str) -> dict[str, bytes]:
    """Add an answer to the entries; return its file, with the hash of its bytes as the name."""
    ending = "grid" if question.startswith(GRIDS) else "json"
    name = f"{_DATA}{hashlib.sha256(body).hexdigest()[:32]}.{ending}"
    entries[question] = _Entry(name, tag, headers)
    return {name: body}


def _page(stream: str | None) -> list[_File]:
    """The files of the page, with the start page last."""
    files = {path.strip("/") or "index.html": (kind, data) for path, kind, data in _core.page_files()}
    start = files["index.html"][1].decode()
    named = {f"{name}.{ending}": f"{name}-{version}.{ending}" for name, ending, version in _ASSET.findall(start)}
    start = _ASSET.sub(lambda asset: named[f"{asset[1]}.{asset[2]}"], start)
    origin = "" if stream is None else " {0.scheme}://{0.netloc}".format(urlsplit(stream))
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        f"connect-src 'self'{origin}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    tags = [("http-equiv", "Content-Security-Policy", policy), ("name", "liqdata-published", " ".join(RANGES))]
    if stream is not None:
        tags.append(("name", "liqdata-stream", f"{stream}/"))
    lines = "".join(f'<meta {kind}="{name}" content="{escape(text)}">\n' for kind, name, text in tags)
    start = start.replace("<title>", f"{lines}<title>", 1)
    start = _NO_SCRIPT.sub("<noscript>This page draws with JavaScript.</noscript>", start)
    parts = [_File(published, files[name][1], files[name][0], _LASTS) for name, published in named.items()]
    licences = _File("THIRD-PARTY.txt", files["THIRD-PARTY.txt"][1], files["THIRD-PARTY.txt"][0], _PAGE_LASTS)
    return [*parts, licences, _File("index.html", start.encode(), files["index.html"][0], _PAGE_LASTS)]


def _kind(name: str) -> str:
    return _JSON if name.endswith(".json") else "application/octet-stream"


def _encoded(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
