"""From what the native half brings home to the objects callers get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import _core
from ._inputs import datetime_of
from .errors import BadQuery, UnexpectedReply
from .rows import Rows

if TYPE_CHECKING:
    from datetime import datetime

    from .grids import Heatmap, LiquidationMap
    from .types import BarRow, RowDecimals

A = TypeVar("A")


class Origin(NamedTuple):
    """Where an answer came from, and how its decimals are shown."""

    source: str
    as_of: datetime | None
    """When it is known as of; None where nothing has been observed yet."""
    simulated: bool | None
    decimals: RowDecimals = "decimal"
    damaged: int = 0
    replayed: bool = False
    question: dict[str, object] | None = None
    bars: Callable[[str, int, int], Rows[BarRow] | None] | None = None
    """What brings the bars of a coin from an instant to another."""
    far: bool = False
    """Whether a service is asked for them."""
    coverage: _core.Table | None = None
    """What the totals cover, where that is known."""
    earlier: tuple[int, int] | None = None
    """The open and the length of the first bar before those of the answer that cannot be made into them."""

    def beside(self, answer: _core.Table | dict[str, Any]) -> Origin:
        """The same, with what was told beside the answer."""
        if isinstance(answer, dict):
            return self._replace(coverage=answer.pop("coverage", None))
        return self._replace(coverage=answer.coverage, earlier=answer.earlier)

    def about(self, endpoint: str, parameters: Mapping[str, object]) -> Origin:
        """The same, of the answer to a question."""
        said = {name: value for name, value in parameters.items() if value is not None}
        return self._replace(question={"endpoint": endpoint, **said})

    def meta(self, newest: datetime | None) -> dict[str, Any]:
        """What rows and grids carry as ``meta``."""
        age = None if newest is None or self.as_of is None else max(self.as_of - newest, timedelta(0))
        known: dict[str, Any] = {
            "source": self.source,
            "as_of": self.as_of,
            "simulated": self.simulated,
            "age": age,
        }
        if self.replayed:
            known["replayed"] = True
        if self.damaged:
            known["damaged"] = self.damaged
        if self.question is not None:
            known["question"] = self.question
        if self.coverage is not None:
            known["coverage"] = self.coverage.dicts("decimal")
        if self.earlier is not None:
            opened, interval = self.earlier
            known["earlier"] = {"timestamp": datetime_of(opened), "interval": interval}
        return known


@dataclass(frozen=True)
class Bringing:
    """What brings the bars over the time of a map."""

    bring: Callable[[str, int, int], Rows[BarRow] | None]
    symbol: str
    span: tuple[int, int]
    far: bool

    def __call__(self) -> Rows[BarRow] | None:
        """Bring them."""
        return self.bring(self.symbol, *self.span)


Convert = Callable[[Any, Origin], A]


def batch(endpoint: str, symbols: list[Any], parameters: dict[str, object]) -> dict[str, _core.Question]:
    """One checked question per distinct symbol, in the order given; all are checked before any is asked."""
    questions: dict[str, _core.Question] = {}
    if not symbols:
        _core.question(endpoint, **parameters)  # checks what stands beside the symbol
    for symbol in symbols:
        question = _core.question(endpoint, symbol=symbol, **parameters)
        if symbol is None:  # alone it means every pair, among others it means none
            msg = 'symbol: None stands among symbols; allowed: a trading pair such as "BTCUSDT"'
            raise BadQuery(msg, parameter="symbol")
        questions.setdefault(symbol.strip().upper(), question)
    return questions


class Told(dict[str, Any]):
    """A dict as on the wire, which also knows where it came from: ``meta``, as rows and grids have it."""

    __slots__ = ("meta",)

    meta: dict[str, Any]

    def __missing__(self, name: object) -> Any:
        for same in _SAME.get(str(name), ()):
            if same in self:
                return self[same]
        raise KeyError(name)


_SAME = {"1d": ("24h", "d1"), "24h": ("d1",), "7d": ("d7",), "1w": ("d7",)}
"""Other names of windows and ranges, as parameters take them; the keys are the contract's."""


def plain(answer: dict[str, Any], origin: Origin) -> Any:
    """Dicts as on the wire."""
    told = Told(answer)
    explain = told.pop("explain", None)
    updated = answer.get("updatedAt")
    told.meta = _explained(explain, origin.meta(datetime_of(updated) if isinstance(updated, int) else None))
    return told


_OF_COIN = {"bars": "symbol", "open_interest": "symbol", "positions": "coin"}
"""Endpoints all rows of which are of the coin that was asked for, and the column that says so."""


def _refuse_others(answer: _core.Table, question: dict[str, object] | None) -> None:
    """Refuse rows of another coin than was asked for."""
    column = _OF_COIN.get(str((question or {}).get("endpoint")))
    asked = (question or {}).get("symbol")
    if column is None or not isinstance(asked, str):
        return
    coin = _core.coin(asked)
    for name in answer.codes(column)[1]:
        if _core.coin(name) != coin:
            msg = f"data[].{column}: {name[:80]!r} is not {coin!r}, which was asked for"
            raise UnexpectedReply(msg, path=f"data[].{column}")


def rows(answer: _core.Table, origin: Origin) -> Rows[Any]:
    """Rows with what is known of them."""
    _refuse_others(answer, origin.question)
    newest = answer.newest()
    return Rows(answer, decimals=origin.decimals, meta=origin.meta(None if newest is None else datetime_of(newest)))


def positions(answer: _core.Table, origin: Origin) -> Rows[Any]:
    """Positions of a snapshot; what is the same of all of them stands in the meta."""
    told = {(row["exchange"], row["timestamp"], row["seen_share"]) for row in answer.dicts("float")}
    found = rows(answer.keeping(["timestamp", "seen_share"], []), origin)
    shares: dict[str, Any] = {}
    for exchange, _, share in told:  # one that is told in several ways is not known
        shares[exchange] = share if shares.get(exchange, share) == share else None
    found.meta["seen_share"] = next(iter(shares.values()), None) if len(shares) <= 1 else shares
    found.meta["snapshot"] = max((datetime_of(at) for _, at, _ in told), default=None)
    return found


def heatmap(answer: dict[str, Any], origin: Origin) -> Heatmap:
    """A heatmap around the decoded buffers, with the bars that whoever answered can bring."""
    from .grids import Heatmap

    made = Heatmap(**_dated(answer), meta=_explained(answer.get("explain"), origin.meta(answer["updated_at"])))
    if origin.bars is None or not len(made.times):
        return made
    return replace(made, bars=Bringing(origin.bars, made.symbol, made.span, origin.far))


def liqmap(answer: dict[str, Any], origin: Origin) -> LiquidationMap:
    """A liquidation map around the decoded buffers."""
    import numpy as np

    from .grids import LiquidationMap

    answer["sides"] = np.array(["long", "short"])[answer["sides"]]
    measured = answer.pop("measured", None)
    made = LiquidationMap(**_dated(answer), meta=_explained(answer.get("explain"), origin.meta(answer["updated_at"])))
    if measured is not None:
        seen_share = measured.pop("seen_share")
        made.meta.update(view="measured", seen_share=seen_share, measured=measured)
    return made


_VIEWS = {2: "exposure", 3: "expected"}


def _explained(explain: dict[str, Any] | None, meta: dict[str, Any]) -> dict[str, Any]:
    """The meta of an estimate: an engine in this process says what it rests on, and a server of ours that is asked.

    Unasked, a server of ours says what its units are.
    """
    if explain is not None:
        meta["explain"] = explain
        if "model" in explain:
            meta["view"] = _VIEWS[explain["model"]]
    return meta


def _dated(answer: dict[str, Any]) -> dict[str, Any]:
    """The fields of a grid, its time as a datetime."""
    answer["updated_at"] = datetime_of(answer["updated_at"])
    return {name: value for name, value in answer.items() if name != "explain"}
