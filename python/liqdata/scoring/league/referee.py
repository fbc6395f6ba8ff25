""":func:`liqdata.league`: commits maps before their period, scores them after it, and writes a page."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import anchored, archive_folder, many, switch
from liqdata.calls.traceback import public_call, public_methods
from liqdata.files.atomic_write import atomic_write
from liqdata.files.safe_open import naming_failures
from liqdata.market import open as open_archive
from liqdata.results.json_form import finite
from liqdata.scoring.columns import refuse
from liqdata.scoring.columns import rows as table_of
from liqdata.scoring.truth import period_of
from liqdata.text.printable import counted

from . import page
from .audit import audit
from .candidates import ALIASES, Asked, committable, sources_of
from .chain import Chain, stamp
from .tables import COLUMNS, tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from liqdata.model import Model
    from liqdata.results.rows import Rows

    from .tables import Table

__all__ = ["League", "league"]


@public_methods
@dataclass(frozen=True, repr=False)
class League:
    """What a call of :func:`liqdata.league` committed and found.

    Attributes
    ----------
    page : str
        Path of ``index.html``; it is written unless ``commit_only``.
    commitments : int
        Number of commitments in the chain.
    added : int
        Number of commitments that this call added.
    hash : str
        Hash of the last line of the chain. Whoever published it can show later that no line was changed.
    changed, late : list of dict
        Maps that differ from what was committed, and maps that were not committed before their period: ``source``,
        ``question``, ``instant`` (epoch ms), ``start`` (of the period, epoch ms), ``line`` (of the chain; ``None``
        for a map that was not committed) and ``why``.
    notes : list of str
        Why maps were not committed, and what is left out.
    tables : list of Table
        For each coin and range the scores, nulls, differences and what is left out, as in ``league.json``.

    Examples
    --------
    >>> def is_clean(found):  # the result of liqdata.league
    ...     return not found.changed and not found.late
    """

    page: str
    commitments: int
    added: int
    hash: str
    changed: list[dict[str, Any]]
    late: list[dict[str, Any]]
    notes: list[str]
    tables: list[Table]

    def rows(self) -> Rows[Any]:
        """The scores of all maps.

        Returns
        -------
        Rows
            ``coin``, ``range``, ``source`` and ``model``; ``maps`` (number of committed maps of periods that have
            ended); ``days`` (number of scored days); ``side``, ``n``, ``usd``, ``ig`` and ``dig`` with their intervals,
            ``spearman``, ``top1``, ``top5``, ``top10`` and ``calibration`` as in :meth:`scoring.Scorecard.rows`;
            ``null`` (the best null) and its gain ``null_dig``.

        Examples
        --------
        >>> def best(found):  # the result of liqdata.league
        ...     return max(found.rows(), key=lambda row: row["dig_low"])["source"]
        """
        lines = [{"coin": one.coin, "range": one.range, **row} for one in self.tables for row in one.rows]
        return table_of({name: (kind, [line[name] for line in lines]) for name, kind in COLUMNS.items()})

    def __repr__(self) -> str:
        """The counts, and a line for each changed or late map."""
        head = f"League({self.commitments} commitments, {self.added} new, hash {self.hash[:16]}…)"
        wrong = [(what, one) for what, some in (("changed", self.changed), ("late", self.late)) for one in some]
        return "\n".join([head, *(f"  {what}: {page.described(one)}" for what, one in wrong)])


@public_call
def league(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    coins: str | Sequence[str] = "BTC",
    sources: str | Sequence[str] | None = None,
    range: str | None = None,
    models: Sequence[int | Model] = (2, 3),
    period: str | timedelta | int = "1h",
    commit_only: bool = False,
) -> League:
    """Commit maps before a period, score them after it against reported liquidations, and write a page.

    Call it once in each period, for example from cron: the newest map of each source is committed for the next period.
    A commitment is a line of ``commitments.jsonl`` with the SHA-256 of the map and of the line before. A commitment
    after the period began does not count, nor does a map that no longer has its hash. ``docs/how-to/league.md``
    describes the files and the page.

    Parameters
    ----------
    path : str or path-like
        The folder of an archive with orders and bars, and with recorded maps (:func:`liqdata.record`).
    out : str or path-like
        The folder of the league; it is created if its parent exists.
    coins : str or sequence of str
        Coins, such as ``BTC``.
    sources : str or sequence of str, optional
        Names of recordings, such as ``"coinglass"``; ``"served"`` for the maps that servers of the archive sent
        (:meth:`Market.maps`); ``"estimate"`` for estimates of the archive as of now. All by default.
    range : str, optional
        Only maps of this range, such as ``"7d"``. By default all that are recorded, and estimates of ``1d`` and ``7d``.
    models : sequence of int or Model
        Models of the estimates.
    period : str, timedelta or int
        Length of the periods, such as ``"30m"`` or ``"1h"``: whole minutes that divide a day.
    commit_only : bool
        Verify the chain and commit, but neither score nor write the page.

    Returns
    -------
    League

    Raises
    ------
    ArchiveError
        If a line of the chain was edited, removed or added (the message names it); if another process writes to
        ``out``; if the archive cannot be read.
    BadQuery
        For a wrong parameter.

    Examples
    --------
    >>> import tempfile
    >>> import liqdata
    >>> from liqdata import _core
    >>> folder = tempfile.mkdtemp()
    >>> _core.ArchiveWriter(folder + "/archive").close()  # usually made by a collector and a recorder
    >>> liqdata.league(folder + "/archive", folder + "/league", sources="served").commitments
    0
    """
    switch(commit_only, "commit_only")
    names = list(dict.fromkeys(map(_core.coin, _names(coins))))
    if range is not None:
        _core.question("liqmap", range=range)  # raises for an unknown range
        range = ALIASES.get(range, range)
    archive, length = archive_folder(path), period_of(period)
    some = sources_of(archive, sources)
    folder = _made(out)
    with open_archive(archive) as market, Chain(folder) as chain:
        asked = Asked(market, names, some, range, models, length)
        added, notes = commit(asked, chain, folder)
        file = folder / "index.html"
        if commit_only:
            return League(str(file), len(chain.lines), added, chain.hash, [], [], notes, [])
        now = int(time.time() * 1000)
        found = audit(asked, chain, folder, now)
        if found.before:
            notes.append(f"{counted(found.before, 'recorded map')} for periods before the first commitment")
        scored = tables(asked, chain, found.wrong, folder, now)
        made = League(str(file), len(chain.lines), added, chain.hash, found.changed, found.late, notes, scored)
    _write(folder / "league.json", json.dumps(_finite({"written": stamp(now), **asdict(made)}), indent=1) + "\n")
    _write(file, page.html(made, length, now))
    return made


def commit(asked: Asked, chain: Chain, folder: Path) -> tuple[int, list[str]]:
    """Store and commit maps for the next period; return their number, and why others were not committed."""
    found, notes = committable(asked, chain, int(time.time() * 1000))
    for _, stored in found:
        stored.write(folder)
    # The chain has no earlier instant after a later one, also where the clock was set back.
    now = max(int(time.time() * 1000), chain.lines[-1].committed if chain.lines else 0)
    in_time = [one._replace(committed=now) for one, _ in found if now < one.start]
    if len(in_time) < len(found):
        notes.append(f"{counted(len(found) - len(in_time), 'map')} not committed: the period began meanwhile")
    chain.append(in_time)
    return len(in_time), notes


def _names(coins: Any) -> list[str]:
    names = [coins] if isinstance(coins, str) else many(coins)
    if not names or not all(isinstance(one, str) for one in names):
        refuse("coins", f"{coins!r} is not allowed", "one coin or several, such as ['BTC', 'ETH']")
    return names


def _finite(value: Any) -> Any:
    """JSON has no NaN: it is None there."""
    if isinstance(value, dict):
        return {name: _finite(cell) for name, cell in value.items()}
    return [_finite(cell) for cell in value] if isinstance(value, list) else finite(value)


def _made(out: Any) -> Path:
    if not isinstance(out, str | os.PathLike) or not os.fspath(out):
        refuse("out", f"{out!r} is not allowed", "the path of a folder")
    folder = Path(anchored(os.fspath(out), "out"))
    with naming_failures(folder):
        folder.mkdir(exist_ok=True)
    return folder


def _write(file: Path, text: str) -> None:
    with atomic_write(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
