"""``liqdata.archive.verify`` and ``liqdata verify``: what is wrong with an archive, and putting it right."""

import json
import sqlite3
import warnings

import pytest
import samples
from samples import HOUR, MINUTE, NOW

import liqdata
from liqdata import _core, cli, types
from liqdata.errors import ArchiveError

COLUMNS = ["file", "holds", "problem", "detail", "rows", "first", "last", "repaired"]


@pytest.fixture
def folder(tmp_path):
    """An archive with a day in files and the rest in the journal."""
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    bars = samples.bars()
    bars["interval"] = [5 * MINUTE] * len(bars["symbol"])
    writer.append(samples.orders(), bars, samples.open_interest())
    writer.run("okx", "complete", NOW - 12 * HOUR, NOW)
    writer.roll(NOW - 24 * HOUR)
    writer.close()
    return path


def damage(folder):
    """Flip a bit of a file, lose another, and add one that the archive did not write."""
    files = sorted(folder.glob("orders/**/*.parquet"))
    body = bytearray(files[0].read_bytes())
    body[len(body) // 2] ^= 4
    files[0].write_bytes(body)
    lost = min(folder.glob("bars/**/*.parquet"))
    lost.unlink()
    (files[0].parent / "mine.parquet").write_bytes(b"mine")
    return files[0], lost


def change_row(folder):
    """Change an order in the journal and return its row id."""
    with sqlite3.connect(folder / "journal.sqlite") as journal:
        (changed,) = journal.execute("SELECT min(id) FROM orders").fetchone()
        journal.execute("UPDATE orders SET value_usd = '9e9' WHERE id = ?", [changed])
    journal.close()
    return changed


def test_a_sound_archive_has_no_problems_and_exit_code_0(folder, capsys):
    found = liqdata.archive.verify(folder)
    assert (len(found), found.columns) == (0, COLUMNS)
    assert list(types.FindingRow.__annotations__) == COLUMNS
    assert cli.main(["verify", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder} has no damage\n"


def test_every_problem_is_a_row_and_a_repair_makes_it_a_gap(folder, capsys):
    flipped, lost = damage(folder)
    found = list(liqdata.archive.verify(folder))
    assert [(row["file"], row["problem"]) for row in found] == [
        (str(lost.relative_to(folder)), "missing"),
        (str(flipped.relative_to(folder)), "damaged"),
        (str((flipped.parent / "mine.parquet").relative_to(folder)), "unexpected"),
    ]
    assert not any(row["repaired"] for row in found)
    assert "SHA-256" in found[1]["detail"]
    assert found[1]["rows"] > 0
    assert NOW - 48 * HOUR < found[1]["first"] <= found[1]["last"] < NOW
    # Looking changes nothing.
    assert list(liqdata.archive.verify(folder)) == found

    assert cli.main(["verify", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == found
    assert cli.main(["verify", str(folder), "--repair"]) == 0
    assert capsys.readouterr().out.count("moved to the folder `damaged` and recorded as a gap") == 2
    again = list(liqdata.archive.verify(folder))
    assert [row["repaired"] for row in again] == [True, True, False]
    assert (folder / "damaged" / flipped.relative_to(folder)).exists()
    with liqdata.open(folder) as market:
        reasons = {row["reason"] for row in market.gaps()}
        assert "damaged file" in reasons
        assert {row["holds"] for row in market.gaps()} == {None, "bars"}
        assert {row["holds"] for row in market.liqmap("BTC", "7d").meta["explain"]["damaged"]} >= {"bars"}


def test_a_damaged_journal_is_refused_with_the_remedies(folder, capsys):
    changed = change_row(folder)
    refusals = [
        lambda: liqdata.open(folder),
        lambda: liqdata.archive.verify(folder, repair=True),
    ]
    for refusal in refusals:
        with pytest.raises(ArchiveError, match=rf"row {changed} of table orders has a wrong checksum") as refused:
            refusal()
        assert "`sqlite3 journal.sqlite .recover`" in str(refused.value)
        assert "`liqdata verify --repair`" in str(refused.value)
        assert refused.value.path == str(folder / "journal.sqlite")
    (found,) = liqdata.archive.verify(folder)
    assert (found["file"], found["problem"], found["repaired"]) == ("journal.sqlite", "damaged", False)
    assert cli.main(["verify", str(folder), "--repair"]) != 0
    assert "sqlite3 journal.sqlite .recover" in capsys.readouterr().err


def test_a_lost_journal_is_replaced_by_one_that_lists_the_files(folder, capsys):
    def answers():
        with liqdata.open(folder) as market:
            end = NOW - 24 * HOUR
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", liqdata.NotCovered)  # no session covers this day
                history = market.history("BTC", start=NOW - 48 * HOUR, end=end, sparse=True)
            return [
                [order for order in market.iter_orders(start=0) if order["timestamp"] < end],
                list(market.bars("BTC", start=NOW - 48 * HOUR, end=end)),
                [row["total_usd"] for row in history],
            ]

    writer = _core.ArchiveWriter(folder)
    writer.roll(NOW + 48 * HOUR)
    writer.close()
    before = answers()
    (folder / "journal.sqlite").unlink()
    with pytest.raises(ArchiveError, match=r"no journal\.sqlite; .* `liqdata verify --repair`"):
        liqdata.open(folder)
    assert cli.main(["verify", str(folder), "--repair"]) == 0
    said = capsys.readouterr().out
    files = len(list(folder.glob("*/**/*.parquet")))
    assert f"journal.sqlite: missing, replaced: a new journal lists {files} Parquet files" in said
    assert answers() == before
    assert list(liqdata.archive.verify(folder)) == []
    with liqdata.open(folder) as market:
        gaps = market.gaps(start=0)
        assert {row["reason"].partition(" of ")[0] for row in gaps} == {"damaged row"}


def test_the_command_line_warns_that_a_walk_lacks_rows(folder, capsys):
    words = ["orders", "--archive", str(folder), "--all", "--csv"]
    assert cli.main(words) == 0
    assert "incomplete" not in capsys.readouterr().err
    min(folder.glob("orders/**/*.parquet")).unlink()
    assert cli.main(words) == 1
    assert "liqdata: incomplete: 1 file of the archive is damaged" in capsys.readouterr().err


def test_a_repair_needs_exclusive_access(folder):
    damage(folder)
    writer = _core.ArchiveWriter(folder)
    with pytest.raises(ArchiveError, match="is being written by"):
        liqdata.archive.verify(folder, repair=True)
    writer.close()


def test_a_folder_without_an_archive_is_refused(tmp_path, capsys):
    with pytest.raises(ArchiveError, match="is not an archive"):
        liqdata.archive.verify(tmp_path)
    assert cli.main(["verify", str(tmp_path)]) != 0
    assert "is not an archive" in capsys.readouterr().err


def test_an_interrupt_between_two_files_ends_a_verification(folder):
    def seen(_read, _of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.verify(folder, repair=False, seen=seen)


def test_progress_counts_the_journal_and_the_files(folder):
    calls = []
    liqdata.archive.verify(folder, progress=lambda *how_far: calls.append(how_far))
    files = 1 + len(list(folder.glob("*/**/*.parquet")))
    assert calls == [(done, files) for done in range(1, files + 1)]


def test_progress_of_a_repair_counts_them_twice(folder):
    files = 1 + len(list(folder.glob("*/**/*.parquet")))
    damaged = min(folder.glob("*/**/*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-40])
    calls = []
    liqdata.archive.verify(folder, repair=True, progress=lambda *how_far: calls.append(how_far))
    assert calls[: files - 1] == [(done, files) for done in range(1, files)]
    assert calls[files - 1] == (files, 2 * files)
    done, of = zip(*calls[files:], strict=True)
    assert done == tuple(sorted(set(done)))
    assert done[-1] == 2 * files
    assert set(of) == {2 * files}


def test_a_relative_path_names_the_same_files(folder, monkeypatch):
    min(folder.glob("orders/**/*.parquet")).write_bytes(b"PAR1")
    (folder / "orders" / "strange.parquet").write_bytes(b"PAR1")
    problems = list(liqdata.archive.verify(folder))
    monkeypatch.chdir(folder.parent)
    assert list(liqdata.archive.verify(f"../{folder.parent.name}/{folder.name}")) == problems
    assert {(row["holds"], row["file"].partition("/")[0]) for row in problems} == {("orders", "orders")}


@pytest.mark.parametrize("repair", [1, 0, None, "yes"])
def test_the_repair_option_takes_true_or_false(folder, repair):
    with pytest.raises(liqdata.BadQuery, match=r"repair: .* is not allowed; allowed: True or False") as refused:
        liqdata.archive.verify(folder, repair=repair)
    assert refused.value.parameter == "repair"
