"""Hundreds of mistakes of new users: each raises, and its class, its parameter and its words lead back."""

import asyncio
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import samples
from mistakes import MISTAKES

import liqdata
from liqdata import _core
from liqdata.errors import BadQuery

ROWS = [row for rows in MISTAKES.values() for row in rows]
AT = 1_780_228_800_000
BARS = {
    "symbol": ["BTC"] * 2,
    "timestamp": [AT, AT + 300_000],
    "open": [1.0, 1.5],
    "high": [2.0, 2.0],
    "low": [0.5, 1.0],
    "close": [1.5, 1.2],
    "volume": [10.0, 9.0],
}
ORDERS = {
    "exchange": ["binance"],
    "symbol": ["BTCUSDT"],
    "side": ["LONG"],
    "price": [100.0],
    "qty": [1.0],
    "value_usd": [100.0],
    "timestamp": [AT],
}
READING = {"symbol": ["BTC"], "timestamp": [AT]}
REALISED = {
    "timestamp": [samples.NOW - samples.HOUR * hours for hours in range(24, 0, -1)],
    "long_usd": [1.0] * 24,
    "short_usd": [1.0] * 24,
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Everything that the expressions name: every kind of source, open and closed, and tables that are right."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "empty").mkdir()
    (folder / "file.csv").write_text("a,b\n")
    writer = _core.ArchiveWriter(folder / "archive")
    bars = samples.bars()
    writer.append(samples.orders(), {**bars, "interval": [5 * samples.MINUTE] * len(bars["symbol"])}, None)
    writer.roll(samples.NOW)
    writer.close()
    loop = asyncio.new_event_loop()
    market, closed_market = samples.simulated(), liqdata.Market(bars=BARS)
    server = liqdata.serve(market)
    closed_client, closed_service = liqdata.Client(server.url), liqdata.AsyncClient(server.url)
    closed_market.close()
    closed_client.close()
    loop.run_until_complete(closed_service.aclose())
    found = SimpleNamespace(
        ARCHIVE=str(folder / "archive"),
        BARS=BARS,
        EMPTY=str(folder / "empty"),
        FILE=str(folder / "file.csv"),
        FRAME=pd.DataFrame(BARS),
        NEW=str(folder / "new"),
        ORDERS=ORDERS,
        READING=READING,
        REALISED=REALISED,
        archive=liqdata.open(folder / "archive"),
        client=liqdata.Client(server.url),
        closed_client=closed_client,
        closed_market=closed_market,
        closed_service=closed_service,
        heatmap=market.heatmap("BTC"),
        liqdata=liqdata,
        liqmap=market.liqmap("BTC"),
        market=market,
        unreachable=liqdata.Client("http://127.0.0.1:9", retries=0),
        np=np,
        pd=pd,
        pl=pl,
        service=liqdata.AsyncClient(server.url),
        tables=liqdata.Market(orders=ORDERS, bars=BARS),
        timedelta=timedelta,
        wait=loop.run_until_complete,
        wrong=liqdata.Client(f"{server.url}/nope", retries=0),
    )
    yield vars(found)
    loop.run_until_complete(found.service.aclose())
    for one in (found.client, found.unreachable, found.wrong, found.archive, server):
        one.close()
    loop.close()


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_mistake_names_a_remedy(names, monkeypatch, row):
    mistake, kind, parameter, words = row
    monkeypatch.delenv("LIQDATA_BASE_URL", raising=False)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is what the table says
        eval(mistake, dict(names))  # noqa: S307 - of our own table
    error = caught.value
    assert type(error).__name__ == kind
    assert words in str(error)
    assert getattr(error, "parameter", None) == parameter
    if isinstance(error, BadQuery):
        assert str(error).startswith(f"{parameter}: ")


def test_every_interface_has_many_tested_mistakes():
    assert len({row[0] for row in ROWS}) == len(ROWS) > 400
    asked = " ".join(row[0] for row in ROWS)
    doors = [name for name in dir(liqdata.Market) if not name.startswith("_")]
    forgotten = [name for name in doors if f".{name}(" not in asked]
    assert set(forgotten) <= {"close", "live", "now", "replayed", "simulated", "symbols"}, forgotten
    called = [name for name in liqdata.__all__ if name[0].islower() and callable(getattr(liqdata, name))]
    assert [name for name in called if f"liqdata.{name}(" not in asked] == []


def test_every_error_class_is_tested():
    kinds = Counter(row[1] for row in ROWS)
    assert {"BadQuery", "Refused", "NoAnswer", "ArchiveError", "UnexpectedReply", "TypeError"} <= set(kinds)
    assert all(row[2] for row in ROWS if row[1] == "BadQuery")
