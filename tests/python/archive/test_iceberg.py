"""Exports registered in an Iceberg catalog, read by pyiceberg and DuckDB."""

from decimal import Decimal

import buckets
import duckdb
import pytest
from samples import DAY, NOW

import liqdata
from liqdata import _core, cli
from liqdata.errors import BadQuery

pytest.importorskip("pyiceberg")
pytest.importorskip("obstore")


@pytest.fixture
def catalog(tmp_path):
    return f"sqlite:///{tmp_path}/catalog.db"


@pytest.fixture
def lake(tmp_path, catalog):
    """The tables of the catalog as another program opens them."""
    from pyiceberg.catalog import load_catalog

    opened = load_catalog("liqdata", uri=catalog, warehouse=f"file://{tmp_path}/other")
    yield opened
    opened.close()


def orders_of(out):
    """Sum and number of the orders in the files of an export, as DuckDB reads them."""
    return duckdb.read_parquet(f"{out}/orders/**/*.parquet").aggregate("sum(value_usd), count(*)").fetchall()[0]


def rows_of(lake, name):
    """Sum and number of the rows that the catalog lists."""
    found = lake.load_table(f"liqdata.{name}").scan().to_arrow()
    column = "value_usd" if name == "orders" else found.column_names[3]
    return sum(found[column].to_pylist(), Decimal(0)), found.num_rows


def test_pyiceberg_and_duckdb_read_equal_sums_without_a_copy(tmp_path, catalog, lake, capsys):
    folder, out = buckets.archive(tmp_path / "archive"), tmp_path / "an export"
    assert cli.main(["export", str(folder), str(out), "--iceberg", catalog]) == 0
    assert f"{catalog}: 6 files registered, 0 dropped" in capsys.readouterr().out
    assert {name[-1] for name in lake.list_tables("liqdata")} == {"orders", "bars_5m", "open_interest"}
    assert rows_of(lake, "orders") == orders_of(out)
    files = [task.file.file_path for task in lake.load_table("liqdata.orders").scan().plan_files()]
    assert sorted(files) == sorted(f"file://{path}" for path in out.glob("orders/**/*.parquet"))
    bars = lake.load_table("liqdata.bars_5m").scan().to_arrow()
    assert bars.num_rows == duckdb.read_parquet(f"{out}/bars/**/*.parquet").count("*").fetchall()[0][0]

    with liqdata.open(folder) as market:
        assert market.export(out, iceberg=catalog).registered == 0
    before = lake.load_table("liqdata.orders").current_snapshot().snapshot_id
    buckets.more(folder)
    with liqdata.open(folder) as market:
        assert market.export(out, iceberg=catalog).registered > 0
    table = lake.load_table("liqdata.orders")
    assert rows_of(lake, "orders") == orders_of(out)
    assert table.scan(snapshot_id=before).to_arrow().num_rows < table.scan().to_arrow().num_rows


def test_an_undone_ingest_leaves_the_tables(tmp_path, catalog, lake):
    folder, out = str(buckets.archive(tmp_path / "archive")), tmp_path / "export"
    demo = liqdata.demo(now=NOW - 5 * DAY)
    wrong = liqdata.ingest(folder, orders=demo.iter_orders("BTC", max_rows=200))
    with liqdata.open(folder) as market:
        first = market.export(out, iceberg=catalog)
    with_wrong = rows_of(lake, "orders")
    assert with_wrong == orders_of(out)
    liqdata.archive.undo(folder, wrong.id)
    with liqdata.open(folder) as market:
        second = market.export(out, iceberg=catalog)
        usd = sum(order["value_usd"] for order in market.iter_orders())
    assert first.registered > 0
    assert second.dropped > 0
    assert rows_of(lake, "orders") == orders_of(out) == (usd, with_wrong[1] - 200)


def test_each_export_has_its_namespace(tmp_path, catalog):
    for name in ("one", "two"):
        _core.ArchiveWriter(str(tmp_path / name)).close()
    folder = buckets.archive(tmp_path / "archive")
    with liqdata.open(folder) as market:
        market.export(tmp_path / "export", iceberg=catalog)
        with pytest.raises(BadQuery, match=r"iceberg: liqdata\.\w+ lists the files of .*/export; allowed"):
            market.export(tmp_path / "another", iceberg=catalog)
        with pytest.raises(BadQuery, match="iceberg: 3 is not allowed"):
            market.export(tmp_path / "another", iceberg=3)
