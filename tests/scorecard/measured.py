"""Maps against positions that were measured on Hyperliquid, where the recordings are at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
from simulated import FAR, MODELS, OTHERS

import liqdata
from liqdata.scoring.maps.curves import of_map

BIN = 0.005
FLOOR = 0.01
FIXED = (("20 %", 0.20, FLOOR), ("30 %", 0.30, FLOOR), ("30 % with 5 % uniform", 0.30, 0.05))
GATED = "30 %"
COVERED = "as far as the map has mass"
MOCK = 1e5  # the price of a snapshot that is none
APART = 0.02


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


class Measured:
    """The snapshots, and the maps as of each."""

    def __init__(self, folder: Path) -> None:
        bars, interest = recorded(folder, "2025-12-20", "2026-02-24")
        self.market = liqdata.Market(bars=bars, open_interest=interest)
        positions = pd.read_csv(folder / "hl_top_trader_btc_liqmap_20260126_20260222.csv")
        self.positions = positions.assign(symbol="BTC", t=pd.to_datetime(positions["t"], utc=True))

    def truth(self) -> tuple[pd.DataFrame, int, float]:
        """What `score_truth` says, by model, how many snapshots it used, and how many prices one has."""
        frames, used = [], 0
        for name, model in MODELS.items():
            rows = liqdata.score_truth(self.market, positions=self.positions, model=model)
            used = rows.meta["snapshots"]["BTC"]
            frames.append(rows.to_pandas().assign(model=name))
        return pd.concat(frames, ignore_index=True), used, float(self.positions.groupby("t").size().mean())

    def log_scores(self) -> pd.DataFrame:
        """Mean over the positions, by their USD, of the logarithm of the map's share of a bin over a uniform one's.

        In windows that end at a reach, or at the farthest price that the map has mass at on that side. Of the map's
        share `FLOOR` is taken to be uniform, so that an empty bin costs something finite.
        """
        sums: dict[tuple[str, str, str], np.ndarray] = {}
        for at, snapshot in self.positions.groupby("t"):
            instant = int(at.timestamp() * 1000)
            for name, model in {**MODELS, **OTHERS}.items():
                grid = self.market.liqmap("BTC", "7d", model=model, as_of=instant)
                if abs(snapshot["cur"].iloc[0] / grid.current_price - 1) > APART:
                    continue
                for side in ("long", "short"):
                    mine = snapshot[snapshot["side"] == side]
                    far = (mine["price"] / mine["cur"] - 1).abs().to_numpy()
                    table = grid.prices[(grid.sides == side) & (grid.total > 0)]
                    covered = float(np.abs(table / grid.current_price - 1).max()) if len(table) else 0.0
                    for window, reach, floor in (*FIXED, (COVERED, covered, FLOOR)):
                        found = _score(grid, side, far, mine["value"].to_numpy(), reach=reach, floor=floor)
                        sums[window, name, side] = sums.get((window, name, side), np.zeros(3)) + found
        rows = [
            {"window": window, "model": model, "side": side, "score": logs / inside, "inside": inside / total}
            for (window, model, side), (logs, inside, total) in sums.items()
        ]
        return pd.DataFrame(rows)

    def near(self) -> dict[str, float]:
        """Share of the measured USD within some distances, the mean of both sides; without the mock."""
        real = self.positions[self.positions["cur"] < MOCK]
        far = (real["price"] / real["cur"] - 1).abs()
        sides = [real["side"] == side for side in ("long", "short")]
        return {
            f"within_{near}": float(
                np.mean([real["value"][of & (far <= near / 100)].sum() / real["value"][of].sum() for of in sides])
            )
            for near in FAR
        }


def _score(
    grid: liqdata.LiquidationMap, side: str, far: np.ndarray, usd: np.ndarray, *, reach: float, floor: float = FLOOR
) -> np.ndarray:
    """Sum of USD times logarithms, USD inside the window, all USD."""
    count = max(1, round(reach / BIN))
    inside = far <= reach
    if not inside.any():
        return np.asarray([0.0, 0.0, usd.sum()])
    edges = np.linspace(0.0, reach, count + 1)
    curves, now = of_map(grid, 0), grid.current_price
    if side == "long":
        within = [curves.long.over(now * (1 - edge)) for edge in edges]
    else:
        within = [curves.short.under(now * (1 + edge)) for edge in edges]
    mass = np.diff(within)
    share = mass / mass.sum() if mass.sum() > 0 else np.full(count, 1 / count)
    share = (1 - floor) * share + floor / count
    place = np.minimum((far[inside] / reach * count).astype(np.int64), count - 1)
    return np.asarray([(usd[inside] * np.log(share[place] * count)).sum(), usd[inside].sum(), usd.sum()])
