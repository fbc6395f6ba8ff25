"""Run the recorder from the command line, with one line of status."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from liqdata.recording.recorder import line_of
from liqdata.recording.recorder import record as recorder_of

from .collect_screen import POLL, stop_signal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def record(archive: Path, sources: Sequence[str], symbols: Sequence[str], every: str) -> None:
    """Record into an archive until SIGINT or SIGTERM.

    On a terminal the line of status is drawn again in its place; otherwise it is printed when it changes.

    Parameters
    ----------
    archive : path
        Folder of the archive; created if it is missing.
    sources : sequence of str
        Names of vendors, or addresses.
    symbols : sequence of str
        Coins.
    every : str
        Time between two rounds.
    """
    in_place = sys.stderr.isatty()
    shown = ""
    with stop_signal() as enough, recorder_of(list(sources), archive, symbols=symbols, every=every) as recorder:
        while True:
            over = enough.wait(POLL)
            line = line_of(recorder.status())
            if line != shown:
                shown = line
                print(
                    f"\r\x1b[K{line}" if in_place else line, end="" if in_place else "\n", file=sys.stderr, flush=True
                )
            if over:
                break
    print(f"{chr(10) if in_place else ''}{line_of(recorder.status())}", file=sys.stderr, flush=True)
