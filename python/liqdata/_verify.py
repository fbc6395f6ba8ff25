"""Holding an archive against what was written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from . import _core
from ._doors import door
from ._inputs import folder, switch
from ._progress import counting
from .rows import Rows

if TYPE_CHECKING:
    import os

    from .types import FindingRow, Progress


@door
def verify(path: str | os.PathLike[str], *, repair: bool = False, progress: Progress = False) -> Rows[FindingRow]:
    """What is damaged, missing or unexpected in an archive.

    Every file is read and held against its SHA-256; the journal's log, structure and indexes are looked through, and
    each of its lines is held against its checksum.

    Parameters
    ----------
    path : str or path-like
        The archive's folder.
    repair : bool
        Put right what can be: damaged files go to the folder ``quarantine`` of the archive, tables of the journal of
        which a page or an index is damaged are made anew of the lines that can be reached, and rows that are not as
        they were written are taken out, after a copy of it was kept beside the files. Nothing is deleted for good, and
        what it leaves unknown becomes a gap, so that every answer tells of it.
        Needs the archive for itself: no collector may be writing to it.
    progress : bool or callable
        Show a bar of the files, the journal among them (with tqdm, on a terminal or in a notebook), or tell a function
        how many are done and of how many (``None`` where that is unknown). A repair reads all of them again.

    Returns
    -------
    Rows
        Nothing where all is as it was written, else one row each, the journal first: ``file`` (below the archive's
        folder), ``holds`` (``journal``, ``orders``, ``bars``, ``open_interest``, ``maps`` or ``raw``), ``problem``
        (``damaged``, ``missing``, or ``unexpected`` for a file that the archive did not write and never reads),
        ``detail``, ``rows``, ``first`` and ``last`` (how many rows there were, and epoch ms of the first and last;
        ``None`` where unknown), and ``repaired``: whether it is out of use with its gap on record.

    Raises
    ------
    ArchiveError
        Where there is no archive or it cannot be read; with ``repair``, while another process writes to it, or where
        the journal is beyond repair.

    Notes
    -----
    What the last transaction before a crash wrote cannot be told from one that was never finished, if its part of the
    journal's log is damaged; nor can a log that was cut off, or is gone, from one that was never longer.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # made by a collector otherwise
    >>> _core.ArchiveWriter(folder).close()
    >>> len(liqdata.verify(folder))
    0
    """
    switch(repair, "repair")
    with counting(progress, "files", " files") as seen:
        table = _core.verify(folder(path), repair, seen)
    return Rows(table, meta={"source": "archive", "as_of": datetime.now(UTC), "simulated": None, "age": None})
