"""``liqdata.ingest`` and ``liqdata ingest``: files in the shapes their makers document, tables, and what is refused."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request
import zipfile
from decimal import Decimal
from pathlib import Path

import pytest
from matplotlib.text import Text

import liqdata
from liqdata import _core, cli
from liqdata.errors import ArchiveError, BadQuery
from liqdata.plot import paper

DAY = 86_400_000
MINUTE = 60_000
START = 1_704_153_600_000  # 2024-01-02
RECORDED = os.environ.get("LIQDATA_REAL_DATA")

LIQUIDATIONS = (
    "time,side,order_type,time_in_force,original_quantity,price,average_price,order_status,"
    "last_fill_quantity,accumulated_fill_quantity"
)
METRICS = (
    "create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,"
    "sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio"
)
KLINES = (
    "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore"
)
TARDIS = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
TICKER = (
    "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,predicted_funding_rate,"
    "open_interest,last_price,index_price,mark_price"
)


def force(at, side="SELL", qty="2", *, status="FILLED"):
    return f"{START + at},{side},LIMIT,IOC,{qty},40100,40000,{status},{qty},{qty}"


def kline(place, *, length=MINUTE, start=START, unit=1, volume="7", turnover="700"):
    opened = (start + place * length) * unit
    closed = (start + (place + 1) * length) * unit - 1
    return f"{opened},100,102.5,99,101,{volume},{closed},{turnover},3,1,1,0"


def written(folder, name, *lines, header=None):
    """A file of lines: plain, in gzip or in a zip, as its name says."""
    text = "\n".join([header] * (header is not None) + list(lines)) + "\n"
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name.removesuffix(".zip") + ".csv", text)
    else:
        path.write_text(text)
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "archive"


def orders_of(folder):
    with liqdata.open(folder) as market:
        return list(market.iter_orders(start=0))


def is_sound(folder):
    assert list(liqdata.verify(folder)) == []


# --- Binance


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".zip"])
@pytest.mark.parametrize("header", [LIQUIDATIONS, None])
def test_liquidation_snapshots_stand_twice_and_are_kept_once(tmp_path, folder, ending, header):
    lines = [force(1), force(1), force(2, "BUY", "0.5"), force(2, "BUY", "0.5")]
    file = written(tmp_path, f"BTCUSDT-liquidationSnapshot-2024-01-02{ending}", *lines, header=header)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, done.repeated, done.refused) == (4, 2, 2, {})
    assert list(done.files.values()) == ["binance_liquidations"]
    rows = orders_of(folder)
    assert [(row["symbol"], row["side"], row["qty"], row["price"], row["value_usd"]) for row in rows] == [
        ("BTCUSDT", "SHORT", Decimal("0.5"), Decimal(40_000), Decimal(20_000)),
        ("BTCUSDT", "LONG", Decimal(2), Decimal(40_000), Decimal(80_000)),
    ]
    again = liqdata.ingest(folder, file)
    assert (again.rows, again.new, again.repeated) == (4, 0, 4)
    assert len(orders_of(folder)) == 2
    is_sound(folder)


@pytest.mark.parametrize("contract, worth", [("BTCUSD_PERP", 100), ("ETHUSD_PERP", 10), ("BTCUSD_240329", 100)])
def test_quantities_of_coin_margined_contracts_are_contracts(tmp_path, folder, contract, worth):
    file = written(tmp_path, f"{contract}-liquidationSnapshot-2024-01-02.csv", force(1, qty="7"), header=LIQUIDATIONS)
    liqdata.ingest(folder, file)
    (row,) = orders_of(folder)
    assert (row["symbol"], row["value_usd"]) == (contract.partition("_")[0], 7 * worth)
    assert row["qty"] == Decimal(7 * worth) / 40_000


def test_a_day_of_snapshots_is_covered_and_said_to_be_a_sample(tmp_path, folder):
    name = "BTCUSDT-liquidationSnapshot-2024-01-{:02}.csv"
    files = [
        written(tmp_path, name.format(2), force(5 * MINUTE), header=LIQUIDATIONS),
        written(tmp_path, name.format(3), force(DAY + 18 * 60 * MINUTE), header=LIQUIDATIONS),
        written(tmp_path, name.format(5), header=LIQUIDATIONS),
    ]
    liqdata.ingest(folder, *files)
    with liqdata.open(folder) as market:
        (row,) = market.coverage("24h")
        assert (row["exchange"], row["completeness"], row["cnt"]) == ("binance", "sampled", 1)
        assert row["connected_share"] == 1.0
        covered = market.history(interval="1d", by=(), start=START, end=START + 4 * DAY - 1)
        assert {row["timestamp"]: row["covered"] for row in covered}[START] == 1.0


def test_an_order_of_which_nothing_was_filled_is_refused_by_reason(tmp_path, folder):
    lines = [force(1), force(2, qty="0", status="EXPIRED"), force(3, qty="0", status="NEW"), force(4, side="HOLD")]
    file = written(tmp_path, "BTCUSDT-liquidationSnapshot-2024-01-02.csv", *lines, header=LIQUIDATIONS)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new) == (4, 1)
    assert done.refused == {
        "accumulated_fill_quantity: nothing of the order was filled": 2,
        "side: not BUY or SELL": 1,
    }
    assert done.first["side: not BUY or SELL"] == f"{file}:5 (HOLD)"
    assert "4 rows read: 1 new, 0 repeated, 3 refused" in str(done)
    assert f"first at {file}:3 (EXPIRED)" in str(done)


def test_metrics_are_open_interest_in_coins_whatever_the_margin(tmp_path, folder):
    usd = written(
        tmp_path,
        "BTCUSDT-metrics-2024-01-02.csv",
        *["2024-01-02 00:05:00,BTCUSDT,76537.751,3061510040.0,2.1,1.5,2.1,1.6"] * 2,
        "2024-01-02 00:10:00,BTCUSDT,76513.9820,3061510040.0,2.1,1.5,2.1,1.6",
        header=METRICS,
    )
    thousand = written(
        tmp_path, "1000PEPEUSDT-metrics-2024-01-02.csv", "2024-01-02 00:05:00,1000PEPEUSDT,5,1,1,1,1,1", header=METRICS
    )
    coin = written(
        tmp_path,
        "ETHUSD_PERP-metrics-2024-01-02.csv",
        '2024-01-02 00:05:00,ETHUSD_PERP,400000,2000.5,"","","",1',
        header=METRICS,
    )
    done = liqdata.ingest(folder, usd, thousand, coin)
    assert (done.rows, done.new, done.repeated) == (5, 4, 1)
    with liqdata.open(folder) as market:
        read = {
            name: [(row["timestamp"] - START, row["open_interest"]) for row in market.open_interest(name)]
            for name in ("BTC", "PEPE", "ETH")
        }
    assert read == {
        "BTC": [(5 * MINUTE, 76537.751), (10 * MINUTE, 76513.982)],
        "PEPE": [(5 * MINUTE, 5000.0)],
        "ETH": [(5 * MINUTE, 2000.5)],
    }


@pytest.mark.parametrize("header", [KLINES, None])
@pytest.mark.parametrize("unit", [1, 1000])
def test_klines_are_bars_with_and_without_a_header_in_milliseconds_and_in_microseconds(tmp_path, folder, header, unit):
    lines = [kline(place, unit=unit) for place in range(3)]
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.zip", *lines, header=header)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, list(done.files.values())) == (3, 3, ["binance_klines"])
    with liqdata.open(folder) as market:
        rows = list(market.bars("BTC", interval="1m"))
    assert [row["timestamp"] for row in rows] == [START, START + MINUTE, START + 2 * MINUTE]
    assert (rows[0]["open"], rows[0]["high"], rows[0]["low"], rows[0]["close"], rows[0]["volume"]) == (
        100,
        102.5,
        99,
        101,
        7,
    )
    assert liqdata.ingest(folder, file).repeated == 3


def test_klines_of_coin_margined_and_of_scaled_contracts_are_of_single_coins(tmp_path, folder):
    coin = written(tmp_path, "BTCUSD_PERP-1h-2024-01.csv", kline(0, length=60 * MINUTE, volume="9", turnover="4.5"))
    thousand = written(tmp_path, "1000PEPEUSDT-1h-2024-01.csv", kline(0, length=60 * MINUTE))
    liqdata.ingest(folder, coin, thousand)
    with liqdata.open(folder) as market:
        (btc,) = market.bars("BTC", interval="1h")
        (pepe,) = market.bars("PEPE", interval="1h")
    assert (btc["close"], btc["volume"]) == (101, 4.5)
    assert (pepe["close"], pepe["volume"]) == (0.101, 7000)


def test_bars_of_two_contracts_of_a_coin_are_not_mixed(tmp_path, folder):
    linear = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0))
    inverse = written(tmp_path, "BTCUSD_PERP-1m-2024-01-02.csv", kline(0), kline(1))
    dated = written(
        tmp_path,
        "BTCUSDT_240329-metrics-2024-01-02.csv",
        "2024-01-02 00:05:00,BTCUSDT_240329,1,1,1,1,1,1",
        header=METRICS,
    )
    done = liqdata.ingest(folder, linear, inverse, dated)
    assert (done.rows, done.new, sum(done.refused.values())) == (4, 1, 3)
    assert any("one contract" in reason for reason in done.refused)
    assert any("delivered on a day" in reason for reason in done.refused)


def test_a_contract_that_came_later_is_refused_in_another_ingest_as_well(tmp_path, folder):
    def ticker(exchange, symbol, value):
        at = START * 1000
        line = f"{exchange},{symbol},{at + len(symbol) * 1000},{at},,0.0001,,{value},40001,40000,40000"
        return written(tmp_path, f"{exchange}_derivative_ticker_2024-01-02_{symbol}.csv.gz", line, header=TICKER)

    assert liqdata.ingest(folder, ticker("binance-futures", "BTCUSDT", "100")).new == 1
    done = liqdata.ingest(folder, ticker("binance-delivery", "BTCUSD_PERP", "1000"))
    assert (done.rows, done.new) == (1, 0)
    assert next(iter(done.refused)).startswith("open_interest of a coin on an exchange are those of one contract")
    # A line of the record that was cut short takes nothing from the others.
    with (folder / "ingested.jsonl").open("a") as record:
        record.write('{"at": "2')
    assert liqdata.ingest(folder, ticker("binance-delivery", "BTCUSD_PERP", "1000")).new == 0


def test_a_bar_that_the_archive_has_otherwise_is_refused_and_stays_as_it_was(tmp_path, folder):
    liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0), kline(1)))
    other = written(tmp_path, "BTCUSDT-1m-2024-01.csv", kline(0), kline(1, volume="8"), kline(2))
    done = liqdata.ingest(folder, other)
    assert (done.rows, done.new, done.repeated) == (3, 1, 1)
    assert done.refused == {"the archive has the row of bars with other values": 1}
    assert done.first["the archive has the row of bars with other values"].startswith(f"{other}:2 ")
    with liqdata.open(folder) as market:
        assert [row["volume"] for row in market.bars("BTC", interval="1m")] == [7, 7, 7]


# --- Tardis


def test_tardis_liquidations_have_the_side_of_the_order_and_the_time_of_receipt(tmp_path, folder):
    at = (START + 1) * 1000
    file = written(
        tmp_path,
        "binance-futures_liquidations_2024-01-02_PERPETUALS.csv.gz",
        f"binance-futures,BTCUSDT,{at},{at + 250_999},,sell,40000,0.5",
        f"binance-futures,ETHUSDT,{at},{at + 250_999},,buy,2000,1",
        f"binance-delivery,BTCUSD_PERP,{at},{at + 250_999},,sell,40000,4",
        f"bybit,BTCUSD,{at},{at + 250_999},abc,sell,40000,400",
        f"bybit,BTCUSDT,{at},{at + 250_999},abd,sell,40000,0.25",
        f"deribit,BTC-PERPETUAL,{at},{at + 250_999},5,sell,40000,1000",
        f"bitmex,XBTUSD,{at},{at + 250_999},6,buy,40000,1000",
        f"okex-swap,BTC-USDT-SWAP,{at},{at + 250_999},,sell,40000,3",
        f"nobody,BTCUSDT,{at},{at + 250_999},,sell,40000,3",
        header=TARDIS,
    )
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, sum(done.refused.values())) == (9, 7, 2)
    assert any("what one of them holds is not known" in reason for reason in done.refused)
    worth = {(row["exchange"], row["symbol"], row["side"]): row["value_usd"] for row in orders_of(folder)}
    assert worth == {
        ("binance", "BTCUSDT", "LONG"): 20_000,
        ("binance", "ETHUSDT", "SHORT"): 2_000,
        ("binance", "BTCUSD", "LONG"): 400,
        ("bybit", "BTCUSD", "LONG"): 400,
        ("bybit", "BTCUSDT", "LONG"): 10_000,
        ("deribit", "BTCUSD", "LONG"): 1_000,
        ("bitmex", "BTCUSD", "SHORT"): 1_000,
    }
    # It was received a quarter of a second later, and not known before.
    with liqdata.open(folder, as_of=START + 250) as market:
        assert len(list(market.iter_orders(start=0))) == 0
    with liqdata.open(folder, as_of=START + 251) as market:
        assert len(list(market.iter_orders(start=0))) == 7
        (binance,) = (row for row in market.coverage("24h") if row["exchange"] == "binance")
    assert binance["completeness"] == "sampled"
    assert liqdata.ingest(folder, file).new == 0


def test_trades_have_the_header_of_liquidations_and_are_not_taken_for_them(tmp_path, folder):
    line = f"binance-futures,BTCUSDT,{START * 1000},{START * 1000},7,sell,40000,1"
    for name, said in [
        ("binance-futures_trades_2024-01-02_BTCUSDT.csv.gz", "it has trades"),
        ("BTCUSDT.csv.gz", 'give format="tardis_liquidations"'),
    ]:
        file = written(tmp_path, name, line, header=TARDIS)
        with pytest.raises(BadQuery, match=said) as refused:
            liqdata.ingest(folder, file)
        assert refused.value.parameter == "files"
    assert liqdata.ingest(folder, file, format="tardis_liquidations").new == 1


def test_a_ticker_gives_open_interest_where_it_changes_and_every_five_minutes(tmp_path, folder):
    def line(seconds, value, exchange="binance-futures", symbol="BTCUSDT", mark="40000"):
        at = (START + seconds * 1000) * 1000
        return f"{exchange},{symbol},{at},{at + 5000},,0.0001,,{value},40001,40000,{mark}"

    rows = [line(0, "100.5"), line(1, "100.5"), line(2, "101"), line(299, "101"), line(302, "101"), line(303, "")]
    inverse = [line(1, "800000", "deribit", "BTC-PERPETUAL"), line(2, "3", "okex-swap", "BTC-USDT-SWAP")]
    file = written(tmp_path, "x_derivative_ticker_2024-01-02_PERPETUALS.csv.gz", *rows, *inverse, header=TICKER)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, done.repeated) == (8, 4, 2)
    assert done.refused == {
        "open_interest: blank": 1,
        "the size is in contracts, and what one of them holds is not known": 1,
    }
    with liqdata.open(folder) as market:
        read = [
            (row["exchange"], row["timestamp"] - START, row["open_interest"]) for row in market.open_interest("BTC")
        ]
    assert sorted(read) == [
        ("binance", 0, 100.5),
        ("binance", 2000, 101.0),
        ("binance", 302_000, 101.0),
        ("deribit", 1000, 20.0),
    ]
    again = liqdata.ingest(folder, file)
    assert (again.new, again.repeated) == (0, 6)


# --- Hyperliquid

LIQUIDATED = "0x5ef8000000000000000000000000000000000001"
OTHER = "0xa775000000000000000000000000000000000002"


def fill(
    at=1, *, side="A", before="8.5", qty="0.58", price="72.153", coin="SOL", tid=11, of=LIQUIDATED, way="Close Long"
):
    """A fill as a node writes it; every member that is read is as in its files."""
    told = {"coin": coin, "px": price, "sz": qty, "side": side, "time": START + at, "startPosition": before}
    told |= {"dir": way, "closedPnl": "-1.5", "hash": "0x0", "oid": 5, "crossed": True, "fee": "0.01", "tid": tid}
    if of is not None:
        told["liquidation"] = {"liquidatedUser": of, "markPx": "72.149", "method": "market"}
    return told


def legs(*accounts_and_fills):
    return [json.dumps(list(one)) for one in accounts_and_fills]


FILLS = (
    (LIQUIDATED.upper().replace("0X", "0x"), fill(1)),
    (OTHER, fill(1, side="B", before="-162.6", way="Close Short")),  # the other side of the same trade
    (LIQUIDATED, fill(2, side="B", before="-3", coin="kPEPE", price="0.01", qty="1000", tid=12)),
    (OTHER, fill(3, of=None, tid=13)),
    (LIQUIDATED, fill(4, way="Auto-Deleveraging", tid=14)),
)


def assert_the_two_of(folder, file, again):
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, done.refused) == (2, 2, {})
    assert done.files == {str(file): "hyperliquid_fills"}
    told = [(row["symbol"], row["side"], row["qty"], row["price"], row["value_usd"]) for row in orders_of(folder)]
    assert told == [
        ("KPEPEUSDC", "SHORT", Decimal(1000), Decimal("0.01"), Decimal(10)),
        ("SOLUSDC", "LONG", Decimal("0.58"), Decimal("72.153"), Decimal("41.84874")),
    ]
    with liqdata.open(folder, as_of=START + MINUTE) as market:
        assert [row["side"] for row in market.iter_orders("PEPE", start=0)] == ["SHORT"]
        (row,) = (row for row in market.coverage("24h") if row["exchange"] == "hyperliquid")
    assert row["completeness"] == "unknown"
    assert (liqdata.ingest(folder, again).new, liqdata.ingest(folder, again).repeated) == (0, 2)


def test_of_a_nodes_fills_those_are_kept_by_which_their_own_account_was_liquidated(tmp_path, folder):
    file = written(tmp_path, "8", *legs(*FILLS))
    block = {"local_time": "2024-01-02T00:00:00.5", "block_time": "2024-01-02T00:00:00.4", "block_number": 7}
    blocks = [json.dumps(block | {"events": events}) for events in ([], FILLS[:2], FILLS[2:])]
    assert_the_two_of(folder, file, written(tmp_path, "by_block.json.gz", *blocks))


def test_a_fill_that_is_not_what_it_should_be_is_refused_alone(tmp_path, folder):
    file = written(
        tmp_path,
        "8",
        *legs(
            (LIQUIDATED, fill(1)),
            (LIQUIDATED, fill(2, before="-1", tid=2)),
            (LIQUIDATED, fill(3, side="X", tid=3)),
            (LIQUIDATED, fill(4, price="0", tid=4)),
            (LIQUIDATED, fill(5, coin="xyz:TSLA", tid=5)),
            (LIQUIDATED, fill(6, coin="@107", tid=6)),
            (LIQUIDATED, {name: value for name, value in fill(7, tid=7).items() if name != "tid"}),
        ),
        '["0xa775", {"coin"',
    )
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new) == (8, 1)
    assert {reason.partition(":")[0] for reason in done.refused} == {
        "startPosition",
        "side",
        "px",
        "coin",
        "the fill is not as it should be",
        "the line is no fill and no block of them",
    }
    assert done.first["side: not A or B"].startswith(f"{file}:3 ")
    packed = tmp_path / "8.lz4"
    packed.write_bytes(b"\x04\x22\x4d\x18" + b"\x40" * 40)
    with pytest.raises(BadQuery, match="lz4 -d"):
        liqdata.ingest(folder, packed)


def test_a_reservoirs_fills_are_those_of_a_node(tmp_path, folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    ten = pyarrow.decimal128(20, 10)
    told = [one for _, one in FILLS]
    columns = {
        "address": [account for account, _ in FILLS],
        "coin": [one["coin"] for one in told],
        "dex": ["hyperliquid"] * len(told),
        "asset_class": ["perp"] * len(told),
        "base_symbol": [one["coin"] for one in told],
        "quote_symbol": ["USDC"] * len(told),
        "side": ["sell" if one["side"] == "A" else "buy" for one in told],
        "direction": [one["dir"] for one in told],
        "crossed": [one["crossed"] for one in told],
        "is_liquidation": [True, False, True, None, True],
        "trade_id": [one["tid"] for one in told],
        "order_id": [one["oid"] for one in told],
    }
    amounts = {"price": "px", "size": "sz", "start_position": "startPosition"}
    table = pyarrow.table(
        columns
        | {name: pyarrow.array([Decimal(one[of]) for one in told], ten) for name, of in amounts.items()}
        | {"timestamp": pyarrow.array([one["time"] for one in told], pyarrow.timestamp("ms", "UTC"))}
    )
    file = tmp_path / "fills.parquet"
    parquet.write_table(table, file)
    assert_the_two_of(folder, file, written(tmp_path, "8", *legs(*FILLS)))
    # What a builder's market is quoted in is told, but it is no dollar of which all agree.
    usde = table.set_column(table.column_names.index("quote_symbol"), "quote_symbol", [["USDH"] * len(told)])
    parquet.write_table(usde, tmp_path / "others.parquet")
    done = liqdata.ingest(folder, tmp_path / "others.parquet")
    assert (done.rows, done.new, sum(done.refused.values())) == (2, 0, 2)
    with pytest.raises(BadQuery, match="of no one kind"):
        liqdata.ingest(folder, file, format="orders")


# --- ccxt and tables


def test_arrays_of_ccxt_are_bars_of_the_symbol_in_the_name_of_the_file(tmp_path, folder):
    arrays = [[START + place * 5 * MINUTE, 100, 102.5, 99, 101, 7] for place in range(3)]
    file = tmp_path / "BTC_USDT_USDT-5m-futures.json"
    file.write_text(json.dumps(arrays))
    with pytest.raises(BadQuery, match="give exchange="):
        liqdata.ingest(folder, file)
    done = liqdata.ingest(folder, file, exchange="okex")
    assert (done.new, done.files) == (3, {str(file): "ccxt_ohlcv"})
    with liqdata.open(folder) as market:
        assert [row["high"] for row in market.bars("BTC", interval="5m")] == [102.5] * 3
    nameless = tmp_path / "candles.json"
    nameless.write_text(json.dumps(arrays))
    with pytest.raises(BadQuery, match="of which symbol"):
        liqdata.ingest(folder, nameless, exchange="okx")


def test_a_table_says_whose_side_it_has_or_is_asked(tmp_path, folder):
    header = "timestamp,exchange,symbol,side,price,quantity"
    positions = written(tmp_path, "positions.csv", f"{START},okx,BTC-USDT-SWAP,long,40000,1", header=header)
    orders = written(
        tmp_path, "orders.csv", "2024-01-02T00:00:01+00:00,aster,BTC/USDT:USDT,SELL,40000,2", header=header
    )
    liqdata.ingest(folder, positions)
    with pytest.raises(BadQuery, match='give format="force_orders"'):
        liqdata.ingest(folder, orders)
    liqdata.ingest(folder, orders, format="force_orders")
    rows = [(row["exchange"], row["symbol"], row["side"], row["value_usd"]) for row in orders_of(folder)]
    assert rows == [("aster", "BTCUSDT", "LONG", 80_000), ("okx", "BTCUSDT", "LONG", 40_000)]
    with liqdata.open(folder) as market:
        assert {row["completeness"] for row in market.coverage("24h")} == {"unknown"}


def test_equal_lines_of_a_table_are_two_orders_and_the_file_again_adds_none(tmp_path, folder):
    line = f"{START},okx,BTCUSDT,LONG,40000,1"
    file = written(tmp_path, "mine.csv", line, line, header="timestamp,exchange,symbol,side,price,qty")
    assert liqdata.ingest(folder, file).new == 2
    assert (liqdata.ingest(folder, file).new, len(orders_of(folder))) == (0, 2)


def test_tables_go_in_as_they_go_into_a_market(folder):
    orders = {
        "timestamp": [START, START + 1],
        "exchange": ["okx", "bybit"],
        "symbol": ["BTCUSDT", "ETHUSDT"],
        "side": ["LONG", "SHORT"],
        "price": ["40000", "2000"],
        "qty": ["1", "2"],
        "value_usd": ["40000", "4000"],
    }
    bars = {
        "timestamp": [START, START + 5 * MINUTE],
        "symbol": ["BTC", "BTC"],
        "open": [100.0, 101.0],
        "high": [103.0, 103.0],
        "low": [99.0, 99.0],
        "close": [101.0, 102.0],
        "volume": [7.0, 7.0],
    }
    interest = {"timestamp": [START + 5 * MINUTE], "symbol": ["BTC"], "open_interest_usd": [10_100.0]}
    done = liqdata.ingest(folder, orders=orders, bars=bars, open_interest=interest, exchange="okx")
    assert (done.rows, done.new, done.refused) == (5, 5, {})
    again = liqdata.ingest(folder, orders=orders, bars=bars, open_interest=interest, exchange="okx")
    assert (again.new, again.repeated) == (0, 5)
    with liqdata.open(folder) as market:
        assert [row["open_interest"] for row in market.open_interest("BTC")] == [100.0]
        assert len(list(market.bars("BTC", interval="5m"))) == 2
    with pytest.raises(BadQuery, match="nothing says whose the rows are") as refused:
        liqdata.ingest(folder, bars=bars)
    assert refused.value.parameter == "bars"


def some_orders(rows):
    """Orders whose numbers doubles hold, some of them twice, and not in the order of time."""
    count = range(rows)
    return {
        "timestamp": [START + (place * 7919 % rows // 2) * 60 * MINUTE for place in count],
        "exchange": [("okx", "bybit", "OKEx")[place % 3] for place in count],
        "symbol": [("BTCUSDT", "ETH-USDT-SWAP")[place % 5 // 4] for place in count],
        "side": [("LONG", "short")[place % 2] for place in count],
        "price": [40_000 + place % 4 / 4 for place in count],
        "qty": [(1 + place % 3) / 1000 for place in count],
        "value_usd": [40.0 + place % 7 for place in count],
    }


def test_orders_are_the_same_whatever_holds_the_table(tmp_path):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = some_orders(200)
    as_text = columns | {name: [str(value) for value in columns[name]] for name in ("price", "qty", "value_usd")}
    frame = polars.DataFrame(columns)
    tables = {
        "columns": columns,
        "texts": as_text,
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "polars": frame,
        "times": frame.with_columns(polars.from_epoch("timestamp", time_unit="ms").dt.replace_time_zone("UTC")),
        "categories": frame.with_columns(polars.col("exchange", "symbol", "side").cast(polars.Categorical)),
        "pandas": pandas.DataFrame(columns),
        "exact": pyarrow.table(as_text | {"price": pyarrow.array(as_text["price"]).cast(pyarrow.decimal128(20, 4))}),
        "large": pyarrow.table(
            columns
            | {name: pyarrow.array(columns[name], pyarrow.large_string()) for name in ("exchange", "symbol", "side")}
        ),
    }
    found = {}
    for name, table in tables.items():
        done = liqdata.ingest(tmp_path / name, orders=table)
        assert (done.rows, done.new, done.refused) == (200, 200, {}), name
        assert liqdata.ingest(tmp_path / name, orders=columns).repeated == 200, name
        found[name] = orders_of(tmp_path / name)
    assert all(one == found["columns"] for one in found.values())


def test_other_engines_read_what_tables_become(folder):
    duckdb, polars, parquet = (pytest.importorskip(name) for name in ("duckdb", "polars", "pyarrow.parquet"))
    columns = some_orders(3000)
    assert liqdata.ingest(folder, orders=columns).new == 3000
    ours = {(row["timestamp"], row["exchange"], row["price"], row["qty"]) for row in orders_of(folder)}
    files = sorted((folder / "orders").rglob("*.parquet"))
    for file in files:
        by_arrow = parquet.read_table(file, partitioning=None)
        by_polars = polars.read_parquet(file)
        by_duckdb = duckdb.sql(f"FROM read_parquet('{file}', hive_partitioning = false)").to_arrow_table()
        for name in by_arrow.column_names:
            if name not in ("timestamp", "received_at"):
                cells = by_arrow.column(name).to_pylist()
                assert cells == by_polars[name].to_list() == by_duckdb.column(name).to_pylist(), name
        told = by_polars.select(polars.col("timestamp").dt.epoch("ms"), "exchange", "price", "qty").rows()
        assert set(told) <= ours
        assert told == sorted(told, key=lambda row: row[:2])
        ends = parquet.ParquetFile(file).metadata.row_group(0).column(0).statistics
        assert (ends.min, ends.max) == (min(by_arrow["exchange"].to_pylist()), max(by_arrow["exchange"].to_pylist()))


@pytest.mark.parametrize("as_table", [dict, lambda columns: pytest.importorskip("pyarrow").table(columns)])
@pytest.mark.parametrize(
    "wrong, column, row",
    [
        ({"price": (7, None), "side": (5, "up")}, "side", 5),
        ({"price": (7, None), "exchange": (7, " ")}, "exchange", 7),
        ({"value_usd": (3, float("nan")), "timestamp": (4, None)}, "value_usd", 3),
        ({"timestamp": (6, None), "qty": (6, float("inf"))}, "qty", 6),
    ],
)
def test_the_first_row_at_fault_is_named_and_nothing_is_kept(folder, wrong, column, row, as_table):
    columns = some_orders(10)
    for name, (place, value) in wrong.items():
        columns[name][place] = value
    with pytest.raises(BadQuery, match=f'orders: column "{column}", row {row}:'):
        liqdata.ingest(folder, orders=as_table(columns))
    assert not (folder / "journal.sqlite").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e-40])
def test_a_bar_whose_number_cannot_be_kept_is_refused_and_not_taken_for_nothing(folder, value):
    bars = {"timestamp": [START, START + MINUTE], "symbol": ["BTC"] * 2, "interval": ["1m"] * 2}
    bars |= {name: [100.0, 100.0] for name in ("open", "high", "low", "close")} | {"volume": [1.0, value]}
    with pytest.raises(BadQuery, match="volume") as refused:
        liqdata.ingest(folder, bars=bars, exchange="okx")
    assert 'column "volume", row 1:' in str(refused.value)
    assert ("28 digits" if value == 1e-40 else "is not an amount") in str(refused.value)


NO_NUMBERS = [float("nan"), float("inf"), float("-inf")]
SOUND = {
    "orders": {
        "timestamp": [START, START + 1, START + 2],
        "exchange": ["okx"] * 3,
        "symbol": ["BTCUSDT"] * 3,
        "side": ["LONG"] * 3,
        "price": [100.0] * 3,
        "qty": [2.0] * 3,
        "value_usd": [200.0] * 3,
    },
    "bars": {"timestamp": [START, START + MINUTE, START + 2 * MINUTE], "symbol": ["BTC"] * 3, "interval": ["1m"] * 3}
    | {name: [100.0] * 3 for name in ("open", "high", "low", "close", "volume")},
    "open_interest": {
        "timestamp": [START + MINUTE, START + 2 * MINUTE, START + 3 * MINUTE],
        "symbol": ["BTC"] * 3,
        "open_interest": [7.0] * 3,
    },
}
NUMBERS = [
    *(("orders", name) for name in ("price", "qty", "value_usd")),
    *(("bars", name) for name in ("open", "high", "low", "close", "volume")),
    ("open_interest", "open_interest"),
    ("open_interest", "open_interest_usd"),
]


def with_number(kind, column, value):
    columns = dict(SOUND[kind])
    if column == "open_interest_usd":
        columns[column] = columns.pop("open_interest")
    return columns | {column: [columns[column][0], value, columns[column][2]]}


@pytest.mark.parametrize("made", ["numpy", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind, column", NUMBERS)
@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_refuses_a_table_whole(folder, kind, column, value, made):
    library = pytest.importorskip(made)
    columns = with_number(kind, column, value)
    tables = {
        "numpy": lambda: {name: library.array(cells) for name, cells in columns.items()},
        "pandas": lambda: library.DataFrame(columns),
        "polars": lambda: library.DataFrame(columns),
        "pyarrow": lambda: library.table(columns),
    }
    beside = {"bars": SOUND["bars"]} if column == "open_interest_usd" else {}
    with pytest.raises(BadQuery, match=f'{kind}: column "{column}", row 1: .*(not a|is not an)'):
        liqdata.ingest(folder, **{kind: tables[made]()}, **beside, exchange="okx")
    assert not (folder / "journal.sqlite").exists()


@pytest.mark.parametrize("kind, column", NUMBERS)
@pytest.mark.parametrize("value", [*NO_NUMBERS, None])
def test_what_is_no_number_in_a_file_is_refused_alone(tmp_path, folder, kind, column, value):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    liqdata.ingest(folder, bars=SOUND["bars"], exchange="okx")
    columns = with_number(kind, column, value)
    columns["timestamp"] = [at + DAY * (kind == "bars") for at in columns["timestamp"]]
    if column == "open_interest_usd":
        columns["timestamp"] = [START + MINUTE, START + MINUTE, START + 2 * MINUTE]
    file = tmp_path / f"{kind}.parquet"
    parquet.write_table(pyarrow.table(columns), file)
    done = liqdata.ingest(folder, file, exchange="okx")
    assert (done.rows, done.new, sum(done.refused.values())) == (3, 2, 1)
    assert next(iter(done.refused)).startswith(f"{column}: ")
    assert next(iter(done.first.values())).startswith(f"{file}:1")


def test_days_of_several_coins_are_looked_at_once(folder):
    """Coin after coin, as tables are put together: each day becomes one file."""
    rows = 3 * 1440
    bars = {"timestamp": [START + place * MINUTE for place in range(rows)] * 3, "interval": [MINUTE] * 3 * rows}
    bars["symbol"] = [coin for coin in ("BTC", "ETH", "SOL") for _ in range(rows)]
    bars |= {name: [100.0] * 3 * rows for name in ("open", "high", "low", "close", "volume")}
    done = liqdata.ingest(folder, bars=bars, exchange="okx")
    assert (done.new, done.repeated) == (3 * rows, 0)
    assert len(list(folder.rglob("*.parquet"))) == 3
    assert liqdata.ingest(folder, bars=bars, exchange="okx").repeated == 3 * rows


def test_a_file_of_parquet_is_a_table(tmp_path, folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "venue": ["okx", "bybit"] * 2,
        "coin": ["BTC"] * 4,
        "timestamp": [START, START, START + 60 * MINUTE, START + 60 * MINUTE],
    }
    candles = pyarrow.table(columns | {"o": [1.0] * 4, "h": [2.0] * 4, "l": [0.5] * 4, "c": [1.5] * 4, "v": [9.0] * 4})
    parquet.write_table(candles, tmp_path / "candles.parquet")
    interest = pyarrow.table({"venue": ["okx"], "coin": ["BTC"], "timestamp": [START + 60 * MINUTE], "oi_usd": [150.0]})
    parquet.write_table(interest, tmp_path / "interest.parquet")
    done = liqdata.ingest(folder, tmp_path / "candles.parquet", tmp_path / "interest.parquet")
    assert (done.new, sorted(done.files.values())) == (5, ["bars", "open_interest"])
    with liqdata.open(folder) as market:
        assert [row["volume"] for row in market.bars("BTC", interval="1h")] == [18.0, 18.0]
        assert [row["open_interest"] for row in market.open_interest("BTC")] == [100.0]


# --- what is refused


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("x.csv", "a,b,c\n1,2,3\n", "are those of no format"),
        ("x.csv", "", "it is empty"),
        ("x.csv", "1,2,3\n", "it has no header"),
        ("x.csv", "time,long_liquidation_usd,short_liquidation_usd\n1,2,3\n", "CoinGlass"),
        ("x.json", '{"code": "0", "data": []}', "CoinGlass"),
        ("x.csv", "timestamp,coin,total_usd,long_usd,short_usd\n1,BTC,2,1,1\n", r"Market\(liquidations=\)"),
        ("x.csv", "timestamp,coin,oi_usd\n1,BTC,2\n", "in USD"),
        ("BTCUSDT.csv", LIQUIDATIONS + "\n" + force(1) + "\n", "does not begin with the contract"),
        ("x.csv", "timestamp,open,high,low,close,volume\n1704153600000,1,2,1,1,1\n", "give exchange="),
    ],
)
def test_what_is_not_clear_is_refused_before_anything_is_written(tmp_path, folder, name, text, said):
    good = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0))
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadQuery, match=said) as refused:
        liqdata.ingest(folder, good, file)
    assert refused.value.parameter == "files"
    assert str(file) in str(refused.value)
    assert not folder.exists()


@pytest.mark.parametrize(
    "asked, parameter",
    [
        ({"positions": {"symbol": []}}, "positions"),
        ({"format": "csv"}, "format"),
        ({"format": 7}, "format"),
        ({"exchange": ""}, "exchange"),
        ({"source": b"x"}, "source"),
        ({}, "files"),
    ],
)
def test_questions_nobody_can_mean_name_the_parameter(folder, asked, parameter):
    with pytest.raises(BadQuery) as refused:
        liqdata.ingest(folder, **asked)
    assert refused.value.parameter == parameter
    assert "allowed: " in str(refused.value)


def test_files_that_are_none_are_refused(tmp_path, folder):
    for file in (tmp_path / "nowhere.csv", tmp_path):
        with pytest.raises(BadQuery, match="files: "):
            liqdata.ingest(folder, file)
    with pytest.raises(BadQuery, match="a dict is no file"):
        liqdata.ingest(folder, {"timestamp": []})


@pytest.mark.parametrize("cut", ["line", "gzip", "zip"])
def test_a_file_that_is_cut_short_gives_what_it_has_and_says_where_it_ends(tmp_path, folder, cut):
    lines = [kline(place) for place in range(900)]
    ending = {"line": ".csv", "gzip": ".csv.gz", "zip": ".zip"}[cut]
    file = written(tmp_path, f"BTCUSDT-1m-2024-01-02{ending}", *lines)
    body = file.read_bytes()
    if cut == "zip":
        # Its table of contents stands at the end: without it a zip is none.
        file.write_bytes(body[: len(body) // 2])
        with pytest.raises(BadQuery, match="files: "):
            liqdata.ingest(folder, file)
        return
    file.write_bytes(body[: len(body) // 2 - 9])
    done = liqdata.ingest(folder, file)
    assert 0 < done.new < 900
    assert sum(done.refused.values()) == 1
    (reason,) = done.refused
    assert ("fewer cells" if cut == "line" else "cut short") in reason
    assert done.cut_short == (str(file),)
    assert "cut short" in str(done)
    assert not (folder / "finished.jsonl").exists()
    assert cli.main(["ingest", str(folder), str(file)]) == 1
    # The whole file later adds the rest, and nothing twice.
    file.write_bytes(body)
    again = liqdata.ingest(folder, file)
    assert (again.new, again.repeated, again.refused, again.cut_short) == (900 - done.new, done.new, {}, ())


def test_while_a_collector_writes_nobody_else_does(tmp_path, folder):
    writer = _core.ArchiveWriter(folder)
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0))
    with pytest.raises(ArchiveError, match=f"is being written by process {os.getpid()}"):
        liqdata.ingest(folder, file)
    writer.close()
    assert liqdata.ingest(folder, file).new == 1


def test_rows_of_a_day_that_is_not_over_go_through_the_journal(folder):
    now = int(time.time() * 1000) // MINUTE * MINUTE - 5 * MINUTE
    bars = {
        "timestamp": [now, now + MINUTE],
        "symbol": ["BTC"] * 2,
        "open": [1.0] * 2,
        "high": [1.0] * 2,
        "low": [1.0] * 2,
        "close": [1.0] * 2,
        "volume": [1.0] * 2,
    }
    assert liqdata.ingest(folder, bars=bars, exchange="okx").new == 2
    assert liqdata.ingest(folder, bars=bars, exchange="okx").repeated == 2
    with liqdata.open(folder) as market:
        assert len(list(market.bars("BTC", interval="1m"))) == 2


def test_a_market_that_is_open_sees_what_was_ingested(tmp_path, folder):
    liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0)))
    with liqdata.open(folder) as market:
        assert len(list(market.bars("BTC", interval="1m"))) == 1
        liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-03.csv", kline(0, start=START + DAY)))
        assert len(list(market.bars("BTC", interval="1m"))) == 2
        snapshot = written(tmp_path, "BTCUSDT-liquidationSnapshot-2024-01-03.csv", force(DAY + 1), header=LIQUIDATIONS)
        liqdata.ingest(folder, snapshot)
        assert market.coins("24h")[0]["coin"] == "BTC"


# --- the command, and its end


def test_the_command_says_what_it_did_and_fails_where_everything_was_refused(tmp_path, folder, capsys):
    good = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0), "x,1,1,1,1,1,1,1,1,1,1,1")
    assert cli.main(["ingest", str(folder), str(good)]) == 0
    out = capsys.readouterr().out
    assert f"{good}: binance_klines" in out
    assert "2 rows read: 1 new, 0 repeated, 1 refused" in out
    assert cli.main(["ingest", str(folder), str(good), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["new"], told["repeated"], sum(told["refused"].values())) == (0, 1, 1)
    bad = written(tmp_path, "BTCUSDT-liquidationSnapshot-2024-01-02.csv", force(1, side="?"), header=LIQUIDATIONS)
    assert cli.main(["ingest", str(folder), str(bad)]) == 1
    assert cli.main(["ingest", str(folder), str(tmp_path / "nowhere.csv")]) == 2
    assert "nowhere.csv" in capsys.readouterr().err


def stopped(folder, files, looks):
    """A process that ingests files and stops at its look of this number, to be told what next."""
    script = textwrap.dedent(f"""
        import sys
        from liqdata import _core
        looks = 0
        def seen(rows):
            global looks
            looks += 1
            if looks == {looks}:
                print("reached", flush=True)
                sys.stdin.readline()
        _core.ingest_files({str(folder)!r}, {[str(file) for file in files]!r}, None, None, [], seen, print, print)
        print("done", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip() == "reached"


@pytest.fixture
def month(tmp_path):
    """Files of thirty days, more than are kept at a time."""
    name = "BTCUSDT-1m-2024-01-{:02}.csv"
    days = range(40)
    return [
        written(tmp_path, name.format(day), *[kline(place, start=START + day * DAY) for place in range(1440)])
        for day in days
    ]


def test_each_ingest_is_on_record_with_its_source(tmp_path, folder):
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0), "x")
    liqdata.ingest(folder, file, source="data.example")
    liqdata.ingest(folder, file)
    lines = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    assert [(line["source"], line["rows"], line["new"], line["repeated"]) for line in lines] == [
        ("data.example", 2, 1, 0),
        (None, 2, 0, 1),
    ]
    assert lines[0]["files"] == {str(file): "binance_klines"}
    assert list(lines[0]["refused"].values()) == [1]
    is_sound(folder)
    # It goes along with an export.
    pytest.importorskip("obstore")
    with liqdata.open(folder) as market:
        market.export((tmp_path / "kept").as_uri())
    assert (tmp_path / "kept" / "ingested.jsonl").read_bytes() == (folder / "ingested.jsonl").read_bytes()


@pytest.mark.parametrize("looks", [1, 45, 60, 90])
def test_ctrl_c_ends_it_and_the_next_time_it_goes_on(folder, month, looks):
    process, reached = stopped(folder, month, looks)
    assert reached
    process.send_signal(signal.SIGINT)
    _, said = process.communicate("\n", timeout=60)
    assert "KeyboardInterrupt" in said
    if folder.exists():
        is_sound(folder)
    done = liqdata.ingest(folder, *month)
    assert (done.rows, done.new + done.repeated) == (40 * 1440, 40 * 1440)
    is_sound(folder)


def kept_days(folder):
    """What is on record of an ingest that was interrupted, and what is known of the time of its orders."""
    (line,) = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    orders = orders_of(folder)
    assert line["interrupted"] is True
    assert line["new"] == line["rows"] == len(orders) > 0
    with liqdata.open(folder) as market:
        (run,) = (row for row in market.coverage("24h") if row["exchange"] == "okx")
    assert run["connected_share"] > 0.99
    assert run["cnt"] == 21_600
    return len(orders)


@pytest.mark.parametrize("form", ["table", "csv"])
def test_what_is_kept_of_an_interrupted_ingest_is_on_record_and_covered(tmp_path, folder, form):
    rows = 600_000
    at = [START + place * 4000 for place in range(rows)]
    columns = {"timestamp": at, "exchange": ["okx"] * rows, "symbol": ["BTCUSDT"] * rows, "side": ["LONG"] * rows}
    columns |= {name: [1.0] * rows for name in ("price", "qty", "value_usd")}

    def enough(done, _):
        if done > 560_000:
            raise KeyboardInterrupt

    given, files = {"orders": columns}, []
    if form == "csv":
        lines = (",".join(map(str, cells)) for cells in zip(*columns.values(), strict=True))
        given, files = {}, [written(tmp_path, "x.csv", *lines, header=",".join(columns))]
    with pytest.raises(KeyboardInterrupt) as raised:
        liqdata.ingest(folder, *files, **given, progress=enough)
    kept = kept_days(folder)
    assert 250_000 <= kept <= 560_000
    (note,) = raised.value.__notes__
    assert f"{kept:,} new" in note


def test_ctrl_c_of_the_command_says_what_is_kept(folder, month, capsys, monkeypatch):
    def enough(done, _):
        if done > 52_000:
            raise KeyboardInterrupt

    monkeypatch.setattr("liqdata.cli.ingest.late", lambda *_: enough)
    assert cli.main(["ingest", str(folder), *map(str, month)]) == 130
    assert "Kept until then: 50,400 rows read: 50,400 new" in capsys.readouterr().err


def changed(file, before, after, *, seen):
    """The file with other values and, unless that is to be seen, everything that tells it from before as it was."""
    was = file.stat()
    file.write_text(file.read_text().replace(before, after))
    assert file.stat().st_size == was.st_size
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns + seen))


def test_what_was_kept_before_it_was_cut_short_is_not_read_again(folder, month):
    def enough(done, _):
        if done > 52_000:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        liqdata.ingest(folder, *month, progress=enough)
    kept = [Path(json.loads(line)["file"]) for line in (folder / "finished.jsonl").read_text().splitlines()]
    assert len(set(kept) & set(month)) == len(kept) == 35
    (line,) = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    assert (line["new"], line["rows"], line["interrupted"]) == (35 * 1440, 35 * 1440, True)
    changed(kept[0], ",99,", ",98,", seen=False)
    changed(kept[1], ",99,", ",98,", seen=True)
    done = liqdata.ingest(folder, *month)
    assert (done.rows, done.new) == (40 * 1440, 5 * 1440)
    assert done.refused == {"the archive has the row of bars with other values": 1440}
    assert set(done.files) == {str(file) for file in month}
    # Asked otherwise, or of another archive, it is read.
    assert sum(liqdata.ingest(folder, kept[0], exchange="binance").refused.values()) == 1440
    shutil.copytree(folder, folder.with_name("copy"))
    assert sum(liqdata.ingest(folder.with_name("copy"), kept[0]).refused.values()) == 1440
    is_sound(folder)


def test_what_was_lost_is_read_again(tmp_path, folder):
    files = [written(tmp_path, f"BTCUSDT-1m-2024-01-0{day}.csv", kline(0, start=START + day * DAY)) for day in (2, 3)]
    assert liqdata.ingest(folder, *files).new == 2
    lost = min(folder.glob("bars/**/*.parquet"))
    lost.unlink()
    assert len(liqdata.verify(folder, repair=True)) == 1
    done = liqdata.ingest(folder, *files)
    assert (done.rows, done.new, done.repeated) == (2, 1, 1)


def test_a_zip_is_kept_once_all_its_members_are(tmp_path, folder):
    archive = tmp_path / "BTCUSDT-1m-2024-01.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for day in (2, 3):
            made.writestr(f"BTCUSDT-1m-2024-01-0{day}.csv", kline(0, start=START + day * DAY) + "\n")
    first = liqdata.ingest(folder, archive)
    again = liqdata.ingest(folder, archive)
    assert (first.rows, first.new, again.rows, again.repeated) == (2, 2, 2, 2)
    assert again.files == first.files
    (line,) = (json.loads(line) for line in (folder / "finished.jsonl").read_text().splitlines())
    assert (line["file"], line["rows"]) == (str(archive), 2)


def test_killed_at_any_look_it_leaves_nothing_twice_and_nothing_broken(folder, month):
    looks, kills = 41, 0
    while True:
        process, reached = stopped(folder, month, looks)
        process.kill()
        process.communicate()
        if not reached:
            break
        kills += 1
        looks += 17
        # A file that was not finished is removed when it is next written to, and never read until then.
        assert {row["problem"] for row in liqdata.verify(folder)} <= {"unexpected"}
    assert kills > 3
    done = liqdata.ingest(folder, *month)
    assert done.new + done.repeated == 40 * 1440
    with liqdata.open(folder) as market:
        assert len(list(market.bars("BTC", interval="1m"))) == 40 * 1440
    is_sound(folder)


# --- recorded data


@pytest.mark.skipif(RECORDED is None, reason="LIQDATA_REAL_DATA is not set")
def test_recorded_files_come_in_whole(folder):
    market_files = Path(RECORDED) / "market"
    if not market_files.is_dir():
        pytest.skip("there is no folder of recorded market data")
    for name, asked, rows in [
        ("btc_5m_candles_20260324_20260622.csv", {"exchange": "binance"}, 26_000),
        ("btc_oi_5m_20251201_20260611.csv", {"exchange": "binance"}, 55_296),
        ("eth_liq_orders_3ex_sample.csv", {}, 18),
        ("aster_liq_orders_sample.csv", {"exchange": "aster", "format": "force_orders"}, 21),
        ("unlicense_hourly_candles_multi_venue.parquet", {}, 121_122),
    ]:
        done = liqdata.ingest(folder, market_files / name, **asked)
        assert (done.rows, done.new + done.repeated + sum(done.refused.values())) == (rows, rows), name
        assert done.new >= 0.99 * rows, (name, str(done))
        assert liqdata.ingest(folder, market_files / name, **asked).new == 0, name
    with pytest.raises(BadQuery, match=r"Market\(liquidations=\)|no one kind"):
        liqdata.ingest(folder, market_files / "unlicense_daily_liquidation_volume.parquet")
    with pytest.raises(BadQuery, match="positions or levels"):
        liqdata.ingest(folder, market_files / "hl_top_trader_btc_liqmap_20260126_20260222.csv")
    is_sound(folder)


def snapshots(*prices):
    """A long and a short at each price, ten minutes apart."""
    rows = [
        {
            "timestamp": START + place * 10 * MINUTE,
            "coin": "BTC-PERP",
            "side": side,
            "value_usd": 2 * price,
            "liquidation_price": at,
            "current_price": price,
        }
        for place, price in enumerate(prices)
        for side, at in (("LONG", 0.9 * price), ("SHORT", None))
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_snapshots_of_positions_are_kept_and_those_of_no_market_refused(tmp_path, capsys):
    archive = tmp_path / "archive"
    given = snapshots(100.0, 101.0, 125.0, 99.0)
    with pytest.raises(BadQuery, match=r"row 0: is missing, and no exchange= says") as refused:
        liqdata.ingest(archive, positions=given)
    assert refused.value.parameter == "positions"
    done = liqdata.ingest(archive, positions=given, exchange="Hyperliquid")
    reason = "positions: the price of the snapshot is not the market's"
    assert (done.rows, done.new, done.refused) == (8, 6, {reason: 2})
    assert done.first[reason].startswith("positions:4 (125 at 2024-01-02T00:20:00Z, where the market's was 101")
    assert liqdata.ingest(archive, positions=given, exchange="hyperliquid").repeated == 6
    with liqdata.open(archive) as market:
        before, after = (market.positions("BTC", as_of=START + minutes * MINUTE) for minutes in (25, 30))
        assert [row["account"] for row in before] == ["unnamed 1", "unnamed 2"]
        assert before[0]["qty"] == 2
        assert before[0]["entry_price"] is None
        assert before.meta["seen_share"] is None
        assert (before[0]["value_usd"], after[0]["value_usd"]) == (202, 198)
        # The command tells how much was seen and when, and calls no measured map an estimate.
        capsys.readouterr()
        for command, told in (
            (["positions"], ("seen by 2024-01-02 00:30:00", "of an unknown share of open interest", "00:30:00")),
            (["liqmap", "--source", "positions"], ("measured, in USD", "198.00 without a price of liquidation")),
        ):
            assert cli.main([*command, "--archive", str(archive)]) == 0
            out = capsys.readouterr().out
            assert all(word in out for word in told)
            assert "estimate" not in out
            assert " 1d" not in out
        # So does its picture.
        picture = market.liqmap("BTC", source="positions").plot()
        words = [text.get_text() for text in picture.figure.findobj(Text)]
        assert any("measured, of an unknown share of open interest" in word for word in words), words
        told = {share: paper.estimate({"view": "measured", "seen_share": share}) for share in (0.125, 0.00012)}
        assert told == {
            0.125: "measured, 12.5 % of open interest seen",
            0.00012: "measured, 0.012 % of open interest seen",
        }
        assert cli.main(["liqmap", "--source", "positions", "--archive", str(archive), "--json"]) == 0
        with liqdata.serve(market) as server:
            asked = f"{server.url}/api/liq-map?source=positions"
            with urllib.request.urlopen(asked) as body:
                assert json.loads(capsys.readouterr().out) == json.load(body)
        # The archive's own bars decide where it has them: by those 99 is the price of no market.
        bars = {"timestamp": [START], "symbol": ["BTC"], "interval": ["15m"]}
        bars |= {name: [120.0] for name in ("open", "high", "low", "close", "volume")}
        liqdata.ingest(archive, bars=bars, exchange="binance")
        assert liqdata.ingest(archive, positions=given, exchange="dydx").refused == {reason: 2}


@pytest.mark.parametrize("name", ["BTC", "BTCUSDT", "btc-usdt"])
def test_positions_name_their_coin_by_either_column(tmp_path, name):
    given = snapshots(100.0)
    coins = given.pop("coin")
    with pytest.raises(BadQuery, match=r"row 0: is missing, and so is symbol; one of the two is needed"):
        liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid")
    given["symbol"] = [name] * len(coins)
    assert liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid").new == 2
    assert liqdata.ingest(tmp_path / "archive", positions=given | {"coin": coins}, exchange="hyperliquid").repeated == 2
    with pytest.raises(BadQuery, match=r"\"BTC-PERP\" is another coin than symbol says, \"ETHUSDT\"; one of the two"):
        liqdata.ingest(tmp_path / "other", positions=given | {"coin": coins, "symbol": ["ETHUSDT"] * 2}, exchange="x")


def test_a_position_that_is_not_worth_its_quantity_is_refused_and_the_others_are_kept(tmp_path, capsys):
    table = {
        "timestamp": [START] * 4 + [START + MINUTE] * 2,
        "coin": ["BTC"] * 6,
        "side": ["long", "short"] * 3,
        "qty": [1, 2, 30, 50, 1, 20],
        "value_usd": [100, 201, 300, 4950, 100, 200],
    }
    archive = tmp_path / "archive"
    done = liqdata.ingest(archive, positions=table, exchange="hyperliquid")
    row = "positions: value_usd over qty is not the price of the snapshot"
    snapshot = "positions: the rows of the snapshot do not agree on its price, and nothing else tells it"
    assert (done.rows, done.new, done.refused) == (6, 3, {row: 1, snapshot: 2})
    assert done.first[row].startswith("positions:2 (value_usd 300 for qty 30 at 2024-01-02T00:00:00Z, where the price")
    assert row in str(done)
    with liqdata.open(archive) as market:
        assert market.positions("BTC")["qty"].tolist() == [1, 2, 50]
    # Where the archive's bars tell the price, two that disagree are told apart.
    bars = {"timestamp": [START - 15 * MINUTE], "symbol": ["BTC"], "interval": ["15m"]}
    bars |= {name: [101.0] for name in ("open", "high", "low", "close", "volume")}
    liqdata.ingest(archive, bars=bars, exchange="binance")
    assert liqdata.ingest(archive, positions=table, exchange="hyperliquid").refused == {row: 2}


@pytest.mark.skipif(RECORDED is None, reason="LIQDATA_REAL_DATA is not set")
def test_recorded_snapshots_make_a_measured_map_without_the_one_that_was_made_up(tmp_path):
    import csv

    recorded = Path(RECORDED, "market", "hl_top_trader_btc_liqmap_20260126_20260222.csv")
    with recorded.open(encoding="utf-8") as lines:
        levels = list(csv.DictReader(lines))
    rows = [
        {
            "timestamp": level["t"],
            "coin": "BTC",
            "side": level["side"],
            "liquidation_price": level["price"],
            "value_usd": level[tier],
            "leverage": float(tier.removesuffix("x")),
            "current_price": level["cur"],
        }
        for level in levels
        for tier in ("10x", "25x", "50x", "100x")
        if float(level[tier]) > 0
    ]
    given = {name: [row[name] for row in rows] for name in rows[0]}
    done = liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid")
    assert (done.rows, done.new, sum(done.refused.values())) == (len(rows), 2349, 88)
    (first,) = done.first.values()
    assert "105234 at 2026-01-26T10:39:18Z, where the market's was 87884" in first
    with liqdata.open(tmp_path / "archive") as market:
        map = market.liqmap("BTC", source="positions", as_of="2026-02-22T17:00:00Z")
    assert map.current_price == pytest.approx(67541)
    last = [level for level in levels if level["t"] == "2026-02-22T16:30:40Z"]
    at_liquidation = sum(float(level["value"]) * float(level["price"]) / 67541 for level in last)
    assert map.total.sum() == pytest.approx(at_liquidation)
    assert (map.units, map.meta["view"]) == ("USD of positions that were seen", "measured")
