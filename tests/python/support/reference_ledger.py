"""A slow, plain ledger of open positions by liquidation price: what the engine's answers are held against.

One tier world per side and tier: in world k every contract has leverage k, and in it a part for every clock, which
turns over at its rate. Per world, what is located and what is not sums to the open interest, exactly up to rounding.
Weights are applied only when the ledger is read.
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
    clocks: tuple  # of each the share of what is opened and the turnover a day; the shares sum to 1
    h: float = 5e-4
    p0: float = 1.0
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
        # What is not located at the start lies in the clocks as in equilibrium: share over rate.
        standing = [share / rate if rate > 0 else 1.0 for share, rate in rules.clocks]
        self.located = [[[{} for _ in rules.clocks] for _ in range(worlds)] for _ in (LONG, SHORT)]
        self.unlocated = [
            [[open_interest * part / sum(standing) for part in standing] for _ in range(worlds)] for _ in (LONG, SHORT)
        ]
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
        for clocks in self.located[side]:
            fluxes.append([])
            for cells in clocks:
                hit = [j for j in cells if (j >= low if side == LONG else j <= high)]
                fluxes[-1].append(sum(cells.pop(j) for j in hit))
        return fluxes

    def _phi(self, fluxes, realised):
        if realised is None:
            return self.rules.phi0
        predicted = sum(weight * sum(flux) for weight, flux in zip(self.rules.weights, fluxes, strict=True))
        return min(1.0, realised / predicted) if predicted > 0 else 0.0

    def _turn_over(self, side, world, fluxes, phi, bar):
        rules, located, unlocated = self.rules, self.located[side][world], self.unlocated[side][world]
        for clock, flux in enumerate(fluxes):
            unlocated[clock] += flux - phi * flux
        masses = [sum(cells.values()) + mass for cells, mass in zip(located, unlocated, strict=True)]
        left = self.open_interest - phi * sum(fluxes)
        stays = min(left, bar.open_interest) / left if left > 0 else 0.0
        churns = [min(0.5, rate * bar.days * bar.volume_ratio) for _, rate in rules.clocks]
        opened = max(bar.open_interest - left, 0.0)
        opened += sum(churn * mass * stays for churn, mass in zip(churns, masses, strict=True))
        close = self.bin(bar.close)
        for clock, ((share, _), churn) in enumerate(zip(rules.clocks, churns, strict=True)):
            cells = located[clock]
            unlocated[clock] *= (1 - churn) * stays
            for j in cells:
                cells[j] *= (1 - churn) * stays
            for entry in range(rules.entries):
                price = bar.low * (bar.high / bar.low) ** ((entry + 0.5) / rules.entries)
                j = self.bin(price * self.ratios[side][world])
                j = min(j, close - 1) if side == LONG else max(j, close + 1)
                cells[j] = cells.get(j, 0.0) + opened * share / rules.entries

    def lapse(self, days):
        """Time without bars: where positions are is forgotten at the rate of their clock, that they are is not."""
        for side in (LONG, SHORT):
            for located, unlocated in zip(self.located[side], self.unlocated[side], strict=True):
                for clock, (cells, (_, rate)) in enumerate(zip(located, self.rules.clocks, strict=True)):
                    lost = min(0.5, rate * days)
                    unlocated[clock] += lost * sum(cells.values())
                    for j in cells:
                        cells[j] *= 1 - lost

    def regroup(self, factor):
        """Open interest of other venues than before: so many times what is there, wherever it lies."""
        for side in (LONG, SHORT):
            for located, unlocated in zip(self.located[side], self.unlocated[side], strict=True):
                for clock, cells in enumerate(located):
                    unlocated[clock] *= factor
                    for j in cells:
                        cells[j] *= factor
        self.open_interest *= factor

    def usd(self, counted):
        """USD by (bin, side, tier), each tier of a side counted `counted[side]` times."""
        found = {}
        for side in (LONG, SHORT):
            for world, clocks in enumerate(self.located[side]):
                for cells in clocks:
                    for j, mass in cells.items():
                        place = (j, side, world)
                        found[place] = found.get(place, 0.0) + counted[side][world] * mass * self.mid(j)
        return found
