"""What every method refuses before anything is asked: one table for every source of the ten answers.

Each case is the method, the arguments, the parameter to be named, and a text the refusal lists among what is allowed.
"""

from decimal import Decimal

NOT_TEXT = [5, 1.0, True, b"BTC", {}.keys, object()]
NOT_WHOLE = ["5", 1.0, 1.5, True, False, None, b"1", [1], float("nan")]
BLANK = ["", " ", "\t\n", "\ud800"]
TOO_WIDE = [2**31, 2**64, -(2**64), 10**40]

WINDOW_RANGES = ["2h", "24H", " 24h", "1D", "2w", "", "24", "\ud800", 24, True, b"24h", ["24h"]]
HEATMAP_RANGES = ["1h", "1m", "1D", "90d", "All", "24H", "", "\ud800", None, 24, b"24h", ["24h"]]
MAP_RANGES = ["24H", "1D", "1h", "", "\ud800", None, 1, b"1d", ["1d"]]


def _limits(most):
    return [0, -1, most + 1, *TOO_WIDE, *NOT_WHOLE]


_COIN = 'such as "BTC"'
_PAIR = 'such as "BTCUSDT"'
_VENUE = 'such as "binance"'
_TOTALS = '"1h", "4h", "12h", "24h", "1d", "3d", "7d", "1w", "1M", "30d", "3M", "6M" or "1y"'

_BY_PARAMETER = [
    ("coins", "range", WINDOW_RANGES, _TOTALS),
    ("coins", "limit", _limits(200), "from 1 to 200"),
    ("exchanges", "range", WINDOW_RANGES, _TOTALS),
    ("largest", "range", WINDOW_RANGES, _TOTALS),
    ("largest", "limit", _limits(1000), "from 1 to 1000"),
    ("orders", "symbol", [*BLANK, *NOT_TEXT, "BINANCE:BTCUSDT"], _PAIR),
    ("orders", "exchange", [*BLANK, *NOT_TEXT, ["okx"]], _VENUE),
    ("orders", "limit", _limits(1000), "from 1 to 1000"),
    ("orders", "offset", [-1, -(2**64), 10**40, *NOT_WHOLE], "from 0"),
    ("chart", "symbol", [*BLANK, *NOT_TEXT, None, "BINANCE:BTCUSDT"], _PAIR),
    ("heatmap", "symbol", [*BLANK, *NOT_TEXT, None, "okx:BTC-USDT-SWAP"], _COIN),
    (
        "heatmap",
        "range",
        HEATMAP_RANGES,
        '"12h", "24h", "1d", "3d", "7d", "1w", "1M", "30d", "3M", "6M", "1y" or "all"',
    ),
    ("heatmap", "model", [0, 1, 4, -2, *TOO_WIDE, *NOT_WHOLE], "2 or 3"),
    ("heatmap", "exchange", [*BLANK, *NOT_TEXT, ["okx"]], _VENUE),
    ("liqmap", "exchange", [*BLANK, *NOT_TEXT, ["okx"]], _VENUE),
    ("liqmap", "bin", [0, -1, 0.0, -2.5, float("nan"), float("inf"), True, "5", [5], b"5"], "a finite number above 0"),
    ("liqmap", "symbol", [*BLANK, *NOT_TEXT, None, "BINANCE:BTC"], _COIN),
    ("liqmap", "range", MAP_RANGES, '"1d", "24h", "7d", "1w", "12h", "3d", "1M", "30d", "3M", "6M", "1y" or "all"'),
    ("levels", "symbol", [*BLANK, *NOT_TEXT, None, "BINANCE:BTC"], _COIN),
    ("maxpain", "symbol", [*BLANK, *NOT_TEXT, None, "BINANCE:BTC"], _COIN),
    ("iter_orders", "symbol", [*BLANK, *NOT_TEXT, ["BTCUSDT"]], _PAIR),
    ("iter_orders", "exchange", [*BLANK, *NOT_TEXT], _VENUE),
    ("iter_orders", "page_size", _limits(1000), "from 1 to 1000"),
    ("iter_orders", "max_rows", [0, -1, -(2**64), 10**40, *(cell for cell in NOT_WHOLE if cell is not None)], "from 1"),
]

_MANY = [
    (method, {"symbol": [good, bad]}, "symbol", allowed)
    for method, good, wrong, allowed in (
        ("orders", "BTCUSDT", ["", None, 5, ["BTCUSDT"]], _PAIR),
        ("chart", "BTCUSDT", ["", None, 5], _PAIR),
        ("heatmap", "BTC", ["", None, 5, ["BTC"]], _COIN),
        ("liqmap", "BTC", ["", None, 5], _COIN),
        ("levels", "BTC", ["", None, 5], _COIN),
        ("maxpain", "BTC", ["", None, 5], _COIN),
    )
    for bad in wrong
]

REFUSALS = [
    (method, {parameter: value}, parameter, allowed)
    for method, parameter, values, allowed in _BY_PARAMETER
    for value in values
] + _MANY

BOUNDS = [
    ("coins", {"limit": 1}),
    ("coins", {"limit": 200}),
    ("largest", {"limit": 1}),
    ("largest", {"limit": 1000}),
    ("orders", {"limit": 1}),
    ("orders", {"limit": 1000}),
    ("orders", {"offset": 0}),
    ("orders", {"offset": 10**9}),
    *(("coins", {"range": name}) for name in ("1h", "4h", "12h", "24h", "1d")),
    *(("heatmap", {"range": name}) for name in ("12h", "24h", "1d", "3d", "7d", "1w", "1M", "30d", "all")),
    *(("heatmap", {"model": number}) for number in (2, 3)),
    *(("liqmap", {"bin": width}) for width in (1, 12.5, Decimal("2.5"))),
    *(("liqmap", {"range": name}) for name in ("1d", "24h", "7d", "1w", "12h", "3d", "1M", "30d", "all")),
]
"""Arguments at the edge of what is allowed: every source takes them."""


def name(case):
    """A short, unique name of a case for pytest."""
    method, arguments, *_ = case
    shown = ", ".join(f"{key}={ascii(value)[:48]}" for key, value in arguments.items())
    return f"{method}({shown})".replace(" at 0x", " ").partition(" object ")[0]
