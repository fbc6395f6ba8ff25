"""What an archive takes on the disk: metrics of it, and days that are deleted by their age."""

import re
import shutil
import time
import urllib.request

import buckets
import pytest

import liqdata
from liqdata.errors import BadQuery


@pytest.fixture
def folder(tmp_path):
    return buckets.archive(tmp_path / "archive")


def test_metrics_say_what_takes_the_disk_and_how_much_is_free(folder):
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        page = urllib.request.urlopen(f"{server.url}/metrics", timeout=30).read().decode()
    found = {name: float(value) for name, value in re.findall(r"^(liqdata_\S+) (\S+)$", page, re.MULTILINE)}
    for part in ("orders", "bars", "open_interest"):
        size = sum(path.stat().st_size for path in (folder / part).rglob("*.parquet"))
        assert found[f'liqdata_archive_bytes{{part="{part}"}}'] == size > 0
    assert found['liqdata_archive_bytes{part="journal"}'] >= (folder / "journal.sqlite").stat().st_size
    disk = shutil.disk_usage(folder)
    assert found["liqdata_disk_size_bytes"] == disk.total
    assert 0 < found["liqdata_disk_free_bytes"] < disk.total
    is_low = found["liqdata_disk_free_bytes"] < min(10 << 30, disk.total / 10)
    assert found["liqdata_disk_low"] == is_low


def test_a_collector_deletes_days_that_exceed_the_retention(folder, nowhere):
    with liqdata.open(folder) as market:
        assert len(list(market.iter_orders())) > 0
        bars = list(market.bars("BTC"))
    with liqdata.collect(
        folder, exchanges="okx", settings=f"orders_days = 7\nhistory_days = 0\n{nowhere}"
    ) as collector:
        until = time.monotonic() + 60
        market = collector.market()
        while len(list(market.iter_orders())) > 0:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert list(market.bars("BTC")) == bars
        # The archive no longer says that these days are covered.
        assert all(row["connected_share"] in (None, 0) for row in market.coverage("24h", as_of=bars[-1]["timestamp"]))
    assert len(liqdata.archive.verify(folder)) == 0


@pytest.mark.parametrize("setting", ["orders_days", "bars_days", "open_interest_days", "positions_days", "maps_days"])
def test_a_number_of_days_is_checked(setting, tmp_path):
    for value in (0, -1, 40_000, 1.5, "week"):
        with pytest.raises(BadQuery, match=setting):
            liqdata.collect(tmp_path / "archive", exchanges="okx", settings={setting: value})
    assert not (tmp_path / "archive").exists()
