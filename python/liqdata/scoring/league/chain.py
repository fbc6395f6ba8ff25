"""The chain of commitments: an append-only file, in which each line has the hash of the line before it."""

from __future__ import annotations

import fcntl
import json
import os
import re
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from liqdata.calls.arguments import datetime_of, millis_of
from liqdata.errors import ArchiveError
from liqdata.files.atomic_write import atomic_write
from liqdata.files.safe_open import naming_failures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE, HEAD = "commitments.jsonl", "head.json"
_BEGIN = "0" * 64  # the hash before the first line
_HASH = re.compile("[0-9a-f]{64}")


class Commitment(NamedTuple):
    """A map that was committed for a period."""

    source: str
    model: str
    coin: str
    range: str
    question: str
    """What was asked: kind, coin and parameters."""
    instant: int
    """The instant of the map, epoch ms."""
    start: int
    end: int
    map: str
    """SHA-256 of the canonical bytes of the map."""
    committed: int


_TIMES = ("instant", "start", "end", "committed")


class Chain:
    """The commitments of a league, verified; locked until it is closed.

    Parameters
    ----------
    folder : pathlib.Path
        The folder of the league, which exists.

    Raises
    ------
    ArchiveError
        If a line was edited, moved, added or removed (the message names it), or if another process writes.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.lines: list[Commitment] = []
        self.hash = _BEGIN
        """The hash of the last line."""
        self._head = folder / HEAD
        with naming_failures(self.path):
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                msg = f"{self.path}: another process writes to this league"
                raise ArchiveError(msg, path=str(self.path)) from None
            content = self.path.read_bytes()
            if not content and not self._head.exists():
                self._write_head()
            self._verify(content, *self._read_head())
        except BaseException:
            self.close()
            raise

    def append(self, commitments: Sequence[Commitment]) -> None:
        """Write commitments to the end of the file, then to the disk."""
        if not commitments:
            return
        texts, last = [], self.hash
        for sequence, one in enumerate(commitments, len(self.lines) + 1):
            texts.append(_text(sequence, one, last))
            last = sha256(texts[-1]).hexdigest()
        size = os.fstat(self._file).st_size
        with naming_failures(self.path):
            try:
                rest = b"".join(text + b"\n" for text in texts)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                os.fsync(self._file)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._file, size)
                raise
        self.lines += commitments
        self.hash = last
        self._write_head()

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_head(self) -> None:
        with atomic_write(self._head) as unfinished:
            unfinished.write_text(json.dumps({"lines": len(self.lines), "hash": self.hash}) + "\n", encoding="utf-8")

    def _read_head(self) -> tuple[int, str]:
        try:
            head = json.loads(self._head.read_bytes())
            return int(head["lines"]), str(head["hash"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            msg = f"{self._head} cannot be read: {type(error).__name__}: {error}; restore it from a copy"
            raise ArchiveError(msg, path=str(self._head)) from None

    def _verify(self, content: bytes, count: int, last: str) -> None:
        """Read the lines; ``count`` and ``last`` are the number of lines and the last hash that were noted apart."""
        whole, end, rest = content.rpartition(b"\n")
        texts = whole.split(b"\n") if end else []
        for number, text in enumerate(texts, 1):
            sequence, found, previous = self._parsed(number, text)
            if sequence != number:
                self._refuse(number, f"its sequence is {sequence}: a line was removed, added or moved")
            if previous != self.hash:
                self._refuse(max(number - 1, 1), f"it was edited: line {number} has another hash of the line before")
            if self.lines and found.committed < self.lines[-1].committed:
                self._refuse(number, "its instant of commitment is before that of the line above")
            self.lines.append(found)
            self.hash = sha256(text).hexdigest()
            if number == count and self.hash != last:
                self._refuse(number, f"it was edited: {HEAD} has another hash of it")
        if rest:
            unfinished = ", as a write was interrupted: remove it" if len(texts) >= count else ""
            self._refuse(len(texts) + 1, f"it is cut: the end of the line is missing{unfinished}")
        if len(texts) < count:
            self._refuse(len(texts) + 1, f"it is missing: {HEAD} counts {count} lines")

    def _parsed(self, number: int, text: bytes) -> tuple[int, Commitment, str]:
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            members: dict[str, Any] = json.loads(text)
            sequence, previous = members.pop("sequence"), members.pop("previous")
            found = Commitment(**{name: _read(name, cell) for name, cell in members.items()})
            if _text(sequence, found, previous) == text and _HASH.fullmatch(found.map):
                return sequence, found, previous
        return self._refuse(number, "it is not a commitment as liqdata writes it")

    def _refuse(self, number: int, why: str) -> NoReturn:
        msg = f"{self.path}: line {number}: {why}; restore the file from a copy, or begin a league in a new folder"
        raise ArchiveError(msg, path=str(self.path))


def stamp(millis: int) -> str:
    """An instant as ISO 8601 text with milliseconds."""
    return datetime_of(millis).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def second(millis: int) -> str:
    """An instant as ISO 8601 text with seconds."""
    return f"{stamp(millis)[:19]}Z"


def _read(name: str, cell: Any) -> Any:
    return millis_of(datetime.fromisoformat(cell)) if name in _TIMES else cell


def _text(sequence: int, one: Commitment, previous: str) -> bytes:
    cells = {name: stamp(cell) if name in _TIMES else cell for name, cell in one._asdict().items()}
    return json.dumps({"sequence": sequence, **cells, "previous": previous}).encode()
