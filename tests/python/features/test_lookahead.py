"""The check that finds features which look ahead."""

import numpy as np
import pandas as pd
import pytest
import samples

import liqdata
from liqdata import assert_no_lookahead, check_lookahead

NOW, MINUTE, HOUR = samples.NOW, samples.MINUTE, samples.HOUR
AT = [NOW - hours * HOUR for hours in range(20, -1, -1)]


@pytest.fixture(scope="module")
def tables():
    orders = samples.orders(300, seed=4)
    late = [at + (2 * HOUR if place % 3 == 1 else 1000) for place, at in enumerate(orders["timestamp"])]
    return {"orders": orders | {"received_at": late}, "bars": samples.bars(hours=26)}


def prices(market, at):
    """The closes of bars as a series by the instant of their close."""
    frame = market.bars("BTC").to_pandas()
    return pd.Series(frame["close"].to_numpy(), index=frame["closes_at"]).reindex(
        pd.to_datetime(at, unit="ms", utc=True)
    )


def clean(market, at):
    return market.features("BTC", at, columns=["price", "long_usd_1h", "covered_1h"], windows=["1h"])


def span_join(market, at):
    """One history over the whole time also counts the rows that arrived later."""
    rows = market.history("BTC", interval="1h", start=at[0] - HOUR, end=at[-1], by=())
    sums = {row["timestamp"]: row["total_usd"] for row in rows}
    return {"at": list(at), "usd": [sums.get(one - HOUR) for one in at]}


def open_label(market, at):
    """The hour that opens at the instant, instead of the one that closes then."""
    rows = {row["timestamp"]: row["cnt"] for row in market.history("BTC", interval="1h", start=at[0], by=())}
    return {"at": list(at), "cnt": [rows.get(one) for one in at]}


def next_return(market, at):
    close = prices(market, at)
    return pd.DataFrame({"price": close, "ahead": close.shift(-1) / close - 1})


def normalised(market, at):
    close = prices(market, at)
    return pd.DataFrame({"price": close, "score": (close - close.mean()) / close.std()})


def running(market, at):
    close = prices(market, at)
    return pd.DataFrame({"price": close, "score": close / close.expanding().mean() - 1})


@pytest.mark.parametrize(
    "build, columns",
    [
        (clean, ()),
        (running, ()),
        (span_join, ("usd",)),
        (open_label, ("cnt",)),
        (next_return, ("ahead",)),
        (normalised, ("score",)),
    ],
)
def test_columns_that_look_ahead_are_found_and_others_pass(tables, build, columns):
    found = check_lookahead(build, tables, AT)
    assert found.columns == columns
    assert set(found.not_tested) <= {"coin"}
    assert len(found.instants) == 20
    for one in found.differences:
        assert one.column in columns
        assert one.at in found.instants
    assert all(name in str(found) for name in columns)


def test_a_column_without_values_or_of_one_value_is_not_passed(tables):
    def build(market, at):
        frame = next_return(market, at)
        return frame.assign(nothing=np.nan, zero=0.0, name="BTC")

    found = check_lookahead(build, tables, AT, sample=5)
    assert found.not_tested == ("nothing", "zero", "name")
    with pytest.raises(AssertionError, match="ahead looks ahead at") as failed:
        assert_no_lookahead(build, tables, AT, sample=5)
    assert "not tested (missing or constant at all of them): nothing, zero, name" in str(failed.value)
    with pytest.raises(AssertionError, match="not tested"):
        assert_no_lookahead(clean, tables, AT, sample=5)
    assert_no_lookahead(clean, tables, AT, sample=5, ignore=["coin"])


def test_a_market_and_several_coins_may_be_given(tables):
    def build(market, at):
        return market.features(["BTC", "ETH"], at, columns=["price", "short_usd_2pct"])

    found = check_lookahead(build, liqdata.Market(**tables), AT, sample=4, seed=3)
    assert (found.columns, len(found.instants)) == ((), 4)
    assert found.not_tested == ()
    assert found.instants != check_lookahead(build, tables, AT, sample=4, seed=4).instants


def test_wrong_arguments_and_tables_are_named(tables):
    for options, parameter in (
        ({"at": AT[::-1]}, "at"),
        ({"at": AT[:1]}, "at"),
        ({"at": "2026-06-01"}, "at"),
        ({"sample": 1}, "sample"),
        ({"tables": 5}, "tables"),
    ):
        given = {"tables": tables, "at": AT, **options}
        with pytest.raises(liqdata.BadQuery) as refused:
            check_lookahead(clean, **given)
        assert refused.value.parameter == parameter
    with pytest.raises(liqdata.BadQuery, match="20 rows for 21 instants"):
        check_lookahead(lambda _market, at: {"x": list(range(len(at) - 1))}, tables, AT)

    def failing(_market, at):
        if len(at) < len(AT):
            raise KeyError("x")
        return {"x": list(range(len(at)))}

    with pytest.raises(KeyError) as failed:
        check_lookahead(failing, tables, AT)
    assert "build failed on the rows that were known by" in failed.value.__notes__[0]
