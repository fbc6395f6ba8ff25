"""What was tried so that the map adds more to the adaptive path, and what came of it: run this file.

Where there is something to choose it is chosen on the first half of its time and reported on the second. It needs the
recordings that ``$LIQDATA_REAL_DATA`` names. ``docs/explanation/model.md`` has the figures under "Tried and not taken".
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from baseline_maps import by_venue
from measured import recorded
from realised import LEVERAGES, LIVES, MARGIN, TRADERS, WEIGHTS, traders
from simulated import SCORES

import liqdata
from liqdata.scoring.maps.curves import of_map

SHORT_SPAN = ("2026-03-24 12:00", "2026-06-11 00:00")  # of which there are bars of five minutes too
LONG_SPAN = ("2025-12-01", "2026-06-12")
SEEDS = range(3)
BIN = 0.005
FLOOR = 0.01


def five_minutes(folder: Path) -> pd.DataFrame:
    """BTC bars of 5 minutes, of the span in which they meet those of 15."""
    bars = pd.read_csv(folder / "btc_5m_candles_20260324_20260622.csv")
    bars["timestamp"] = pd.to_datetime(bars["timestamp"], unit="ms", utc=True)
    start, end = SHORT_SPAN
    bars = bars[(bars["timestamp"] >= start) & (bars["timestamp"] < end)].reset_index(drop=True)
    return bars[["timestamp", "open", "high", "low", "close", "volume"]].assign(symbol="BTC")


def gains(
    maps: dict[str, Any], liquidated: pd.DataFrame, options: dict[str, Any], spans: dict[str, dict[str, Any]]
) -> pd.DataFrame:
    """What each map adds to the adaptive path, by stretch of time, of both sides together."""
    rows = []
    for half, span in spans.items():
        card = liqdata.score(maps, liquidated, period="1h", **options, **span)
        rows += [
            {"span": half, **{name: row[name] for name in ("map", "state", "n", "dig", "dig_low", "dig_high")}}
            for row in (*card.rows(), *card.references())
            if row["side"] == "both"
            and row["map"].startswith((*maps, "pool", "baseline"))
            and not row["map"].startswith(tuple(f"{name}: " for name in maps))
        ]
    return pd.DataFrame(rows)


def finer(folder: Path) -> pd.DataFrame:
    """Entries by the volume of a bar's thirds: the same ledger on bars of 5 minutes and of 15.

    The traders live on the bars of 5 minutes, so where inside a quarter of an hour they enter is known to those alone.
    """
    fine = five_minutes(folder)
    coarse, interest = recorded(folder, *SHORT_SPAN)
    found = []
    for seed in SEEDS:
        liquidated = traders(fine, seed, count=TRADERS * 5 // 12, per_hour=12).iloc[24:]
        maps = {
            "bars of 15 minutes": liqdata.Market(bars=coarse, open_interest=interest),
            "bars of 5 minutes": liqdata.Market(bars=fine, open_interest=interest),
        }
        options = {"bars": fine, "open_interest": interest}
        times = liquidated["timestamp"]
        middle = times.iloc[len(times) // 2].floor("1D")
        spans = {"first": {"end": middle}, "second": {"start": middle}}
        found.append(gains(maps, liquidated, options, spans).assign(seed=seed))
    return pd.concat(found, ignore_index=True)


def others(folder: Path) -> pd.DataFrame:
    """Other parameters on half a year, and, for the most there is to gain, one that knows what the traders are like."""
    bars, interest = recorded(folder, *LONG_SPAN)
    liquidated = traders(bars, 0).iloc[24:]
    clocks = [(share, 24 / hours) for share, hours in LIVES]
    tiers = [int(leverage) for leverage in LEVERAGES]
    rest = {
        "three clocks": liqdata.Model(clocks=[(0.2, 0.1), (0.4, 2.0), (0.4, 16.0)]),
        "knows leverages and lives": liqdata.Model(tiers=tiers, weights=list(WEIGHTS), mmr=MARGIN, clocks=clocks),
    }
    options = {"bars": bars, "open_interest": interest, "baselines": rest}
    spans = {"whole": {}, "second half": {"start": "2026-03-12"}}
    return gains({"the model": liqdata.Model()}, liquidated, options, spans)


def of_venue(folder: Path) -> pd.DataFrame:
    """The measured positions of Hyperliquid against a ledger of its own open interest, recorded by the hour."""
    bars, interest = recorded(folder, "2025-12-08", "2026-02-24")
    table = pd.read_parquet(folder / "unlicense_hourly_open_interest.parquet")
    table = table[(table["coin"] == "BTC") & (table["venue"] == "hyperliquid")].sort_values("timestamp")
    table["timestamp"] = pd.to_datetime(table["timestamp"], utc=True)
    price = bars.set_index("timestamp")["close"].reindex(table["timestamp"], method="ffill").to_numpy()
    own = pd.DataFrame(
        {"symbol": "BTC", "timestamp": table["timestamp"], "open_interest": table["oi_usd"].to_numpy() / price}
    ).dropna()
    markets = {
        "Binance's open interest": liqdata.Market(bars=bars, open_interest=interest),
        "its own": liqdata.Market(bars=bars, open_interest=own),
    }
    positions = pd.read_csv(folder / "hl_top_trader_btc_liqmap_20260126_20260222.csv")
    positions["t"] = pd.to_datetime(positions["t"], utc=True)
    middle = positions["t"].drop_duplicates().sort_values().iloc[positions["t"].nunique() // 2]
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    for at, snapshot in positions.groupby("t"):
        for name, market in markets.items():
            grid = market.liqmap("BTC", "7d", model=2, as_of=at.to_pydatetime())
            if abs(snapshot["cur"].iloc[0] / grid.current_price - 1) > 0.02:
                continue
            for side in ("long", "short"):
                mine = snapshot[snapshot["side"] == side]
                far = (mine["price"] / mine["cur"] - 1).abs().to_numpy()
                found = _score(grid, side, far, mine["value"].to_numpy(), reach=0.30, floor=FLOOR)
                key = ("first" if at < middle else "second", name, side)
                sums[key] = sums.get(key, np.zeros(3)) + found
    rows = [
        {"half": half, "map": name, "side": side, "score": logs / inside}
        for (half, name, side), (logs, inside, _) in sums.items()
    ]
    return pd.DataFrame(rows)


def _score(
    grid: liqdata.LiquidationMap, side: str, far: np.ndarray, usd: np.ndarray, *, reach: float, floor: float = FLOOR
) -> np.ndarray:
    """Sum of USD times logarithms, USD inside the window, all USD.

    The logarithm is that of the map's share of a bin over a uniform share. A part of the map's share is taken to be
    uniform, so that an empty bin costs something finite.
    """
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


def of_venues(_: Path) -> pd.DataFrame:
    """Of simulated markets: the sum of one map per exchange, and the map of all open interest."""
    rows = []
    for seed in range(6):
        with liqdata.demo(seed=seed) as market:
            rows.append(by_venue(market))
    found = pd.concat(rows, ignore_index=True)
    return found.groupby("source", sort=False)[list(SCORES)].mean().reset_index()


PARTS = {"finer": finer, "others": others, "of_venue": of_venue, "of_venues": of_venues}


def main() -> None:
    folder = Path(os.environ["LIQDATA_REAL_DATA"]) / "market"
    asked = sys.argv[1:] or PARTS
    pd.set_option("display.width", 200)
    for name in asked:
        print(f"== {name}", flush=True)
        found = PARTS[name](folder)
        print(found.round(4).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
