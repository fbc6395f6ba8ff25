"""All ten answers from recorded market data: a market of own tables, served and asked through both clients.

Needs the folder of recordings in ``$LIQDATA_REAL_DATA``: fifteen-minute BTC candles, five-minute BTC open interest and
samples of liquidation orders. Writes the BTC heatmap of the last seven days::

    LIQDATA_REAL_DATA=path/to/data python examples/real_input.py [heatmap.png]
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import liqdata
from liqdata import plot

Table = dict[str, list[Any]]

# Candles and open interest end here.
ESTIMATES_AT = "2026-06-11T00:00:00Z"

REALISED = ("overview", "coins", "exchanges", "largest", "orders", "chart")
ESTIMATED = ("heatmap", "liqmap", "levels", "maxpain")


def read(file: Path) -> list[dict[str, str]]:
    """Read the lines of a CSV file."""
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def columns(rows: list[dict[str, Any]]) -> Table:
    """Turn rows into columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def candles(folder: Path) -> Table:
    """BTC in fifteen-minute bars; ``timestamp`` is the open of each."""
    rows = read(folder / "market" / "btc_15m_candles_20250622_20260622.csv")
    numbers = ("open", "high", "low", "close", "volume")
    return {
        "symbol": ["BTC"] * len(rows),
        "timestamp": [datetime.fromisoformat(row["timestamp"]) for row in rows],
        **{name: [float(row[name]) for row in rows] for name in numbers},
    }


def open_interest(folder: Path) -> Table:
    """BTC open interest every five minutes, in BTC."""
    rows = read(folder / "market" / "btc_oi_5m_20251201_20260611.csv")
    return {
        "symbol": ["BTC"] * len(rows),
        "timestamp": [int(row["t"]) for row in rows],
        "open_interest": [float(row["oi"]) for row in rows],
    }


def orders(folder: Path) -> Table:
    """Liquidation orders of many venues; amounts stay exact, the side is that of the liquidated position."""
    rows = []
    for row in read(folder / "market" / "eth_liq_orders_3ex_sample.csv"):
        qty, price = Decimal(row["qty"]), Decimal(row["price"])
        rows.append(
            {
                "exchange": row["exchange"],
                "symbol": row["symbol"],
                "side": row["side"].upper(),
                "price": price,
                "qty": qty,
                "value_usd": price * qty,
                "timestamp": int(row["event_ts"]),
            }
        )
    for row in read(folder / "market" / "aster_liq_orders_sample.csv"):
        qty, price = Decimal(row["quantity"]), Decimal(row["price"])
        rows.append(
            {
                "exchange": "aster",
                "symbol": row["symbol"],
                # The exchange names the side of the order: a long is liquidated by selling.
                "side": {"SELL": "LONG", "BUY": "SHORT"}[row["side"]],
                "price": price,
                "qty": qty,
                "value_usd": price * qty,
                "timestamp": int(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000),
            }
        )
    with (folder / "feeds" / "expected_normalised.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            # Where the venue's contract size or the time is unknown, the order is not complete.
            if None in (row["qty"], row["value_usd"], row["timestamp"]):
                continue
            exact = {name: Decimal(row[name]) for name in ("price", "qty", "value_usd")}
            rows.append({name: row[name] for name in ("exchange", "symbol", "side", "timestamp")} | exact)
    return columns(rows)


def ask(client: liqdata.Client | liqdata.Market, names: tuple[str, ...]) -> dict[str, Any]:
    """Ask questions one after the other; the heatmap over seven days."""
    return {name: getattr(client, name)(**({"range": "7d"} if name == "heatmap" else {})) for name in names}


async def ask_at_once(url: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Ask the same questions concurrently."""
    async with liqdata.AsyncClient(url) as client:
        calls = [getattr(client, name)(**({"range": "7d"} if name == "heatmap" else {})) for name in names]
        return dict(zip(names, await asyncio.gather(*calls), strict=True))


def main(picture: Path) -> None:
    """Build the markets, serve them, ask, compare, draw."""
    folder = Path(os.environ["LIQDATA_REAL_DATA"])
    bars = candles(folder)
    realised = liqdata.Market(orders=orders(folder))
    estimated = liqdata.Market(bars=bars, open_interest=open_interest(folder), now=ESTIMATES_AT)
    answers: dict[str, Any] = {}
    for market, names in ((realised, REALISED), (estimated, ESTIMATED)):
        with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
            served = ask(client, names)
            if not served == asyncio.run(ask_at_once(server.url, names)) == ask(market, names):
                sys.exit("the two clients and the market in this process disagree")
            answers |= served
    for name, answer in answers.items():
        print(f"{name}: {answer!r}"[:160])
    plot.picture(answers["heatmap"], price=bars).savefig(picture)
    print(f"wrote {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "real_heatmap.png"))
