"""Positions of single accounts that others measured: what they become in an archive."""

import json
import os
import urllib.request
from pathlib import Path

import pytest
from dumped import MINUTE, START
from matplotlib.text import Text

import liqdata
from liqdata import cli
from liqdata.errors import BadQuery
from liqdata.plot import layout

RECORDED = os.environ.get("LIQDATA_REAL_DATA")


def snapshots(*prices):
    """A long and a short at each price, ten minutes apart."""
    rows = [
        {
            "timestamp": START + place * 10 * MINUTE,
            "coin": "BTC-PERP",
            "side": side,
            "value_usd": 2 * price,
            "liquidation_price": at,
            "current_price": price,
        }
        for place, price in enumerate(prices)
        for side, at in (("LONG", 0.9 * price), ("SHORT", None))
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_snapshots_of_positions_need_a_plausible_price(tmp_path, capsys):
    archive = tmp_path / "archive"
    given = snapshots(100.0, 101.0, 125.0, 99.0)
    with pytest.raises(BadQuery, match=r"row 0: is missing, and exchange= is not given") as refused:
        liqdata.ingest(archive, positions=given)
    assert refused.value.parameter == "positions"
    done = liqdata.ingest(archive, positions=given, exchange="Hyperliquid")
    reason = "positions: the price of the snapshot differs from the market price"
    assert (done.rows, done.new, done.refused) == (8, 6, {reason: 2})
    assert done.first[reason].startswith("positions:4 (125 at 2024-01-02T00:20:00Z, but the market price was 101")
    assert liqdata.ingest(archive, positions=given, exchange="hyperliquid").repeated == 6
    with liqdata.open(archive) as market:
        before, after = (market.positions("BTC", as_of=START + minutes * MINUTE) for minutes in (25, 30))
        assert [row["account"] for row in before] == ["unnamed 1", "unnamed 2"]
        assert before[0]["qty"] == 2
        assert before[0]["entry_price"] is None
        assert before.meta["seen_share"] is None
        assert (before[0]["value_usd"], after[0]["value_usd"]) == (202, 198)
        # The command prints the seen share and its time, and calls no measured map an estimate.
        capsys.readouterr()
        for command, expected in (
            (["positions"], ("seen by 2024-01-02 00:30:00", "of an unknown share of open interest", "00:30:00")),
            (["liqmap", "--source", "positions"], ("measured, in USD", "198.00 without a price of liquidation")),
        ):
            assert cli.main([*command, "--archive", str(archive)]) == 0
            out = capsys.readouterr().out
            assert all(word in out for word in expected)
            assert "estimate" not in out
            assert " 1d" not in out
        # So does its picture.
        picture = market.liqmap("BTC", source="positions").plot()
        words = [text.get_text() for text in picture.figure.findobj(Text)]
        assert any("measured, of an unknown share of open interest" in word for word in words), words
        labels = {share: layout.estimate({"view": "measured", "seen_share": share}) for share in (0.125, 0.00012)}
        assert labels == {
            0.125: "measured, 12.5 % of open interest seen",
            0.00012: "measured, 0.012 % of open interest seen",
        }
        assert cli.main(["liqmap", "--source", "positions", "--archive", str(archive), "--json"]) == 0
        with liqdata.serve(market) as server:
            asked = f"{server.url}/api/liq-map?source=positions"
            with urllib.request.urlopen(asked) as body:
                sent = json.load(body)
            clusters = sent.pop("clusters")
            assert json.loads(capsys.readouterr().out) == sent
            assert [row["amount"] for row in clusters] == market.liqmap("BTC", source="positions").clusters()["amount"]
        # The archive's own bars decide where it has them: by those 99 is the price of no market.
        bars = {"timestamp": [START], "symbol": ["BTC"], "interval": ["15m"]}
        bars |= {name: [120.0] for name in ("open", "high", "low", "close", "volume")}
        liqdata.ingest(archive, bars=bars, exchange="binance")
        assert liqdata.ingest(archive, positions=given, exchange="dydx").refused == {reason: 2}


def test_positions_without_a_price_ahead_are_in_no_bin(tmp_path):
    given = snapshots(100.0) | {"liquidation_price": [105.0, None]}
    liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid")
    with liqdata.open(tmp_path / "archive") as market:
        found = market.liqmap("BTC", source="positions")
        assert (found.range, len(found.total)) == ("all", 0)
        measured = found.meta["measured"]
        assert (measured["crossed_usd"], measured["unplaced_usd"]) == (200, 200)
    # A close of the day before gives the current price; at that price the long is still open.
    bars = {"timestamp": [START - 15 * MINUTE], "symbol": ["BTC"], "interval": ["15m"]}
    bars |= {name: [108.0] for name in ("open", "high", "low", "close", "volume")}
    liqdata.ingest(tmp_path / "archive", bars=bars, exchange="binance")
    with liqdata.open(tmp_path / "archive") as market:
        found = market.liqmap("BTC", source="positions")
        assert (found.current_price, found.total.tolist()) == (108, [210])


@pytest.mark.parametrize("name", ["BTC", "BTCUSDT", "btc-usdt"])
def test_positions_name_their_coin_by_either_column(tmp_path, name):
    given = snapshots(100.0)
    coins = given.pop("coin")
    with pytest.raises(BadQuery, match=r"row 0: is missing, and so is symbol; one of the two is needed"):
        liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid")
    given["symbol"] = [name] * len(coins)
    assert liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid").new == 2
    assert liqdata.ingest(tmp_path / "archive", positions=given | {"coin": coins}, exchange="hyperliquid").repeated == 2
    with pytest.raises(BadQuery, match=r"\"BTC-PERP\" contradicts the column symbol, \"ETHUSDT\"; allowed: one"):
        liqdata.ingest(tmp_path / "other", positions=given | {"coin": coins, "symbol": ["ETHUSDT"] * 2}, exchange="okx")


def test_a_position_with_a_contradictory_value_is_refused_alone(tmp_path, capsys):
    table = {
        "timestamp": [START] * 4 + [START + MINUTE] * 2,
        "coin": ["BTC"] * 6,
        "side": ["long", "short"] * 3,
        "qty": [1, 2, 30, 50, 1, 20],
        "value_usd": [100, 201, 300, 4950, 100, 200],
    }
    archive = tmp_path / "archive"
    done = liqdata.ingest(archive, positions=table, exchange="hyperliquid")
    row = "positions: value_usd divided by qty differs from the price of the snapshot"
    snapshot = "positions: the rows of the snapshot have different prices, and no other price is known"
    assert (done.rows, done.new, done.refused) == (6, 3, {row: 1, snapshot: 2})
    assert done.first[row].startswith("positions:2 (value_usd 300 for qty 30 at 2024-01-02T00:00:00Z, but the price")
    assert row in str(done)
    with liqdata.open(archive) as market:
        assert market.positions("BTC")["qty"].tolist() == [1, 2, 50]
    # Where the archive's bars give the price, the wrong one of two rows is known.
    bars = {"timestamp": [START - 15 * MINUTE], "symbol": ["BTC"], "interval": ["15m"]}
    bars |= {name: [101.0] for name in ("open", "high", "low", "close", "volume")}
    liqdata.ingest(archive, bars=bars, exchange="binance")
    assert liqdata.ingest(archive, positions=table, exchange="hyperliquid").refused == {row: 2}


@pytest.mark.skipif(RECORDED is None, reason="LIQDATA_REAL_DATA is not set")
def test_recorded_snapshots_make_a_measured_map_without_a_forged_one(tmp_path):
    import csv

    recorded = Path(RECORDED, "market", "hl_top_trader_btc_liqmap_20260126_20260222.csv")
    with recorded.open(encoding="utf-8") as lines:
        levels = list(csv.DictReader(lines))
    rows = [
        {
            "timestamp": level["t"],
            "coin": "BTC",
            "side": level["side"],
            "liquidation_price": level["price"],
            "value_usd": level[tier],
            "leverage": float(tier.removesuffix("x")),
            "current_price": level["cur"],
        }
        for level in levels
        for tier in ("10x", "25x", "50x", "100x")
        if float(level[tier]) > 0
    ]
    given = {name: [row[name] for row in rows] for name in rows[0]}
    done = liqdata.ingest(tmp_path / "archive", positions=given, exchange="hyperliquid")
    assert (done.rows, done.new, sum(done.refused.values())) == (len(rows), 2349, 88)
    (first,) = done.first.values()
    assert "105234 at 2026-01-26T10:39:18Z, but the market price was 87884" in first
    with liqdata.open(tmp_path / "archive") as market:
        map = market.liqmap("BTC", source="positions", as_of="2026-02-22T17:00:00Z")
    assert map.current_price == pytest.approx(67541)
    last = [level for level in levels if level["t"] == "2026-02-22T16:30:40Z"]
    at_liquidation = sum(float(level["value"]) * float(level["price"]) / 67541 for level in last)
    assert map.total.sum() == pytest.approx(at_liquidation)
    assert (map.units, map.view) == ("usd", "measured")
