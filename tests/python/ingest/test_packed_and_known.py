"""lz4, and Parquet files of writers that need more than other names of columns."""

from decimal import Decimal

import census
import pyarrow as pa
import pytest
from dumped import START, orders_of, written
from pyarrow import parquet

import liqdata
from liqdata.errors import BadQuery

CONTEXTS = "time,coin,funding,open_interest,prev_day_px,day_ntl_vlm,premium,oracle_px,mark_px,mid_px"


def packed(file, kind="lz4"):
    """The file packed by lz4 or zstd."""
    target = file.with_name(f"{file.name}{'.lz4' if kind == 'lz4' else '.zst'}")
    with pa.CompressedOutputStream(str(target), kind) as out:
        out.write(file.read_bytes())
    return target


def test_asset_contexts_packed_by_lz4_are_open_interest(tmp_path, folder):
    lines = [f"2024-01-02T00:0{at}:00Z,{coin},0,100{at}.5,1,1,,1,1,1" for at in range(3) for coin in ("BTC", "kPEPE")]
    file = packed(written(tmp_path, "20240102.csv", *lines, header=CONTEXTS))
    done = liqdata.ingest(folder, file, exchange="hyperliquid")
    assert (done.new, done.files) == (6, {str(file): "open_interest"})
    with liqdata.open(folder) as market:
        assert market.open_interest("PEPE", start=0)[2]["open_interest"] == 1_002_500
    # Frames may follow each other in one file.
    twice = tmp_path / "20240103.csv.lz4"
    more = packed(written(tmp_path, "more.csv", "2024-01-02T00:07:00Z,BTC,0,7,1,1,,1,1,1"))
    twice.write_bytes(file.read_bytes() + more.read_bytes())
    assert liqdata.ingest(folder, twice, exchange="hyperliquid").new == 1
    damaged = tmp_path / "damaged.csv.lz4"
    damaged.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(BadQuery, match="it is cut short or damaged"):
        liqdata.ingest(folder, damaged, exchange="hyperliquid")


def liquidations(folder, *rows, where="binance_futures/2024-01-02/00", contract="BTCUSDT"):
    """A file of cryptohftdata: amounts are text, the time of receipt is in nanoseconds."""
    names = (
        "received_time",
        "event_time",
        "side",
        "price",
        "average_price",
        "quantity",
        "filled_quantity",
        "trade_time",
    )
    cells = [
        ((at + 3) * 1_000_000, at + 1, side, price, average, qty, filled, at)
        for at, side, price, average, qty, filled in rows
    ]
    columns = {name: [row[place] for row in cells] for place, name in enumerate(names)}
    path = folder / where / f"{contract}_liquidations.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    times = {"received_time": pa.int64(), "event_time": pa.int64(), "trade_time": pa.int64()}
    parquet.write_table(
        pa.table({name: pa.array(column, times.get(name, pa.string())) for name, column in columns.items()}), path
    )
    return path


def test_hourly_liquidations_have_exchange_and_contract_in_their_path(tmp_path, folder):
    file = liquidations(tmp_path, (START, "SELL", "99", "100.5", "3", "2"), (START + 5, "buy", "99", None, "3", None))
    assert liqdata.ingest(folder, file).new == 2
    stored = [
        (row["exchange"], row["symbol"], row["side"], row["price"], row["qty"], row["timestamp"])
        for row in orders_of(folder)
    ]
    assert sorted(stored) == [
        ("binance", "BTCUSDT", "LONG", Decimal("100.5"), Decimal(2), START),
        ("binance", "BTCUSDT", "SHORT", Decimal(99), Decimal(3), START + 5),
    ]
    with liqdata.open(folder, as_of=START + 2) as market:
        assert len(list(market.iter_orders(start=0))) == 0  # it was received three milliseconds later
    # The same outside of its folders, and packed as older files are.
    plain = tmp_path / "BTCUSDT_liquidations.parquet"
    plain.write_bytes(file.read_bytes())
    with pytest.raises(BadQuery, match="it does not name its exchange"):
        liqdata.ingest(folder, plain)
    assert liqdata.ingest(folder, packed(plain, "zstd"), exchange="binance").repeated == 2
    with liqdata.read(plain, exchange="binance") as market:
        assert len(list(market.iter_orders(start=0))) == 2


@pytest.mark.parametrize(
    "folder_of,side", [("bybit", "LONG"), ("bitget_futures", "LONG"), ("kraken_derivatives", "SHORT")]
)
def test_the_side_is_that_of_the_position_at_bybit_and_bitget(tmp_path, folder, folder_of, side):
    contract = "PF_XBTUSD" if "kraken" in folder_of else "BTCUSDT"
    file = liquidations(
        tmp_path, (START, "Buy", "99", None, "3", None), where=f"{folder_of}/2024-01-02/00", contract=contract
    )
    assert liqdata.ingest(folder, file).new == 1
    assert [row["side"] for row in orders_of(folder)] == [side]


def test_amounts_of_okx_need_the_size_of_its_contracts(tmp_path, folder):
    file = liquidations(
        tmp_path, (START, "SELL", "99", None, "3", None), where="okx_futures/2024-01-02/00", contract="BTC-USDT-SWAP"
    )
    with pytest.raises(BadQuery, match="its amounts count contracts of okx; allowed: the same with contract_size="):
        liqdata.ingest(folder, file)
    assert not folder.exists()
    sizes = {"symbol": ["BTC-USDT-SWAP"], "contract_size": [0.01], "multiplier_unit": ["BTC"]}
    assert liqdata.ingest(folder, file, contract_size=sizes).new == 1
    assert [row["qty"] for row in orders_of(folder)] == [Decimal("0.03")]


def test_a_snapshot_of_a_reservoir_is_a_table_of_positions(tmp_path, folder):
    columns = {
        "market": ["BTC", "BTC", "xyz:TSLA", "kPEPE", "kPEPE", "ETH"],
        "size": [2.0, -1.0, 5.0, -3.0, 3.0, 0.0],
        "notional": [200.0, 100.0, 50.0, 0.03, 0.03, 0.0],
        "entry_price": [90.0, 110.0, 9.0, 0.012, 0.010, 1.0],
        "liquidation_price": [50.0, None, 4.0, 0.0123456789012345678, 0.0, 2.0],
    }
    file = census.written(census.path_of(tmp_path, START), **columns)
    done = liqdata.ingest(folder, file)
    assert (done.new, done.refused, done.files) == (5, {}, {str(file): "positions"})
    with liqdata.open(folder) as market:
        rows = market.positions("BTC", as_of=START + 1)
        assert [(row["side"], row["qty"], row["liquidation_price"], row["margin_mode"]) for row in rows] == [
            ("LONG", 2, 50, "cross"),
            ("SHORT", 1, None, "cross"),
        ]
        # A quarter of the contracts' sides is missing: each long needs a short.
        assert rows.meta["seen_share"] == 0.75
        assert [row["entry_price"] for row in market.positions("xyz:TSLA", as_of=START + 1)] == [9]
        # A price of 0 liquidates nothing, and coins listed in thousands are single ones.
        rows = market.positions("PEPE")
        assert [(row["side"], row["qty"], row["liquidation_price"]) for row in rows] == [
            ("SHORT", 3000, Decimal("0.000012345678901235")),
            ("LONG", 3000, None),
        ]
        assert rows.meta["seen_share"] == 1
        assert len(market.positions("ETH")) == 0


def test_the_instant_of_a_snapshot_is_in_its_name_or_the_end_of_its_day(tmp_path, folder):
    columns = {"market": ["BTC"], "size": [2.0], "notional": [200.0], "entry_price": [9.0], "liquidation_price": [5.0]}
    of_day = census.written(tmp_path / "all" / "date=2024-01-02" / "part-0.parquet", **columns)
    liqdata.ingest(folder, of_day)
    with liqdata.open(folder) as market:
        assert market.positions("BTC").meta["snapshot"].timestamp() * 1000 == START + 24 * 3_600_000
    for name in ("snapshot.parquet", "part_0.parquet", "date=2024-02-30/part-0.parquet"):
        with pytest.raises(BadQuery, match="it does not name the instant of the snapshot"):
            liqdata.ingest(folder, census.written(tmp_path / name, **columns))
    for column in ("size", "notional", "market"):
        bad = census.written(census.path_of(tmp_path, START), **columns | {column: pa.array([None], pa.string())})
        with pytest.raises(BadQuery, match=r"row 0: (a missing value is not allowed|is missing)"):
            liqdata.ingest(folder, bad)
