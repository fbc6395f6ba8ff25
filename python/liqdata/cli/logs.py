"""What the package warns of, on standard error beside what a command tells."""

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
    """One JSON object a line: ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``message``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told)


@contextlib.contextmanager
def heard() -> Iterator[Callable[[str], None]]:
    """Print warnings, such as of damaged files, and the answers of a server that notes them.

    Yields
    ------
    callable
        Takes how a record is written: ``"text"``, as it is first, or ``"json"``.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name == _ACCESS)

    def written(form: str) -> None:
        handler.setFormatter(Json() if form == "json" else logging.Formatter("liqdata: %(levelname)s: %(message)s"))

    written("text")
    ours, access = logging.getLogger(_OURS), logging.getLogger(_ACCESS)
    before = access.level
    access.setLevel(logging.INFO)
    ours.addHandler(handler)
    try:
        yield written
    finally:
        ours.removeHandler(handler)
        access.setLevel(before)
