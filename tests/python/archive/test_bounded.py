"""Cost of long periods: memory does not grow with their length, and no file is read twice."""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import many
import pytest
from samples import DAY, HOUR, NOW

import liqdata
from liqdata import _core

np = pytest.importorskip("numpy")
STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(
    not STATUS.exists(), reason="there is no /proc, which shows the memory and the reads of a process"
)

A_DAY = 15_000
WEEKS = 28
DAYS = 2
# The bytes of the orders of the longest period, in fixed columns: time, price, amount, value and names.
MOST_GROWTH = 12 << 20

CHILD = """
    import json, sys
    import liqdata

    def peak():
        (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
        return int(line.split()[1]) << 10

    market = liqdata.open(sys.argv[1])
    days, now, day = map(int, sys.argv[2:])
    asked = dict(by=("exchange",), interval="4h", end=now)
    market.history(start=now - day, **asked)
    before = peak()
    rows = market.history(start=now - days * day, **asked)
    print(json.dumps([sum(row["cnt"] for row in rows), peak() - before]))
"""


def orders(days):
    """Many orders of every day up to now."""
    chance = np.random.default_rng(4)
    return many.columns(NOW - np.sort(chance.integers(0, days * DAY, days * A_DAY))[::-1], chance)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long") / "archive"
    assert liqdata.ingest(folder, orders=orders(WEEKS)).new == WEEKS * A_DAY
    return folder


def grown(archive, days):
    """The growth of a process that asks for so many days, after a first answer about one day."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), archive, days, NOW, DAY]
    found = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    count, peak = json.loads(found.stdout)
    assert count >= days * A_DAY * 0.99
    return peak


def test_a_history_of_weeks_needs_no_more_memory_than_of_days(archive):
    short, long = grown(archive, DAYS), grown(archive, WEEKS)
    assert long - short < MOST_GROWTH, (short, long)


def read():
    """Bytes that this process has read from files so far."""
    (line,) = [line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("rchar")]
    return int(line.split()[1])


def test_repeated_cascades_read_only_new_rows(archive):
    asked = {"symbol": "BTC", "min_usd": 50_000, "start": NOW - DAY}
    size = sum(path.stat().st_size for path in archive.rglob("*.parquet"))
    with liqdata.open(archive) as market:
        before = read()
        before_growth = market.cascades(**asked)
        first = read() - before
        assert first > size / WEEKS
        writer = _core.ArchiveWriter(archive)
        for place in range(1, 6):
            # Each is far behind the one before.
            at = NOW + place * HOUR // 4
            rows = {name: cells[-1:] for name, cells in orders(1).items()}
            rows |= {
                "timestamp": [at],
                "symbol": ["BTCUSDT"],
                "value_usd": [90_000.0],
                "qty": [10.0],
                "price": [9_000.0],
            }
            writer.append({name: list(cells) for name, cells in rows.items()}, None, None)
            before = read()
            more = market.cascades(**asked)
            again = read() - before
            assert at in [row["start"] for row in more]
            assert again < first / 10, (first, again)  # the coverage of the period is read, too
        writer.close()
        assert len(more) == len(before_growth) + 5


def bars_of(folder, days):
    """When the bars of many days open, of three coins, and the bytes of an archive of them."""
    apart = 5 * HOUR // 60
    opens = NOW - NOW % DAY - days * DAY + np.arange(days * DAY // apart) * apart
    bars = {"timestamp": np.tile(opens, 3), "symbol": np.repeat(["BTC", "ETH", "SOL"], len(opens))}
    bars |= {name: np.random.default_rng(1).integers(900, 999, 3 * len(opens)) / 10 for name in ("open", "close")}
    bars |= {"high": np.full(3 * len(opens), 100.0), "low": np.full(3 * len(opens), 90.0)}
    bars |= {"volume": np.random.default_rng(2).integers(1, 10**9, 3 * len(opens)) / 7e6}
    liqdata.ingest(folder, bars=bars, exchange="okx")
    return opens, sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def test_open_interest_in_usd_reads_only_bars_of_its_days_once(tmp_path):
    """Of three days, in one file and in two of each day, in an archive of many."""
    folder = tmp_path / "archive"
    opens, size = bars_of(folder, 120)
    lines_of = {}
    for day in range(3):
        for venue in ("okx", "bybit"):
            times = [int(opens[-1]) - day * DAY - place * HOUR for place in range(8)]
            lines_of[f"{venue}-{day}"] = [f"{at},BTC,{venue},70000000" for at in times]
    cost = {}
    for parts in ({"all": [line for lines in lines_of.values() for line in lines]}, lines_of):
        files = [tmp_path / f"{name}.csv" for name in parts]
        for file, lines in zip(files, parts.values(), strict=True):
            file.write_text("\n".join(["t,coin,venue,oi_usd", *lines]) + "\n")
        copy = shutil.copytree(folder, tmp_path / f"archive-{len(parts)}")
        before = read()
        assert liqdata.ingest(copy, *files).new == 6 * 8
        cost[len(parts)] = read() - before
    print(f"{cost} of {size} bytes")
    # Five days of bars, and what an archive is opened with.
    assert max(cost.values()) < size, (cost, size)
    assert cost[6] < 1.5 * cost[1], cost


@pytest.mark.parametrize("order", ["anywhere", "coin by coin"])
def test_a_parquet_file_in_usd_reads_the_bars_of_a_day_once(tmp_path, order):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, took = 2_000, []
    for batches in (2, 20):
        folder = tmp_path / f"archive-{batches}"
        opens, size = bars_of(folder, 20)
        places = np.random.default_rng(3).permutation(rows)
        if order == "coin by coin":
            places = places[np.argsort(places % 2, kind="stable")]
        readings = {
            "timestamp": opens[300 + places * (len(opens) - 300) // rows],
            "coin": np.array(["BTC", "ETH"])[places % 2],
            "oi_usd": 7e7 + places,
        }
        file = tmp_path / f"{batches}.parquet"
        parquet.write_table(pyarrow.table(readings), file, row_group_size=-(-rows // batches))
        before = read()
        assert liqdata.ingest(folder, file, exchange="okx").new == rows
        took.append(read() - before)
    # More groups of rows take more reads of the file itself; bars that are read for each would be 18 times their size.
    assert took[1] - took[0] < 18 * size / 4, (took, size)
