"""A question of the command line, ready to be asked, and what is said beside its answer."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.endpoints.contract import endpoints
from liqdata.errors import BadQuery, LiqdataError, NoAnswer
from liqdata.text.printable import printable

from .mistakes import refuse
from .source import told

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from liqdata.rows import Rows
    from liqdata.types import CoverageRow

    from .output.formats import Form
    from .source import Source

__all__ = ["Asked", "ask", "beside", "check", "method_of"]

# The endpoints that tell what happened: until now, unless an end of a stretch is given.
REALISED = frozenset(
    {"overview", "coins", "exchanges", "largest", "orders", "chart", "undercount", "history", "cascades", "gaps"}
)


class Asked(NamedTuple):
    """A question, ready to be asked, and how its answer is wanted."""

    name: str
    arguments: dict[str, Any]
    source: Source
    form: Form

    @property
    def title(self) -> str:
        """The question in a few words."""
        endpoint = endpoints().get(self.name)
        defaults = {} if endpoint is None else {each.name: each.default for each in endpoint.parameters}
        if self.arguments.get("source") == "positions":  # which are of any age
            defaults["range"] = None
        words = (self.arguments.get(key, defaults.get(key)) for key in ("symbol", "exchange", "range"))
        return " ".join([self.name.replace("_", "-"), *(str(word) for word in words if word)])


def ask(asked: Asked, of: Any) -> Any:
    """The answer of a client or a market."""
    method = method_of(of, asked.name)
    check(method, asked)
    return method(**asked.arguments)


def method_of(of: Any, name: str) -> Callable[..., Any]:
    """The method that asks."""
    method: Callable[..., Any] | None = getattr(of, name, None)
    if method is None:
        refuse(f"{name.replace('_', '-')}: a service is not asked that; allowed: with --archive or --demo", name)
    return method


def check(method: Callable[..., Any], asked: Asked) -> None:
    """Refuse what the method does not take."""
    takes = inspect.signature(method).parameters
    for name in asked.arguments:
        if name not in takes:
            shown = name.replace("_", "-")
            refuse(f"{name}: a service is not asked that; allowed: --{shown} with --archive or --demo", name)


def beside(asked: Asked, of: Any, answer: Any = None) -> None:
    """Say beside the answer what it must not be taken for.

    Parameters
    ----------
    asked : Asked
        The question.
    of
        Who was asked.
    answer
        What was answered, unless it was written as it came.
    """
    from liqdata.grids import open_interest_age

    age = open_interest_age(getattr(answer, "meta", None) or {})
    if age is not None:
        print(f"{age}: amounts in USD are shares of what was open then", file=sys.stderr)
    if asked.source.demo:
        print("simulated market", file=sys.stderr)
    elif not asked.source.here and told(of, None).simulated:
        return  # a simulated market misses nothing
    elif asked.name == "coverage":
        if (asked.source.archive is not None or _recorded(answer)) and not any(share for _, share in _heard(answer)):
            raise NoAnswer(_nobody(asked.arguments.get("range", "24h")))
    elif _tells(asked, answer):
        _say_who(asked, of, answer)


def _tells(asked: Asked, answer: Any) -> bool:
    """Whether the answer tells what happened until now: one without a gap, too."""
    if asked.name == "gaps" and len(answer):
        return False
    return asked.name in REALISED and not {"start", "end"} & asked.arguments.keys()


def _say_who(asked: Asked, of: Any, answer: Any) -> None:
    window = asked.arguments.get("range", "24h")
    as_of = {"as_of": asked.arguments["as_of"]} if "as_of" in asked.arguments else {}
    exchanges: Collection[CoverageRow] | None = (getattr(answer, "meta", None) or {}).get("coverage")
    if asked.source.archive is not None:
        _covered(of.coverage(window, **as_of) if exchanges is None else exchanges, window)
        return
    if exchanges is None:
        exchanges = _announced(of, window, as_of)
    # As of an archive, where the service has a record: one of tables has none.
    if exchanges is not None and _recorded(exchanges):
        _covered(exchanges, window)


def _announced(service: Any, window: str, as_of: dict[str, Any]) -> Rows[CoverageRow] | None:
    """What a service tells that did not do so beside its answer: one of the contract alone tells nothing."""
    try:
        exchanges: Rows[CoverageRow] = service.coverage(window, **as_of)
    except BadQuery:  # it is not announced
        return None
    except LiqdataError as error:
        print(f"who was listened to in the last {window} is not known: {printable(str(error))}", file=sys.stderr)
        return None
    return exchanges


def _recorded(exchanges: Collection[CoverageRow]) -> bool:
    """Whether there is a record: of tables nobody knows who was listened to."""
    return not len(exchanges) or any(exchange["connected_share"] is not None for exchange in exchanges)


def _covered(exchanges: Collection[CoverageRow], range: str) -> None:
    """Say beside realised numbers who was listened to; where nobody was, they tell nothing."""
    heard = _heard(exchanges)
    if not any(share for _, share in heard):
        raise NoAnswer(f"{_nobody(range)}: these numbers tell nothing")
    shares = ", ".join(f"{exchange} {_share(share)}" for exchange, share in sorted(heard))
    print(printable(f"listened to in the last {range}: {shares}"), file=sys.stderr)


def _heard(exchanges: Collection[CoverageRow]) -> list[tuple[str, float]]:
    return [(exchange["exchange"], exchange["connected_share"] or 0.0) for exchange in exchanges]


def _nobody(range: str) -> str:
    return f"no record that anybody was listened to in the last {range}"


def _share(share: float) -> str:
    """Give a share in percent; only what is whole is called so."""
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"
