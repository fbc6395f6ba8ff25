"""Archives that somebody prepared or broke: records beside the journal, what a bucket says of itself, and a kill."""

import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
import time
import zlib
from pathlib import Path

import buckets
import pytest
from samples import DAY, MINUTE, NOW

import liqdata
from liqdata.errors import ArchiveError

START = NOW - 40 * DAY
RECORDS = ("ingested.jsonl", "finished.jsonl")
KILLS = 200 if os.environ.get("LIQDATA_SOAK") else 12
SECRET = "years of work\n"  # noqa: S105 - of a file of the user's


# The records of what was ingested.


def bars_file(folder):
    """Bars of ten minutes in a file, the last of which is none."""
    lines = [f"{START + n * MINUTE},100,102,99,101,7,{START + n * MINUTE + 59_999},0,0,0,0,0" for n in range(10)]
    file = folder / "BTCUSDT-1m-2026-04-22.csv"
    file.write_text("\n".join([*lines, "nonsense"]) + "\n")
    return file


@pytest.mark.parametrize("name", RECORDS)
def test_a_flipped_bit_of_a_record_changes_nothing_that_is_told(tmp_path, name):
    file, archive = bars_file(tmp_path), tmp_path / "archive"
    first = liqdata.ingest(archive, file)
    again = liqdata.ingest(archive, file)
    assert (first.rows, first.new, sum(first.refused.values()), again.repeated) == (11, 10, 1, 10)
    whole = (archive / name).read_bytes()
    chance = random.Random(13)
    for _ in range(60):
        flipped = bytearray(whole)
        place = chance.randrange(len(flipped))
        flipped[place] ^= 1 << chance.randrange(8)
        (archive / name).write_bytes(flipped)
        told = liqdata.ingest(archive, file)
        assert (told.rows, told.new, told.repeated) == (11, 0, 10), flipped[place - 20 : place + 20]
        assert (told.refused, told.first, told.files) == (again.refused, again.first, again.files)


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_is_read_or_written_behind_a_link_and_none_waits_for_a_pipe(tmp_path, name):
    file, archive, mine = bars_file(tmp_path), tmp_path / "archive", tmp_path / "thesis.txt"
    liqdata.ingest(archive, file)
    mine.write_text(SECRET)
    (archive / name).unlink()
    (archive / name).symlink_to(mine)
    with pytest.raises(ArchiveError, match=rf"{name}: it is a link"):
        liqdata.ingest(archive, file)
    assert mine.read_text() == SECRET
    if name == "ingested.jsonl":
        with liqdata.open(archive) as market, pytest.raises(ArchiveError, match="it is a link"):
            market.export((tmp_path / "kept").as_uri())
        assert not any(SECRET.encode() in found.read_bytes() for found in (tmp_path / "kept").rglob("*.jsonl"))
    (archive / name).unlink()
    os.mkfifo(archive / name)
    with pytest.raises(ArchiveError, match=rf"{name}: it is not a regular file"):
        liqdata.ingest(archive, file)


def test_no_file_of_rows_is_sent_from_behind_a_link(tmp_path):
    archive = buckets.archive(tmp_path / "archive")
    part = next(archive.glob("orders/**/*.parquet"))
    day = part.parent
    day.rename(tmp_path / "mine")
    day.symlink_to(tmp_path / "mine")
    with liqdata.open(archive) as market, pytest.raises(ArchiveError, match="it is a link"):
        market.export((tmp_path / "kept").as_uri())


# A kill.


POSITIONS = """
    import sys
    import liqdata
    start, snapshots, accounts = int(sys.argv[2]), 480, 40
    rows = [(start + place * 3_600_000, account) for place in range(snapshots) for account in range(accounts)]
    table = {
        "timestamp": [at for at, _ in rows],
        "coin": ["BTC"] * len(rows),
        "account": [f"0x{account}" for _, account in rows],
        "side": ["long"] * len(rows),
        "qty": [1 + account for _, account in rows],
        "value_usd": [100 * (1 + account) for _, account in rows],
    }
    print("begins", flush=True)
    done = liqdata.ingest(sys.argv[1], positions=table, exchange="hyperliquid")
    print(done.new, done.repeated, flush=True)
"""


def has_begun(archive):
    """Whether there is an archive; one whose journal has just been made has nothing in it."""
    try:
        liqdata.open(archive).close()
    except ArchiveError as error:
        if "the journal is empty" in str(error) or not (archive / "journal.sqlite").exists():
            return False
        raise
    return True


def seen(market, at):
    """How many positions a snapshot has."""
    try:
        return len(market.positions("BTC", as_of=at))
    except liqdata.Refused:
        return 0


def test_an_ingest_that_was_killed_before_it_made_anything_is_done_again(tmp_path):
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "journal.sqlite").touch()
    row = {"timestamp": [START], "coin": ["BTC"], "side": ["long"], "qty": [1], "value_usd": [100]}
    assert liqdata.ingest(archive, positions=row, exchange="hyperliquid").new == 1


def test_an_ingest_of_positions_that_is_killed_leaves_whole_snapshots_and_the_next_one_the_rest(tmp_path):
    def begun(archive):
        command = [sys.executable, "-c", textwrap.dedent(POSITIONS), str(archive), str(START)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "begins\n"
        return process, time.monotonic()

    process, began = begun(tmp_path / "whole")
    assert process.stdout.readline() == "19200 0\n"
    lasted = time.monotonic() - began
    process.wait()
    process.stdout.close()
    with liqdata.open(tmp_path / "whole") as market:
        wanted = [market.positions("BTC", as_of=START + place * 3_600_000) for place in (0, 100, 479)]
    assert [len(rows) for rows in wanted] == [40, 40, 40]
    killed = 0
    for number in range(KILLS):
        archive = tmp_path / f"killed-{number}"
        process, began = begun(archive)
        # Most of the time goes by before anything is written.
        time.sleep(lasted * (0.2 + 0.6 * number / KILLS))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        if has_begun(archive):
            assert {row["problem"] for row in liqdata.archive.verify(archive)} <= {"unexpected"}
            with liqdata.open(archive) as market:
                sizes = {seen(market, START + place * 3_600_000) for place in range(0, 480, 37)}
            assert sizes <= {0, 40}
        process, _ = begun(archive)
        new, repeated = map(int, process.stdout.readline().split())
        process.wait()
        process.stdout.close()
        assert new + repeated == 19_200
        assert list(liqdata.archive.verify(archive)) == []
        with liqdata.open(archive) as market:
            found = [market.positions("BTC", as_of=START + place * 3_600_000) for place in (0, 100, 479)]
        assert [list(rows) for rows in found] == [list(rows) for rows in wanted]
    assert killed > 0


# What a bucket says of itself.


@pytest.fixture
def kept(s3, tmp_path):
    """An archive that was exported, and how many orders it has."""
    archive = buckets.archive(tmp_path / "archive")
    with liqdata.open(archive) as market:
        market.export("s3://kept/many/here")
        s3.orders = len(list(market.iter_orders()))
    return s3


def opened(url="s3://kept/many/here"):
    with liqdata.open(url) as market:
        return len(list(market.iter_orders())), market.coins("24h").meta.get("damaged", 0)


def attempted(url):
    """How many orders are read where nothing is damaged, else what is said."""
    try:
        orders, damaged = opened(url)
    except ArchiveError as refused:
        return None, str(refused)
    return (orders, None) if damaged == 0 else (None, f"{url}/orders/ is damaged")


def outside(tmp_path):
    """What lies beside the archive and the cache."""
    return sorted(path.name for path in tmp_path.iterdir() if path.name not in {"archive", "cache"})


HOSTILE = ("%2e%2e/journal.sqlite", "%2e%2e/%2e%2e/x", "./journal.sqlite", "%00/journal.sqlite")
HOSTILE += ("%1b%5b2J/journal.sqlite", "%2fetc/journal.sqlite", "C:%5cx/journal.sqlite", "~/journal.sqlite")


@pytest.mark.parametrize("key", HOSTILE)
def test_names_in_a_bucket_lead_nowhere_else(kept, tmp_path, key):
    journal = kept.get("many/here/journal.sqlite")
    buckets.ask(f"{kept.address}/kept/many/{key}", "PUT", journal)
    before = kept.orders
    # What is as it should be is read; or all of it is refused, by its name.
    orders, said = attempted("s3://kept/many/*")
    assert orders == before if said is None else "s3://kept/many" in said
    assert said is None or said.isprintable()
    assert outside(tmp_path) == []
    # Whatever lies beside it, an archive that is named is read.
    assert opened() == (before, 0)


def cells_sum(*cells):
    """The checksum that a line of a journal has."""
    total = 0
    for cell in cells:
        kinds = {type(None): 0, int: 1, float: 2, str: 3, bytes: 4}
        if cell is None:
            raw = b""
        elif isinstance(cell, int):
            raw = struct.pack("<q", cell)
        elif isinstance(cell, float):
            raw = struct.pack("<d", cell)
        else:
            raw = cell.encode() if isinstance(cell, str) else cell
        total = zlib.crc32(bytes([kinds[type(cell)]]) + struct.pack("<Q", len(raw)) + raw, total)
    return total


def forged(journal, tmp_path, statement, *values):
    """A journal in which this was done, with every checksum as it should be."""
    path = tmp_path / "archive" / "forged.sqlite"
    path.write_bytes(journal)
    connection = sqlite3.connect(path)
    connection.create_function("cells_sum", -1, cells_sum, deterministic=True)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute(statement, values)
    connection.commit()
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "path", ["../../../../evil.parquet", "/liqdata-evil.parquet", "orders/date=2026-05-31/../../../../evil.parquet"]
)
def test_a_forged_list_of_files_leads_nowhere_else(kept, tmp_path, path):
    journal = kept.get("many/here/journal.sqlite")
    statement = "UPDATE manifest SET path = ? WHERE path = (SELECT min(path) FROM manifest WHERE holds = 'orders')"
    kept.put("many/here/journal.sqlite", forged(journal, tmp_path, statement, path))
    kept.requests.clear()
    with pytest.raises(ArchiveError, match="is not a valid segment path for table orders"):
        opened()
    assert outside(tmp_path) == []
    assert not Path("/liqdata-evil.parquet").exists()
    # Nothing of it was asked for either.
    assert [name for name in kept.of("GET") if "evil" in name] == []
    kept.put("many/here/journal.sqlite", journal)
    assert opened() == (kept.orders, 0)


@pytest.mark.parametrize("length", [(1 << 28) + 1, 1 << 40])
def test_a_list_of_files_longer_than_any_is_refused_before_it_is_read(kept, length):
    sent = []

    def body():
        for _ in range(64):
            sent.append(1)
            yield bytes(1 << 20)

    def instead(method, path):
        if method == "GET" and path.endswith("journal.sqlite"):
            stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
            return "200 OK", [("content-length", str(length)), ("etag", '"x"'), stamp], body()
        return None

    kept.instead = instead
    with pytest.raises(ArchiveError, match=rf"journal\.sqlite: it is {length} bytes long; allowed: {1 << 28}"):
        opened()
    # What the sockets of both sides hold at most.
    assert len(sent) < 16
    kept.instead = buckets.as_asked
    assert opened()[0] == kept.orders


def of_orders(path):
    return "/orders/" in path and path.endswith(".parquet")


@pytest.mark.parametrize("status", ["403 Forbidden", "500 Internal Server Error"])
def test_what_is_refused_in_the_middle_is_told_and_the_next_one_goes_on(kept, monkeypatch, status):
    monkeypatch.setattr(liqdata.cloud.objects, "_RETRY", {**liqdata.cloud.objects._RETRY, "max_retries": 1})
    asked = []

    def instead(method, path):
        asked.append(path)
        if method == "GET" and of_orders(path) and len({one for one in asked if of_orders(one)}) > 1:
            return status, [("content-type", "application/xml")], [b"<Error><Code>No</Code></Error>"]
        return None

    kept.instead = instead
    with pytest.raises(ArchiveError, match=r"s3://kept/many/here/orders/.*parquet: ") as refused:
        opened()
    assert "a-secret" not in str(refused.value)
    kept.instead = buckets.as_asked
    assert opened() == (kept.orders, 0)


@pytest.mark.parametrize("times", [1, None], ids=["once", "always"])
def test_an_object_that_breaks_off_is_never_taken_for_whole(kept, monkeypatch, times):
    monkeypatch.setattr(liqdata.cloud.objects, "_RETRY", {**liqdata.cloud.objects._RETRY, "max_retries": 2})
    broken = []

    def instead(method, path):
        if method != "GET" or not of_orders(path) or (times is not None and len(broken) >= times):
            return None
        broken.append(path)
        whole = kept.get(path.removeprefix("/kept/")) if times is None else None
        length = len(whole) if whole else 5000
        stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
        return "200 OK", [("content-length", str(length)), ("etag", '"x"'), stamp], [b"PAR1" + b"x" * 100]

    # What the test itself reads of the server is no attack.
    real = kept.get
    whole = {f"/kept/{path}": real(path) for path in kept.paths() if path.endswith(".parquet")}
    monkeypatch.setattr(kept, "get", lambda path: whole[f"/kept/{path}"])
    kept.instead = instead
    orders, said = attempted("s3://kept/many/here")
    assert orders == kept.orders if said is None else "s3://kept/many/here/orders/" in said
    assert broken
    kept.instead = buckets.as_asked
    assert opened() == (kept.orders, 0)


@pytest.mark.parametrize("length", [0, 1, 10**9, 2**62])
def test_an_object_of_another_length_is_damaged_and_takes_no_room(kept, tmp_path, length):
    def instead(method, path):
        if method == "HEAD" and of_orders(path):
            stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
            return "200 OK", [("content-length", str(length)), ("etag", '"x"'), stamp], []
        return None

    kept.instead = instead
    orders, damaged = opened()
    assert orders == 0
    assert damaged > 0
    assert sum(file.stat().st_blocks * 512 for file in (tmp_path / "cache").rglob("*")) < 8 << 20
    kept.instead = buckets.as_asked
    assert opened() == (kept.orders, 0)


def test_a_body_of_other_bytes_than_were_written_is_damaged(kept):
    def instead(method, path):
        if method == "GET" and of_orders(path):
            stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
            return "200 OK", [("content-length", "200000"), ("etag", '"x"'), stamp], [b"PAR1" * 50_000]
        return None

    kept.instead = instead
    orders, damaged = opened()
    assert (orders, damaged > 0) == (0, True)
    kept.instead = buckets.as_asked
    assert opened() == (kept.orders, 0)
