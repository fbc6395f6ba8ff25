"""``liqdata.archive.rebuild`` and ``liqdata rebuild``: raw frames are decoded again."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import asdict
from pathlib import Path

import pytest
import samples

import liqdata
from liqdata import _core, cli


@pytest.fixture
def folder(tmp_path):
    """An archive with orders and without frames."""
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    bars = samples.bars()
    bars["interval"] = [5 * samples.MINUTE] * len(bars["symbol"])
    writer.append(samples.orders(), bars, samples.open_interest())
    writer.close()
    return path


def test_a_rebuild_leaves_rows_without_frames_unchanged(folder, capsys):
    with liqdata.open(folder) as market:
        before = market.overview()
    done = liqdata.archive.rebuild(folder)
    assert asdict(done) == {
        **dict.fromkeys(("frames", "unread", "same", "corrected", "new", "gone", "doubtful"), 0),
        "dry_run": False,
        "exchanges": {},
        "damaged": {},
    }
    with liqdata.open(folder) as market:
        assert market.overview() == before
    assert cli.main(["rebuild", str(folder), "--from", "2026-11-01", "--exchanges", "okx,gate", "--dry-run"]) == 0
    assert capsys.readouterr().out == "0 frames read: 0 orders the same, 0 corrected, 0 new, 0 gone, if it were done\n"
    assert cli.main(["rebuild", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == asdict(done)
    capsys.readouterr()
    for option, value, said in (
        ("--exchanges", "mtgox", 'exchanges: "mtgox" is not'),
        ("--from", "then", "from: 'then' is not an instant"),
        ("--start", "1", "did you mean --from?"),
    ):
        assert cli.main(["rebuild", str(folder), option, value]) == 2
        assert said in capsys.readouterr().err


def test_only_a_dry_run_reads_an_archive_with_a_writer(folder):
    writer = _core.ArchiveWriter(folder)
    with pytest.raises(liqdata.ArchiveError, match="is being written by"):
        liqdata.archive.rebuild(folder)
    assert liqdata.archive.rebuild(folder, dry_run=True).frames == 0
    writer.close()


EMPTY = bytes.fromhex("28b52ffd2000010000")  # what zstd makes of nothing


def frames_of(folder, content):
    """A file of frames of OKX with this content."""
    day = Path(folder, "raw", "date=2026-11-20")
    day.mkdir(parents=True, exist_ok=True)
    file = day / f"okx-{uuid.uuid7() if hasattr(uuid, 'uuid7') else uuid.uuid4()}.jsonl.zst"
    file.write_bytes(content)
    return file


SOURCE = """
import signal, sys, time
import liqdata
import liqdata.archive
signal.signal(signal.SIGUSR1, signal.default_int_handler)
print("ready", flush=True)
try:
    getattr(liqdata.archive, sys.argv[2])(sys.argv[1])
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
else:
    print("came to its end", flush=True)
"""


def interrupted(folder, verb):
    """How long an interrupt a third of a second after the start has to wait, in seconds."""
    command = [sys.executable, "-c", SOURCE, str(folder), verb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        asked = time.monotonic()
        child.send_signal(signal.SIGUSR1)
        said = child.stdout.readline().strip()
        assert child.wait() == 0
    assert said != "came to its end"
    return float(said) - asked


@pytest.mark.parametrize("verb", ["rebuild", "verify"])
def test_frames_of_tiny_messages_do_not_delay_an_interrupt(folder, verb):
    for _ in range(2):
        frames_of(folder, EMPTY * 300_000)
    within = 0.15 if os.environ.get("LIQDATA_SOAK") else 1.0  # on a machine that does more than this
    assert interrupted(folder, verb) < within


def test_links_among_the_frames_are_reported_and_not_followed(folder, tmp_path, capsys):
    foreign = tmp_path / "foreign"
    content = b"no zstd: whoever reads this says so"
    of_foreign = frames_of(foreign, content)
    whole = frames_of(folder, EMPTY)
    day = folder / "raw" / "date=2026-11-21"
    day.symlink_to(of_foreign.parent)
    file = whole.with_name(of_foreign.name)
    file.symlink_to(of_foreign)
    reason = "it is a link, which is not followed"
    assert liqdata.archive.rebuild(folder).damaged == {str(link): reason for link in (day, file)}
    found = liqdata.archive.verify(folder)
    assert [(row["file"], row["problem"]) for row in found] == [
        (str(link.relative_to(folder)), "unexpected") for link in (file, day)
    ]
    # The whole folder, too.
    moved = tmp_path / "moved"
    (folder / "raw").rename(moved)
    (folder / "raw").symlink_to(moved)
    assert liqdata.archive.rebuild(folder, dry_run=True).damaged == {str(folder / "raw"): reason}
    assert [(row["file"], row["problem"]) for row in liqdata.archive.verify(folder)] == [("raw", "unexpected")]
    assert cli.main(["rebuild", str(folder)]) == 0
    assert "is a link, which is not followed" in capsys.readouterr().out
    assert of_foreign.read_bytes() == content


@pytest.mark.parametrize(
    "address", ["s3://bucket/prefix", "gs://bucket/x", "file:///tmp/nowhere", Path("s3://bucket/x")]
)
def test_a_rebuild_needs_a_local_archive(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    doings = {
        "rebuild": liqdata.archive.rebuild,
        "verify": liqdata.archive.verify,
        "ingest": lambda path: liqdata.ingest(path, bars=samples.bars(), exchange="okx"),
        "collect": lambda path: liqdata.collect(path, exchanges="okx", once=True),
    }
    for name, doing in doings.items():
        with pytest.raises(
            liqdata.BadQuery, match="is an address, but this operation needs an archive on this machine"
        ) as no:
            doing(address)
        assert no.value.parameter == "path", name
        assert "Market.export" in str(no.value), name
    assert cli.main(["rebuild", str(address)]) == 2
    assert "is an address" in capsys.readouterr().err
    # Nothing was made that is called so.
    assert list(tmp_path.iterdir()) == []
