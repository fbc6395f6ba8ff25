"""Answers as files and frames, and back."""

import csv
import io
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import liqdata


@pytest.fixture(scope="module")
def market():
    return liqdata.demo()


def test_a_map_comes_back_from_its_frame(market):
    map = market.liqmap("BTC", "7d")
    frame = map.to_frame()
    stored = io.BytesIO()
    frame.to_parquet(stored)
    for one in (frame, pd.read_parquet(stored), pa.Table.from_pandas(frame)):
        found = liqdata.LiquidationMap.from_frame(one)
        assert (found, found.units, found.view, found.simulated) == (map, map.units, map.view, True)
    bare = pl.from_pandas(frame)
    with pytest.raises(liqdata.BadQuery, match="symbol: is not among the attributes of the frame"):
        liqdata.LiquidationMap.from_frame(bare)
    given = {name: getattr(map, name) for name in ("symbol", "range", "updated_at", "current_price", "bin_width")}
    assert liqdata.LiquidationMap.from_frame(bare, **given) == map
    with pytest.raises(liqdata.BadQuery, match="the column 'side' has 'both'"):
        liqdata.LiquidationMap.from_frame(frame.assign(side="both"))


def test_a_heatmap_comes_back_from_its_frame(market):
    map = market.heatmap("BTC", "12h")
    frame = map.to_pandas()
    for one in (frame, pa.Table.from_pandas(frame)):
        found = liqdata.Heatmap.from_frame(one)
        assert (found, found.units, found.step) == (map, map.units, map.step)
    given = {name: getattr(map, name) for name in ("symbol", "range", "model", "updated_at", "current_price")}
    assert liqdata.Heatmap.from_frame(pd.read_csv(io.StringIO(frame.to_csv())), **given) == map
    with pytest.raises(liqdata.BadQuery, match="frame: the column 'a' is not an instant"):
        liqdata.Heatmap.from_frame(pd.DataFrame({"a": [1.0]}), **given)


def test_rows_in_files_keep_every_digit(market, tmp_path):
    rows = market.orders("BTC", limit=200)
    assert rows.head() == rows[:5]
    assert (
        rows.to_csv(tmp_path / "orders.csv") == rows.to_parquet(tmp_path / "orders.parquet", decimals="decimal") == 200
    )
    with (tmp_path / "orders.csv").open(newline="") as file:
        assert [Decimal(row["value_usd"]) for row in csv.DictReader(file)] == [row["value_usd"] for row in rows]
    stored = parquet.read_table(tmp_path / "orders.parquet")
    assert stored["value_usd"].to_pylist() == [row["value_usd"] for row in rows]
    for name in ("orders.csv", "orders.parquet"):
        with liqdata.read(tmp_path / name) as read:
            found = read.orders("BTC", limit=1000, start=rows[-1]["timestamp"])
            assert sorted(map(str, found)) == sorted(map(str, rows))


def test_read_names_the_contract_of_a_file_and_says_which_rows_it_refuses(tmp_path):
    file = tmp_path / "candles.csv"
    file.write_text(
        "timestamp,open,high,low,close,volume,interval\n"
        "2026-01-01T00:00:00Z,1,2,1,2,3,60000\n2026-01-01T00:01:00Z,2,2,1,2,x,60000\n"
    )
    with (
        pytest.warns(UserWarning, match="1 of 2 rows are refused: volume"),
        liqdata.read(file, exchange="binance", symbol="BTCUSDT") as market,
    ):
        assert [bar["close"] for bar in market.bars("BTC")] == [2.0]
    with pytest.raises(liqdata.BadQuery, match="no symbol is known"):
        liqdata.read(file, exchange="binance")
    with pytest.raises(liqdata.BadQuery, match="files: none is given"):
        liqdata.read()


def test_a_given_symbol_is_that_of_files_without_one(tmp_path):
    cells = {"timestamp": [1_767_225_600_000], "open": [1.0], "high": [2.0], "low": [1.0], "close": [2.0]}
    bars = pd.DataFrame(cells | {"volume": [3.0], "interval": [60_000]})
    bars.to_parquet(tmp_path / "candles.parquet")
    bars.assign(symbol="ETHUSDT").to_json(tmp_path / "more.json", orient="records")
    (tmp_path / "SOLUSDT-1m.csv").write_text("1767225600000,1,2,1,2,3,1767225659999,0,0,0,0,0\n")
    (tmp_path / "klines.csv").write_text("1767225660000,2,3,2,3,3,1767225719999,0,0,0,0,0\n")
    names = ("candles.parquet", "more.json", "SOLUSDT-1m.csv", "klines.csv")
    with liqdata.read(*(tmp_path / name for name in names), exchange="binance", symbol="BTCUSDT") as market:
        assert {coin: len(market.bars(coin)) for coin in ("BTC", "ETH", "SOL")} == {"BTC": 2, "ETH": 1, "SOL": 1}
    for symbol in ("", "/", 5):
        with pytest.raises(liqdata.BadQuery, match="symbol: "):
            liqdata.read(tmp_path / "candles.parquet", symbol=symbol)


def test_orders_say_whether_more_match(market):
    rows = market.orders("BTC", limit=5)
    whole = market.orders("BTC", start="-2h", limit=1000)
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        for source in (market, client):
            assert source.orders("BTC", limit=5).meta["more"] is True
            assert source.orders("BTC", start="-2h", limit=len(whole)).meta["more"] is False
            assert source.orders("BTC", start="-2h", limit=len(whole) - 1).meta["more"] is True
    assert "more with iter_orders" in repr(rows)
    assert "more" not in repr(whole)


def test_weeks_begin_on_mondays_and_months_on_their_first_day(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        for source in (market, client):
            weeks = source.history("BTC", interval="1w", start="2026-05-06")["timestamp"]
            assert [str(one)[:10] for one in weeks[:2]] == ["2026-05-04", "2026-05-11"]
            month = source.history("BTC", interval="1M", start="2026-05-01", end="2026-06-01")
            assert [str(one)[:10] for one in month["timestamp"]] == ["2026-05-01"]
            assert month[0]["cnt"] == sum(
                row["cnt"] or 0 for row in source.history("BTC", interval="1d", start="2026-05-01")
            )
            (bar,) = source.bars("BTC", interval="1M")
            assert (bar["interval"], str(source.bars("BTC", interval="1w")["timestamp"][0])[:10]) == (
                31 * 86_400_000,
                "2026-04-27",
            )
    left = pd.DataFrame({"timestamp": pd.to_datetime(["2026-05-31T12:00Z", "2026-06-01T00:00Z"])})
    joined = liqdata.join_asof(left, month.to_pandas(), interval="1M")
    assert joined["total_usd"].isna().tolist() == [True, False]


def test_other_periods_are_found_in_the_history(market):
    with pytest.raises(liqdata.BadQuery, match='"1d"; history has the totals of any other period'):
        market.coins("7d")
    with pytest.raises(KeyError, match=r"history\(\) has any other period"):
        market.overview()["7d"]
    with pytest.raises(KeyError, match="nothing"):
        market.maxpain("BTC")["nothing"]


def test_a_comparison_has_the_range_of_its_maps(market):
    maps = [market.liqmap("BTC", "7d"), market.liqmap("BTC", "7d", model=2)]
    assert liqdata.compare(maps).range == "7d"
    assert liqdata.compare([market, market], range="3d").range == "3d"
