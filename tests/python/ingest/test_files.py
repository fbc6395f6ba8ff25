"""Files of every content, syntax and layout: what they become in an archive, and what is said of the others."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import sqlite3
import subprocess
import sys
import zipfile

import pytest
from dumped import MINUTE, START, kline, orders_of, written

import liqdata
from liqdata.errors import BadQuery

ORDERS = "timestamp,exchange,symbol,side,price,qty\n" + "".join(
    f"{START + place * 1000},okx,SOL-USDT-SWAP,SHORT,{100 + place}.25,2.5\n" for place in range(3)
)
ROWS = [dict(zip(ORDERS.splitlines()[0].split(","), line.split(","), strict=True)) for line in ORDERS.splitlines()[1:]]
BARS = [[START + place * 300_000, 100, 102, 99, 101, 7] for place in range(3)]
CELLS = [[row[name] for name in ROWS[0]] for row in ROWS]


def written_as(separator, *, decimals=".", ends="\n"):
    lines = [line.replace(".", decimals) for line in ORDERS.replace(",", separator).splitlines()]
    return ends.join(lines) + ends


def packed_as_zip(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, body in members.items():
            archive.writestr(name.replace("__", "/"), body)
    return packed.getvalue()


SAME_ORDERS = {
    "o.csv.xz": lzma.compress(ORDERS.encode()),
    "o.csv.bz2": bz2.compress(ORDERS.encode()),
    "wrong-ending.csv": gzip.compress(ORDERS.encode()),
    "twice.csv": bz2.compress(gzip.compress(ORDERS.encode())),
    "utf-16.csv": ORDERS.encode("utf-16"),
    "utf-16-without-mark.csv": ORDERS.encode("utf-16-be"),
    "utf-8-with-mark.csv": b"\xef\xbb\xbf" + ORDERS.encode(),
    "semicolons.csv": written_as(";").encode(),
    "decimal-commas.csv": written_as(";", decimals=",").encode(),
    "carriage-returns.txt": written_as(";", ends="\r\n").encode(),
    "bars.dat": written_as("|").encode(),
    "upper.csv": ORDERS.replace("timestamp,exchange", "Timestamp,EXCHANGE").encode(),
    "doubled-header.csv": (ORDERS + ORDERS.splitlines()[0] + "\n").encode(),
    "title.csv": ("# liquidations of January\n" + ORDERS).encode(),
    "quoted.csv": ORDERS.replace("SOL-USDT-SWAP", '"SOL-USDT-SWAP"').encode(),
    "mac.zip": packed_as_zip(
        **{
            "orders__o.csv": ORDERS,
            "__MACOSX__orders__._o.csv": b"\0\5\x16\7",
            ".DS_Store": b"\0\0\0\1",
            "orders__": "",
        }
    ),
    "pretty.json": json.dumps(ROWS, indent=4).encode(),
    "one-line.json": json.dumps(ROWS).encode(),
    "lines.csv": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "pretty-lines.json": "\n".join(json.dumps(row, indent=1) for row in ROWS).encode(),
    "wrapped.json": json.dumps({"success": True, "data": ROWS}).encode(),
    "named-lists.json": json.dumps([list(ROWS[0]), *CELLS]).encode(),
}


@pytest.mark.parametrize("name", SAME_ORDERS)
def test_the_content_decides_how_a_file_is_read(tmp_path, folder, name):
    (tmp_path / name).write_bytes(SAME_ORDERS[name])
    done = liqdata.ingest(folder, tmp_path / name)
    assert (done.rows, done.new, done.refused, done.cut_short) == (3, 3, {}, ())
    assert {file.split(":")[0] for file in done.files} == {str(tmp_path / name)}
    assert sorted(float(row["price"]) for row in orders_of(folder)) == [100.25, 101.25, 102.25]
    assert liqdata.ingest(folder, tmp_path / name).repeated == 3


def database(folder):
    path = folder / "made.db"
    with sqlite3.connect(path) as made:
        made.execute("create table orders (price real)")
    return path.read_bytes()


@pytest.mark.parametrize(
    "body, said",
    [
        (pickle.dumps(ROWS), "pickle"),
        (database, "SQLite"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "HTML"),
        (b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>', "XML"),
        (b"\x04\x22\x4d\x18" + b"\x40" * 40, "it is cut short or damaged"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z"),
        (packed_as_zip(**{"xl/workbook.xml": "<workbook/>"}), "Excel"),
        (packed_as_zip(**{"__MACOSX__._a": b"\0"}), "zip without a file"),
        (packed_as_zip(**{"a.zip": packed_as_zip(**{"a.csv": ORDERS})}), "zip inside"),
        (gzip.compress(b"PAR1" + b"\0" * 40), "Parquet file inside"),
        (lzma.compress(ORDERS.encode())[:-9], "cut short or damaged"),
        (ORDERS.replace("price,qty", "price,price").encode(), '"price" is given twice'),
        (written_as("\t").encode(), "separated by tabs"),
        (b"timestamp;price\n1;42,000\n2;43,500\n", "decimal comma or groups thousands"),
        (json.dumps({"price": {"0": 1.5, "1": 2.5}}).encode(), 'orient="records"'),
        (json.dumps({"columns": ["price"], "index": [0], "data": [[1.5]]}).encode(), "split"),
        (b"[]", "empty JSON list"),
        (b"[{}, 1]", "do not match any format"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_unsupported_files_are_refused_by_their_kind(tmp_path, folder, body, said):
    file = tmp_path / "given.csv"
    file.write_bytes(body(tmp_path) if callable(body) else body)
    with pytest.raises(BadQuery, match="files: ") as refused:
        liqdata.ingest(folder, file)
    assert said in str(refused.value)
    assert str(file) in str(refused.value)
    assert not folder.exists()


@pytest.mark.filterwarnings("ignore:Feather V1 files are deprecated")
@pytest.mark.parametrize("write", ["to_feather", "to_parquet", "stream", "feather 1"])
def test_candles_of_freqtrade_have_pair_and_kind_in_the_name(tmp_path, folder, write):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(BARS, columns=["date", "open", "high", "low", "close", "volume"])
    frame["date"] = pandas.to_datetime(frame["date"], unit="ms", utc=True)
    # The ending is that of another format.
    file = tmp_path / "ETH_USDC_USDC-5m-futures.csv"
    if write == "stream":
        table = pyarrow.Table.from_pandas(frame)
        with pyarrow.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    elif write == "feather 1":
        from pyarrow import feather

        feather.write_feather(frame.assign(date=[row[0] for row in BARS]), file, version=1)
    else:
        getattr(frame, write)(file)
    assert liqdata.ingest(folder, file, exchange="bybit").new == 3
    with liqdata.open(folder) as market:
        assert [row["timestamp"] for row in market.bars("ETH", interval="5m")] == [row[0] for row in BARS]
    marks = file.rename(tmp_path / "ETH_USDC_USDC-5m-mark.csv")
    with pytest.raises(BadQuery, match="the mark price"):
        liqdata.ingest(folder, marks, exchange="bybit")


def test_perpetual_names_of_freqtrade_are_those_of_binance(tmp_path, folder):
    (tmp_path / "SOL_USDT_USDT-5m-futures.json").write_text(json.dumps(BARS))
    liqdata.ingest(folder, tmp_path / "SOL_USDT_USDT-5m-futures.json", exchange="binance")
    later = kline(3, length=5 * MINUTE)
    done = liqdata.ingest(folder, written(tmp_path, "solusdt-5m-2024-01-02.csv", later))
    assert (done.new, done.refused) == (1, {})


@pytest.mark.parametrize(
    "name, what",
    [
        ("BTC_USDT_USDT-8h-funding_rate.json", "funding rates"),
        ("BTC_USDT_USDT-1h-premiumIndex.json", "a premium index"),
        ("BTC_USDT_USDT-1h-index.json", "an index price"),
        ("markPriceKlines/BTC_USDT-5m.json", "the mark price"),
    ],
)
def test_series_that_are_not_of_trades_are_no_bars(tmp_path, folder, name, what):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(BARS))
    with pytest.raises(BadQuery, match=what):
        liqdata.ingest(folder, file, exchange="binance")


LOGGED = (
    "symbol,side,order_type,time_in_force,original_quantity,price,average_price,order_status,"
    "order_last_filled_quantity,order_filled_accumulated_quantity,order_trade_time,usd_size"
)
AT = START // 1000
CRYPTOFEED = "exchange,symbol,side,quantity,price,id,status,timestamp,receipt_timestamp"
DOWNLOADED = "Unix,Date,Symbol,Open,High,Low,Close,Volume SOL,Volume USDT,tradecount"


@pytest.mark.parametrize(
    "lines, found",
    [
        (
            [
                LOGGED,
                f"ETHUSDT,SELL,LIMIT,IOC,2,2000,1990,FILLED,2,2,{START},4000.0",
                f"ETHUSDT,BUY,LIMIT,IOC,2,2010,0,PARTIALLY_FILLED,1,1,{START + 1},2010.0",
                f"ETHUSDT,BUY,LIMIT,IOC,2,2010,0,NEW,0,0,{START + 2},0.0",
            ],
            [("SHORT", 2010, 1, 2010, START + 1), ("LONG", 1990, 2, 4000, START)],
        ),
        (
            [f"ETHUSDT,BUY,LIMIT,IOC,2,2010,2011,FILLED,2,2,{START},4020.0"],
            [("SHORT", 2011, 2, 4020, START)],
        ),
        (
            [
                CRYPTOFEED,
                f"BINANCE_FUTURES,ETH-USDT-PERP,sell,3,2000,None,filled,{AT}.125,{AT}.5",
                f"BITMEX,BTC-USD-PERP,buy,400,40000,abc,unfilled,{AT}.25,{AT}.5",
                f"OKX,ETH-USDT-PERP,buy,7,2000,,filled,{AT}.25,{AT}.5",
            ],
            [("SHORT", 40_000, 0.01, 400, START + 250), ("LONG", 2000, 3, 6000, START + 125)],
        ),
    ],
)
def test_logged_orders_have_the_side_of_the_order(tmp_path, folder, lines, found):
    done = liqdata.ingest(folder, written(tmp_path, "orders.csv", *lines), exchange="binance")
    assert set(done.files.values()) == {"force_orders"}
    rows = [
        (row["side"], *(float(row[name]) for name in ("price", "qty", "value_usd")), row["timestamp"])
        for row in orders_of(folder)
    ]
    assert rows == found
    assert done.new == len(found)


def test_force_orders_and_open_interest_of_binances_rest_endpoints(tmp_path, folder):
    order = {"symbol": "ETHUSDT", "price": "2010", "origQty": "5", "executedQty": "4", "averagePrice": "2000"}
    order |= {"status": "FILLED", "timeInForce": "IOC", "type": "LIMIT", "side": "SELL", "time": START}
    (tmp_path / "orders.json").write_text(json.dumps([order]))
    reading = {
        "symbol": "ETHUSDT",
        "sumOpenInterest": "20403.5",
        "sumOpenInterestValue": "40807000",
        "timestamp": START,
    }
    (tmp_path / "oi.json").write_text(json.dumps([reading]))
    klines = [[START, "100", "102", "99", "101", "7", START + MINUTE - 1, "700", 3, "1", "1", "0"]]
    (tmp_path / "ETHUSDT-1m.json").write_text(json.dumps(klines))
    done = liqdata.ingest(folder, *sorted(tmp_path.glob("*.json")), exchange="binance")
    assert (done.new, sorted(done.files.values())) == (3, ["binance_klines", "force_orders", "open_interest"])
    assert [(row["side"], float(row["value_usd"])) for row in orders_of(folder)] == [("LONG", 8000)]


@pytest.mark.parametrize(
    "name, lines, volumes",
    [
        (
            "Binance_SOLUSDT_1h.csv",
            [
                "https://www.CryptoDataDownload.com",
                DOWNLOADED,
                # Newest first, in seconds and in milliseconds.
                f"{AT + 3600}000,2024-01-02 01:00:00,SOLUSDT,100,102,99,101,7,700,5",
                f"{AT},2024-01-02 00:00:00,SOLUSDT,100,102,99,101,6,600,5",
            ],
            [6, 7],
        ),
        (
            "candles.csv",
            [
                "exchange,symbol,start,stop,interval,trades,open,close,high,low,volume,closed,timestamp,receipt_timestamp",
                f"BINANCE_FUTURES,SOL-USDT-PERP,{AT}.0,{AT + 3599.9},1h,5,100,101,102,99,7,True,{AT},{AT}",
                f"BINANCE_FUTURES,SOL-USDT-PERP,{AT + 3600}.0,{AT + 7199.9},1h,5,100,101,102,99,7,False,{AT},{AT}",
            ],
            [7],
        ),
    ],
)
def test_bars_of_known_programs(tmp_path, folder, name, lines, volumes):
    done = liqdata.ingest(folder, written(tmp_path, name, *lines), exchange="binance")
    assert set(done.files.values()) == {"bars"}
    with liqdata.open(folder) as market:
        rows = list(market.bars("SOL", interval="1h"))
    assert [(row["timestamp"], row["close"], row["volume"]) for row in rows] == [
        (START + place * 60 * MINUTE, 101, volume) for place, volume in enumerate(volumes)
    ]


def test_prices_are_never_advised_to_be_read_as_open_interest(tmp_path, folder):
    for header in ("time,open,high,low,close", "Unix,Date,Symbol,Open,High,Low,Close"):
        cells = [str(START), "2024-01-02", "ETHUSDT"][: header.count(",") - 3]
        file = written(tmp_path, "ETHUSDT-1h.csv", ",".join([*cells, "100", "102", "99", "101"]), header=header)
        with pytest.raises(BadQuery, match=r"no (column )?volume") as refused:
            liqdata.ingest(folder, file, exchange="binance")
        assert "give format" not in str(refused.value)


def test_only_json_without_its_end_is_truncated(tmp_path, folder):
    file = tmp_path / "ETH_USDT-5m.json"
    file.write_text(json.dumps([[*row, 500, True] for row in BARS]))
    done = liqdata.ingest(folder, file, exchange="okx")
    assert (done.rows, sum(done.refused.values()), done.cut_short) == (3, 3, ())
    file.write_text(json.dumps(BARS)[:-10])
    done = liqdata.ingest(folder, file, exchange="okx")
    assert (done.new, done.cut_short) == (2, (str(file),))


def test_an_endless_line_is_refused_with_file_and_line(tmp_path, folder):
    file = tmp_path / "o.csv.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(ORDERS.encode())
        for _ in range(80):
            packed.write(b"7" * (1 << 20))
    done = liqdata.ingest(folder, file)
    ((reason, first),) = done.first.items()
    assert "longer than 64 MiB" in reason
    assert (done.new, first) == (3, f"{file}:5")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_refused_and_the_standard_input_is_read(tmp_path, folder):
    os.mkfifo(tmp_path / "pipe")
    for path, said in ((tmp_path / "pipe", "a named pipe"), ("/dev/null", "a device"), (tmp_path, "a folder")):
        with pytest.raises(BadQuery, match=said):
            liqdata.ingest(folder, path)
    command = [sys.executable, "-m", "liqdata", "ingest", str(folder), "-"]
    done = subprocess.run(command, input=lzma.compress(ORDERS.encode()), capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[0] == "-: orders"
    assert len(orders_of(folder)) == 3


def test_a_file_of_which_every_row_is_refused_leaves_no_archive(tmp_path, folder):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cells = {"timestamp": [START], "exchange": ["okx"], "symbol": ["BTC"], "open_interest_usd": [1e9]}
    parquet.write_table(pyarrow.table(cells), tmp_path / "oi.parquet")
    done = liqdata.ingest(folder, tmp_path / "oi.parquet")
    assert (done.rows, done.new, sum(done.refused.values())) == (1, 0, 1)
    assert not folder.exists()


def made(folder, name, *lines):
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


HEADS = {
    "timestamp,exchange,symbol,side,price,size": '"qty" (rename "size"',
    "event_time,exchange,symbol,side,price,qty": '"timestamp" (rename "event_time"',
    "timestamp,exchange,instrument,side,price,qty": '"symbol" (rename "instrument"',
    "timestamp,exchange,symbol,open,high,low,close,amount": "no column volume",
    "created_at,symbol,open_interest": '"timestamp" (rename "created_at"',
}


@pytest.mark.parametrize("header", HEADS)
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_the_nearest_kind_of_table_and_the_column_it_lacks_are_named(tmp_path, folder, header, form):
    names, file = header.split(","), tmp_path / "given"
    if form == "csv":
        file.write_text(header + "\n" + ",".join(["7"] * len(names)) + "\n")
    elif form == "json":
        file.write_text(json.dumps([dict.fromkeys(names, "7")]))
    else:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({name: ["7"] for name in names}), file)
    with pytest.raises(BadQuery) as refused:
        liqdata.ingest(folder, file)
    assert HEADS[header] in str(refused.value)


@pytest.mark.parametrize(
    "name, coin",
    [
        ("train_btcusdt_5m.csv", "BTC"),
        ("candles_5m_ETHUSDT.csv", "ETH"),
        ("my_sol_usdc_5m_2024.csv", "SOL"),
        ("data_5m.csv", None),
        ("merged_5m.csv", None),
        ("industry_5m.csv", None),
    ],
)
def test_only_a_word_that_names_a_market_becomes_a_symbol(tmp_path, folder, name, coin):
    lines = [",".join(map(str, row)) for row in BARS]
    file = made(tmp_path, name, "timestamp,open,high,low,close,volume", *lines)
    if coin is None:
        with pytest.raises(BadQuery, match="no symbol is known"):
            liqdata.ingest(folder, file, exchange="okx")
        return
    liqdata.ingest(folder, file, exchange="okx")
    with liqdata.open(folder) as market:
        assert len(market.bars(coin, interval="5m")) == 3


def test_bars_are_read_by_their_open_whatever_other_times_they_have(tmp_path, folder):
    header = "open_time,timestamp,symbol,open,high,low,close,volume,interval"
    lines = [f"{row[0]},{row[0] + 300_000},SOLUSDT,100,102,99,101,7,5m" for row in BARS]
    liqdata.ingest(folder, made(tmp_path, "bars.csv", header, *lines), exchange="okx")
    with liqdata.open(folder) as market:
        assert [row["timestamp"] for row in market.bars("SOL", interval="5m")] == [row[0] for row in BARS]


def test_bins_of_bitmex_end_at_their_timestamp_and_have_coins(tmp_path, folder):
    rows = [
        {"timestamp": START + (place + 1) * 300_000, "symbol": "XBTUSD", "open": 100, "high": 102, "low": 99}
        | {"close": 101, "trades": 5, "volume": 700, "vwap": 100, "homeNotional": 7, "foreignNotional": 700}
        for place in range(3)
    ]
    (tmp_path / "bins.json").write_text(json.dumps(rows))
    assert liqdata.ingest(folder, tmp_path / "bins.json", exchange="bitmex").new == 3
    with liqdata.open(folder) as market:
        found = [(row["timestamp"], row["volume"]) for row in market.bars("BTC", interval="5m")]
    assert found == [(START + place * 300_000, 7) for place in range(3)]


def test_a_bar_that_was_open_when_its_file_was_written_is_refused(tmp_path, folder):
    file = tmp_path / "SOL_USDT-5m.json"
    file.write_text(json.dumps(BARS))
    written_at = (START + 700_000) / 1000
    os.utime(file, (written_at, written_at))
    done = liqdata.ingest(folder, file, exchange="okx")
    assert (done.new, done.refused) == (2, {"timestamp: the bar was still open when the file was written": 1})


@pytest.mark.parametrize(
    "text, said",
    [
        ('{"e":"forceOrder","o":{"s":"BTCUSDT"}}', "feeds.decode"),
        ('{"topic":"allLiquidation.BTCUSDT","data":[{"s":"BTCUSDT"}]}', "feeds.decode"),
        ('[9,[["pos",1]],7]', "feeds.decode"),
        ('{"code":"0","data":[{"instId":"BTC-USDT-SWAP"}],"msg":""}', "reply of a service"),
        ('{"code":"0","data":[{"exchange_name":"Binance"}]}', "reply of CoinGlass"),
    ],
)
def test_messages_and_replies_are_refused_as_what_they_are(tmp_path, folder, text, said):
    with pytest.raises(BadQuery, match=said):
        liqdata.ingest(folder, made(tmp_path, "given.jsonl", text))


@pytest.mark.parametrize("column", ["trade_id", "is_maker", "agg_trade_id", "isBuyerMaker"])
def test_trades_are_not_read_as_liquidations(tmp_path, folder, column):
    file = made(tmp_path, "given.csv", ORDERS.splitlines()[0] + "," + column, ORDERS.splitlines()[1] + ",7")
    with pytest.raises(BadQuery, match="it contains trades, not liquidations"):
        liqdata.ingest(folder, file)


def test_volume_that_ccxt_gives_in_contracts_needs_their_size(tmp_path, folder):
    file = tmp_path / "BTC_USDT_USDT-5m-futures.json"
    file.write_text(json.dumps(BARS))
    assert sum(liqdata.ingest(folder, file, exchange="gate").refused.values()) == 3
    assert liqdata.ingest(folder, file, exchange="gate", contract_size=0.5).new == 3
    with liqdata.open(folder) as market:
        assert [row["volume"] for row in market.bars("BTC", interval="5m")] == [3.5] * 3


def test_columns_that_differ_by_letter_case_are_two(tmp_path, folder):
    file = made(
        tmp_path, "given.csv", *[f"{line},{'Price' if not at else 7}" for at, line in enumerate(ORDERS.splitlines())]
    )
    assert liqdata.ingest(folder, file).new == 3
    assert sorted(float(row["price"]) for row in orders_of(folder)) == [100.25, 101.25, 102.25]
