"""The prices that a map shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from liqdata.calls.arguments import choice, number
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from liqdata.types import Span

_ENDS = 2  # the lowest and the highest price
_ALLOWED = '"reach", "all", or a lowest and a highest price above 0, such as (55_000, 70_000)'


def shown(span: Span | tuple[float, float]) -> dict[str, object]:
    """Convert a span to query parameters.

    The default is not sent: a service without this parameter answers with its own span.
    """
    if isinstance(span, str):
        name = choice(span, "span", ("reach", "all"))
        return {} if name == "reach" else {"span": name}
    if not isinstance(span, (tuple, list)) or len(span) != _ENDS:
        msg = f"span: {span!r} is not allowed; allowed: {_ALLOWED}"
        raise BadQuery(msg, parameter="span")
    low, high = (number(end, "span", _ALLOWED) for end in span)
    if not 0 < low < high < math.inf:
        msg = f"span: {span!r} is not allowed; allowed: {_ALLOWED}"
        raise BadQuery(msg, parameter="span")
    return {"low": low, "high": high}
