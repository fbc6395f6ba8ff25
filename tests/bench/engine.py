"""The engine in this process: no HTTP and no JSON, only the answers."""

import payloads
from measure import timings

import liqdata

ORDERS = 200_000


def anchors(*, most: int, seconds: float) -> list[tuple[str, list[float]]]:
    """Each piece of work with the seconds its calls took."""
    market = liqdata.demo(seed=0)
    columns = payloads.order_columns(ORDERS)
    orders = liqdata.Market(orders=columns)
    works = [
        ("demo(): build the simulated market", lambda: liqdata.demo(seed=0)),
        ("heatmap BTC 7d, replayed", lambda: market.heatmap("BTC", "7d")),
        ("heatmap BTC 1M, replayed", lambda: market.heatmap("BTC", "1M")),
        ("liqmap BTC 7d", lambda: market.liqmap("BTC", "7d")),
        (f"Market(orders=…) of {ORDERS:,} rows as Python lists", lambda: liqdata.Market(orders=columns)),
        ("overview", orders.overview),
        ("coins", orders.coins),
        ("exchanges", orders.exchanges),
        ("largest, 20 rows", orders.largest),
        ("orders, 1,000 of one pair at offset 20,000", lambda: orders.orders("BTCUSDT", limit=1000, offset=20_000)),
        ("chart BTCUSDT", orders.chart),
    ]  # fmt: skip
    return [(title, timings(work, most=most, seconds=seconds)) for title, work in works]
