"""Answers made by hand, to be drawn: of every kind, plain, empty, of one row, tiny in price, and with long names."""

from datetime import UTC, datetime

import numpy as np

from liqdata.results.heatmap import Heatmap
from liqdata.results.map import LiquidationMap
from liqdata.results.rows import Rows

END = datetime(2026, 6, 11, tzinfo=UTC)
META = {"source": "https://liquidations.example", "as_of": END, "simulated": False, "age": None}
HOUR = np.timedelta64(1, "h")


class Columns:
    """Columns in the place of the native table, as far as drawing asks of it."""

    def __init__(self, columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def names(self):
        return list(self.columns)

    def kinds(self):
        return ["text" if values.dtype.kind == "O" else "float" for values in self.columns.values()]

    def array(self, name):
        return self.columns[name]

    def objects(self, name, _):
        return self.columns[name].tolist()


def rows(question=None, **columns):
    made = {
        name: np.asarray(values, dtype=object if len(values) and isinstance(values[0], str) else None)
        for name, values in columns.items()
    }
    texts = {"coin", "exchange", "symbol", "side"}
    made = {name: values.astype(object) if name in texts else values for name, values in made.items()}
    return Rows(Columns(made), meta={**META, "question": question or {}})


def heatmap(**changes):
    times = np.datetime64("2026-06-10T01:00", "ms") + np.arange(24) * HOUR
    prices = 60_000.0 * np.exp(np.arange(-40, 41) * 2e-3)
    matrix = np.outer(1.0 + np.arange(81), 1.0 + np.arange(24)) * 1e4
    matrix[:10] = 0.0
    fields = {
        "symbol": "BTC",
        "range": "24h",
        "model": 2,
        "updated_at": END,
        "current_price": 60_000.0,
        "prices": prices,
        "times": times,
        "matrix": matrix,
    }
    return Heatmap(**{**fields, **changes})


def liqmap(**changes):
    prices = 60_000.0 + 50.0 + 100.0 * np.arange(-20, 20)
    tiers = np.abs(np.sin(np.outer(np.arange(40), np.arange(1, 5)))) * 1e6
    fields = {
        "symbol": "BTC",
        "range": "1d",
        "updated_at": END,
        "current_price": 60_000.0,
        "bin_width": 100.0,
        "leverages": np.array([10, 25, 50, 100]),
        "prices": prices,
        "sides": np.where(prices < 60_000.0, "long", "short"),
        "tiers": tiers,
        "total": tiers.sum(axis=1),
    }
    return LiquidationMap(**{**fields, **changes})


def bars(count=288, minutes=5, price=60_000.0, end=END):
    """Columns of bars that wander, the last closing at ``end``."""
    at = np.datetime64(end.replace(tzinfo=None), "ms") - np.timedelta64(minutes, "m") * np.arange(count, 0, -1)
    close = price * (1.0 + 0.02 * np.sin(np.arange(count) / 17.0))
    opens = np.concatenate((close[:1], close[:-1]))
    high, low = np.maximum(opens, close) * 1.002, np.minimum(opens, close) * 0.998
    return {"timestamp": at, "open": opens, "high": high, "low": low, "close": close}


def overview(scale=1e6):
    def sums(share):
        return {"long_usd": share * scale, "short_usd": 2 * share * scale, "total_usd": 3 * share * scale, "cnt": 1234}

    return {"1h": sums(1.0), "4h": sums(3.0), "12h": sums(20.0), "24h": sums(51.0)}


def ranking(key, names):
    usd = 9e7 / (1.0 + np.arange(len(names), dtype=float))
    counts = np.arange(len(names), 0, -1) * 1000
    totals = {"long_usd": 0.6 * usd, "short_usd": 0.4 * usd, "total_usd": usd, "cnt": counts}
    return rows({"endpoint": f"{key}s", "range": "24h"}, **{key: np.array(names, dtype=object)}, **totals)


def chart(hours=24):
    opens = np.datetime64("2026-06-10", "ms") + HOUR * np.arange(hours)
    usd = 1e6 * np.abs(np.sin(np.arange(2 * hours)))
    sides = np.array(["LONG", "SHORT"] * hours, dtype=object)
    return rows({"endpoint": "chart", "symbol": "BTCUSDT"}, hour=np.repeat(opens, 2), side=sides, total_usd=usd)


def history(periods=288, minutes=5, names=("binance",), covered=1.0):
    opens = np.datetime64("2026-05-12", "ms") + np.timedelta64(minutes, "m") * np.arange(periods)
    count = periods * len(names)
    usd = 1e5 * (1.0 + np.sin(np.arange(count)))
    return rows(
        {"endpoint": "history", "symbol": "BTC", "interval": str(minutes * 60_000)},
        timestamp=np.repeat(opens, len(names)),
        exchange=np.array(list(names) * periods, dtype=object),
        long_usd=usd,
        short_usd=0.5 * usd,
        total_usd=1.5 * usd,
        cnt=np.full(count, 3),
        largest_usd=0.5 * usd,
        covered=np.full(count, covered),
    )


def cascades(count=40, coins=("BTC", "ETH", "SOL")):
    starts = np.datetime64("2026-06-10", "ms") + np.timedelta64(35, "m") * np.arange(count)
    return rows(
        {"endpoint": "cascades"},
        start=starts,
        end=starts + np.timedelta64(4, "m"),
        coin=np.array([coins[place % len(coins)] for place in range(count)], dtype=object),
        side=np.array([("LONG", "SHORT")[place % 2] for place in range(count)], dtype=object),
        usd=1e5 * np.exp(2.0 + 2.0 * np.sin(np.arange(count) * 1.7)),
        cnt=np.full(count, 12),
    )


def levels(price=60_000.0, tiers=(10, 25, 50, 100)):
    def tier(leverage):
        far = 0.8 / leverage
        return {
            "longPrice": price * (1.0 - far),
            "longIntensity": 1.0,
            "shortPrice": price * (1.0 + far),
            "shortIntensity": 0.2,
        }

    stated = {str(leverage): tier(leverage) for leverage in tiers}
    return {"symbol": "BTC", "price": price, "updatedAt": int(END.timestamp() * 1000), "tiers": stated}


def maxpain(price=60_000.0, far=0.05):
    def pain(usd):
        sides = {
            side: {"price": price * (1.0 + sign * far), "usd": usd, "distPct": 100.0 * sign * far}
            for side, sign in (("long", -1), ("short", 1))
        }
        return {**sides, "totalLong": 30 * usd, "totalShort": 40 * usd}

    when = int(END.timestamp() * 1000)
    return {"symbol": "BTC", "price": price, "updatedAt": when, "d1": pain(2.7e7), "d7": pain(6.1e7)}


def tiny(grid):
    """The same grid of a coin with the price 0.00001."""
    scale = 1e-5 / grid.current_price
    changes = {"symbol": "PEPE", "current_price": 1e-5, "prices": grid.prices * scale}
    if isinstance(grid, Heatmap):
        return heatmap(**changes)
    return liqmap(**changes, bin_width=grid.bin_width * scale)


NAMES = ["1000000BABYDOGE", "hyperliquid-builder-vault-of-a-long-name", "币安人生", "$A$B_{x}", "BTC", "ETH", "SOL"]
MANY = [f"COIN{place}" for place in range(200)]
MONTH = np.datetime64("2026-05-12T04:00", "ms") + 4 * HOUR * np.arange(180)
FAR = 60_000.0 * np.exp(np.arange(-40, 41) * 2e-3)
HOLDING = np.outer(1.0 + np.arange(81), 1.0 + np.arange(180)) * 1e4

ANSWERS = {
    "overview": (overview(), {}),
    "overview-empty": (overview(0.0), {}),
    "coins": (ranking("coin", MANY), {}),
    "coins-named": (ranking("coin", NAMES), {}),
    "coins-none": (ranking("coin", []), {}),
    "exchanges": (ranking("exchange", ["binance", "bybit", "okx"]), {}),
    "exchanges-one": (ranking("exchange", ["hyperliquid"]), {}),
    "chart": (chart(), {}),
    "chart-one": (chart(1), {}),
    "chart-none": (chart(0), {}),
    "history": (history(), {}),
    "history-month": (history(30 * 288, covered=0.9), {}),
    "history-groups": (history(48, 30, tuple(f"exchange{place}" for place in range(12))), {}),
    "history-none": (history(0), {}),
    "heatmap": (heatmap(), {"price": bars()}),
    "heatmap-marks": (heatmap(), {"levels": levels(), "maxpain": maxpain()}),
    "heatmap-month": (
        heatmap(range="1M", times=MONTH, matrix=HOLDING),
        {"price": bars(30 * 288)},
    ),
    "heatmap-tiny": (tiny(heatmap()), {"price": bars(price=1e-5)}),
    "heatmap-none": (heatmap(prices=np.empty(0), matrix=np.empty((0, 24))), {}),
    "liqmap": (liqmap(meta={"simulated": True}), {}),
    "liqmap-marks": (liqmap(), {"levels": levels(), "maxpain": maxpain()}),
    "liqmap-tiny": (tiny(liqmap()), {}),
    "levels": (levels(), {}),
    "levels-tiny": (levels(1e-5, (2, 3, 5, 10, 20, 25, 50, 75, 100, 125)), {}),
    "maxpain": (maxpain(), {}),
    "cascades": (cascades(), {}),
    "cascades-price": (cascades(coins=("BTC",)), {"price": bars()}),
    "cascades-one": (cascades(1), {}),
    "cascades-none": (cascades(0), {}),
}
SIZES = [(4, 3), (8, 5), (14, 8)]
