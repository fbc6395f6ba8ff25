"""Levels and max pain: the prices with the most estimated liquidations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from liqdata.calls.arguments import choice
from liqdata.model import native
from liqdata.source import convert
from liqdata.source.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.model import Model
    from liqdata.results.record import Record
    from liqdata.types import Headline, Instants, MapSource, ModelNumber


def levels(
    symbol: str | Sequence[str],
    *,
    model: ModelNumber | Model | None,
    headline: Headline,
    as_of: Instants | None,
    explain: bool,
) -> Request[Record]:
    """Request the strongest price level on each side, for each leverage tier."""
    return Request("levels", convert.record, _parameters(symbol, model, headline), as_of, explain)


def maxpain(
    symbol: str | Sequence[str],
    *,
    model: ModelNumber | Model | None,
    headline: Headline,
    source: MapSource | None,
    as_of: Instants | None,
    explain: bool,
) -> Request[Record]:
    """Request the strongest price level on each side, for a day and a week."""
    parameters = {**_parameters(symbol, model, headline), "source": source}
    return Request("maxpain", convert.record, parameters, as_of, explain)


def _parameters(
    symbol: str | Sequence[str], model: ModelNumber | Model | None, headline: Headline
) -> dict[str, object]:
    # A service without this parameter answers the default.
    chosen = choice(headline, "headline", ("reach", "strongest"))
    return {"symbol": symbol, "model": native(model), "headline": None if chosen == "reach" else chosen}
