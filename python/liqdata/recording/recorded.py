"""Recordings of an archive: maps and rankings as objects, and the market of recorded orders."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from liqdata.calls.arguments import datetime_of
from liqdata.errors import BadQuery

from .folders import recorded_folder, recorded_sources
from .sources import EVERY_COIN, MAPS, RANKINGS, Question, decoded

if TYPE_CHECKING:
    from datetime import datetime

    from liqdata.market import Market
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows
    from liqdata.source.local import LocalSource

__all__ = ["Recordings"]


class Recordings(Sequence[Any]):
    """Recorded maps or rankings, oldest first, each made into an object when it is read.

    An item is a :class:`~liqdata.Heatmap`, :class:`~liqdata.LiquidationMap`, :class:`~liqdata.Record` or
    :class:`~liqdata.Rows`; its ``meta["recorded_at"]`` is the instant of the recording. Sequences of one kind are
    accepted by :func:`liqdata.compare` and :func:`liqdata.score`.

    Attributes
    ----------
    source : str
        Name of the source.
    rows : Rows
        The stored replies as they were served: ``kind``, ``symbol``, ``params``, ``timestamp`` (the instant of the
        recording), ``reply`` and more.
    """

    def __init__(self, source: str, rows: Rows[Any], kind: str | None = None) -> None:
        self.source = source
        self.rows = rows
        self._times = rows["timestamp"].astype("datetime64[ms]").astype("int64").tolist()
        kinds = rows["kind"].tolist()
        places = [place for place in range(len(rows)) if kind in {None, kinds[place]}]
        self._places = sorted(places, key=self._times.__getitem__)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self._read(one) for one in self._places[place]]
        return self._read(self._places[place])

    def _read(self, place: int) -> Any:
        row = self.rows[place]
        at = self._times[place]
        about = json.loads(row["explain"])
        found = decoded(Question.stored(row), row["reply"], about, at)
        found.meta.update(recorded_at=datetime_of(at), recording=self.source)
        return found

    def pairs(self, coin: str) -> Iterator[tuple[datetime, Heatmap | LiquidationMap]]:
        """Each map of a coin with the instant from which on it was known.

        These are the liquidation maps; without any, the heatmaps.
        """
        for place in self._maps(coin):
            found = self._read(place)
            yield max(found.meta["recorded_at"], found.updated_at), found

    def newest(self, coin: str, at: datetime | None) -> Heatmap | LiquidationMap | None:
        """The newest map of a coin at an instant, as :meth:`pairs` has them; ``None`` if there is none."""
        places = [place for place in self._maps(coin) if at is None or datetime_of(self._times[place]) <= at]
        return self._read(places[-1]) if places else None

    def _maps(self, coin: str) -> list[int]:
        kinds, symbols = self.rows["kind"].tolist(), self.rows["symbol"].tolist()
        mine = [place for place in self._places if symbols[place] == coin]
        for kind in ("liqmap", "heatmap"):
            if found := [place for place in mine if kinds[place] == kind]:
                return found
        return []

    @property
    def times(self) -> list[datetime]:
        """The instants of the recordings, UTC."""
        return [datetime_of(self._times[place]) for place in self._places]

    def __repr__(self) -> str:
        span = f", {self.times[0]:%Y-%m-%dT%H:%MZ} to {self.times[-1]:%Y-%m-%dT%H:%MZ}" if self._places else ""
        return f"Recordings({self.source}, {len(self)} items{span})"


def recorded_market(source: LocalSource, name: object, opened: Callable[[str, Any], Market]) -> Market:
    """The market of the recorded orders of a source, made by ``opened`` from a folder and an instant."""
    folder, as_of = source.archive or (None, None)
    known = recorded_sources(folder) if folder is not None else []
    if not isinstance(name, str) or folder is None or name.lower() not in known:
        some = ", ".join(map(repr, known)) or "none: nothing is recorded in this market"
        if source.demo is not None:
            some = "none: the recording of a simulated market has maps alone, for heatmap, liqmap and maxpain"
        msg = f"source: {name!r} is not recorded; allowed: {some}"
        raise BadQuery(msg, parameter="source")
    return opened(str(recorded_folder(folder, name.lower())), as_of)


def recordings(
    market: Market, source: str, symbol: Any, kind: Any, *, start: Any, end: Any, as_of: Any
) -> Recordings | dict[str, Recordings]:
    """The recorded maps of a source."""
    if kind is not None and kind not in (*MAPS, *RANKINGS):
        msg = f"kind: {kind!r} is not allowed; allowed: {', '.join(map(repr, (*MAPS, *RANKINGS)))}"
        raise BadQuery(msg, parameter="kind")
    if kind in RANKINGS:
        symbol = EVERY_COIN

    def of(one: str | None) -> Recordings:
        kind_of_map = kind if kind in MAPS else None
        # A stored map has a version only if it was converted for servers.
        rows = market.maps(one, kind=kind_of_map, version="unknown", start=start, end=end, as_of=as_of)
        return Recordings(source, rows, kind)

    if symbol is None or isinstance(symbol, str):
        return of(symbol)
    return {one: of(one) for one in symbol}
