"""The optional group column of orders: fills of one liquidation share a group, in every source."""

import json
import pickle
import re
import urllib.request
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

import liqdata
from liqdata.errors import BadQuery

NOW = 1_790_000_000_000
# Of one order, of another, of none; of two exchanges, the newest last.
GROUPS = ["order:7", "order:7", None, "position:7", "order:8", None]
COLUMNS = ["exchange", "symbol", "side", "price", "qty", "value_usd", "timestamp"]


def orders():
    count = len(GROUPS)
    return {
        "exchange": ["lighter", "lighter", "okx", "bitfinex", "lighter", "lighter"],
        "symbol": ["BTCUSD", "BTCUSD", "BTCUSDT", "BTCUSDT", "ETHUSD", "BTCUSD"],
        "side": ["LONG"] * count,
        "price": [str(100 + place) for place in range(count)],
        "qty": ["1"] * count,
        "value_usd": [str(100 + place) for place in range(count)],
        "timestamp": [NOW + 500 * place for place in range(count)],
        "group_id": GROUPS,
    }


def of(rows):
    """The group of each order by its price, which no two share."""
    return {int(row["price"]): row["group_id"] for row in rows}


ALL = {100 + place: group for place, group in enumerate(GROUPS)}
HALF = NOW + 1000


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups") / "archive"
    assert liqdata.ingest(folder, orders=orders()).new == len(GROUPS)
    with liqdata.open(folder) as market:
        yield market


@pytest.fixture(scope="module")
def server(archive):
    with liqdata.serve(archive) as server:
        yield server


@pytest.mark.parametrize("asked", [{}, {"symbol": "BTC"}, {"exchange": "lighter"}, {"min_usd": 102}, {"start": HALF}])
def test_an_archive_a_client_and_tables_return_the_same_groups(archive, server, asked):
    tables = liqdata.Market(orders=orders())
    with liqdata.Client(server.url) as client:
        wanted = archive.orders(groups=True, **asked)
        assert wanted.columns == [*COLUMNS, "group_id"]
        assert of(wanted) == {price: ALL[price] for price in of(wanted)}
        assert len(wanted) >= 3
        for other in (client, tables):
            found = other.orders(groups=True, **asked)
            assert list(found) == list(wanted), other
            assert list(other.iter_orders(groups=True, **asked)) == list(wanted), other
        assert list(archive.iter_orders(groups=True, **asked)) == list(wanted)
        assert archive.orders(groups=True, **asked).to_arrow() == client.orders(groups=True, **asked).to_arrow()
    # But for their groups they are what they are without.
    assert [{name: row[name] for name in COLUMNS} for row in wanted] == list(archive.orders(**asked))


def test_rows_have_no_groups_unless_requested(archive, server):
    with liqdata.Client(server.url) as client:
        for market in (archive, client, liqdata.Market(orders=orders())):
            for rows in (market.orders(), market.iter_orders(), market.largest(), market.orders(start=NOW)):
                assert all(list(row) == COLUMNS for row in rows)
            assert "group_id" not in market.orders().to_pandas().columns
    for query in ("", "?groups=0", f"?start={NOW}"):
        with urllib.request.urlopen(f"{server.url}/api/liquidations{query}") as reply:
            assert all(list(row) == [*COLUMNS, "coin"] for row in json.load(reply)["data"])
    with urllib.request.urlopen(f"{server.url}/api/liquidations?groups=1") as reply:
        rows = json.load(reply)["data"]
    assert {int(row["price"]): row.get("group_id") for row in rows} == ALL
    assert archive.overview()["24h"]["cnt"] == len(GROUPS)


def test_frames_and_files_have_the_column(archive, tmp_path):
    rows = archive.orders(groups=True)
    pandas, polars, arrow = rows.to_pandas(), rows.to_polars(), rows.to_arrow()
    assert list(pandas.columns) == list(polars.columns) == arrow.column_names
    assert list(pandas.columns) == ["exchange", "symbol", "coin", *COLUMNS[2:], "group_id"]
    assert polars["group_id"].to_list() == arrow["group_id"].to_pylist() == [row["group_id"] for row in rows]
    file = tmp_path / "orders.parquet"
    archive.iter_orders(groups=True).to_parquet(file)
    assert pq.read_table(file)["group_id"].to_pylist() == [row["group_id"] for row in rows]


def test_the_sql_of_the_page_counts_liquidations_in_the_files_of_an_archive(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "reference" / "feeds.md").read_text(encoding="utf-8")
    (counted,) = re.findall(r"`(count\(DISTINCT .+?)`", page)
    liqdata.ingest(tmp_path / "archive", orders=orders())
    files = tmp_path / "archive" / "orders" / "**" / "*.parquet"
    assert duckdb.read_parquet(str(files)).aggregate(counted).fetchall() == [(5,)]


def test_the_group_column_is_empty_where_no_group_is_known():
    market = liqdata.demo()
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        for asked in (market, client):
            rows = asked.orders("BTC", limit=3, groups=True)
            assert [row["group_id"] for row in rows] == [None] * 3
            assert rows.to_pandas()["group_id"].isna().all()
            with pytest.warns(liqdata.NotCovered):
                assert asked.orders("BTC", groups=True, end="2020-01-01").columns == [*COLUMNS, "group_id"]


def test_orders_of_one_instant_have_their_groups_in_tables():
    given = orders() | {
        "timestamp": [NOW] * len(GROUPS),
        "received_at": [NOW + place % 2 for place in range(len(GROUPS))],
    }
    rows = liqdata.Market(orders=given).orders(groups=True)
    assert [int(row["price"]) for row in rows] == [100, 102, 104, 101, 103, 105]
    assert of(rows) == ALL


def test_a_market_of_tables_pickles_its_groups():
    market = pickle.loads(pickle.dumps(liqdata.Market(orders=orders())))
    assert of(market.orders(groups=True)) == ALL


def test_the_groups_option_takes_true_or_false():
    with pytest.raises(BadQuery, match="groups: '1' is not allowed; allowed: True or False") as refused:
        liqdata.demo().orders(groups="1")
    assert refused.value.parameter == "groups"
