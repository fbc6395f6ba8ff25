"""Liquidation maps: estimated or observed liquidations by price and leverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from liqdata import _core
from liqdata.endpoints.span import shown
from liqdata.errors import BadQuery
from liqdata.model import native
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.model import Model
    from liqdata.results.map import LiquidationMap
    from liqdata.types import Instants, MapRange, MapSource, ModelNumber, Opened, Span


def liqmap(
    symbol: str | Sequence[str],
    range: MapRange,
    *,
    model: ModelNumber | Model | None,
    bin: float | None,
    span: Span | tuple[float, float],
    opened: Opened | None,
    exchange: str | None,
    source: MapSource | None,
    as_of: Instants | None,
    explain: bool,
) -> Request[LiquidationMap]:
    """Request the liquidation map of a coin."""
    parameters = {
        "symbol": symbol,
        "model": native(model),
        "bin": bin,
        "opened": opened,
        "exchange": exchange,
        **shown(span),
        **_source_and_range(source, range),
    }
    return Request("liqmap", convert.liqmap, parameters, as_of, explain)


def _source_and_range(source: MapSource | None, range: MapRange) -> dict[str, str]:
    """Check the parameters ``range`` and ``source``, which restrict each other."""
    if source is None or source == "estimate":
        return {"range": range}
    if source != "positions":  # of a recording
        return {"range": range, "source": source}
    # A `range` equal to the default is accepted, because the caller may not have passed it.
    _core.question("liqmap", range=range)
    if range not in {"1d", "all"}:
        msg = (
            f"range: {range!r} is not allowed for a map of observed positions, because their opening times are "
            f"unknown; "
            'allowed: "all", which is also the default'
        )
        raise BadQuery(msg, parameter="range")
    return {"range": "all", "source": source}
