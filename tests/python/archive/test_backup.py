"""Backup and restore of an archive: to a folder and to object storage, while rows are written, and after kills."""

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import buckets
import pytest
from samples import DAY, HOUR, NOW, ten

import liqdata
from liqdata import _core, archive, cli
from liqdata.errors import ArchiveError, BadQuery

KILLS = 50 if os.environ.get("LIQDATA_SOAK") else 3


def answers(folder, **options):
    """Everything that a market of an archive says."""
    with liqdata.open(folder, **options) as market:
        found = ten(market)
        found["orders"] = list(market.iter_orders())
        found["bars"] = list(market.bars("BTC"))
        found["open_interest"] = list(market.open_interest("ETH"))
        found["gaps"] = list(market.gaps())
        for window in ("1h", "24h"):
            found[window] = list(market.coverage(window))
    return found


def names(folder):
    """The files of an archive, except for locks and caches."""
    left_out = ("writer.lock", "journal.sqlite-wal", "journal.sqlite-shm")
    found = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()}
    return {name for name in found if not name.endswith(left_out) and not name.startswith(("ledger/", "state/"))}


@pytest.fixture
def folder(tmp_path):
    return buckets.archive(tmp_path / "archive", gap=(5, 4), rolled=NOW - DAY)


def test_a_restored_backup_answers_as_the_archive_did(folder, tmp_path):
    before = answers(folder)
    done = archive.backup(folder, tmp_path / "backup")
    assert (done.target, done.files, done.sent) == (str(tmp_path / "backup"), len(names(folder)), done.files)
    assert names(tmp_path / "backup") == names(folder)
    assert archive.backup(tmp_path / "backup", tmp_path / "restored").taken_at == done.taken_at
    for copy in ("backup", "restored"):
        assert answers(tmp_path / copy) == before
        assert len(archive.verify(tmp_path / copy)) == 0
    # The restored archive goes on.
    buckets.more(tmp_path / "restored")
    buckets.more(folder)
    assert answers(tmp_path / "restored") == answers(folder) != before


def test_only_what_the_target_lacks_is_copied(folder, tmp_path):
    target = tmp_path / "backup"
    archive.backup(folder, target)
    files = {path: path.stat().st_mtime_ns for path in target.rglob("*.parquet")}
    assert archive.backup(folder, target).sent == 1  # the journal
    buckets.more(folder)
    new = len(list(folder.rglob("*.parquet"))) - len(files)
    assert new > 0
    assert archive.backup(folder, target).sent == new + 1
    assert all(path.stat().st_mtime_ns == at for path, at in files.items())
    assert answers(target) == answers(folder)


def test_undone_ingests_and_recorded_sources_are_in_the_backup(folder, tmp_path):
    wrong = liqdata.ingest(folder, orders=liqdata.demo().iter_orders("BTC", max_rows=50))
    target = tmp_path / "backup"
    archive.backup(folder, target)
    archive.undo(folder, wrong.id)
    shutil.copytree(folder, folder / "recorded/vendor", ignore=shutil.ignore_patterns("recorded"))
    archive.backup(folder, target)
    archive.backup(target, tmp_path / "restored")
    assert answers(tmp_path / "restored") == answers(folder)
    assert list(archive.ingests(tmp_path / "restored")) == list(archive.ingests(folder))
    assert answers(tmp_path / "restored/recorded/vendor") == answers(folder / "recorded/vendor")
    assert names(target) == names(folder)


def test_a_bucket_takes_a_backup_and_gives_it_back(s3, folder, tmp_path):
    done = archive.backup(folder, "s3://kept/here")
    assert {path.removeprefix("here/") for path in s3.paths()} == names(folder)
    s3.requests.clear()
    assert archive.backup(folder, "s3://kept/here/").sent == 1
    assert s3.of("PUT") == ["/kept/here/journal.sqlite"]
    assert archive.backup("s3://kept/here", tmp_path / "restored").files == done.files
    assert answers(tmp_path / "restored") == answers(folder) == answers("s3://kept/here")


KILLED = """
    import os, random, signal, sys
    from liqdata import archive
    at, steps = int(sys.argv[3]), 0
    # A step is a call that changes the disk; half of the writes before it have happened.
    def counted(name):
        real = getattr(os, name)
        def call(*arguments, **options):
            global steps
            steps += 1
            if steps == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)
        setattr(os, name, call)
    for name in ("fsync", "replace", "unlink", "mkdir"):
        counted(name)
    archive.backup(sys.argv[1], sys.argv[2])
    print(steps)
"""


def killed(source, target, at):
    """Back up and be killed before so many steps; the number of steps if there are fewer."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(source), str(target), str(at)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert ran.returncode in (-signal.SIGKILL, 0)
    return int(ran.stdout) if ran.returncode == 0 else None


def kills(source, target, check, begin=lambda: None):
    """Back up with kills at random steps, and check what each leaves; ``begin`` makes the target as it is before."""
    chance, count = random.Random(57), 0
    begin()
    steps = killed(source, target, 0)
    while count < KILLS:
        shutil.rmtree(target)
        begin()
        # The next backups continue what is left.
        while count < KILLS and killed(source, target, chance.randint(1, steps)) is None:
            count += 1
            check()


def test_a_killed_backup_leaves_the_former_one_and_a_killed_restore_is_continued(folder, tmp_path):
    target, restored, former = tmp_path / "backup", tmp_path / "restored", tmp_path / "former"
    first = answers(folder)

    def is_none_or_first():
        assert not (target / "journal.sqlite").exists() or answers(target) == first

    kills(folder, target, is_none_or_first)
    archive.backup(folder, target)
    assert names(target) == names(folder)
    shutil.copytree(target, former)
    buckets.more(folder)
    second = answers(folder)
    assert second != first

    def is_former_or_second():
        assert answers(target) in (first, second)

    shutil.rmtree(target)
    kills(folder, target, is_former_or_second, lambda: shutil.copytree(former, target))
    archive.backup(folder, target)
    assert answers(target) == second
    assert names(target) == names(folder)

    def is_none_or_second():
        if (restored / "journal.sqlite").exists():
            assert answers(restored) == second
            return
        with pytest.raises(ArchiveError, match=r"is not an archive"):
            liqdata.open(restored)

    kills(target, restored, is_none_or_second)
    archive.backup(target, restored)
    assert answers(restored) == second
    assert len(archive.verify(restored)) == 0
    buckets.more(restored)


WRITES = """
    import sys
    from liqdata import _core
    writer = _core.ArchiveWriter(sys.argv[1])
    hour, at = 3600000, int(sys.argv[2])
    print(flush=True)
    for number in range(10 ** 6):
        at += hour
        row = {"exchange": "okx", "symbol": "BTCUSDT", "side": "LONG", "price": "60000", "qty": "1"}
        row |= {"value_usd": "60000", "timestamp": at}
        writer.append({name: [cell] for name, cell in row.items()}, None, None)
        if number % 24 == 0:
            writer.roll(at)
"""


def test_a_backup_while_rows_are_written_has_the_state_of_one_instant(folder, tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(WRITES), str(folder), str(NOW)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writing:
        try:
            writing.stdout.readline()
            for number in range(4):
                archive.backup(folder, tmp_path / "backup")
                archive.backup(tmp_path / "backup", tmp_path / f"restored-{number}")
        finally:
            writing.kill()
    with liqdata.open(folder) as market:
        written = list(market.iter_orders())
    counts = []
    for number in range(4):
        restored = tmp_path / f"restored-{number}"
        assert len(archive.verify(restored)) == 0
        with liqdata.open(restored) as market:
            orders = list(market.iter_orders())
            now = market.now.timestamp() * 1000
            assert orders == [row for row in written if row["timestamp"] <= now]
            counts.append(len(orders))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] <= len(written)


def test_a_file_that_the_retention_deletes_meanwhile_starts_the_copy_again(folder, tmp_path, monkeypatch):
    real, taken = _core.snapshot_journal, []

    def snapshot(path, into):
        taken.append(into)
        series, closed, files, *others = real(path, into)
        if len(taken) == 1:  # the archive still has a file that is gone when it is copied
            path, *facts, place = files[0]
            files.append((f"{path}-gone", *facts, f"{place}-gone"))
        return series, closed, files, *others

    monkeypatch.setattr(_core, "snapshot_journal", snapshot)
    archive.backup(folder, tmp_path / "backup")
    assert len(taken) == 2
    assert names(tmp_path / "backup") == names(folder)


def test_files_that_the_archive_deleted_leave_the_backup(folder, tmp_path):
    target = tmp_path / "backup"
    (folder / "raw/date=2026-06-01").mkdir(parents=True)
    frames = folder / "raw/date=2026-06-01/okx-1.jsonl.zst"
    frames.write_bytes(b"frames")
    archive.backup(folder, target)
    frames.write_bytes(b"more frames")
    assert archive.backup(folder, target).sent == 2
    assert (target / "raw/date=2026-06-01/okx-1.jsonl.zst").read_bytes() == b"more frames"
    frames.unlink()
    frames.parent.rmdir()
    archive.backup(folder, target)
    assert names(target) == names(folder)
    assert not (target / "raw/date=2026-06-01").exists()


@pytest.mark.parametrize("where", ["folder", "bucket"])
def test_a_target_with_anything_else_is_refused_and_left_alone(where, s3, folder, tmp_path):
    def target(name):
        return tmp_path / name if where == "folder" else f"s3://kept/{name}"

    other = buckets.archive(tmp_path / "other")
    archive.backup(other, target("backup-of-other"))
    with pytest.raises(ArchiveError, match="is a backup of another archive"):
        archive.backup(folder, target("backup-of-other"))
    # An earlier backup is no successor of a later one.
    archive.backup(folder, tmp_path / "early")
    buckets.more(folder)
    archive.backup(folder, target("later"))
    with pytest.raises(ArchiveError, match="has later rows than the archive"):
        archive.backup(tmp_path / "early", target("later"))
    if where == "folder":
        (tmp_path / "letters").mkdir()
        (tmp_path / "letters/dear.txt").write_text("me")
    else:
        s3.put("letters/dear.txt", b"me")
    with pytest.raises(ArchiveError, match=r"already contains 'dear\.txt'"):
        archive.backup(folder, target("letters"))
    before = answers(other)
    with pytest.raises(ArchiveError, match="is an archive that a process has written to, not a backup"):
        archive.backup(folder, other)
    assert answers(other) == before
    with liqdata.open(folder) as market:
        market.export(target("exported"))
    with pytest.raises(ArchiveError, match="is an archive, not a backup"):
        archive.backup(folder, target("exported"))


def test_a_restored_archive_that_was_written_to_takes_no_backup(folder, tmp_path):
    archive.backup(folder, tmp_path / "backup")
    archive.backup(tmp_path / "backup", tmp_path / "restored")
    archive.backup(tmp_path / "backup", tmp_path / "restored")  # nothing was written to it
    buckets.more(tmp_path / "restored")
    with pytest.raises(ArchiveError, match="that a process has written to, not a backup"):
        archive.backup(tmp_path / "backup", tmp_path / "restored")
    (tmp_path / "restored/writer.lock").unlink()
    with pytest.raises(ArchiveError, match="is an archive, not a backup"):
        archive.backup(tmp_path / "backup", tmp_path / "restored")


def test_a_damaged_file_is_not_copied_and_named(folder, tmp_path):
    archive.backup(folder, tmp_path / "backup")
    buckets.more(folder)
    file = max(folder.rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    before = answers(tmp_path / "backup")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(ArchiveError, match=f"{file.name} is damaged: the file's SHA-256 is"):
        archive.backup(folder, tmp_path / "backup")
    file.unlink()
    with pytest.raises(ArchiveError, match=f"{file.name} is damaged: the file is missing"):
        archive.backup(folder, tmp_path / "backup")
    assert answers(tmp_path / "backup") == before


def test_places_in_each_other_and_missing_archives_are_refused(folder, tmp_path):
    for target in (folder, folder / "backup", tmp_path):
        with pytest.raises(BadQuery, match="lie in each other") as caught:
            archive.backup(folder, target)
        assert caught.value.parameter == "target"
    for target in ("", None, 5, "gopher://x", "s3://"):
        with pytest.raises(BadQuery, match="target: "):
            archive.backup(folder, target)
    with pytest.raises(ArchiveError, match="is not an archive: there is no such folder"):
        archive.backup(tmp_path / "nothing", tmp_path / "backup")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArchiveError, match=r"is not an archive: there is no journal\.sqlite in it"):
        archive.backup(tmp_path / "empty", tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_the_command_backs_up_and_restores(folder, tmp_path, capsys):
    target, restored = str(tmp_path / "backup"), str(tmp_path / "restored")
    assert cli.main(["backup", str(folder), target]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{target} has the archive as of 20")
    assert "were copied: " in said
    assert cli.main(["backup", target, restored, "--json"]) == 0
    assert '"taken_at": "20' in capsys.readouterr().out
    assert answers(restored) == answers(folder)
    assert cli.main(["backup", str(tmp_path / "nothing"), restored]) == cli.FAILED
    assert cli.main(["backup", str(folder), str(folder)]) == cli.USAGE
    assert cli.main(["backup", str(folder)]) == cli.USAGE


def test_a_backup_keeps_the_day_that_is_not_over(folder, tmp_path):
    archive.backup(folder, tmp_path / "backup")
    with liqdata.open(tmp_path / "backup") as market:
        assert market.now.timestamp() * 1000 > NOW - HOUR
        assert market.overview()["1h"]["cnt"] == answers(folder)["overview"]["1h"]["cnt"]
