"""Parquet on its way into an archive, however long: memory that does not grow, and the archive that a table makes."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path

import many
import pytest
from dumped import DAY, MINUTE, START, is_sound

import liqdata
from liqdata.errors import BadQuery

np = pytest.importorskip("numpy")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

STATUS = Path("/proc/self/status")
# Allowed growth beyond what the shorter file took; 600,000 rows in memory would take 130 MiB more. Some parts wait for
# a slow disk.
MOST_GROWTH = 96 << 20
LONG_TEXT = 1_000

CHILD = """
    import json, sys
    import liqdata

    def peak():
        (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
        return int(line.split()[1]) << 10

    archive, first, file = sys.argv[1:]
    liqdata.ingest(archive, first)
    before = peak()
    done = liqdata.ingest(archive, file)
    print(json.dumps([done.new, peak() - before]))
"""


def orders(rows, start=START, apart=1_000, chance=7):
    """Orders, one after the other."""
    return pyarrow.table(many.columns(start + np.arange(rows) * apart, np.random.default_rng(chance)))


@pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc, which shows the memory of a process")
@pytest.mark.parametrize("group", [None, *([100_000] if os.environ.get("LIQDATA_SOAK") else [])])
def test_a_long_file_takes_the_memory_of_a_shorter_one(tmp_path, group):
    """After a file that is about as long as what is held at once, one of four times that takes little more."""
    rows = 200_000
    files = [tmp_path / "shorter.parquet", tmp_path / "long.parquet"]
    for file, times, start in zip(files, (1, 4), (START - 30 * DAY, START), strict=True):
        parquet.write_table(orders(rows * times, start=start), file, row_group_size=group or rows * times)
    command = [sys.executable, "-c", textwrap.dedent(CHILD), tmp_path / "archive", *files]
    found = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    new, grown = json.loads(found.stdout)
    assert new == rows * 4
    print(f"{grown / 1e6:.1f} MB")
    assert grown < MOST_GROWTH


@pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc, which shows the memory of a process")
def test_only_the_needed_columns_of_a_file_are_read(tmp_path):
    """A long column of text that is not needed takes no memory."""
    rows = 60_000
    text = np.random.default_rng(5).bytes(rows * LONG_TEXT // 2).hex()
    raw = [text[place : place + LONG_TEXT] for place in range(0, len(text), LONG_TEXT)]
    grown = []
    warm = tmp_path / "warm.parquet"
    parquet.write_table(orders(1_000, start=START - 30 * DAY), warm)
    for name, given in (("without", orders(rows)), ("with", orders(rows).append_column("raw", [raw]))):
        file = tmp_path / f"{name}.parquet"
        parquet.write_table(given, file)
        command = [sys.executable, "-c", textwrap.dedent(CHILD), tmp_path / name, warm, file]
        found = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
        new, peak = json.loads(found.stdout)
        assert new == rows
        grown.append(peak)
    assert file.stat().st_size > rows * LONG_TEXT // 4
    print(f"{grown[1] / 1e6:.1f} MB against {grown[0] / 1e6:.1f}")
    assert grown[1] - grown[0] < 16 << 20, grown


@pytest.mark.parametrize(
    "names, known",
    [(("time", "ts"), "timestamp")],
)
def test_a_duplicate_column_is_refused_before_anything_is_read(tmp_path, folder, names, known):
    liqdata.ingest(folder, orders=orders(10))
    before = (folder / "ingested.jsonl").read_bytes()
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    parquet.write_table(orders(10, start=START + DAY), good)
    given = orders(10, start=START + 2 * DAY)
    cells = given.column(known)
    given = given.drop_columns([known]).append_column(names[0], cells).append_column(names[1], cells)
    parquet.write_table(given, bad)
    with pytest.raises(BadQuery) as raised:
        liqdata.ingest(folder, good, bad)
    assert str(raised.value) == f'files: {bad}: column "{known}" is given twice ({", ".join(names)})'
    assert raised.value.parameter == "files"
    assert (folder / "ingested.jsonl").read_bytes() == before
    with liqdata.open(folder) as market:
        assert len(list(market.iter_orders(start=0))) == 10
    # Of one of them it is read.
    parquet.write_table(given.drop_columns([names[1]]), bad)
    assert liqdata.ingest(folder, good, bad).new == 20


def test_an_unreadable_row_is_refused_with_the_name_of_its_file(tmp_path, folder):
    files = [tmp_path / f"m{month}.parquet" for month in (1, 2, 3)]
    for month, file in enumerate(files):
        table = orders(10, start=START + month * DAY).to_pydict()
        if month:
            # The row is counted in the file, whatever is refused alone before it.
            table["price"][2] = None
            table["side"][5] = "UP"
        parquet.write_table(pyarrow.table(table), file)
    done = liqdata.ingest(folder, *files)
    assert (done.new, sum(done.refused.values())) == (26, 4)
    reason = (
        'side: not a side; allowed: "LONG" or "SHORT", the side of the position (an order that sells closes a long)'
    )
    assert done.first[reason] == f'{files[1]}:5 ("UP")'


def cells(column, cell, kind):
    """Orders of which one has this cell, in a column of this kind."""
    table = orders(10)
    if column != "value_usd":
        table = table.drop_columns(["value_usd"])
    given = [*(1 if kind == pyarrow.int64() else str(one) for one in table.column(column).to_pylist())]
    if pyarrow.types.is_decimal(kind):
        given = [Decimal(1)] * 10
    elif pyarrow.types.is_floating(kind):
        given = table.column(column).to_pylist()
    given[5] = cell
    return table.set_column(table.column_names.index(column), column, pyarrow.array(given, kind))


@pytest.mark.parametrize("cell", [None, float("nan"), float("inf")])
@pytest.mark.parametrize("column", ["price", "qty", "value_usd"])
def test_a_double_that_is_no_number_is_refused_alone(tmp_path, folder, column, cell):
    parquet.write_table(cells(column, cell, pyarrow.float64()), tmp_path / "orders.parquet")
    done = liqdata.ingest(folder, tmp_path / "orders.parquet")
    assert (done.new, sum(done.refused.values())) == (9, 1)


@pytest.mark.parametrize(
    "column, cell, kind",
    [
        ("price", None, pyarrow.decimal128(20, 2)),
        ("price", None, pyarrow.int64()),
        ("price", None, pyarrow.string()),
        ("price", "abc", pyarrow.string()),
        ("price", "1." + "1" * 28, pyarrow.string()),
        ("price", 1e30, pyarrow.float64()),
        ("symbol", "", pyarrow.string()),
        ("side", None, pyarrow.string()),
        ("timestamp", None, pyarrow.int64()),
    ],
)
def test_any_other_unreadable_cell_refuses_its_row(tmp_path, folder, column, cell, kind):
    file = tmp_path / "orders.parquet"
    parquet.write_table(cells(column, cell, kind), file)
    done = liqdata.ingest(folder, file)
    assert (done.new, sum(done.refused.values())) == (9, 1)
    ((reason, where),) = done.first.items()
    assert reason.startswith(f"{column}: ")
    assert where.startswith(f"{file}:5")


@pytest.mark.parametrize("rows", [0, 10, 4_500])
def test_orders_of_a_file_without_an_exchange_get_the_given_one(tmp_path, rows):
    given = orders(rows)
    given = given.set_column(1, "exchange", [["okx"] * rows])
    liqdata.ingest(tmp_path / "whole", orders=given)
    file = tmp_path / "orders.parquet"
    parquet.write_table(given.drop_columns(["exchange"]), file, row_group_size=700)
    for format in (None, "orders"):
        done = liqdata.ingest(tmp_path / f"archive-{format}", file, exchange="OKX", format=format)
        assert (done.new, done.files) == (rows, {str(file): "orders"})
        if rows:
            assert contents(tmp_path / f"archive-{format}") == contents(tmp_path / "whole")


def test_a_column_of_pairs_replaces_a_missing_symbol_column(tmp_path, folder):
    given = orders(10)
    parquet.write_table(given.rename_columns({"symbol": "pair"}), tmp_path / "pairs.parquet")
    liqdata.ingest(folder, tmp_path / "pairs.parquet")
    assert liqdata.ingest(folder, orders=given).repeated == 10


@pytest.mark.parametrize(
    "without, format, said",
    [
        (["exchange"], None, "nothing names the exchange of its rows"),
        (["side", "qty"], None, 'as orders they lack "side", "qty"'),
        ([], "open_interest", 'as open_interest they lack "open_interest"'),
    ],
)
def test_the_missing_columns_of_a_file_are_named(tmp_path, folder, without, format, said):
    parquet.write_table(orders(10).drop_columns(without), tmp_path / "orders.parquet")
    with pytest.raises(BadQuery, match=said):
        liqdata.ingest(folder, tmp_path / "orders.parquet", format=format)


def covered(folder):
    """The covered time of each exchange."""
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        return sorted(journal.execute("SELECT exchange, min(started), max(seen) FROM sessions GROUP BY exchange"))


def contents(folder):
    """The rows and the covered time of an archive, without its paths."""
    with liqdata.open(folder) as market:
        found = [tuple(row.values()) for row in market.iter_orders(start=0)]
        bars = [
            tuple(row.values())
            for coin in market.symbols
            for row in market.bars(coin, interval="5m", start=START, end=START + 12 * DAY)
        ]
    return found, covered(folder), bars, sorted(path.parent.name for path in Path(folder).rglob("*.parquet"))


def in_disorder(rows, days):
    """The rows of as many days, which stand anywhere."""
    given = orders(rows, apart=days * DAY // rows)
    # Equal rows are as many orders, wherever they stand.
    given = pyarrow.concat_tables([given, given.slice(0, 40)])
    return given.take(np.random.default_rng(2).permutation(given.num_rows))


@pytest.mark.parametrize("order", ["in order", "newest first", "anywhere"])
@pytest.mark.parametrize("group", [700, 10_000])
def test_a_file_makes_the_archive_that_its_table_makes(tmp_path, folder, order, group):
    given = in_disorder(9_000, days=7)
    if order != "anywhere":
        given = given.sort_by([("timestamp", "ascending" if order == "in order" else "descending")])
    done = liqdata.ingest(tmp_path / "table", orders=given)
    file = tmp_path / "orders.parquet"
    parquet.write_table(given, file, row_group_size=group)
    by_file = liqdata.ingest(folder, file)
    assert (by_file.rows, by_file.new, by_file.repeated) == (done.rows, done.new, 0) == (9_040, 9_040, 0)
    # A file covers the time of each exchange, a table that of all of them together.
    file_has, table_has = contents(folder), contents(tmp_path / "table")
    assert (file_has[0], file_has[2:]) == (table_has[0], table_has[2:])
    is_sound(folder)
    parquet.write_table(given, tmp_path / "again.parquet")
    assert liqdata.ingest(folder, tmp_path / "again.parquet").repeated == 9_040


def test_optional_columns_of_orders_are_stored_from_a_file_too(tmp_path, folder):
    given = in_disorder(9_000, days=7)
    places = np.arange(given.num_rows)
    received = pyarrow.array(given.column("timestamp").to_numpy() + 5, mask=places % 3 == 0)
    bases = [symbol.partition("USD")[0].lower() for symbol in given.column("symbol").to_pylist()]
    coins = [base if place % 5 else None for place, base in enumerate(bases)]
    groups = [f"group {place % 7}" if place % 2 else None for place in places.tolist()]
    for name, cells in (("received_at", received), ("coin", coins), ("group_id", groups)):
        given = given.append_column(name, [cells])
    file = tmp_path / "orders.parquet"
    parquet.write_table(given, file, row_group_size=700)
    liqdata.ingest(folder, file)
    liqdata.ingest(tmp_path / "table", orders=given)
    found = []
    for archive in (folder, tmp_path / "table"):
        with liqdata.open(archive) as market:
            rows = list(market.iter_orders(start=0, groups=True))
            late = list(market.iter_orders(start=0, as_of=START + 3 * DAY))
        found.append(sorted(str(row) for row in [*rows, *late]))
    assert found[0] == found[1]


def test_the_whole_file_decides_the_length_of_its_bars(tmp_path, folder):
    """Coin after coin: bars an hour apart at first, then five minutes apart."""
    rows = 3_000
    times = START + np.concatenate([np.arange(20) * 60, 20 * 60 + np.arange(rows - 20) * 5]) * MINUTE
    table = {"timestamp": np.tile(times, 3), "symbol": np.repeat(["BTC", "ETH", "SOL"], rows)}
    table |= {name: np.full(3 * rows, 100.0) for name in ("open", "high", "low", "close", "volume")}
    file = tmp_path / "bars.parquet"
    parquet.write_table(pyarrow.table(table), file, row_group_size=1_000)
    assert liqdata.ingest(folder, file, exchange="okx").new == 3 * rows
    liqdata.ingest(tmp_path / "table", bars=table, exchange="okx")
    assert contents(folder) == contents(tmp_path / "table")
    assert len(contents(folder)[2]) == 3 * rows


@pytest.mark.parametrize(
    "column, cell, said",
    [
        ("side", "up", '("up")'),
        ("qty", 1e-40, ")"),
        ("exchange", "bnance", '("bnance" (did you mean "binance"?))'),
    ],
)
def test_an_unreadable_row_is_refused_alone_at_any_place(tmp_path, folder, column, cell, said):
    table = orders(9_000).to_pydict()
    table[column][8_765] = cell
    # One that is refused alone stands before it.
    table["price"][8_700] = float("nan")
    file = tmp_path / "orders.parquet"
    parquet.write_table(pyarrow.table(table), file, row_group_size=1_000)
    done = liqdata.ingest(folder, file)
    assert (done.new, sum(done.refused.values())) == (8_998, 2)
    (where,) = [where for reason, where in done.first.items() if reason.startswith(column) and ":8765" in where]
    assert where.endswith(said)


def test_rows_that_are_refused_alone_are_named_by_their_place_in_the_file(tmp_path, folder):
    table = orders(9_000, apart=60_000).to_pydict()
    table["qty"][8_000] = None
    table["value_usd"][5_001] *= 1_000
    table["value_usd"][6_001] *= 1_000
    file = tmp_path / "orders.parquet"
    parquet.write_table(pyarrow.table(table), file, row_group_size=1_000)
    done = liqdata.ingest(folder, file)
    reason = "value_usd: not within 1 % of price × qty"
    assert (done.rows, done.new, done.refused) == (9_000, 8_997, {"qty: blank": 1, reason: 2})
    assert done.first["qty: blank"] == f"{file}:8000"
    assert done.first[reason].startswith(f"{file}:5001 (")
    # The file again is not read.
    again = liqdata.ingest(folder, file)
    assert (again.repeated, again.refused, again.first) == (8_997, done.refused, done.first)


def test_an_interrupted_file_covers_no_day_that_was_not_read(tmp_path, folder):
    """Days in no order: what is stored until an interrupt covers no time in which a day of the file is missing."""
    days = [orders(100_000, start=START + day * DAY, apart=750) for day in (10, 3, 5)]
    file = tmp_path / "orders.parquet"
    parquet.write_table(pyarrow.concat_tables(days), file)

    def enough(done, _):
        if done > 270_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        liqdata.ingest(folder, file, progress=enough)
    assert covered(folder) == []
    done = liqdata.ingest(folder, file)
    assert 150_000 <= done.repeated < 300_000
    assert done.new + done.repeated == 300_000
    assert {(start // DAY, end // DAY) for _, start, end in covered(folder)} == {(START // DAY + 3, START // DAY + 10)}


def test_of_readings_in_both_units_those_in_coins_are_read(tmp_path, folder):
    rows = 6
    readings = {"timestamp": START + np.arange(rows) * 5 * MINUTE, "symbol": ["BTC"] * rows}
    readings |= {"open_interest": np.full(rows, 7.0), "open_interest_usd": np.full(rows, 700.0)}
    file = tmp_path / "interest.parquet"
    parquet.write_table(pyarrow.table(readings), file)
    assert liqdata.ingest(folder, file, exchange="binance").new == rows
    with liqdata.open(folder) as market:
        assert {row["open_interest"] for row in market.open_interest("BTC", start=START)} == {7.0}


def test_readings_in_usd_of_a_long_file_are_judged_as_those_of_a_short_one(tmp_path, folder):
    rows = 6_000
    times = START + np.arange(rows) * 5 * MINUTE
    bars = {"timestamp": times, "symbol": ["BTC"] * rows, "interval": ["5m"] * rows}
    bars |= {name: np.full(rows, 100.0) for name in ("open", "high", "low", "close", "volume")}
    liqdata.ingest(folder, bars=bars, exchange="okx")
    usd = np.full(rows, 700_000.0)
    usd[5_000] = 700.0
    readings = {"timestamp": times, "coin": ["BTC"] * rows, "oi_usd": usd}
    file = tmp_path / "interest.parquet"
    parquet.write_table(pyarrow.table(readings), file, row_group_size=1_000)
    done = liqdata.ingest(folder, file, exchange="okx")
    (reason,) = done.refused
    assert (done.new, done.refused[reason]) == (rows - 1, 1)
    assert done.first[reason].startswith(f"{file}:5000 (700 USD at the price")
    readings["oi_usd"] = np.where(np.arange(rows) < 2_500, 700_000.0, 700.0)
    most = tmp_path / "most.parquet"
    parquet.write_table(pyarrow.table(readings), most, row_group_size=1_000)
    with pytest.raises(BadQuery, match="times the daily volume; read as base units"):
        liqdata.ingest(folder, most, exchange="bybit")
