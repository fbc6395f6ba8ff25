"""What an amount means: coins, contracts of a size, or USD; and columns that contradict each other."""

import contextlib
import json

import pandas as pd
import pytest

import liqdata
from liqdata import BadQuery

T = 1_704_153_600_000
INVERSE = [
    ("bitmex", "XBTUSD"),
    ("deribit", "BTC-PERPETUAL"),
    ("kraken", "PI_XBTUSD"),
    ("binance", "BTCUSD_PERP"),
    ("okx", "BTC-USD-SWAP"),
    ("bybit", "BTCUSD"),
    ("bitget", "BTCUSD_DMCBL"),
    ("", "BTC/USD:BTC"),
]


def order(**other):
    row = {"timestamp": T, "exchange": "binance", "symbol": "BTCUSDT", "side": "LONG", "price": "42000", "qty": "0.5"}
    return row | other


def doors(tmp_path, row, **options):
    """What becomes of an order at each door: quantity and value in USD, or the refusal."""
    table = pd.DataFrame([row])
    table.to_parquet(tmp_path / "orders.parquet")
    ways = {"table": {"orders": table}, "parquet": {}, "rows": {"orders": [row]}}
    for name, given in ways.items():
        files = [] if given else [tmp_path / "orders.parquet"]
        folder = tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}"
        done = liqdata.ingest(folder, *files, **given, **options)
        if not done.new:
            yield " ".join(done.refused)
            continue
        with liqdata.open(folder) as market:
            (stored,) = market.iter_orders(start=T - 1)
        yield float(stored["qty"]), float(stored["value_usd"])


@pytest.mark.parametrize("exchange, symbol", INVERSE)
def test_an_inverse_contract_needs_a_size_or_a_value(tmp_path, exchange, symbol):
    row = order(exchange=exchange or "binance", symbol=symbol, qty="100")
    with pytest.raises(BadQuery, match="contract_size"):
        liqdata.Market(orders=[row])
    assert all("contract_size" in outcome for outcome in doors(tmp_path, row))
    for outcome in doors(tmp_path, row, contract_size=100):
        assert outcome == pytest.approx((10_000 / 42_000, 10_000))


@pytest.mark.parametrize("worth", [1, 10, 100])
def test_a_stated_value_says_what_contracts_of_usd_are_worth(worth):
    (stored,) = liqdata.Market(orders=[order(symbol="BTCUSD_PERP", qty="100", value_usd=str(100 * worth))]).orders()
    assert float(stored["value_usd"]) == 100 * worth
    assert float(stored["qty"]) == pytest.approx(100 * worth / 42_000, abs=1e-8)
    (stored,) = liqdata.Market(orders=[order(symbol="BTCUSD_PERP", qty="0.5", value_usd="21000")]).orders()
    assert float(stored["qty"]) == 0.5


def test_sizes_by_symbol_have_units(tmp_path):
    sizes = {
        "symbol": ["BTC-USDT-SWAP", "XBTUSD"],
        "contract_size": ["0.01", "1"],
        "multiplier_unit": ["BTC", "USD"],
    }
    rows = [
        order(exchange="okx", symbol="BTC-USDT-SWAP", qty="50"),
        order(exchange="bitmex", symbol="XBTUSD", qty="21000", timestamp=T + 1),
    ]
    done = liqdata.ingest(tmp_path / "archive", orders=rows, contract_size=sizes)
    assert (done.new, done.refused) == (2, {})
    with liqdata.open(tmp_path / "archive") as market:
        for stored in market.iter_orders(start=T - 1):
            assert (float(stored["qty"]), float(stored["value_usd"])) == (0.5, 21_000)
    sizes["multiplier_unit"] = ["ETH", "USD"]
    with pytest.raises(BadQuery, match="multiplier_unit"):
        liqdata.ingest(tmp_path / "archive", orders=rows, contract_size=sizes)
    for bad in (0, -1, "ten", float("nan")):
        with pytest.raises(BadQuery, match="contract_size"):
            liqdata.ingest(tmp_path / "archive", orders=rows, contract_size=bad)


def test_bars_and_open_interest_in_contracts_become_coins(tmp_path):
    bars = {
        "timestamp": [T, T + 60_000],
        "exchange": ["okx"] * 2,
        "symbol": ["BTC-USDT-SWAP"] * 2,
        **dict.fromkeys(("open", "high", "low", "close"), [42_000.0] * 2),
        "volume": [500.0, 700.0],
    }
    readings = {key: bars[key] for key in ("timestamp", "exchange", "symbol")} | {"open_interest": [3e5, 4e5]}
    done = liqdata.ingest(tmp_path / "a", bars=bars, open_interest=readings, contract_size="0.01")
    assert done.new == 4, done
    with liqdata.open(tmp_path / "a") as market:
        assert [float(bar["volume"]) for bar in market.bars("BTC", as_of=T + 120_000)] == [5, 7]
        assert [float(row["open_interest"]) for row in market.open_interest("BTC", as_of=T + 120_000)] == [3e3, 4e3]
    inverse = bars | {"symbol": ["BTC-USD-SWAP"] * 2}
    done = liqdata.ingest(tmp_path / "b", bars=inverse)
    assert done.new == 0
    assert "contract_size" in next(iter(done.refused))
    liqdata.ingest(tmp_path / "b", bars=inverse, contract_size=100)
    with liqdata.open(tmp_path / "b") as market:
        first = next(iter(market.bars("BTC", as_of=T + 120_000)))
        assert float(first["volume"]) == pytest.approx(50_000 / 42_000)


@pytest.mark.parametrize("value, is_accepted", [("21200", True), ("20800", True), ("21300", False), ("4200", False)])
def test_a_value_that_contradicts_price_times_quantity_is_refused_at_every_door(tmp_path, value, is_accepted):
    row = order(value_usd=value)
    for outcome in doors(tmp_path, row):
        assert outcome == (0.5, float(value)) if is_accepted else "within 1 %" in outcome
    if is_accepted:
        assert len(liqdata.Market(orders=[row]).orders()) == 1
    else:
        with pytest.raises(BadQuery, match="within 1 %"):
            liqdata.Market(orders=[row])


@pytest.mark.parametrize(
    "name",
    ["notional", "usd_value", "usd", "turnover", "quoteQty", "foreignNotional", "filledNotional", "Value USD", "cost"],
)
def test_a_value_under_any_name_is_judged(tmp_path, name):
    right, wrong = order(**{name: "21000"}), order(**{name: "5460"})
    assert list(doors(tmp_path, right)) == [(0.5, 21_000)] * 3
    assert all("within 1 %" in outcome for outcome in doors(tmp_path, wrong))
    assert len(liqdata.Market(orders=[right]).orders()) == 1
    with pytest.raises(BadQuery, match="within 1 %"):
        liqdata.Market(orders=[wrong])


def test_a_value_in_another_quote_is_compared_in_that_quote():
    row = order(symbol="BTC-EUR", notional="21000")
    (stored,) = liqdata.Market(orders=[row], quote_rates={"EUR": 1.1}).orders()
    assert float(stored["value_usd"]) == pytest.approx(23_100)
    with pytest.raises(BadQuery, match="quote_value"):
        liqdata.Market(orders=[row | {"notional": "23100"}], quote_rates={"EUR": 1.1})


@pytest.mark.parametrize("name", ["contract_size", "contractSize", "ctVal", "quanto_multiplier", "Face Value"])
@pytest.mark.parametrize("value", [{}, {"notional": "5460"}, {"value_usd": "5460"}])
def test_a_column_of_sizes_says_what_whole_quantities_count(tmp_path, name, value):
    row = order(exchange="okx", symbol="BTC-USDT-SWAP", qty="13", **{name: "0.01"}) | value
    assert list(doors(tmp_path, row)) == [(0.13, 5460)] * 3
    (stored,) = liqdata.Market(orders=[row]).orders()
    assert (float(stored["qty"]), float(stored["value_usd"])) == (0.13, 5460)


def test_a_size_of_contracts_with_a_quantity_in_coins_needs_a_value():
    row = order(exchange="okx", symbol="BTC-USDT-SWAP", qty="0.13", ctVal="0.01")
    with pytest.raises(BadQuery, match="counts coins or contracts"):
        liqdata.Market(orders=[row])
    (stored,) = liqdata.Market(orders=[row | {"notional": "5460"}]).orders()
    assert float(stored["qty"]) == 0.13
    # Deribit publishes amounts in USD, whatever the size of its contracts is.
    row = order(exchange="deribit", symbol="BTC-PERPETUAL", qty="420", contract_size="10")
    with pytest.raises(BadQuery, match="counts coins or contracts"):
        liqdata.Market(orders=[row])


@pytest.mark.parametrize("name", ["base_amount", "base_qty", "homeNotional"])
def test_a_quantity_in_coins_is_read_before_contracts(tmp_path, name):
    row = order(exchange="okx", symbol="BTC-USDT-SWAP", qty="13", **{name: "0.13"})
    assert list(doors(tmp_path, row)) == [(0.13, 5460)] * 3


@pytest.mark.parametrize("symbol", ["XBTUSDT", "XBTUSDTH24", "ETHUSDT"])
def test_amounts_of_bitmex_may_count_contracts(tmp_path, symbol):
    row = order(exchange="bitmex", symbol=symbol, qty="1000000")
    assert all("counts coins or contracts" in outcome for outcome in doors(tmp_path, row))
    assert list(doors(tmp_path, row, contract_size="0.000001")) == [(1, 42_000)] * 3
    assert list(doors(tmp_path, row | {"qty": "0.5", "value_usd": "21000"})) == [(0.5, 21_000)] * 3


def test_a_contract_means_what_its_exchange_means(tmp_path):
    row = order(exchange="bybit", symbol="BTC-29MAR24", qty="10")
    assert list(doors(tmp_path, row)) == [(10, 420_000)] * 3
    (stored,) = liqdata.Market(orders=[row]).orders()
    assert liqdata.symbols.parse(stored["symbol"]).pair == "BTCUSDC"
    liqdata.ingest(tmp_path / "archive", orders=[row])
    data = {"T": T, "s": "BTC-29MAR24", "S": "Buy", "v": "10", "p": "42000"}
    frame = json.dumps({"topic": "allLiquidation.BTC-29MAR24", "type": "snapshot", "ts": T, "data": [data]})
    assert liqdata.ingest(tmp_path / "archive", orders=liqdata.feeds.decode("bybit", frame)).repeated == 1
    for exchange, symbol in (("deribit", "BTC-29MAR24"), ("htx", "BTC240329")):
        with pytest.raises(BadQuery, match="counts coins or contracts"):
            liqdata.Market(orders=[order(exchange=exchange, symbol=symbol, qty="1000")])


def test_a_scaled_name_without_a_quote_is_converted_to_its_coin(tmp_path):
    row = order(exchange="hyperliquid", symbol="kPEPE", price="0.01", qty="100", value_usd="1")
    assert list(doors(tmp_path, row)) == [(100_000, 1)] * 3
    (stored,) = liqdata.Market(orders=[row]).orders()
    assert (stored["symbol"], float(stored["price"]), float(stored["qty"])) == ("PEPE", 0.00001, 100_000)
    (stored,) = liqdata.Market(orders=[row | {"symbol": "1000PEPEUSDT"}]).orders()
    assert (stored["symbol"], float(stored["price"]), float(stored["qty"])) == ("1000PEPEUSDT", 0.01, 100)


@pytest.mark.parametrize(
    "contradiction",
    [
        {"coin": "ETH"},
        {"position_side": "SHORT"},
        {"symbol": "BYBIT:BTCUSDT"},
        {"symbol": "BTCUSDT.BYBIT"},
        {"side": "BUY", "position_side": "LONG"},
        {"notional_usd": "5000"},
        {"notional": "5000"},
        {"quantity": "13"},
        {"pair": "ETHUSDT"},
        {"pair": "BTCUSDC"},
        {"native_id": "ETHUSD_PERP"},
        {"instrument": "ETHUSDT"},
        {"instId": "ETH-USDT-SWAP"},
        {"baseCoin": "ETH"},
        {"venue": "bybit"},
        {"time": T + 8 * 3_600_000},
        {"datetime": "2024-01-02T08:00:00Z"},
        {"liquidated_side": "SHORT"},
        {"posSide": "LONG", "positionSide": "SHORT"},
        {"is_liquidation": False},
        {"liquidation": "false"},
        {"type": "fill"},
        {"order_type": "ADL"},
        {"status": "NEW"},
        {"trdMatchID": "a"},
        {"realizedPnl": "0"},
    ],
    ids=str,
)
def test_columns_that_contradict_each_other_are_refused(tmp_path, contradiction):
    row = order(value_usd="21000") | contradiction
    with pytest.raises(BadQuery):
        liqdata.Market(orders=[row])
    with contextlib.suppress(BadQuery):
        assert liqdata.ingest(tmp_path / "archive", orders=[row]).new == 0


@pytest.mark.parametrize(
    "more",
    [
        {"coin": "USDT"},
        {"coin": "BTC"},
        {"coin": "XBT"},
        {"side": "SELL", "positionSide": "LONG"},
        {"positionSide": "BOTH"},
        {"qty": "21000", "homeNotional": "0.5"},
        {"notional_usd": "21000.5", "quantity": "0.50", "pair": "BTC/USDT:USDT", "venue": "Binance"},
        {"instrument": "BTC-PERP", "market": "linear", "base": "XBT", "s": "SELL"},
        {"time": T + 400, "datetime": "2024-01-02 00:00:00Z", "date": "2024-01-02"},
        {"direction": "sell", "liquidated_side": "long", "position": "0.5"},
        {"is_liquidation": True, "type": "LIMIT", "order_type": "LIMIT", "status": "FILLED"},
        {"liquidation": "T", "trade_id": "7"},
    ],
    ids=str,
)
def test_columns_that_agree_are_read(more):
    market = liqdata.Market(orders=[order(value_usd="21000") | more])
    (stored,) = market.orders()
    assert (stored["symbol"], stored["side"], float(stored["qty"])) == ("BTCUSDT", "LONG", 0.5)
    assert [row["coin"] for row in market.coins()] == ["BTC"]


def test_a_contradiction_names_both_columns_and_both_values():
    for more, words in (
        ({"coin": "ETH"}, "ETH .symbol BTCUSDT.*names another coin than the symbol"),
        ({"quantity": "13"}, "0.5 .quantity.*13.*differs from the column .quantity"),
        ({"pair": "ETHUSDT"}, "BTCUSDT .pair ETHUSDT.*differs from the column .pair"),
    ):
        with pytest.raises(BadQuery, match=words):
            liqdata.Market(orders=[order(value_usd="21000") | more])


def bars_closing(name, *closes):
    count = len(closes)
    return {
        "timestamp": [T + 300_000 * place for place in range(count)],
        "symbol": ["BTCUSDT"] * count,
        **dict.fromkeys(("open", "high", "low", "close"), [42_000.0] * count),
        "volume": [1.0] * count,
        name: list(closes),
    }


@pytest.mark.parametrize("name", ["closes_at", "close_time", "candle_end", "candle_stop"])
def test_a_close_that_contradicts_the_length_is_refused(name):
    for last in (0, 1, 1000):
        table = bars_closing(name, T + 300_000 - last, T + 600_000 - last)
        (bar, _) = liqdata.Market(bars=table).bars("BTC")
        assert bar["interval"] == 300_000
        with pytest.raises(BadQuery, match="closes_at"):
            liqdata.Market(bars=table | {"interval": ["1m", "1m"]})


def test_instants_may_be_whole_numbers_with_a_fraction():
    for at in (float(T), f"{T}.0", f"{T}.000", f"{T}"):
        (stored,) = liqdata.Market(orders=[order(value_usd="21000", timestamp=at)]).orders()
        assert stored["timestamp"] == T
    for at in (f"{T}.5", "1704153600.0", "20240102.0"):
        with pytest.raises(BadQuery, match="timestamp"):
            liqdata.Market(orders=[order(value_usd="21000", timestamp=at)])


def test_bars_of_a_market_are_a_table_of_bars(tmp_path):
    market = liqdata.demo()
    rows = market.bars("BTC")
    assert liqdata.Market(bars=rows).bars("BTC") == rows
    done = liqdata.ingest(tmp_path / "archive", bars=rows, exchange="binance")
    assert (done.new, done.refused) == (len(rows), {})
    with liqdata.open(tmp_path / "archive") as archived:
        again = archived.bars("BTC", as_of=market.now)
        assert [row["close"] for row in again] == [row["close"] for row in rows]
        assert [row["closes_at"] for row in again] == [row["closes_at"] for row in rows]


def test_open_interest_that_a_market_refuses_is_refused_by_an_archive(tmp_path):
    times = [T + 300_000 * place for place in range(600)]
    name = {"timestamp": times, "symbol": ["BTCUSDT"] * 600, "exchange": ["gate"] * 600}
    prices = dict.fromkeys(("open", "high", "low", "close"), [42_000.0] * 600)
    bars = {**name, **prices, "volume": [100.0] * 600}
    for level, is_accepted in ((12.5e6, False), (12.5e3, True)):
        readings = {**name, "open_interest": [level] * 600}
        both, folder = {"bars": bars, "open_interest": readings}, tmp_path / str(level)
        if is_accepted:
            liqdata.Market(**both)
            assert liqdata.ingest(folder, **both).new == 1200
            continue
        with pytest.raises(BadQuery, match="daily volume"):
            liqdata.Market(**both)
        with pytest.raises(BadQuery, match="daily volume"):
            liqdata.ingest(folder, **both)
        liqdata.ingest(folder, bars=bars)
        with pytest.raises(BadQuery, match="daily volume"):  # against the bars of the archive
            liqdata.ingest(folder, open_interest=readings)


def test_a_change_of_unit_of_open_interest_opens_no_positions():
    times = [T + 300_000 * place for place in range(600)]
    name = {"timestamp": times, "symbol": ["BTCUSDT"] * 600, "exchange": ["gate"] * 600}
    prices = [42_000.0 + 100 * (place % 7) for place in range(600)]
    bars = {
        **name,
        "open": prices,
        "high": [price + 50 for price in prices],
        "low": [price - 50 for price in prices],
        "close": prices,
        "volume": [100.0] * 600,
    }

    def shares(levels):
        market = liqdata.Market(bars=bars, open_interest={**name, "open_interest": levels})
        column = market.heatmap("BTC", "24h").matrix[:, -1]
        return column / column.sum(), market.heatmap("BTC", "24h").meta["explain"]

    steady, _ = shares([2_000.0] * 600)
    changed, explain = shares([200.0] * 500 + [2_000.0] * 100)
    assert changed == pytest.approx(steady, abs=1e-6)
    assert explain["openInterestOutliers"] > 0
    flicker = [2_000.0 if place % 3 else 3_000.0 for place in range(600)]
    flickered, explain = shares(flicker)
    assert flickered == pytest.approx(steady, abs=1e-6)
    assert explain["openInterestFactors"]["gate"] == pytest.approx(1.5)


def test_a_coin_without_the_namespace_of_its_symbol_agrees_with_it():
    row = order(exchange="hyperliquid", symbol="xyz:TSLA", coin="TSLA", price="300", qty="2")
    market = liqdata.Market(orders=[row])
    assert [each["coin"] for each in market.coins()] == [liqdata.symbols.parse("xyz:TSLA").coin]
    with pytest.raises(BadQuery, match="another coin"):
        liqdata.Market(orders=[row | {"coin": "NVDA"}])
