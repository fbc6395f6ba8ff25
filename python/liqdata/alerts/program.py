"""Runs a program for an alert."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

__all__ = ["run"]

_TIMEOUT = 10.0  # maximum time of one run, in seconds


def run(command: list[str], event: dict[str, Any]) -> None:
    """Run a program with an event: JSON on standard input, and environment variables.

    Parameters
    ----------
    command : list of str
        The program with its arguments.
    event : dict
        The alert.

    Raises
    ------
    ValueError
        If the program fails or takes too long.
    """
    text = json.dumps(event, default=str, allow_nan=False).encode()
    # An environment variable cannot contain NUL.
    cells = {f"LIQDATA_{name.upper()}": str(cell) for name, cell in event.items() if cell is not None}
    environment = os.environ | {name: text.replace("\0", "") for name, text in cells.items()}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as running:  # noqa: S603 - there is no shell
        try:
            running.communicate(text, timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            running.kill()
            msg = f"{command[0]} took longer than {_TIMEOUT:.0f} s and was ended"
            raise ValueError(msg) from None
    if running.returncode:
        msg = f"{command[0]} ended with {running.returncode}"
        raise ValueError(msg)
