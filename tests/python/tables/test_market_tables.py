"""Tables in: whatever holds the columns, the answers are those of plain lists, and what is wrong is named."""

import random
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import samples

import liqdata
from liqdata import BadQuery

TABLES = {"orders": samples.orders(), "bars": samples.bars(), "open_interest": samples.open_interest()}
TEXT = {"exchange", "symbol", "side"}
EXACT = {"price", "qty", "value_usd"}


@pytest.fixture(scope="module")
def expected():
    """The ten answers of the same tables as mappings of lists."""
    return samples.ten(liqdata.Market(**TABLES))


def typed(table):
    """The table with numbers where it has numbers in text."""
    return {name: [float(cell) for cell in cells] if name in EXACT else cells for name, cells in table.items()}


def each(table, change):
    """The table with every column changed by `change(name, cells)`."""
    return {name: change(name, cells) for name, cells in table.items()}


def instants(cells, zone=None):
    return [datetime.fromtimestamp(cell / 1000, zone or UTC) for cell in cells]


# --- pandas


def frame_of_objects(table):
    """What pandas 2 makes of text, and exact decimals."""
    return pd.DataFrame(
        each(
            table,
            lambda name, cells: pd.Series(
                [Decimal(cell) for cell in cells] if name in EXACT else cells,
                dtype="object" if name in TEXT | EXACT else None,
            ),
        )
    )


def frame_with_aware_times(table):
    frame = pd.DataFrame(typed(table))
    frame["timestamp"] = pd.to_datetime(frame["timestamp"], unit="ms", utc=True).dt.tz_convert("Asia/Tokyo")
    return frame


def frame_of_categories_with_naive_times(table):
    frame = pd.DataFrame(typed(table))
    frame["timestamp"] = pd.to_datetime(frame["timestamp"], unit="ms")
    return frame.astype(dict.fromkeys(TEXT & set(frame.columns), "category"))


def frame_of_nullable_types(table):
    return pd.DataFrame(typed(table)).convert_dtypes(dtype_backend="numpy_nullable")


def frame_of_arrow_types(table):
    frame = frame_with_aware_times(table)
    return frame.convert_dtypes(dtype_backend="pyarrow")


def frame_with_an_index_of_its_own(table):
    frame = pd.DataFrame(typed(table))
    return frame.set_index(pd.Index(range(len(frame), 0, -1)))


# --- polars


def polars_plain(table):
    return pl.DataFrame(typed(table))


def polars_categories_decimals_and_times(table):
    frame = pl.DataFrame(table)
    return frame.with_columns(
        [pl.col(name).cast(pl.Categorical) for name in frame.columns if name in TEXT]
        + [pl.col(name).cast(pl.Decimal(20, 8)) for name in frame.columns if name in EXACT]
        + [pl.from_epoch("timestamp", time_unit="ms").dt.replace_time_zone("Europe/Paris", ambiguous="earliest")]
    ).with_columns(pl.col("timestamp").dt.convert_time_zone("UTC") + pl.duration(hours=2))


def polars_in_chunks(table):
    frame = pl.DataFrame(typed(table))
    return pl.concat([frame[:7], frame[7:11], frame[11:]], rechunk=False)


# --- pyarrow


def arrow(text=None, decimal=None, instant=None, chunks=1):
    def make(table):
        def column(name, cells):
            if name in TEXT and text is not None:
                whole = pa.array(cells).dictionary_encode() if text == "dictionary" else pa.array(cells, text)
            elif name in EXACT and decimal is not None:
                whole = pa.array([Decimal(cell) for cell in cells], decimal)
            elif name == "timestamp" and instant is not None:
                whole = pa.array(instants(cells), instant)
            else:
                whole = pa.array(cells)
            part = -(-len(whole) // chunks)
            return pa.chunked_array([whole[start : start + part] for start in range(0, len(whole), part)])

        return pa.table(each(table, column))

    return make


def arrow_batch(table):
    return arrow()(table).combine_chunks().to_batches()[0]


def arrow_reader(table):
    return arrow(chunks=4)(table).to_reader()


def dictionaries_chunk_by_chunk(table):
    """Chunks with different dictionaries."""
    encoded = arrow(chunks=5)(table)
    for name in TEXT & set(table):
        chunks = [chunk.dictionary_encode() for chunk in encoded[name].chunks]
        place = encoded.column_names.index(name)
        encoded = encoded.set_column(place, name, pa.chunked_array(chunks))
    return encoded


# --- duckdb


def relation(table):
    return duckdb.from_arrow(arrow()(table))


def relation_of_a_query(table):
    """With decimals and timestamps of the database's own making."""
    source = duckdb.from_arrow(arrow()(table))
    columns_of_query = [
        f"{name}::DECIMAL(24, 6) AS {name}"
        if name in EXACT
        else f"make_timestamp({name} * 1000) AS {name}"
        if name == "timestamp"
        else name
        for name in table
    ]
    return source.project(", ".join(columns_of_query))


# --- mappings


def arrays(table):
    return each(typed(table), lambda _, cells: np.array(cells))


def every_other_of_an_array(table):
    """Arrays that are not contiguous."""
    return each(typed(table), lambda _, cells: np.repeat(np.array(cells), 2)[::2])


def arrays_of_instants(unit):
    def make(table):
        return each(
            typed(table),
            lambda name, cells: (
                np.array(cells, dtype="datetime64[ms]").astype(f"datetime64[{unit}]")
                if name == "timestamp"
                else np.array(cells)
            ),
        )

    return make


def tuples_of_python_values(table):
    def column(name, cells):
        if name in EXACT:
            return tuple(Decimal(cell) for cell in cells)
        if name == "timestamp":
            zones = (UTC, timezone(timedelta(hours=-5)), ZoneInfo("Asia/Kolkata"))
            aware = [instants([cell], zones[place % 3])[0] for place, cell in enumerate(cells)]
            return tuple(
                cell.astimezone(UTC).replace(tzinfo=None) if place % 4 == 0 else cell
                for place, cell in enumerate(aware)
            )
        return tuple(cells)

    return each(table, column)


def lists_with_times_in_text(table):
    def column(name, cells):
        if name != "timestamp":
            return cells
        return [
            str(cell) if place % 3 == 0 else moment.isoformat() if place % 3 == 1 else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
            for place, (cell, moment) in enumerate(zip(cells, instants(cells), strict=True))
        ]

    return each(table, column)


def columns_of_four_libraries(table):
    makers = (pd.Series, pl.Series, pa.array, lambda cells: pa.chunked_array([cells[:3], cells[3:]]))
    return {name: makers[place % 4](cells) for place, (name, cells) in enumerate(typed(table).items())}


def generators(table):
    return each(table, lambda _, cells: (cell for cell in cells))


def with_unused_columns(table):
    return {"note": [object()] * len(table["symbol"]), **table, "Price": ["x"] * len(table["symbol"])}


FORMS = [
    frame_of_objects,
    frame_with_aware_times,
    frame_of_categories_with_naive_times,
    frame_of_nullable_types,
    frame_of_arrow_types,
    frame_with_an_index_of_its_own,
    polars_plain,
    polars_categories_decimals_and_times,
    polars_in_chunks,
    pytest.param(arrow(), id="arrow"),
    pytest.param(arrow(text=pa.large_string(), chunks=3), id="arrow LargeUtf8 in chunks"),
    pytest.param(arrow(text=pa.string_view(), chunks=2), id="arrow Utf8View"),
    pytest.param(arrow(text="dictionary", decimal=pa.decimal128(38, 6)), id="arrow dictionary and decimal128"),
    pytest.param(arrow(decimal=pa.decimal256(60, 9), instant=pa.timestamp("s")), id="arrow decimal256, seconds"),
    pytest.param(arrow(instant=pa.timestamp("ms", "UTC")), id="arrow milliseconds"),
    pytest.param(arrow(instant=pa.timestamp("us", "America/New_York")), id="arrow microseconds"),
    pytest.param(arrow(instant=pa.timestamp("ns")), id="arrow nanoseconds"),
    arrow_batch,
    arrow_reader,
    dictionaries_chunk_by_chunk,
    relation,
    relation_of_a_query,
    arrays,
    every_other_of_an_array,
    pytest.param(arrays_of_instants("ns"), id="arrays, nanoseconds"),
    pytest.param(arrays_of_instants("s"), id="arrays, seconds"),
    tuples_of_python_values,
    lists_with_times_in_text,
    columns_of_four_libraries,
    generators,
    with_unused_columns,
]


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_table_gives_the_answers_of_plain_lists(form, expected):
    market = liqdata.Market(**{name: form(table) for name, table in TABLES.items()})
    assert samples.ten(market) == expected
    assert market.now == datetime(2026, 6, 1, tzinfo=UTC)


def test_rows_of_liqdata_are_read_exactly():
    fine = "1234567890123456789.012345678"
    orders = {
        **TABLES["orders"],
        "symbol": ["BTCUSDT"] * len(TABLES["orders"]["side"]),
        "price": [fine] * len(TABLES["orders"]["side"]),
        "qty": ["1e-18"] * len(TABLES["orders"]["side"]),
    }
    del orders["value_usd"]
    first = liqdata.Market(**{**TABLES, "orders": orders})
    second = liqdata.Market(orders=first.orders(limit=1000), bars=first.bars("BTC"), now=first.now)
    assert second.orders(limit=1000) == first.orders(limit=1000)
    assert {row["price"] for row in second.orders()} == {Decimal(fine)}
    assert second.bars("BTC") == first.bars("BTC")


@pytest.mark.parametrize("seed", range(5))
def test_rows_may_stand_in_any_order(seed, expected):
    chance = random.Random(seed)
    mixed = {}
    for name, table in TABLES.items():
        rows = samples.rows(table)
        chance.shuffle(rows)
        mixed[name] = samples.columns(rows)
    assert samples.ten(liqdata.Market(**mixed)) == expected


def test_equal_orders_are_two_orders():
    one = {name: cells[:1] for name, cells in TABLES["orders"].items()}
    twice = {name: cells * 2 for name, cells in one.items()}
    market = liqdata.Market(orders=twice)
    assert len(market.orders()) == 2
    assert market.overview()["1h"]["cnt"] == 2


# --- what a cell means


def order(**changes):
    """One order as a mapping of columns."""
    plain = {
        "exchange": "binance",
        "symbol": "BTCUSDT",
        "side": "LONG",
        "price": "100",
        "qty": "2",
        "value_usd": "200",
        "timestamp": samples.NOW,
    }
    return {name: changes.get(name, [cell]) for name, cell in plain.items()} | changes


def price_of(column):
    table = order(price=column)
    del table["value_usd"]
    return liqdata.Market(orders=table).orders()[0]["price"]


@pytest.mark.parametrize(
    "column",
    [
        np.array([0.1], dtype="float32"),
        [np.float32(0.1)],
        pd.Series([0.1], dtype="float32"),
        pd.Series([0.1], dtype="Float32"),
        pd.array([0.1], dtype="Float32"),
        pd.Series([0.1], dtype="float32[pyarrow]"),
        pl.Series([0.1], dtype=pl.Float32),
        pa.array([0.1], pa.float32()),
        np.array([0.1], dtype="float64"),
        np.array([0.1], dtype="longdouble"),
        [0.1],
        ["0.1"],
        ["1e-1"],
        [Decimal("0.1")],
        pa.array([Decimal("0.1")], pa.decimal128(38, 30)),
    ],
)
def test_a_float_becomes_the_shortest_decimal_that_names_it(column):
    assert price_of(column) == Decimal("0.1")


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("make", [np.array, pa.array, pl.Series, pd.Series], ids=lambda make: make.__module__)
def test_whole_numbers_of_any_width_are_numbers(make, kind):
    column = make(np.array([100], dtype=kind))
    assert price_of(column) == Decimal(100)


@pytest.mark.parametrize(
    "cell,millis",
    [
        (samples.NOW, samples.NOW),
        (float(samples.NOW), samples.NOW),
        (np.int64(samples.NOW), samples.NOW),
        (str(samples.NOW), samples.NOW),
        ("2026-06-01", samples.NOW),
        ("2026-06-01T00:00Z", samples.NOW),
        ("2026-06-01 02:00:00+02:00", samples.NOW),
        (datetime(2026, 6, 1), samples.NOW),  # noqa: DTZ001 - naive times are UTC
        (datetime(2026, 6, 1, 9, tzinfo=ZoneInfo("Asia/Tokyo")), samples.NOW),
        (datetime(2026, 6, 1, tzinfo=UTC).date(), samples.NOW),
        (pd.Timestamp("2026-06-01T00:00:00.000999999Z"), samples.NOW),
        (np.datetime64("2026-06-01T00:00:00.000999"), samples.NOW),
        ("2026-06-01T00:00:00.0009Z", samples.NOW),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (np.datetime64(-1, "ns"), -1),
        (pd.Timestamp(-1, unit="ns"), -1),
        (-1, -1),
    ],
    ids=repr,
)
def test_an_instant_is_read_from_numbers_datetimes_and_text_and_floored(cell, millis):
    market = liqdata.Market(orders=order(timestamp=[cell]))
    assert market.orders()[0]["timestamp"] == millis
    if not isinstance(cell, float):
        assert liqdata.Market(now=cell).now == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


@pytest.mark.parametrize("seconds", [1_780_272_000, 1_780_272_000.0])
def test_a_column_of_epoch_seconds_is_refused(seconds):
    with pytest.raises(liqdata.BadQuery, match="epoch seconds") as caught:
        liqdata.Market(orders=order(timestamp=[seconds]))
    assert caught.value.parameter == "orders"


@pytest.mark.parametrize("text", ["2026", "20260601", "1780272000", "-1", "0"])
def test_a_text_of_few_digits_is_refused_as_an_instant(text):
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.Market(orders=order(timestamp=[text]))
    assert caught.value.parameter == "orders"
    with pytest.raises(liqdata.BadQuery) as caught:
        liqdata.Market(now=text)
    assert caught.value.parameter == "now"


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("make", [np.array, pa.array, pl.Series, pd.Series], ids=lambda make: make.__module__)
def test_fractions_of_milliseconds_are_floored_before_the_epoch(make, unit):
    column = make(np.array([-1], dtype=f"datetime64[{unit}]"))
    assert liqdata.Market(orders=order(timestamp=column)).orders()[0]["timestamp"] == -1


def test_names_are_normalised_to_the_contract():
    market = liqdata.Market(orders=order(exchange=[" Binance"], symbol=["btcusdt"], side=["long"], coin=["xbt"]))
    row = market.orders()[0]
    assert (row["exchange"], row["symbol"], row["side"]) == ("binance", "BTCUSDT", "LONG")
    assert market.coins()[0]["coin"] == "BTC"


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")], ids=repr)
def test_an_optional_cell_may_be_missing(nothing):
    columns = {"coin": [nothing], "received_at": [nothing]}
    market = liqdata.Market(orders=order(**columns))
    assert market.coins()[0]["coin"] == "BTC"
    assert len(market.orders(as_of=samples.NOW)) == 1


def test_missing_cells_of_pandas_are_missing():
    two = {name: cells * 2 for name, cells in order().items()}
    frame = pd.DataFrame(two).assign(coin=["XBT", None], received_at=[samples.NOW + 1, None])
    for table in (frame, frame.astype({"coin": "object"}), frame.convert_dtypes()):
        market = liqdata.Market(orders=table)
        assert {row["coin"] for row in market.coins()} == {"BTC"}
        assert len(market.orders(as_of=samples.NOW)) == 1
        assert len(market.orders(as_of=samples.NOW + 1)) == 2


@pytest.mark.parametrize(
    "interval",
    [300_000, 300_000.0, "5m", "300s", "300000ms", timedelta(minutes=5), np.timedelta64(5, "m"), pd.Timedelta("5min")],
    ids=repr,
)
def test_an_interval_is_read_from_numbers_spans_and_text(interval):
    one = {name: cells[:1] for name, cells in TABLES["bars"].items()}
    market = liqdata.Market(bars={**one, "interval": [interval]})
    assert market.bars("BTC")[0]["interval"] == 300_000


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_an_interval_may_be_a_column_of_durations(unit):
    two = {name: cells[:2] for name, cells in TABLES["bars"].items()}
    column = pa.array([timedelta(minutes=5)] * 2, pa.duration(unit))
    assert liqdata.Market(bars={**two, "interval": column}).bars("BTC")[1]["interval"] == 300_000
    frame = pd.DataFrame(two).assign(interval=pd.Series([pd.Timedelta(minutes=5)] * 2, dtype=f"timedelta64[{unit}]"))
    assert liqdata.Market(bars=frame).bars("BTC") == liqdata.Market(bars=two).bars("BTC")


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
def test_an_empty_table_and_no_table_give_empty_answers():
    empty = {name: pd.DataFrame(typed(table))[:0] for name, table in TABLES.items()}
    for market in (liqdata.Market(**empty), liqdata.Market()):
        assert market.now is None
        assert market.symbols == []
        assert market.orders() == []
        assert market.overview()["24h"] == {"long_usd": 0.0, "short_usd": 0.0, "total_usd": 0.0, "cnt": 0}


# --- what is wrong is named


def broken(table, column, row, cell):
    """A table of plain lists with one cell changed."""
    cells = list(TABLES[table][column]) if column in TABLES[table] else [None] * len(TABLES[table]["symbol"])
    cells[row] = cell
    return {**TABLES[table], column: cells}


def refusal(**tables):
    with pytest.raises(BadQuery) as caught:
        liqdata.Market(**tables)
    return caught.value


NAN, INFINITY = float("nan"), float("inf")

BAD_CELLS = [
    ("orders", "exchange", [None, NAN, "", "  ", 7, b"binance", pd.NA, "\ud800"]),
    ("orders", "symbol", [None, "", " ", 7, "\ud800"]),
    ("orders", "side", [None, "", "BUY", "LONGS", 1, "\ud800"]),
    ("orders", "price", [None, NAN, INFINITY, "", "nan", "1,5", "+1", ".5", "1_000", "x", 0, -1, "-0.1", True, [1]]),
    ("orders", "price", ["1" * 29, "1e-29", Decimal("1e-29"), Decimal("NaN"), Decimal("Infinity"), pd.NA, 2**64]),
    ("orders", "qty", [None, NAN, 0, -1, "0.0", "many"]),
    ("orders", "value_usd", [None, NAN, -1, "-0.001", -INFINITY, "1" * 40]),
    ("orders", "timestamp", [None, NAN, INFINITY, 0.5, "", "yesterday", "2026-13-01", True, b"2026", pd.NaT, 2**63]),
    ("orders", "timestamp", [2**63 - 1, -(2**63), samples.NOW * 1000, 1e16, "9" * 19, "9" * 5000, "--5"]),
    ("orders", "received_at", ["soon", True, 0.5, samples.NOW * 1000]),
    ("orders", "coin", [5]),
    ("bars", "symbol", [None, "", "BTCKRW", "BTCUSDT_261225", 5]),
    ("bars", "timestamp", [None, NAN, "soon", samples.NOW * 1000]),
    ("bars", "open", [None, NAN, INFINITY, 0, -1.0, "", "x", True, 1e101, 1e-101, "1e400"]),
    ("bars", "high", [None, NAN, INFINITY, 0.0, -1, 1.0]),
    ("bars", "low", [None, NAN, -INFINITY, 0.0, -1, 59_780]),
    ("bars", "close", [None, NAN, 0, -1, "60,000"]),
    ("bars", "volume", [None, NAN, INFINITY, -1, -0.001, "x"]),
    ("bars", "interval", [0, -5, "soon", "5 parsecs", 0.5, True, timedelta(0)]),
    ("open_interest", "symbol", [None, "", "BTC-27NOV26-80000-C", 5]),
    ("open_interest", "timestamp", [None, NAN, "soon"]),
    ("open_interest", "open_interest", [None, NAN, INFINITY, -1, "x"]),
    ("open_interest", "exchange", ["", 5]),
]
CELLS = [(table, column, cell) for table, column, cells in BAD_CELLS for cell in cells]


@pytest.mark.parametrize("table,column,cell", CELLS, ids=lambda value: repr(value)[:30])
def test_an_invalid_cell_is_refused_with_its_column_and_row(table, column, cell):
    tables = {**TABLES, table: broken(table, column, 17, cell)}
    error = refusal(**tables)
    assert error.parameter == table
    assert str(error).startswith(f'{table}: column "{column}", row 17: ')


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda make: make.__module__)
@pytest.mark.parametrize(
    "table,column,cell",
    [
        ("orders", "qty", -1.0),
        ("orders", "qty", None),
        ("orders", "side", "BUY"),
        ("orders", "exchange", None),
        ("orders", "timestamp", None),
        ("bars", "close", NAN),
        ("bars", "close", None),
        ("bars", "volume", -1.0),
        ("bars", "high", 1.0),
        ("open_interest", "open_interest", -1.0),
        ("open_interest", "symbol", None),
    ],
)
def test_frames_are_checked_like_lists(make, table, column, cell):
    whole = typed(TABLES[table])
    cells = [*whole[column][:17], cell, *whole[column][18:]]
    error = refusal(**{table: make({**whole, column: cells})})
    assert error.parameter == table
    assert str(error).startswith(f'{table}: column "{column}", row 17: ')


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**63], pa.uint64()),
        np.array([1, 2**63], dtype="uint64"),
        pl.Series([1, 2**63], dtype=pl.UInt64),
    ],
    ids=lambda column: type(column).__module__,
)
def test_a_number_too_wide_is_refused_with_its_row(column):
    two = {name: cells * 2 for name, cells in order().items()}
    error = refusal(orders={**two, "timestamp": column})
    assert str(error).startswith('orders: column "timestamp", row 1: ')


def test_an_arrow_decimal_of_too_many_digits_is_refused_with_its_row():
    wide = Decimal("1." + "1" * 37)
    two = {name: cells * 2 for name, cells in order().items()}
    for kind in (pa.decimal128(38, 37), pa.decimal256(76, 37), pa.decimal256(76, 60)):
        error = refusal(orders={**two, "price": pa.array([Decimal(1), wide], kind)})
        assert str(error).startswith('orders: column "price", row 1: '), kind


REQUIRED = [
    ("orders", ["exchange", "symbol", "side", "price", "qty", "timestamp"]),
    ("bars", ["symbol", "timestamp", "open", "high", "low", "close", "volume"]),
    ("open_interest", ["symbol", "timestamp", "open_interest"]),
]


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=lambda form: form.__module__)
@pytest.mark.parametrize("table,column", [(table, column) for table, columns in REQUIRED for column in columns])
def test_a_missing_column_is_named_with_those_that_are_needed(table, column, form):
    rest = {name: cells for name, cells in TABLES[table].items() if name != column}
    error = refusal(**{table: form(rest)})
    assert error.parameter == table
    assert f'column "{column}" is missing' in str(error)
    for name in dict(REQUIRED)[table]:
        assert name in str(error).partition("allowed:")[2]


@pytest.mark.parametrize(
    "nonsense, hint",
    [
        ("orders.csv", "a mapping of columns"),
        (b"bytes", "a mapping of columns"),
        (5, "a mapping of columns"),
        (object(), "a mapping of columns"),
        ([1, 2], "a mapping of columns"),
        ([{"symbol": "BTC"}], "is missing (there are symbol); allowed: the columns"),
        (np.zeros((2, 2)), "a mapping of columns"),
        (pd.Series([1]), "a DataFrame with every column"),
        (pl.Series([1]), "a DataFrame with every column"),
        (pl.LazyFrame({"symbol": ["BTC"]}), "is missing (there are symbol); allowed: the columns"),
        (pa.array([1]), "a mapping of columns"),
        (pa.chunked_array([[1]]), "a mapping of columns"),
        (iter(()), "allowed: a list of what it gives"),
    ],
)
@pytest.mark.parametrize("table", TABLES)
def test_what_is_not_a_table_is_refused(table, nonsense, hint):
    error = refusal(**{table: nonsense})
    assert error.parameter == table
    assert hint in str(error)


@pytest.mark.parametrize("table", TABLES)
def test_columns_of_different_lengths_are_refused(table):
    column = next(iter(reversed(TABLES[table])))
    rows = len(TABLES[table][column])
    for cells in (TABLES[table][column][:-1], TABLES[table][column] * 2, []):
        error = refusal(**{table: {**TABLES[table], column: cells}})
        assert error.parameter == table
        assert f'column "{column}" has {len(cells)} rows' in str(error)
        assert str(rows) in str(error)


@pytest.mark.parametrize("cells", ["123", 5, None, np.zeros((1, 1)), np.float64(5.0)], ids=repr)
def test_an_invalid_column_is_refused(cells):
    error = refusal(orders=order(price=cells))
    assert error.parameter == "orders"
    assert 'column "price"' in str(error)


@pytest.mark.parametrize("table,column", [("orders", "price"), ("bars", "close"), ("open_interest", "open_interest")])
def test_a_duplicate_column_is_refused(table, column):
    plain = typed(TABLES[table])
    frame = pd.DataFrame(plain)
    twice = pd.concat([frame, frame[[column]]], axis=1)
    whole = pa.table(plain)
    for doubled in (twice, whole.append_column(column, whole[column])):
        error = refusal(**{table: doubled})
        assert error.parameter == table
        assert repr(column)[1:-1] in str(error)
        assert "twice" in str(error)


def test_an_unused_duplicate_column_is_accepted_in_arrow(expected):
    tables = {}
    for name, table in TABLES.items():
        whole = pa.table(table)
        side = pa.array([0] * whole.num_rows)
        tables[name] = whole.append_column("note", side).append_column("note", side)
    assert samples.ten(liqdata.Market(**tables)) == expected


def test_a_second_bar_at_one_open_is_refused_with_both_rows():
    doubled = {name: [*cells, cells[40]] for name, cells in TABLES["bars"].items()}
    liqdata.Market(bars=doubled)  # the same bar twice is one bar
    doubled["volume"] = [*doubled["volume"][:-1], 1e6]
    last = len(TABLES["bars"]["symbol"])
    error = refusal(bars=doubled)
    assert error.parameter == "bars"
    assert str(error).startswith(f'bars: column "timestamp", row {last}: ')
    assert "row 40" in str(error)


def test_a_second_reading_of_one_venue_at_one_instant_is_refused_with_both_rows():
    doubled = {name: [*cells, cells[40]] for name, cells in TABLES["open_interest"].items()}
    liqdata.Market(open_interest=doubled)  # the same reading twice is one reading
    doubled["open_interest"] = [*doubled["open_interest"][:-1], 1e6]
    last = len(TABLES["open_interest"]["symbol"])
    error = refusal(open_interest=doubled)
    assert error.parameter == "open_interest"
    assert str(error).startswith(f'open_interest: column "timestamp", row {last}: ')
    assert "row 40" in str(error)


def test_errors_name_the_row_of_the_caller_in_any_order():
    rows = samples.rows(TABLES["bars"])
    rows.reverse()
    rows[3] = {**rows[3], "close": -1.0}
    assert 'column "close", row 3: ' in str(refusal(bars=samples.columns(rows)))


def test_readings_with_and_without_a_venue_are_refused_together():
    mixed = broken("open_interest", "exchange", 17, None)
    error = refusal(open_interest=mixed)
    assert str(error).startswith('open_interest: column "exchange", row 17: ')


def test_a_single_bar_needs_an_interval():
    one = {name: cells[:1] for name, cells in TABLES["bars"].items()}
    error = refusal(bars=one)
    assert error.parameter == "bars"
    assert str(error).startswith('bars: column "interval", row 0: ')


def test_bars_that_overlap_are_refused():
    two = {name: cells[:2] for name, cells in TABLES["bars"].items()}
    error = refusal(bars={**two, "interval": ["1h", "1h"]})
    assert str(error).startswith(
        'bars: column "interval", row 0: 3600000 ms: longer than the distance between the bars'
    )


def test_an_error_of_a_column_object_is_raised():
    def cells():
        yield "1"
        msg = "the file ended"
        raise EOFError(msg)

    with pytest.raises(EOFError, match="the file ended"):
        liqdata.Market(orders=order(price=cells()))


@pytest.mark.parametrize(
    "now", ["soon", "", True, 1.5, b"0", NAN, pd.NaT, "--5", "9" * 5000, 10**30, samples.NOW * 1000]
)
def test_an_invalid_now_is_refused(now):
    error = refusal(now=now)
    assert error.parameter == "now"
    assert "ISO 8601" in str(error)


def test_progress_counts_the_rows_and_the_frames(monkeypatch):
    from liqdata import feeds, market

    class Bar:
        def __init__(self, **options):
            shown.append(options)

        def update(self, n):
            shown.append(n)

        def close(self):
            shown.append("closed")

    shown = []
    for module in (feeds, market):
        monkeypatch.setattr(module, "bar", Bar)
    orders = {name: cells * 500 for name, cells in TABLES["orders"].items()}
    count = len(orders["price"]) + sum(len(TABLES[name]["symbol"]) for name in ("bars", "open_interest"))
    liqdata.Market(**{**TABLES, "orders": orders}, progress=True)
    assert (shown[0], shown[-1]) == ({"wanted": True, "total": None, "what": "tables"}, "closed")
    assert sum(shown[1:-1]) == count
    shown.clear()
    frame = """{"topic": "allLiquidation.SOLUSDT", "type": "snapshot", "ts": 1790000000500, "data": []}"""
    feeds.decode("bybit", [frame] * 70, progress=True)
    assert (shown[0]["total"], sum(shown[1:-1]), shown[-1]) == (70, 70, "closed")
