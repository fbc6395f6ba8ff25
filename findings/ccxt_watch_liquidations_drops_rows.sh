#!/usr/bin/env bash
# ccxt.pro's `watch_liquidations` on Bybit returns only the first row of a frame; the others never reach the caller.
#
# Seen with ccxt 4.5.90 on CPython 3.11.7, 2026-11-29. A frame of Bybit's topic `allLiquidation` holds a list of rows (one push
# every 500 ms). ccxt resolves the waiting call once for each row, and a future can be resolved only once. With the default
# `newUpdates = True` the call returns what it was resolved with, so the rows after the first are only in `exchange.liquidations`,
# which also holds all older rows. Totals summed from the returned lists are too small most when the market moves most.
#
# Output seen:
#   sent in one frame: [0.01, 0.02, 0.03], then [7.0]
#   returned by watch_liquidations: [0.01, 7.0]
#   in exchange.liquidations: [0.01, 0.02, 0.03, 7.0]
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "ccxt==4.5.90" "aiohttp==3.14.3"
cd "$work"
venv/bin/python - <<'PYTHON'
import asyncio
import json
import sys

import ccxt.pro as ccxt
from aiohttp import WSMsgType, web


def frame(*quantities):
    rows = [
        {"T": 1790000000058, "s": "BTCUSDT", "S": "Buy", "v": quantity, "p": "82394.30"}
        for quantity in quantities
    ]
    return {"topic": "allLiquidation.BTCUSDT", "type": "snapshot", "ts": 1790000000482, "data": rows}


async def bybit(request):
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type == WSMsgType.TEXT and (asked := json.loads(message.data)).get("op") == "subscribe":
            await socket.send_json({"success": True, "ret_msg": "", "conn_id": "1", "op": "subscribe", "req_id": asked["req_id"]})
            await socket.send_json(frame("0.01", "0.02", "0.03"))
            await asyncio.sleep(1)
            await socket.send_json(frame("7"))
    return socket


MARKET = {
    "id": "BTCUSDT", "symbol": "BTC/USDT:USDT", "base": "BTC", "quote": "USDT", "settle": "USDT", "baseId": "BTC",
    "quoteId": "USDT", "settleId": "USDT", "type": "swap", "spot": False, "swap": True, "future": False, "option": False,
    "contract": True, "linear": True, "inverse": False, "contractSize": 1.0, "active": True, "margin": None,
    "precision": {"amount": 0.001, "price": 0.1}, "limits": {}, "info": {},
}


def on_loopback(urls, address):
    return {name: on_loopback(url, address) for name, url in urls.items()} if isinstance(urls, dict) else address


async def watched():
    app = web.Application()
    app.router.add_get("/", bybit)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    exchange = ccxt.bybit()
    exchange.set_markets([MARKET])
    address = f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    exchange.urls["api"]["ws"] = on_loopback(exchange.urls["api"]["ws"], address)
    returned = []
    while 7.0 not in returned:
        rows = await asyncio.wait_for(exchange.watch_liquidations("BTC/USDT:USDT"), 20)
        returned += [row["contracts"] for row in rows]
    kept = [row["contracts"] for row in exchange.liquidations]
    await exchange.close()
    await runner.cleanup()
    return returned, kept


returned, kept = asyncio.run(watched())
print("sent in one frame: [0.01, 0.02, 0.03], then [7.0]")
print(f"returned by watch_liquidations: {returned}")
print(f"in exchange.liquidations: {kept}")
sys.exit(0 if (returned, kept) == ([0.01, 7.0], [0.01, 0.02, 0.03, 7.0]) else "this has changed")
PYTHON
