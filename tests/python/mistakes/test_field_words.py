"""What people type who know other libraries of this field: each word is met with the one that is meant here."""

import socket
import subprocess
import sys

import pytest

import liqdata
import liqdata.cli
from liqdata.errors import ArchiveError, BadQuery


@pytest.mark.parametrize(
    "call, meant",
    [
        (lambda market: market.orders(since="-1h"), "start"),
        (lambda market: market.orders(start_time="-1h"), "start"),
        (lambda market: market.orders(until="-1h"), "end"),
        (lambda market: market.history("BTC", timeframe="1h"), "interval"),
        (lambda market: market.heatmap("BTC", timeframe="24h"), "range"),
        (lambda market: market.orders(venue="okx"), "exchange"),
        (lambda market: market.orders(coin="BTC"), "symbol"),
    ],
    ids=["since", "start_time", "until", "timeframe of history", "timeframe of heatmap", "venue", "coin"],
)
def test_parameters_of_other_libraries_are_known(market, call, meant):
    with pytest.raises(TypeError, match=f"did you mean '{meant}'\\?"):
        call(market)


@pytest.mark.parametrize(
    "name, meant",
    [
        ("liquidations", "orders"),
        ("get_liquidations", "orders"),
        ("get_orders", "orders"),
        ("fetch_liquidations", "orders"),
        ("fetch_ohlcv", "bars"),
        ("get_heatmap", "heatmap"),
        ("max_pain", "maxpain"),
    ],
)
def test_methods_of_other_libraries_are_known(market, name, meant):
    with pytest.raises(AttributeError, match=f"did you mean '{meant}'\\?"):
        getattr(market, name)
    with liqdata.Client("http://127.0.0.1:9") as client, pytest.raises(AttributeError, match=meant):
        getattr(client, name)


def test_dir_has_the_public_names_alone():
    assert dir(liqdata) == sorted(liqdata.__all__)


def test_a_time_index_begins_with_the_oldest_row(market):
    rows = market.orders("BTC", limit=200)
    frame = rows.to_pandas(index="timestamp")
    assert frame.index.name == "timestamp"
    assert str(frame.index.dtype) == "datetime64[ms, UTC]"
    assert frame.index.is_monotonic_increasing
    assert frame.index[-1].value // 1_000_000 == rows[0]["timestamp"]
    assert list(frame.columns) == [name for name in rows.to_pandas().columns if name != "timestamp"]
    assert frame["value_usd"].resample("1h").sum().sum() == pytest.approx(float(sum(rows["value_usd"])))
    assert market.cascades().to_pandas(index="start").index.name == "start"
    with pytest.raises(BadQuery, match="index: 'price' is not a column of times; allowed: 'timestamp'"):
        rows.to_pandas(index="price")
    with pytest.raises(BadQuery, match="allowed: none here"):
        market.coins().to_pandas(index="timestamp")


@pytest.mark.parametrize(
    "text, unified",
    [
        ("BTCUSDT", "BTC/USDT:USDT"),
        ("BTC-USDT-SWAP", "BTC/USDT:USDT"),
        ("BINANCE:1000PEPEUSDT.P", "1000PEPE/USDT:USDT"),
        ("XYZ-TSLA/USDC:USDC", "XYZ-TSLA/USDC:USDC"),
        ("kPEPE/USDC:USDC", "KPEPE/USDC:USDC"),
        ("BTC/USDT", "BTC/USDT"),
        ("BTC", None),
        ("BTCUSDT_260626", None),
        ("BTC-27NOV26-80000-C", None),
        ("XBTUSD", None),
    ],
)
def test_a_symbol_has_the_name_that_ccxt_gives_it(text, unified):
    symbol = liqdata.symbols.parse(text)
    assert symbol.ccxt == unified
    if unified is not None:
        again = liqdata.symbols.parse(unified)
        assert (again.coin, again.quote, again.kind, again.scale) == (
            symbol.coin,
            symbol.quote,
            symbol.kind,
            symbol.scale,
        )


@pytest.mark.parametrize("whole", [False, True])
def test_candles_of_ccxt_are_drawn_over_a_heatmap(market, whole):
    pytest.importorskip("matplotlib")
    import numpy as np
    from matplotlib.figure import Figure

    names = ("timestamp", "open", "high", "low", "close", "volume")
    bars = market.bars("BTC", start="-24h")
    candles = [[row[name] for name in names] for row in bars]
    heat = market.heatmap("BTC", "24h")
    drawn, wanted = (
        heat.plot(Figure().add_subplot(), price=price) for price in (np.array(candles) if whole else candles, bars)
    )
    assert [len(one.get_paths()) for one in drawn.collections] == [len(one.get_paths()) for one in wanted.collections]
    with pytest.raises(BadQuery, match="candle 1 has 5 cells instead of 6"):
        heat.plot(Figure().add_subplot(), price=[candles[0], candles[1][:5]])


# The shell


def shell(*arguments):
    return subprocess.run([sys.executable, "-m", "liqdata", *arguments], capture_output=True, text=True, check=False)


def test_max_pain_of_several_coins_in_the_shell(market, monkeypatch, capsys):
    import contextlib
    import json

    monkeypatch.setattr(liqdata, "demo", lambda **_: contextlib.nullcontext(market))
    assert liqdata.cli.main(["maxpain", "BTC,ETH", "--demo", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("symbol,range,side,price")
    assert [line.split(",")[0] for line in lines[1:]] == ["BTC"] * 4 + ["ETH"] * 4
    assert liqdata.cli.main(["levels", "BTC, ETH", "--demo", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"BTC", "ETH"}
    assert liqdata.cli.main(["maxpain", "BTC,ETH", "--demo"]) == 0
    assert "maxpain BTC,ETH" in capsys.readouterr().out
    assert liqdata.cli.main(["maxpain", "BTC,ETH", "--demo", "--png", "pain.png"]) == 2
    assert "png: a picture shows one symbol" in capsys.readouterr().err


def test_chart_has_one_range_and_names_it(capsys):
    assert liqdata.cli.main(["chart", "BTC", "--demo", "--range", "7d"]) == 2
    said = capsys.readouterr().err
    assert "--range is not an option of liqdata chart; chart has the last 24 hours by hour" in said
    assert "liqdata history --start -7d" in said


def test_an_unknown_folder_is_called_so(tmp_path):
    for call in (liqdata.open, liqdata.archive.verify, liqdata.archive.ingests, liqdata.archive.rebuild):
        with pytest.raises(ArchiveError, match="missing is not an archive: no such folder") as raised:
            call(tmp_path / "missing")
        assert raised.value.path == str(tmp_path / "missing")
    failed = shell("coins", "--archive", str(tmp_path / "missing"))
    assert (failed.returncode, failed.stderr) == (
        1,
        f"liqdata: {tmp_path / 'missing'} is not an archive: no such folder\n",
    )


def test_a_refused_connection_is_announced_once():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        failed = shell("coins", "--url", f"http://127.0.0.1:{unused.getsockname()[1]}")
    first, second, *causes = failed.stderr.splitlines()
    assert "refused the connection; trying again in" in first
    assert "refused the connection; 5 attempts" in second
    assert all(line.startswith("  caused by: ") for line in causes)
