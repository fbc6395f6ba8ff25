# /// script
# requires-python = ">=3.11"
# dependencies = ["pyspark==4.3.0", "obstore==0.12.1"]
# ///
"""Spark reads the files of an archive and of an export: exact sums and look-ups, and days of UTC in a session in UTC.

Needs Java 17.
"""

import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from common import COINS, line, some, total
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import liqdata

market = liqdata.demo(seed=7)
rows = [row for coin in COINS for row in market.iter_orders(coin, start="2026-05-09", end="2026-05-11")]
days = {}
for row in rows:
    day = f"{datetime.fromtimestamp(row['timestamp'] / 1000, UTC):%Y-%m-%d}"
    days[day] = days.get(day, Decimal(0)) + row["value_usd"]
assert len(days) == 2


def by_day(table):
    """Return the exact sum of each day of the session."""
    day = sql.date_format("timestamp", "yyyy-MM-dd").alias("day")
    return {found["day"]: found["usd"] for found in table.groupBy(day).agg(sql.sum("value_usd").alias("usd")).collect()}


settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
with tempfile.TemporaryDirectory() as folder:
    store, export = Path(folder, "archive"), Path(folder, "export")
    liqdata.ingest(store, orders=rows, source="the demo, simulated")
    with liqdata.open(store) as archive:
        archive.export(export)
    for place in (store, export):
        table = spark.read.parquet(str(place / "orders"))
        assert table.agg(sql.sum("value_usd")).first()[0] == total(rows)
        assert by_day(table) == days
        prices = some(row["price"] for row in rows)
        found = table.where(sql.col("price").isin(prices)).count()
        assert found == sum(row["price"] in set(prices) for row in rows)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert by_day(table) != days
spark.stop()
line(
    "Spark",
    "files of archives and exports: exact sums, and look-ups by a `Decimal`; days are those of the session",
    '`.config("spark.sql.session.timeZone", "UTC")`',
    "pyspark",
)
