"""A market that grows while it is served, and the place of its stream to begin at."""

from contextlib import contextmanager

import liqdata
from liqdata import _core

NOW = 1_781_136_000_000


class Growing(liqdata.Market):
    """A market that grows."""

    def __init__(self, stored=100_000):
        super().__init__()
        self._source.core = _core.Market.growing(stored)

    def add(self, *numbers):
        """Let these orders arrive; a number is an order's notional."""
        self._source.core.append(
            {
                "exchange": ["okx" if number % 2 else "bybit" for number in numbers],
                "symbol": ["BTCUSDT" if number % 3 else "ETHUSDT" for number in numbers],
                "side": ["LONG"] * len(numbers),
                "price": ["60123.45"] * len(numbers),
                "qty": ["0.125"] * len(numbers),
                "value_usd": [str(number) for number in numbers],
                "timestamp": [NOW + number for number in numbers],
            },
            None,
            None,
        )


@contextmanager
def growing(stored=100_000):
    market = Growing(stored)
    with liqdata.serve(market) as server:
        yield market, server


def first(market):
    """The place before the first order."""
    return market.stream_orders().last_event_id
