"""Blended maps: known positions of accounts at their own liquidation prices, and a model of the rest."""

import dataclasses
import json
import os
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import samples

import liqdata
from liqdata import cli
from liqdata.errors import BadQuery

HOUR = 3_600_000


def tables():
    """Bars of three days of the simulated market, and the open interest of all its exchanges as that of one."""
    demo = samples.simulated()
    bars, interest = demo.bars("BTC").to_pandas(), demo.open_interest("BTC").to_pandas()
    bars, interest = (table[table["timestamp"] > demo.now - np.timedelta64(3, "D")] for table in (bars, interest))
    sums = interest.groupby("timestamp", as_index=False)["open_interest"].sum()
    return {"bars": bars, "open_interest": sums.assign(symbol="BTC")}


def rows(part, at):
    """Positions as a snapshot of accounts."""
    price = samples.simulated().bars("BTC")["close"][-1]
    return {
        "timestamp": [at] * len(part),
        "coin": list(part["symbol"]),
        "account": [f"account {place}" for place in part.index],
        "value_usd": list(part["qty"] * price),
        "seen_share": [0.5] * len(part),
    } | {name: list(part[name]) for name in ("side", "qty", "entry_price", "leverage", "liquidation_price")}


@pytest.fixture(scope="module")
def true():
    return samples.simulated().true_positions("BTC").to_pandas()


@pytest.fixture(scope="module")
def modelled():
    """A market without positions."""
    with liqdata.Market(**tables()) as market:
        yield market


@pytest.fixture(scope="module")
def earlier():
    """The time of the first snapshot of the archive."""
    return int(samples.simulated().now.timestamp() * 1000) - 2 * HOUR


@pytest.fixture(scope="module")
def folder(tmp_path_factory, true, earlier):
    """An archive that knows a part of the positions two hours before its end, and all of them at its end."""
    folder = tmp_path_factory.mktemp("blended") / "archive"
    liqdata.ingest(folder, **tables(), positions=rows(true[::9], earlier), exchange="hyperliquid")
    liqdata.ingest(folder, positions=rows(true, samples.simulated().now), exchange="hyperliquid")
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    with liqdata.open(folder) as market:
        yield market


def test_without_known_positions_it_is_the_modelled_map(modelled):
    for asked in ({}, {"range": "7d"}, {"range": "all", "model": 3}, {"bin": 250.0}):
        blended, plain = modelled.liqmap("BTC", **asked, view="blended"), modelled.liqmap("BTC", **asked)
        assert blended == plain
        assert blended.tiers.tobytes() == plain.tiers.tobytes()
        assert (blended.within, blended.outside) == (plain.within, plain.outside)
        assert blended.exact_share.tolist() == [0.0] * len(plain.total)
        assert (blended.meta["exact_share"], blended.meta["measured_exchanges"]) == (0.0, [])
        assert plain.exact_share is None
        assert "exact_share" not in plain.meta
    blended, plain = modelled.heatmap("BTC", "12h", view="blended"), modelled.heatmap("BTC", "12h")
    assert blended == plain
    assert np.nansum(blended.exact_share) == 0


def test_with_all_positions_it_is_their_map(whole, true):
    blended, exact = whole.liqmap("BTC", "all", view="blended", span="all"), whole.liqmap("BTC", source="positions")
    assert blended.meta["exact_share"] == 1
    assert set(blended.exact_share) == {1.0}
    assert blended.meta["exact_within"] == {1: 1.0, 2: 1.0, 5: 1.0, 10: 1.0}
    for name in ("prices", "tiers", "total"):
        np.testing.assert_allclose(getattr(blended, name), getattr(exact, name), rtol=1e-12)
    assert blended.sides.tolist() == exact.sides.tolist()
    assert blended.total.sum() == pytest.approx((true["qty"] * true["liquidation_price"]).sum())
    (venue,) = blended.meta["measured_exchanges"]
    assert (venue["exchange"], venue["positions"], venue["observed_at"]) == ("hyperliquid", len(true), whole.now)
    assert venue["long_share"] == pytest.approx(1)
    assert (blended.view, blended.meta["opened"]) == ("exposed", "ever")
    # The fine grid has them, too.
    low = 0.97 * blended.current_price
    longs = true[true["side"] == "LONG"]
    # A cell that the move touches counts in full.
    least, most = (longs[longs["liquidation_price"] >= end] for end in (low, low * np.exp(-5e-4)))
    usd = [(part["qty"] * part["liquidation_price"]).sum() for part in (least, most)]
    assert usd[0] <= blended.swept(low=low)["long_usd"] * (1 + 1e-9) <= usd[1] * (1 + 2e-9)
    # Cropped bins have their shares.
    near = whole.liqmap("BTC", view="blended", span=(low, 1.03 * blended.current_price))
    assert len(near.exact_share) == len(near.total) < len(blended.total)


def test_tables_of_a_map_have_its_exact_share(whole, folder, earlier, capsys):
    asked = {"view": "blended", "as_of": earlier}
    for map in (whole.liqmap("BTC", **asked), whole.heatmap("BTC", "12h", **asked)):
        assert 0.02 < np.nanmax(map.exact_share) < 0.9
        np.testing.assert_array_equal(map.to_xarray()["exact_share"], map.exact_share)
    map = whole.liqmap("BTC", **asked)
    frame = map.to_frame()
    np.testing.assert_array_equal(frame["exact_share"], map.exact_share)
    again = liqdata.LiquidationMap.from_frame(frame[::-1])
    np.testing.assert_array_equal(again.exact_share, map.exact_share)
    command = ["liqmap", "BTC", "--archive", str(folder), "--view", "blended", "--as-of", str(earlier), "--csv"]
    assert cli.main(command) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.endswith(",total_usd,exact_share")
    sent = [float(line.rsplit(",", 1)[1] or "nan") for line in lines]
    np.testing.assert_array_equal(sent, map.exact_share)


def test_a_snapshot_that_comes_late_or_is_undone_is_seen(tmp_path, true, earlier):
    now, day = earlier + 2 * HOUR, 24 * HOUR
    liqdata.ingest(tmp_path / "a", **tables(), positions=rows(true, now), exchange="hyperliquid")
    with liqdata.open(tmp_path / "a") as market:

        def columns():
            map = market.heatmap("BTC", "24h", span="all", view="blended")
            ends = map.times.astype("datetime64[ms]").astype(int)
            return {int(end): float(np.nansum(cells)) for end, cells in zip(ends, map.matrix.T, strict=True)}

        before = columns()
        assert columns() == before
        liqdata.ingest(tmp_path / "a", positions=rows(true[::9], now - day + 6 * HOUR), exchange="hyperliquid")
        after = columns()
        changed = [end for end in before if before[end] != pytest.approx(after[end], rel=1e-9)]
        assert now - day + 6 * HOUR <= min(changed) < now - day + 7 * HOUR
        liqdata.archive.undo(tmp_path / "a", liqdata.archive.ingests(tmp_path / "a")[-1]["id"])
        assert columns() == before


def test_a_column_has_the_positions_known_at_its_end(whole, true, earlier):
    blended, plain = (whole.heatmap("BTC", "12h", span="all", view=view) for view in ("blended", "modelled"))
    ends = blended.times.astype("datetime64[ms]").astype(int)
    before = ends < earlier
    assert before.any()
    columns = [(map.prices, map.matrix[:, before]) for map in (blended, plain)]
    by_price = [dict(zip(prices.round(6), cells.tolist(), strict=True)) for prices, cells in columns]
    shared = by_price[0].keys() & by_price[1].keys()
    assert all(by_price[0][price] == by_price[1][price] for price in shared)
    assert blended.matrix[:, -1].sum() == pytest.approx((true["qty"] * true["liquidation_price"]).sum(), rel=1e-9)
    assert blended.meta["exact_share"] == 1
    assert np.nanmin(blended.exact_share) == 1
    assert np.isnan(blended.exact_share).tolist() == (blended.matrix[:, -1] == 0).tolist()
    # A column is what was known at its end, as a heatmap of that instant has it.
    place = int(np.flatnonzero(ends == earlier)[0])
    then = whole.heatmap("BTC", "12h", span="all", view="blended", as_of=earlier)
    assert then.matrix[:, -1].sum() == pytest.approx(blended.matrix[:, place].sum(), rel=1e-9)
    assert 0.02 < then.meta["exact_share"] < 0.9
    assert then.meta["measured_exchanges"][0]["positions"] == len(true[::9])


@pytest.mark.parametrize("tier", [5, 25, 100])
def test_located_unlocated_and_measured_are_the_open_interest(tier):
    demo = samples.simulated()
    model = liqdata.Model(tiers=[tier])
    blended, plain = (demo.liqmap("BTC", "all", span="all", model=model, view=view) for view in ("blended", "modelled"))
    interest = demo.open_interest("BTC").to_pandas().groupby("timestamp")["open_interest"].sum().iloc[-1]
    known = blended.meta["explain"]["measured"]["bitget"]
    assert known["openInterest"] < interest
    seen = demo.positions("BTC").to_pandas()

    def located(map):
        p0, h, first, longs_end, usd = map.fine
        bins = np.arange(first, first + usd.shape[1])
        qty = usd.sum(axis=0) / (p0 * np.exp((bins + 0.5) * h))
        return [qty[bins < longs_end].sum(), qty[bins >= longs_end].sum()]

    for side, (all_of, model_of) in enumerate(zip(located(blended), located(plain), strict=True)):
        mine = seen[seen["side"] == ("LONG", "SHORT")[side]]
        assert known["quantity"][side] == pytest.approx(mine["qty"].sum())
        left = max(known["openInterest"] - known["quantity"][side], 0)
        others = interest - known["openInterest"]
        waits = mine["qty"].sum()
        # The fine grid has USD at the middle of a bin, and far positions at a hundredth of the price.
        at = np.maximum(mine["liquidation_price"], blended.current_price / 100)
        exact = (mine["qty"] * mine["liquidation_price"] / at).sum()
        expected = model_of * (others + left * known["scale"][side]) / interest
        assert all_of - exact == pytest.approx(expected, abs=3e-4 * exact)
        unlocated = others + left - expected
        assert unlocated >= 0
        share = blended.meta["explain"]["locatedShare"][side]
        assert share * interest == pytest.approx(expected + waits, rel=1e-9)
        assert expected + unlocated + known["quantity"][side] == pytest.approx(interest, rel=1e-12)


def test_positions_beyond_the_interest_leave_no_remainder(tmp_path, true):
    given = tables()
    given["open_interest"]["open_interest"] *= 0.5
    liqdata.ingest(tmp_path / "archive", **given, positions=rows(true, samples.simulated().now), exchange="hyperliquid")
    with liqdata.open(tmp_path / "archive") as market:
        blended, exact = market.liqmap("BTC", view="blended", span="all"), market.liqmap("BTC", source="positions")
    assert blended.meta["exact_share"] == 1
    np.testing.assert_allclose(blended.total, exact.total, rtol=1e-12)
    assert blended.meta["measured_exchanges"][0]["short_share"] == 1


def overlap(map, part, current):
    """Overlap of the shapes of a map and of positions, by distance from the price."""
    edges = np.concatenate([np.arange(0.5, 1.5, 0.01), [100]]) * current
    found = [np.histogram(map.prices, edges, weights=map.total)[0]]
    found.append(np.histogram(part["liquidation_price"], edges, weights=part["qty"] * part["liquidation_price"])[0])
    return np.minimum(*(one / one.sum() for one in found)).sum()


def test_the_remainder_is_fitted_to_the_known_positions(tmp_path, true):
    known = true.sample(frac=0.5, random_state=1)
    rest = true.drop(known.index)
    liqdata.ingest(tmp_path / "many", **tables(), positions=rows(known, samples.simulated().now), exchange="okx")
    few = known.iloc[:30]
    liqdata.ingest(tmp_path / "few", **tables(), positions=rows(few, samples.simulated().now), exchange="okx")
    with liqdata.open(tmp_path / "many") as market:
        map = market.liqmap("BTC", "all", view="blended", span="all")
        plain = market.liqmap("BTC", "all", model=2, span="all")
    found = map.meta["explain"]["measured"]["okx"]
    assert found["accounts"] == len(known)
    assert sum(found["weights"][0]) == pytest.approx(1)
    remainder = dataclasses.replace(map, total=map.total * (1 - map.exact_share))
    gain = overlap(remainder, rest, map.current_price) - overlap(plain, rest, map.current_price)
    assert gain > 0.02
    assert 0.4 < map.meta["exact_share"] < 0.7
    # With few accounts the tiers are those of the model, and only the scale is fitted.
    with liqdata.open(tmp_path / "few") as market:
        explain = market.liqmap("BTC", "all", view="blended").meta["explain"]
    assert "weights" not in explain["measured"]["okx"]
    p0, h, first, longs_end, usd = plain.fine
    bins = np.arange(first, first + usd.shape[1])
    prices = p0 * np.exp((bins + 0.5) * h)
    qty = usd.sum(axis=0) / prices
    for side, mine in enumerate((bins < longs_end, bins >= longs_end)):
        interest = qty[mine].sum() / plain.meta["explain"]["locatedShare"][side]
        model = qty[mine & (abs(prices / plain.current_price - 1) <= 0.1)].sum() / interest
        seen = few[few["side"] == ("LONG", "SHORT")[side]]
        near = seen[abs(seen["liquidation_price"] / plain.current_price - 1) <= 0.1]
        wanted = 1 + 30 / 40 * (near["qty"].sum() / seen["qty"].sum() / model - 1)
        assert explain["measured"]["okx"]["scale"][side] == pytest.approx(wanted, rel=0.01)


@pytest.mark.skipif("LIQDATA_REAL_DATA" not in os.environ, reason="LIQDATA_REAL_DATA is not set")
def test_the_remainder_is_like_recorded_positions_of_accounts_that_are_not_known(tmp_path):
    folder = Path(os.environ["LIQDATA_REAL_DATA"]) / "market"
    seen = pd.read_csv(folder / "hl_positions_btc_eth_sol_20260204_20260222.csv.gz").query("coin == 'SOL'")
    seen["t"] = pd.to_datetime(seen["t"], utc=True, format="ISO8601")
    accounts = seen["account"].drop_duplicates()
    known = seen[seen["account"].isin(accounts.sample(frac=0.5, random_state=1))]
    snapshots = {"timestamp": known["t"], "coin": "SOL", "account": known["account"].astype(str), "seen_share": 0.1}
    snapshots |= {"side": known["side"].str.upper(), "qty": known["size"], "value_usd": known["value"]}
    snapshots |= {name: known[name] for name in ("leverage", "liquidation_price")}
    tables = (
        pd.read_parquet(folder / f"unlicense_hourly_{name}.parquet")
        for name in ("candles_multi_venue", "open_interest")
    )
    tables = (table.set_index("timestamp").sort_index()["2025-12-20":"2026-02-23"].reset_index() for table in tables)
    bars, interest = (table.query("coin == 'SOL'") for table in tables)
    bars = bars.query("venue == 'binance'").rename(
        columns={"coin": "symbol", "o": "open", "h": "high", "l": "low", "c": "close", "v": "volume"}
    )
    interest = interest.query("venue == 'hyperliquid'").rename(
        columns={"coin": "symbol", "oi_usd": "open_interest_usd"}
    )
    liqdata.ingest(
        tmp_path / "archive",
        bars=bars[["symbol", "timestamp", "open", "high", "low", "close", "volume"]],
        open_interest=interest[["symbol", "timestamp", "open_interest_usd"]],
        positions=pd.DataFrame(snapshots).reset_index(drop=True),
        exchange="hyperliquid",
    )
    ends = np.array([0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5])
    edges = np.concatenate([[-1], -ends[::-1], [0], ends, [np.inf]])
    rest = seen[~seen["account"].isin(set(known["account"])) & seen["liquidation_price"].notna()]
    sums = np.zeros((3, len(edges) - 1))
    with liqdata.open(tmp_path / "archive") as market:
        for at in sorted(seen["t"].unique())[::8]:
            by = pd.Timestamp(at) + pd.Timedelta(minutes=1)
            blended, plain = (
                market.liqmap("SOL", "7d", view=view, model=2, opened="ever", span="all", as_of=by)
                for view in ("blended", "modelled")
            )
            unknown = rest[rest["t"] == at]
            remainder = blended.total * (1 - np.nan_to_num(blended.exact_share))
            amounts = [(blended.prices, remainder), (plain.prices, plain.total)]
            amounts.append((unknown["liquidation_price"], unknown["value"]))
            sums += [np.histogram(at / plain.current_price - 1, edges, weights=usd)[0] for at, usd in amounts]
    blended, plain, true = (sum / sum.sum() for sum in sums)
    assert np.minimum(blended, true).sum() > 0.75
    assert np.minimum(plain, true).sum() < 0.5


def test_what_the_price_has_passed_since_a_snapshot_is_closed(tmp_path, true):
    now = int(samples.simulated().now.timestamp() * 1000)
    liqdata.ingest(tmp_path / "some", **tables(), positions=rows(true, now - 6 * HOUR), exchange="hyperliquid")
    with liqdata.open(tmp_path / "some") as market:
        map = market.liqmap("BTC", view="blended", explain=True)
        since = market.bars("BTC").to_pandas().query("timestamp >= @map.meta['measured_exchanges'][0]['observed_at']")
    (known,) = map.meta["measured_exchanges"]
    low, high = (min(since["low"].min(), map.current_price), max(since["high"].max(), map.current_price))
    waits = np.where(true["side"] == "LONG", true["liquidation_price"] < low, true["liquidation_price"] > high)
    assert known["crossed_usd"] > 0
    quantity = map.meta["explain"]["measured"]["hyperliquid"]["quantity"]
    for side, found in zip(("LONG", "SHORT"), quantity, strict=True):
        of = true[(true["side"] == side) & (waits | true["liquidation_price"].isna())]
        np.testing.assert_allclose(found, of["qty"].sum())
    # Nothing is fitted to what is older than an hour, and nothing older than half a day is used.
    assert (known["long_scale"], known["short_scale"]) == (1.0, 1.0)
    liqdata.ingest(tmp_path / "old", **tables(), positions=rows(true, now - 13 * HOUR), exchange="hyperliquid")
    with liqdata.open(tmp_path / "old") as market:
        assert market.liqmap("BTC", view="blended").meta["measured_exchanges"] == []


def test_what_contradicts_a_blended_map_is_refused(modelled, whole):
    for ask in (modelled.liqmap, modelled.heatmap):
        with pytest.raises(BadQuery, match=r'view: "census" is not allowed; allowed: .*modelled.*blended'):
            ask("BTC", view="census")
        with pytest.raises(BadQuery, match=r"opened: .* blended map.*allowed: ever"):
            ask("BTC", view="blended", opened="range")
    with pytest.raises(BadQuery, match=r"view: .*observed positions"):
        whole.liqmap("BTC", source="positions", view="blended")


def test_a_server_sends_it_where_it_is_asked_for(whole, capsys):
    with liqdata.serve(whole) as server:
        plain, blended = (
            json.load(urllib.request.urlopen(f"{server.url}/api/liq-map?range=all{view}"))
            for view in ("", "&view=blended")
        )
        assert not plain.keys() & {"exactShare", "exact"}
        assert blended["exact"]["share"] == 1
        assert blended["exact"]["exchanges"][0]["exchange"] == "hyperliquid"
        with urllib.request.urlopen(f"{server.url}/api/liq-map?range=all&view=modelled") as body:
            assert json.load(body) == plain
        own = whole.liqmap("BTC", "all", view="blended")
        assert own.to_dict()["exact"] == blended["exact"]
        grid = whole.heatmap("BTC", "12h", view="blended")
        with liqdata.Client(server.url) as client:
            found = client.liqmap("BTC", "all", view="blended")
            assert found == own
            assert found.exact_share.tolist() == own.exact_share.tolist()
            for name in ("exact_share", "exact_within", "measured_exchanges"):
                assert found.meta[name] == own.meta[name]
            heat = client.heatmap("BTC", "12h", view="blended")
            assert heat == grid
            np.testing.assert_array_equal(heat.exact_share, grid.exact_share)
            assert client.heatmap("BTC", "12h").exact_share is None
        asked = ["liqmap", "BTC", "--range", "all", "--view", "blended", "--url", server.url, "--json"]
        capsys.readouterr()
        assert cli.main(asked) == 0
        sent = json.loads(capsys.readouterr().out)
        assert sent["exact"]["share"] == 1
        assert cli.main(asked[:-1]) == 0
        assert "100.0% known positions" in " ".join(capsys.readouterr().out.split())


def test_an_interval_is_of_modelled_amounts_alone():
    market = samples.simulated()
    assert market.heatmap("BTC", "24h", model=3).low is not None
    assert market.heatmap("BTC", "24h", model=3, view="blended").low is None


def test_a_picture_shows_what_is_known():
    map = samples.simulated().liqmap("BTC", view="blended")
    legends = [text.get_text() for legend in map.plot().figure.findobj(match=_is_legend) for text in legend.get_texts()]
    assert "known positions" in legends
    assert any(trace.name == "known positions" for trace in map.plot(backend="plotly").data)


def _is_legend(artist):
    return hasattr(artist, "get_texts")
