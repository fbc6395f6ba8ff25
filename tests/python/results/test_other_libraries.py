"""Answers in the hands of other libraries: put together, added up, stored, and sent as JSON."""

import json
import zipfile
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import liqdata
from liqdata import _core


@pytest.fixture(scope="module")
def market():
    return liqdata.demo()


@pytest.fixture(scope="module")
def pages(market):
    """Pages of a coin with large and of a coin with small prices."""
    return market.orders("BTC", limit=20), market.orders("PEPE", limit=20)


# Exact columns


def test_pages_put_together_keep_the_price_of_every_coin(pages):
    first, second = pages
    prices = sorted(row["price"] for row in (*first, *second))
    stack = pl.concat([rows.to_polars(decimals="decimal") for rows in pages])
    assert sorted(stack["price"]) == prices
    table = pa.concat_tables([rows.to_arrow(decimals="decimal") for rows in (first[:0], *pages)])
    assert sorted(table["price"].to_pylist()) == prices
    frame = pd.concat([rows.to_pandas(decimals="arrow") for rows in pages])
    assert sorted(frame["price"]) == prices


@pytest.mark.parametrize("export, form", [("to_arrow", "decimal"), ("to_polars", "decimal"), ("to_pandas", "arrow")])
def test_rows_inserted_into_a_table_keep_their_digits(pages, export, form):
    a, b = (getattr(rows, export)(decimals=form) for rows in pages)
    assert len(a) == len(b)  # DuckDB reads them by their names
    base = duckdb.connect()
    base.execute("CREATE TABLE orders AS SELECT * FROM a")
    base.execute("INSERT INTO orders SELECT * FROM b")
    found = [price for (price,) in base.execute("SELECT price FROM orders WHERE coin = 'PEPE'").fetchall()]
    assert sorted(found) == sorted(row["price"] for row in pages[1])


def test_pandas_and_dask_add_up_exact_columns(pages):
    import dask.dataframe  # which takes long, and every process of the tests reads this file

    _, rows = pages
    whole = sum(row["value_usd"] for row in rows)
    frame = rows.to_pandas(decimals="arrow")
    lazy = dask.dataframe.from_pandas(frame, npartitions=3)
    assert frame["value_usd"].sum() == whole
    assert lazy["value_usd"].sum().compute() == whole
    assert lazy["value_usd"].max().compute() == max(row["value_usd"] for row in rows)
    assert lazy.groupby("coin")["value_usd"].sum().compute().tolist() == [whole]
    assert rows.to_pandas(decimals="arrow", index="timestamp").index.is_monotonic_increasing


def test_unknown_amounts_are_missing_in_exact_columns():
    state = [("total_usd", "decimal", ["1.5", "0"], [True, False])]
    rows = liqdata.Rows(_core.Table._restore(state, 2))
    wanted = [Decimal("1.5"), None]
    assert rows.to_pandas(decimals="arrow")["total_usd"].isna().tolist() == [False, True]
    assert rows.to_pandas(decimals="decimal")["total_usd"].tolist() == wanted
    assert rows.to_polars(decimals="decimal")["total_usd"].to_list() == wanted
    assert rows.to_arrow(decimals="decimal")["total_usd"].to_pylist() == wanted


# Times


@pytest.mark.parametrize("kind", ["heatmap", "liqmap"])
def test_times_are_stored_in_a_unit_that_does_not_depend_on_them(market, kind):
    import xarray

    for at in ("2026-05-31T12:00Z", "2026-06-01T00:00Z"):
        data = getattr(market, kind)("BTC", as_of=at).to_xarray()
        stored = xarray.conventions.encode_cf_variable(data["time"].variable)
        assert stored.attrs["units"] == "milliseconds since 1970-01-01"
        assert np.array_equal(stored.values, data["time"].to_numpy().astype("datetime64[ms]").astype("int64"))
    assert data["time"].to_numpy().max() == np.datetime64("2026-06-01T00:00")


def test_estimates_are_appended_to_a_store(market, tmp_path):
    import xarray

    pytest.importorskip("zarr", reason="the store needs zarr")
    maps = [market.heatmap("BTC", "12h", as_of=at) for at in ("2026-05-31T11:59:30Z", "2026-06-01T00:00Z")]
    for place, map in enumerate(maps):
        data = map.to_xarray().to_dataset().isel(price=slice(100)).assign_coords(price=np.arange(100.0))
        data.to_zarr(tmp_path / "store", consolidated=False, append_dim="time" if place else None)
    found = xarray.open_zarr(tmp_path / "store", consolidated=False)["time"].to_numpy()
    assert np.array_equal(found, np.concatenate([map.times for map in maps]))


# Excel


def sheet(path):
    """The cells of the first sheet, and the comments of the file."""
    openpyxl = pytest.importorskip("openpyxl", reason="the test reads the file with it")
    book = openpyxl.load_workbook(path)
    return [[cell.value for cell in row] for row in book.active.iter_rows()], book.properties.description


def test_an_excel_file_has_utc_times_numbers_and_the_source(market, tmp_path):
    pytest.importorskip("xlsxwriter", reason="needs the extra excel")
    rows = market.orders("BTC", limit=7)
    assert rows.to_excel(tmp_path / "orders.xlsx") == 7
    (titles, *cells), comments = sheet(tmp_path / "orders.xlsx")
    assert titles == [*rows.to_pandas().columns[:-1], "timestamp (UTC)"]
    frame = rows.to_pandas()
    for place, name in enumerate(frame.columns):
        column = frame[name].dt.tz_localize(None) if name == "timestamp" else frame[name]
        assert [row[place] for row in cells] == column.tolist()
    assert "simulated: True" in comments
    coverage = market.coverage()
    coverage.to_excel(tmp_path / "coverage.xlsx")
    (titles, *cells), _ = sheet(tmp_path / "coverage.xlsx")
    assert [row[titles.index("topics")] for row in cells] == [None] * len(coverage)
    assert market.orders("BTC", limit=7)[:0].to_excel(tmp_path / "empty.xlsx") == 0


def test_text_of_a_service_is_no_formula_in_excel(tmp_path):
    pytest.importorskip("xlsxwriter", reason="needs the extra excel")
    order = {"timestamp": 1_767_225_600_000, "side": "LONG", "price": "1", "qty": "1", "symbol": "BTCUSDT"}
    with liqdata.Market(orders=[{**order, "exchange": "=1+1"}], new_exchange=True) as market:
        market.orders().to_excel(tmp_path / "orders.xlsx")
    with zipfile.ZipFile(tmp_path / "orders.xlsx") as file:
        text = file.read("xl/worksheets/sheet1.xml").decode()
    assert "=1+1" in text
    assert "<f>" not in text


# JSON


def test_rows_as_dicts_are_json_with_every_digit(market):
    rows = market.orders("PEPE", limit=20)
    found = json.loads(json.dumps(rows.to_dicts()))
    assert [{**row, **{name: Decimal(row[name]) for name in ("price", "qty", "value_usd")}} for row in found] == rows
    assert json.loads(json.dumps(market.coverage().to_dicts())) == market.coverage()


@pytest.mark.parametrize("kind", ["heatmap", "liqmap"])
def test_an_estimate_as_a_dict_is_a_reply_of_the_contract(market, kind):
    map = getattr(market, kind)("BTC")
    read = _core.read_reply(kind, json.dumps(map.to_dict(), allow_nan=False).encode())
    assert type(map)(**read.members) == map
    assert read.labels["simulated"] is True
    assert map.to_dict()["view"] == map.view


def test_an_empty_cell_is_null(market):
    map = market.heatmap("BTC", "12h")
    map.matrix[0, 0] = np.nan
    assert map.to_dict()["matrix"][0][0] is None
    assert map.to_dict()["matrix"][0][1] == map.matrix[0, 1]


class Report(BaseModel):
    rows: liqdata.Rows
    map: liqdata.Heatmap
    bins: liqdata.LiquidationMap
    totals: liqdata.Record


def test_answers_are_fields_of_pydantic_models(market):
    given = {
        "rows": market.coverage(),
        "map": market.heatmap("BTC", "12h"),
        "bins": market.liqmap("BTC"),
        "totals": market.overview(),
    }
    report = Report(**given)
    plain = {
        "rows": given["rows"],
        "map": given["map"].to_dict(),
        "bins": given["bins"].to_dict(),
        "totals": given["totals"],
    }
    assert report.model_dump() == plain
    assert json.loads(report.model_dump_json()) == plain
    assert TypeAdapter(liqdata.Rows).json_schema(mode="serialization")["type"] == "array"
    with pytest.raises(ValidationError, match="instance of Rows"):
        TypeAdapter(liqdata.Rows).validate_python([{}])


def test_functions_of_fastapi_return_answers(market):
    fastapi = pytest.importorskip("fastapi", reason="a bench dependency")
    pytest.importorskip("httpx", reason="the test client of fastapi needs it")
    from fastapi.testclient import TestClient

    app = fastapi.FastAPI()
    kinds = {"coverage": liqdata.Rows, "heatmap": liqdata.Heatmap, "liqmap": liqdata.LiquidationMap}
    for name, kind in kinds.items():
        app.get(f"/{name}", response_model=kind)(lambda name=name: getattr(market, name)())
    client = TestClient(app)
    for name in kinds:
        reply = client.get(f"/{name}")
        found = getattr(market, name)()
        assert reply.json() == json.loads(json.dumps(found.to_dicts() if name == "coverage" else found.to_dict()))
    assert client.get("/openapi.json").status_code == 200
