"""Rows that are well formed and cannot be true: ``liqdata.ingest`` refuses them by reason, and keeps the others."""

import time

import pytest

import liqdata

MINUTE = 60_000
START = 1_704_153_600_000  # 2024-01-02


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "archive"


def some_orders(times, **other):
    count = len(times)
    columns = {"timestamp": times, "exchange": ["okx"] * count, "symbol": ["ETHUSDT"] * count, "side": ["LONG"] * count}
    columns |= {"price": [2000.0] * count, "qty": [3.0] * count, "value_usd": [6000.0] * count}
    return columns | other


def as_csv(folder, columns, name="x.csv"):
    lines = [",".join(columns), *(",".join(map(str, cells)) for cells in zip(*columns.values(), strict=True))]
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    return file


def newest(folder):
    with liqdata.open(folder) as market:
        return max(row["timestamp"] for row in market.iter_orders(start=0))


# --- of a time that is yet to come


@pytest.mark.parametrize("form", ["table", "csv"])
def test_orders_of_the_future_are_refused_and_do_not_move_now(tmp_path, folder, form):
    now = int(time.time() * 1000)
    times = [START, now - 60 * MINUTE, now + 5 * MINUTE, now + 30 * MINUTE, now + 3 * 365 * 1440 * MINUTE]
    columns = some_orders(times)
    given = {"orders": columns} if form == "table" else {}
    files = [] if form == "table" else [as_csv(tmp_path, columns)]
    done = liqdata.ingest(folder, *files, **given)
    assert (done.rows, done.new) == (5, 3)
    ((reason, count),) = done.refused.items()
    assert (reason, count) == (
        "timestamp: more than ten minutes ahead of this machine's clock",
        2,
    )
    assert newest(folder) == now + 5 * MINUTE
    assert liqdata.ingest(folder, *files, **given).repeated == 3
    with liqdata.open(folder) as market:
        (covered,) = (row for row in market.coverage("24h") if row["exchange"] == "okx")
    assert covered["cnt"] == 2


def test_bars_that_are_not_closed_and_readings_to_come_are_refused(folder):
    now = int(time.time() * 1000)
    this = now - now % (60 * MINUTE)
    bars = {"timestamp": [this - 60 * MINUTE, this + 60 * MINUTE], "symbol": ["BTC"] * 2, "interval": ["1h"] * 2}
    bars |= {name: [100.0] * 2 for name in ("open", "high", "low", "close", "volume")}
    interest = {"timestamp": [this, now + 20 * MINUTE], "symbol": ["BTC"] * 2, "open_interest": [7.0] * 2}
    done = liqdata.ingest(folder, bars=bars, open_interest=interest, exchange="okx")
    assert (done.rows, done.new) == (4, 2)
    assert done.refused == {"timestamp: more than ten minutes ahead of this machine's clock": 2}
    assert [where.partition(" ")[0] for where in done.first.values()] == ["bars:1"]


# --- a worth that contradicts price and quantity


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_value_that_contradicts_price_and_quantity_is_refused(tmp_path, folder, form):
    worth = [6000.0, 6_000_000_000.0, 59_000.0, 599.0, 601.0]
    columns = some_orders([START + row for row in range(5)], value_usd=worth)
    given = {"orders": columns} if form == "table" else {}
    files = [] if form == "table" else [as_csv(tmp_path, columns)]
    done = liqdata.ingest(folder, *files, **given)
    assert (done.rows, done.new, sum(done.refused.values())) == (5, 1, 4)
    ((reason, where),) = done.first.items()
    assert "not within 1 % of price × qty" in reason
    assert "6000000000" in where
    assert "2000" in where
    assert where.startswith("orders:1 " if form == "table" else f"{files[0]}:3 ")


@pytest.mark.parametrize(
    "exchange, symbol",
    [
        ("binance", "BTCUSD_PERP"),
        ("bitmex", "XBTUSD"),
        ("okx", "ETH/USD:ETH"),
        ("okx", "ETHBTC"),
    ],
)
@pytest.mark.parametrize("form", ["table", "csv"])
def test_rows_in_other_units_are_not_checked_for_outliers(tmp_path, folder, exchange, symbol, form):
    columns = some_orders([START], exchange=[exchange], symbol=[symbol], value_usd=[300.0])
    files, given = ([], {"orders": columns}) if form == "table" else ([as_csv(tmp_path, columns)], {})
    assert liqdata.ingest(folder, *files, **given).new == 1


# --- of another side, of trades, of another exchange


def orders_of(folder, **columns):
    columns = {"timestamp": [START], "exchange": "okx", "symbol": "BTCUSDT", "price": 42_000, "qty": 0.13} | columns
    count = len(columns["timestamp"])
    return as_csv(
        folder, {name: cells if isinstance(cells, list) else [cells] * count for name, cells in columns.items()}
    )


@pytest.mark.parametrize("exchange", ["bybit", "Bybit", "bitget", "coinex"])
def test_a_word_that_is_the_side_of_the_position_there_is_not_read_as_an_order(tmp_path, folder, exchange):
    done = liqdata.ingest(folder, orders_of(tmp_path, side="Buy", exchange=exchange), format="force_orders")
    assert (done.new, "a Buy is a liquidated long" in next(iter(done.refused))) == (0, True)
    file = orders_of(tmp_path, side="Buy", exchange=exchange, position_side="LONG")
    assert liqdata.ingest(folder, file, format="force_orders").new == 1
    with liqdata.open(folder) as market:
        assert [row["side"] for row in market.iter_orders()] == ["LONG"]


@pytest.mark.parametrize("name", ["position", "liquidated_side", "liq_side", "direction", "position side"])
def test_a_side_of_the_position_under_another_name_is_not_passed_over(tmp_path, folder, name):
    file = orders_of(tmp_path, timestamp=[START, START + 1, START + 2], side="BUY", **{name: ["LONG", "SHORT", "BOTH"]})
    done = liqdata.ingest(folder, file, format="force_orders")
    assert (done.new, list(done.refused.values())) == (2, [1])
    with liqdata.open(folder) as market:
        assert {(row["timestamp"], row["side"]) for row in market.iter_orders()} == {
            (START + 1, "SHORT"),
            (START + 2, "SHORT"),
        }


@pytest.mark.parametrize(
    "name, ordinary, liquidation",
    [
        ("liquidation", "false", "true"),
        ("is_liquidation", "False", "True"),
        ("type", "fill", "liquidation"),
        ("type", "LIMIT", "LIQUIDATED"),
        ("trade_type", "deleveraged", "liquidation"),
        ("order_type", "ADL", "LIQUIDATION"),
        ("status", "NEW", "FILLED"),
        ("status", "CANCELED", "PARTIALLY_FILLED"),
    ],
)
def test_only_the_rows_that_are_liquidations_are_stored(tmp_path, folder, name, ordinary, liquidation):
    times = [START, START + 1, START + 2]
    file = orders_of(tmp_path, timestamp=times, side="SELL", **{name: [ordinary, liquidation, ordinary]})
    done = liqdata.ingest(folder, file, format="force_orders")
    assert (done.new, sum(done.refused.values())) == (1, 2)
    with liqdata.open(folder) as market:
        assert [row["timestamp"] for row in market.iter_orders()] == [START + 1]


@pytest.mark.parametrize("column", ["trdMatchID", "trade_id", "realizedPnl", "commission", "isBuyerMaker"])
@pytest.mark.parametrize("format", [None, "orders", "force_orders"])
def test_trades_are_no_liquidations_whatever_the_format(tmp_path, folder, column, format):
    side = "LONG" if format != "force_orders" else "SELL"
    with pytest.raises(liqdata.BadQuery, match=f"(?i){column}"):
        liqdata.ingest(folder, orders_of(tmp_path, side=side, **{column: 1}), format=format)
    file = orders_of(tmp_path, side=side, **{column: 1}, is_liquidation="true")
    assert liqdata.ingest(folder, file, format=format).new == 1


@pytest.mark.parametrize("name", ["instId", "ticker", "market", "contract", "s"])
def test_a_symbol_in_another_column_contradicts_the_name_of_the_file(tmp_path, folder, name):
    bars = {"timestamp": [START, START + 5 * MINUTE], name: ["ETH-USDT"] * 2}
    bars |= dict.fromkeys(("open", "high", "low", "close"), [42_000.0] * 2) | {"volume": [1.0] * 2}
    done = liqdata.ingest(folder, as_csv(tmp_path, bars, "btc_5m.csv"), exchange="okx")
    assert (done.new, sum(done.refused.values())) == (0, 2)
    assert liqdata.ingest(folder, as_csv(tmp_path, bars, "eth_5m.csv"), exchange="okx").new == 2


def test_a_file_that_is_named_after_another_exchange_is_refused(tmp_path, folder):
    bars = {"timestamp": [START, START + 5 * MINUTE]}
    bars |= dict.fromkeys(("open", "high", "low", "close"), [42_000.0] * 2) | {"volume": [1.0] * 2}
    file = as_csv(tmp_path, bars, "bybit_BTCUSDT_5m.csv")
    with pytest.raises(liqdata.BadQuery, match=r"bybit.*binance"):
        liqdata.ingest(folder, file, exchange="binance")
    assert liqdata.ingest(folder, file, exchange="bybit").new == 2
