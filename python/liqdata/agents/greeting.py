"""The first answer on standard output, before the SDK is imported, which takes seconds: agents wait for it briefly."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from liqdata import __version__

from .texts import INSTRUCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["greeted", "greeting"]

# A test compares all of this with the answers of the SDK.
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MODERN = "2026-07-28"
_CAPABILITIES = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
_META = "io.modelcontextprotocol/"


def greeting(line: bytes) -> dict[str, Any] | None:
    """The answer to a message that asks what the server is; ``None`` for any other message."""
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return None
    server = {"name": "liqdata", "version": __version__}
    result: dict[str, Any] = {"capabilities": _CAPABILITIES, "instructions": INSTRUCTIONS}
    match asked:
        case {
            "method": "initialize",
            "params": {"protocolVersion": str(version), "capabilities": {}, "clientInfo": {}},
        }:
            result |= {"protocolVersion": version if version in _VERSIONS else _VERSIONS[-1], "serverInfo": server}
        case {"method": "server/discover", "params": {"_meta": {**meta}}} if (
            meta.get(f"{_META}protocolVersion") == _MODERN
        ):
            result |= {"cacheScope": "private", "resultType": "complete", "supportedVersions": [_MODERN], "ttlMs": 0}
            result["_meta"] = {f"{_META}serverInfo": server}
        case _:
            return None
    return {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}


@contextmanager
def greeted() -> Iterator[None]:
    """Answer the first message, if it asks what the server is. The SDK reads it too, and its answer is dropped."""
    streams = sys.stdin, sys.stdout
    first = sys.stdin.buffer.readline()
    answer = greeting(first)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Replayed(first, sys.stdin.buffer)))
    if answer is not None:
        os.write(1, json.dumps(answer).encode() + b"\n")
        # As the SDK does: what is printed by mistake goes to standard error.
        wire = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = io.TextIOWrapper(cast("BinaryIO", _Answered(wire, answer)))
    try:
        yield
    finally:
        sys.stdin, sys.stdout = streams


class _Replayed(io.RawIOBase):
    """A stream that begins with a line that was read from it."""

    def __init__(self, first: bytes, rest: Any) -> None:
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        size = len(into)
        part, self._first = (self._first[:size], self._first[size:]) if self._first else (self._rest.read1(size), b"")
        into[: len(part)] = part
        return len(part)


class _Answered(io.RawIOBase):
    """A stream that leaves out an answer that was sent. It has no buffer, which would outlive a client."""

    def __init__(self, wire: int, answer: dict[str, Any]) -> None:
        self._wire, self._answer = wire, answer

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = bytes(data)
        if self._answer:
            answer, self._answer = self._answer, {}
            if json.loads(text).get("id") == answer["id"]:
                return len(text)
        rest = text
        while rest:
            rest = rest[os.write(self._wire, rest) :]
        return len(text)
