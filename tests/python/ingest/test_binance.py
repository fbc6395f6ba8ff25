"""Binance' public files: what they become in an archive."""

from decimal import Decimal

import pytest
from dumped import DAY, KLINES, LIQUIDATIONS, METRICS, MINUTE, START, TICKER, force, is_sound, kline, orders_of, written

import liqdata


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".zip"])
@pytest.mark.parametrize("header", [LIQUIDATIONS, None])
def test_duplicate_liquidation_snapshots_are_stored_once(tmp_path, folder, ending, header):
    lines = [force(1), force(1), force(2, "BUY", "0.5"), force(2, "BUY", "0.5")]
    file = written(tmp_path, f"BTCUSDT-liquidationSnapshot-2024-01-02{ending}", *lines, header=header)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, done.repeated, done.refused) == (4, 2, 2, {})
    assert list(done.files.values()) == ["binance_liquidations"]
    rows = orders_of(folder)
    assert [(row["symbol"], row["side"], row["qty"], row["price"], row["value_usd"]) for row in rows] == [
        ("BTCUSDT", "SHORT", Decimal("0.5"), Decimal(40_000), Decimal(20_000)),
        ("BTCUSDT", "LONG", Decimal(2), Decimal(40_000), Decimal(80_000)),
    ]
    again = liqdata.ingest(folder, file)
    assert (again.rows, again.new, again.repeated) == (4, 0, 4)
    assert len(orders_of(folder)) == 2
    is_sound(folder)


@pytest.mark.parametrize("contract, worth", [("BTCUSD_PERP", 100), ("ETHUSD_PERP", 10), ("BTCUSD_240329", 100)])
def test_quantities_of_coin_margined_contracts_are_contracts(tmp_path, folder, contract, worth):
    file = written(tmp_path, f"{contract}-liquidationSnapshot-2024-01-02.csv", force(1, qty="7"), header=LIQUIDATIONS)
    liqdata.ingest(folder, file)
    (row,) = orders_of(folder)
    assert (row["symbol"], row["value_usd"]) == (contract.partition("_")[0], 7 * worth)
    assert row["qty"] == Decimal(7 * worth) / 40_000


def test_a_day_of_snapshots_is_covered_and_marked_as_sampled(tmp_path, folder):
    name = "BTCUSDT-liquidationSnapshot-2024-01-{:02}.csv"
    files = [
        written(tmp_path, name.format(2), force(5 * MINUTE), header=LIQUIDATIONS),
        written(tmp_path, name.format(3), force(DAY + 18 * 60 * MINUTE), header=LIQUIDATIONS),
        written(tmp_path, name.format(5), header=LIQUIDATIONS),
    ]
    liqdata.ingest(folder, *files)
    with liqdata.open(folder) as market:
        (row,) = market.coverage("24h")
        assert (row["exchange"], row["completeness"], row["cnt"]) == ("binance", "sampled", 1)
        assert row["connected_share"] == 1.0
        covered = market.history(interval="1d", by=(), start=START, end=START + 4 * DAY - 1)
        assert {row["timestamp"]: row["covered"] for row in covered}[START] == 1.0


def test_an_unfilled_order_is_refused_by_reason(tmp_path, folder):
    lines = [force(1), force(2, qty="0", status="EXPIRED"), force(3, qty="0", status="NEW"), force(4, side="HOLD")]
    file = written(tmp_path, "BTCUSDT-liquidationSnapshot-2024-01-02.csv", *lines, header=LIQUIDATIONS)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new) == (4, 1)
    assert done.refused == {
        "qty: not above 0": 2,
        'side: not the side of an order; allowed: "BUY" or "SELL"': 1,
    }
    assert done.first['side: not the side of an order; allowed: "BUY" or "SELL"'] == f'{file}:5 ("HOLD")'
    assert "4 rows read: 1 new, 0 repeated, 3 refused" in str(done)
    assert f"first at {file}:3 (0)" in str(done)


def test_metrics_are_open_interest_in_coins_whatever_the_margin(tmp_path, folder):
    usd = written(
        tmp_path,
        "BTCUSDT-metrics-2024-01-02.csv",
        *["2024-01-02 00:05:00,BTCUSDT,76537.751,3061510040.0,2.1,1.5,2.1,1.6"] * 2,
        "2024-01-02 00:10:00,BTCUSDT,76513.9820,3061510040.0,2.1,1.5,2.1,1.6",
        header=METRICS,
    )
    thousand = written(
        tmp_path, "1000PEPEUSDT-metrics-2024-01-02.csv", "2024-01-02 00:05:00,1000PEPEUSDT,5,1,1,1,1,1", header=METRICS
    )
    coin = written(
        tmp_path,
        "ETHUSD_PERP-metrics-2024-01-02.csv",
        '2024-01-02 00:05:00,ETHUSD_PERP,400000,2000.5,"","","",1',
        header=METRICS,
    )
    done = liqdata.ingest(folder, usd, thousand, coin)
    assert (done.rows, done.new, done.repeated) == (5, 4, 1)
    with liqdata.open(folder) as market:
        read = {
            name: [(row["timestamp"] - START, row["open_interest"]) for row in market.open_interest(name)]
            for name in ("BTC", "PEPE", "ETH")
        }
    assert read == {
        "BTC": [(5 * MINUTE, 76537.751), (10 * MINUTE, 76513.982)],
        "PEPE": [(5 * MINUTE, 5000.0)],
        "ETH": [(5 * MINUTE, 2000.5)],
    }


@pytest.mark.parametrize("header", [KLINES, None])
@pytest.mark.parametrize("unit", [1, 1000])
def test_klines_are_read_with_and_without_a_header_in_either_unit(tmp_path, folder, header, unit):
    lines = [kline(place, unit=unit) for place in range(3)]
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.zip", *lines, header=header)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, list(done.files.values())) == (3, 3, ["binance_klines"])
    with liqdata.open(folder) as market:
        rows = list(market.bars("BTC", interval="1m"))
    assert [row["timestamp"] for row in rows] == [START, START + MINUTE, START + 2 * MINUTE]
    assert (rows[0]["open"], rows[0]["high"], rows[0]["low"], rows[0]["close"], rows[0]["volume"]) == (
        100,
        102.5,
        99,
        101,
        7,
    )
    assert liqdata.ingest(folder, file).repeated == 3


def test_names_of_files_are_read_in_lower_case(tmp_path, folder):
    files = [
        written(tmp_path, "ethusd_perp-1h-2024-01.csv", kline(0, length=60 * MINUTE, volume="9", turnover="4.5")),
        written(tmp_path, "1000shibusdt-1h-2024-01.csv", kline(0, length=60 * MINUTE)),
        written(tmp_path, "solusdt-metrics-2024-01-02.csv", "2024-01-02 00:05:00,SOLUSDT,5,1,1,1,1,1", header=METRICS),
    ]
    done = liqdata.ingest(folder, *files)
    assert (done.new, done.refused) == (3, {})
    with liqdata.open(folder) as market:
        found = [[row["volume"] for row in market.bars(coin, interval="1h")] for coin in ("ETH", "SHIB")]
        assert found == [[4.5], [7000]]
        assert [row["open_interest"] for row in market.open_interest("SOL")] == [5]


def test_klines_of_coin_margined_and_of_scaled_contracts_are_of_single_coins(tmp_path, folder):
    coin = written(tmp_path, "BTCUSD_PERP-1h-2024-01.csv", kline(0, length=60 * MINUTE, volume="9", turnover="4.5"))
    thousand = written(tmp_path, "1000PEPEUSDT-1h-2024-01.csv", kline(0, length=60 * MINUTE))
    liqdata.ingest(folder, coin, thousand)
    with liqdata.open(folder) as market:
        (btc,) = market.bars("BTC", interval="1h")
        (pepe,) = market.bars("PEPE", interval="1h")
    assert (btc["close"], btc["volume"]) == (101, 4.5)
    assert (pepe["close"], pepe["volume"]) == (0.101, 7000)


def test_bars_of_two_contracts_of_a_coin_are_not_mixed(tmp_path, folder):
    linear = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0))
    inverse = written(tmp_path, "BTCUSD_PERP-1m-2024-01-02.csv", kline(0), kline(1))
    dated = written(
        tmp_path,
        "BTCUSDT_240329-metrics-2024-01-02.csv",
        "2024-01-02 00:05:00,BTCUSDT_240329,1,1,1,1,1,1",
        header=METRICS,
    )
    done = liqdata.ingest(folder, linear, inverse, dated)
    assert (done.rows, done.new, sum(done.refused.values())) == (4, 1, 3)
    assert any("one contract" in reason for reason in done.refused)
    assert any("the contract is dated" in reason for reason in done.refused)


def test_a_later_ingest_refuses_a_second_contract_of_a_coin(tmp_path, folder):
    def ticker(exchange, symbol, value):
        at = START * 1000
        line = f"{exchange},{symbol},{at + len(symbol) * 1000},{at},,0.0001,,{value},40001,40000,40000"
        return written(tmp_path, f"{exchange}_derivative_ticker_2024-01-02_{symbol}.csv.gz", line, header=TICKER)

    assert liqdata.ingest(folder, ticker("binance-futures", "BTCUSDT", "100")).new == 1
    done = liqdata.ingest(folder, ticker("binance-delivery", "BTCUSD_PERP", "1000"))
    assert (done.rows, done.new) == (1, 0)
    assert next(iter(done.refused)).startswith("symbol: names another contract than the other")
    # A line of the record that was cut short takes nothing from the others.
    with (folder / "ingested.jsonl").open("a") as record:
        record.write('{"at": "2')
    assert liqdata.ingest(folder, ticker("binance-delivery", "BTCUSD_PERP", "1000")).new == 0


def test_a_bar_that_contradicts_the_archive_is_refused(tmp_path, folder):
    liqdata.ingest(folder, written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0), kline(1)))
    other = written(tmp_path, "BTCUSDT-1m-2024-01.csv", kline(0), kline(1, volume="8"), kline(2))
    done = liqdata.ingest(folder, other)
    assert (done.rows, done.new, done.repeated) == (3, 1, 1)
    assert done.refused == {"the archive has the row of bars with other values": 1}
    assert done.first["the archive has the row of bars with other values"].startswith(f"{other}:2 ")
    with liqdata.open(folder) as market:
        assert [row["volume"] for row in market.bars("BTC", interval="1m")] == [7, 7, 7]


def test_labels_of_metrics_moved_in_2026(tmp_path, folder):
    lines = [f"{day} 00:00:00,BTCUSDT,7.5,300000,1,1,1,1" for day in ("2026-06-24", "2026-06-25")]
    liqdata.ingest(folder, written(tmp_path, "BTCUSDT-metrics-2026-06.csv", *lines, header=METRICS))
    with liqdata.open(folder) as market:
        read = [row["timestamp"] for row in market.open_interest("BTC", start="2026-06-24", end="2026-06-26")]
    assert read == [1_782_259_200_000, 1_782_345_600_000 + 5 * MINUTE]


def test_klines_of_other_prices_have_no_volume(tmp_path, folder):
    file = written(tmp_path, "BTCUSDT-1m-2024-01-02.csv", kline(0, volume="0"), kline(1, volume="0"))
    done = liqdata.ingest(folder, file)
    ((reason, count),) = done.refused.items()
    assert (done.new, count) == (0, 2)
    assert "mark, index or premium prices" in reason
