"""Rows: a sequence of dicts that cannot be changed, and the frames made of it."""

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import samples

import liqdata
from liqdata import BadQuery, Rows
from liqdata.results import rows as rows_module

ORDERS = samples.orders()
TEXT = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"


@pytest.fixture(scope="module")
def market():
    return liqdata.Market(orders=ORDERS, bars=samples.bars(), open_interest=samples.open_interest())


@pytest.fixture(scope="module")
def rows(market):
    return market.orders(limit=1000)


@pytest.fixture(scope="module")
def plain():
    """The same rows as dicts, by hand."""
    exact = ("price", "qty", "value_usd")
    made = [
        {name: Decimal(cell) if name in exact else cell for name, cell in row.items()} for row in samples.rows(ORDERS)
    ]
    return sorted(made, key=lambda row: -row["timestamp"])


# --- what others make of rows


PRICES = ["82651.9", "0.00000001234567", "123456789.123", "1e-7", "64000"]


def priced():
    """Rows with prices that have their digits in different places, the first of them few."""
    many = len(PRICES)
    orders = {
        "exchange": ["binance"] * many,
        "symbol": ["BTCUSDT"] * many,
        "side": ["LONG"] * many,
        "price": PRICES,
        "qty": ["1"] * many,
        "timestamp": [1_781_136_000_000 - row for row in range(many)],
    }
    return liqdata.Market(orders=orders).orders()


def unnested(made):
    """A frame, as older polars gives at once, or of the structs that newer ones give."""
    return made.struct.unnest() if isinstance(made, pl.Series) else made


CONSTRUCTORS = {
    "polars.DataFrame": lambda rows: pl.DataFrame(rows)["price"].to_list(),
    "polars.LazyFrame": lambda rows: pl.LazyFrame(rows).collect()["price"].to_list(),
    "polars.from_arrow": lambda rows: unnested(pl.from_arrow(rows))["price"].to_list(),
    "pandas.DataFrame": lambda rows: pd.DataFrame(rows)["price"].tolist(),
    "pandas.DataFrame.from_records": lambda rows: pd.DataFrame.from_records(rows)["price"].tolist(),
    "pyarrow.table": lambda rows: pa.table(rows)["price"].to_pylist(),
    "pyarrow.RecordBatchReader": lambda rows: pa.RecordBatchReader.from_stream(rows).read_all()["price"].to_pylist(),
    "numpy.array": lambda rows: [row["price"] for row in np.array(rows)],
    "duckdb": lambda rows: [price for (price,) in duckdb.from_arrow(rows).select("price").fetchall()],
    "list": lambda rows: [row["price"] for row in list(rows)],
}


@pytest.mark.parametrize("construct", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def test_no_constructor_alters_a_price(construct):
    # Either exact, or the nearest float: nothing is cut to the digits of the first row.
    assert construct(priced()) == [kind(price) for kind in [type(construct(priced())[0])] for price in PRICES]


def test_a_constructor_without_a_list_is_refused():
    with pytest.raises(TypeError, match="Rows"):
        pl.from_records(priced())


# --- a sequence


def test_rows_are_the_dicts_they_were_made_of(rows, plain):
    # Libraries of frames take one for a list of dicts, and guess the types.
    assert not isinstance(rows, Sequence)
    assert isinstance(rows, Rows)
    assert rows == plain
    assert plain == rows
    assert rows == tuple(plain)
    assert list(rows) == plain
    assert len(rows) == len(plain)
    assert all(type(row) is dict for row in rows)
    assert [type(cell) for cell in rows[0].values()] == [str, str, str, Decimal, Decimal, Decimal, int]


def test_different_rows_are_not_equal(rows, plain):
    assert rows != plain[:-1]
    assert rows != [*plain[:-1], {}]
    assert rows != plain[::-1]
    assert rows != rows[1:]
    assert rows != "rows"
    assert rows != 5
    assert rows != dict(enumerate(plain))
    assert rows[:0] == []


@pytest.mark.parametrize(
    "part",
    [
        slice(None),
        slice(3),
        slice(-3, None),
        slice(2, 9, 3),
        slice(None, None, -1),
        slice(9, 2, -2),
        slice(-1, -9, -3),
        slice(5, 5),
        slice(50, 2),
        slice(-1000, 1000),
        slice(None, None, 10**18),
        slice(None, None, -(10**18)),
    ],
    ids=repr,
)
def test_a_slice_is_rows_again(rows, plain, part):
    found = rows[part]
    assert isinstance(found, Rows)
    assert found == plain[part]
    assert found.columns == rows.columns
    assert found.meta == rows.meta
    assert found.to_pandas().to_dict("records") == rows.to_pandas()[part].to_dict("records")
    assert found[::-1] == plain[part][::-1]


def test_an_index_counts_from_either_end(rows, plain):
    last = len(plain) - 1
    assert rows[0] == plain[0]
    assert rows[-1] == rows[last] == plain[-1]
    assert rows[-len(plain)] == plain[0]
    assert rows[np.int64(2)] == plain[2]
    for outside in (len(plain), -len(plain) - 1, 10**30):
        with pytest.raises(IndexError):
            rows[outside]
    for nonsense in (1.0, None, b"price"):
        with pytest.raises(TypeError):
            rows[nonsense]
    with pytest.raises(ValueError, match="zero"):
        rows[::0]


@pytest.fixture(scope="module")
def long():
    """More rows than are made into dicts at once."""
    count = 2 * rows_module._AT_ONCE + 1
    bars = {name: [1.0 + place for place in range(count)] for name in ("open", "high", "low", "close", "volume")}
    times = [samples.NOW - 300_000 * (count - place) for place in range(count)]
    return liqdata.Market(bars={**bars, "symbol": ["BTC"] * count, "timestamp": times}).bars("BTC")


def test_any_number_of_rows_is_iterated_in_order(long):
    at_once = rows_module._AT_ONCE
    for length in (0, 1, at_once - 1, at_once, at_once + 1, len(long)):
        part = long[:length]
        assert list(part) == [part[place] for place in range(length)]
    assert list(long[::-1]) == list(reversed(long))


class Counting:
    """A native table that counts how many dicts were made of it."""

    def __init__(self, table, made):
        self._table, self._made = table, made

    def __len__(self):
        return len(self._table)

    def __getattr__(self, name):
        return getattr(self._table, name)

    def slice(self, *place):
        return Counting(self._table.slice(*place), self._made)

    def dicts(self, decimals):
        self._made.append(len(self._table))
        return self._table.dicts(decimals)


@pytest.mark.parametrize(
    "look,dicts", [(Rows._repr_html_, 10), (lambda rows: next(iter(rows)), rows_module._AT_ONCE)], ids=["html", "next"]
)
def test_access_to_a_few_rows_creates_few_dicts(long, look, dicts):
    made = []
    counted = Rows(Counting(long._table, made), meta=long.meta)
    assert look(counted) == look(long)
    assert sum(made) == dicts


def test_rows_are_searched_like_a_list(rows, plain):
    twin = next(row for row in plain if plain.count(row) == 2)
    assert twin in rows
    assert {**twin, "price": Decimal(0)} not in rows
    assert rows.count(twin) == 2
    assert rows.index(twin) == plain.index(twin)
    assert rows.index(twin, rows.index(twin) + 1) == plain.index(twin) + 1
    assert {} not in rows
    assert rows.count({}) == 0
    with pytest.raises(ValueError, match="not in these rows"):
        rows.index({})
    assert list(reversed(rows)) == plain[::-1]


def test_rows_cannot_be_changed(rows):
    for change in ("rows[0] = {}", "del rows[0]", "rows[0:1] = []", "rows += [{}]"):
        with pytest.raises(TypeError):
            exec(change, {"rows": rows})  # noqa: S102 - statements are what is tested
    for name in ("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"):
        assert not hasattr(rows, name), name
    with pytest.raises(AttributeError):
        rows.price = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_a_dict_is_the_callers_own(market):
    """Changing a row that was handed out changes neither the next reader's nor the frames."""
    rows = market.orders(limit=3)
    before = copy.deepcopy(list(rows))
    for row in list(rows):
        row.clear()
    rows[0]["price"] = Decimal(0)
    assert rows == before
    assert rows.to_pandas()["price"].tolist() == [float(row["price"]) for row in before]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_rows_of_every_kind_pickle(market, protocol):
    kinds = [
        market.orders(),
        market.orders()[::3],
        market.orders("TIAUSDT"),
        market.coins(),
        market.exchanges(),
        market.chart(),
        market.coverage(),
        market.bars("BTC"),
        samples.simulated().true_positions("BTC")[:5],
    ]
    for rows in kinds:
        back = pickle.loads(pickle.dumps(rows, protocol=protocol))
        assert back == rows
        assert back.meta == rows.meta
        assert back.columns == rows.columns
        pd.testing.assert_frame_equal(back.to_pandas(), rows.to_pandas())


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copy_is_equal(rows, how):
    again = how(rows)
    assert again == rows
    assert again.meta == rows.meta


def test_exact_digits_survive_pickling():
    fine = "1234567890123456789.012345678"
    rows = liqdata.Market(orders=of_prices([fine] * len(ORDERS["side"]))).orders()
    assert str(pickle.loads(pickle.dumps(rows))[0]["price"]) == fine


# --- frames


KINDS = {
    "orders": {
        "exchange": "text",
        "symbol": "text",
        "coin": "text",
        "side": "text",
        "price": "decimal",
        "qty": "decimal",
        "value_usd": "decimal",
        "timestamp": "time",
    },
    "largest": {
        "exchange": "text",
        "symbol": "text",
        "coin": "text",
        "side": "text",
        "price": "decimal",
        "qty": "decimal",
        "value_usd": "decimal",
        "timestamp": "time",
    },
    "coins": {"coin": "text", "long_usd": "float", "short_usd": "float", "total_usd": "float", "cnt": "int"},
    "exchanges": {
        "exchange": "text",
        "long_usd": "decimal",
        "short_usd": "decimal",
        "total_usd": "decimal",
        "cnt": "int",
    },
    "chart": {"hour": "time", "side": "text", "total_usd": "decimal"},
    "bars": {
        "symbol": "text",
        "timestamp": "time",
        "closes_at": "time",
        "open": "float",
        "high": "float",
        "low": "float",
        "close": "float",
        "volume": "float",
        "interval": "int",
    },
    "coverage": {
        "exchange": "text",
        "connected_share": "float",
        "completeness": "text",
        "known_by": "text",
        "last_event": "time",
        "gaps": "int",
        "cnt": "int",
        "topics": "int?",
        "topics_covered": "int?",
        "recovered": "int?",
        "rejected": "int?",
        "unpriced": "int?",
        "quarantined": "int?",
        "unjudged": "int?",
        "holes": "int?",
        "numbered": "int?",
        "clock_ahead": "int?",
        "compared_usd": "float",
        "exchange_usd": "float",
        "open_interest_outliers": "int?",
        "bar_outliers": "int?",
    },
}
PANDAS = {
    "text": TEXT,
    "decimal": "float64",
    "float": "float64",
    "int": "int64",
    "int?": "Int64",
    "time": "datetime64[ms, UTC]",
}
POLARS = {
    "text": pl.String,
    "decimal": pl.Float64,
    "float": pl.Float64,
    "int": pl.Int64,
    "int?": pl.Int64,
    "time": pl.Datetime("ms", "UTC"),
}
ARROW = {
    "text": pa.string(),
    "decimal": pa.float64(),
    "float": pa.float64(),
    "int": pa.int64(),
    "int?": pa.int64(),
    "time": pa.timestamp("ms", "UTC"),
}
full_and_empty = pytest.mark.parametrize("empty", [False, True], ids=["full", "empty"])
every_kind = pytest.mark.parametrize("kind", KINDS)


def answer(market, kind, empty):
    if empty:
        market = liqdata.Market()
    with warnings.catch_warnings(action="ignore", category=liqdata.NotCovered):
        found = getattr(market, kind)()
    assert (len(found) == 0) == empty
    return found


@every_kind
@full_and_empty
def test_the_types_of_a_pandas_frame_are_fixed(market, kind, empty):
    frame = answer(market, kind, empty).to_pandas()
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        name: PANDAS[cells] for name, cells in KINDS[kind].items()
    }
    assert isinstance(frame.index, pd.RangeIndex)


@every_kind
@full_and_empty
def test_the_types_of_a_polars_frame_are_fixed(market, kind, empty):
    frame = answer(market, kind, empty).to_polars()
    assert dict(frame.schema) == {name: POLARS[cells] for name, cells in KINDS[kind].items()}


@every_kind
@full_and_empty
def test_the_types_of_an_arrow_table_are_fixed(market, kind, empty):
    table = answer(market, kind, empty).to_arrow()
    table.validate(full=True)
    assert {field.name: field.type for field in table.schema} == {
        name: ARROW[cells] for name, cells in KINDS[kind].items()
    }


def stated(row, kind):
    """A row as frames have it: of orders with the coin."""
    coin = {"coin": liqdata.symbols.parse(row["symbol"]).coin} if kind in {"orders", "largest"} else {}
    return {name: (row | coin)[name] for name in KINDS[kind]}


@every_kind
def test_frames_have_the_cells_of_the_dicts(market, kind):
    rows = answer(market, kind, empty=False)
    moments = {name for name, cells in KINDS[kind].items() if cells == "time"}
    wanted = [
        {
            name: float(cell)
            if isinstance(cell, Decimal)
            else datetime.fromtimestamp(cell / 1000, UTC)
            if name in moments
            else cell
            for name, cell in stated(row, kind).items()
        }
        for row in rows
    ]
    assert rows.to_arrow().to_pylist() == wanted
    assert rows.to_polars().to_dicts() == wanted
    records = rows.to_pandas().replace({np.nan: None}).to_dict("records")
    assert [
        {name: getattr(cell, "to_pydatetime", lambda cell=cell: cell)() for name, cell in row.items()}
        for row in records
    ] == wanted


@pytest.mark.parametrize("kind", ["orders", "exchanges", "chart"])
@full_and_empty
@pytest.mark.parametrize("scale", [None, 12])
def test_exact_columns_have_one_type_whatever_their_rows_are(market, kind, empty, scale):
    rows = answer(market, kind, empty)
    objects = rows.to_pandas(decimals="decimal", scale=scale)
    arrow = rows.to_pandas(decimals="arrow", scale=scale)
    table = rows.to_arrow(decimals="decimal", scale=scale)
    polars = rows.to_polars(decimals="decimal", scale=scale)
    digits = 18 if scale is None else scale
    for name in (name for name, cells in KINDS[kind].items() if cells == "decimal"):
        exact = [row[name] for row in rows]
        assert table.schema.field(name).type == pa.decimal128(38, digits)
        assert table[name].to_pylist() == exact
        assert polars.schema[name] == pl.Decimal(38, digits)
        assert polars[name].to_list() == exact
        assert arrow[name].dtype == pd.ArrowDtype(pa.decimal128(38, digits))
        assert arrow[name].tolist() == exact
        assert objects[name].dtype == object
        assert objects[name].tolist() == exact
        assert {-cell.as_tuple().exponent for cell in objects[name]} <= {digits}
    other = [name for name, cells in KINDS[kind].items() if cells != "decimal"]
    assert arrow[other].equals(rows.to_pandas()[other])


def of_prices(prices):
    """Orders of one unit each of a contract that is counted in coins; their values follow from their prices."""
    count = len(prices)
    table = {**ORDERS, "symbol": ["BTCUSDT"] * count, "price": prices, "qty": ["1e-10"] * count}
    del table["value_usd"]
    return table


EXACT = {
    "to_pandas": ("decimal", "arrow"),
    "to_polars": ("decimal",),
    "to_arrow": ("decimal",),
}
exactly = pytest.mark.parametrize("export, form", [(name, form) for name, forms in EXACT.items() for form in forms])


@exactly
def test_a_value_that_does_not_fit_the_scale_is_refused_by_column_and_row(export, form):
    def exact(cell, scale=None):
        cells = [*["1"] * (len(ORDERS["side"]) - 1), cell]
        rows = liqdata.Market(orders=of_prices(cells)).orders(limit=1000)
        place = next(place for place, row in enumerate(rows) if row["price"] != 1)
        return place, lambda: list(pl.Series(getattr(rows, export)(decimals=form, scale=scale)["price"]))

    for cell, scale in (("1e-19", None), ("1.5", 0), ("9" * 21, None), ("10", 37)):
        place, convert = exact(cell, scale)
        with pytest.raises(
            liqdata.BadQuery, match=rf"^scale: \d+ does not hold price = .* of row {place} within 38 digits"
        ) as caught:
            convert()
        assert caught.value.parameter == "scale"
    for cell, scale in (("1e-19", 19), ("9" * 20, None), ("9" * 28, 10), ("9", 37)):
        _, convert = exact(cell, scale)
        assert Decimal(cell) in convert()


@exactly
def test_values_that_share_no_scale_of_38_digits_are_refused(export, form):
    cells = ["1e-28", "9999999999999999999999999999", *["1"] * (len(ORDERS["side"]) - 2)]
    rows = liqdata.Market(orders=of_prices(cells)).orders(limit=1000)
    for scale in (None, 10, 28):
        with pytest.raises(liqdata.BadQuery, match=r"price = .* of row \d+ within 38 digits"):
            getattr(rows, export)(decimals=form, scale=scale)
    assert len(getattr(rows, export)()) == len(rows)


@pytest.mark.parametrize("export", EXACT)
def test_a_scale_is_a_whole_number_of_exact_values(rows, export):
    for scale in (-1, 39, 1.5, "2", True):
        with pytest.raises(liqdata.BadQuery, match=r"scale: .* allowed: a whole number from 0 to 38"):
            getattr(rows, export)(decimals="decimal", scale=scale)
    with pytest.raises(liqdata.BadQuery, match="scale: 4 has no effect on floats"):
        getattr(rows, export)(scale=4)


@pytest.mark.parametrize("export", ["to_pandas", "to_polars", "to_arrow"])
@pytest.mark.parametrize("decimals", ["exact", None, True, "Float"])
def test_another_way_of_decimals_is_refused(rows, export, decimals):
    with pytest.raises(liqdata.BadQuery) as caught:
        getattr(rows, export)(decimals=decimals)
    assert caught.value.parameter == "decimals"


def test_frames_are_the_callers_own(rows):
    first, second = rows.to_pandas(), rows.to_pandas()
    first.loc[0, "price"] = -1.0
    first.loc[0, "side"] = "NEITHER"
    assert second.loc[0, "price"] != -1.0
    assert rows.to_pandas().equals(second)


# --- the Arrow stream


def test_the_arrow_stream_is_read_as_often_as_asked(rows):
    tables = [pa.table(rows) for _ in range(3)]
    assert tables[0] == tables[1] == tables[2] == rows.to_arrow()
    assert pl.DataFrame(rows).equals(rows.to_polars())
    assert pa.RecordBatchReader.from_stream(rows).read_all() == rows.to_arrow()


def test_a_reader_may_ask_for_another_schema(rows):
    wanted = pa.schema(
        [(name, pa.large_string() if cells == "text" else ARROW[cells]) for name, cells in KINDS["orders"].items()]
    )
    found = pa.RecordBatchReader.from_stream(rows, schema=wanted).read_all()
    assert found.schema == wanted
    assert found["symbol"].to_pylist() == [row["symbol"] for row in rows]


@pytest.mark.parametrize(
    "text,time",
    [
        (pa.string(), pa.timestamp("us", "UTC")),
        (pa.string_view(), pa.timestamp("ms", "UTC")),
        (pa.large_string(), pa.timestamp("ns", "UTC")),
    ],
    ids=str,
)
def test_texts_and_instants_come_in_the_type_asked_for(rows, text, time):
    kinds = {**ARROW, "text": text, "time": time}
    wanted = pa.schema([(name, kinds[cells]) for name, cells in KINDS["orders"].items()])
    found = pa.RecordBatchReader.from_stream(rows, schema=wanted).read_all()
    assert found.schema == wanted
    assert found["side"].to_pylist() == [row["side"] for row in rows]
    assert found["timestamp"].to_pylist() == pa.table(rows)["timestamp"].to_pylist()


def test_a_conversion_that_would_round_is_not_made(rows):
    own = pa.table(rows).schema
    coarse = own.set(own.get_field_index("price"), pa.field("price", pa.float32()))
    fewer = own.remove(0)
    for wanted in (coarse, fewer):
        assert pa.RecordBatchReader.from_stream(rows, schema=wanted).schema == own


def test_duckdb_reads_rows_by_their_name(rows):
    connection = duckdb.connect()
    connection.register("liquidations", rows.to_arrow())
    query = "SELECT count(*), sum(value_usd), max(symbol) FROM {}"
    through = connection.sql(query.format("liquidations")).fetchall()[0]
    direct = connection.sql(query.format("rows")).fetchall()[0]
    assert direct == through
    assert direct[0] == len(rows)
    assert direct[1] == pytest.approx(float(sum(row["value_usd"] for row in rows)))


def test_a_stream_outlives_its_rows(market):
    reader = pa.RecordBatchReader.from_stream(market.orders(limit=1000))
    assert reader.read_all().num_rows == len(ORDERS["side"])


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
import warnings
warnings.simplefilter("ignore")
import liqdata, samples
market = samples.market()
rows = market.orders(limit=5)
{body}
"""


def blocked(modules, body):
    command = [sys.executable, "-c", BLOCKED.format(blocked=set(modules), body=body)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=samples.HERE)


def test_pandas_frames_need_no_pyarrow():
    body = """
frame = rows.to_pandas()
exact = rows.to_pandas(decimals="decimal")
back = liqdata.Market(orders=frame, bars=market.bars("BTC").to_pandas(), now=market.now)
assert "pyarrow" not in sys.modules
assert back.orders(limit=5)[0]["symbol"] == rows[0]["symbol"]
assert exact["price"].tolist() == [row["price"] for row in rows]
print(*(str(dtype) for dtype in frame.dtypes), sep="|")
"""
    done = blocked({"pyarrow", "polars"}, body)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().split("|")[-1] == "datetime64[ms, UTC]"


def test_polars_frames_need_neither_pyarrow_nor_pandas():
    done = blocked({"pyarrow", "pandas"}, "print(rows.to_polars().height)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "5"


def test_dicts_need_no_library_at_all():
    done = blocked({"pyarrow", "pandas", "polars", "matplotlib", "xarray"}, "print(len(list(rows)))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "5"


# --- how rows show themselves


class Cells(HTMLParser):
    """The texts of the cells of a table, and the tags that are in it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser calls it so
        self.tags.append(tag)
        if tag in {"td", "th", "caption"}:
            self.cells.append("")

    def handle_data(self, data):
        self.cells[-1] += data


def test_a_short_table_is_shown_whole(market):
    rows = market.coins()
    shown = Cells(rows._repr_html_())
    assert shown.tags.count("tr") == len(rows) + 1
    assert shown.cells[1:6] == ["coin", "long_usd", "short_usd", "total_usd", "cnt"]
    assert shown.cells[6] == rows[0]["coin"]
    assert "…" not in shown.cells


def test_a_long_table_is_elided_in_the_middle(rows):
    shown = Cells(rows._repr_html_())
    assert shown.tags.count("tr") == 1 + 5 + 1 + 5
    assert shown.cells.count("…") == 1
    assert f"{len(rows)} rows" in shown.cells[0]
    assert shown.cells[-1] == datetime.fromtimestamp(rows[-1]["timestamp"] / 1000, UTC).strftime(
        "%Y-%m-%d %H:%M:%S.000"
    )


def test_an_empty_table_shows_its_columns():
    with pytest.warns(liqdata.NotCovered):
        shown = Cells(liqdata.Market().coins()._repr_html_())
    assert "0 rows" in shown.cells[0]
    assert shown.cells[1:] == ["coin", "long_usd", "short_usd", "total_usd", "cnt"]


def test_values_of_a_table_are_escaped():
    evil = "<script>alert('&')</script>"
    named = {**ORDERS, "exchange": [evil] * len(ORDERS["side"])}
    rows = liqdata.Market(orders=named, new_exchange=True).orders(limit=1)
    text = rows._repr_html_()
    assert "<script" not in text
    assert Cells(text).cells[8] == evil.lower()


def test_the_repr_is_one_line_that_names_rows_and_columns(rows):
    text = repr(rows)
    assert text.startswith(f"Rows({len(rows)} × exchange, symbol, side")
    assert "simulated" not in text
    assert "\n" not in text


# --- what is known of rows


def test_meta_has_source_and_age_of_rows(market):
    as_of = samples.NOW - samples.HOUR
    for rows, now in ((market.orders(), market.now), (market.orders(as_of=as_of), market.now - timedelta(hours=1))):
        assert set(rows.meta) >= {"source", "as_of", "simulated", "age"}
        assert rows.meta["source"] == "tables"
        assert rows.meta["as_of"] == now
        assert rows.meta["simulated"] is False
        newest = datetime.fromtimestamp(rows[0]["timestamp"] / 1000, UTC)
        assert rows.meta["age"] == now - newest
    with pytest.warns(liqdata.NotCovered):
        assert liqdata.Market().orders().meta["age"] is None


def test_simulated_answers_are_labelled_in_every_form():
    market = samples.simulated()
    rows = market.orders()
    assert rows.meta["simulated"] is True
    assert "simulated" in rows.meta["source"]
    assert "simulated" in repr(rows)
    assert "SIMULATED" in rows._repr_html_()
    assert "simulated" in repr(market)
    for grid in (market.heatmap(), market.liqmap()):
        assert grid.simulated
        assert "simulated" in repr(grid)
        assert "simulated" in grid._repr_html_()


# Columns by name, and a table for a terminal.


def test_a_column_is_an_array_as_pandas_has_it(rows):
    frame = rows.to_pandas()
    for name, kind in zip(rows.columns, rows._table.kinds(), strict=True):
        column = rows[name]
        assert isinstance(column, np.ndarray)
        assert column.shape == (len(rows),)
        if kind == "text":
            assert column.dtype == object
            assert column.tolist() == frame[name].tolist()
        elif kind == "time":
            assert column.dtype == np.dtype("datetime64[ms]")
            assert [int(cell) for cell in column.astype("int64")] == [row[name] for row in rows]
        else:
            assert column.dtype == frame[name].dtype
            np.testing.assert_array_equal(column, frame[name].to_numpy())


def test_an_unknown_column_is_refused_with_the_nearest():
    rows = samples.simulated().largest()
    with pytest.raises(BadQuery, match=r"did you mean 'value_usd'.*allowed: exchange, symbol") as refused:
        rows["value_us"]
    assert refused.value.parameter == "column"
    assert rows[:0]["price"].dtype == np.float64
    assert rows[:0]["symbol"].dtype == object


def test_the_text_is_a_table_that_fits_the_terminal(monkeypatch):
    market = samples.simulated()
    rows = market.largest(limit=20)
    for columns in (40, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = str(rows)
        lines = text.splitlines()
        assert max(map(len, lines[:-1])) <= columns
        # Every cell of the first and the last five stands there whole.
        for row in [*rows[:5], *rows[-5:]]:
            for cell in (row["symbol"], f"{row['value_usd']:,f}", f"{row['price']:,f}"):
                assert cell in text
        assert f"{rows[9]['value_usd']:,f}" not in text
        assert "…" in text
        assert lines[-1].startswith("20 rows · SIMULATED · source ")
        assert "timestamp (UTC)" in text
    assert str(market.exchanges()[:0]).splitlines()[-1].startswith("0 rows")
    assert len(str(market.largest(limit=3)).splitlines()) == 5


def test_an_unknown_count_is_missing_and_not_zero():
    rows = liqdata.demo().coverage()
    assert rows[0]["topics"] is None
    assert np.isnan(rows["topics"]).all()
    frame = rows.to_pandas()
    assert frame["topics"].isna().all()
    assert frame["topics"].dtype == "Int64"
    assert rows.to_polars()["topics"].null_count() == len(rows)
