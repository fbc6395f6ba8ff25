"""Maps against liquidations: simulated ones on recorded bars, and recorded totals of days."""

import heapq
from pathlib import Path

import numpy as np
import pandas as pd
from measured import hourly, recorded
from simulated import COINS, MODEL, MODELS

import liqdata

EXPECTED = liqdata.Model(kappa0=0.21)
BASELINES = ("template", "prints", "interest", "turnover")
HOUR = 3_600_000

# Leverages and lives of the traders: neither the estimate's tiers and clocks nor those of the simulated market.
LEVERAGES = np.asarray([3, 5, 8, 10, 12, 20, 30, 40, 50, 80, 100])
WEIGHTS = np.asarray([10, 16, 8, 20, 4, 16, 5, 5, 9, 2, 5]) / 100
LIVES = ((0.6, 8.0), (0.3, 48.0), (0.1, 400.0))  # share, mean hours
MARGIN = 0.006
TRADERS = 120_000
HOURS_OF_DAY = 24
ONES = "all shares 1"  # of the model without liquidatable shares
LATER = "2026-01-01"  # the liquidatable shares were fitted on earlier days


def traders(bars: pd.DataFrame, seed: int, *, count: int = TRADERS, per_hour: int = 4) -> pd.DataFrame:
    """What traders who live on these bars are liquidated for, hour by hour.

    Each enters where and when volume is traded, holds for a random time, and is liquidated when a later bar gets to its
    price before that.
    """
    chance = np.random.default_rng(seed)
    low, high = bars["low"].to_numpy(), bars["high"].to_numpy()
    volume = bars["volume"].to_numpy()
    entered = np.sort(chance.choice(len(bars), count, p=volume / volume.sum()))
    entry = low[entered] * (high[entered] / low[entered]) ** chance.random(count)
    leverage = chance.choice(LEVERAGES, count, p=WEIGHTS)
    usd = 2e4 * (1 - chance.random(count) * 0.999) ** (-1 / 1.3)
    mean = np.asarray([hours for _, hours in LIVES])[chance.choice(len(LIVES), count, p=[share for share, _ in LIVES])]
    leaves = entered + 1 + np.floor(per_hour * mean * chance.exponential(size=count)).astype(np.int64)
    long = chance.random(count) < 0.5
    price = np.where(long, entry * (1 - 1 / leverage) / (1 - MARGIN), entry * (1 + 1 / leverage) / (1 + MARGIN))
    found = np.zeros((len(bars), 2))
    waiting: tuple[list[tuple[float, int]], list[tuple[float, int]]] = ([], [])
    newest = 0
    for bar in range(len(bars)):
        for side, heap in enumerate(waiting):
            reached = -low[bar] if side == 0 else high[bar]
            while heap and heap[0][0] <= reached:
                _, one = heapq.heappop(heap)
                if leaves[one] >= bar:
                    found[bar, side] += usd[one]
        while newest < count and entered[newest] == bar:
            heapq.heappush(
                waiting[0 if long[newest] else 1], (-price[newest] if long[newest] else price[newest], newest)
            )
            newest += 1
    hour = bars["timestamp"].dt.floor("1h")
    table = pd.DataFrame({"timestamp": hour, "long_usd": found[:, 0], "short_usd": found[:, 1]})
    return table.groupby("timestamp", as_index=False).sum()


def on_recorded_bars(folder: Path) -> tuple[liqdata.scoring.Scorecard, liqdata.scoring.Scorecard]:
    """The card of both versions with the baselines and the pool of all, and that of the fitted model."""
    bars, interest = recorded(folder, "2025-12-01", "2026-06-12")
    liquidated = traders(bars, 0).iloc[24:]
    options = {"bars": bars, "open_interest": interest, "period": "1h"}
    return (
        liqdata.score(MODELS, liquidated, baselines=BASELINES, **options),
        liqdata.score({f"{MODEL}, fitted": EXPECTED}, liquidated, **options),
    )


def by_day(folder: Path) -> pd.DataFrame:
    """USD of the map of Hyperliquid's open positions up to each day's extremes, and its liquidations of the day."""
    totals = pd.read_parquet(folder / "unlicense_daily_liquidation_volume.parquet")
    models = {**MODELS, ONES: liqdata.Model(shares=[])}
    rows = []
    for coin in COINS:
        bars, interest = hourly(folder, coin, "2025-12-01", "2026-02-02")
        of_coin = totals[(totals["coin"] == coin) & (totals["timestamp"] >= interest["timestamp"].iloc[0])]
        asked = [day.to_pydatetime() for day in of_coin["timestamp"]]
        with liqdata.Market(bars=bars, open_interest=interest) as market:
            options = {"exchange": "hyperliquid", "as_of": asked}
            maps = {name: market.liqmap(coin, "all", model=model, **options) for name, model in models.items()}
        for place, day in enumerate(of_coin.itertuples()):
            inside = (bars["timestamp"] >= day.timestamp) & (bars["timestamp"] < day.timestamp + pd.Timedelta(days=1))
            if inside.sum() < HOURS_OF_DAY:
                continue
            price = maps[MODEL][place].current_price
            low, high = min(bars["low"][inside].min(), price), max(bars["high"][inside].max(), price)
            swept = {name: grids[place].swept(low=low, high=high) for name, grids in maps.items()}
            read = interest.loc[interest["timestamp"] <= day.timestamp, "open_interest_usd"].iloc[-1]
            for side, realised, moved in (
                ("long", day.long_usd, 1 - low / price),
                ("short", day.short_usd, high / price - 1),
            ):
                crossed = {name: usd[f"{side}_usd"] for name, usd in swept.items()}
                row = {"coin": coin, "day": day.timestamp, "side": side, "realised": realised, "moved": moved}
                rows.append({**row, **crossed, "interest": read})
    return pd.DataFrame(rows)
