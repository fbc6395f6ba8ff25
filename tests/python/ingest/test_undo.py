"""Undo of an ingest: what it brought no longer counts, and what replaces it is accepted."""

import json
from pathlib import Path

import pytest

import liqdata
from liqdata import BadQuery, cli, types

DAY = 86_400_000
START = 1_709_251_200_000  # 2024-03-01


def bars(price: float, *, coin: str = "ETH", minutes: range = range(3)) -> dict[str, list[object]]:
    """Bars of one minute at a price."""
    count = len(minutes)
    prices = {name: [price] * count for name in ("open", "high", "low", "close")}
    times = [START + minute * 60_000 for minute in minutes]
    return {"timestamp": times, "symbol": [coin] * count, "interval": ["1m"] * count, **prices, "volume": [2.0] * count}


def closes(folder: Path, coin: str = "ETH", **asked: object) -> list[float]:
    with liqdata.open(folder) as market:
        return [float(row["close"]) for row in market.bars(coin, interval="1m", **asked)]


def test_an_undone_ingest_makes_room_for_the_right_rows(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    wrong = liqdata.ingest(folder, bars=bars(3.4), exchange="okx", source="a wrong unit")
    assert liqdata.ingest(folder, bars=bars(3400.0), exchange="okx").new == 0
    (listed, *_) = liqdata.archive.ingests(folder)
    assert list(listed) == list(types.IngestRow.__annotations__)
    found = {name: listed[name] for name in ("id", "source", "bars", "orders", "first", "last", "undone")}
    last = START + 2 * 60_000
    assert found == {
        "id": wrong.id,
        "source": "a wrong unit",
        "bars": 3,
        "orders": 0,
        "first": START,
        "last": last,
        "undone": None,
    }

    (undone,) = liqdata.archive.undo(folder, wrong.id)
    assert list(undone) == list(types.UndoRow.__annotations__)
    assert (undone["rows"], undone["run_again"], undone["undone"] is not None) == (3, 0, True)
    right = liqdata.ingest(folder, bars=bars(3400.0), exchange="okx")
    assert (right.new, right.repeated, dict(right.refused)) == (3, 0, {})
    assert closes(folder) == [3400.0] * 3
    assert not liqdata.archive.verify(folder)

    for id in (wrong.id, "never"):
        with pytest.raises(BadQuery, match=r"^id: "):
            liqdata.archive.undo(folder, id)
    with pytest.raises(BadQuery, match="a int is not allowed"):
        liqdata.archive.undo(folder, 7)  # type: ignore[arg-type]


def test_an_undone_file_is_read_again_and_its_repetitions_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "archive"

    def file(name: str, minutes: range) -> Path:
        lines = [f"{START + at * 60_000},100,102,99,101,7,{START + at * 60_000 + 59_999},0,0,0,0,0" for at in minutes]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    first, second = file("SOLUSDT-1m-2024-03-01.csv", range(5)), file("SOLUSDT-1m-2024-03.csv", range(3, 9))
    one = liqdata.ingest(folder, first)
    two = liqdata.ingest(folder, second)
    assert (one.new, two.new, two.repeated) == (5, 4, 2)
    undone, again = liqdata.archive.undo(folder, one.id)
    assert (undone["id"], again["id"], again["run_again"]) == (one.id, two.id, 2)
    assert again["files"] == str(second)
    assert len(closes(folder, "SOL")) == 4

    # Neither is known as read to its end.
    assert liqdata.ingest(folder, second).new == 2
    assert liqdata.ingest(folder, first).new == 3
    assert len(closes(folder, "SOL")) == 9
    assert liqdata.ingest(folder, first, second).new == 0


def test_the_shell_lists_ingests_and_undoes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> tuple[int, str]:
        code = cli.main(["ingest", str(folder), *words])
        return code, capsys.readouterr().out

    folder = tmp_path / "archive"
    done = liqdata.ingest(folder, bars=bars(9.0, coin="ATOM"), exchange="bybit", source="a table")
    code, text = run("--list")
    assert code == 0
    assert done.id in text
    assert "3 bars  (a table)" in text
    code, text = run("--undo", done.id, "--json")
    assert code == 0
    assert json.loads(text)[0]["rows"] == 3
    assert "undone" in run("--list")[1]
    assert run("--undo", done.id)[0] != 0
    assert run("--list", "--undo", done.id)[0] != 0
    assert run()[0] != 0


def test_other_engines_read_what_is_left_after_an_undo(tmp_path: Path) -> None:
    """In the archive and in an export, files of undone rows are out of the folders that other engines read."""
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    folder, export = tmp_path / "archive", tmp_path / "export"
    rows = list(liqdata.demo(seed=7).iter_orders("BTC", start="2026-05-10", end="2026-05-12"))
    wrong = [row | {"qty": row["qty"] * 10, "value_usd": row["value_usd"] * 10} for row in rows]

    def sums(place: Path) -> set[tuple[int, object]]:
        files = f"read_parquet('{place}/orders/**/*.parquet', hive_partitioning = true)"
        query = f"SELECT count(*), sum(value_usd) FROM {files}"  # noqa: S608 - a folder of our own
        frame = polars.scan_parquet(place / "orders", hive_partitioning=True)
        read = frame.select(polars.len(), polars.col("value_usd").sum()).collect()
        with liqdata.open(place) as market:
            own = list(market.iter_orders())
        return {*duckdb.sql(query).fetchall(), *read.rows(), (len(own), sum(row["value_usd"] for row in own))}

    def exported() -> None:
        with liqdata.open(folder) as market:
            market.export(export)

    liqdata.ingest(folder, orders=rows[:5])
    done = liqdata.ingest(folder, orders=wrong, source="a file with a wrong unit")
    assert done.new == len(rows)
    exported()
    with liqdata.open(folder) as market:
        liqdata.archive.undo(folder, done.id)
        assert len(list(market.iter_orders())) == 5
    exported()
    for place in (folder, export):
        assert len(sums(place)) == 1
        assert list(place.glob("superseded/orders/date=*/part-*.parquet"))
    assert liqdata.ingest(folder, orders=rows).repeated == 5
    exported()
    for place in (folder, export):
        assert len(sums(place)) == 1
    assert not liqdata.archive.verify(folder)

    # What a killed process left in the old place is moved by the next writer, and reads find it meanwhile.
    moved = next(folder.glob("superseded/orders/date=*/part-*.parquet"))
    moved.rename(folder / moved.relative_to(folder / "superseded"))
    before = liqdata.archive.ingests(folder)
    assert not liqdata.archive.verify(folder)
    liqdata.ingest(folder, orders=rows[:1])
    assert moved.exists()
    assert len(before) == len(liqdata.archive.ingests(folder)) - 1
    assert len(sums(folder)) == 1
