"""``liqdata.ingest`` and ``liqdata ingest``: what is refused, what is said, and recorded files."""

import json
import os
import time
from pathlib import Path

import pytest
from dumped import DAY, LIQUIDATIONS, MINUTE, START, force, is_sound, kline, written

import liqdata
from liqdata import _core, cli
from liqdata.errors import ArchiveError, BadQuery

RECORDED = os.environ.get("LIQDATA_REAL_DATA")


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("x.csv", "a,b,c\n1,2,3\n", "do not match any format"),
        ("x.csv", "", "it is empty"),
        ("x.csv", "1,2,3\n", "it has no header"),
        ("x.json", '{"code": "0", "data": []}', "CoinGlass"),
        ("BTCUSDT.csv", LIQUIDATIONS + "\n" + force(1) + "\n", "does not begin with a contract"),
        ("x.csv", "timestamp,open,high,low,close,volume\n1704153600000,1,2,1,1,1\n", "give exchange="),
    ],
)
def test_an_ambiguous_ingest_is_refused_before_anything_is_written(tmp_path, folder, name, text, said):
    good = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0))
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadQuery, match=said) as refused:
        liqdata.ingest(folder, good, file)
    assert refused.value.parameter == "files"
    assert str(file) in str(refused.value)
    assert not folder.exists()


@pytest.mark.parametrize(
    "asked, parameter",
    [
        ({"positions": {"symbol": []}}, "positions"),
        ({"format": "csv"}, "format"),
        ({"format": 7}, "format"),
        ({"exchange": ""}, "exchange"),
        ({"source": b"x"}, "source"),
        ({"new_exchange": "mine", "bars": {"symbol": []}}, "new_exchange"),
        ({}, "files"),
    ],
)
def test_an_invalid_argument_is_refused_by_its_parameter(folder, asked, parameter):
    with pytest.raises(BadQuery) as refused:
        liqdata.ingest(folder, **asked)
    assert refused.value.parameter == parameter
    assert "allowed: " in str(refused.value)


def test_missing_files_and_folders_are_refused(tmp_path, folder):
    for file in (tmp_path / "nowhere.csv", tmp_path):
        with pytest.raises(BadQuery, match="files: "):
            liqdata.ingest(folder, file)
    with pytest.raises(BadQuery, match="a dict is not a file"):
        liqdata.ingest(folder, {"timestamp": []})


@pytest.mark.parametrize("lead", ["{}//", "{}/./", "{}/sub/../"])
def test_a_path_may_have_any_spelling(tmp_path, folder, lead):
    (tmp_path / "sub").mkdir()
    names = [written(tmp_path, f"BTCUSDT-1m-2024-01-0{day}.csv", kline(day)).name for day in (2, 3)]
    files = [lead.format(tmp_path) + name for name in names]
    assert liqdata.ingest(folder, *files).new == 2
    # Both files are on record as finished.
    assert liqdata.ingest(folder, *files).repeated == 2
    assert len((folder / "finished.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("cut", ["line", "gzip", "zip"])
def test_a_truncated_file_gives_its_rows_and_names_its_end(tmp_path, folder, cut):
    lines = [kline(place) for place in range(900)]
    ending = {"line": ".csv", "gzip": ".csv.gz", "zip": ".zip"}[cut]
    file = written(tmp_path, f"BTCUSDT-1m-2024-01-02{ending}", *lines)
    body = file.read_bytes()
    if cut == "zip":
        # Its table of contents stands at the end: without it a zip is none.
        file.write_bytes(body[: len(body) // 2])
        with pytest.raises(BadQuery, match="files: "):
            liqdata.ingest(folder, file)
        return
    file.write_bytes(body[: len(body) // 2 - 9])
    done = liqdata.ingest(folder, file)
    assert 0 < done.new < 900
    assert sum(done.refused.values()) == 1
    (reason,) = done.refused
    assert ("fewer cells" if cut == "line" else "cut short") in reason
    assert done.cut_short == (str(file),)
    assert "truncated" in str(done)
    assert not (folder / "finished.jsonl").exists()
    assert cli.main(["ingest", str(folder), str(file)]) == 1
    # The whole file later adds the rest, and nothing twice.
    file.write_bytes(body)
    again = liqdata.ingest(folder, file)
    assert (again.new, again.repeated, again.refused, again.cut_short) == (900 - done.new, done.new, {}, ())


def test_an_ingest_is_refused_while_a_collector_writes(tmp_path, folder):
    writer = _core.ArchiveWriter(folder)
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0))
    with pytest.raises(ArchiveError, match=f"is being written by process {os.getpid()}"):
        liqdata.ingest(folder, file)
    writer.close()
    assert liqdata.ingest(folder, file).new == 1


def test_rows_of_an_unfinished_day_go_through_the_journal(folder):
    now = int(time.time() * 1000) // MINUTE * MINUTE - 5 * MINUTE
    bars = {
        "timestamp": [now, now + MINUTE],
        "symbol": ["BTC"] * 2,
        "open": [1.0] * 2,
        "high": [1.0] * 2,
        "low": [1.0] * 2,
        "close": [1.0] * 2,
        "volume": [1.0] * 2,
    }
    assert liqdata.ingest(folder, bars=bars, exchange="okx").new == 2
    assert liqdata.ingest(folder, bars=bars, exchange="okx").repeated == 2
    with liqdata.open(folder) as market:
        assert len(list(market.bars("BTC", interval="1m"))) == 2


def test_an_open_market_sees_ingested_rows(tmp_path, folder):
    liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0)))
    with liqdata.open(folder) as market:
        assert len(list(market.bars("BTC", interval="1m"))) == 1
        liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-03.csv", kline(0, start=START + DAY)))
        assert len(list(market.bars("BTC", interval="1m"))) == 2
        snapshot = written(tmp_path, "BTCUSDT-liquidationSnapshot-2024-01-03.csv", force(DAY + 1), header=LIQUIDATIONS)
        liqdata.ingest(folder, snapshot)
        assert market.coins("24h")[0]["coin"] == "BTC"


def test_one_row_is_reported_in_the_singular(tmp_path, folder):
    done = liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0)))
    assert str(done) == "1 row read: 1 new, 0 repeated, 0 refused"


def test_the_command_prints_its_counts_and_fails_without_accepted_rows(tmp_path, folder, capsys):
    good = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0), "x,1,1,1,1,1,1,1,1,1,1,1")
    assert cli.main(["ingest", str(folder), str(good)]) == 0
    out = capsys.readouterr().out
    assert f"{good}: binance_klines" in out
    assert "2 rows read: 1 new, 0 repeated, 1 refused" in out
    assert cli.main(["ingest", str(folder), str(good), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["new"], printed["repeated"], sum(printed["refused"].values())) == (0, 1, 1)
    bad = written(tmp_path, "BTCUSDT-liquidationSnapshot-2024-01-02.csv", force(1, side="?"), header=LIQUIDATIONS)
    assert cli.main(["ingest", str(folder), str(bad)]) == 1
    assert cli.main(["ingest", str(folder), str(tmp_path / "nowhere.csv")]) == 2
    assert "nowhere.csv" in capsys.readouterr().err


@pytest.mark.skipif(RECORDED is None, reason="LIQDATA_REAL_DATA is not set")
def test_recorded_files_are_ingested_completely(folder):
    market_files = Path(RECORDED) / "market"
    if not market_files.is_dir():
        pytest.skip("there is no folder of recorded market data")
    for name, asked, rows in [
        ("btc_5m_candles_20260324_20260622.csv", {"exchange": "binance"}, 26_000),
        ("btc_oi_5m_20251201_20260611.csv", {"exchange": "binance"}, 55_296),
        ("eth_liq_orders_3ex_sample.csv", {}, 18),
        ("aster_liq_orders_sample.csv", {"exchange": "aster", "format": "force_orders"}, 21),
    ]:
        done = liqdata.ingest(folder, market_files / name, **asked)
        assert (done.rows, done.new + done.repeated + sum(done.refused.values())) == (rows, rows), name
        assert done.new >= 0.99 * rows, (name, str(done))
        assert liqdata.ingest(folder, market_files / name, **asked).new == 0, name
    # Open interest in USD goes on for a day after the bars of the same hours have ended.
    other = folder.with_name("hourly")
    name = "unlicense_hourly_open_interest.parquet"
    candles = market_files / "unlicense_hourly_candles_multi_venue.parquet"
    done = liqdata.ingest(other, candles, market_files / name)
    assert (done.rows, sum(done.refused.values())) == (121_122 + 18_477, 239), str(done)
    assert done.new + done.repeated == done.rows - 239
    assert liqdata.ingest(other, candles).new == 0
    done = liqdata.ingest(other, market_files / "unlicense_daily_liquidation_volume.parquet", exchange="all")
    assert (done.new, done.refused, set(done.files.values())) == (173, {}, {"totals"})
    with pytest.raises(BadQuery, match="positions or levels"):
        liqdata.ingest(folder, market_files / "hl_top_trader_btc_liqmap_20260126_20260222.csv")
    is_sound(folder)
    is_sound(other)


def test_orders_of_two_files_of_one_call_are_stored_once(tmp_path):
    head = "timestamp,exchange,symbol,side,price,qty\n"
    lines = [f"{START + number * 1000},okx,BTCUSDT,LONG,50000,{1 + number}\n" for number in range(15)]
    # Equal lines of one file are two orders, in each of the files.
    lines.insert(8, lines[8])
    first, second = tmp_path / "week-1.csv", tmp_path / "week-2.csv"
    first.write_text(head + "".join(lines[:11]))
    second.write_text(head + "".join(lines[5:]))
    done = liqdata.ingest(tmp_path / "archive", first, second)
    assert (done.new, done.repeated) == (16, 6)
    done = liqdata.ingest(tmp_path / "twice", first, first)
    assert (done.new, done.repeated) == (11, 11)
    with liqdata.read(second, first) as market:
        assert len(market.orders("BTC", limit=100)) == 16
