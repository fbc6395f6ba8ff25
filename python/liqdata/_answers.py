"""From what the native half brings home to the objects callers get."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import _core
from ._inputs import datetime_of
from .errors import BadQuery
from .rows import Rows

if TYPE_CHECKING:
    from datetime import datetime

    from .grids import Heatmap, LiquidationMap
    from .types import RowDecimals

A = TypeVar("A")


class Origin(NamedTuple):
    """Where an answer came from, and how its decimals are shown."""

    source: str
    as_of: datetime
    simulated: bool | None
    decimals: RowDecimals = "decimal"
    damaged: int = 0

    def meta(self, newest: datetime | None) -> dict[str, Any]:
        """What rows and grids carry as ``meta``."""
        known: dict[str, Any] = {
            "source": self.source,
            "as_of": self.as_of,
            "simulated": self.simulated,
            "age": None if newest is None else max(self.as_of - newest, timedelta(0)),
        }
        if self.damaged:
            known["damaged"] = self.damaged
        return known


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


def plain(answer: dict[str, Any], _: Origin) -> Any:
    """Dicts as on the wire."""
    return answer


def rows(answer: _core.Table, origin: Origin) -> Rows[Any]:
    """Rows with what is known of them."""
    newest = answer.newest()
    return Rows(answer, decimals=origin.decimals, meta=origin.meta(None if newest is None else datetime_of(newest)))


def heatmap(answer: dict[str, Any], origin: Origin) -> Heatmap:
    """A heatmap around the decoded buffers."""
    from .grids import Heatmap

    return Heatmap(**_dated(answer), meta=_explained(answer, origin))


def liqmap(answer: dict[str, Any], origin: Origin) -> LiquidationMap:
    """A liquidation map around the decoded buffers."""
    import numpy as np

    from .grids import LiquidationMap

    answer["sides"] = np.array(["long", "short"])[answer["sides"]]
    return LiquidationMap(**_dated(answer), meta=_explained(answer, origin))


_VIEWS = {2: "exposure", 3: "expected"}


def _explained(answer: dict[str, Any], origin: Origin) -> dict[str, Any]:
    """The meta of an estimate; an engine in this process says what it rests on, a server of ours what its units are."""
    meta = origin.meta(answer["updated_at"])
    explain = answer.get("explain")
    if explain is not None:
        meta["explain"] = explain
        if "model" in explain:
            meta["view"] = _VIEWS[explain["model"]]
    return meta


def _dated(answer: dict[str, Any]) -> dict[str, Any]:
    """The fields of a grid, its time as a datetime."""
    answer["updated_at"] = datetime_of(answer["updated_at"])
    return {name: value for name, value in answer.items() if name != "explain"}
