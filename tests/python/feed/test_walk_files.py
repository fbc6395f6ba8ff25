"""A walk over the order feed that leaves piece by piece: into a Parquet file, and as a stream of Arrow's."""

import asyncio
import subprocess
import sys

import pytest
import samples
from scripted import Service, answer, data

import liqdata
from liqdata.errors import BadQuery, UnexpectedReply

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def demo(market):
    return market


def test_a_file_has_every_row_as_a_frame_has_it(demo, tmp_path):
    file = tmp_path / "orders.parquet"
    assert demo.iter_orders("BTC").to_parquet(file) == len(list(demo.iter_orders("BTC")))
    assert pl.read_parquet(file).equals(demo.iter_orders("BTC").to_polars())
    assert pq.read_schema(file).equals(demo.iter_orders("BTC").to_arrow().schema)
    assert duckdb.read_parquet(str(file)).count("*").fetchall() == [(len(list(demo.iter_orders("BTC"))),)]
    assert [path.name for path in tmp_path.iterdir()] == ["orders.parquet"]


def test_amounts_are_exact_on_request(demo, tmp_path):
    file = tmp_path / "orders.parquet"
    demo.iter_orders(max_rows=500).to_parquet(file, decimals="decimal")
    table = pq.read_table(file)
    assert str(table.schema.field("price").type) == "decimal128(38, 18)"
    rows = list(demo.iter_orders(max_rows=500))
    assert table["value_usd"].to_pylist() == [row["value_usd"] for row in rows]


def test_an_amount_out_of_range_is_named_and_leaves_no_file(tmp_path):
    orders = {
        "exchange": ["okx"],
        "symbol": ["BTCUSDT"],
        "side": ["LONG"],
        "price": ["0.1234567890123456789"],
        "qty": ["1"],
        "value_usd": ["1"],
        "timestamp": [1_781_136_000_000],
    }
    walk = liqdata.Market(orders=orders).iter_orders()
    with pytest.raises(ValueError, match=r"price: .*0\.1234567890123456789"):
        walk.to_parquet(tmp_path / "orders.parquet", decimals="decimal")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_no_rows_has_its_columns(demo, tmp_path):
    walk = demo.iter_orders("BTCUSDT", start=demo.now)
    list(walk)
    assert walk.to_parquet(tmp_path / "none.parquet") == 0
    assert pl.read_parquet(tmp_path / "none.parquet").columns == demo.orders(limit=1).to_polars().columns


@pytest.mark.parametrize("taken", [0, 1, 700])
def test_rows_already_read_are_not_written(demo, tmp_path, taken):
    walk = demo.iter_orders(max_rows=1000)
    begun = [next(walk) for _ in range(taken)]
    assert walk.to_parquet(tmp_path / "rest.parquet") == 1000 - taken
    times = [row["timestamp"] for row in begun]
    times += pl.read_parquet(tmp_path / "rest.parquet")["timestamp"].dt.timestamp("ms").to_list()
    assert times == [row["timestamp"] for row in demo.iter_orders(max_rows=1000)]
    assert next(walk, None) is None


def rows(count):
    return [
        {
            "exchange": "okx",
            "symbol": f"C{at % 40}USDT",
            "side": "LONG",
            "price": f"{at}.5",
            "qty": "1",
            "value_usd": f"{at * 7}",
            "timestamp": 1_781_000_000_000 - at,
        }
        for at in range(count)
    ]


def feed(all_rows, broken):
    """The pages of ``all_rows``; from offset ``broken`` on no JSON."""

    def play(exchange):
        if exchange.request.path == "/api":
            return answer(b"{}", 404)(exchange)
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        if offset >= broken:
            return answer(b"nonsense", 200)(exchange)
        return data(all_rows[offset : offset + limit])(exchange)

    return play


def test_a_failed_walk_leaves_the_existing_file(tmp_path):
    file = tmp_path / "orders.parquet"
    file.write_text("before")
    with Service(feed(rows(1000), 400)) as service, liqdata.Client(service.url, retries=0) as client:
        with pytest.raises(UnexpectedReply):
            client.iter_orders(page_size=100).to_parquet(file)
        assert file.read_text() == "before"
        assert [path.name for path in tmp_path.iterdir()] == ["orders.parquet"]
        # A consumer of the stream raises its own error with that message.
        with pytest.raises(Exception, match="UnexpectedReply: the body"):
            pa.table(client.iter_orders(page_size=100))


def test_an_async_walk_is_written_too(tmp_path):
    async def main(url):
        async with liqdata.AsyncClient(url) as client:
            return await client.iter_orders(page_size=100).to_parquet(tmp_path / "orders.parquet")

    with Service(feed(rows(950), 10_000)) as service:
        assert asyncio.run(main(service.url)) == 950
    assert pl.read_parquet(tmp_path / "orders.parquet")["value_usd"].to_list() == [at * 7 for at in range(950)]


@pytest.mark.parametrize("path", ["", 7, None])
def test_an_invalid_path_is_refused(demo, path):
    with pytest.raises(BadQuery) as raised:
        demo.iter_orders(max_rows=1).to_parquet(path)
    assert raised.value.parameter == "path"


def test_a_folder_as_path_is_refused(demo, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        demo.iter_orders(max_rows=1).to_parquet(tmp_path)
    with pytest.raises(FileNotFoundError):
        demo.iter_orders(max_rows=1).to_parquet(tmp_path / "nowhere" / "orders.parquet")


def test_a_folder_that_is_missing_is_named(demo, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder \S+nowhere for d\.parquet; allowed: ") as caught:
        demo.iter_orders("BTC").to_parquet(tmp_path / "nowhere" / "d.parquet")
    assert "unfinished" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def in_duckdb(walk):
    with duckdb.connect() as base:
        return base.register("walk", pa.RecordBatchReader.from_stream(walk)).sql("SELECT * FROM walk").pl()


@pytest.mark.parametrize(
    "read",
    [
        pl.DataFrame,
        lambda walk: pl.from_arrow(pa.table(walk)),
        lambda walk: pl.from_arrow(pa.RecordBatchReader.from_stream(walk).read_all()),
        in_duckdb,
    ],
    ids=["polars", "pyarrow", "reader", "duckdb"],
)
def test_arrow_consumers_accept_a_walk(demo, read):
    walk = demo.iter_orders(max_rows=2500)
    first = next(walk)
    frame = read(walk)
    wanted = demo.iter_orders(max_rows=2500).to_polars()
    assert frame.select(wanted.columns).cast(wanted.schema).equals(wanted[1:])
    assert first == next(demo.iter_orders(max_rows=1))
    assert next(walk, None) is None


def test_a_stream_fetches_batches_lazily():
    with Service(feed(rows(1000), 10_000)) as service, liqdata.Client(service.url) as client:
        walk = client.iter_orders(page_size=100)
        reader = pa.RecordBatchReader.from_stream(walk)
        first = reader.read_next_batch()
        assert 0 < first.num_rows < 1000
        assert first.num_rows + sum(1 for _ in walk) == 1000


def test_a_market_is_made_of_a_walk(demo):
    made = liqdata.Market(orders=demo.iter_orders(), now=demo.now)
    assert made.overview()["24h"]["cnt"] == demo.overview()["24h"]["cnt"]


BOUNDED = """
import resource, sys
import liqdata, samples
from liqdata.calls.progress import bar
from liqdata.walk import OrderIterator

market = liqdata.Market(samples.alike(20_000, samples.NOW - samples.HOUR))
piece = market._source.core.page(None, None, None, 2**16, 0, None)
pieces = int(sys.argv[2]) // len(piece)

def walk(pieces):
    return OrderIterator(iter([piece] * pieces + [None]).__next__, bar(wanted=False, total=None), lambda: None)

walk(1).to_parquet(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert walk(pieces).to_parquet(sys.argv[1]) == pieces * len(piece)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, pieces * len(piece))
"""


def test_memory_does_not_grow_with_the_rows_written(tmp_path):
    command = [sys.executable, "-c", BOUNDED, str(tmp_path / "many.parquet"), "1000000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, cwd=samples.HERE)
    more, written = map(int, done.stdout.split())
    # As columns they would take about 70 bytes a row.
    assert more * 1024 < written * 70 / 2
    assert pq.read_metadata(tmp_path / "many.parquet").num_rows == written
    assert pq.read_metadata(tmp_path / "many.parquet").num_row_groups > 1
