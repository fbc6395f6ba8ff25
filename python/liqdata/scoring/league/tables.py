"""The tables of a league: for each coin and range, the scores of the maps that were committed in time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from liqdata.errors import BadQuery, LiqdataError
from liqdata.results.map import LiquidationMap
from liqdata.scoring.card import SCORES
from liqdata.scoring.maps import curves
from liqdata.scoring.maps.sources import Recorded
from liqdata.scoring.score import score
from liqdata.scoring.truth import realised

from . import stored_maps

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from pathlib import Path

    from liqdata.scoring.card import Scorecard
    from liqdata.scoring.truth import Truth

    from .candidates import Asked
    from .chain import Chain, Commitment

Line = dict[str, Any]
COLUMNS = {
    **dict.fromkeys(("coin", "range", "source", "model"), "text"),
    "maps": "int",
    "days": "int",
    **{name: kind for name, kind in SCORES.items() if name not in {"map", "state"}},
    "null": "text",
    "null_dig": "float",
}
"""The columns of the scores, with their kinds."""

_GAINS = ("n", "dig", "dig_low", "dig_high")


@dataclass
class Table:
    """The scores of one coin and range."""

    coin: str
    range: str
    simulated: bool = False
    rows: list[Line] = field(default_factory=list)
    """The scores by map and side, with the best null."""
    more: list[Line] = field(default_factory=list)
    """Further gains: of the nulls, and between two maps on the periods that all maps have."""
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each map, the number of maps that are not scored by reason."""
    notes: list[str] = field(default_factory=list)


def tables(asked: Asked, chain: Chain, wrong: Container[int], folder: Path, now: int) -> list[Table]:
    """Score what was committed for the periods that have ended; lines that are wrong do not count."""
    ended = [
        (one, number in wrong)
        for number, one in enumerate(chain.lines, 1)
        if one.end <= now and one.end - one.start == asked.period and asked.includes(one)
    ]
    ended.sort(key=lambda pair: (pair[0].coin, pair[0].range, pair[0].source, pair[0].model))
    found = []
    for (coin, span), some in groupby(ended, key=lambda pair: (pair[0].coin, pair[0].range)):
        table = Table(coin, span, bool(asked.market.simulated))
        series = [_series(table, list(lines), folder) for _, lines in groupby(some, key=lambda pair: pair[0][:2])]
        _score(asked, table, series)
        found.append(table)
    return found


def _series(table: Table, lines: list[tuple[Commitment, bool]], folder: Path) -> Recorded:
    """Read the maps of a series; of several for one period the last counts."""
    first, _ = lines[0]
    name = f"{first.source} {first.model}"
    maps, left_out = [], Counter({"changed or late": sum(is_wrong for _, is_wrong in lines)})
    for start, one in sorted({one.start: one for one, is_wrong in lines if not is_wrong}.items()):
        stored = stored_maps.read(folder, one.map)
        table.simulated |= stored.is_simulated
        try:
            maps.append(_curves(stored.decoded(), start))
        except (LiqdataError, ValueError) as error:
            left_out[_why(error)] += 1
    table.left_out[name] = dict(left_out)
    return Recorded(name, maps, lasts=first.end - first.start)


def _curves(map: Any, start: int) -> curves.MapCurves:
    if not np.isfinite(map.current_price):
        msg = "the map has no price, so no sides"
        raise ValueError(msg)
    if isinstance(map, LiquidationMap):
        return curves.of_map(map, start)
    (last,) = curves.of_columns(map, np.full(len(map.times), map.current_price), last=True)
    return last._replace(at=start)


def _score(asked: Asked, table: Table, series: list[Recorded]) -> None:
    """Score each series on its own periods, and the differences on the periods that all of them have."""
    try:
        truth = realised(asked.market, table.coin, asked.period)
    except LiqdataError as error:
        table.notes.append(f"nothing is scored: {_why(error)}")
        return
    scored = [one for one in series if _add(asked, table, one, truth)]
    table.rows.sort(key=lambda row: -row["dig"] if row["n"] else np.inf)
    if len(scored) > 1:
        try:
            card = _card(asked, table.coin, truth, scored)
        except BadQuery as error:
            table.notes.append(f"no differences between maps: {_why(error)}")
            return
        for row in card.paired():
            if row["side"] == "both":
                gains = {"n": card.meta["periods"], **{name: row[name] for name in _GAINS[1:]}}
                table.more.append({"map": row["map"], "what": f"minus {row['other']}", **gains})


def _card(asked: Asked, coin: str, truth: Truth, series: list[Recorded]) -> Scorecard:
    usd = {"long_usd": truth.usd[:, 0], "short_usd": truth.usd[:, 1]}
    table = {"timestamp": truth.opens, **usd, "interval": np.full(len(truth.opens), truth.period)}
    maps = {one.name: one for one in series}
    return score(maps, table, bars=asked.market.bars(coin), symbol=coin, period=truth.period)


def _add(asked: Asked, table: Table, one: Recorded, truth: Truth) -> bool:
    """Add the scores of a series, and say what is left out; return whether there are scores."""
    name, count = one.name, len(one.maps)
    left_out = table.left_out[name]
    known = int(np.isin([map.at for map in one.maps], truth.opens).sum())
    left_out["liquidations of the period unknown"] = count - known
    try:
        card = _card(asked, table.coin, truth, [one])
    except BadQuery as error:
        left_out["too few to score"] = known
        table.notes.append(f"{name} has no score yet: {_why(error)}")
        return False
    left_out["to learn from, or without bars"] = known - card.meta["periods"]
    others = [row for row in card.references() if row["state"] != "path"]
    nulls = [{**row, "map": row["map"].removeprefix(f"{name}: ")} for row in others]
    for null in _of_side(nulls, "both"):
        table.more.append({"map": name, "what": f"null: {null['map']}", **{cell: null[cell] for cell in _GAINS}})
    for row in card.rows():
        best = max(_of_side(nulls, row["side"]), key=lambda null: null["dig"])
        source, _, model = name.partition(" ")
        about = {"source": source, "model": model, "maps": count, "days": card.meta["days"]}
        scores = {cell: row[cell] for cell in SCORES if cell in COLUMNS}
        table.rows.append({**about, **scores, "null": best["map"], "null_dig": best["dig"]})
    return True


def _of_side(rows: Iterable[Line], side: str) -> Iterator[Line]:
    return (row for row in rows if row["side"] == side and row["n"])


def _why(error: Exception) -> str:
    """An error without what is allowed, which is for the caller of :func:`liqdata.score`."""
    return str(error).partition("; allowed: ")[0]
