"""The exchange of ingested rows: a misspelt name makes no new exchange."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from dumped import MINUTE, START, written

import liqdata
from liqdata import cli
from liqdata.errors import BadQuery

ROW = {"timestamp": [START], "symbol": ["BTCUSDT"], "exchange": ["bnance"]}
UNKNOWN_EXCHANGE = {
    "orders": {**ROW, "side": ["LONG"], "price": [100.0], "qty": [1.0], "value_usd": [100.0]},
    "bars": {**ROW, "interval": ["5m"], "open": [1.0], "high": [1.0], "low": [1.0], "close": [1.0], "volume": [1.0]},
    "open_interest": {**ROW, "open_interest": [5.0]},
    "positions": {
        **{name: cells for name, cells in ROW.items() if name != "symbol"},
        "coin": ["BTC"],
        "side": ["LONG"],
        "qty": [1.0],
        "liquidation_price": [50.0],
        "value_usd": [100.0],
    },
}


@pytest.mark.parametrize("kind", UNKNOWN_EXCHANGE)
def test_a_misspelt_exchange_makes_no_new_one(folder, kind):
    table = UNKNOWN_EXCHANGE[kind]
    twice = {name: cells * 2 for name, cells in table.items()} | {"exchange": ["OKEX", "bnance"]}
    twice["timestamp"] = [START, START + 5 * MINUTE]
    with pytest.raises(BadQuery) as refused:
        liqdata.ingest(folder, **{kind: twice})
    assert refused.value.parameter == kind
    said = str(refused.value)
    assert "exchange" in said
    assert "row 1" in said
    assert 'did you mean "binance"?' in said
    assert "new_exchange=True" in said
    nameless = {name: cells for name, cells in table.items() if name != "exchange"}
    with pytest.raises(BadQuery, match=r'exchange: "bnance" is unknown.*; did you mean "binance"\?') as refused:
        liqdata.ingest(folder, **{kind: nameless}, exchange="bnance")
    assert refused.value.parameter == "exchange"
    assert not Path(folder, "journal.sqlite").exists()

    liqdata.ingest(folder, **{kind: table}, new_exchange=True)
    # A name that the archive has is known, whichever table it stands in.
    for other, named in UNKNOWN_EXCHANGE.items():
        liqdata.ingest(folder, **{other: named})
    assert liqdata.ingest(folder, **{kind: table}).repeated == 1


@pytest.mark.parametrize("made", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
def test_orders_without_an_exchange_get_the_given_one(folder, made):
    named = {name: cells * 2 for name, cells in UNKNOWN_EXCHANGE["orders"].items()} | {
        "timestamp": [START, START + MINUTE]
    }
    nameless = made({name: cells for name, cells in named.items() if name != "exchange"})
    with pytest.raises(BadQuery, match=r'orders: column "exchange" is missing'):
        liqdata.ingest(folder, orders=nameless)
    some = made({**named, "exchange": ["okx", None]})
    with pytest.raises(BadQuery, match=r'"exchange", row 1: a missing value is not allowed'):
        liqdata.ingest(folder, orders=some)
    assert not Path(folder, "journal.sqlite").exists()

    def exchanges():
        with liqdata.open(folder) as market:
            return [row["exchange"] for row in market.iter_orders(start=START)]

    assert liqdata.ingest(folder, orders=some, exchange="Binance").new == 2
    assert sorted(exchanges()) == ["binance", "okx"]
    done = liqdata.ingest(folder, orders=nameless, exchange="binance")
    assert (done.new, done.repeated) == (1, 1)
    assert sorted(exchanges()) == ["binance", "binance", "okx"]


@pytest.mark.parametrize("kind", ["orders", "bars", "open_interest"])
def test_lines_of_an_unknown_exchange_are_refused_until_it_is_accepted(tmp_path, folder, kind):
    table = UNKNOWN_EXCHANGE[kind]
    cells = [",".join(str(column[0]) for column in table.values())]
    cells += [line.replace("bnance", "okex").replace(str(START), str(START + 5 * MINUTE)) for line in cells]
    file = written(tmp_path, "table.csv", *cells, header=",".join(table))
    done = liqdata.ingest(folder, file)
    reason = "exchange: not a known exchange (new_exchange=True of ingest and Market or --new-exchange accepts it)"
    assert (done.rows, done.new, done.refused) == (2, 1, {reason: 1})
    assert done.first[reason] == f'{file}:2 ("bnance" (did you mean "binance"?))'
    # The file is not recorded as read: the next ingest reads it again and finds the line.
    assert liqdata.ingest(folder, file).refused == {reason: 1}
    assert liqdata.ingest(folder, file, new_exchange=True).new == 1
    assert liqdata.ingest(folder, file).repeated == 2


def test_an_exchange_of_ones_own_on_the_command_line(tmp_path, folder, capsys):
    header = "timestamp,open,high,low,close,volume"
    file = written(tmp_path, "btc_5m_candles.csv", f"{START},100,102.5,99,101,7", header=header)
    assert cli.main(["ingest", str(folder), str(file), "--exchange", "mine"]) == 2
    assert "--new-exchange" in capsys.readouterr().err
    assert cli.main(["ingest", str(folder), str(file), "--exchange", "mine", "--new-exchange"]) == 0
    assert cli.main(["ingest", str(folder), str(file), "--exchange", "MINE"]) == 0


@pytest.mark.parametrize("name", ["hyperliquid", "Hyperliquid", "okex", "gateio", "lighter-rh", "coinex", "orderly"])
def test_every_collected_exchange_is_known_in_every_spelling(folder, name):
    assert liqdata.ingest(folder, orders=UNKNOWN_EXCHANGE["orders"] | {"exchange": [name]}).new == 1
