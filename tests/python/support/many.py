"""Many orders as columns, made by chance: what tests of memory keep."""


def columns(timestamps, chance):
    """The columns of orders of those instants; ``chance`` is one of numpy's generators."""
    rows = len(timestamps)
    prices = chance.integers(1_000, 90_000, rows) / 10
    return {
        "timestamp": timestamps,
        "exchange": chance.choice(["binance", "okx", "bybit"], rows),
        "symbol": chance.choice(["BTCUSDT", "ETHUSDT", "SOLUSDT"], rows),
        "side": chance.choice(["LONG", "SHORT"], rows),
        "price": prices,
        "qty": prices * 0 + 2.0,
        "value_usd": prices * 2,
    }
