"""One order from several sources: stored once, by count, whichever source comes first."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import liqdata
from liqdata import feeds
from liqdata.ingestion.ingest import Ingested

AT = 1_790_000_000_058
CONTRACT = {"exchange": "bybit", "symbol": "BTCUSDT", "side": "LONG", "price": "82394.3", "qty": "0.038"}


def frame(count: int, at: int = AT) -> str:
    row = {"T": at, "s": "BTCUSDT", "S": "Buy", "v": "0.038", "p": "82394.30"}
    return json.dumps({"topic": "allLiquidation.BTCUSDT", "type": "snapshot", "ts": AT + 424, "data": [row] * count})


def decoded(_: Path, count: int) -> dict[str, object]:
    return {"orders": feeds.decode("bybit", frame(count))}


def tardis(folder: Path, count: int) -> Path:
    path = folder / "bybit_liquidations_2026-09-21_PERPETUALS.csv"
    line = f"bybit,BTCUSDT,{AT}000,{AT + 424}000,,sell,82394.3,0.038\n"
    path.write_text("exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n" + line * count)
    return path


def tardis_with_ids(folder: Path, count: int) -> Path:
    path = folder / "bybit_liquidations_2026-09-21_BTCUSDT.csv"
    lines = [f"bybit,BTCUSDT,{AT}999,{AT + 424}000,id{n},sell,82394.3,0.0380\n" for n in range(count)]
    path.write_text("exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n" + "".join(lines))
    return path


def cryptofeed(folder: Path, count: int) -> Path:
    path = folder / "cryptofeed.csv"
    line = f"BYBIT,BTC-USDT-PERP,buy,0.038,82394.3,None,filled,{AT / 1000:.3f},{AT / 1000 + 0.4:.3f}\n"
    path.write_text("exchange,symbol,side,quantity,price,id,status,timestamp,receipt_timestamp\n" + line * count)
    return path


def csv(folder: Path, count: int) -> Path:
    path = folder / "orders.csv"
    line = f"{AT},bybit,BTC/USDT:USDT,LONG,82394.30,0.0380\n"
    path.write_text("timestamp,exchange,symbol,side,price,qty\n" + line * count)
    return path


def parquet(folder: Path, count: int) -> Path:
    path = folder / "orders.parquet"
    row = CONTRACT | {"timestamp": AT, "value_usd": Decimal("3130.98")}
    pq.write_table(pa.Table.from_pylist([row] * count), path)
    return path


def table(_: Path, count: int) -> dict[str, object]:
    return {"orders": [CONTRACT | {"timestamp": AT} for _ in range(count)]}


def keyed(_: Path, count: int) -> dict[str, object]:
    return {"orders": [CONTRACT | {"timestamp": AT, "dedupe_key": f"row {n}"} for n in range(count)]}


def coins(_: Path, count: int) -> dict[str, object]:
    return {"orders": [CONTRACT | {"timestamp": AT, "symbol": "BTC"} for _ in range(count)]}


SOAK = bool(os.environ.get("LIQDATA_SOAK"))
SOURCES = (decoded, tardis, tardis_with_ids, cryptofeed, csv, parquet, table, keyed, coins)


def counts(first, second):
    """How often an order is in each of two sources; in the short form more often in the one that is listed before."""
    if SOAK:
        return (2, 1), (1, 2), (1, 1), (2, 2)
    if first is second:
        return (2, 1), (1, 2)
    return ((2, 1) if SOURCES.index(first) < SOURCES.index(second) else (1, 2),)


def ingest(archive: Path, given: Path | dict[str, object]) -> Ingested:
    return liqdata.ingest(archive, **given) if isinstance(given, dict) else liqdata.ingest(archive, given)


def orders(archive: Path) -> list[dict[str, object]]:
    with liqdata.open(archive) as market:
        return list(market.iter_orders())


@pytest.mark.parametrize("second", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("first", SOURCES, ids=lambda source: source.__name__)
def test_an_order_of_two_sources_is_stored_once_by_count(tmp_path, first, second):
    for one, two in counts(first, second):
        archive = tmp_path / f"archive{one}{two}"
        assert ingest(archive, first(tmp_path, one)).new == one
        done = ingest(archive, second(tmp_path, two))
        assert (done.new, done.repeated, dict(done.refused)) == (max(two - one, 0), min(one, two), {})
        assert len(orders(archive)) == max(one, two)


@pytest.mark.parametrize("price, average", [("82394.30", "82394.30"), ("82394.30", "0"), ("82394.3", "82394.300")])
def test_the_key_of_binance_is_the_same_in_a_frame_and_in_its_file(tmp_path, price, average):
    order = {"s": "BTCUSDT", "S": "SELL", "o": "LIMIT", "f": "IOC", "q": "0.190", "p": price, "ap": average}
    order |= {"X": "FILLED", "l": "0.190", "z": "0.190", "T": AT}
    frames = json.dumps({"e": "forceOrder", "E": AT, "o": order})
    (row,) = feeds.decode("binance", frames)
    assert row["dedupe_key"] == f"binance|BTCUSDT|SELL|{AT}|0.19|82394.3"
    liqdata.ingest(tmp_path / "archive", orders=[row])
    file = tmp_path / "BTCUSDT-liquidationSnapshot-2026-09-21.csv"
    names = "time,side,order_type,time_in_force,original_quantity,price,average_price,order_status"
    line = f"{AT},SELL,LIMIT,IOC,0.19,82394.3,{average.rstrip('0') or 0},FILLED,0.19,0.19\n"
    file.write_text(f"{names},last_fill_quantity,accumulated_fill_quantity\n" + line * 2)
    assert liqdata.ingest(tmp_path / "archive", file).repeated == 2


@pytest.mark.parametrize(
    "other",
    [
        {"timestamp": AT + 1},
        {"timestamp": AT // 1000 * 1000},
        {"side": "SHORT"},
        {"price": "82394.31"},
        {"qty": "0.039"},
        {"exchange": "okx"},
        {"symbol": "BTCUSDC"},
        {"symbol": "BTCUSDT-25DEC26"},
    ],
    ids=str,
)
def test_an_order_with_another_value_is_another_order(tmp_path, other):
    ingest(tmp_path / "archive", decoded(tmp_path, 1))
    row = CONTRACT | {"timestamp": AT} | other
    assert liqdata.ingest(tmp_path / "archive", orders=[row]).new == 1
    assert len(orders(tmp_path / "archive")) == 2


def test_the_kind_of_price_does_not_make_another_order_and_the_first_stays(tmp_path):
    ingest(tmp_path / "archive", decoded(tmp_path, 1))
    row = CONTRACT | {"timestamp": AT, "price_kind": "avg_fill"}
    assert liqdata.ingest(tmp_path / "archive", orders=[row]).repeated == 1
    assert [row["price_kind"] for row in stored(tmp_path / "archive")] == ["bankruptcy"]


def stored(archive: Path) -> list[dict[str, object]]:
    parts = sorted(archive.glob("orders/**/*.parquet"))
    return [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]


def test_keys_contracts_and_price_kinds_are_stored(tmp_path):
    names = ("dedupe_key", "native_id", "price_kind", "group_id")
    rows = feeds.decode("bybit", frame(2))
    ingest(tmp_path / "first", {"orders": rows})
    (part,) = (tmp_path / "first").glob("orders/**/*.parquet")
    liqdata.ingest(tmp_path / "second", part)
    want = [{name: row.get(name) for name in names} for row in rows]
    for archive in ("first", "second"):
        assert [{name: row[name] for name in names} for row in stored(tmp_path / archive)] == want
    # A blank cell counts as absent.
    row = CONTRACT | {"timestamp": AT, "price_kind": None, "dedupe_key": "", "native_id": None}
    liqdata.ingest(tmp_path / "third", orders=[row, row])
    assert [row["price_kind"] for row in stored(tmp_path / "third")] == ["fill", "fill"]


def test_after_an_undo_the_other_source_restores_its_orders(tmp_path):
    archive = tmp_path / "archive"
    first = ingest(archive, tardis(tmp_path, 1))
    second = ingest(archive, decoded(tmp_path, 1))
    undone, again = liqdata.archive.undo(archive, first.id)
    assert (undone["id"], again["id"], again["run_again"]) == (first.id, second.id, 1)
    assert ingest(archive, decoded(tmp_path, 1)).new == 1
    assert ingest(archive, tardis(tmp_path, 1)).repeated == 1
    assert len(orders(archive)) == 1


def test_archives_opened_together_have_an_order_of_two_sources_once(tmp_path):
    ingest(tmp_path / "collected", decoded(tmp_path, 2))
    ingest(tmp_path / "bought", tardis(tmp_path, 1))
    addresses = [(tmp_path / name).as_uri() for name in ("collected", "bought")]
    for name, address in zip(("collected", "bought"), addresses, strict=True):
        with liqdata.open(tmp_path / name) as market:
            market.export(f"{address}-export")
    with liqdata.open([f"{address}-export" for address in addresses], cache=tmp_path / "cache") as market:
        assert len(list(market.iter_orders())) == 2
