"""The engine's own estimates as something to be scored: one ledger since the data begin, asked for every move."""

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
    """A model on the bars and the open interest of a market."""

    name: str
    market: Market
    model: Model
    symbol: str

    @property
    def version(self) -> str:
        """Digest of all that enters a cell."""
        return self.model.version

    def crossed(self, instants: Millis, lows: Floats, highs: Floats) -> Floats:
        """From the fine grid of the ledger as it stood at the last bar that had closed by each instant."""
        found = np.full((len(instants), 2), np.nan)
        there = np.isfinite(lows) & np.isfinite(highs)
        if there.any():
            core = self.market._source.open_core()  # noqa: SLF001 - refuses a market that is closed
            moves = (instants[there].tolist(), lows[there].tolist(), highs[there].tolist())
            found[there] = core.crossed(self.symbol, native(self.model), *moves).reshape(-1, 2)
        return found

    def refreshed(self, path: Path) -> Floats:
        """By the bars of each period, with what was opened inside it."""
        core = self.market._source.open_core()  # noqa: SLF001 - as above
        usd = core.refreshed(self.symbol, native(self.model), path.opens.tolist(), path.period)
        return usd.reshape(-1, 2)


def on_tables(model: Model, tables: dict[str, Any], truth: Truth, symbol: str, name: str | None) -> Estimated:
    """A model on tables of bars and of open interest, which may leave out what coin they are of.

    One that tells what is expected to be reported is fitted, day by day, to what had been realised by then.
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
    held = Table(table, parameter)
    if "symbol" in held:
        return table
    return {**{name: held.cells(name) for name in held.names}, "symbol": [symbol] * len(held)}
