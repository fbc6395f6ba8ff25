"""Tables in the shapes that people have: rows as dicts, lists of ccxt, the time as the index, lazy frames."""

import re
from datetime import UTC, datetime, timedelta

import pytest

import liqdata
from liqdata.errors import BadQuery

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
np = pytest.importorskip("numpy")

START = 1_781_136_000_000
MINUTE = 60_000


def ohlcv(coin=60_000.0, bars=48):
    return [[START + at * 5 * MINUTE, coin, coin + 9, coin - 9, coin + 1, 12.5] for at in range(bars)]


def columns(symbol="BTC"):
    names = ("timestamp", "open", "high", "low", "close", "volume")
    return {"symbol": [symbol] * 48} | dict(zip(names, map(list, zip(*ohlcv(), strict=True)), strict=True))


def orders():
    return [
        {
            "exchange": "binance",
            "symbol": "BTCUSDT",
            "side": "LONG",
            "price": "82651.9",
            "qty": "0.19",
            "value_usd": "15703.861",
            "timestamp": START + at,
        }
        for at in range(3)
    ]


def refused(**tables):
    with pytest.raises(BadQuery) as raised:
        liqdata.Market(**tables)
    (name,) = tables
    assert raised.value.parameter == name
    return str(raised.value)


WHOLE = liqdata.Market(bars=columns()).bars("BTC")


in_every_shape = pytest.mark.parametrize(
    "bars",
    [
        {"BTC": ohlcv()},
        {"BTC": [tuple(row) for row in ohlcv()]},
        {"BTC": np.array(ohlcv())},
        [dict(zip(columns(), cells, strict=True)) for cells in zip(*columns().values(), strict=True)],
        pl.LazyFrame(columns()).with_columns(pl.lit(None).alias("empty")),
        {**columns(), "timestamp": pl.Series(columns()["timestamp"]).cast(pl.Datetime("ms", "UTC"))},
        pl.DataFrame(columns()).lazy().filter(pl.col("symbol") == "BTC"),
        pd.DataFrame(columns())
        .assign(timestamp=lambda f: pd.to_datetime(f["timestamp"], unit="ms"))
        .set_index("timestamp"),
        pd.DataFrame(columns())
        .drop(columns="timestamp")
        .set_index(pd.date_range("2026-06-11", periods=48, freq="5min")),
        pd.DataFrame(columns())
        .drop(columns="timestamp")
        .set_index(pd.date_range("2026-06-11 02:00", periods=48, freq="5min", tz="Europe/Berlin")),
        pd.DataFrame(columns()).set_index(["symbol", "timestamp"]),
        pd.DataFrame(columns()).set_index("symbol"),
    ],
    ids=[
        "ccxt by coin",
        "tuples",
        "numpy by coin",
        "dicts",
        "lazy",
        "a column of instants",
        "lazy filtered",
        "time named in the index",
        "time as the index",
        "time of a zone as the index",
        "coin and time as the index",
        "coin as the index",
    ],
)


@in_every_shape
def test_bars_in_every_usual_shape_are_the_same_bars(bars):
    assert liqdata.Market(bars=bars).bars("BTC") == WHOLE


@in_every_shape
def test_an_ingest_takes_bars_in_every_shape_that_a_market_takes(bars, tmp_path):
    done = liqdata.ingest(tmp_path / "archive", bars=bars, exchange="binance")
    assert (done.new, done.refused) == (48, {})
    with liqdata.open(tmp_path / "archive") as archive:
        assert archive.bars("BTC") == WHOLE
    assert liqdata.ingest(tmp_path / "archive", bars=bars, exchange="binance").repeated == 48


def test_bars_of_several_coins_are_grouped_by_coin():
    market = liqdata.Market(bars={"BTC": ohlcv(), "ETH": ohlcv(3000.0)})
    assert market.symbols == ["BTC", "ETH"]
    assert market.bars("ETH")[0]["open"] == 3000


def test_a_column_of_times_takes_precedence_over_the_index():
    frame = pd.DataFrame(columns()).set_index(pd.date_range("2020-01-01", periods=48, freq="5min"))
    assert liqdata.Market(bars=frame).bars("BTC") == WHOLE


def test_rows_as_dicts_are_orders():
    market = liqdata.Market(orders=orders())
    assert market.overview()["1h"]["cnt"] == 3
    # Rows of ours, and the dicts they are made into.
    assert liqdata.Market(orders=list(market.orders())).orders() == market.orders()
    with pytest.warns(liqdata.NotCovered):
        assert liqdata.Market(orders=[]).overview()["24h"]["cnt"] == 0


def test_a_key_missing_in_one_row_is_a_missing_cell():
    rows = orders()
    del rows[1]["price"]
    assert "row 1" in refused(orders=rows)


def test_lists_of_ccxt_without_a_coin_are_refused_with_a_remedy():
    said = refused(bars=ohlcv())
    assert 'bars={"BTC": rows}' in said
    assert 'bars={"BTC": rows}' in refused(bars=np.array(ohlcv()))
    assert "row 1 of 'BTC' has 5 cells" in refused(bars={"BTC": [ohlcv()[0], ohlcv()[1][:5]]})
    for name in ("bars", "open_interest"):
        assert "frame.assign(symbol='BTC')" in refused(**{name: {"BTC": pd.DataFrame(ohlcv())}})


def test_liquidations_of_ccxt_are_refused_with_a_remedy():
    row = {
        "info": {"symbol": "BTCUSDT"},
        "symbol": "BTC/USDT:USDT",
        "contracts": 0.19,
        "contractSize": 1.0,
        "price": 82651.9,
        "side": "sell",
        "baseValue": 0.19,
        "quoteValue": 15703.861,
        "timestamp": START,
        "datetime": "2026-06-11T00:00:00.000Z",
    }
    said = refused(orders=[row])
    market, size = {"inverse": True}, 600  # as of 600 contracts of 1 USD each
    for name, right in (("qty", 600 / 82651.9), ("value_usd", 600)):
        advice = re.search(rf"'{name}': (size.*?),", said)
        assert advice
        assert eval(advice[1], {"row": row, "market": market, "size": size}) == right  # noqa: S307 - an advised expression
    assert "market = exchange.market(row['symbol'])" in said
    assert "the order's of some exchanges and the position's of others" in said
    assert "not liquidations" in refused(orders=[{"id": "1", "takerOrMaker": "taker", "price": 1.0}])
    said = refused(open_interest=[{"symbol": "BTC/USDT:USDT", "openInterestAmount": 5.0, "timestamp": START}])
    assert "row['openInterestAmount']" in said


@pytest.mark.parametrize(
    "table, words",
    [
        (pd.Series([1.0]), "a DataFrame with every column"),
        (pl.Series([1.0]), "a DataFrame with every column"),
        ("orders.parquet", "polars.read_parquet(path)"),
        (iter([]), "a list of what it gives"),
        ([7], "row 0 is a int, not a dict"),
        (7, "a list of dicts"),
        (pd.DataFrame({"a": [1]}, index=pd.period_range("2026-01", periods=1, freq="M")), "index.to_timestamp()"),
    ],
    ids=["pandas series", "polars series", "path", "iterator", "list of numbers", "number", "periods"],
)
def test_an_argument_that_is_no_table_is_refused_with_a_remedy(table, words):
    assert words in refused(bars=table)


def test_xarray_is_refused_with_a_remedy():
    xarray = pytest.importorskip("xarray")
    cube = xarray.Dataset({"open": ("timestamp", [1.0])}, {"timestamp": [START]})
    assert "to_dataframe().reset_index()" in refused(bars=cube)
    assert "to_dataframe(name=...).reset_index()" in refused(bars=cube["open"])


def test_an_index_of_times_is_read_like_a_column_of_them():
    now = datetime.fromtimestamp(START / 1000, UTC)
    frame = pd.DataFrame(orders()).drop(columns="timestamp")
    frame.index = pd.DatetimeIndex([now, now + timedelta(seconds=1), now + timedelta(seconds=2)])
    assert [row["timestamp"] for row in liqdata.Market(orders=frame).orders()] == [START + 2000, START + 1000, START]
