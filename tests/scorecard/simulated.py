"""Maps against the true positions of simulated markets: as they are, seen badly, and of traders with other habits."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

import liqdata
from liqdata.market import _demo

COINS = ("BTC", "ETH", "SOL")
MODEL = "the model"
MODELS = {MODEL: liqdata.Model()}


def weighted(power: float) -> liqdata.Model:
    """The model with other weights of its leverages."""
    tiers = MODELS[MODEL].tiers
    return liqdata.Model(tiers=tiers, weights=[tier**power for tier in tiers])


# Alternatives; the model itself has the power of -3/4.
OTHERS = {"k^(−1/4)": weighted(-0.25), "k^(−1/2)": weighted(-0.5), "1/k": weighted(-1.0)}
NOW = 1_780_272_000_000
REACH = 30
FAR = (2, 6, 12, 20)
SCORES = ("overlap", "rank_correlation", "ratio_1pct", "ratio_2pct", "ratio_5pct", "ratio_10pct")
NEAR = (1, 2, 5, 10)
MINUTE = 60_000


def truth(market: liqdata.Market) -> pd.DataFrame:
    """The true positions as a table of measured ones."""
    frames = []
    for coin in COINS:
        frame = market.true_positions(coin).to_pandas()
        frame["timestamp"] = market.now
        frame["value_usd"] = frame["qty"] * frame["liquidation_price"]
        frames.append(frame.rename(columns={"liquidation_price": "price"}))
    return pd.concat(frames, ignore_index=True)


def scored(market: liqdata.Market, positions: pd.DataFrame, model: liqdata.Model) -> pd.DataFrame:
    """What `score_truth` says, and the USD that its ratios are of, as ``map_5pct`` and ``true_5pct``."""
    found = liqdata.score_truth(market, positions=positions, symbols=COINS, model=model).to_pandas()
    for coin in COINS:
        grid = market.liqmap(coin, "7d", model=model)
        of_coin = positions[positions["symbol"] == coin]
        distance = (of_coin["price"] / grid.current_price - 1).abs()
        for side in ("LONG", "SHORT"):
            row = (found["symbol"] == coin) & (found["side"] == side)
            for near in NEAR:
                chosen = (of_coin["side"] == side) & (distance <= near / 100)
                found.loc[row, f"map_{near}pct"] = grid.within[str(near)][f"{side.lower()}_usd"]
                found.loc[row, f"true_{near}pct"] = of_coin.loc[chosen, "value_usd"].sum()
    return found


def pooled(found: pd.DataFrame) -> pd.Series:
    """The scores of many markets: means of the shape, ratios of sums, and the medians of the ratios."""
    scores = {name: found[name].mean() for name in ("overlap", "rank_correlation")}
    for near in NEAR:
        scores[f"ratio_{near}pct"] = found[f"map_{near}pct"].sum() / found[f"true_{near}pct"].sum()
        scores[f"median_{near}pct"] = found[f"ratio_{near}pct"].median()
    return pd.Series(scores)


# --- as it is


def as_it_is(
    seeds: Iterable[int], others: Callable[[liqdata.Market], pd.DataFrame] | None = None
) -> dict[str, pd.DataFrame]:
    """By model, and by what `others` holds against the same markets, one row per seed, coin and side."""
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in MODELS}
    for seed in seeds:
        with liqdata.demo(seed=seed) as market:
            positions = truth(market)
            for name, model in MODELS.items():
                found[name].append(scored(market, positions, model).assign(seed=seed))
            if others is not None:
                for name, rows in others(market).groupby("source", sort=False):
                    found.setdefault(str(name), []).append(rows.drop(columns="source").assign(seed=seed))
    return {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}


def level_distances(seeds: Iterable[int]) -> list[float]:
    """Distances of the levels "10" from the price, in standard deviations of seven days."""
    found = []
    for seed in seeds:
        with liqdata.demo(seed=seed) as market:
            for coin in COINS:
                levels = market.levels(coin)
                sigma = levels.meta["explain"]["sigmaDay"] * 7**0.5
                tier = levels["tiers"]["10"]
                prices = (tier["longPrice"], tier["shortPrice"])
                found += [abs(price / levels["price"] - 1) / sigma for price in prices]
    return found


# --- seen badly


class Seen:
    """What a reader of feeds has of a simulated market, as tables."""

    def __init__(self, market: liqdata.Market) -> None:
        self.bars = {coin: market.bars(coin).to_pandas() for coin in COINS}
        interest = pd.concat([market.open_interest(coin).to_pandas() for coin in COINS], ignore_index=True)
        self.interest = interest
        self.now = market.now

    def market(
        self,
        bars: Mapping[str, pd.DataFrame] | None = None,
        interest: pd.DataFrame | None = None,
        *,
        known: bool = True,
    ) -> liqdata.Market:
        tables = pd.concat((self.bars if bars is None else bars).values(), ignore_index=True)
        readings = (self.interest if interest is None else interest) if known else None
        return liqdata.Market(bars=tables, open_interest=readings, now=self.now)


def coarse(seen: Seen, minutes: int) -> dict[str, pd.DataFrame]:
    """Bars of so many minutes."""
    made = {}
    for coin, bars in seen.bars.items():
        group = bars["timestamp"].dt.floor(f"{minutes}min")
        table = bars.groupby(group, as_index=False).agg(
            symbol=("symbol", "first"),
            open=("open", "first"),
            high=("high", "max"),
            low=("low", "min"),
            close=("close", "last"),
            volume=("volume", "sum"),
        )
        made[coin] = table.assign(timestamp=sorted(group.unique()), interval=minutes * MINUTE)
    return made


def of_venues(seen: Seen, *names: str) -> pd.DataFrame:
    return seen.interest[seen.interest["exchange"].isin(names)]


def every(seen: Seen, minutes: int) -> pd.DataFrame:
    """Readings of the sum of all venues, every so many minutes."""
    total = seen.interest.groupby(["symbol", "timestamp"], as_index=False)["open_interest"].sum()
    return total[total["timestamp"] == total["timestamp"].dt.floor(f"{minutes}min")]


def in_turn(seen: Seen) -> pd.DataFrame:
    """Readings of each venue at a minute of its own of every hour, ten minutes after the one before."""
    place = seen.interest["exchange"].map(
        {name: i for i, name in enumerate(sorted(seen.interest["exchange"].unique()))}
    )
    return seen.interest[seen.interest["timestamp"].dt.minute == 10 * place]


def without_bars(seen: Seen, share: float, seed: int) -> dict[str, pd.DataFrame]:
    """Each bar missing with this chance, but for the last ones."""
    chance = np.random.default_rng(seed)
    return {
        coin: bars[(chance.random(len(bars)) >= share) | (np.arange(len(bars)) >= len(bars) - 12)]
        for coin, bars in seen.bars.items()
    }


QUALITIES: dict[str, Callable[[Seen], liqdata.Market]] = {
    "all five exchanges, 5-minute bars": lambda seen: seen.market(),
    "open interest of three exchanges (79 %)": lambda seen: seen.market(
        interest=of_venues(seen, "binance", "bybit", "okx")
    ),
    "open interest of one exchange (42 %)": lambda seen: seen.market(interest=of_venues(seen, "binance")),
    "open interest once an hour": lambda seen: seen.market(interest=every(seen, 60)),
    "open interest once a day": lambda seen: seen.market(interest=every(seen, 24 * 60)),
    "the largest exchange (42 %) missing one hour of six": lambda seen: seen.market(
        interest=seen.interest[(seen.interest["exchange"] != "binance") | (seen.interest["timestamp"].dt.hour % 6 != 0)]
    ),
    "each exchange once an hour, one after the other": lambda seen: seen.market(interest=in_turn(seen)),
    "no open interest": lambda seen: seen.market(known=False),
    "bars of 15 minutes": lambda seen: seen.market(coarse(seen, 15)),
    "bars of 1 hour": lambda seen: seen.market(coarse(seen, 60)),
    "bars of 4 hours": lambda seen: seen.market(coarse(seen, 240)),
    "a tenth of the bars missing": lambda seen: seen.market(without_bars(seen, 0.1, 0)),
    "bars without their volume": lambda seen: seen.market(
        {
            # What is usual of a bar of its length.
            coin: bars.assign(volume=bars.groupby("interval")["volume"].transform("mean"))
            for coin, bars in seen.bars.items()
        }
    ),
}


def seen_badly(seeds: Iterable[int]) -> pd.DataFrame:
    """One row per quality, seed, coin and side, of the present model."""
    rows = []
    for seed in seeds:
        with liqdata.demo(seed=seed) as market:
            seen, positions = Seen(market), truth(market)
        for quality, worse in QUALITIES.items():
            with worse(seen) as made:
                rows.append(scored(made, positions, MODELS[MODEL]).assign(quality=quality, seed=seed))
    return pd.concat(rows, ignore_index=True)


# --- other habits

# Tilt of the leverages, holding times over the usual ones, share of traders who add margin.
USUAL = (0.0, 1.0, 0.3)
HABITS: dict[str, tuple[float, float, float]] = {
    "usual": USUAL,
    "lower leverage (weights × k^−0.75)": (-0.75, 1.0, 0.3),
    "higher leverage (weights × k^0.75)": (0.75, 1.0, 0.3),
    "positions last a quarter as long": (0.0, 0.25, 0.3),
    "positions last four times as long": (0.0, 4.0, 0.3),
    "no one adds margin": (0.0, 1.0, 0.0),
    "four of five add margin": (0.0, 1.0, 0.8),
    "lower leverage, four times as long": (-0.75, 4.0, 0.3),
    "higher leverage, a quarter as long": (0.75, 0.25, 0.3),
}


def of_habits(seeds: Iterable[int]) -> pd.DataFrame:
    """One row per habits, model, seed, coin and side, with the facts of the market."""
    rows = []
    for habits, drawn in HABITS.items():
        for seed in seeds:
            with _demo(seed, NOW, drawn) as market:
                known, positions = facts(market), truth(market)
                for name, model in {**MODELS, **OTHERS}.items():
                    found = scored(market, positions, model)
                    rows.append(found.assign(habits=habits, model=name, seed=seed, **known))
    return pd.concat(rows, ignore_index=True)


def facts(market: liqdata.Market) -> dict[str, float]:
    """What the positions and orders of a market's BTC are like."""
    positions = market.true_positions("BTC").to_pandas()
    price = market.liqmap("BTC", "7d", model=2).current_price
    interest = float((positions["qty"] * price).sum() / 2)
    # A maker holds at 2x from the last price, and is never liquidated.
    traders = positions[(positions["leverage"] > 2) | (positions["entry_price"] != price)]
    usd = traders["qty"] * traders["liquidation_price"]
    distance = (traders["liquidation_price"] / price - 1).abs()
    near = usd[distance <= REACH / 100].sum()
    # Of the last day, as they were published.
    orders: list[dict[str, Any]] = [row for row in market.iter_orders(start="-1d") if row["symbol"].startswith("BTC")]
    value = np.asarray([float(row["value_usd"]) for row in orders])
    long = np.asarray([row["side"] == "LONG" for row in orders])
    at = np.asarray([row["timestamp"] for row in orders])
    hours = np.bincount((at - at.min()) // (60 * MINUTE), value, 24) if len(at) else np.zeros(24)
    volume = market.bars("BTC").to_pandas()
    volume = volume[volume["timestamp"] >= market.now - timedelta(days=1)]
    traded = float((volume["volume"] * volume["close"]).sum())
    return {
        "leverage": float(np.average(traders["leverage"], weights=traders["qty"])),
        **{f"within_{far}": float(usd[distance <= far / 100].sum() / near) for far in FAR},
        "liquidated_usd": float(value.sum()),
        "of_interest": float(value.sum()) / interest,
        "of_volume": float(value.sum() / traded),
        "orders": float(len(value)),
        "median_order": float(np.median(value)) if len(value) else float("nan"),
        "mean_order": float(value.mean()) if len(value) else float("nan"),
        "top_tenth": float(np.sort(value)[::-1][: max(1, len(value) // 10)].sum() / value.sum()) if len(value) else 0.0,
        "long_share": float(value[long].sum() / value.sum()) if len(value) else float("nan"),
        "top_hour": float(hours.max() / hours.sum()) if len(at) else float("nan"),
    }
