"""A question of the command line, ready to be asked, and what is said beside its answer."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata._table import endpoints

from .mistakes import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from liqdata.rows import Rows
    from liqdata.types import CoverageRow

    from .formats import Form
    from .source import Source

__all__ = ["Asked", "ask", "beside", "check", "method_of"]

# The endpoints that tell what happened; rows of history say it themselves.
REALISED = frozenset({"overview", "coins", "exchanges", "largest", "orders", "chart"})


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


def beside(asked: Asked, of: Any) -> None:
    """Say beside the answer what it must not be taken for."""
    if asked.source.demo:
        print("simulated market", file=sys.stderr)
    if asked.source.archive is not None and asked.name in REALISED:
        window = asked.arguments.get("range", "24h")
        as_of = {"as_of": asked.arguments["as_of"]} if "as_of" in asked.arguments else {}
        _covered(of.coverage(window, **as_of), window)


def _covered(venues: Rows[CoverageRow], range: str) -> None:
    """Say beside realised numbers who was listened to; where nobody was, they tell nothing."""
    from liqdata.errors import NoAnswer

    heard = [(venue["exchange"], venue["connected_share"] or 0.0) for venue in venues]
    if not any(share for _, share in heard):
        raise NoAnswer(f"no record that anybody was listened to in the last {range}: these numbers tell nothing")
    told = ", ".join(f"{exchange} {_share(share)}" for exchange, share in sorted(heard))
    print(f"listened to in the last {range}: {told}", file=sys.stderr)


def _share(share: float) -> str:
    """Give a share in percent; only what is whole is called so."""
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"
