"""The table of `docs/how-to/coming-from.md`: the same frames read by the real ccxt package and by `feeds.decode`."""

import json
import re
from pathlib import Path

import pytest

from liqdata import feeds

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "coming-from.md"

# A long of 1.437 BTC that is filled in parts; a long; two longs in one message. All of them were liquidated.
BINANCE = {
    "e": "forceOrder",
    "E": 1_790_000_000_100,
    "o": {
        "s": "BTCUSDT",
        "S": "SELL",
        "o": "LIMIT",
        "f": "IOC",
        "X": "FILLED",
        "T": 1_790_000_000_000,
        "q": "1.437",
        "p": "59000",
        "ap": "59500",
        "l": "0.037",
        "z": "1.437",
    },
}
BYBIT = {
    "topic": "allLiquidation.BTCUSDT",
    "type": "snapshot",
    "ts": 1_790_000_000_100,
    "data": [{"T": 1_790_000_000_000, "s": "BTCUSDT", "S": "Buy", "v": "2.5", "p": "59000"}],
}
DETAIL = {"bkLoss": "0", "ccy": "", "posSide": "long", "side": "sell", "ts": "1790000000000"}
OKX = {
    "arg": {"channel": "liquidation-orders", "instType": "SWAP"},
    "data": [
        {
            "instFamily": "BTC-USDT",
            "instId": "BTC-USDT-SWAP",
            "instType": "SWAP",
            "uly": "BTC-USDT",
            "details": [{**DETAIL, "bkPx": "59000", "sz": "13"}, {**DETAIL, "bkPx": "58900", "sz": "7"}],
        }
    ],
}
INSTRUMENTS = {"BTC-USDT-SWAP": {"base": "BTC", "quote": "USDT", "kind": "linear", "contract_size": "0.01"}}
FRAMES = {"binance": BINANCE, "bybit": BYBIT, "okx": OKX}


class Client:
    """What ccxt resolves its messages with."""

    url = ""

    def __init__(self):
        self.subscriptions = {}

    def resolve(self, result, _hash):
        return result


def by_ccxt(exchange):
    import ccxt.pro  # which takes long, and every process of the tests reads this file

    reader = getattr(ccxt.pro, exchange)()
    reader.handle_liquidation(Client(), FRAMES[exchange])
    return [dict(each) for each in reader.liquidations]


def by_liqdata(exchange):
    return feeds.decode(exchange, json.dumps(FRAMES[exchange]), instruments=INSTRUMENTS)


@pytest.mark.parametrize("exchange", FRAMES)
def test_the_table_has_the_rows_of_both_libraries(exchange):
    theirs, ours = by_ccxt(exchange), by_liqdata(exchange)
    said = [f"{len(theirs)} × `{theirs[0]['side']}`, {theirs[0]['contracts']:g}"]
    said.append(
        f"{len(ours)} × `{ours[0]['side']}`, {' and '.join(format(row['qty'].normalize(), 'f') for row in ours)}"
    )
    page = PAGE.read_text(encoding="utf-8")
    row = re.search(rf"^\| `{exchange}`.*$", page, re.MULTILINE)
    assert row is not None
    cells = [cell.strip() for cell in row[0].strip("|").split("|")]
    assert cells[2:] == said


def test_ccxt_has_the_side_of_the_order_here_and_of_the_position_there():
    assert [by_ccxt(exchange)[0]["side"] for exchange in FRAMES] == ["sell", "buy", "sell"]
    assert {row["side"] for exchange in FRAMES for row in by_liqdata(exchange)} == {"LONG"}
