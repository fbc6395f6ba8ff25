"""An ingest that is interrupted, killed or repeated: its record, and rows that are stored once."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from dumped import DAY, START, is_sound, kline, written

import liqdata
from liqdata import cli

SOAK = bool(os.environ.get("LIQDATA_SOAK"))


def stopped(folder, files, looks):
    """A process that ingests files, stops at this call of its progress function and waits for a line."""
    script = textwrap.dedent(f"""
        import sys
        from liqdata import _core
        looks = 0
        def seen(rows):
            global looks
            looks += 1
            if looks == {looks}:
                print("reached", flush=True)
                sys.stdin.readline()
        files = {[str(file) for file in files]!r}
        _core.ingest_files({str(folder)!r}, files, None, None, False, [], {{}}, seen, print, {{}})
        print("done", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip() == "reached"


@pytest.fixture
def month(tmp_path):
    """Files of forty days, more than one batch."""
    name = "BTCUSDT-1m-2024-01-{:02}.csv"
    days = range(40)
    return [
        written(tmp_path, name.format(day), *[kline(place, start=START + day * DAY) for place in range(1440)])
        for day in days
    ]


def test_each_ingest_is_on_record_with_its_source(tmp_path, folder):
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0), "x")
    liqdata.ingest(folder, file, source="data.example")
    liqdata.ingest(folder, file)
    lines = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    assert [(line["source"], line["rows"], line["new"], line["repeated"]) for line in lines] == [
        ("data.example", 2, 1, 0),
        (None, 2, 0, 1),
    ]
    assert lines[0]["files"] == {str(file): "binance_klines"}
    assert list(lines[0]["refused"].values()) == [1]
    is_sound(folder)
    # It goes along with an export.
    pytest.importorskip("obstore")
    with liqdata.open(folder) as market:
        market.export((tmp_path / "kept").as_uri())
    assert (tmp_path / "kept" / "ingested.jsonl").read_bytes() == (folder / "ingested.jsonl").read_bytes()


@pytest.mark.parametrize("looks", [1, 60])
def test_ctrl_c_ends_an_ingest_and_the_next_one_completes_it(folder, month, looks):
    process, reached = stopped(folder, month, looks)
    assert reached
    process.send_signal(signal.SIGINT)
    _, said = process.communicate("\n", timeout=60)
    assert "KeyboardInterrupt" in said
    if folder.exists():
        is_sound(folder)
    done = liqdata.ingest(folder, *month)
    assert (done.rows, done.new + done.repeated) == (40 * 1440, 40 * 1440)
    is_sound(folder)


def stored_orders(folder):
    """The number of stored orders of an interrupted ingest; its record and coverage agree with it."""
    (line,) = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    assert line["interrupted"] is True
    with liqdata.open(folder) as market:
        days = market.history(by=(), interval="1d", start=START, end=START + 20 * DAY)
        stored = sum(row["cnt"] or 0 for row in days)
        assert line["new"] == line["rows"] == stored > 0
        (run,) = (row for row in market.coverage("24h") if row["exchange"] == "okx")
    assert run["connected_share"] > 0.99
    assert run["cnt"] == 21_600
    return stored


# Of a table, test_interrupts.py compares the record with the rows.
@pytest.mark.parametrize("form", ["table", "csv", "parquet"] if SOAK else ["csv", "parquet"])
def test_the_stored_part_of_an_interrupted_ingest_is_recorded_and_covered(tmp_path, folder, form):
    rows = 320_000
    at = [START + place * 4000 for place in range(rows)]
    columns = {"timestamp": at, "exchange": ["okx"] * rows, "symbol": ["BTCUSDT"] * rows, "side": ["LONG"] * rows}
    columns |= {name: [1.0] * rows for name in ("price", "qty", "value_usd")}

    def enough(done, _):
        if done > 300_000:
            raise KeyboardInterrupt

    given, files = {"orders": columns}, []
    if form == "csv":
        lines = (",".join(map(str, cells)) for cells in zip(*columns.values(), strict=True))
        given, files = {}, [written(tmp_path, "x.csv", *lines, header=",".join(columns))]
    if form == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
        given, files = {}, [tmp_path / "x.parquet"]
    with pytest.raises(KeyboardInterrupt) as raised:
        liqdata.ingest(folder, *files, **given, progress=enough)
    stored = stored_orders(folder)
    assert 200_000 <= stored <= 300_000
    (note,) = raised.value.__notes__
    assert f"{stored:,} new" in note


def test_ctrl_c_of_the_command_reports_the_stored_rows(folder, month, capsys, monkeypatch):
    def enough(done, _):
        if done > 52_000:
            raise KeyboardInterrupt

    monkeypatch.setattr("liqdata.cli.commands.ingest.delayed_bar", lambda *_: enough)
    assert cli.main(["ingest", str(folder), *map(str, month)]) == 130
    assert "Stored until then: 50,400 rows read: 50,400 new" in capsys.readouterr().err


def changed(file, before, after, *, seen):
    """Write other values of the same length; the time of the change moves only if it is to be ``seen``."""
    was = file.stat()
    file.write_text(file.read_text().replace(before, after))
    assert file.stat().st_size == was.st_size
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns + seen))


def test_files_finished_before_an_interrupt_are_not_read_again(folder, month):
    def enough(done, _):
        if done > 52_000:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        liqdata.ingest(folder, *month, progress=enough)
    finished = [Path(json.loads(line)["file"]) for line in (folder / "finished.jsonl").read_text().splitlines()]
    assert len(set(finished) & set(month)) == len(finished) == 35
    (line,) = [json.loads(line) for line in (folder / "ingested.jsonl").read_text().splitlines()]
    assert (line["new"], line["rows"], line["interrupted"]) == (35 * 1440, 35 * 1440, True)
    changed(finished[0], ",99,", ",98,", seen=False)
    changed(finished[1], ",99,", ",98,", seen=True)
    done = liqdata.ingest(folder, *month)
    assert (done.rows, done.new) == (40 * 1440, 5 * 1440)
    assert done.refused == {"the archive has the row of bars with other values": 1440}
    assert set(done.files) == {str(file) for file in month}
    # Asked otherwise, or of another archive, it is read.
    assert sum(liqdata.ingest(folder, finished[0], exchange="binance").refused.values()) == 1440
    shutil.copytree(folder, folder.with_name("copy"))
    assert sum(liqdata.ingest(folder.with_name("copy"), finished[0]).refused.values()) == 1440
    is_sound(folder)


def test_a_file_with_lost_rows_is_read_again(tmp_path, folder):
    files = [written(tmp_path, f"BTCUSDT-1m-2024-01-0{day}.csv", kline(0, start=START + day * DAY)) for day in (2, 3)]
    assert liqdata.ingest(folder, *files).new == 2
    lost = min(folder.glob("bars/**/*.parquet"))
    lost.unlink()
    assert len(liqdata.archive.verify(folder, repair=True)) == 1
    done = liqdata.ingest(folder, *files)
    assert (done.rows, done.new, done.repeated) == (2, 1, 1)


def test_a_zip_is_finished_once_all_its_members_are_stored(tmp_path, folder):
    archive = tmp_path / "BTCUSDT-1m-2024-01.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for day in (2, 3):
            made.writestr(f"BTCUSDT-1m-2024-01-0{day}.csv", kline(0, start=START + day * DAY) + "\n")
    first = liqdata.ingest(folder, archive)
    again = liqdata.ingest(folder, archive)
    assert (first.rows, first.new, again.rows, again.repeated) == (2, 2, 2, 2)
    assert again.files == first.files
    (line,) = (json.loads(line) for line in (folder / "finished.jsonl").read_text().splitlines())
    assert (line["file"], line["rows"]) == (str(archive), 2)


def test_a_killed_ingest_leaves_no_duplicate_and_no_damage(folder, month):
    looks, kills = 41, 0
    while True:
        process, reached = stopped(folder, month, looks)
        process.kill()
        process.communicate()
        if not reached:
            break
        kills += 1
        looks += 17 if SOAK else 51
        # A file that was not finished is removed when it is next written to, and never read until then.
        assert not folder.exists() or {row["problem"] for row in liqdata.archive.verify(folder)} <= {"unexpected"}
    assert kills > (3 if SOAK else 0)
    done = liqdata.ingest(folder, *month)
    assert done.new + done.repeated == 40 * 1440
    with liqdata.open(folder) as market:
        assert len(list(market.bars("BTC", interval="1m"))) == 40 * 1440
    is_sound(folder)
