"""Runs a program for an alert."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from tempfile import TemporaryFile
from typing import IO, Any

from .failure import Again

__all__ = ["run"]

_TIMEOUT = 10.0  # maximum time of one run, in seconds
_MOST = 65_536  # maximum length of what is passed on, in bytes


def run(command: list[str], event: dict[str, Any]) -> None:
    """Run a program with an event: JSON on standard input, and environment variables.

    What it writes to standard error is passed on once it has ended.

    Parameters
    ----------
    command : list of str
        The program with its arguments.
    event : dict
        The alert.

    Raises
    ------
    Again
        If the program fails or takes too long.
    OSError
        If it cannot be started.
    """
    text = json.dumps(event, default=str, allow_nan=False).encode()
    # An environment variable cannot contain NUL.
    cells = {f"LIQDATA_{name.upper()}": str(cell) for name, cell in event.items() if cell is not None}
    environment = os.environ | {name: text.replace("\0", "") for name, text in cells.items()}
    # A file, because a pipe would stay open as long as a program that this one leaves behind.
    with TemporaryFile() as said:
        try:
            _run(command, text, environment, said)
        finally:
            _pass_on(said)


def _run(command: list[str], text: bytes, environment: dict[str, str], said: IO[bytes]) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said, env=environment) as running:  # noqa: S603 - there is no shell
        try:
            running.communicate(text, timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            running.kill()
            msg = f"{command[0]} took longer than {_TIMEOUT:.0f} s and was ended"
            raise Again(msg) from None
    if running.returncode:
        msg = f"{command[0]} ended with {running.returncode}"
        raise Again(msg)


def _pass_on(said: IO[bytes]) -> None:
    """Write what a program wrote to standard error to that of this process, which may have another form."""
    said.seek(0)
    text = said.read(_MOST).decode(errors="replace")
    if text and sys.stderr is not None:
        sys.stderr.write(text if text.endswith("\n") else f"{text}\n")
        sys.stderr.flush()
