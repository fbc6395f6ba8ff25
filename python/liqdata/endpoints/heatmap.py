"""Heatmaps: estimates over price and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from liqdata.model import native
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.grids import Heatmap
    from liqdata.model import Model
    from liqdata.types import HeatmapRange, Instants
    from liqdata.types import ModelNumber


def heatmap(
    symbol: str | Sequence[str],
    range: HeatmapRange,
    model: ModelNumber | Model,
    *,
    exchange: str | None,
    as_of: Instants | None,
    explain: bool,
) -> Request[Heatmap]:
    """A heatmap of a coin."""
    parameters = {"symbol": symbol, "range": range, "model": native(model), "exchange": exchange}
    return Request("heatmap", convert.heatmap, parameters, as_of, explain)
