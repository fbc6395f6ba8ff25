"""Paths and realised amounts that the tests of scoring share."""

import numpy as np

from liqdata.scoring import truth
from liqdata.scoring.statistics import path

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
START = 1_767_225_600_000  # 2026-01-01
UNIT = 1e5  # USD of one liquidation


def here(function, tasks):
    return [function(*task) for task in tasks]


def bars(days, seed=1, step=15 * MINUTE):
    """A random walk with a wandering volatility."""
    chance = np.random.default_rng(seed)
    count = days * DAY // step
    size = 0.0025 * np.sqrt(step / (15 * MINUTE))
    wild = np.exp(np.clip(np.cumsum(chance.normal(0, 0.03, count)), -1, 1))
    close = 60_000 * np.exp(np.cumsum(chance.normal(0, size, count) * wild))
    before = np.concatenate(([60_000.0], close[:-1]))
    return {
        "timestamp": START + step * np.arange(count),
        "open": before,
        "high": np.maximum(before, close) * np.exp(np.abs(chance.normal(0, size / 2, count)) * wild),
        "low": np.minimum(before, close) * np.exp(-np.abs(chance.normal(0, size / 2, count)) * wild),
        "close": close,
        "volume": chance.lognormal(0, 0.5, count) * wild,
    }


def moves(table, period=HOUR):
    """The path of all whole periods of bars, nothing realised yet."""
    known = path.read_bars(table, "BTC")
    first = known.start // period + 1
    opens = np.arange(first, (known.start + known.interval * len(known.close)) // period) * period
    return path.read_path(truth.Truth(opens, np.zeros((len(opens), 2)), period, "totals", 0, None), known)


def drawn(mu, seed):
    return np.random.default_rng(seed).poisson(mu / UNIT) * UNIT


def totals(opens, usd):
    return {"timestamp": opens, "long_usd": usd[:, 0], "short_usd": usd[:, 1]}


def lumpy(seen, seed=3):
    """A map that knows something that the path does not: how much lay there is a matter of chance."""
    chance = np.random.default_rng(seed)
    return 1e6 * ((seen.excursion - 1.0) / 20.0) ** 1.3 * chance.lognormal(0.0, 0.8, seen.excursion.shape)


def line(rows, side="both", **wanted):
    (found,) = [row for row in rows if row["side"] == side and all(row[key] == cell for key, cell in wanted.items())]
    return found
