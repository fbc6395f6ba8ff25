# /// script
# requires-python = ">=3.11"
# dependencies = ["hftbacktest==2.4.4", "pandas==3.1.1"]
# ///
"""hftbacktest: features as two arrays, and a binary search at each step."""

import numpy as np
from common import hours, line
from hftbacktest import (
    BUY_EVENT,
    DEPTH_EVENT,
    EXCH_EVENT,
    LOCAL_EVENT,
    SELL_EVENT,
    BacktestAsset,
    HashMapMarketDepthBacktest,
)
from hftbacktest.types import event_dtype
from numba import njit

MINUTE = 60_000_000_000  # nanoseconds
DELAY = 50_000_000  # of the feed

frame = hours("BTC")
known_at = frame["at"].astype("datetime64[ns, UTC]").astype(np.int64).to_numpy()
values = (frame["long_usd_1h"] - frame["short_usd_1h"]).to_numpy()


def quotes():
    """Return the best bid and ask around each close, as events; the old ones are taken back."""
    events, old = [], None
    for at, close in zip(known_at, frame["close"].round(1), strict=True):
        sides = ((BUY_EVENT, close - 0.1), (SELL_EVENT, close + 0.1))
        for side, price in [*(old or ()), *sides]:
            amount = 1.0 if (side, price) in sides else 0.0
            flags = DEPTH_EVENT | EXCH_EVENT | LOCAL_EVENT | side
            events.append((flags, at, at + DELAY, price, amount, 0, 0, 0.0))
        old = sides
    return np.array(events, dtype=event_dtype)


@njit
def decisions(backtest, known_at, values, found):
    """Note, each minute, the time and which features were the newest that were known; count those with more longs."""
    count, longs = 0, 0
    while backtest.elapse(MINUTE) == 0:
        place = np.searchsorted(known_at, backtest.current_timestamp, side="right") - 1
        if place >= 0:
            found[count, 0], found[count, 1] = backtest.current_timestamp, place
            longs += values[place] > 0
            count += 1
    return count, longs


events = quotes()  # hftbacktest keeps the address of an array only, so the array has to live as long
asset = (
    BacktestAsset()
    .data(events)
    .linear_asset(1.0)
    .constant_order_latency(DELAY, DELAY)
    .no_partial_fill_exchange()
    .tick_size(0.1)
    .lot_size(0.001)
)
backtest = HashMapMarketDepthBacktest([asset])
found = np.zeros((len(frame) * 61, 2), np.int64)
count, longs = decisions(backtest, known_at, values, found)
times, places = found[:count].T
assert count > len(frame) * 50
assert (known_at[places] <= times).all()
assert (known_at[np.minimum(places + 1, len(frame) - 1)] > times)[places < len(frame) - 1].all()
assert 0 < longs < count
line(
    "hftbacktest",
    "features as arrays of `at` and value, looked up at each step",
    '`np.searchsorted(known_at, backtest.current_timestamp, side="right") - 1`',
    "hftbacktest",
)
