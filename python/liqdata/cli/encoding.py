"""Outputs that lack something: a sign of their encoding, or that anybody opened them."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is written for the signs of the tables; each as wide as the sign.
SIGNS = {"×": "x", "·": "|", "–": "-", "…": "~"}
# The ways of Python's own to end in a traceback, one of them in the locale C.
STRICT = frozenset({"strict", "surrogateescape"})


@contextlib.contextmanager
def opened() -> Iterator[None]:
    """Write nowhere what goes to an output that whoever started this closed; else it would go to the other one."""
    with contextlib.ExitStack() as nowhere:
        for name, redirected in (("stdout", contextlib.redirect_stdout), ("stderr", contextlib.redirect_stderr)):
            if getattr(sys, name) is None:
                null = nowhere.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123 - no path
                nowhere.enter_context(redirected(null))
        yield


@contextlib.contextmanager
def encodable() -> Iterator[None]:
    """Write what the output's encoding lacks as a like sign or an escape, unless the user chose another way."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.errors not in STRICT:
        yield
        return
    before = out.errors
    codecs.register_error("liqdata", _like)
    out.reconfigure(errors="liqdata")
    try:
        yield
    finally:
        # This flushes: what a broken output says then has been said already.
        with contextlib.suppress(OSError, ValueError):
            out.reconfigure(errors=before)


def _like(error: UnicodeError) -> tuple[str, int]:
    """Spell what cannot be encoded, for :func:`codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SIGNS.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking), error.end
