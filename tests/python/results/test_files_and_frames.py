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
from liqdata import cli

SAID = ("units", "view", "simulated")


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
    given = {name: getattr(map, name) for name in ("symbol", "range", "updated_at", "current_price", *SAID)}
    for width in ({}, {"bin_width": map.bin_width}):
        found = liqdata.LiquidationMap.from_frame(bare, **given, **width)
        assert (found, found.units, found.view, found.simulated) == (map, map.units, map.view, True)
    assert liqdata.LiquidationMap.from_frame(frame.iloc[::-1]) == map
    month = market.liqmap("BTC", "1M")
    given |= {"range": "1M"}
    assert liqdata.LiquidationMap.from_frame(pl.from_pandas(month.to_frame()), **given).bin_width == month.bin_width
    with pytest.raises(liqdata.BadQuery, match="the column 'side' has 'both'"):
        liqdata.LiquidationMap.from_frame(frame.assign(side="both"))


def test_a_heatmap_comes_back_from_its_frame(market):
    map = market.heatmap("BTC", "12h")
    frame = map.to_pandas()
    for one in (frame, pa.Table.from_pandas(frame)):
        found = liqdata.Heatmap.from_frame(one)
        assert (found, found.units, found.step) == (map, map.units, map.step)
    given = {name: getattr(map, name) for name in ("symbol", "range", "model", "updated_at", "current_price", *SAID)}
    as_text = pd.read_csv(io.StringIO(frame.to_csv()))
    numbered = pd.read_csv(io.StringIO(frame.reset_index().to_csv()))
    in_polars = pl.from_pandas(frame.rename(columns=str).reset_index())
    for one in (as_text, numbered, in_polars, frame.iloc[::-1], frame.iloc[:, ::-1]):
        found = liqdata.Heatmap.from_frame(one, **given)
        assert (found, found.view, found.simulated) == (map, map.view, True)
        assert liqdata.compare([found, map]).rows()[0]["overlap"] == 1.0
    with pytest.raises(liqdata.BadQuery, match="frame: the column 'a' is not an instant"):
        liqdata.Heatmap.from_frame(pd.DataFrame({"price": [1.0], "a": [1.0]}), **given)


def test_a_frame_that_does_not_say_its_unit_or_whether_it_is_simulated_is_refused(market):
    bars = liqdata.Market(bars=market.bars("BTC", start="-3d"))
    for map in (bars.liqmap("BTC", "1d"), bars.heatmap("BTC", "24h"), market.liqmap("BTC", "1d")):
        frame = pd.read_csv(io.StringIO(map.to_frame().to_csv()))
        names = ("symbol", "range", "updated_at", "current_price", *(["model"] if hasattr(map, "model") else []))
        given = {name: getattr(map, name) for name in names}
        with pytest.raises(liqdata.BadQuery, match=r"units: is not among .* allowed: units='usd' or units='relative'"):
            type(map).from_frame(frame, **given)
        with pytest.raises(liqdata.BadQuery, match=r"simulated: is not among .* allowed: simulated=True"):
            type(map).from_frame(frame, **given, units=map.units)
        found = type(map).from_frame(frame, **given, units=map.units, simulated=map.simulated)
        assert (found, found.units, found.simulated) == (map, map.units, map.simulated)
        other = {"usd": "relative", "relative": "usd"}[map.units]
        assert type(map).from_frame(frame, **given, units=other, simulated=map.simulated) != map


@pytest.mark.parametrize(
    "given, words",
    [
        ({"range": "9d"}, "range: '9d' is not allowed; allowed: '"),
        ({"current_price": -1}, "current_price: -1 is not allowed; allowed: a finite number above 0"),
        ({"current_price": "abc"}, "current_price: 'abc' is not a number; allowed: a finite number above 0"),
        ({"symbol": 5}, "symbol: 5 is not allowed; allowed: a coin"),
        ({"symbol": "?"}, "symbol: "),
        ({"updated_at": "soon"}, "updated_at: 'soon' is not an instant"),
        ({"units": "USD"}, "units: 'USD' is not allowed; allowed: 'usd' or 'relative'"),
        ({"view": "all"}, "view: 'all' is not allowed; allowed: 'exposed' or 'expected' or 'measured'"),
        ({"simulated": "no"}, "simulated: 'no' is not allowed; allowed: True or False"),
    ],
)
def test_what_a_caller_says_of_a_frame_is_checked(market, given, words):
    for map in (market.liqmap("BTC", "7d"), market.heatmap("BTC", "12h")):
        with pytest.raises(liqdata.BadQuery) as raised:
            type(map).from_frame(map.to_frame(), **given)
        assert str(raised.value).startswith(words)
        assert raised.value.parameter == next(iter(given))


def test_a_frame_of_impossible_cells_is_refused(market):
    frame, bins = market.heatmap("BTC", "12h").to_frame(), market.liqmap("BTC", "7d").to_frame()
    negative, infinite = frame.copy(), frame.copy()
    negative.iloc[3, 3], infinite.iloc[0, 0] = -5, float("inf")
    numbers = frame.set_axis(range(frame.shape[1]), axis=1)
    at = str(frame.columns[0])
    heatmaps = {
        "its rows are only numbered; allowed: the prices as the index": frame.reset_index(drop=True),
        "the column 0 is not the time of a heatmap": numbers,
        "'1970-01-01' is not the time of a heatmap": frame.rename(columns={frame.columns[0]: "1970-01-01"}),
        "the column 'time' has -5.0; allowed: finite numbers from 0 on, or NaN": negative,
        "the column 'time' has inf; allowed": infinite,
        "the column 'price' has -1.0; allowed: finite numbers above 0": frame.rename(index={frame.index[0]: -1.0}),
        "has the price .* twice; allowed: each once": frame.rename(index={frame.index[0]: frame.index[1]}),
        "has two columns": frame.rename(columns={frame.columns[1]: frame.columns[0]}),
        "has the time .* twice; allowed: each once": frame.rename(columns={frame.columns[1]: at}),
        "has no rows": frame.iloc[:0],
    }
    maps = {
        "the column 'price' has nan; allowed: finite numbers above 0": bins.assign(price=float("nan")),
        "the column '10' has -1.0; allowed": bins.assign(**{"10": -1}),
        "the column 'total' has nan; allowed: finite numbers from 0 on$": bins.assign(total=float("nan")),
        "has a bin of LONG at the price .* twice": pd.concat([bins, bins]),
    }
    for kind, every in ((liqdata.Heatmap, heatmaps), (liqdata.LiquidationMap, maps)):
        for words, one in every.items():
            one.attrs = frame.attrs if kind is liqdata.Heatmap else bins.attrs
            with pytest.raises(liqdata.BadQuery, match=f"frame: .*{words}"):
                kind.from_frame(one)
    with pytest.raises(liqdata.BadQuery, match="model: 7 is not allowed; allowed: 0, 1, 2, 3"):
        liqdata.Heatmap.from_frame(frame, model=7)
    with pytest.raises(liqdata.BadQuery, match="bin_width: 0 is not allowed"):
        liqdata.LiquidationMap.from_frame(bins, bin_width=0)
    for kind in (liqdata.Heatmap, liqdata.LiquidationMap):
        with pytest.raises(TypeError, match="'symbl'; did you mean 'symbol'"):
            kind.from_frame(frame, symbl="BTC")


def test_an_empty_cell_of_a_heatmap_comes_back_empty(market):
    frame = market.heatmap("BTC", "12h").to_frame()
    frame.iloc[3, 3] = float("nan")
    assert liqdata.Heatmap.from_frame(frame).to_frame().isna().sum().sum() == 1


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


def test_the_shell_says_that_more_orders_match(capfd, market):
    every = len(market.orders("BTC", start="-1d", limit=1000))
    said = "more orders match: a larger --limit or --all has them\nsimulated market\n"
    for options, more in (([], True), (["--start=-1d"], True), (["--start=-1d", "--limit", str(every)], False)):
        assert cli.main(["orders", "BTC", "--demo", "--limit", "2", "--csv", *options]) == 0
        shown, errors = capfd.readouterr()
        assert len(shown.splitlines()) == 1 + (2 if more else every)
        assert errors == (said if more else "simulated market\n")


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


def test_other_periods_are_named_where_one_is_missing(market):
    with pytest.raises(liqdata.BadQuery, match='"1y"; start and end select any other period'):
        market.coins("2w")
    with pytest.raises(KeyError, match=r"overview\(range=, start=, end=\) adds others"):
        market.overview()["7d"]
    with pytest.raises(KeyError, match="nothing"):
        market.maxpain("BTC")["nothing"]


def test_a_comparison_has_the_range_of_its_maps(market):
    maps = [market.liqmap("BTC", "7d"), market.liqmap("BTC", "7d", model=2)]
    assert liqdata.compare(maps).range == "7d"
    assert liqdata.compare([market, market], range="3d").range == "3d"
    assert liqdata.compare([*maps, market], range="1w").range == "1w"
    assert liqdata.compare([market.liqmap("BTC", "1d"), market.heatmap("BTC", "24h")]).range == "1d"
    assert liqdata.compare([*maps, market.liqmap("BTC", "3d")]).range == "7d, 3d"
    for others in ([], [market]):
        with pytest.raises(liqdata.BadQuery, match="range: '1d' is not that of the given map 'b'; allowed: '7d'"):
            liqdata.compare(dict(zip("abc", [market.liqmap("BTC", "1d"), *maps, *others], strict=False)), range="1d")
