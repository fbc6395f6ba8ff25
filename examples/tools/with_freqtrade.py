# /// script
# requires-python = ">=3.11"
# dependencies = ["freqtrade==2026.9"]
# ///
"""freqtrade: a strategy with the features of its candles, back-tested offline, and what one wrong hour does."""

import logging
import tempfile
from pathlib import Path

from common import line
from freqtrade.data.history import get_timerange
from freqtrade.enums import RunMode
from freqtrade.exchange import Exchange
from freqtrade.optimize.backtesting import Backtesting

import liqdata

STRATEGY = """
import liqdata
from freqtrade.strategy import IStrategy
from liqdata.freqtrade import add_features

market = liqdata.demo()  # or the folder of an archive, or the address of a service


class AfterLongs(IStrategy):
    timeframe = "1h"
    minimal_roi = {}
    stoploss = -0.99

    def populate_indicators(self, dataframe, metadata):
        return add_features(dataframe, metadata, market, self.timeframe, windows=["1h"], within=[1])

    def populate_entry_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["long_usd_1h"] > dataframe["short_usd_1h"], "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["long_usd_1h"] <= dataframe["short_usd_1h"], "exit_long"] = 1
        return dataframe
"""
COINS = ["BTC", "ETH", "SOL"]
logging.disable(logging.WARNING)


class Offline(Exchange):
    """An exchange that is never asked."""

    def reload_markets(self, *_, **__):
        """Know the three pairs."""
        self._markets = {
            f"{coin}/USDT": {
                "symbol": f"{coin}/USDT", "base": coin, "quote": "USDT", "active": True, "spot": True, "swap": False,
                "type": "spot", "linear": None, "contract": False, "future": False, "option": False, "margin": False,
                "limits": {"amount": {"min": 0, "max": None}, "cost": {"min": 0, "max": None}, "price": {"min": 0}},
                "precision": {"amount": 1e-8, "price": 1e-8}, "contractSize": None, "taker": 0.0005, "maker": 0.0005,
            }
            for coin in COINS
        }  # fmt: skip


def config(folder, shift):
    """Return the settings of a backtest."""
    return {
        "strategy": "AfterLongs",
        "strategy_path": str(folder),
        "user_data_dir": folder,
        "datadir": folder,
        "exportdirectory": folder,
        "runmode": RunMode.BACKTEST,
        "dry_run": True,
        "dry_run_wallet": 10_000,
        "stake_currency": "USDT",
        "stake_amount": 1_000,
        "max_open_trades": 3,
        "fee": 0.0005,
        "timeframe": "1h",
        "trading_mode": "spot",
        "margin_mode": "",
        "candle_type_def": "spot",
        "dataformat_ohlcv": "feather",
        "dataformat_trades": "feather",
        "entry_pricing": {"price_side": "same", "use_order_book": False},
        "exit_pricing": {"price_side": "same", "use_order_book": False},
        "pairlists": [{"method": "StaticPairList"}],
        "exchange": {"name": "binance", "pair_whitelist": [f"{coin}/USDT" for coin in COINS], "pair_blacklist": []},
        "export": "none",
        "shift": shift,
    }


def earned(folder, candles, shift):
    """Return the profit in USDT, with the features moved by some candles."""
    settings = config(folder, shift)
    moved = f"""
        found = add_features(dataframe, metadata, market, self.timeframe, windows=["1h"], within=[1])
        names = ["long_usd_1h", "short_usd_1h"]
        found[names] = found[names].shift({shift})
        return found
"""
    before, _, after = STRATEGY.partition("        return add_features(")
    Path(folder, "after_longs.py").write_text(before + moved.lstrip("\n") + after.partition("\n")[2], encoding="utf-8")
    exchange = Offline(settings, validate=False)
    exchange.reload_markets()
    backtesting = Backtesting(settings, exchange)
    backtesting._set_strategy(backtesting.strategylist[0])  # noqa: SLF001 - as its start() does
    processed = backtesting.strategy.advise_all_indicators({pair: frame.copy() for pair, frame in candles.items()})
    begin, end = get_timerange(processed)
    trades = backtesting.backtest(processed, begin, end)["results"]
    return round(float(trades["profit_abs"].sum()), 1), len(trades)


market = liqdata.demo()
columns = ["date", "open", "high", "low", "close", "volume"]
candles = {
    f"{coin}/USDT": market.bars(coin, interval="1h", start="-27d")
    .to_pandas()
    .rename(columns={"timestamp": "date"})[columns]
    for coin in COINS
}
with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    right, late, early = (earned(folder, candles, shift) for shift in (0, 1, -1))
print(right, late, early)
assert len({right, late, early}) == 3
line(
    "freqtrade",
    "features of candles in a strategy; stale rows are refused",
    "`add_features(dataframe, …)`",
    "freqtrade",
)
