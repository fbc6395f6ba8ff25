"""Features in engines: candles of freqtrade, and the extras that other engines need."""

import importlib.util
import subprocess
import sys
import tomllib
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
import samples

import liqdata
from liqdata.freqtrade import add_features

PAIR = {"pair": "BTC/USDT:USDT"}
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def candles():
    bars = liqdata.demo().bars("BTC", interval="1h", start="-6h").to_pandas()
    return bars.rename(columns={"timestamp": "date"})[["date", "open", "high", "low", "close", "volume"]]


def test_a_candle_has_the_features_of_its_close(candles):
    market = liqdata.demo()
    found = add_features(candles, PAIR, market, "1h", columns=["price", "long_usd_1h"])
    at = (candles["date"] + HOUR).tolist()
    wanted = market.features("BTC", at, columns=["price", "long_usd_1h"]).to_pandas()
    pd.testing.assert_frame_equal(found[["price", "long_usd_1h"]], wanted[["price", "long_usd_1h"]])
    assert found["price"].tolist() == candles["close"].tolist()
    assert list(found.columns) == [*candles.columns, "price", "long_usd_1h"]
    everything = add_features(candles.astype({"date": "datetime64[ns, UTC]"}), PAIR, market, "1h")
    assert "below_dist_pct" in everything
    assert not {"at", "coin", "bar_open"} & set(everything.columns)


def test_a_service_gives_candles_the_same_features(candles, market, server):
    options = {"columns": ["price", "long_usd_1h", "below_dist_pct"]}
    found = add_features(candles, PAIR, server.url, "1h", **options)
    pd.testing.assert_frame_equal(found, add_features(candles, PAIR, market, "1h", **options))


def test_candles_before_the_first_bar_have_no_features(candles):
    early = candles.head(2).assign(date=candles["date"].head(2) - timedelta(days=40))
    found = add_features(pd.concat([early, candles]), PAIR, liqdata.demo(), "1h", columns=["price"])
    assert found["price"].isna().tolist() == [True, True, *[False] * len(candles)]
    with pytest.raises(liqdata.WrongState, match="no bar from then or before is known"):
        add_features(early, PAIR, liqdata.demo(), "1h")


def test_features_of_old_rows_are_refused(candles):
    bars = liqdata.demo().bars("BTC", interval="1h", start="-12h", end="-1h").to_pandas()
    market = liqdata.Market(bars=bars.drop(columns="closes_at"), now=samples.NOW)
    found = add_features(candles.head(5), PAIR, market, "1h", columns=["price"])
    assert found["price"].notna().all()
    with pytest.raises(liqdata.WrongState, match=r"BTC/USDT:USDT at 2026-06-01T00:00:00Z are stale: .* 3600 s old"):
        add_features(candles, PAIR, market, "1h", columns=["price"])


def test_an_archive_is_opened_once_for_all_pairs(candles, tmp_path, monkeypatch):
    bars = liqdata.demo().bars("BTC", interval="1h", start="-12h").to_pandas()
    folder = tmp_path / "archive"
    liqdata.ingest(folder, bars=bars.drop(columns="closes_at"), exchange="binance")
    for _ in range(2):
        found = add_features(candles, PAIR, folder, "1h", columns=["price"])
        monkeypatch.setattr("liqdata.market.open", None)
    assert found["price"].tolist() == candles["close"].tolist()


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"metadata": {}}, 'metadata: {} is not allowed; allowed: a mapping with a pair, such as "BTC/USDT:USDT"'),
        ({"timeframe": "hour"}, "timeframe: 'hour' is not allowed; allowed: the length of a candle"),
        ({"dataframe": pd.DataFrame({"date": []})}, "dataframe: no rows; allowed: at least one candle"),
        ({"dataframe": pd.DataFrame({"time": [1]})}, "dataframe: column 'date' is missing"),
    ],
)
def test_wrong_arguments_are_named(candles, changed, message):
    given = {"dataframe": candles, "metadata": PAIR, "market": liqdata.demo(), "timeframe": "1h"} | changed
    with pytest.raises(liqdata.BadQuery, match=message.replace("{", r"\{")):
        add_features(**given)


@pytest.mark.skipif(importlib.util.find_spec("nautilus_trader") is not None, reason="nautilus_trader is installed")
def test_without_its_extra_the_module_for_nautilus_trader_says_what_to_install():
    command = [sys.executable, "-c", "import liqdata; liqdata.nautilus"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert 'needs nautilus_trader and Python 3.12 or newer: pip install "liqdata[nautilus]"' in done.stderr


def test_the_extras_of_engines_are_not_in_all():
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"nautilus", "freqtrade"} <= extras.keys()
    assert not {"nautilus", "freqtrade"} & set(extras["all"][0].partition("[")[2].rstrip("]").split(","))
