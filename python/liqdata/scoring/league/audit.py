"""What is wrong with the maps of a league: changed ones, and those that came after their period had begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.scoring.columns import DAY

from . import stored_maps
from .candidates import ESTIMATE, recorded
from .chain import second

if TYPE_CHECKING:
    from pathlib import Path

    from .candidates import Asked
    from .chain import Chain, Commitment
    from .stored_maps import StoredMap


class Findings(NamedTuple):
    """What is wrong, and what is not."""

    changed: list[dict[str, Any]]
    late: list[dict[str, Any]]
    wrong: set[int]
    """The lines that are not scored."""
    before: int
    """Number of recorded maps for periods that began before the first commitment."""


def audit(asked: Asked, chain: Chain, folder: Path, now: int) -> Findings:
    """Compare every commitment with its stored map, and the recordings with the commitments."""
    found = Findings([], [], set(), 0)
    reasons: dict[str, str | None] = {}
    for number, one in enumerate(chain.lines, 1):
        if one.map not in reasons:
            reasons[one.map] = _reason(folder, one.map)
        why = reasons[one.map]
        if one.committed >= one.start:
            found.late.append(_finding(one, number, f"committed at {second(one.committed)}, after its period began"))
        elif why is not None:
            found.changed.append(_finding(one, number, why))
        else:
            continue
        found.wrong.add(number)
    return _against_recordings(asked, chain, found, now) if chain.lines else found


def _reason(folder: Path, digest: str) -> str | None:
    try:
        stored_maps.read(folder, digest)
    except stored_maps.Altered as error:
        return str(error)
    return None


def _against_recordings(asked: Asked, chain: Chain, found: Findings, now: int) -> Findings:
    """Find recorded maps that differ from what was committed, and those that came too late for it."""
    first = chain.lines[0].committed
    known: dict[tuple[str, str, int], int] = {}
    for number, one in enumerate(chain.lines, 1):
        known.setdefault((one.source, one.question, one.instant), number)
    newest = {(one.source, one.question, one.start): one.instant for one in chain.lines if one.committed < one.start}
    late: dict[tuple[str, str, int], StoredMap] = {}
    before = 0
    for source, stored in _recordings(asked, first - asked.period, now):
        line = known.get((source, stored.question, stored.at))
        start = asked.next_start(stored.at)
        period = (source, stored.question, start)
        if line is not None and stored.hash != chain.lines[line - 1].map:
            why = f"the recording in the archive was changed: its hash is {stored.hash}"
            found.changed.append(_finding(chain.lines[line - 1], line, why))
        elif start <= first:
            before += line is None
        elif start <= now and stored.at > newest.get(period, 0):
            late[period] = stored
            newest[period] = stored.at
    for (source, question, start), stored in late.items():
        why = f"recorded as of {second(stored.at)}, not committed before {second(start)}"
        about = {"source": source, "question": question, "instant": stored.at, "start": start}
        found.late.append({**about, "line": None, "why": why})
    return found._replace(before=before)


def _recordings(asked: Asked, start: int, end: int) -> Any:
    """The recorded maps of a time with their sources, read day by day."""
    for source in asked.sources:
        for coin in asked.coins if source != ESTIMATE else ():
            for day in range(start, end + 1, DAY):
                for stored, _ in recorded(asked, source, coin, day, min(day + DAY, end + 1)):
                    yield source, stored


def _finding(one: Commitment, number: int, why: str) -> dict[str, Any]:
    about = {name: getattr(one, name) for name in ("source", "question", "instant", "start")}
    return {**about, "line": number, "why": why}
