# pyright: strict
"""What a notebook does, checked with pyright's strict rules: every type is known."""

import liqdata


def pictures() -> None:
    with liqdata.demo() as market:
        heatmap = market.heatmap("BTC", "12h")
        heatmap.plot(threshold=1e5)
        market.liqmap("BTC").plot()
        print(heatmap.matrix.shape, market.coins(limit=3).columns)
        for row in market.iter_orders("BTC", max_rows=3):
            print(row["price"])
