"""Undo of an ingest: what it brought no longer counts, and what replaces it is accepted."""

import json
import os
import subprocess
import sys
import time
from decimal import Decimal
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


HOUR = 3_600_000

pytestmark = pytest.mark.filterwarnings("ignore::liqdata.NotCovered")


def orders(first: int, qty: int = 1, **other: object) -> list[dict[str, object]]:
    """Ten orders, a second apart."""
    base = {"exchange": "okx", "symbol": "BTCUSDT", "side": "LONG", "price": "50000"} | other
    price = Decimal(str(base["price"]))
    sizes = range(qty, qty + 10)
    return [
        {"timestamp": first + place * 1000, "qty": str(size), "value_usd": str(price * size), **base}
        for place, size in enumerate(sizes)
    ]


def known(folder: Path, first: int, at: int | None) -> tuple[object, ...]:
    """What a market as of an instant says of the hours around ``first``."""
    with liqdata.open(folder, as_of=at) as market:
        rows = list(market.iter_orders(start=first - 9 * HOUR, end=first + 9 * HOUR))
        total = market.overview()["24h"]["total_usd"]
        coins = sorted(coin["coin"] for coin in market.coins("24h"))
        covered = [(row["exchange"], row["connected_share"], row["cnt"]) for row in market.coverage("24h")]
        return [(row["exchange"], row["symbol"], row["timestamp"], row["qty"]) for row in rows], total, coins, covered


def instant() -> int:
    """An instant after everything that was stored before, and before everything that is stored later."""
    at = int(time.time() * 1000) + 1
    while int(time.time() * 1000) <= at:
        pass
    return at


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


CORRECTIONS = [
    ({"qty": 1001}, {}),
    ({"price": "50000.5"}, {}),
    ({"side": "SHORT"}, {}),
    ({"symbol": "BTCUSDC"}, {}),
    ({"symbol": "ETHUSDT"}, {"symbol": "SOLUSDT", "qty": 3000}),
    ({"exchange": "bybit"}, {"exchange": "gate", "qty": 3000}),
    ({"hours": -8}, {"hours": -9, "qty": 3000}),
    ({"qty": 1001}, {"symbol": "ETHUSDT"}),
    ({"qty": 1001}, {"exchange": "bybit"}),
    ({"qty": 1001}, {"hours": -1}),
]
# Each of today and of a day before in the long form; in the short one in turn.
AGES = (1, 120)
CASES = [
    (hours, *correction)
    for place, correction in enumerate(CORRECTIONS)
    for hours in (AGES if os.environ.get("LIQDATA_SOAK") else (AGES[place % 2],))
]


@pytest.mark.parametrize("hours, right, other", CASES)
def test_corrected_orders_count_from_their_ingest_on_and_others_from_their_time(
    tmp_path: Path, hours: int, right: dict[str, object], other: dict[str, object]
) -> None:
    folder = tmp_path / "archive"
    first = int(time.time() * 1000) - hours * HOUR
    if hours > 24:
        # Rows of an hour before are of the day before.
        first -= first % (24 * HOUR) - HOUR // 2

    def rows(changed: dict[str, object]) -> list[dict[str, object]]:
        at = first + int(str(changed.get("hours", 0))) * HOUR
        return orders(at, **{name: cell for name, cell in changed.items() if name != "hours"})  # type: ignore[arg-type]

    done = liqdata.ingest(folder, orders=orders(first))
    instants = (first + 20_000, instant())
    before = [known(folder, first, at) for at in instants]
    assert [len(rows) for rows, *_ in before] == [10, 10]
    liqdata.archive.undo(folder, done.id)
    assert [known(folder, first, at) for at in instants] == before

    assert liqdata.ingest(folder, orders=rows(right)).new == 10
    assert [known(folder, first, at) for at in instants] == before
    found, total, *_ = known(folder, first, None)
    assert len(found) == 10
    if hours == 1 and "hours" not in right:
        assert total == pytest.approx(sum(float(str(row["value_usd"])) for row in rows(right)))
    assert not liqdata.archive.verify(folder)

    if other:
        # They were never undone, and so are known from their own time on.
        assert liqdata.ingest(folder, orders=rows(right) + rows(other)).new == 10
        for at, (was, *_) in zip(instants, before, strict=True):
            assert len(known(folder, first, at)[0]) == len(was) + 10


@pytest.mark.parametrize("first", [START, "now"])
def test_every_version_of_every_table_counts_for_its_time_only(tmp_path: Path, first: int | str) -> None:
    folder = tmp_path / "archive"
    at = first if isinstance(first, int) else int(time.time() * 1000) // HOUR * HOUR - HOUR
    times = [at + place * 60_000 for place in range(5)]

    def ingest(scale: int) -> str:
        bar = {"exchange": "okx", "symbol": "ETH", "interval": "1m", "open": 100, "high": 103, "low": 99}
        shared = {"exchange": "hyperliquid", "coin": "ETH", "side": "LONG"}
        done = liqdata.ingest(
            folder,
            orders=orders(at, scale, symbol="ETHUSDT", price="100"),
            bars=[{**bar, "timestamp": time, "close": 100 + scale, "volume": 1000} for time in times],
            open_interest=[
                {"exchange": "okx", "symbol": "ETH", "timestamp": time, "open_interest": scale} for time in times
            ],
            positions=[
                {**shared, "account": account, "timestamp": times[-1], "qty": scale, "value_usd": 100 * scale}
                for account in ("a", "b")
            ],
        )
        assert (done.new, dict(done.refused)) == (22, {})
        return done.id

    def seen(as_of: int | None) -> list[int]:
        with liqdata.open(folder, as_of=as_of) as market:
            found = [
                [float(row["qty"]) for row in market.iter_orders("ETH", start=at - HOUR)],
                [float(row["close"]) - 100 for row in market.bars("ETH", interval="1m", start=at)],
                [float(row["open_interest"]) for row in market.open_interest("ETH", start=at)],
                [float(row["qty"]) for row in market.positions("ETH")],
            ]
        assert [len(rows) for rows in found] in ([10, 5, 5, 2], [0, 0, 0, 0])
        scales = {round(min(rows)) for rows in found if rows}
        assert len(scales) <= 1, found
        return sorted(scales)

    versions: list[tuple[int, list[int]]] = []
    for scale in (1, 2, 1, 3):
        id = ingest(scale)
        versions.append((instant(), [scale]))
        if scale < 3:
            liqdata.archive.undo(folder, id)
            versions.append((instant(), []))
        for as_of, expected in versions:
            assert seen(as_of) == expected
    assert seen(None) == [3]
    assert seen(times[-1] + 60_000) == [1]
    assert not liqdata.archive.verify(folder)


def test_duckdb_reads_as_of_an_instant_with_the_list_of_versions(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    folder = tmp_path / "archive"
    done = liqdata.ingest(folder, orders=orders(START) + orders(START, symbol="ETHUSDT"))
    instants = [START + 20_000, instant()]
    liqdata.archive.undo(folder, done.id)
    instants.append(instant())
    liqdata.ingest(folder, orders=orders(START, 1001) + orders(START, 5, symbol="SOLUSDT"))
    instants.append(instant())
    with liqdata.open(folder) as market:
        market.export(tmp_path / "export")
    recipe = Path(__file__).parents[3] / "docs/how-to/recipes/duckdb.md"
    section = recipe.read_text().split("## As of an instant")[1]
    block = section.split("```py\n")[1].split("print(")[0]
    for place in (folder, tmp_path / "export"):
        names: dict[str, str] = {}
        exec(block.replace("archive/", f"{place}/"), names)  # noqa: S102 - the code of the page
        for at in instants:
            (found,) = duckdb.execute(names["sql"], {"at": at}).fetchall()
            with liqdata.open(place, as_of=at) as market:
                own = list(market.iter_orders(start=START - HOUR))
            assert found == (len(own), sum(row["value_usd"] for row in own) if own else None)


def test_a_clock_that_was_ahead_at_the_undo_changes_no_earlier_answer(
    tmp_path: Path, wall_clock: dict[str, str]
) -> None:
    folder = tmp_path / "archive"
    first = int(time.time() * 1000) - HOUR
    done = liqdata.ingest(folder, orders=orders(first))
    instants = (first + 20_000, instant())
    before = [known(folder, first, at) for at in instants]
    (tmp_path / "by").write_text(str(3 * 86_400))
    script = "import sys, liqdata; liqdata.archive.undo(*sys.argv[1:])"
    words = [sys.executable, "-c", script, str(folder), done.id]
    subprocess.run(words, env=os.environ | wall_clock, check=True)
    (undone,) = (row["undone"] for row in liqdata.archive.ingests(folder))
    assert undone is not None
    assert undone > instant() + 2 * 86_400_000
    assert liqdata.ingest(folder, orders=orders(first, 1001)).new == 10
    assert [known(folder, first, at) for at in instants] == before
    found, total, *_ = known(folder, first, None)
    assert (len(found), total) == (10, pytest.approx(sum(50_000 * qty for qty in range(1001, 1011))))
