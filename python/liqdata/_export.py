"""Archives to object storage, as users ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - documentation tools read the annotations
from typing import TYPE_CHECKING, Literal

from ._local import _Local
from .errors import BadQuery

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from .types import ArchiveTable, Instant, Progress

__all__ = ["Exported"]


@dataclass(frozen=True)
class Exported:
    """What an export left behind its address.

    Attributes
    ----------
    url : str
        The address.
    until : datetime
        The end of the last day that is there.
    files, rows, bytes : int
        How many files are listed there, and what they hold.
    sent, sent_bytes : int
        How many of them were not there before.
    journaled : int
        Rows of those days that lie in no file yet. They went along in the journal: :func:`liqdata.open` has them, other
        engines that read the files do not.

    Examples
    --------
    >>> import liqdata
    >>> def brought(market, url):  # an archive's market, and where it goes
    ...     done = market.export(url)
    ...     return f"{done.sent} of {done.files} files were new, {done.journaled} rows went along in the journal"
    """

    url: str
    until: datetime
    files: int
    rows: int
    bytes: int
    sent: int
    sent_bytes: int
    journaled: int


class _LocalExport(_Local):
    """What an archive can be brought to."""

    def export(
        self,
        url: str | os.PathLike[str],
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        tables: Sequence[ArchiveTable] = ("orders", "bars", "open_interest"),
        partition: Literal["day"] = "day",
        progress: Progress = False,
    ) -> Exported:
        """Bring the closed days of an archive to a folder or object storage, where other engines read its files.

        Only what is not there yet is sent: the files first, and last the list of them with runs and gaps, so that
        whatever cuts an export short leaves behind the address what was there before. The next one goes on from there.
        :func:`liqdata.open` takes the address, and gives the same answers about those days as the archive.

        Parameters
        ----------
        url : str or path
            A folder, by its path or as ``file:///folder``, or the address of a prefix (``s3://bucket/prefix``,
            ``gs://…``, ``az://…``), that is this archive's alone. Credentials come from the environment
            (``AWS_ACCESS_KEY_ID`` and its like).
        start, end : int, datetime or str, optional
            Only days from ``start`` until before ``end``, each an instant at which a UTC day begins. All days that have
            been over for an hour by default; one that is not over is never exported.
        tables : sequence of {"orders", "bars", "open_interest", "maps", "positions"}
            What to export; coverage goes with the orders. Maps and positions are left out unless they are named.
        partition : {"day"}
            Files are of one UTC day each, as in the archive.
        progress : bool or callable
            Show a bar of the files (with tqdm, on a terminal or in a notebook), or tell a function how many are done
            and of how many (``None`` where that is unknown).

        Returns
        -------
        Exported
            What is behind the address now, and how much of it was sent.

        Raises
        ------
        ArchiveError
            Where the address cannot be written or holds another archive or more than this export has, and where a file
            of the archive is damaged; ``path`` names what is at fault.
        BadQuery
            For an address, an instant or a table that is none.
        RuntimeError
            For a market that is no archive, with what there is instead: tables do not say whose their bars are and when
            a row was received, and what is simulated is not to pass for observed. For a replay.

        Notes
        -----
        Needs obstore (``pip install "liqdata[cloud]"``). The archive is only read, so a collector may be writing to it.

        Examples
        --------
        >>> import tempfile
        >>> import liqdata
        >>> from liqdata import _core
        >>> folder = tempfile.mkdtemp() + "/archive"  # made by a collector otherwise
        >>> _core.ArchiveWriter(folder).close()
        >>> with liqdata.open(folder) as market:
        ...     market.export(f"{folder}-kept").sent
        0
        """
        self._open()
        if self.simulated:
            msg = (
                "a simulated market is not exported: the rows of an archive count as observed; "
                "iter_orders().to_parquet(path) writes its orders, and bars(symbol) is a frame of its bars"
            )
            raise RuntimeError(msg)
        if self._archive is None:
            msg = (
                "a market of tables is not exported: an archive says of every bar and reading whose it is, and of "
                "every row when it was received, which tables do not; liqdata.ingest(folder, ...) makes an archive "
                "of tables, and liqdata.open(folder) exports it"
            )
            raise RuntimeError(msg)
        if self._moves is not None:
            msg = f"a replay is not exported; liqdata.open({self._archive[0]!r}) exports its archive"
            raise RuntimeError(msg)
        folder, as_of = self._archive
        if as_of is not None:
            msg = "as_of: the files of an archive are not as of an instant; allowed: a market that was opened without"
            raise BadQuery(msg, parameter="as_of")
        from ._send import export

        told = export(folder, url, start=start, end=end, tables=tables, partition=partition, progress=progress)
        return Exported(**told._asdict())
