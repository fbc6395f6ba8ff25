"""The estimates of this package as a source of predictions.

A ledger (the estimated open positions) is replayed once from the start of the data. It gives the USD that every price
move crosses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata.model import Model, native
from liqdata.scoring.columns import Floats, Millis, Table

if TYPE_CHECKING:
    from liqdata.market import Market
    from liqdata.scoring.statistics.path import Path
    from liqdata.scoring.truth import Truth


class Estimated(NamedTuple):
    """The estimate of a model from the bars and open interest of a market."""

    name: str
    market: Market
    model: Model
    symbol: str

    @property
    def version(self) -> str:
        """The version of the model."""
        return self.model.version

    def crossed(self, instants: Millis, lows: Floats, highs: Floats) -> Floats:
        """Crossed USD, from the ledger's own price cells at the last bar that closed by each instant."""
        found = np.full((len(instants), 2), np.nan)
        there = np.isfinite(lows) & np.isfinite(highs)
        if there.any():
            core = self.market._source.open_core()  # noqa: SLF001 - raises if the market is closed
            moves = (instants[there].tolist(), lows[there].tolist(), highs[there].tolist())
            found[there] = core.crossed(self.symbol, native(self.model), *moves).reshape(-1, 2)
        return found

    def refreshed(self, path: Path) -> Floats:
        """USD that the bars of each period cross, including positions opened inside the period."""
        core = self.market._source.open_core()  # noqa: SLF001 - as above
        usd = core.refreshed(self.symbol, native(self.model), path.opens.tolist(), path.period)
        return usd.reshape(-1, 2)


def on_tables(model: Model, tables: dict[str, Any], truth: Truth, symbol: str, name: str | None) -> Estimated:
    """The estimate of a model from tables, with or without a column ``symbol``.

    A model with the expected view is fitted each day to the USD reported before that day.
    """
    from liqdata.market import Market

    given = {key: _of_coin(table, key, symbol) for key, table in tables.items() if table is not None}
    if model.view == "expected":
        given["liquidations"] = {
            "symbol": [symbol] * len(truth.opens),
            "timestamp": truth.opens,
            "long_usd": truth.usd[:, 0],
            "short_usd": truth.usd[:, 1],
            "interval": np.full(len(truth.opens), truth.period),
        }
    return Estimated(name or model.name or f"model {model.version}", Market(**given), model, symbol)


def _of_coin(table: Any, parameter: str, symbol: str) -> Any:
    data = Table(table, parameter)
    if "symbol" in data:
        return table
    return {**{name: data.cells(name) for name in data.names}, "symbol": [symbol] * len(data)}
