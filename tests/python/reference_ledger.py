"""A slow, plain ledger of open positions by liquidation price: what the engine's answers are held against.

One tier world per side and tier: in world k every contract has leverage k. Per world, what is located and what is not
sums to the open interest, exactly up to rounding. Weights are applied only when the ledger is read.
"""

import math
from dataclasses import dataclass

LONG, SHORT = 0, 1


@dataclass
class Rules:
    """The parameters of a ledger."""

    tiers: tuple
    margins: tuple
    weights: tuple
    h: float = 5e-4
    p0: float = 1.0
    churn_day: float = 0.25
    entries: int = 5
    phi0: float = 0.05


@dataclass
class Bar:
    """What happened in one bar; realised liquidations are base units of longs and shorts, `None` where unknown."""

    high: float
    low: float
    close: float
    volume_ratio: float
    days: float
    open_interest: float
    realised: tuple = (None, None)


class Ledger:
    """Open positions by liquidation price, for every side and tier."""

    def __init__(self, rules, open_interest):
        self.rules = rules
        self.open_interest = open_interest
        worlds = len(rules.tiers)
        self.located = [[{} for _ in range(worlds)] for _ in (LONG, SHORT)]
        self.unlocated = [[open_interest] * worlds for _ in (LONG, SHORT)]
        self.ratios = [
            [(1 - 1 / k) / (1 - m) for k, m in zip(rules.tiers, rules.margins, strict=True)],
            [(1 + 1 / k) / (1 + m) for k, m in zip(rules.tiers, rules.margins, strict=True)],
        ]

    def bin(self, price):
        return math.floor(math.log(price / self.rules.p0) / self.rules.h)

    def mid(self, j):
        return self.rules.p0 * math.exp((j + 0.5) * self.rules.h)

    def step(self, bar):
        """Sweep what price crossed, close in proportion, open until the open interest is met."""
        swept = [self._sweep(side, bar) for side in (LONG, SHORT)]
        for side in (LONG, SHORT):
            phi = self._phi(swept[side], bar.realised[side])
            for world in range(len(self.rules.tiers)):
                self._turn_over(side, world, swept[side][world], phi, bar)
        self.open_interest = bar.open_interest

    def _sweep(self, side, bar):
        low, high = self.bin(bar.low), self.bin(bar.high)
        fluxes = []
        for cells in self.located[side]:
            hit = [j for j in cells if (j >= low if side == LONG else j <= high)]
            fluxes.append(sum(cells.pop(j) for j in hit))
        return fluxes

    def _phi(self, fluxes, realised):
        if realised is None:
            return self.rules.phi0
        predicted = sum(weight * flux for weight, flux in zip(self.rules.weights, fluxes, strict=True))
        return min(1.0, realised / predicted) if predicted > 0 else 0.0

    def _turn_over(self, side, world, flux, phi, bar):
        rules, cells = self.rules, self.located[side][world]
        liquidated = phi * flux
        self.unlocated[side][world] += flux - liquidated
        left = self.open_interest - liquidated
        change = bar.open_interest - left
        churn = min(0.5, rules.churn_day * bar.days * bar.volume_ratio) * min(left, bar.open_interest)
        opened = max(change, 0.0) + churn
        kept = 0.0 if left <= 0 else max(0.0, 1 - (opened - change) / left)
        for j in cells:
            cells[j] *= kept
        self.unlocated[side][world] *= kept
        close = self.bin(bar.close)
        for entry in range(rules.entries):
            price = bar.low * (bar.high / bar.low) ** ((entry + 0.5) / rules.entries)
            j = self.bin(price * self.ratios[side][world])
            j = min(j, close - 1) if side == LONG else max(j, close + 1)
            cells[j] = cells.get(j, 0.0) + opened / rules.entries

    def lapse(self, days):
        """Time without bars: where positions are is forgotten at the rate of the churn, that they are is not."""
        lost = min(0.5, self.rules.churn_day * days)
        for side in (LONG, SHORT):
            for world, cells in enumerate(self.located[side]):
                self.unlocated[side][world] += lost * sum(cells.values())
                for j in cells:
                    cells[j] *= 1 - lost

    def usd(self, shown):
        """USD by (bin, side, tier), each tier counted `shown` times."""
        return {
            (j, side, world): shown[world] * mass * self.mid(j)
            for side in (LONG, SHORT)
            for world, cells in enumerate(self.located[side])
            for j, mass in cells.items()
        }
