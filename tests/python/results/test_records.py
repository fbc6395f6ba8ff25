"""Records: dicts with the keys of the contract, everything else an attribute, and frames of one row each."""

import copy
import json
import pickle
from datetime import UTC, datetime

import pandas as pd
import pytest
import samples
from scripted import answer

import liqdata
from liqdata import BadQuery, Record

TOTALS = {"long_usd": 1.5, "short_usd": 2.0, "total_usd": 3.5, "cnt": 3}


@pytest.fixture(scope="module")
def market():
    return samples.market()


@pytest.fixture(scope="module")
def client(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        yield client


@pytest.fixture(params=["market", "client"])
def source(request):
    return request.getfixturevalue(request.param)


def test_the_keys_are_the_contracts_and_the_rest_are_attributes(source):
    for record, keys in (
        (source.overview(), ["1h", "4h", "12h", "24h"]),
        (source.levels("ETH"), ["symbol", "price", "updatedAt", "tiers"]),
        (source.maxpain("ETH"), ["symbol", "price", "updatedAt", "d1", "d7"]),
    ):
        assert isinstance(record, Record)
        assert isinstance(record, dict)
        assert list(record) == keys
        assert record == dict(record)
        assert record.units == "usd"
        assert not record.simulated
        assert json.loads(json.dumps(record)) == record


def test_values_in_other_units_are_marked():
    bare = liqdata.Market(bars=samples.bars(), now=samples.NOW)
    with liqdata.serve(bare) as server, liqdata.Client(server.url) as client:
        for source in (bare, client):
            record = source.maxpain("BTC")
            assert record.units == "relative"
            assert "relative units" in repr(record)


def test_a_record_of_another_service_has_the_values_of_the_service(script, connect):
    body = {"success": True, "data": {"24h": TOTALS}}
    record = connect(script(answer(body))).overview()
    assert record == {"24h": TOTALS}
    assert "covered" not in record.meta
    assert record.simulated is None or record.simulated is False


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_record_pickles_with_its_attributes(market, protocol):
    record = market.maxpain("BTC")
    for back in (pickle.loads(pickle.dumps(record, protocol=protocol)), copy.copy(record), copy.deepcopy(record)):
        assert type(back) is Record
        assert (back, back.meta, back.units, back.simulated) == (record, record.meta, "usd", False)


def test_a_frame_has_one_row_and_a_column_for_each_value(source):
    pain = source.maxpain("BTC")
    row = pain.to_pandas()
    assert len(row) == 1
    assert list(row.columns)[:6] == ["symbol", "price", "updatedAt", "d1_long_price", "d1_long_usd", "d1_long_distPct"]
    assert row["d7_short_usd"].item() == pain["d7"]["short"]["usd"]
    assert row["updatedAt"].item() == pd.Timestamp(pain["updatedAt"], unit="ms", tz="UTC")
    assert str(row["updatedAt"].dtype) == "datetime64[ms, UTC]"
    same = pain.to_polars()
    assert same.columns == list(row.columns)
    assert same["updatedAt"].item() == datetime.fromtimestamp(pain["updatedAt"] / 1000, UTC)
    assert source.levels("BTC").to_pandas()["tiers_25_longPrice"].item() > 0
    assert source.overview().to_pandas()["24h_cnt"].item() == source.overview()["24h"]["cnt"]


def test_several_symbols_become_one_frame(source):
    answers = source.maxpain(["ETH", "BTC"])
    frame = liqdata.frame(answers)
    assert list(frame.index) == list(frame["symbol"]) == ["ETH", "BTC"]
    for symbol, record in answers.items():
        assert frame.loc[symbol, "d1_long_price"] == record["d1"]["long"]["price"]
    answers["ETH"].pop("d7")  # another service may leave it out
    assert liqdata.frame(answers)["d7_totalLong"].isna().tolist() == [True, False]
    assert liqdata.frame({}).empty


@pytest.mark.parametrize("wrong", [None, [], "BTC", {"BTC": 3}])
def test_an_argument_that_is_no_mapping_of_records_is_refused(wrong):
    with pytest.raises(BadQuery, match="records by symbol") as refused:
        liqdata.frame(wrong)
    assert refused.value.parameter == "answers"


def test_a_record_reads_as_a_table(market):
    text = repr(market.maxpain("BTC")).splitlines()
    assert text[0].startswith("maxpain · BTC · price ")
    assert "updated 2026-06-01 00:00:00 UTC" in text[0]
    assert text[1].split() == ["price", "usd", "distPct"]
    assert [line.split("  ")[0] for line in text[2:6]] == ["d1 long", "d1 short", "d7 long", "d7 short"]
    assert len({len(line) for line in text[1:6]}) == 1
    assert repr(market.overview()).splitlines()[1].split() == ["long_usd", "short_usd", "total_usd", "cnt"]
    with pytest.warns(liqdata.NotCovered):
        assert "not covered" in repr(liqdata.Market().overview())


def test_values_of_a_record_are_escaped():
    record = Record({"symbol": "<b>\x1b", "price": 1.0, "d1": {"<i>": 2.0}}, meta={})
    html = record._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "\x1b" not in html + repr(record)
    assert "<td style='text-align:right'>2</td>" in html
