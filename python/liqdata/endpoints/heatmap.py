"""Heatmaps: estimates over price and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from liqdata.endpoints.span import shown
from liqdata.model import native
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.model import Model
    from liqdata.results.heatmap import Heatmap
    from liqdata.types import HeatmapRange, Instants, MapSource, ModelNumber, Opened, Span


def heatmap(
    symbol: str | Sequence[str],
    range: HeatmapRange,
    model: ModelNumber | Model,
    *,
    span: Span | tuple[float, float],
    opened: Opened,
    exchange: str | None,
    source: MapSource | None,
    as_of: Instants | None,
    explain: bool,
) -> Request[Heatmap]:
    """Request the heatmap of a coin."""
    parameters = {
        "symbol": symbol,
        "range": range,
        "model": native(model),
        # A service without this parameter answers the default.
        "opened": None if opened == "ever" else opened,
        "exchange": exchange,
        "source": source,
        **shown(span),
    }
    return Request("heatmap", convert.heatmap, parameters, as_of, explain)
