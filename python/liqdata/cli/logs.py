"""Log records of the package on standard error."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OURS = "liqdata"
_ACCESS = "liqdata.access"


class Json(logging.Formatter):
    """Formats each record as one JSON object: ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``message``."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class Retries(logging.Filter):
    """Passes one record of a series of retries: the rest say the same with another delay."""

    AGAIN = "; trying again in "
    SECONDS = 10.0

    def __init__(self) -> None:
        super().__init__()
        self._last = ("", 0.0)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to pass a record."""
        what, again, _ = record.getMessage().partition(self.AGAIN)
        if not again:
            return True
        before, at = self._last
        if what == before and record.created - at < self.SECONDS:
            return False
        self._last = (what, record.created)
        return True


@contextlib.contextmanager
def log_to_stderr() -> Iterator[Callable[[str], None]]:
    """Print warnings and the access log of a server on standard error.

    Yields
    ------
    callable
        Sets the format of records: ``"text"`` (the default) or ``"json"``.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name == _ACCESS)

    handler.addFilter(Retries())

    def set_format(form: str) -> None:
        handler.setFormatter(Json() if form == "json" else logging.Formatter("liqdata: %(levelname)s: %(message)s"))

    set_format("text")
    ours, access = logging.getLogger(_OURS), logging.getLogger(_ACCESS)
    before = access.level
    access.setLevel(logging.INFO)
    ours.addHandler(handler)
    try:
        yield set_format
    finally:
        ours.removeHandler(handler)
        access.setLevel(before)
