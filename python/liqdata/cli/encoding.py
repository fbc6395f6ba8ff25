"""Handling of standard streams that are closed or cannot encode every character; data are always UTF-8."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

# ASCII replacements with the same width for characters in printed tables.
SIGNS = {"×": "x", "·": "|", "–": "-", "…": "~"}
# Python's default error handlers; `surrogateescape` is the default in the C locale.
STRICT = frozenset({"strict", "surrogateescape"})


@contextlib.contextmanager
def with_open_outputs() -> Iterator[None]:
    """Discard output to a standard stream that the parent process closed."""
    with contextlib.ExitStack() as nowhere:
        for name, redirected in (("stdout", contextlib.redirect_stdout), ("stderr", contextlib.redirect_stderr)):
            if getattr(sys, name) is None:
                null = nowhere.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123 - no path
                nowhere.enter_context(redirected(null))
        yield


@contextlib.contextmanager
def with_fallback_encoding() -> Iterator[None]:
    """Replace characters that standard output cannot encode, unless the user set an error handler."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper):
        yield
        return
    encoding, errors = out.encoding, out.errors
    if errors in STRICT:
        codecs.register_error("liqdata", _replace)
        out.reconfigure(errors="liqdata")
    try:
        yield
    finally:
        # This call flushes the output. Its errors are ignored, because a closed output has been reported already.
        with contextlib.suppress(OSError, ValueError):
            out.reconfigure(encoding=encoding, errors=errors)


def data_output() -> TextIO:
    """Standard output for CSV and JSON: UTF-8 in every locale, so that no character of the data is replaced."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and codecs.lookup(out.encoding).name != "utf-8":
        out.reconfigure(encoding="utf-8", errors="strict")
    return out


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Error handler for :func:`codecs.register_error` that returns a similar character or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SIGNS.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking), error.end
