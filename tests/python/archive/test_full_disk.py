"""Full disks: what did not fit is named, as an error of this package, and nothing half is left."""

import lzma
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dumped import kline, written

import liqdata
from liqdata import ArchiveError, cli

MEGABYTE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if not mount or not umount:
        pytest.skip("no disk can be mounted")
    words = [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    mounted = subprocess.run(words, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk could be mounted: {mounted.stderr}")
    yield folder
    subprocess.run([umount, "--lazy", folder], check=True)


def fill(disk: Path, *, left: int = 0) -> Path:
    """Take all space but ``left`` bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                break
    os.truncate(ballast, ballast.stat().st_size - left)
    return ballast


def stored(folder: Path) -> Path:
    """An archive of the simulated market's orders of two days."""
    liqdata.ingest(folder, orders=liqdata.demo().iter_orders("BTC", start="2026-05-10", end="2026-05-12"))
    return folder


def test_a_file_of_an_answer_that_does_not_fit_is_named(
    tmp_path: Path, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = stored(tmp_path / "archive")
    ballast = fill(disk)
    with liqdata.open(archive) as market:
        rows = market.orders("BTC", limit=1000)
        for write in (rows.to_parquet, rows.to_csv):
            file = disk / "orders"
            with pytest.raises(ArchiveError, match=f"^{file}: No space left on device$") as raised:
                write(file)
            assert raised.value.path == str(file)
            assert list(disk.iterdir()) == [ballast]
    for file in (disk / "orders.parquet", Path("/dev/full")):
        words = ["orders", "--archive", str(archive), "--all", "--parquet", str(file)]
        assert cli.main(words) == 1
        said = capsys.readouterr().err.splitlines()
        assert said[-1] == f"liqdata: {file}: No space left on device"
        assert cli.main(["coins", "--archive", str(archive), "--parquet", "/dev/full"]) == 1
        assert "/dev/full: No space left on device" in capsys.readouterr().err


def test_a_cache_that_is_too_small_is_named(tmp_path: Path, disk: Path) -> None:
    pytest.importorskip("obstore")
    export = (tmp_path / "export").as_uri()
    with liqdata.open(stored(tmp_path / "archive")) as market:
        market.export(export)
    ballast = fill(disk, left=8192)
    size = sum(file.stat().st_size for file in (tmp_path / "export").rglob("*") if file.is_file())
    for left in (8192, size // 3, size - 20_000):
        os.truncate(ballast, MEGABYTE - left)
        with pytest.raises(ArchiveError, match=f"^{disk}/") as raised:
            liqdata.open(export, cache=disk)
        assert "space" in str(raised.value)
        assert raised.value.path.startswith(str(disk))
    ballast.unlink()
    with liqdata.open(export, cache=tmp_path / "cache") as market:
        assert next(market.iter_orders())


def test_an_ingest_names_what_does_not_fit(tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [kline(place) for place in range(5000)]
    file = written(tmp_path, "BTCUSDT-1m-2024-01.csv", *lines)
    archive = disk / "archive"
    ballast = fill(disk, left=180_000)
    with pytest.raises(ArchiveError, match=f"{archive}/"):
        liqdata.ingest(archive, file)
    ballast.unlink()
    done = liqdata.ingest(archive, file)
    assert (done.rows, done.new + done.repeated) == (5000, 5000)
    # The record of what was ingested is a file as well.
    ballast = fill(disk)
    with pytest.raises(ArchiveError, match="space"):
        liqdata.ingest(archive, file, source="x" * 9000)
    ballast.unlink()
    packed = tmp_path / "ETHUSDT-1m-2024-01.csv.xz"
    packed.write_bytes(lzma.compress(file.read_bytes())[:-9])
    with pytest.raises(liqdata.BadQuery, match="cut short or damaged"):
        liqdata.ingest(archive, packed)
    assert not liqdata.archive.verify(archive)
