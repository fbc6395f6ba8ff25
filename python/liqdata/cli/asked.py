"""A query from the command line, and remarks on the data in its answer."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.endpoints.contract import endpoints
from liqdata.errors import BadQuery, LiqdataError, NoAnswer, NotCovered
from liqdata.text.printable import printable

from .mistakes import refuse
from .source import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from liqdata.results.rows import Rows
    from liqdata.types import CoverageRow

    from .output.formats import Form
    from .source import Source

__all__ = ["MORE", "Asked", "ask", "check", "method_of", "print_caveats"]

# Endpoints with realised data. Their time range ends at *now*, unless the query has a start or an end.
REALISED = frozenset(
    {"overview", "coins", "exchanges", "largest", "orders", "chart", "undercount", "history", "cascades", "gaps"}
)


MORE = "more orders match: a larger --limit or --all has them"


class Asked(NamedTuple):
    """A parsed query: the endpoint, its arguments, the source and the output format."""

    name: str
    arguments: dict[str, Any]
    source: Source
    form: Form

    @property
    def title(self) -> str:
        """A short title: the endpoint, symbol, exchange and range."""
        endpoint = endpoints().get(self.name)
        defaults = {} if endpoint is None else {each.name: each.default for each in endpoint.parameters}
        if self.arguments.get("source") == "positions":  # positions have no time window
            defaults["range"] = None
        words = (self.arguments.get(key, defaults.get(key)) for key in ("symbol", "exchange", "range"))
        shown = (",".join(word) if isinstance(word, list) else str(word) for word in words if word)
        return " ".join([self.name.replace("_", "-"), *shown])


def ask(asked: Asked, of: Any) -> Any:
    """Send the query to a client or a market and return the answer."""
    method = method_of(of, asked.name)
    check(method, asked)
    with warnings.catch_warnings(action="ignore", category=NotCovered):  # `print_caveats` says it
        return method(**asked.arguments)


def method_of(of: Any, name: str) -> Callable[..., Any]:
    """The method of ``of`` for the endpoint ``name``; refused if there is none."""
    method: Callable[..., Any] | None = getattr(of, name, None)
    if method is None:
        refuse(f"{name.replace('_', '-')}: not available from a service; allowed: with --archive or --demo", name)
    return method


def check(method: Callable[..., Any], asked: Asked) -> None:
    """Refuse arguments that the method does not have."""
    takes = inspect.signature(method).parameters
    for name in asked.arguments:
        if name not in takes:
            shown = name.replace("_", "-")
            refuse(f"{name}: not available from a service; allowed: --{shown} with --archive or --demo", name)


def print_caveats(asked: Asked, of: Any, answer: Any = None) -> None:
    """Print remarks on an answer on standard error: old data, simulated data, coverage, more orders.

    Parameters
    ----------
    asked : Asked
        The query.
    of
        The client or market that answered.
    answer
        The answer; ``None`` if its rows were written one by one.
    """
    from liqdata.results.units import open_interest_age

    age = open_interest_age(getattr(answer, "meta", None) or {})
    if age is not None:
        print(f"{age}: amounts in USD use the open interest of that time", file=sys.stderr)
    meta = getattr(answer, "meta", None) or {}
    if meta.get("covered") == 0 and not _has_window(asked):
        print("no part of the period is covered: zeros and missing rows mean unknown", file=sys.stderr)
    if meta.get("more", False) is not False:
        possibly = "" if meta["more"] else "possibly "
        print(f"{possibly}{MORE}", file=sys.stderr)
    if asked.source.demo:
        print("simulated market", file=sys.stderr)
    elif not asked.source.here and origin_of(of, None).simulated:
        return  # a simulated market has no gaps
    elif asked.name == "coverage":
        recorded = asked.source.archive is not None or _has_record(answer)
        if recorded and not any(share for _, share in _connected_shares(answer)):
            raise NoAnswer(_no_record(asked.arguments.get("range", "24h")))
    elif _is_realised(asked, answer):
        _print_coverage(asked, of, answer)


def _has_window(asked: Asked) -> bool:
    """Whether the query is about a window up to now; its coverage is printed by exchange."""
    recorded = asked.source.archive is not None or not asked.source.here
    return recorded and not {"start", "end"} & asked.arguments.keys()


def _is_realised(asked: Asked, answer: Any) -> bool:
    """Whether the answer has realised data up to *now*.

    For ``gaps`` only if the answer is empty.
    """
    if asked.name == "gaps" and len(answer):
        return False
    return asked.name in REALISED and not {"start", "end"} & asked.arguments.keys()


def _print_coverage(asked: Asked, of: Any, answer: Any) -> None:
    window = asked.arguments.get("range", "24h")
    as_of = {"as_of": asked.arguments["as_of"]} if "as_of" in asked.arguments else {}
    exchanges: Collection[CoverageRow] | None = (getattr(answer, "meta", None) or {}).get("coverage")
    if asked.source.archive is not None:
        _print_shares(of.coverage(window, **as_of) if exchanges is None else exchanges, window)
        return
    if exchanges is None:
        exchanges = _service_coverage(of, window, as_of)
    # A service with a market of tables has no record of coverage.
    if exchanges is not None and _has_record(exchanges):
        _print_shares(exchanges, window)


def _service_coverage(service: Any, window: str, as_of: dict[str, Any]) -> Rows[CoverageRow] | None:
    """The coverage from a separate request; ``None`` if the service has no such endpoint."""
    try:
        exchanges: Rows[CoverageRow] = service.coverage(window, **as_of)
    except BadQuery:  # the service has no coverage endpoint
        return None
    except LiqdataError as error:
        print(f"coverage of the last {window} is unknown: {printable(str(error))}", file=sys.stderr)
        return None
    return exchanges


def _has_record(exchanges: Collection[CoverageRow]) -> bool:
    """Whether a collector recorded the coverage; a market of tables has no such record."""
    return not len(exchanges) or any(exchange["connected_share"] is not None for exchange in exchanges)


def _print_shares(exchanges: Collection[CoverageRow], range: str) -> None:
    """Print the share of time for which each exchange was connected.

    Raise ``NoAnswer`` if no exchange was.
    """
    connected = _connected_shares(exchanges)
    if not any(share for _, share in connected):
        raise NoAnswer(f"{_no_record(range)}: these numbers are not meaningful")
    shares = ", ".join(f"{exchange} {_share(share)}" for exchange, share in sorted(connected))
    print(printable(f"connected in the last {range}: {shares}"), file=sys.stderr)


def _connected_shares(exchanges: Collection[CoverageRow]) -> list[tuple[str, float]]:
    return [(exchange["exchange"], exchange["connected_share"] or 0.0) for exchange in exchanges]


def _no_record(range: str) -> str:
    return f"no record of a connection to any exchange in the last {range}"


def _share(share: float) -> str:
    """Format a share in percent; only exactly 1 is shown as 100 %."""
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"
