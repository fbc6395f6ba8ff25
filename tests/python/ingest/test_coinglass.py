"""CoinGlass' history in files, open interest in USD, and what is no row of an archive."""

import json
from pathlib import Path

import pytest
from dumped import DAY, MINUTE, START, written

import liqdata
from liqdata.errors import BadQuery

HOUR = 60 * MINUTE
PRICES = "time,open,high,low,close,volume_usd"
OHLC = "time,open,high,low,close"
NO_PRICE = "open_interest_usd: the archive has no bar at that time, which the conversion to coins needs"
NO_USD = "open_interest_usd: implausible as USD and as coins, compared with price and volume"


def prices(folder, hours=3):
    lines = [f"{START + place * HOUR},99,104,96,{101 + place % 3},{5_000 * (place + 1)}.5" for place in range(hours)]
    return written(folder, "BTCUSDT-1h-prices.csv", *lines, header=PRICES)


def test_volume_of_price_bars_is_converted_to_coins_at_their_middle(tmp_path, folder):
    file = prices(tmp_path)
    with pytest.raises(BadQuery, match="give exchange="):
        liqdata.ingest(folder, file)
    done = liqdata.ingest(folder, file, exchange="Binance")
    assert (done.new, done.refused, done.files) == (3, {}, {str(file): "coinglass_prices"})
    with liqdata.open(folder) as market:
        rows = list(market.bars("BTC", interval="1h"))
    assert [(row["timestamp"], row["close"], row["volume"]) for row in rows] == [
        (START + place * HOUR, 101 + place, (5_000 * (place + 1) + 0.5) / 100) for place in range(3)
    ]
    assert liqdata.ingest(folder, file, exchange="binance").repeated == 3


def test_volume_that_does_not_come_out_even_in_coins_has_eight_decimals(tmp_path, folder):
    file = written(tmp_path, "BTCUSDT-1h-prices.csv", f"{START},2,4,2,3,1000", header=PRICES)
    liqdata.ingest(folder, file, exchange="binance")
    with liqdata.open(folder) as market:
        assert [row["volume"] for row in market.bars("BTC", interval="1h")] == [333.33333333]


def test_open_interest_is_the_close_of_its_period_in_the_named_unit(tmp_path, folder):
    lines = [f"{START + place * HOUR},{place},9,1,{1000 + place}" for place in range(3)]
    file = written(tmp_path, "BTC_USDT-1h-oi.csv", *lines, header=OHLC)
    for name in ("coinglass_open_interest_usd", "coinglass_open_interest_coins"):
        with pytest.raises(BadQuery, match=f'format="{name}"'):
            liqdata.ingest(folder, file, exchange="okx")
    asked = {"exchange": "okx", "format": "coinglass_open_interest_coins"}
    assert liqdata.ingest(folder, file, **asked).new == 3
    with liqdata.open(folder) as market:
        rows = [(row["timestamp"], row["open_interest"]) for row in market.open_interest("BTC", start=START)]
    assert rows == [(START + (place + 1) * HOUR, 1000 + place) for place in range(3)]


def test_open_interest_in_usd_uses_bars_of_the_same_ingest(tmp_path, folder):
    bars = prices(tmp_path)
    lines = [f"{START + place * HOUR},1,9,1,{1_000_000 * (place + 3)}" for place in (-2, -1, 0, 1)]
    file = written(tmp_path, "BTCUSDT-1h-oi.csv", *lines, header=OHLC)
    asked = {"exchange": "binance", "format": "coinglass_open_interest_usd"}
    liqdata.ingest(folder, bars, exchange="binance")
    done = liqdata.ingest(folder, file, **asked)
    assert (done.rows, done.new, done.refused) == (4, 3, {NO_PRICE: 1})
    assert done.first[NO_PRICE].startswith(f"{file}:2 (")
    with liqdata.open(folder) as market:
        rows = {row["timestamp"]: row["open_interest"] for row in market.open_interest("BTC", start=START - DAY)}
    # At midnight the first bar has just opened; an hour later it has closed.
    assert rows == pytest.approx({START: 2e6 / 99, START + HOUR: 3e6 / 101, START + 2 * HOUR: 4e6 / 102})


def test_a_csv_of_open_interest_in_usd_is_read_with_its_bars(tmp_path, folder):
    first = written(
        tmp_path,
        "interest.csv",
        f"{START + HOUR},BTC,binance,10100",
        f"{START - 2 * DAY},BTC,binance,10100",
        header="t,coin,exchange,oi_usd",
    )
    bars = written(
        tmp_path, "bars.csv", f"{START},BTC,binance,100,104,96,101,7,1h", header="t,coin,exchange,o,h,l,c,v,interval"
    )
    done = liqdata.ingest(folder, first, bars)
    assert (done.new, done.refused) == (2, {NO_PRICE: 1})
    assert sorted(done.files.values()) == ["bars", "open_interest_usd"]
    with liqdata.open(folder) as market:
        assert [row["open_interest"] for row in market.open_interest("BTC", start=START)] == [100.0]
    again = liqdata.ingest(folder, first, bars)
    assert (again.new, again.repeated) == (0, 2)


def test_a_file_of_coins_that_is_said_to_be_in_usd_is_refused(tmp_path, folder):
    liqdata.ingest(folder, prices(tmp_path, hours=24), exchange="binance")
    lines = [f"{START + place * HOUR},1,9,1,500" for place in range(1, 9)]
    file = written(tmp_path, "BTCUSDT-1h-oi.csv", *lines, header=OHLC)
    with pytest.raises(BadQuery, match="times the daily volume") as refused:
        liqdata.ingest(folder, file, exchange="binance", format="coinglass_open_interest_usd")
    assert str(file) in str(refused.value)


def interest(folder, name, cells):
    """A table of open interest as CSV or Parquet, as its name says."""
    if name.endswith(".csv"):
        lines = [",".join(map(str, row)) for row in zip(*cells.values(), strict=True)]
        return written(folder, name, *lines, header=",".join(cells))
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(cells), folder / name)
    return folder / name


def readings(*amounts):
    """Readings of an exchange, an hour after the other."""
    times = [START + place * HOUR for place in range(1, len(amounts) + 1)]
    return {"t": times, "coin": ["BTC"] * len(times), "venue": ["binance"] * len(times), "oi_usd": list(amounts)}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_implausible_reading_in_usd_is_refused_alone(tmp_path, folder, ending):
    liqdata.ingest(folder, prices(tmp_path, hours=24), exchange="binance")
    # One of them is what the others are in coins.
    amounts = [50_000.0, 50_001.0, 50_002.0, 500.0, 50_004.0, 50_005.0]
    file = interest(tmp_path, f"interest.{ending}", readings(*amounts))
    later = [f"{START + HOUR},BTC,okx,60000", f"{START + 2 * HOUR},ETH,okx,1"]
    after = written(tmp_path, "later.csv", *later, header="t,coin,venue,oi_usd")
    done = liqdata.ingest(folder, file, after)
    assert (done.rows, done.new, done.refused) == (8, 6, {NO_USD: 1, NO_PRICE: 1})
    row = 5 if ending == "csv" else 3
    assert done.first[NO_USD].startswith(f"{file}:{row} (500 USD at the price ")
    assert "read as base units it is" in done.first[NO_USD]
    with liqdata.open(folder) as market:
        rows = list(market.open_interest("BTC", start=START))
    stored = [row["open_interest"] for row in rows if row["exchange"] == "binance"]
    in_coins = [amount / (101 + place % 3) for place, amount in enumerate(amounts) if amount != 500.0]
    assert stored == pytest.approx(in_coins)
    again = liqdata.ingest(folder, file)
    assert (again.new, again.repeated, again.refused) == (0, 5, {NO_USD: 1})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_with_mostly_implausible_usd_is_refused_whole(tmp_path, folder, ending):
    liqdata.ingest(folder, prices(tmp_path, hours=24), exchange="binance")
    before = written(tmp_path, "a.csv", f"{START + HOUR},BTC,okx,60000", header="t,coin,venue,oi_usd")
    file = interest(tmp_path, f"b.{ending}", readings(50_000.0, 50_000.0, *[500.0] * 6))
    said = r"500 USD at the price .* times the daily volume; read as base units"
    with pytest.raises(BadQuery, match=said) as refused:
        liqdata.ingest(folder, before, file)
    assert str(file) in str(refused.value)
    with liqdata.open(folder) as market:
        assert [row["exchange"] for row in market.open_interest("BTC", start=START)] == ["okx"]


def test_readings_of_parquet_without_a_price_are_refused_alone(tmp_path, folder):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    liqdata.ingest(folder, prices(tmp_path), exchange="binance")
    times = [START - 9 * DAY, START + HOUR, START + 9 * DAY, START + 2 * HOUR]
    cells = {"timestamp": times, "coin": ["BTC"] * 4, "oi_usd": [10_100.0, float("nan"), 1.0, 10_200.0]}
    file = tmp_path / "interest.parquet"
    parquet.write_table(pyarrow.table(cells), file)
    done = liqdata.ingest(folder, file, exchange="binance")
    assert (done.rows, done.new, sum(done.refused.values()), done.refused[NO_PRICE]) == (4, 1, 3, 2)
    assert done.first[NO_PRICE].startswith(f"{file}:0 (")
    assert liqdata.ingest(folder, file, exchange="binance").repeated == 1


@pytest.mark.parametrize(
    "header",
    [
        "time,long_liquidation_usd,short_liquidation_usd",
        "time,aggregated_long_liquidation_usd,aggregated_short_liquidation_usd",
        "timestamp,coin,total_usd,long_usd,short_usd",
    ],
)
def test_histories_of_liquidations_are_totals_of_the_named_exchange(tmp_path, folder, header):
    cells = ["BTC" if name == "coin" else "7" for name in header.split(",")[1:]]
    file = written(tmp_path, "BTC-1h.csv", ",".join([str(START), *cells]), header=header)
    with pytest.raises(BadQuery, match="give exchange="):
        liqdata.ingest(folder, file)
    assert liqdata.ingest(folder, file, exchange="binance").files == {str(file): "totals"}
    with liqdata.open(folder) as market:
        assert [(row["exchange"], row["long_usd"]) for row in market.exchanges("1h")] == [("binance", 7)]


def test_unsupported_coinglass_files_are_refused_with_an_alternative(tmp_path, folder):
    answer = Path(tmp_path, "answer.json")
    answer.write_text(json.dumps({"code": "0", "data": []}))
    with pytest.raises(BadQuery, match="history of prices or open interest to a CSV file"):
        liqdata.ingest(folder, answer)
    orders = written(tmp_path, "orders.csv", "1,Binance,2,3,1", header="time,exchange_name,price,usd_value,side")
    with pytest.raises(BadQuery, match="use the exchange's own"):
        liqdata.ingest(folder, orders)
