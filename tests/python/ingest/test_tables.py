"""Arrays of ccxt and tables: what they become in an archive, and which are refused."""

import json
import zlib

import pytest
from dumped import DAY, MINUTE, START, is_sound, orders_of, written

import liqdata
from liqdata.errors import BadQuery


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
    with pytest.raises(BadQuery, match="no symbol is known"):
        liqdata.ingest(folder, nameless, exchange="okx")


def test_the_side_column_needs_a_format_when_it_is_ambiguous(tmp_path, folder):
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


def test_equal_lines_are_two_orders_and_a_repeated_file_adds_none(tmp_path, folder):
    line = f"{START},okx,BTCUSDT,LONG,40000,1"
    file = written(tmp_path, "mine.csv", line, line, header="timestamp,exchange,symbol,side,price,qty")
    assert liqdata.ingest(folder, file).new == 2
    assert (liqdata.ingest(folder, file).new, len(orders_of(folder))) == (0, 2)


def of_pair(symbol, form, tmp_path):
    """Three orders of a pair in this spelling, two of them equal, as they are ingested."""
    at = [START, START, START + 1]
    orders = {"timestamp": at, "exchange": ["okx"] * 3, "symbol": [symbol] * 3, "side": ["LONG"] * 3}
    orders |= {"price": [40_000.0] * 3, "qty": [1.0] * 3, "value_usd": [40_000.0] * 3}
    if form == "table":
        return (), {"orders": orders}
    lines = (",".join(map(str, cells)) for cells in zip(*orders.values(), strict=True))
    return (written(tmp_path, f"{zlib.crc32(symbol.encode())}.csv", *lines, header=",".join(orders)),), {}


SPELLINGS = ["BTCUSDT", "BTC-USDT", "btcusdt", "BTC/USDT:USDT", "BTC-USDT-SWAP", "BTCUSDT.P"]


@pytest.mark.parametrize(
    "form, first", [*(("table", symbol) for symbol in SPELLINGS), ("csv", SPELLINGS[0]), ("csv", SPELLINGS[-1])]
)
def test_orders_under_another_spelling_of_the_pair_are_repeated(tmp_path, folder, form, first):
    files, given = of_pair(first, form, tmp_path)
    assert liqdata.ingest(folder, *files, **given).new == 3
    for symbol in SPELLINGS:
        files, given = of_pair(symbol, form, tmp_path)
        done = liqdata.ingest(folder, *files, **given)
        assert (done.new, done.repeated, done.refused) == (0, 3, {}), symbol
    assert [order["symbol"] for order in orders_of(folder)] == ["BTCUSDT"] * 3
    is_sound(folder)


@pytest.mark.parametrize("form", ["table", "csv"])
def test_orders_of_two_contracts_are_never_duplicates(tmp_path, folder, form):
    for symbol in ("BTC-USD-SWAP", "BTC-USD-240628", "BTC-USD-240927", "BTCUSDT", "ETHUSDT"):
        files, given = of_pair(symbol, form, tmp_path)
        assert liqdata.ingest(folder, *files, **given).new == 3, symbol
        files, given = of_pair(symbol, form, tmp_path)
        assert liqdata.ingest(folder, *files, **given).new == 0, symbol


def test_two_spellings_in_one_table_are_two_contracts(folder):
    orders = {"timestamp": [START] * 2, "exchange": ["okx"] * 2, "symbol": ["BTC-USDT", "BTC-USDT-SWAP"]}
    orders |= {"side": ["LONG"] * 2, **{name: [1.0] * 2 for name in ("price", "qty", "value_usd")}}
    assert liqdata.ingest(folder, orders=orders).new == 2
    assert liqdata.ingest(folder, orders=orders).repeated == 2


@pytest.mark.parametrize("at", [-1, -86_400_000])
@pytest.mark.parametrize("form", ["columns", "pandas", "parquet"])
def test_an_order_before_1970_is_refused_alone_with_its_row(tmp_path, folder, form, at):
    pd = pytest.importorskip("pandas")
    _, given = of_pair("BTCUSDT", "table", tmp_path)
    given["orders"]["timestamp"] = [START, at, START + 1]
    if form == "pandas":
        frame = pd.DataFrame(given["orders"])
        given = {"orders": frame.assign(timestamp=pd.to_datetime(frame["timestamp"], unit="ms", utc=True))}
    files, place = (), "orders:1"
    if form == "parquet":
        pytest.importorskip("pyarrow")
        files, place = (tmp_path / "orders.parquet",), f"{tmp_path / 'orders.parquet'}:1"
        pd.DataFrame(given.pop("orders")).to_parquet(*files)
    done = liqdata.ingest(folder, *files, **given)
    assert (done.new, sum(done.refused.values())) == (2, 1)
    ((reason, first),) = done.first.items()
    assert reason == "orders: timestamp cannot be stored exactly"
    assert first == f"{place} ({at} ms is not between 1970 and 9999)"
    is_sound(folder)


def test_an_ingest_takes_the_tables_that_a_market_takes(folder):
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
    with pytest.raises(BadQuery, match='column "exchange" is missing') as refused:
        liqdata.ingest(folder, bars=bars)
    assert refused.value.parameter == "bars"


def some_orders(rows):
    """Orders with numbers that doubles represent, some of them twice, and not sorted by time."""
    count = range(rows)
    return {
        "timestamp": [START + (place * 7919 % rows // 2) * 60 * MINUTE for place in count],
        "exchange": [("okx", "bybit", "OKEx")[place % 3] for place in count],
        "symbol": [("BTCUSDT", "ETH-USDT-SWAP")[place % 5 // 4] for place in count],
        "side": [("LONG", "short")[place % 2] for place in count],
        "price": [40_000 + place % 4 / 4 for place in count],
        "qty": [(1 + place % 3) / 1000 for place in count],
        "value_usd": [40.0 * (1 + place % 3) for place in count],
    }


def test_every_kind_of_table_gives_the_same_orders(tmp_path):
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


def test_other_engines_read_the_stored_tables(folder):
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
        by_time = by_polars.select(polars.col("timestamp").dt.epoch("ms"), "exchange", "price", "qty").rows()
        assert set(by_time) <= ours
        assert by_time == sorted(by_time, key=lambda row: row[:2])
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
def test_the_first_invalid_row_is_named_and_nothing_is_stored(folder, wrong, column, row, as_table):
    columns = some_orders(10)
    for name, (place, value) in wrong.items():
        columns[name][place] = value
    with pytest.raises(BadQuery, match=f'orders: column "{column}", row {row}:'):
        liqdata.ingest(folder, orders=as_table(columns))
    assert not (folder / "journal.sqlite").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e-40])
def test_a_bar_with_an_unstorable_number_is_refused(folder, value):
    bars = {"timestamp": [START, START + MINUTE], "symbol": ["BTC"] * 2, "interval": ["1m"] * 2}
    bars |= {name: [100.0, 100.0] for name in ("open", "high", "low", "close")} | {"volume": [1.0, value]}
    with pytest.raises(BadQuery, match="volume") as refused:
        liqdata.ingest(folder, bars=bars, exchange="okx")
    assert 'column "volume", row 1:' in str(refused.value)
    assert ("28 digits" if value == 1e-40 else "is not an exact decimal") in str(refused.value)


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
def test_an_invalid_number_refuses_a_whole_table(folder, kind, column, value, made):
    library = pytest.importorskip(made)
    columns = with_number(kind, column, value)
    tables = {
        "numpy": lambda: {name: library.array(cells) for name, cells in columns.items()},
        "pandas": lambda: library.DataFrame(columns),
        "polars": lambda: library.DataFrame(columns),
        "pyarrow": lambda: library.table(columns),
    }
    with_bars = {"bars": SOUND["bars"]} if column == "open_interest_usd" else {}
    with pytest.raises(BadQuery, match=f'{kind}: column "{column}", row 1: .*(not a|is not an)'):
        liqdata.ingest(folder, **{kind: tables[made]()}, **with_bars, exchange="okx")
    assert not (folder / "journal.sqlite").exists()


@pytest.mark.parametrize("kind, column", NUMBERS)
@pytest.mark.parametrize("value", [*NO_NUMBERS, None])
def test_an_invalid_number_in_a_file_refuses_only_its_row(tmp_path, folder, kind, column, value):
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
    assert (done.new, sorted(done.files.values())) == (5, ["bars", "open_interest_usd"])
    with liqdata.open(folder) as market:
        assert [row["volume"] for row in market.bars("BTC", interval="1h")] == [18.0, 18.0]
        assert [row["open_interest"] for row in market.open_interest("BTC")] == [100.0]


def bars_apart(minutes):
    """A file of bars that begin so many minutes after the first."""
    lines = [f"{START + minute * MINUTE},100,101,99,100,7" for minute in minutes]
    return "timestamp,open,high,low,close,volume\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("name, said", [("btc_1m_x", 60_000), ("btc_1h_candles", 3_600_000)])
def test_a_file_that_contradicts_the_bar_length_in_its_name_is_refused(folder, tmp_path, name, said):
    file = tmp_path / f"{name}.csv"
    file.write_text(bars_apart(range(0, 180, 5)))
    with pytest.raises(BadQuery, match=rf"its name says bars of {said} ms, but its rows are 300000 ms apart"):
        liqdata.ingest(folder, file, exchange="binance")


def test_bars_that_are_missing_contradict_no_length(folder, tmp_path):
    file = tmp_path / "btc_1m_x.csv"
    file.write_text(bars_apart([0, 3, 4, 9, 12, 13, 20, 31, 32, 33, 50, 90]))
    assert liqdata.ingest(folder, file, exchange="binance").new == 12
