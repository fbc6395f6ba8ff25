"""Amounts in USD of open interest that was read long ago: every face of an estimate says how old it is."""

import urllib.request

import pytest
import samples
from samples import HOUR, MINUTE, NOW

import liqdata
from liqdata import cli


def tables(hours):
    """Bars until NOW, and open interest that was last read so many hours before the last of them."""
    bars = samples.bars()
    readings = samples.open_interest()
    last = NOW - hours * HOUR
    chosen = [place for place, at in enumerate(readings["timestamp"]) if at <= last]
    readings = {name: [cells[place] for place in chosen] for name, cells in readings.items()}
    assert last - max(readings["timestamp"]) < HOUR
    return samples.orders(), bars, readings


@pytest.fixture
def market():
    return liqdata.Market(*tables(26), now=NOW)


def test_the_unit_says_how_old_open_interest_is_from_a_day_on(market):
    for made in (market.heatmap("BTC", "3d"), market.liqmap("BTC", "7d")):
        assert made.units == "usd"
        assert "open interest 26 h old" in repr(made)
        assert repr(made).count("open interest 2") == 1
    fresh = liqdata.Market(*tables(3), now=NOW)
    for made in (fresh.heatmap("BTC", "3d"), fresh.liqmap("BTC", "7d")):
        assert "open interest 3:" in repr(made)


def test_a_header_carries_the_age_and_clients_show_it(market, connect):
    with liqdata.serve(market) as server:
        client = connect(server)
        for made in (client.heatmap("BTC", "3d"), client.liqmap("BTC", "7d")):
            assert "open interest 26 h old" in repr(made)
        for answer in (client.levels("BTC"), client.maxpain("BTC")):
            assert 26 * HOUR <= answer.meta["explain"]["openInterestAgeMs"] < 27 * HOUR
        with urllib.request.urlopen(f"{server.url}/api/liq-map?symbol=BTC", timeout=30) as answer:
            age = int(answer.headers["x-liqdata-open-interest-age"])
        assert 26 * HOUR <= age < 27 * HOUR
    with liqdata.serve(liqdata.Market(*tables(0), now=NOW)) as server:
        assert "explain" not in connect(server).liqmap("BTC", "7d").meta


def test_the_command_line_shows_the_age_in_every_form(tmp_path, capsys):
    orders, bars, readings = tables(26)
    bars["interval"] = [5 * MINUTE] * len(bars["symbol"])
    writer = liqdata._core.ArchiveWriter(tmp_path / "archive")
    writer.append(orders, bars, readings)
    writer.close()
    for command in ("heatmap", "liqmap", "levels", "maxpain"):
        for form in ((), ("--json",)):
            assert cli.main([command, "BTC", "--archive", str(tmp_path / "archive"), *form]) == 0
            out, err = capsys.readouterr()
            assert "open interest 26 h old: amounts in USD use the open interest of that time" in err, command
            assert ("open interest 26 h old" in out) is not bool(form), command


def test_the_command_line_calls_no_relative_amount_usd(tmp_path, capsys):
    orders, bars, _ = tables(26)
    bars["interval"] = [5 * MINUTE] * len(bars["symbol"])
    writer = liqdata._core.ArchiveWriter(tmp_path / "archive")
    writer.append(orders, bars, None)
    writer.close()
    assert cli.main(["levels", "BTC", "--archive", str(tmp_path / "archive")]) == 0
    out, _ = capsys.readouterr()
    assert "rel." in out
