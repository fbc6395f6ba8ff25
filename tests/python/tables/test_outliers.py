"""Bars and open interest that leave the level of their neighbours and come back: left out of estimates, and counted."""

import pytest
import samples
from samples import MINUTE, NOW

import liqdata
from liqdata import _core

# Places in the tables of one coin: of two readings in each five minutes the first is binance's.
READINGS = {400: 0.0, 471: 1e14, 600: 9_900.0}
BARS = {270: 100.0, 271: 100.0, 310: 0.01}


def tables(*, clean):
    """Tables of one coin with outliers, or without the rows that have them."""
    orders, bars, readings = samples.orders(), samples.bars(["BTC"]), samples.open_interest(["BTC"])
    for place, value in READINGS.items():
        readings["open_interest"][place] = value
    for place, factor in BARS.items():
        for name in ("open", "high", "low", "close"):
            bars[name][place] *= factor
    bars["interval"] = [5 * MINUTE] * len(bars["symbol"])
    if clean:
        bars, readings = without(bars, BARS), without(readings, READINGS)
    return orders, bars, readings


def without(table, places):
    return {name: [cell for row, cell in enumerate(cells) if row not in places] for name, cells in table.items()}


def in_doubt(answer):
    explain = answer.meta["explain"]
    return [explain[name] for name in ("openInterestOutliers", "openInterestUnjudged", "barOutliers", "barsUnjudged")]


def same(found, wanted):
    """Whether answers are equal; of a heatmap the last column, as earlier ones had rows that were in doubt then."""
    if not isinstance(found, liqdata.Heatmap):
        return found == wanted
    columns = [dict(zip(each.prices.tolist(), each.matrix[:, -1].tolist(), strict=True)) for each in (found, wanted)]
    one, other = ({price: usd for price, usd in column.items() if usd > 0} for column in columns)
    return one == other


def estimates(market, **as_of):
    yield market.heatmap("BTC", "24h", explain=True, **as_of)
    yield market.liqmap("BTC", "all", explain=True, **as_of)
    yield market.levels("BTC", explain=True, **as_of)
    yield market.maxpain("BTC", explain=True, **as_of)


@pytest.fixture(params=["tables", "archive"])
def markets(request, tmp_path):
    """A market with outliers, and one without them."""
    if request.param == "tables":
        yield tuple(liqdata.Market(*tables(clean=clean), now=NOW) for clean in (False, True))
        return
    for name, clean in {"given": False, "clean": True}.items():
        writer = _core.ArchiveWriter(tmp_path / name)
        writer.append(*tables(clean=clean))
        writer.close()
    with liqdata.open(tmp_path / "given") as given, liqdata.open(tmp_path / "clean") as clean:
        yield given, clean


def test_an_estimate_is_that_of_the_tables_without_their_outliers(markets):
    given, clean = markets
    for found, wanted in zip(estimates(given), estimates(clean), strict=True):
        assert same(found, wanted)
        assert in_doubt(found) == [3, 0, 3, 0]
        assert in_doubt(wanted) == [0, 0, 0, 0]
    assert "without 6 outliers" in repr(given.liqmap("BTC", "all"))
    # What was observed is not changed.
    assert len(given.bars("BTC")) == len(clean.bars("BTC")) + 3
    assert len(given.open_interest("BTC")) == len(clean.open_interest("BTC")) + 3


def test_coverage_counts_outliers_by_exchange(markets, request):
    given, clean = markets
    names = ("open_interest_outliers", "bar_outliers")
    found = {row["exchange"]: [row[name] for name in names] for row in given.coverage()}
    # Bars of tables name no exchange.
    bars = 3 if request.node.callspec.params["markets"] == "archive" else 0
    assert found == {"binance": [2, bars], "bybit": [1, 0], "okx": [0, 0]}
    assert all(row[name] == 0 for row in clean.coverage() for name in names)


def test_an_outlier_is_used_until_the_level_is_back(markets):
    given, clean = markets
    closes = {place: row["closes_at"] for place, row in enumerate(given.bars("BTC"))}
    at = closes[310]  # the last outlier of the bars closes
    for found, wanted in zip(estimates(given, as_of=at), estimates(clean, as_of=at), strict=True):
        assert not same(found, wanted)
        assert in_doubt(found) == [3, 0, 2, 1]
        assert "newest rows in doubt" in repr(found) or isinstance(found, dict)
    for found, wanted in zip(estimates(given, as_of=closes[311]), estimates(clean, as_of=closes[311]), strict=True):
        assert same(found, wanted)
        assert in_doubt(found) == [3, 0, 3, 0]
    instants = [closes[place] for place in range(265, 320)]
    for found, at in zip(given.liqmap("BTC", "all", as_of=instants), instants, strict=True):
        assert found == given.liqmap("BTC", "all", as_of=at)
