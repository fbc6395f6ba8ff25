"""Archives that are forged or damaged: record files, the list of files in a bucket, and killed processes."""

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
SOAK = bool(os.environ.get("LIQDATA_SOAK"))
KILLS = 200 if SOAK else 3
SECRET = "years of work\n"  # noqa: S105 - of a file of the user's


# The records of what was ingested.


def bars_file(folder):
    """Bars of ten minutes in a file, the last of which is none."""
    lines = [f"{START + n * MINUTE},100,102,99,101,7,{START + n * MINUTE + 59_999},0,0,0,0,0" for n in range(10)]
    file = folder / "BTCUSDT-1m-2026-04-22.csv"
    file.write_text("\n".join([*lines, "nonsense"]) + "\n")
    return file


@pytest.mark.parametrize("name", RECORDS)
def test_a_flipped_bit_of_a_record_does_not_change_an_ingest(tmp_path, name):
    file, archive = bars_file(tmp_path), tmp_path / "archive"
    first = liqdata.ingest(archive, file)
    again = liqdata.ingest(archive, file)
    assert (first.rows, first.new, sum(first.refused.values()), again.repeated) == (11, 10, 1, 10)
    whole = (archive / name).read_bytes()
    chance = random.Random(13)
    for _ in range(60 if SOAK else 20):
        flipped = bytearray(whole)
        place = chance.randrange(len(flipped))
        flipped[place] ^= 1 << chance.randrange(8)
        (archive / name).write_bytes(flipped)
        again_damaged = liqdata.ingest(archive, file)
        assert (again_damaged.rows, again_damaged.new, again_damaged.repeated) == (11, 0, 10), flipped[
            place - 20 : place + 20
        ]
        assert (again_damaged.refused, again_damaged.first, again_damaged.files) == (
            again.refused,
            again.first,
            again.files,
        )


@pytest.mark.parametrize("name", RECORDS)
def test_records_follow_no_link_and_wait_for_no_pipe(tmp_path, name):
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


def test_an_export_follows_no_link(tmp_path):
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
    """Whether there is an archive: a new journal is empty at first."""
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


def test_an_ingest_killed_at_its_start_can_be_repeated(tmp_path):
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "journal.sqlite").touch()
    row = {"timestamp": [START], "coin": ["BTC"], "side": ["long"], "qty": [1], "value_usd": [100]}
    assert liqdata.ingest(archive, positions=row, exchange="hyperliquid").new == 1


def test_a_killed_ingest_of_positions_leaves_whole_snapshots_and_can_be_repeated(tmp_path):
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


# Buckets that lie.


@pytest.fixture
def exported(s3, tmp_path):
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
    """The other names in the folder of the archive and the cache."""
    return sorted(path.name for path in tmp_path.iterdir() if path.name not in {"archive", "cache"})


HOSTILE = ("%2e%2e/journal.sqlite", "%2e%2e/%2e%2e/x", "./journal.sqlite", "%00/journal.sqlite")
HOSTILE += ("%1b%5b2J/journal.sqlite", "%2fetc/journal.sqlite", "C:%5cx/journal.sqlite", "~/journal.sqlite")


@pytest.mark.parametrize("key", HOSTILE)
def test_object_names_do_not_escape_the_cache(exported, tmp_path, key):
    journal = exported.get("many/here/journal.sqlite")
    buckets.ask(f"{exported.address}/kept/many/{key}", "PUT", journal)
    before = exported.orders
    # The sound archive is read, or all of them are refused by name.
    orders, said = attempted("s3://kept/many/*")
    assert orders == before if said is None else "s3://kept/many" in said
    assert said is None or said.isprintable()
    assert outside(tmp_path) == []
    # An archive that is named is read, whatever other objects the bucket has.
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
def test_paths_of_a_forged_list_do_not_escape_the_cache(exported, tmp_path, path):
    journal = exported.get("many/here/journal.sqlite")
    statement = "UPDATE manifest SET path = ? WHERE path = (SELECT min(path) FROM manifest WHERE holds = 'orders')"
    exported.put("many/here/journal.sqlite", forged(journal, tmp_path, statement, path))
    exported.requests.clear()
    with pytest.raises(ArchiveError, match="is not a valid segment path for table orders"):
        opened()
    assert outside(tmp_path) == []
    assert not Path("/liqdata-evil.parquet").exists()
    # Nothing of it was asked for either.
    assert [name for name in exported.of("GET") if "evil" in name] == []
    exported.put("many/here/journal.sqlite", journal)
    assert opened() == (exported.orders, 0)


@pytest.mark.parametrize("length", [(1 << 28) + 1, 1 << 40])
def test_an_oversized_list_of_files_is_refused_before_it_is_read(exported, length):
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

    exported.instead = instead
    with pytest.raises(ArchiveError, match=rf"journal\.sqlite: it is {length} bytes long; allowed: {1 << 28}"):
        opened()
    # The most that the sockets of both sides buffer.
    assert len(sent) < 16
    exported.instead = buckets.as_asked
    assert opened()[0] == exported.orders


def of_orders(path):
    return "/orders/" in path and path.endswith(".parquet")


@pytest.mark.parametrize("status", ["403 Forbidden", "500 Internal Server Error"])
def test_a_refused_download_is_reported_and_the_next_open_succeeds(exported, monkeypatch, status):
    monkeypatch.setattr(liqdata.cloud.objects, "RETRY", {**liqdata.cloud.objects.RETRY, "max_retries": 1})
    asked = []

    def instead(method, path):
        asked.append(path)
        if method == "GET" and of_orders(path) and len({one for one in asked if of_orders(one)}) > 1:
            return status, [("content-type", "application/xml")], [b"<Error><Code>No</Code></Error>"]
        return None

    exported.instead = instead
    with pytest.raises(ArchiveError, match=r"s3://kept/many/here/orders/.*parquet: ") as refused:
        opened()
    assert "a-secret" not in str(refused.value)
    exported.instead = buckets.as_asked
    assert opened() == (exported.orders, 0)


@pytest.mark.parametrize("times", [1, None], ids=["once", "always"])
def test_a_truncated_download_is_never_used(exported, monkeypatch, times):
    monkeypatch.setattr(liqdata.cloud.objects, "RETRY", {**liqdata.cloud.objects.RETRY, "max_retries": 2})
    broken = []

    def instead(method, path):
        if method != "GET" or not of_orders(path) or (times is not None and len(broken) >= times):
            return None
        broken.append(path)
        whole = exported.get(path.removeprefix("/kept/")) if times is None else None
        length = len(whole) if whole else 5000
        stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
        return "200 OK", [("content-length", str(length)), ("etag", '"x"'), stamp], [b"PAR1" + b"x" * 100]

    # Reads of the test itself get the sound objects.
    real = exported.get
    whole = {f"/kept/{path}": real(path) for path in exported.paths() if path.endswith(".parquet")}
    monkeypatch.setattr(exported, "get", lambda path: whole[f"/kept/{path}"])
    exported.instead = instead
    orders, said = attempted("s3://kept/many/here")
    assert orders == exported.orders if said is None else "s3://kept/many/here/orders/" in said
    assert broken
    exported.instead = buckets.as_asked
    assert opened() == (exported.orders, 0)


@pytest.mark.parametrize("length", [0, 1, 10**9, 2**62])
def test_an_object_of_another_length_is_damaged_and_uses_no_space(exported, tmp_path, length):
    def instead(method, path):
        if method == "HEAD" and of_orders(path):
            stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
            return "200 OK", [("content-length", str(length)), ("etag", '"x"'), stamp], []
        return None

    exported.instead = instead
    orders, damaged = opened()
    assert orders == 0
    assert damaged > 0
    assert sum(file.stat().st_blocks * 512 for file in (tmp_path / "cache").rglob("*")) < 8 << 20
    exported.instead = buckets.as_asked
    assert opened() == (exported.orders, 0)


def test_an_object_with_other_bytes_is_damaged(exported):
    def instead(method, path):
        if method == "GET" and of_orders(path):
            stamp = ("last-modified", "Mon, 01 Jun 2026 00:00:00 GMT")
            return "200 OK", [("content-length", "200000"), ("etag", '"x"'), stamp], [b"PAR1" * 50_000]
        return None

    exported.instead = instead
    orders, damaged = opened()
    assert (orders, damaged > 0) == (0, True)
    exported.instead = buckets.as_asked
    assert opened() == (exported.orders, 0)
