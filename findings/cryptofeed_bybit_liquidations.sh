#!/usr/bin/env bash
# cryptofeed's liquidations of Bybit have the opposite side of those of Binance for the same event, and another unit of time.
#
# Seen with cryptofeed 2.4.1 on CPython 3.11.7, 2026-11-29. Both frames tell that a long was liquidated. Binance sends the side of
# the closing order (SELL), Bybit that of the position (Buy), and cryptofeed passes both words on in one field. It converts the
# time of Binance to seconds and leaves that of Bybit in milliseconds, so a table of both has events of the year 58693.
#
# Output seen:
#   BINANCE_FUTURES sell 1790000000.482
#   BYBIT buy 1790000000482
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "cryptofeed==2.4.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import asyncio
import sys

from cryptofeed.defines import LIQUIDATIONS
from cryptofeed.exchanges import BinanceFutures, Bybit
from cryptofeed.symbols import Symbols

BINANCE = {
    "e": "forceOrder",
    "E": 1790000000482,
    "o": {
        "s": "BTCUSDT", "S": "SELL", "o": "LIMIT", "f": "IOC", "q": "0.014", "p": "9910", "ap": "9910", "X": "FILLED", "l": "0.014",
        "z": "0.014", "T": 1790000000058,
    },
}
BYBIT = {
    "topic": "liquidation.BTCUSDT",
    "type": "snapshot",
    "ts": 1790000000482,
    "data": {"updatedTime": 1790000000482, "symbol": "BTCUSDT", "side": "Buy", "size": "0.014", "price": "9910"},
}
got = []


async def keep(liquidation, receipt):
    got.append((liquidation.exchange, liquidation.side, liquidation.timestamp))


def feed(kind):
    Symbols.set(kind.id, {"BTC-USDT-PERP": "BTCUSDT"}, {"instrument_type": {"BTC-USDT-PERP": "perpetual"}})
    return kind(symbols=["BTC-USDT-PERP"], channels=[LIQUIDATIONS], callbacks={LIQUIDATIONS: keep})


async def read():
    await feed(BinanceFutures)._liquidations(BINANCE, 1790000000.5)
    await feed(Bybit)._liquidation(BYBIT, 1790000000.5)


asyncio.run(read())
for row in got:
    print(*row)
expected = [("BINANCE_FUTURES", "sell", 1790000000.482), ("BYBIT", "buy", 1790000000482)]
sys.exit(0 if got == expected else "this has changed")
PYTHON
