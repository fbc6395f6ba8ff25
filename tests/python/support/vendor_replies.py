"""Replies in the shapes of vendors, with numbers of our own."""

T = 1_790_100_000  # seconds
MS = 1000 * T

CANDLES = [
    [T, "2010.5", "2020", "2005.25", "2012", "150000.75"],
    [T + 300, "2012", "2031.5", "2011", "2030.25", "98000"],
    [T + 600, "2030.25", "2033", "2018", "2025.5", "120500.5"],
]
CELLS = [[0, 0, 1500.5], [0, 3, 20], [1, 1, "75.25"], [2, 0, 1600], [2, 2, 3e2]]
PRICES = [1900, 1950.5, 2100, 2300.25]  # unequal steps
MATRIX = [[1500.5, 0, 1600], [0, 75.25, 0], [0, 0, 300], [20, 0, 0]]


def glass(data, **more):
    return {"code": "0", "msg": "success", "data": data, **more}


def ank(data, **more):
    return {"success": True, "code": "1", "data": data, **more}


def instrument(exchange, levels):
    rows = {str(price): [[price, level, None, None]] for price, level in levels.items()}
    return {"instrument": {"instrumentId": "ETHUSDT", "exName": exchange, "baseAsset": "ETH"}, "liqMapV2": rows}


HEATMAPS = {
    "documented": glass({"y_axis": PRICES, "liquidation_leverage_data": CELLS, "price_candlesticks": CANDLES}),
    "served": glass(
        {
            "y_axis": PRICES,
            "liquidation_leverage_data": CELLS,
            "price_candlesticks": CANDLES,
            "update_time": MS + 612_345,
        }
    ),
    "version 3": glass({"y": PRICES, "liq": CELLS, "prices": CANDLES}),
}
MAPS = {
    "by leverage": glass(
        {"data": {"1900.5": [[1900.5, 10, 25, None], [1900.5, 4.5, 50, None]], "2100": [[2100, 7, 50, None]]}}
    ),
    "of a list": glass(
        {
            "data": [instrument("Binance", {1900.5: 10, 2100: 7}), instrument("OKX", {1900.5: 4.5, 2200: 1})],
            "last_price": 2025.5,
        }
    ),
}
ORDERS = glass(
    [
        {
            "exchange_name": "BINANCE",
            "symbol": "ETHUSDT",
            "base_asset": "ETH",
            "price": 2000,
            "usd_value": 5000.5,
            "side": 2,
            "time": MS + 9,
        },
        {
            "exchange_name": "BINANCE",
            "symbol": "ETHUSDT",
            "base_asset": "ETH",
            "price": "2010.5",
            "usd_value": 100,
            "side": 1,
            "time": MS + 3,
        },
    ]
)
EXCHANGES = [
    {"exchange": "All", "liquidation_usd": 60, "longLiquidation_usd": 45, "shortLiquidation_usd": 15},
    {"exchange": "OKX", "liquidation_usd": 20, "longLiquidation_usd": 5, "shortLiquidation_usd": 15},
    {"exchange": "Bybit", "liquidation_usd": 40, "long_liquidation_usd": 40, "short_liquidation_usd": 0},
]
ANK_HEATMAP = ank(
    {
        "liqHeatMap": {
            "data": [[str(x), str(y), str(v)] for x, y, v in CELLS],
            "chartTimeArray": [MS, MS + 300_000, MS + 600_000],
            "priceArray": PRICES,
            "maxLiqValue": 1600,
        },
        "tickSize": 10,
    }
)
ANK_MAP = ank(
    {
        "symbol": "ETHUSDT",
        "lastPrice": 2025.5,
        "lastIndex": 1,
        "prices": [1900, 2000, 2100],
        "x25": [1, 0, 2],
        "x100": [5, 6, 0],
    }
)
ANK_BY_EXCHANGE = ank({"lastPrice": 2025.5, "prices": [1900, 2000, 2100], "Binance": [1, 0, 2], "Okex": [5, 6, 0]})
