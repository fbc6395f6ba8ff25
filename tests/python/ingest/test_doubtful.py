"""Rows that are well formed and cannot be true: ``liqdata.ingest`` refuses them by reason, and keeps the others."""

import time
import zipfile

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
    bars = {"timestamp": [this - 60 * MINUTE, this + 120 * MINUTE], "symbol": ["BTC"] * 2, "interval": ["1h"] * 2}
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


# --- bars and open interest that say themselves what they are

STEP = 5 * MINUTE
PRICES = {"open": 42_000.0, "high": 42_010.0, "low": 41_990.0, "close": 42_005.0}


def some_bars(count=4, step=STEP, **other):
    columns = {"timestamp": [START + row * step for row in range(count)]}
    columns |= {name: [price] * count for name, price in PRICES.items()} | {"volume": [12.5] * count}
    return columns | {name: cells if isinstance(cells, list) else [cells] * count for name, cells in other.items()}


def through(form, archive, kind, columns, named):
    """The outcome of a table of an exchange that comes as a file of a name, or as such."""
    exchange, name = named
    if form == "csv":
        return liqdata.ingest(archive, as_csv(archive.parent, columns, name), exchange=exchange)
    columns = {"symbol": [named_by(name)] * len(columns["timestamp"])} | columns
    return liqdata.ingest(archive, **{kind: columns}, exchange=exchange)


def named_by(name):
    return name.partition(".")[0].removesuffix("-5m").removesuffix("_5m")


def stored(archive, kind):
    with liqdata.open(archive) as market:
        rows = getattr(market, kind)("BTC", start=START - 60 * MINUTE, end=START + 1440 * MINUTE)
    return [row["volume" if kind == "bars" else "open_interest"] for row in rows]


@pytest.mark.parametrize("form", ["table", "csv"])
@pytest.mark.parametrize(
    "case",
    [
        ("okx", "BTC-USDT-SWAP_5m.csv", {"volume": 1250, "volCcy": 12.5, "volCcyQuote": 525_000}),
        ("htx", "BTC-USDT_5m.csv", {"amount": 12.5, "volume": 12_500, "trade_turnover": 525_000}),
        ("bybit", "BTCUSD_5m.csv", {"volume": 525_000, "turnover": 12.5}),
        ("bybit", "BTCUSDT_5m.csv", {"volume": 12.5, "turnover": 525_000}),
        ("gate", "BTC_USDT_5m.csv", {"volume": 125_000, "base_volume": 12.5}),
        ("bitget", "BTCUSDT_5m.csv", {"base_volume": 12.5, "quote_volume": 525_000}),
    ],
)
def test_the_volume_in_coins_is_the_one_that_fits_the_prices(folder, form, case):
    exchange, name, volumes = case
    columns = some_bars(**{"volume": 0.0} | volumes)
    if "volume" not in volumes:
        del columns["volume"]
    assert through(form, folder, "bars", columns, (exchange, name)).new == 4
    assert set(stored(folder, "bars")) == {12.5}


@pytest.mark.parametrize("form", ["table", "csv"])
@pytest.mark.parametrize(
    "case",
    [
        ("gate", "BTC_USDT_5m.csv", {"volume": 125_000, "sum": 525_000}),
        ("gate", "BTC-USDT_5m.csv", {"volume": 125_000, "quote_asset_volume": 525_000}),
        ("binance", "BTCUSDT_5m.csv", {"volume": 525_000, "volume_usd": 525_000}),
        ("htx", "BTC-USDT_5m.csv", {"volume": 12_500, "amount": 12.5}),
    ],
)
def test_a_volume_that_contradicts_the_others_is_refused(folder, form, case):
    exchange, name, volumes = case
    done = through(form, folder, "bars", some_bars(**volumes), (exchange, name))
    assert done.new == 0
    assert [reason.partition(":")[0] for reason in done.refused] == ["volume"]
    assert "contract_size= gives the size" in next(iter(done.refused))


def test_the_size_of_contracts_makes_their_volume_fit(tmp_path, folder):
    file = as_csv(tmp_path, some_bars(volume=125_000, sum=525_000), "BTC_USDT_5m.csv")
    assert liqdata.ingest(folder, file, exchange="gate", contract_size=0.0001).new == 4
    assert set(stored(folder, "bars")) == {12.5}


@pytest.mark.parametrize("form", ["table", "csv"])
@pytest.mark.parametrize(
    "case",
    [
        ("okx", "BTC-USDT-SWAP_5m.csv", {"oi": 3e6, "oiCcy": 30_000, "oiUsd": 1.26e9}, 30_000),
        ("gate", "BTC_USDT_5m.csv", {"open_interest": 3e8, "open_interest_usd": 1.26e9, "mark_price": 42_000}, 30_000),
        ("binance", "BTCUSD_PERP_5m.csv", {"open_interest": 5e6, "open_interest_value": 11_904.75}, 11_904.75),
        ("binance", "BTCUSDT_5m.csv", {"open_interest": 30_000, "oi_usd": 1.2601e9}, 30_000),
    ],
)
def test_open_interest_in_contracts_is_read_by_its_coins_or_usd(folder, form, case):
    exchange, name, amounts, coins = case
    columns = {"timestamp": [START + row * STEP for row in range(3)]}
    columns |= {column: [amount] * 3 for column, amount in amounts.items()}
    assert through(form, folder, "open_interest", columns, (exchange, name)).new == 3
    assert set(stored(folder, "open_interest")) == {coins}


def test_open_interest_that_contradicts_its_usd_is_refused(folder):
    interest = {"timestamp": [START], "symbol": ["BTCUSDT"], "open_interest": [30_000.0]}
    interest |= {"open_interest_usd": [30_000.0], "mark_price": [42_000.0]}
    done = liqdata.ingest(folder, open_interest=interest, exchange="okx")
    assert list(done.refused) == ["open_interest: contradicts the open interest in USD at the price of the row"]


@pytest.mark.parametrize("form", ["market", "table", "csv"])
@pytest.mark.parametrize("name", ["open_time", "Open time", "start", "time_period_start", "window_start", "timeOpen"])
def test_the_open_of_a_bar_is_read_before_other_times(folder, form, name):
    bars = some_bars(timestamp=[START + (row + 1) * STEP for row in range(4)])
    bars = {name: [START + row * STEP for row in range(4)]} | bars
    if form == "market":
        market = liqdata.Market(bars={"symbol": ["BTCUSDT"] * 4} | bars)
        assert market.bars("BTC", start=START - STEP, end=START + 9 * STEP)[0]["timestamp"] == START
        return
    assert through(form, folder, "bars", bars, ("binance", "BTCUSDT_5m.csv")).new == 4
    with liqdata.open(folder) as market:
        assert market.bars("BTC", start=START - STEP, end=START + 9 * STEP)[0]["timestamp"] == START


@pytest.mark.parametrize("name", ["Close time", "end", "endTime", "time_period_end", "timeClose", "T"])
def test_a_close_at_the_timestamp_is_refused(tmp_path, folder, name):
    columns = some_bars()
    file = as_csv(tmp_path, {**columns, name: columns["timestamp"]}, "BTCUSDT_5m.csv")
    assert liqdata.ingest(folder, file, exchange="binance").new == 0


@pytest.mark.parametrize("name", ["interval", "timeframe", "period", "resolution", "bar"])
def test_a_stated_length_that_the_rows_contradict_is_refused(tmp_path, folder, name):
    file = as_csv(tmp_path, some_bars(**{name: "1h"}), "BTCUSDT_5m.csv")
    done = liqdata.ingest(folder, file, exchange="binance")
    assert done.refused == {"interval: longer than the distance between the bars": 4}


@pytest.mark.parametrize("name,minutes,rows", [("BTCUSDT_1m.csv", 5, 4), ("BTC-USDT_1h.csv", 1440, 7)])
def test_a_few_rows_farther_apart_than_the_name_says_are_refused(tmp_path, folder, name, minutes, rows):
    file = as_csv(tmp_path, some_bars(rows, minutes * MINUTE), name)
    with pytest.raises(liqdata.BadQuery, match=r"its name says bars of .* ms, but its rows are"):
        liqdata.ingest(folder, file, exchange="okx")


@pytest.mark.parametrize(
    "name,no",
    [("confirm", "0"), ("x", "false"), ("is_closed", "False"), ("closed", "f"), ("is_final", "0"), ("complete", "no")],
)
def test_a_bar_that_says_that_it_is_open_is_refused(tmp_path, folder, name, no):
    file = as_csv(tmp_path, some_bars(**{name: ["1", "true", "1", no]}), "BTC-USDT_5m.csv")
    done = liqdata.ingest(folder, file, exchange="okx")
    assert (done.new, done.refused) == (3, {"timestamp: the bar has not closed yet": 1})


def test_a_market_leaves_out_the_bar_that_has_not_closed():
    now = int(time.time() * 1000) // STEP * STEP
    bars = {"symbol": ["BTCUSDT"] * 4} | some_bars(timestamp=[now - STEP * (3 - row) for row in range(4)])
    assert len(liqdata.Market(bars=bars).bars("BTC", start=now - 9 * STEP, end=now + 9 * STEP)) == 3
    assert len(liqdata.Market(bars=bars | {"confirm": [0, 1, True, 1]}).bars("BTC", start=now - 9 * STEP)) == 2


def test_the_time_of_a_member_of_a_zip_archive_says_which_bar_was_open(tmp_path, folder):
    file = tmp_path / "BTC_USDT-5m.zip"
    lines = [f"[{START + row * STEP},42000,42010,41990,42005,12.5]" for row in range(3)]
    with zipfile.ZipFile(file, "w") as members:
        member = zipfile.ZipInfo("BTC_USDT-5m.json", (2024, 1, 2, 0, 12, 0))
        members.writestr(member, f"[{','.join(lines)}]")
    done = liqdata.ingest(folder, file, exchange="okx")
    assert (done.new, done.refused) == (2, {"timestamp: the bar was still open when the file was written": 1})


# --- series that are not those of trades, or of another market


@pytest.mark.parametrize(
    "name",
    [
        "mark_BTCUSDT_1m.csv",
        "mark_price_BTCUSDT_1m.csv",
        "mark/BTCUSDT_1m.csv",
        "premium_index/BTCUSDT_1m.csv",
        "BTC-USDT_spread_1m.csv",
    ],
)
def test_prices_that_are_not_of_trades_are_known_by_their_name(tmp_path, folder, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    with pytest.raises(liqdata.BadQuery, match="bars must be made of trade prices"):
        liqdata.ingest(folder, as_csv(tmp_path, some_bars(step=MINUTE), name), exchange="bybit")


@pytest.mark.parametrize(
    "other", [{"price_type": "mark"}, {"candle_type": "premiumIndex"}, {"volume": 0, "num_trades": 60}, {"volume": 0}]
)
def test_prices_that_are_not_of_trades_are_known_by_their_rows(tmp_path, folder, other):
    file = as_csv(tmp_path, some_bars(**other), "BTCUSDT_5m.csv")
    done = liqdata.ingest(folder, file, exchange="bybit")
    assert (done.new, sum(done.refused.values())) == (0, 4)


@pytest.mark.parametrize(
    "name,exchange",
    [
        ("BTC-29MAR24-50000-C_5m.csv", "deribit"),
        ("BTC-USD-240329-50000-C_5m.csv", "okx"),
        ("BTCUSDT_240329_5m.csv", "binance"),
        ("BTC_CQ_5m.csv", "htx"),
    ],
)
def test_a_contract_that_ends_is_refused_in_a_name_as_in_a_column(tmp_path, folder, name, exchange):
    done = liqdata.ingest(folder, as_csv(tmp_path, some_bars(), name), exchange=exchange)
    assert done.new == 0
    assert [reason.partition(":")[0] for reason in done.refused] == ["symbol"]


def test_bars_of_spot_and_of_futures_are_no_series(tmp_path, folder):
    spot, futures = tmp_path / "spot", tmp_path / "futures"
    for place in (spot, futures):
        place.mkdir()
    later = some_bars(timestamp=[START + (row + 4) * STEP for row in range(4)])
    files = [as_csv(spot, some_bars(), "BTCUSDT_5m.csv"), as_csv(futures, later, "BTCUSDT_5m.csv")]
    done = liqdata.ingest(folder, *files, exchange="binance")
    assert done.new == 4
    assert "names another contract" in next(iter(done.refused))
    with pytest.raises(liqdata.LiqdataError, match="spot"):
        liqdata.Market(bars={"symbol": ["SPOT_BTC_USDT"] * 4} | some_bars())


# --- files with names or headers that say less


def test_klines_with_the_header_of_programs_are_read(tmp_path, folder):
    head = [
        "Open time",
        "Open",
        "High",
        "Low",
        "Close",
        "Volume",
        "Close time",
        "Quote asset volume",
        "Number of trades",
    ]
    rows = [
        [START + row * MINUTE, 42_000, 42_010, 41_990, 42_005, 12.5, START + (row + 1) * MINUTE - 1, 525_000, 60]
        for row in range(3)
    ]
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    for name in ("BTCUSDT-1m-2024-01.csv", "BTCUSDT_1m.csv"):
        done = liqdata.ingest(folder, as_csv(tmp_path, columns, name))
        assert (list(done.files.values()), done.rows - sum(done.refused.values())) == (["binance_klines"], 3)


@pytest.mark.parametrize("name,exchange", [("BTC-USD-SWAP_5m.csv", "okx"), ("BTC-PERPETUAL_5m.csv", "deribit")])
def test_bars_of_a_contract_in_usd_are_refused_in_a_name_as_in_a_column(tmp_path, folder, name, exchange):
    done = liqdata.ingest(folder, as_csv(tmp_path, some_bars(), name), exchange=exchange)
    assert done.new == 0
    assert "counts coins or contracts" in next(iter(done.refused))


def test_bars_of_a_linear_contract_of_kraken_are_read_by_its_name(tmp_path, folder):
    done = liqdata.ingest(folder, as_csv(tmp_path, some_bars(), "PF_XBTUSD_5m.csv"), exchange="kraken")
    assert (done.new, done.refused) == (4, {})


def test_open_interest_in_usd_of_a_recorder_is_converted_with_bars(tmp_path, folder):
    seconds = START // 1000 + 300
    columns = {"exchange": ["BYBIT"], "symbol": ["BTC-USD-PERP"], "open_interest": [42_005_000]}
    columns |= {"timestamp": [seconds], "receipt_timestamp": [seconds]}
    liqdata.ingest(folder, bars={"symbol": ["BTC"] * 4} | some_bars(), exchange="bybit")
    assert liqdata.ingest(folder, as_csv(tmp_path, columns)).new == 1
    assert stored(folder, "open_interest") == [1000.0]
