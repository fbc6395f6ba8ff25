"""Reading what an archive keeps as it came anew, into corrected orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import _core
from ._doors import door
from ._inputs import folder, instant
from ._printable import printable
from ._progress import counting
from .errors import BadQuery

if TYPE_CHECKING:
    import os

    from .types import Instant, Progress

__all__ = ["Rebuilt", "rebuild"]

COUNTS = ("same", "corrected", "new", "gone", "doubtful")


@dataclass(frozen=True)
class Rebuilt:
    """What became of an archive's orders where its frames were read anew.

    Attributes
    ----------
    frames : int
        Frames and bodies that were read.
    unread : int
        Those of which today, too, nothing or not all can be read.
    same : int
        Orders that are what they were.
    corrected : int
        Orders that are told otherwise.
    new : int
        Orders that the archive did not have.
    gone : int
        Orders that are told no more: their frame tells no such order.
    doubtful : int
        Orders that were left as they were, or left out, since they cannot be right.
    dry_run : bool
        Whether this is only what would become of them.
    exchanges : dict of str to dict
        The same counts by exchange.
    damaged : dict of str to str
        Files of frames that could not be read to their end, and why.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # made by a collector otherwise
    >>> _core.ArchiveWriter(folder).close()
    >>> print(liqdata.rebuild(folder))
    0 frames read: 0 orders the same, 0 corrected, 0 new, 0 gone
    """

    frames: int
    unread: int
    same: int
    corrected: int
    new: int
    gone: int
    doubtful: int
    dry_run: bool = False
    exchanges: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    damaged: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Say in a few lines what changed, and where."""
        would = ", if it were done" if self.dry_run else ""
        lines = [f"{self.frames:,} frames read: {_said(vars(self))}{would}"]
        if self.unread:
            lines.append(f"  {self.unread:,} of them cannot be read")
        for name, counts in self.exchanges.items():
            if any(counts[one] for one in ("corrected", "new", "gone", "doubtful")):
                lines.append(printable(f"  {name}: {_said(counts)}"))
        lines += [printable(f"  {path} is damaged: {why}") for path, why in self.damaged.items()]
        return "\n".join(lines)


def _said(counts: Mapping[str, int]) -> str:
    said = f"{counts['same']:,} orders the same"
    said += "".join(f", {counts[one]:,} {one}" for one in ("corrected", "new", "gone"))
    return said + (f", {counts['doubtful']:,} doubtful and left as they were" if counts["doubtful"] else "")


@door
def rebuild(
    path: str | os.PathLike[str],
    *,
    start: Instant | None = None,
    end: Instant | None = None,
    exchange: str | Iterable[str] | None = None,
    dry_run: bool = False,
    progress: Progress = False,
) -> Rebuilt:
    """Read the frames that an archive has kept anew, and correct the orders that were read from them.

    A collector keeps what orders are read from beside them (``docs/archive.md``). Where an order was read wrongly, in a
    wrong unit say, the decoders of this version read it anew: every answer from now on tells the corrected order, and
    answers as of an instant before tell the one that it was. An order is corrected by its own frame alone; what came in
    another way, or whose frame is kept no more, stays as it is.

    Parameters
    ----------
    path : str or path-like
        The archive's folder. Unless nothing is to change (``dry_run``) no collector may be writing to it.
    start : int, datetime or str, optional
        Only frames that were received from this instant on.
    end : int, datetime or str, optional
        Only frames that were received before this instant.
    exchange : str or sequence of str, optional
        Only orders of these exchanges; all by default.
    dry_run : bool
        Change nothing, and only say what would change.
    progress : bool or callable
        Show a bar of the bytes (with tqdm, on a terminal or in a notebook), or tell a function how many are done and of
        how many (``None`` where that is unknown).

    Returns
    -------
    Rebuilt
        How many orders are the same, corrected, new and gone, in all and by exchange.

    Raises
    ------
    BadQuery
        For an exchange without a decoder.
    ArchiveError
        Where there is no archive, another process writes to it, or it cannot be read or written.

    Notes
    -----
    A day is corrected as a whole or not at all. Ctrl-C, or a kill, leaves days that are done corrected and the others
    as they were; done again, the rest follows. Done twice, the second time changes nothing.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # made by a collector otherwise
    >>> _core.ArchiveWriter(folder).close()
    >>> liqdata.rebuild(folder, start="2026-11-01", exchange="okx", dry_run=True).corrected
    0
    """
    since, until = instant(start, "start"), instant(end, "end")
    if since is not None and until is not None and since > until:
        msg = f"end: {end!r} is before the start, {start!r}; allowed: an instant that is not"
        raise BadQuery(msg, parameter="end")
    if not isinstance(dry_run, bool):
        msg = f"dry_run: {dry_run!r} is not allowed; allowed: True or False"
        raise BadQuery(msg, parameter="dry_run")
    venues = _venues(exchange)
    with counting(progress, "frames", "B") as seen:
        told = _core.rebuild(folder(path), since, until, venues, dry_run, seen)
    exchanges = told["exchanges"]
    sums = {one: sum(counts[one] for counts in exchanges.values()) for one in ("frames", "unread", *COUNTS)}
    return Rebuilt(**sums, dry_run=dry_run, exchanges=exchanges, damaged=dict(told["damaged"]))


def _venues(exchange: object) -> list[str]:
    if exchange is None:
        return []
    several = isinstance(exchange, Iterable) and not isinstance(exchange, str)
    names = list(exchange) if isinstance(exchange, Iterable) and several else [exchange]
    for name in names:
        if not isinstance(name, str):
            msg = f"exchange: {name!r} is not the name of an exchange; allowed: text such as 'binance', or several"
            raise BadQuery(msg, parameter="exchange")
    if not names:
        msg = "exchange: no exchange is named; leave it out to mean all"
        raise BadQuery(msg, parameter="exchange")
    return [name for name in names if isinstance(name, str)]
