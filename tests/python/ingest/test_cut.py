"""Large tables and files of positions on their way into an archive: killed on the way, and cells that are none."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import liqdata
from liqdata.errors import ArchiveError, BadQuery

KILLS = 60 if os.environ.get("LIQDATA_SOAK") else 1
START = 1_704_153_600_000  # 2024-01-02
ORDERS = 360_000 if KILLS > 1 else 240_000  # a batch ends after 200,000 rows
MINUTES = 60_000 if KILLS > 1 else 20_000

CHILD = """
    import sys
    import numpy as np
    import liqdata

    start, orders, minutes = map(int, sys.argv[2:])
    exchanges = ["binance", "okx"]
    tables = {
        "orders": {
            "timestamp": np.arange(orders) * 7_000 + start,
            "exchange": exchanges * (orders // 2),
            "symbol": ["BTCUSDT", "ETHUSDT"] * (orders // 2),
            "side": ["LONG", "SHORT"] * (orders // 2),
            **{name: np.full(orders, 1.0) for name in ("price", "qty", "value_usd")},
        },
        "bars": {
            "timestamp": np.arange(minutes) // 2 * 60_000 + start,
            "exchange": exchanges * (minutes // 2),
            "symbol": ["BTC"] * minutes,
            "interval": ["1m"] * minutes,
            **{name: np.full(minutes, 1.0) for name in ("open", "high", "low", "close", "volume")},
        },
    }
    print("begins", flush=True)
    done = liqdata.ingest(sys.argv[1], **tables)
    print(done.new, done.repeated, flush=True)
"""


def begun(archive):
    """A process that brings two large tables into an archive, and when it began to."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), archive, START, ORDERS, MINUTES]
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    return process, time.monotonic()


def counted(archive):
    """How many orders and bars there are, and what they are worth."""
    with liqdata.open(archive) as market:
        rows = market.history(by=(), interval="1d", start=START, end=START + 40 * 86_400_000)
        return sum(row["cnt"] or 0 for row in rows), sum(row["volume"] for row in market.bars("BTC"))


def test_a_killed_ingest_of_tables_is_completed_by_the_next_one(tmp_path):
    process, began = begun(tmp_path / "whole")
    assert process.stdout.readline() == f"{ORDERS + MINUTES} 0\n"
    lasted = time.monotonic() - began
    process.wait()
    process.stdout.close()
    wanted = counted(tmp_path / "whole")
    assert wanted == (ORDERS, MINUTES)
    killed = resumed = 0
    for number in range(KILLS):
        archive = tmp_path / f"killed-{number}"
        process, began = begun(archive)
        time.sleep(lasted * (0.5 + 0.45 * number / KILLS))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        try:
            before = liqdata.open(archive)
        except ArchiveError:
            before = None  # nothing had been made
        if before is not None:
            before.close()
            # A file that is not yet part of the archive may lie there, and no other is wrong.
            assert {row["problem"] for row in liqdata.archive.verify(archive)} <= {"unexpected"}
        process, _ = begun(archive)
        new, repeated = map(int, process.stdout.readline().split())
        process.wait()
        process.stdout.close()
        assert new + repeated == ORDERS + MINUTES
        resumed += repeated > 0
        assert list(liqdata.archive.verify(archive)) == []
        assert counted(archive) == wanted
    assert killed > 0


POSITIONS = {
    "timestamp": [START] * 3,
    "exchange": ["hyperliquid"] * 3,
    "symbol": ["BTC"] * 3,
    "side": ["LONG", "SHORT", "LONG"],
    "qty": [1.0, 2.0, 3.0],
    "entry_price": [90.0, 110.0, 95.0],
    "leverage": [10.0, 5.0, 3.0],
    "liquidation_price": [80.0, 130.0, 60.0],
    "value_usd": [100.0, 200.0, 300.0],
}
NO_NUMBERS = [float("nan"), float("inf"), float("-inf")]


def made(form, columns, folder):
    """A table of columns, or a file of it, and how it is given."""
    pyarrow = pytest.importorskip("pyarrow")
    if form == "columns":
        return (), {"positions": columns}
    if form == "pandas":
        return (), {"positions": pytest.importorskip("pandas").DataFrame(columns)}
    table = pyarrow.table(columns)
    if form == "arrow":
        return (), {"positions": table}
    from pyarrow import parquet

    parquet.write_table(table, folder / "positions.parquet")
    return (folder / "positions.parquet",), {}


@pytest.mark.parametrize("form", ["columns", "pandas", "arrow", "parquet"])
@pytest.mark.parametrize(
    "column, cell",
    [
        *(("value_usd", cell) for cell in NO_NUMBERS),
        *(("qty", cell) for cell in NO_NUMBERS),
        *((name, cell) for name in ("entry_price", "liquidation_price") for cell in NO_NUMBERS[1:]),
    ],
)
def test_an_invalid_number_of_a_position_is_refused_by_column_and_row(tmp_path, form, column, cell):
    columns = POSITIONS | {column: [*POSITIONS[column][:2], cell]}
    files, tables = made(form, columns, tmp_path)
    with pytest.raises(BadQuery, match=f'column "{column}", row 2:') as refused:
        liqdata.ingest(tmp_path / "archive", *files, **tables)
    assert refused.value.parameter == ("files" if files else "positions")
    assert not (tmp_path / "archive" / "journal.sqlite").exists()


@pytest.mark.parametrize("form", ["columns", "pandas", "arrow", "parquet"])
@pytest.mark.parametrize("cell", [float("inf"), -1.0, 0.0])
def test_a_position_with_an_impossible_leverage_is_refused_alone_and_named(tmp_path, form, cell):
    files, tables = made(form, POSITIONS | {"leverage": [10.0, 5.0, cell]}, tmp_path)
    done = liqdata.ingest(tmp_path / "archive", *files, **tables)
    reason = "positions: leverage cannot be stored exactly"
    assert (done.new, done.refused) == (2, {reason: 1})
    assert ":2 (" in done.first[reason]


@pytest.mark.parametrize("form", ["columns", "arrow", "parquet"])
@pytest.mark.parametrize("column", ["timestamp", "side", "value_usd"])
def test_a_position_without_a_required_cell_is_refused_by_column_and_row(tmp_path, form, column):
    columns = POSITIONS | {column: [POSITIONS[column][0], None, POSITIONS[column][2]]}
    files, tables = made(form, columns, tmp_path)
    with pytest.raises(BadQuery, match=f'column "{column}", row 1:') as refused:
        liqdata.ingest(tmp_path / "archive", *files, **tables)
    assert refused.value.parameter == ("files" if files else "positions")


@pytest.mark.parametrize("cell", [None, float("nan")])
@pytest.mark.parametrize("form", ["columns", "pandas", "arrow", "parquet"])
def test_a_position_without_optional_cells_is_stored(tmp_path, form, cell):
    absent = {name: [*POSITIONS[name][:2], cell] for name in ("entry_price", "leverage", "liquidation_price")}
    files, tables = made(form, POSITIONS | absent, tmp_path)
    assert liqdata.ingest(tmp_path / "archive", *files, **tables).new == 3
    with liqdata.open(tmp_path / "archive") as market:
        (last,) = (row for row in market.positions("BTC") if row["qty"] == 3)
    assert {last[name] for name in absent} == {None}
