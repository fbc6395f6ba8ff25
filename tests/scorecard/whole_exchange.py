"""The map of Hyperliquid against a census: all open positions of the exchange, in a file of their publisher."""

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from measured import hourly
from simulated import COINS, MODEL, MODELS

import liqdata

EXCHANGE = "hyperliquid"
SPAN = ("2025-12-07", "2026-03-06")


def recorded(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hourly bars of Binance and open interest of Hyperliquid, as far as both are recorded."""
    bars, interest = zip(*(hourly(folder, coin, *SPAN) for coin in COINS), strict=True)
    return pd.concat(bars, ignore_index=True), pd.concat(interest, ignore_index=True)


def scored(file: Path, bars: pd.DataFrame, interest: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What `score_truth` says, with the positions and accounts of each side, and facts of the file."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "archive"
        liqdata.ingest(folder, bars=bars, open_interest=interest, exchange=EXCHANGE)
        done = liqdata.ingest(folder, file)
        with liqdata.open(folder) as market:
            coins = list(bars["symbol"].unique())
            found = liqdata.score_truth(market, symbols=coins, exchange=EXCHANGE, model=MODELS[MODEL])
            frame = found.to_pandas()
            positions = pd.concat([market.positions(coin).to_pandas() for coin in coins], ignore_index=True)
            instant = market.positions(coins[0]).meta["snapshot"]
    of_side = positions.groupby(["coin", "side"])
    counted = of_side["account"].agg(positions="size", accounts="nunique").reset_index()
    missing = positions[positions["liquidation_price"].isna()].groupby(["coin", "side"])["value_usd"].sum()
    counted["without_price"] = [
        float(missing.get((row.coin, row.side), 0.0))
        / float(of_side.get_group((row.coin, row.side))["value_usd"].sum())
        for row in counted.itertuples()
    ]
    frame = frame.merge(counted.rename(columns={"coin": "symbol"}), on=["symbol", "side"], how="left")
    return frame, {"instant": instant, "refused": sum(done.refused.values()), "seen_share": found.meta["seen_share"]}
