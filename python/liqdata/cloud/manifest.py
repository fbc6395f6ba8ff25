"""The manifest of an archive: which files it consists of."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

JOURNAL = "journal.sqlite"
"""Name of the SQLite file that contains recent rows and the manifest."""


SUPERSEDED = "superseded"
"""Name of the folder for superseded files, which other engines must not read with the others."""


class ArchiveFile(NamedTuple):
    """A file that an archive lists.

    ``path`` names the file in the archive's journal. ``place`` is its path in the folder or at the address, which
    differs once the file is superseded.
    """

    path: str
    holds: str
    rows: int
    bytes: int
    sha256: str
    is_sound: bool
    place: str

    @property
    def places(self) -> tuple[str, str]:
        """Where the file may be: its place, then the place before it was superseded or after that."""
        return self.place, self.path if self.place != self.path else f"{SUPERSEDED}/{self.path}"


class Manifest(NamedTuple):
    """The files of an archive.

    ``series`` identifies the archive, ``closed`` is the end of its last finished day (epoch ms), and ``journaled`` is
    the number of rows that are only in the journal, in no file yet. ``backed_up`` is the instant of a backup (epoch
    ms); ``None`` for an archive that was written to since. ``arrived`` counts the rows that ever were in the journal.
    """

    series: int
    closed: int | None
    files: list[ArchiveFile]
    journaled: int
    backed_up: int | None
    arrived: int


NativeManifest: TypeAlias = tuple[
    int, int | None, list[tuple[str, str, int, int, str, bool, str]], int, int | None, int
]
"""A manifest as the Rust core returns it."""


def manifest_of(native: NativeManifest) -> Manifest:
    """Convert the tuples of a native manifest to a :class:`Manifest`."""
    series, closed, files, journaled, backed_up, arrived = native
    return Manifest(series, closed, [ArchiveFile(*file) for file in files], journaled, backed_up, arrived)
