"""Files that were read to their end are skipped, unless something may have changed what an ingest of them stores."""

import io
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dumped import DAY, START, kline, written

import liqdata

HEADER = "timestamp,exchange,symbol,side,price,qty"


@pytest.fixture
def won(tmp_path: Path) -> Path:
    """Two orders, one of them in a quote that needs a rate."""
    lines = [f"{START},okx,BTCUSDT,LONG,50000,1", f"{START},okx,BTCKRW,LONG,70000000,1"]
    return written(tmp_path, "orders.csv", *lines, header=HEADER)


def swapped(file: Path, old: str, new: str) -> None:
    """Change a file so that it looks unchanged: only an ingest that reads it can tell."""
    was = file.stat()
    file.write_text(file.read_text().replace(old, new))
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


def test_a_file_with_refused_rows_is_read_again(folder: Path, won: Path) -> None:
    assert sum(liqdata.ingest(folder, won).refused.values()) == 1
    again = liqdata.ingest(folder, won, quote_rates={"KRW": 0.0007})
    assert (again.new, again.repeated, dict(again.refused)) == (1, 1, {})


def test_open_interest_in_usd_is_read_again_once_there_are_bars(tmp_path: Path, folder: Path) -> None:
    lines = [f"{START + minute * 60_000},binance,BTCUSDT,{300_000 + minute}" for minute in range(0, 60, 5)]
    interest = written(tmp_path, "oi.csv", *lines, header="timestamp,exchange,symbol,open_interest_usd")
    bars = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", *[kline(minute, volume="700") for minute in range(-9, 70)])
    liqdata.ingest(folder, written(tmp_path, "orders.csv", f"{START},okx,BTCUSDT,LONG,50000,1", header=HEADER))
    assert liqdata.ingest(folder, interest).new == 0
    liqdata.ingest(folder, bars)
    assert liqdata.ingest(folder, interest).new == len(lines)


@pytest.mark.parametrize(
    "before, after",
    [
        ({"KRW": 0.0007}, {"KRW": 0.0008}),
        ({"KRW": 0.0007}, {"KRW": 0.0007, "EUR": 1.1}),
        (
            {"KRW": {"timestamp": np.arange(2000), "rate": np.full(2000, 0.0007)}},
            {"KRW": {"timestamp": np.arange(2000), "rate": np.full(2000, 0.0007) + (np.arange(2000) == 999) / 1e5}},
        ),
        (
            {"KRW": pd.DataFrame({"timestamp": [0], "rate": [0.0007]})},
            {"KRW": pd.DataFrame({"timestamp": [0], "rate": [0.0009]})},
        ),
    ],
)
def test_a_file_is_read_again_with_other_rates_only(
    folder: Path, won: Path, before: dict[str, object], after: dict[str, object]
) -> None:
    assert liqdata.ingest(folder, won, quote_rates=before).new == 2
    swapped(won, "50000", "60000")
    assert liqdata.ingest(folder, won, quote_rates=before).new == 0
    assert liqdata.ingest(folder, won, quote_rates=after).new == 1


def test_a_file_is_read_again_with_other_sizes_of_contracts_only(tmp_path: Path, folder: Path) -> None:
    file = written(tmp_path, "orders.csv", f"{START},okx,BTC-USDT-SWAP,LONG,50000,1", header=HEADER)
    sizes = [np.full(2000, 0.01), np.full(2000, 0.01)]
    sizes[1][999] = 0.1
    names = [f"C{place}-USDT-SWAP" for place in range(1999)] + ["BTC-USDT-SWAP"]
    one, other = ({"symbol": names, "contract_size": size} for size in sizes)
    assert liqdata.ingest(folder, file, contract_size=one).new == 1
    swapped(file, "50000", "60000")
    assert liqdata.ingest(folder, file, contract_size=one).new == 0
    assert liqdata.ingest(folder, file, contract_size=other).new == 1


def test_a_restored_copy_of_an_archive_is_filled_again(tmp_path: Path, folder: Path) -> None:
    files = [written(tmp_path, f"BTCUSDT-1m-2024-01-0{day}.csv", kline(0, start=START + day * DAY)) for day in (2, 3)]
    liqdata.ingest(folder, files[0])
    shutil.copytree(folder, tmp_path / "copy")
    assert liqdata.ingest(folder, *files).new == 1
    # Restored in place, so that the journal is still the same file to the system.
    shutil.rmtree(folder / "bars")
    shutil.copytree(tmp_path / "copy/bars", folder / "bars")
    shutil.copyfile(tmp_path / "copy/journal.sqlite", folder / "journal.sqlite")
    done = liqdata.ingest(folder, *files)
    assert (done.new, done.repeated) == (1, 1)
    assert not liqdata.archive.verify(folder)


def test_standard_input_is_always_read(
    tmp_path: Path, folder: Path, won: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("not what is read")
    for price in ("50000", "60000"):
        text = won.read_text().replace("50000", price).replace("BTCKRW", "ETHUSDT")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert liqdata.ingest(folder, "-", format="orders").new in {1, 2}
    with liqdata.open(folder) as market:
        assert sorted(float(row["price"]) for row in market.iter_orders("BTC", start=START)) == [50000, 60000]
