"""Log records and other messages on standard error, as text or as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OURS = "liqdata"
_ACCESS = "liqdata.access"
_SAID = "liqdata.cli"
"""The logger of what commands print on standard error."""

_PREFIX = "liqdata: "
"""Begins what a command prints about a problem."""


def _message(record: logging.LogRecord) -> str:
    """The message of a record, also if a library gave it the wrong arguments."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a text of an argument may raise anything
        return str(record.msg)


class Text(logging.Formatter):
    """Formats each record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        return printable(f"liqdata: {record.levelname}: {_message(record)}")


class Json(logging.Formatter):
    """Formats each record as one JSON object: ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``message``."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record).strip(),
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
        what, again, _ = _message(record).partition(self.AGAIN)
        if not again:
            return True
        before, at = self._last
        if what == before and record.created - at < self.SECONDS:
            return False
        self._last = (what, record.created)
        return True


class _Handler(logging.StreamHandler[TextIO]):
    """Writes records; a record that cannot be written is dropped, because a report of that would fail as well."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name of the library
        """Do nothing."""


class _Lines(io.TextIOBase):
    """Stands for standard error, and makes a log record of each line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begun = threading.local()  # a line of each thread, as far as it is written

    def write(self, text: str) -> int:
        *lines, self._begun.line = f"{getattr(self._begun, 'line', '')}{text}".split("\n")
        for line in lines:
            self._log(line)
        return len(text)

    def finish(self) -> None:
        """Log the last line, which may have no end."""
        self.write("\n")

    def _log(self, line: str) -> None:
        level = logging.ERROR if line.startswith(_PREFIX) else logging.INFO
        if said := line.removeprefix(_PREFIX).strip():
            logging.getLogger(_SAID).log(level, "%s", said)

    def flush(self) -> None:
        self._out.flush()

    def fileno(self) -> int:
        return self._out.fileno()

    def writable(self) -> bool:
        return True


def is_json() -> bool:
    """Whether messages are written as JSON."""
    return isinstance(sys.stderr, _Lines)


@contextlib.contextmanager
def log_to_stderr(arguments: Sequence[str]) -> Iterator[None]:
    """Print warnings and the access log of a server on standard error.

    With ``--log-format json`` every line on standard error is a JSON object: messages of commands, errors in the
    command line, warnings and uncaught exceptions too.

    Parameters
    ----------
    arguments : sequence of str
        The command line.
    """
    as_json = _wants_json(arguments)
    handler = _Handler(sys.stderr)
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name in {_ACCESS, _SAID})
    handler.addFilter(Retries())
    handler.setFormatter(Json() if as_json else Text())
    # Text of other libraries is printed by Python itself.
    logger = logging.getLogger(None if as_json else _OURS)
    informing = [logging.getLogger(name) for name in (_ACCESS, _SAID)]
    before = [each.level for each in informing]
    for each in informing:
        each.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with _everything_logged() if as_json else contextlib.nullcontext():
            yield
    finally:
        logger.removeHandler(handler)
        for each, level in zip(informing, before, strict=True):
            each.setLevel(level)


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether the last ``--log-format`` is JSON, also if the rest of the command line is wrong."""
    found = ""
    for word, following in pairwise([*arguments, ""]):
        name, sign, value = word.partition("=")
        if name.replace("_", "-") == "--log-format":
            found = value if sign else following
    return found == "json"


@contextlib.contextmanager
def _everything_logged() -> Iterator[None]:
    """Make log records of what is printed on standard error, of warnings and of uncaught exceptions."""
    hooks = (sys.excepthook, threading.excepthook, sys.unraisablehook)
    sys.excepthook = _log_exception
    threading.excepthook = lambda given: _log_exception(given.exc_type, given.exc_value, given.exc_traceback)
    sys.unraisablehook = lambda given: _log_exception(given.exc_type, given.exc_value, given.exc_traceback)
    logging.captureWarnings(capture=True)
    lines = _Lines(sys.stderr)
    try:
        with contextlib.redirect_stderr(lines):
            yield
    except Exception as error:  # noqa: BLE001 - Python would print it on the real standard error
        _log_exception(type(error), error, error.__traceback__)
        raise SystemExit(1) from None
    finally:
        lines.finish()
        logging.captureWarnings(capture=False)
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks


def _log_exception(kind: type[BaseException], error: BaseException | None, trace: Any) -> None:
    """Log an exception that nothing caught; its message is the last line of the traceback."""
    message = "".join(traceback.format_exception_only(kind, error))
    logging.getLogger(_OURS).critical("%s", message, exc_info=(kind, error or kind(), trace))
