"""Markets, archives and the command are scored as the maps that they give."""

import dataclasses
import json
import os

import numpy as np
import pandas as pd
import pytest
from scored import DAY, HOUR, MINUTE, START, UNIT, bars, here, line, moves, totals

import liqdata
from liqdata import cli
from liqdata.scoring.maps import curves, sources


def archive(folder, days=12):
    """Bars, open interest and orders of as many days."""
    table = bars(days)
    count = len(table["timestamp"])
    chance = np.random.default_rng(4)
    seen = moves(table)
    at = np.sort(chance.integers(START, START + days * DAY, 3000))
    sides = chance.choice(["LONG", "SHORT"], len(at)).tolist()
    values = np.round(chance.lognormal(10, 1, len(at)), 2)
    orders = {
        "exchange": ["okx"] * len(at),
        "symbol": ["BTCUSDT"] * len(at),
        "side": sides,
        "price": [60_000.0] * len(at),
        "qty": np.round(values / 60_000, 8),
        "value_usd": values,
        "timestamp": at,
    }
    readings = {
        "symbol": ["BTC"] * count,
        "timestamp": table["timestamp"] + 15 * MINUTE,
        "open_interest": np.round(1e2 * np.exp(np.cumsum(chance.normal(0, 0.002, count))), 6),
    }
    coin = {name: np.round(cells, 4) if name != "timestamp" else cells for name, cells in table.items()}
    coin["symbol"] = ["BTC"] * count
    writer = liqdata._core.ArchiveWriter(folder)
    writer.append(orders, coin, readings, "okx")
    market = liqdata.Market(orders=orders, bars=coin, open_interest=readings)
    for at in seen.opens[::2].tolist():
        grid = market.liqmap("BTC", "1d", model=2, as_of=at) if at > START + 2 * HOUR else None
        if grid is None:
            continue
        bins = [
            {"price": price, "side": side, "tiers": {"10": usd}, "total": usd}
            for price, side, usd in zip(grid.prices.tolist(), grid.sides.tolist(), grid.total.tolist(), strict=True)
        ]
        reply = {
            "symbol": "BTC",
            "range": "1d",
            "updatedAt": at,
            "currentPrice": grid.current_price,
            "binWidth": grid.bin_width,
            "leverages": [10],
            "bins": bins,
        }
        writer.map("liqmap", "BTC", "range=1d", at, at, json.dumps(reply), '{"modelVersion": "v2"}', "v2")
    writer.close()
    return market, orders


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("score") / "archive")
    return (folder, *archive(folder))


def test_a_market_is_scored_with_frozen_and_refreshed_predictions(stored):
    _, market, orders = stored
    card = liqdata.score(market, orders)
    rows = [row for row in card.rows() if row["side"] == "both"]
    assert [(row["map"], row["state"]) for row in rows] == [("market", "frozen"), ("market", "refreshed")]
    assert card.meta["versions"] == {"market": liqdata.Model().version}
    assert rows[0]["n"] > 24
    assert len([row for row in card.references() if row["map"].startswith("market: ")]) == 3 * 7


def test_a_record_of_several_versions_is_scored_version_by_version(stored):
    folder, market, orders = stored
    with liqdata.open(folder) as opened_archive:
        rows = opened_archive.maps("BTC", kind="liqmap").to_pandas()
    options = {"bars": market.bars("BTC")}
    alone = liqdata.score(rows, orders, **options)
    # Every other map was stored by another version, or before versions were.
    for other in ("v3", ""):
        turns = rows.assign(version=[other if place % 2 else "v2" for place in range(len(rows))])
        if not other:
            turns["explain"] = ["{}" if place % 2 else text for place, text in enumerate(turns["explain"])]
        card = liqdata.score({"stored": turns}, orders, **options)
        names = {"stored liqmap range=1d v2": "v2", f"stored liqmap range=1d {other or 'unknown'}": other or None}
        assert card.meta["versions"] == names
        for name, version in names.items():
            part = turns[turns["version"] == (version or "")]
            own = line(liqdata.score(part, orders, **options).rows())
            assert line(card.rows(), map=name)["ig"] != line(alone.rows())["ig"]
            if line(card.rows(), map=name)["n"] == own["n"]:
                assert line(card.rows(), map=name)["ig"] == own["ig"]
    # The column counts, whatever is explained.
    again = liqdata.score(rows.assign(explain=""), orders, **options)
    assert repr(again.tables) == repr(alone.tables)
    assert again.meta["versions"] == alone.meta["versions"]


def test_models_are_scored_on_bars_and_open_interest(stored):
    _, market, orders = stored
    tables = {"bars": market.bars("BTC"), "open_interest": market.open_interest("BTC")}
    models = {"now": liqdata.Model(), "other": liqdata.Model(tiers=[10, 25, 50, 100])}
    card = liqdata.score(models, orders, **tables)
    own = line(liqdata.score(market, orders).rows(), state="frozen")
    assert {**line(card.rows(), map="now", state="frozen"), "map": "market"} == own
    assert line(card.rows(), map="other", state="frozen")["ig"] != own["ig"]
    assert len(card.paired()) == 2 * 3
    coinless = tables["bars"].to_pandas().drop(columns="symbol")
    named = liqdata.Model(name="mine")
    again = liqdata.score(named, orders, bars=coinless, open_interest=tables["open_interest"])
    assert {**line(again.rows(), state="frozen"), "map": "market"} == own
    assert again.meta["versions"] == {"mine": named.version}


def test_a_model_and_its_map_have_equal_mass_up_to_the_bin_width(stored):
    _, market, _ = stored
    seen = moves(market.bars("BTC").to_pandas())
    asking = sources.Asking(seen, None, "BTC", None, None, here)
    (source,) = sources.sources(market, "maps", asking)
    crossed = sources.frozen(source, seen)
    for row in (60, 100, 150):
        grid = market.liqmap("BTC", "7d", model=2, as_of=int(seen.opens[row]))
        longs = float(grid.total[(grid.sides == "long") & (grid.prices > 0.9 * seen.price[row])].sum())
        (whole,) = source.crossed(seen.opens[[row]], 0.9 * seen.price[[row]], 1.1 * seen.price[[row]])
        assert whole[0] == pytest.approx(longs, rel=0.05)
        crossed_usd = curves.of_map(grid, 0).crossed(0.97 * grid.current_price, 1.02 * grid.current_price)
        swept = grid.swept(0.97 * grid.current_price, 1.02 * grid.current_price)
        assert crossed_usd == pytest.approx((swept["long_usd"], swept["short_usd"]), rel=0.05)
        inside = curves.of_map(dataclasses.replace(grid, fine=None), 0)
        assert inside.crossed(0.97 * grid.current_price, 1.02 * grid.current_price) == pytest.approx(
            crossed_usd, rel=0.02
        )
    again = source.crossed(seen.opens[:150], seen.low[:150], seen.high[:150])
    assert again.tobytes() == crossed[:150].tobytes()


@pytest.fixture(scope="module")
def recorded():
    """Ten weeks of recorded BTC bars and open interest, and what the model's maps held that the price crossed."""
    folder = os.environ.get("LIQDATA_REAL_DATA")
    if not folder:
        pytest.skip("LIQDATA_REAL_DATA names no folder with recorded data")
    table = pd.read_csv(f"{folder}/market/btc_15m_candles_20250622_20260622.csv")
    readings = pd.read_csv(f"{folder}/market/btc_oi_5m_20251201_20260611.csv")
    first, last = pd.Timestamp("2025-12-02", tz="UTC"), pd.Timestamp("2026-02-10", tz="UTC")
    table = table[pd.to_datetime(table["timestamp"]).between(first, last, inclusive="left")].assign(symbol="BTC")
    when = pd.to_datetime(readings["t"], unit="ms", utc=True)
    readings = pd.DataFrame({"symbol": "BTC", "timestamp": when, "open_interest": readings["oi"]})
    market = liqdata.Market(bars=table, open_interest=readings[when.between(first, last)])
    seen = moves(table.assign(timestamp=pd.to_datetime(table["timestamp"])))
    (source,) = sources.sources(market, "maps", sources.Asking(seen, None, "BTC", None, None, here))
    return market, seen, np.nan_to_num(sources.frozen(source, seen))


@pytest.mark.parametrize("share", [0.5, 0.0])
def test_a_model_on_a_recorded_path_scores_only_if_it_generated_the_truth(recorded, share):
    market, seen, crossed = recorded
    far = (seen.excursion - 1.0) ** 1.5
    chance = np.random.default_rng(2)
    mu = 1e6 * (share * crossed / crossed.mean() + (1.0 - share) * far / far.mean() + 0.02)
    usd = chance.poisson(chance.gamma(1.0, mu) / UNIT) * UNIT
    card = liqdata.score(market, totals(seen.opens, usd))
    own = line(card.rows(), state="frozen")
    assert own["n"] > 1400
    nulls = [row for row in card.references() if row["side"] == "both" and "market: " in row["map"]]
    assert len(nulls) == 7
    if share:
        assert own["dig_low"] > 0.01
        assert all(row["dig"] < own["dig"] / 2 for row in nulls)
    else:
        assert abs(own["dig"]) < 0.002
        assert own["dig_low"] < 0.001


def test_served_maps_are_scored_as_of_their_time(stored):
    folder, market, orders = stored
    with liqdata.open(folder) as opened_archive:
        rows = opened_archive.maps("BTC", kind="liqmap")
        card = liqdata.score(rows, orders, bars=market.bars("BTC"))
        frame = liqdata.score(rows.to_pandas(), orders, bars=market.bars("BTC"))
    assert repr(frame.tables) == repr(card.tables)
    assert card.meta["versions"] == {"liqmap range=1d": "v2"}
    grids = [market.liqmap("BTC", "1d", model=2, as_of=row["computed_at"]) for row in rows]
    at = [(row["computed_at"], dataclasses.replace(grid, fine=None)) for row, grid in zip(rows, grids, strict=True)]
    again = line(liqdata.score(at, orders, bars=market.bars("BTC")).rows())
    assert line(card.rows())["ig"] == pytest.approx(again["ig"], abs=1e-9)


def test_the_command_scores_an_archive(stored, tmp_path, capsys):
    folder, *_ = stored
    page = tmp_path / "card.md"
    assert cli.main(["score", folder, "--markdown", str(page)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Scorecard(BTC 60 min: ")
    assert "market, frozen: ig" in printed
    assert "adaptive" in printed
    assert page.read_text().startswith("# Scorecard: BTC, 60 min")
    assert cli.main(["score", folder, "--kept", "--reference", "weak", "--png", str(tmp_path / "card.png")]) == 0
    assert "liqmap range=1d" in capsys.readouterr().out
    assert (tmp_path / "card.png").read_bytes().startswith(b"\x89PNG")
    assert cli.main(["score", folder, "NOPE"]) == 2
    assert cli.main(["score", folder, "--period", "7h"]) == 2
    assert "period: '7h' is not allowed" in capsys.readouterr().err
