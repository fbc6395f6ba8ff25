"""A snapshot of all positions of an exchange, in the layout of a reservoir."""

import numpy as np
import pyarrow as pa
from pyarrow import parquet


def path_of(folder, at):
    """The path of the snapshot of an instant, in epoch milliseconds."""
    day = np.datetime64(at, "ms").astype("datetime64[D]")
    return folder / f"global/snapshots/perp/all/date={day}/926030000_{at}.parquet"


def written(path, **columns):
    """The file with these columns, and usual values in the others."""
    rows = len(columns["market"])
    usual = {
        "user": [f"0x{place:040x}" for place in range(rows)],
        "leverage_type": ["cross"] * rows,
        "leverage": [10] * rows,
        "funding_pnl": [0.0] * rows,
        "account_value": [100.0] * rows,
        "account_mode": ["standard", None, "unified"] * (rows // 3) + ["standard"] * (rows % 3),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(usual | columns), path)
    return path


def of_simulated(folder, market, coins):
    """The true positions of a simulated market, at its *now*."""
    columns = {name: [] for name in ("market", "size", "notional", "entry_price", "liquidation_price", "leverage")}
    for coin in coins:
        rows = market.true_positions(coin)
        price = market.bars(coin)[-1]["close"]
        columns["market"] += list(rows["symbol"])
        columns["size"] += np.where(rows["side"] == "LONG", rows["qty"], -rows["qty"]).tolist()
        columns["notional"] += (rows["qty"] * price).tolist()
        for name in ("entry_price", "liquidation_price", "leverage"):
            columns[name] += rows[name].tolist()
    return written(path_of(folder, round(market.now.timestamp() * 1000)), **columns)
