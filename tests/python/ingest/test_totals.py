"""Totals of periods in an archive: what answers from them, and that nothing is counted twice."""

import csv
import os
import shutil
import sqlite3
from decimal import Decimal

import pytest
from dumped import DAY, START, is_sound

import liqdata
from liqdata import BadQuery

HOUR = 3_600_000
pytestmark = pytest.mark.filterwarnings("ignore::liqdata.NotCovered")


def total(exchange, hour, usd, *, hours=1, coin="BTC", **more):
    """A total of longs; a tenth of it are shorts."""
    amounts = {"long_usd": Decimal(usd), "short_usd": Decimal(usd) / 10}
    at = START + hour * HOUR
    return {"exchange": exchange, "symbol": coin, "timestamp": at, "interval": f"{hours}h", **amounts, **more}


def order(exchange, at, usd=1, coin="BTC"):
    facts = {"exchange": exchange, "symbol": f"{coin}USDT", "side": "LONG"}
    return {**facts, "price": 1, "qty": usd, "value_usd": usd, "timestamp": START + at}


def longs(market, **asked):
    """USD of longs by hour of the first day."""
    asked = {"interval": "1h", "by": (), "start": START, "end": START + DAY} | asked
    rows = market.history(**{"symbol": "BTC"} | asked)
    return {(row["timestamp"] - START) // HOUR: row["long_usd"] for row in rows if row["long_usd"] is not None}


DAY_OF_TOTALS = [
    *(total("okx", hour, 100) for hour in range(24)),
    *(total("all", hour, 1000) for hour in range(-24, 24)),
    total("bybit", 20, 40, hours=4),
    total("okx", 5, 7, coin="ETH"),
]


def test_totals_answer_where_no_orders_are_known(folder):
    assert liqdata.ingest(folder, totals=DAY_OF_TOTALS).new == len(DAY_OF_TOTALS)
    with liqdata.open(folder) as market:
        now = START + DAY
        assert int(market.now.timestamp() * 1000) == now
        # Of all exchanges together only the hours count in which no exchange has a total of its own.
        assert longs(market, start=START - 2 * HOUR) == {-2: 1000, -1: 1000} | dict.fromkeys(range(24), 100)
        assert longs(market, interval="1d") == {0: 2440}
        assert longs(market, exchange="bybit", interval="4h") == {20: 40}
        assert longs(market, exchange="bybit") == {}  # four hours cannot be divided
        assert longs(market, symbol="BTCUSDT") == longs(market, min_usd=1) == {}
        assert longs(market, symbol="ETH") == {5: 7}
        (_, short) = market.history("BTC", interval="1d", by="side", start=START, end=now)
        assert (short["side"], short["short_usd"], short["cnt"]) == ("SHORT", 244, None)
        assert {name: window["long_usd"] for name, window in market.overview().items()} == {
            "1h": 100, "4h": 440, "12h": 1240, "24h": 2447,
        }  # fmt: skip
        assert [(row["coin"], row["long_usd"]) for row in market.coins("24h")] == [("BTC", 2440), ("ETH", 7)]
        assert [(row["exchange"], row["long_usd"]) for row in market.exchanges("24h")] == [("okx", 2407), ("bybit", 40)]
        assert sum(row["total_usd"] for row in market.chart("BTC")) == 2400 * Decimal("1.1")
        assert market.overview().meta["covered"] == pytest.approx((1 + 4 / 24) / 2)
        known = {row["exchange"]: (row["completeness"], round(row["connected_share"], 4)) for row in market.coverage()}
        assert known == {"bybit": ("totals", 0.1667), "okx": ("totals", 1.0)}
        row = market.history("BTC", interval="1h", by=(), start=START, end=now)[0]
        assert (row["covered"], row["cnt"], row["largest_usd"]) == (1.0, None, None)
    is_sound(folder)


def test_an_order_wins_over_the_total_of_its_exchange_and_period(folder):
    liqdata.ingest(folder, totals=DAY_OF_TOTALS)
    # Orders of okx cover the hours from 8 to 10, without one in hour 9; one of binance lies alone in hour -20.
    liqdata.ingest(folder, orders=[order("okx", 8 * HOUR), order("okx", 11 * HOUR - 1, 5)])
    liqdata.ingest(folder, orders=[order("binance", -20 * HOUR)])
    with liqdata.open(folder) as market:
        found = longs(market, start=START - DAY)
        assert found == {
            **dict.fromkeys(range(-24, 0), 1000), -20: 1, **dict.fromkeys(range(24), 100), 8: 1, 10: 5
        }  # fmt: skip
        # Sums of longer periods count the hours that have no orders.
        assert longs(market, interval="1d") == {0: 2200 + 40 + 6}
        assert {row["exchange"]: row["long_usd"] for row in market.exchanges(start=START, end=START + DAY)} == {
            "okx": 2213, "bybit": 40
        }  # fmt: skip
        rows = market.history("BTC", interval="1h", by=(), start=START + 8 * HOUR, end=START + 12 * HOUR)
        assert [row["cnt"] for row in rows] == [1, None, 1, None]
        coverage = {row["exchange"]: row["completeness"] for row in market.coverage(start=START, end=START + DAY)}
        assert coverage == {"binance": "unknown", "bybit": "totals", "okx": "unknown"}


def test_an_answer_as_of_an_instant_has_the_totals_that_were_received(folder):
    late = START + 30 * HOUR
    totals = [total("okx", 0, 100), total("okx", 1, 200, received_at=late), total("okx", 40, 1)]
    liqdata.ingest(folder, totals=totals)
    with liqdata.open(folder) as market:
        for at, known in ((START + HOUR, {0: 100}), (late - 1, {0: 100}), (late, {0: 100, 1: 200})):
            assert longs(market, as_of=at, end=min(START + 2 * HOUR, at)) == known
        with pytest.raises(BadQuery, match="the first observation is of"):
            market.overview(as_of=START + HOUR - 1)
    with liqdata.open(folder, as_of=late - 1) as market:
        assert longs(market) == {0: 100}


def test_files_of_totals_are_recognised_and_wrong_rows_refused_by_reason(tmp_path, folder):
    rows = [total("okx", hour, 100) for hour in range(3)]
    names = {"exchange": "venue", "symbol": "coin", "timestamp": "open_time"}
    rows = [{names.get(name, name): cell for name, cell in row.items() if name != "interval"} for row in rows]
    file = tmp_path / "mine.csv"
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = liqdata.ingest(folder, file)
    assert (done.new, done.files) == (3, {str(file): "totals"})
    assert liqdata.ingest(folder, totals=[total("okx", hour, 100) for hour in range(3)]).repeated == 3
    wrong = {
        "the archive has the row of totals with other values": total("okx", 2, 5),
        "interval: not a length": {**total("okx", 0, 5), "interval": "5h"},
        "timestamp: not a start": {**total("okx", 0, 5), "timestamp": START + 1},
        "received_at: before the end": total("okx", 7, 5, received_at=START),
        "long_usd: not an amount": total("okx", 8, -5),
        "the period has not ended": {**total("okx", 0, 5), "timestamp": 4_000_000_000_000 // HOUR * HOUR},
        "symbol: names another contract": total("okx", 9, 5, coin="BTCUSDC"),
        "another total of the coin": total("okx", 6, 6),
    }
    done = liqdata.ingest(folder, totals=[total("okx", 6, 5, coin="BTCUSDT"), *wrong.values()])
    assert done.new == 1
    assert sorted(done.refused.values()) == [1] * (len(wrong) - (0 if len(done.refused) == len(wrong) else 1))
    with pytest.raises(BadQuery, match='totals: column "exchange", row 0: "nowhere" is not a known exchange'):
        liqdata.ingest(folder, totals=[total("nowhere", 0, 1)])
    nameless = [{name: cell for name, cell in total("", 3, 1).items() if name != "exchange"}]
    with pytest.raises(BadQuery, match='totals: column "exchange" is missing'):
        liqdata.ingest(folder, totals=nameless)
    assert liqdata.ingest(folder, totals=nameless, exchange="all").new == 1
    with pytest.raises(BadQuery, match="exchange"):
        liqdata.ingest(folder, orders=[order("all", 0)])


def test_totals_are_exported_backed_up_undone_and_listed_again_like_other_rows(tmp_path, folder):
    done = liqdata.ingest(folder, totals=DAY_OF_TOTALS)
    with liqdata.open(folder) as market:
        expected = longs(market)
        market.export(tmp_path / "exported", tables=("totals",))
    assert [row["totals"] for row in liqdata.archive.ingests(folder)] == [len(DAY_OF_TOTALS)]
    liqdata.archive.backup(folder, tmp_path / "backup")
    liqdata.archive.backup(tmp_path / "backup", tmp_path / "restored")
    for copy in ("exported", "restored"):
        with liqdata.open(tmp_path / copy) as market:
            assert longs(market) == expected
    # A journal that is lost is made again from the files.
    (tmp_path / "restored" / "journal.sqlite").unlink()
    liqdata.archive.verify(tmp_path / "restored", repair=True)
    is_sound(tmp_path / "restored")
    with liqdata.open(tmp_path / "restored") as market:
        assert longs(market) == expected
    # A damaged file is found, and its totals are unknown.
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    part = next((damaged / "totals" / "interval=1h").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    assert [row["holds"] for row in liqdata.archive.verify(damaged)] == ["totals"]
    liqdata.archive.undo(folder, done.id)
    is_sound(folder)
    with liqdata.open(folder) as market:
        assert market.now is None or longs(market) == {}
    assert liqdata.ingest(folder, totals=DAY_OF_TOTALS).new == len(DAY_OF_TOTALS)


def test_totals_of_today_stay_in_the_journal_until_their_day_is_over(folder):
    now = int(__import__("time").time() * 1000)
    hour = now // HOUR * HOUR - HOUR
    rows = [{**total("okx", 0, 9), "timestamp": hour}, {**total("okx", 0, 4), "timestamp": hour + HOUR}]
    done = liqdata.ingest(folder, totals=rows)
    assert (done.new, sum(done.refused.values())) == (1, 1)
    with sqlite3.connect(folder / "journal.sqlite") as journal:
        ((count,),) = journal.execute("SELECT count(*) FROM totals")
    journal.close()
    assert count == 1 or hour % DAY == DAY - HOUR
    with liqdata.open(folder) as market:
        assert market.overview()["1h"]["long_usd"] == 9
        liqdata.ingest(folder, totals=[{**total("bybit", 0, 5), "timestamp": hour}])
        assert market.overview()["1h"]["long_usd"] == 14


def test_a_score_reads_totals_where_an_archive_has_no_orders(folder):
    with liqdata.demo() as demo:
        start = demo.now.timestamp() * 1000 - 20 * DAY
        asked = {"interval": "1h", "by": (), "start": int(start) // DAY * DAY, "end": demo.now}
        totals = [
            {**{name: row[name] for name in ("timestamp", "long_usd", "short_usd")}, "symbol": "BTC", "interval": "1h"}
            for row in demo.history("BTC", **asked)[:-1]
        ]
        bars = demo.bars("BTC", interval="15m", start=asked["start"])
        liqdata.ingest(folder, totals=totals, bars=bars, exchange="binance")
        with liqdata.open(folder) as market:
            found = liqdata.score(demo, market, bars=bars)
    assert found.meta["periods"] > 100


def test_orders_of_another_coin_hide_no_total(folder):
    liqdata.ingest(folder, totals=[total("all", hour, 100) for hour in range(24)])
    liqdata.ingest(folder, orders=[order("okx", HOUR // 2, coin="ETH"), order("okx", 23 * HOUR, coin="ETH")])
    with liqdata.open(folder) as market:
        assert longs(market, interval="1d") == {0: 2400}
        assert longs(market, interval="1d", symbol="ETH") == {0: 2}


def test_a_total_that_began_before_the_range_still_hides_those_of_all(folder):
    rows = [total("okx", 0, 1000, hours=4), *(total("all", hour, 100) for hour in range(6))]
    liqdata.ingest(folder, totals=rows)
    with liqdata.open(folder) as market:
        assert longs(market, start=START + HOUR, end=START + 6 * HOUR) == {4: 100, 5: 100}


def test_periods_that_follow_sooner_than_they_end_are_refused(folder):
    done = liqdata.ingest(folder, totals=[total("okx", hour, 10, hours=24) for hour in range(24)])
    assert (done.new, done.refused) == (0, {"interval: longer than the distance of the periods of the table": 24})
    assert "86400000 ms, 3600000 ms apart" in next(iter(done.first.values()))


def test_a_period_that_was_open_when_its_file_was_written_is_refused(folder, tmp_path):
    file = tmp_path / "totals.csv"
    lines = [f"okx,BTC,{START + hour * HOUR},1h,10,1" for hour in range(4)]
    file.write_text("\n".join(["exchange,symbol,timestamp,interval,long_usd,short_usd", *lines, ""]))
    os.utime(file, ns=((START + 3 * HOUR + HOUR // 2) * 10**6,) * 2)
    done = liqdata.ingest(folder, file)
    assert (done.new, list(done.refused)) == (3, ["timestamp: the period was still open when the file was written"])
