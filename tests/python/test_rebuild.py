"""``liqdata.rebuild`` and ``liqdata rebuild``: what is kept as it came, read anew."""

import json
from dataclasses import asdict

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


def test_what_came_without_frames_stays_as_it_is(folder, capsys):
    with liqdata.open(folder) as market:
        before = market.overview()
    done = liqdata.rebuild(folder)
    assert asdict(done) == {
        **dict.fromkeys(("frames", "unread", "same", "corrected", "new", "gone", "doubtful"), 0),
        "dry_run": False,
        "exchanges": {},
        "damaged": {},
    }
    with liqdata.open(folder) as market:
        assert market.overview() == before
    assert cli.main(["rebuild", str(folder), "--from", "2026-11-01", "--venues", "okx,gate", "--dry-run"]) == 0
    assert capsys.readouterr().out == "0 frames read: 0 orders the same, 0 corrected, 0 new, 0 gone, if it were done\n"
    assert cli.main(["rebuild", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == asdict(done)
    capsys.readouterr()
    for option, value, said in (
        ("--venues", "mtgox", 'venues: "mtgox" is not'),
        ("--from", "then", "from: 'then' is not an instant"),
        ("--start", "1", "did you mean --from?"),
    ):
        assert cli.main(["rebuild", str(folder), option, value]) == 2
        assert said in capsys.readouterr().err


def test_an_archive_that_is_written_is_left_alone_but_for_a_dry_run(folder):
    writer = _core.ArchiveWriter(folder)
    with pytest.raises(liqdata.ArchiveError, match="is being written by"):
        liqdata.rebuild(folder)
    assert liqdata.rebuild(folder, dry_run=True).frames == 0
    writer.close()
