"""Where the archives of recorded sources lie: in the folder ``recorded`` of another archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

FOLDER = "recorded"
JOURNAL = "journal.sqlite"


def recorded_folder(path: str | os.PathLike[str], source: str) -> Path:
    """The folder of a source."""
    return Path(path) / FOLDER / source


def recorded_sources(path: str | os.PathLike[str]) -> list[str]:
    """The names of the sources that an archive has recordings of."""
    folder = Path(path) / FOLDER
    return sorted(one.name for one in folder.iterdir() if (one / JOURNAL).exists()) if folder.is_dir() else []
