"""The command ``demo``."""

from __future__ import annotations

from pathlib import Path

from liqdata.cli.command import Command, option
from liqdata.cli.source import seed
from liqdata.cli.words import Folder

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``demo``."""
    out = option("--out", type=Folder(), metavar="DIR", help="Folder of the pictures.  [default: current folder]")
    return Command(name, sentence, _demo, [out, seed()])


def _demo(*, out: Path | None, seed: int | None) -> None:
    from .tour import tour

    tour(Path() if out is None else out, seed=seed or 0)
