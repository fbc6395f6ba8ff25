"""An archive as it came about: what was received, in the order it was, as if it happened now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _core
from ._doors import door
from ._inputs import stretch
from ._local import _Moves
from ._progress import counting
from .errors import BadQuery
from .market import Market, faster

if TYPE_CHECKING:
    from .types import Instant, Progress

__all__ = ["replay"]


@door
def replay(
    path: str | os.PathLike[str],
    *,
    start: Instant | None = None,
    end: Instant | None = None,
    speed: float = 60.0,
    progress: Progress = False,
) -> Market:
    """A market in which what an archive has arrives again, by a clock that goes faster than here.

    Nothing is seen before it was received: orders arrive when the collector had them, bars and open interest when they
    were told, late and filled-up ones late. The same archive gives the same rows in the same order, however fast it is
    told and however often it is asked. Streams, a server (:func:`liqdata.serve`), the estimates and
    :meth:`Market.history` see it grow.

    Parameters
    ----------
    path : str or path-like
        The archive's folder. A collector may be writing to it; what it adds is no part of the replay.
    start : int, datetime or str, optional
        Where it begins: what was received by then is there at once. Before the first that was ever received by default.
    end : int, datetime or str, optional
        Where it ends: nothing that was received later arrives. The last that was received by default.
    speed : float
        How many times as fast as here time passes: with ``speed=60`` an hour is a minute.
    progress : bool or callable
        While the archive is read in the beginning: show a bar of its days (with tqdm, on a terminal or in a notebook),
        or tell a function how many are done and of how many.

    Returns
    -------
    Market
        With ``replayed`` true, also in the ``meta`` of its answers. Its ``now`` is the instant at which anything last
        arrived; a later ``as_of`` is refused. Where all has arrived, its streams end and it stays as it is;
        :meth:`Market.close` ends it before. It pickles as its path and where it stands, and must be made again in a
        forked process.

    Raises
    ------
    BadQuery
        For an instant that is none, a speed that is not above 0, and where nothing arrives in that time.
    ArchiveError
        Where there is no archive, or it cannot be read.

    Notes
    -----
    The archive is read once in the beginning, a day at a time, for when things arrive; a market holds the day that is
    told and no more. Which names of coins and exchanges exist is known from the beginning.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp() + "/archive"  # made by a collector otherwise
    >>> writer = _core.ArchiveWriter(folder)
    >>> writer.append(liqdata.demo().iter_orders("BTC", max_rows=20).to_arrow(), None, None)
    >>> writer.close()
    >>> with liqdata.replay(folder, start="2026-05-31T23:42Z", speed=1) as market:  # some are there, some still to come
    ...     0 < len(market.orders(limit=20)) < 20
    True
    """
    if not isinstance(path, str | os.PathLike) or "://" in os.fspath(path):
        msg = f"path: {path!r} is not allowed; allowed: the folder of an archive on this machine"
        raise BadQuery(msg, parameter="path")
    first, last = stretch(start, end)
    return _replayed(os.path.realpath(path), first, last, faster(speed), progress=progress)


def _replayed(
    path: str,
    start: int | None,
    end: int | None,
    speed: float | None,
    at: int | None = None,
    *,
    progress: Progress = False,
) -> Market:
    """An archive told again; without a speed its clock is driven by hand (``_core.Market.advance``)."""
    made = Market.__new__(Market)
    with counting(progress, "replay", " days") as seen:
        core = _core.Market.replay(path, start, end, speed, at, seen)
    moves = _Moves(_replayed, (path, start, end), speed)
    return made._set_up(core, archive=(path, None), moves=moves)  # noqa: SLF001 - users make markets of tables
