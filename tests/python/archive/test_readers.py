"""The archive's tree, read by other engines: every decimal sum is equal to the last digit."""

import random
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal, localcontext

import pytest
from samples import DAY, HOUR, NOW

from liqdata import _core

DAYS = 3
MANY_DIGITS = 60


@pytest.fixture(scope="module")
def rows():
    """Orders of three days; their amounts have up to eighteen decimals."""
    chance = random.Random(11)
    made = []
    for place in range(900):
        amount = chance.choice(
            (
                f"{chance.randint(1, 9_999_999)}.{chance.randint(1, 999):03d}",
                f"0.{chance.randint(1, 10**18 - 1):018d}",
                f"{chance.randint(10**9, 10**10)}.{chance.randint(0, 10**17):018d}",
            )
        )
        made.append(
            {
                "exchange": chance.choice(("binance", "bybit", "okx")),
                "symbol": chance.choice(("BTCUSDT", "ETHUSDT")),
                "side": chance.choice(("LONG", "SHORT")),
                "price": f"{chance.randint(1, 10**7)}.5",
                "qty": f"0.{chance.randint(1, 10**18 - 1):018d}",
                "value_usd": amount,
                "timestamp": NOW - DAYS * DAY + place * DAYS * DAY // 900,
            }
        )
    return made


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("readers") / "archive"
    writer = _core.ArchiveWriter(path)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    minutes = range(0, DAYS * DAY, 60_000)
    bars = {
        "symbol": ["BTC"] * len(minutes),
        "timestamp": [NOW - DAYS * DAY + at for at in minutes],
        "interval": [60_000] * len(minutes),
        **{name: [60_000.5] * len(minutes) for name in ("open", "high", "low", "close")},
        "volume": [0.1 + at % 7 for at in range(len(minutes))],
    }
    readings = {
        "symbol": ["BTC"] * (DAYS * 24),
        "timestamp": [NOW - DAYS * DAY + hour * HOUR for hour in range(DAYS * 24)],
        "open_interest": [1000.25 + hour for hour in range(DAYS * 24)],
    }
    writer.append(columns, bars, readings)
    writer.roll(NOW + DAY)
    writer.close()
    return path


def exact(values):
    with localcontext() as context:
        context.prec = MANY_DIGITS
        return sum(values, Decimal(0))


@pytest.fixture(scope="module")
def sums(rows):
    """The sum of USD by date and exchange."""
    groups = defaultdict(list)
    for row in rows:
        date = datetime.fromtimestamp(row["timestamp"] / 1000, UTC).date().isoformat()
        groups[date, row["exchange"]].append(Decimal(row["value_usd"]))
    return {key: exact(values) for key, values in groups.items()}


def test_pyarrow_reads_the_tree(folder, sums, rows):
    import pyarrow.compute
    import pyarrow.dataset

    orders = pyarrow.dataset.dataset(folder / "orders", partitioning="hive").to_table()
    assert orders.num_rows == len(rows)
    assert str(orders.schema.field("value_usd").type) == "decimal128(38, 18)"
    assert str(orders.schema.field("timestamp").type) == "timestamp[ms, tz=UTC]"
    assert str(orders.schema.field("exchange").type) == "string"
    found = orders.group_by(["date", "exchange"]).aggregate([("value_usd", "sum")])
    assert {(str(row["date"]), row["exchange"]): row["value_usd_sum"] for row in found.to_pylist()} == sums
    bars = pyarrow.dataset.dataset(folder / "bars", partitioning="hive").to_table()
    assert bars.num_rows == DAYS * 1440
    assert set(bars["interval"].to_pylist()) == {"1m"}
    assert pyarrow.compute.sum(bars["volume"]).as_py() == exact(Decimal(f"{0.1 + at % 7}") for at in range(DAYS * 1440))


def test_polars_reads_the_tree(folder, sums):
    import polars as pl

    orders = pl.scan_parquet(folder / "orders", hive_partitioning=True)
    found = orders.group_by("date", "exchange").agg(pl.col("value_usd").sum()).collect()
    assert {(str(date), exchange): total for date, exchange, total in found.iter_rows()} == sums
    readings = pl.scan_parquet(folder / "open_interest", hive_partitioning=True)
    total = readings.select(pl.col("open_interest").sum()).collect().item()
    assert total == exact(Decimal(f"{1000.25 + hour}") for hour in range(DAYS * 24))


def test_duckdb_reads_the_tree(folder, sums):
    import duckdb

    found = duckdb.sql(
        f"SELECT date::VARCHAR, exchange, sum(value_usd) "  # noqa: S608 - a folder of our own
        f"FROM read_parquet('{folder}/orders/**/*.parquet', hive_partitioning = true) GROUP BY ALL"
    ).fetchall()
    assert {(date, exchange): total for date, exchange, total in found} == sums


# What Dask asks of pandas and pandas is about to take away is between those two.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask_reads_the_tree(folder, sums):
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    import dask
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa

    # Threads of this process: a cluster's workers read the same files.
    with dask.config.set(scheduler="threads"):
        orders = dd.read_parquet(folder / "orders", engine="pyarrow", dtype_backend="pyarrow")
        assert orders.dtypes["value_usd"] == pd.ArrowDtype(pa.decimal128(38, 18))
        parts = orders.map_partitions(
            lambda part: part.groupby(["date", "exchange"], observed=True)["value_usd"].sum().reset_index(),
            meta={"date": "object", "exchange": "object", "value_usd": "object"},
        ).compute()
    found = defaultdict(list)
    for date, exchange, total in parts.itertuples(index=False):
        found[str(date), exchange].append(total)
    assert {key: exact(values) for key, values in found.items()} == sums
