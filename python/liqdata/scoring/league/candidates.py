"""The maps that may be committed: recorded ones, served ones, and estimates of the archive as of now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from liqdata import _core
from liqdata.calls.arguments import datetime_of, many, millis_of
from liqdata.errors import LiqdataError, Refused
from liqdata.recording.contract_form import members
from liqdata.recording.folders import recorded_sources
from liqdata.scoring.columns import DAY, refuse

from .chain import Commitment, second
from .stored_maps import StoredMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .chain import Chain

ESTIMATE, SERVED = "estimate", "served"
"""The sources of an archive itself: its estimate as of now, and what its servers sent."""

RANGES = ("1d", "7d")
ALIASES = {"24h": "1d", "1w": "7d", "30d": "1M"}
"""Other names of ranges; a heatmap calls a day 24h."""

_KINDS = ("liqmap", "heatmap")
STALE = DAY
"""Older maps are not committed."""


class Asked(NamedTuple):
    """What a league is about."""

    market: Any
    coins: Sequence[str]
    sources: Sequence[str]
    range: str | None
    models: Sequence[Any]
    period: int

    def includes(self, one: Commitment) -> bool:
        """Whether a commitment is among what is asked for."""
        return one.coin in self.coins and one.source in self.sources and self.range in {None, one.range}

    def next_start(self, at: int) -> int:
        """The start of the first period that begins at an instant or after it."""
        return -(-at // self.period) * self.period


def sources_of(path: str, given: Any) -> list[str]:
    """The sources of a league: those that are given, or all."""
    known = [ESTIMATE, SERVED, *recorded_sources(path)]
    if given is None:
        return known
    for name in (names := [given] if isinstance(given, str) else many(given) or [given]):
        if name not in known:
            refuse("sources", f"{name!r} is not recorded", ", ".join(map(repr, known)))
    return names


def recorded(asked: Asked, source: str, coin: str, start: int, end: int) -> list[tuple[StoredMap, str | None]]:
    """The maps of a source between two instants with their versions; heatmaps only without liquidation maps."""
    for kind in _KINDS:
        if source == SERVED:
            rows = asked.market.maps(coin, kind=kind, start=start, end=end)
        else:
            rows = asked.market.maps(coin, kind=kind, start=start, end=end, source=source).rows
        if len(rows):
            return [_stored(row, served=source == SERVED) for row in rows]
    return []


def _stored(row: Any, *, served: bool) -> tuple[StoredMap, str | None]:
    about = json.dumps({"source": "archive"}) if served else row["explain"]
    at = row["computed_at" if served else "timestamp"]
    stored = StoredMap(row["kind"], row["symbol"], row["params"], at, about, row["reply"])
    return stored, row["version"] if served else None


def committable(asked: Asked, chain: Chain, now: int) -> tuple[list[tuple[Commitment, StoredMap]], list[str]]:
    """The newest map of each question, for the next period, and why others cannot be committed."""
    start = asked.next_start(now + 1)
    known = {(one.source, one.question, one.start, one.map) for one in chain.lines}
    found: list[tuple[Commitment, StoredMap]] = []
    notes: list[str] = []
    for source in asked.sources:
        for coin in asked.coins:
            some = _estimates(asked, coin, now, notes) if source == ESTIMATE else _newest(asked, source, coin, now)
            for stored, model in some:
                question, hash = stored.question, stored.hash
                try:
                    map = stored.decoded()
                except LiqdataError as error:
                    notes.append(f"{source} {question} of {second(stored.at)}: {error}")
                    continue
                if (dated := millis_of(map.updated_at)) > start:
                    notes.append(f"{source} {question} is dated {second(dated)}, after the start of the period")
                    continue
                span, end = ALIASES.get(map.range, str(map.range)), start + asked.period
                one = Commitment(source, model, coin, span, question, stored.at, start, end, hash, now)
                if asked.includes(one) and (source, question, start, hash) not in known:
                    found.append((one, stored))
    return found, notes


def _newest(asked: Asked, source: str, coin: str, now: int) -> Iterator[tuple[StoredMap, str]]:
    """The newest map of each question, with the name of its model."""
    found: dict[tuple[str, str | None], StoredMap] = {}
    for stored, version in recorded(asked, source, coin, now - STALE, now + 1):
        before = found.get((stored.params, version))
        if before is None or stored.at >= before.at:
            found[stored.params, version] = stored
    for (params, version), stored in found.items():
        more = (f"{name}={value}" for name, value in parse_qsl(params) if name != "range")
        yield stored, " ".join([stored.kind, *more, *([version] if version else [])])


def _estimates(asked: Asked, coin: str, now: int, notes: list[str]) -> Iterator[tuple[StoredMap, str]]:
    """Estimates of the archive from what was received by now."""
    about = json.dumps({"source": "archive", "simulated": asked.market.simulated})
    for model in asked.models:
        for span in RANGES if asked.range is None else (asked.range,):
            try:
                map = asked.market.liqmap(coin, span, model=model, as_of=datetime_of(now))
            except Refused as error:
                notes.append(f"{ESTIMATE} {coin} {span}: {error}")
                continue
            name, version = _model(model)
            at = millis_of(map.updated_at)
            if at < now - STALE:
                notes.append(f"{ESTIMATE} model {name} {coin} {span}: the newest data are of {second(at)}")
                continue
            reply = json.dumps(members(map), separators=(",", ":"))
            params = urlencode({"range": span, "model": name})
            yield StoredMap("liqmap", coin, params, at, about, reply), f"model {name} {version}"


def _model(model: Any) -> tuple[str, str]:
    """The name and the version of a model."""
    if isinstance(model, int):
        return str(model), _core.model_version(model)
    return model.name or "own", model.version
