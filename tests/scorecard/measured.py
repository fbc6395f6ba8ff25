"""Maps against positions that were measured on Hyperliquid, where the recordings are at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
from simulated import COINS, FAR, MODEL, MODELS, REACH

import liqdata

DISTANCES = (0.01, 0.02, 0.05, 0.10, 0.30)
GATED_COIN = "BTC"
GATED = (0.05, 0.10, 0.30)
SIDES = ("long", "short")
SPAN = ("2025-12-20", "2026-02-24")
DRAWS = 2000


def recorded(folder: Path, start: str, end: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """BTC bars of 15 minutes and open interest, from one day until before another."""
    bars = pd.read_csv(folder / "btc_15m_candles_20250622_20260622.csv")
    bars["timestamp"] = pd.to_datetime(bars["timestamp"], utc=True)
    found = pd.read_csv(folder / "btc_oi_5m_20251201_20260611.csv")
    interest = pd.DataFrame(
        {
            "symbol": "BTC",
            "timestamp": pd.to_datetime(found["t"], unit="ms", utc=True),
            "open_interest": found["oi"],
        }
    )
    bars = bars.assign(symbol="BTC")

    def within(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[(frame["timestamp"] >= start) & (frame["timestamp"] < end)].reset_index(drop=True)

    return within(bars), within(interest)


def hourly(folder: Path, coin: str, start: str, end: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hourly bars of Binance and open interest of Hyperliquid, from one day until before another."""
    bars = pd.read_parquet(folder / "unlicense_hourly_candles_multi_venue.parquet")
    bars = bars[(bars["coin"] == coin) & (bars["venue"] == "binance")]
    names = {"o": "open", "h": "high", "l": "low", "c": "close", "v": "volume"}
    interest = pd.read_parquet(folder / "unlicense_hourly_open_interest.parquet")
    interest = interest[(interest["coin"] == coin) & (interest["venue"] == "hyperliquid")]

    def within(frame: pd.DataFrame) -> pd.DataFrame:
        of_span = frame[(frame["timestamp"] >= start) & (frame["timestamp"] < end)]
        return of_span.sort_values("timestamp", ignore_index=True).assign(symbol=coin)

    bars = within(bars.rename(columns=names))[["symbol", "timestamp", *names.values()]]
    interest = within(interest.rename(columns={"oi_usd": "open_interest_usd"}))
    interest = interest.assign(exchange="hyperliquid")
    return bars, interest[["symbol", "exchange", "timestamp", "open_interest_usd"]]


class Measured:
    """Snapshots of positions of many accounts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        found = pd.read_csv(folder / "hl_positions_btc_eth_sol_20260204_20260222.csv.gz")
        found["t"] = pd.to_datetime(found["t"], utc=True, format="ISO8601")
        found["side"] = found["side"].str.lower()
        # A position without a liquidation price is at no distance.
        found["far"] = (found["liquidation_price"] / (found["value"] / found["size"]) - 1).abs()
        self.positions = found

    def shares(self) -> pd.DataFrame:
        """Share of the USD of all positions within each distance, one row per coin, side and distance.

        ``measured``, its 95 % interval over resampled accounts (``low``, ``high``), and the ``model``: the mean over
        the snapshots of USD of the seven-day map within the distance, over the open interest.
        """
        chance = np.random.default_rng(0)
        rows = []
        for coin in COINS:
            stated = self._stated(coin)
            for side in SIDES:
                mine = self.positions[(self.positions["coin"] == coin) & (self.positions["side"] == side)]
                value = mine.groupby("account")["value"].sum()
                drawn = chance.integers(0, len(value), (DRAWS, len(value)))
                for distance in DISTANCES:
                    near = mine[mine["far"] <= distance].groupby("account")["value"].sum()
                    near = near.reindex(value.index, fill_value=0.0).to_numpy()
                    whole = value.to_numpy()
                    low, high = np.quantile(near[drawn].sum(axis=1) / whole[drawn].sum(axis=1), [0.025, 0.975])
                    rows.append(
                        {
                            "coin": coin,
                            "side": side,
                            "distance": distance,
                            "measured": near.sum() / whole.sum(),
                            "low": low,
                            "high": high,
                            "model": stated[side, distance],
                        }
                    )
        return pd.DataFrame(rows)

    def _stated(self, coin: str) -> dict[tuple[str, float], float]:
        """The shares of the model by side and distance."""
        bars, interest = recorded(self.folder, *SPAN) if coin == GATED_COIN else hourly(self.folder, coin, *SPAN)
        times = self.positions.loc[self.positions["coin"] == coin, "t"].drop_duplicates().sort_values()
        asked = [at.to_pydatetime() for at in times]
        found: dict[tuple[str, float], list[float]] = {(side, far): [] for side in SIDES for far in DISTANCES}
        with liqdata.Market(bars=bars, open_interest=interest) as market:
            maps = market.liqmap(coin, "7d", model=MODELS[MODEL], span="all", as_of=asked)
            for at, grid in zip(times, maps, strict=True):
                last = interest[interest["timestamp"] <= at].iloc[-1]
                in_usd = "open_interest_usd" in interest
                usd = last["open_interest_usd"] if in_usd else last["open_interest"] * grid.current_price
                far = np.abs(grid.prices / grid.current_price - 1)
                for (side, distance), stated in found.items():
                    within = grid.total[(grid.sides == side) & (far <= distance)].sum()
                    stated.append(float(within / usd))
        return {place: float(np.mean(shares)) for place, shares in found.items()}

    def near(self) -> dict[str, float]:
        """BTC: share of the USD within some distances over that within `REACH` %, the mean of both sides."""
        mine = self.positions[(self.positions["coin"] == GATED_COIN) & (self.positions["far"] <= REACH / 100)]
        sides = [mine[mine["side"] == side] for side in SIDES]
        return {
            f"within_{near}": float(
                np.mean([of["value"][of["far"] <= near / 100].sum() / of["value"].sum() for of in sides])
            )
            for near in FAR
        }

    def meta(self) -> dict[str, object]:
        """How many snapshots and accounts there are, and of which days."""
        times = self.positions["t"]
        return {
            "snapshots": times.nunique(),
            "accounts": self.positions["account"].nunique(),
            "start": times.min(),
            "end": times.max(),
        }
