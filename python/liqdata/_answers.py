"""From what the native half brings home to the objects callers get."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ._inputs import datetime_of, many
from .rows import Rows

if TYPE_CHECKING:
    from datetime import datetime

    from ._core import Question, Table
    from .grids import Heatmap, LiquidationMap

A = TypeVar("A")


class Origin(NamedTuple):
    """Where an answer came from, and how its decimals are shown."""

    source: str
    as_of: datetime
    simulated: bool | None
    exact: bool = True

    def meta(self, newest: datetime | None) -> dict[str, Any]:
        """What rows and grids carry as ``meta``."""
        return {
            "source": self.source,
            "as_of": self.as_of,
            "simulated": self.simulated,
            "age": None if newest is None else max(self.as_of - newest, timedelta(0)),
        }


Convert = Callable[[Any, Origin], A]


def batch(symbols: list[Any], make: Callable[[Any], Question]) -> dict[str, Question]:
    """One checked question per distinct symbol, in the order given; all are checked before any is asked."""
    questions: dict[str, Question] = {}
    for symbol in symbols:
        question = make(symbol)
        questions.setdefault(symbol.strip().upper(), question)
    return questions


def one_symbol(symbol: object) -> bool:
    """Whether ``symbol`` is one symbol, not a sequence of them."""
    return many(symbol) is None


def plain(answer: dict[str, Any], _: Origin) -> Any:
    """Dicts as on the wire."""
    return answer


def rows(answer: Table, origin: Origin) -> Rows[Any]:
    """Rows with what is known of them."""
    newest = answer.newest()
    return Rows(answer, exact=origin.exact, meta=origin.meta(None if newest is None else datetime_of(newest)))


def heatmap(answer: dict[str, Any], origin: Origin) -> Heatmap:
    """A heatmap around the decoded buffers."""
    from .grids import Heatmap

    updated_at = answer["updated_at"] = datetime_of(answer["updated_at"])
    return Heatmap(**answer, meta=origin.meta(updated_at))


def liqmap(answer: dict[str, Any], origin: Origin) -> LiquidationMap:
    """A liquidation map around the decoded buffers."""
    import numpy as np

    from .grids import LiquidationMap

    updated_at = answer["updated_at"] = datetime_of(answer["updated_at"])
    answer["sides"] = np.array(["long", "short"])[answer["sides"]]
    return LiquidationMap(**answer, meta=origin.meta(updated_at))
