"""What venues publish of maintenance margins, and the price at which a position is liquidated."""

from datetime import UTC, datetime

import pytest

import liqdata
from liqdata import types

MARKETS = [("binance", coin) for coin in ("BTC", "ETH", "SOL", "XRP", "DOGE", "PEPE")] + [
    ("hyperliquid", coin) for coin in ("BTC", "ETH")
]


@pytest.mark.parametrize("exchange, coin", MARKETS)
def test_each_part_of_a_position_pays_the_rate_of_its_bracket(exchange, coin):
    rows = liqdata.margin.brackets(coin, exchange)
    assert list(rows[0]) == rows.columns == list(types.BracketRow.__annotations__)
    assert [row["tier"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0]["deduction_usd"] == 0
    margin = floor = 0.0
    for row in rows:
        if row["notional_cap_usd"] is None:
            assert row is rows[-1] or row["tier"] == len(rows)
            continue
        margin += (row["notional_cap_usd"] - floor) * row["maintenance_margin"]
        floor = row["notional_cap_usd"]
        assert row["maintenance_margin"] * floor - row["deduction_usd"] == pytest.approx(margin, rel=1e-12)
        assert datetime.fromtimestamp(row["as_of"] / 1000, UTC).year == 2026
        assert row["source"]


def test_the_deductions_are_those_that_binance_publishes():
    found = [row["deduction_usd"] for row in liqdata.margin.brackets("BTC")]
    assert found[:6] == [0.0, 300.0, 1_500.0, 12_000.0, 132_000.0, 482_000.0]
    assert found[-1] == 421_482_000.0


def test_a_market_is_named_as_a_coin_or_a_pair_in_any_case():
    wanted = liqdata.margin.brackets("BTC")
    assert liqdata.margin.brackets("btcusdt") == liqdata.margin.brackets(" BTC ", exchange="Binance") == wanted
    assert {row["symbol"] for row in liqdata.margin.brackets("PEPE")} == {"1000PEPEUSDT"}
    assert liqdata.margin.brackets("1000PEPEUSDT") == liqdata.margin.brackets("PEPE")
    assert wanted.to_pandas()["as_of"].dtype == "datetime64[ms, UTC]"


def test_the_examples_of_venues_come_out():
    # Bybit's of USDT contracts, when the margin was a share of the value at entry.
    of_entry = liqdata.margin.liquidation_price("LONG", 20_000.0, 50, mmr=0.005, margin_of="entry")
    assert of_entry == pytest.approx(19_700.0, rel=1e-12)
    assert liqdata.margin.liquidation_price("short", 20_000.0, 50, mmr=0.005, margin_of="entry") == pytest.approx(
        20_300.0
    )
    assert liqdata.margin.liquidation_price("LONG", 100.0, 100, mmr=0.005) == pytest.approx(99.4975, abs=1e-4)
    assert liqdata.margin.liquidation_price("LONG", 100.0, 50, mmr=0.0065) == pytest.approx(98.6412, abs=1e-4)
    # Settled in the coin, the short of what is the long in dollars seen from the other side.
    inverse = liqdata.margin.liquidation_price("LONG", 100.0, 10, mmr=0.01, contract="inverse")
    assert inverse == pytest.approx(100 * 1.01 / 1.1)
    assert liqdata.margin.liquidation_price("SHORT", 100.0, 1, mmr=0.0, contract="inverse") == float("inf")
    # BitMEX's XBTUSD: margins are shares of the value at entry, in the coin.
    entered = liqdata.margin.liquidation_price("LONG", 8_000.0, 25, mmr=0.005, contract="inverse", margin_of="entry")
    coins = 1 / 8_000.0
    assert coins / 25 + coins - 1 / entered == pytest.approx(0.005 * coins, rel=1e-9)
    # Margin that nothing can use up.
    assert liqdata.margin.liquidation_price("LONG", 100.0, 1, mmr=0.0) == 0.0


@pytest.mark.parametrize("side", ["LONG", "SHORT"])
@pytest.mark.parametrize("notional, leverage", [(1e4, 150), (3e5, 100), (2.9e6, 75), (6e7, 25), (4e8, 5)])
def test_at_the_price_equity_is_the_margin_of_the_brackets(side, notional, leverage):
    entry = 70_000.0
    price = liqdata.margin.liquidation_price(side, entry, leverage, exchange="binance", symbol="BTC", notional=notional)
    value = notional * price / entry
    row = next(row for row in liqdata.margin.brackets("BTC") if value <= row["notional_cap_usd"])
    equity = notional / leverage + (value - notional) * (1 if side == "LONG" else -1)
    assert equity == pytest.approx(row["maintenance_margin"] * value - row["deduction_usd"], rel=1e-9)


@pytest.mark.parametrize(
    "arguments, parameter, said",
    [
        ({"side": "BUY"}, "side", "'LONG' or 'SHORT'"),
        ({"side": 1}, "side", "'LONG' or 'SHORT'"),
        ({"entry": 0.0}, "entry", "a price above 0"),
        ({"entry": float("nan")}, "entry", "a price above 0"),
        ({"leverage": 0.5}, "leverage", "from 1 on"),
        ({"leverage": "10"}, "leverage", "from 1 on"),
        ({"mmr": 1.0}, "mmr", "from 0 to below 1"),
        ({"mmr": 0.9, "fee": 0.2}, "fee", "together with mmr"),
        ({"contract": "spot"}, "contract", "'linear' or 'inverse'"),
        ({"margin_of": "last"}, "margin_of", "'mark' or 'entry'"),
        ({"mmr": None}, "exchange", "mmr=, or exchange=, symbol= and notional="),
        ({"mmr": None, "contract": "inverse"}, "mmr", "brackets are known only for contract='linear'"),
        ({"mmr": None, "exchange": "bybit", "symbol": "BTC", "notional": 1e3}, "exchange", "binance, hyperliquid"),
        ({"mmr": None, "exchange": "binance", "symbol": "BTC"}, "notional", "mmr="),
        ({"mmr": None, "exchange": "binance", "symbol": "NOPE", "notional": 1e3}, "symbol", "BTCUSDT"),
        ({"mmr": None, "exchange": "binance", "symbol": "BTC", "notional": -1}, "notional", "USD above 0"),
        ({"mmr": None, "exchange": "binance", "symbol": "BTC", "notional": 1e12}, "notional", "the last bracket"),
        (
            {"mmr": None, "exchange": "binance", "symbol": "BTC", "notional": 1e6, "leverage": 100},
            "leverage",
            "up to 75 at that notional",
        ),
    ],
)
def test_an_invalid_argument_is_refused_by_name(arguments, parameter, said):
    asked = {"side": "LONG", "entry": 100.0, "leverage": 10, "mmr": 0.005, **arguments}
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.margin.liquidation_price(**asked)
    assert caught.value.parameter == parameter
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "arguments, parameter", [(("NOPE",), "symbol"), (("",), "symbol"), ((3,), "symbol"), (("BTC", "okx"), "exchange")]
)
def test_a_market_that_is_not_known_is_refused_with_those_that_are(arguments, parameter):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.margin.brackets(*arguments)
    assert caught.value.parameter == parameter
