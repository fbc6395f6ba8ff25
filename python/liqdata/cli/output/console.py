"""Prints lines without waiting for a reader that has stopped reading."""

from __future__ import annotations

import select
import sys
import threading
from collections import deque
from typing import TextIO

_WAITING_LINES = 1000  # maximum number of stored lines that were not printed yet


class Console:
    """Prints lines to standard output and standard error, from any thread.

    If the reader of the output has stopped, such as a pager or a paused terminal, a write blocks. The console therefore
    writes only when the output accepts a line, and stores up to 1,000 lines until then. Further lines are dropped and
    counted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[TextIO, str]] = deque()
        self._dropped = 0

    def show(self, line: str) -> None:
        """Print a line to standard output."""
        self._put(sys.stdout, line)

    def say(self, line: str) -> None:
        """Print a message to standard error."""
        self._put(sys.stderr, f"liqdata: {line}")

    def flush(self, *, wait: bool = False) -> None:
        """Print the stored lines as far as the output accepts them.

        With ``wait``, block until all are printed.
        """
        with self._lock:
            while self._waiting and (wait or _takes_a_line(self._waiting[0][0])):
                stream, line = self._waiting.popleft()
                print(line, file=stream, flush=True)
            if self._dropped and not self._waiting and (wait or _takes_a_line(sys.stderr)):
                dropped, self._dropped = self._dropped, 0
                text = f"liqdata: {dropped} lines were not shown, because no program read the output"
                print(text, file=sys.stderr, flush=True)

    def _put(self, stream: TextIO, line: str) -> None:
        with self._lock:
            if len(self._waiting) < _WAITING_LINES:
                self._waiting.append((stream, line))
            else:
                self._dropped += 1
        self.flush()


def _takes_a_line(stream: TextIO) -> bool:
    """Whether a short line can be written without blocking.

    Always true for a stream without a file descriptor.
    """
    try:
        return bool(select.select([], [stream], [], 0)[1])
    except (OSError, ValueError):
        return True
