"""The online fit through the public face: a market with realised liquidations."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import liqdata
from liqdata import _core

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000
SHARE = {"long": 0.05, "short": 0.10}


@pytest.fixture(scope="module")
def crossed() -> dict[str, Any]:
    """Bars and open interest of the demo, and what was crossed in each hour of them, long and short."""
    with liqdata.demo() as demo:
        bars = demo.bars("BTC", interval="15m").to_arrow()
        open_interest = demo.open_interest("BTC").to_arrow()
    low, high = (bars.column(name).to_numpy().reshape(-1, 4) for name in ("low", "high"))
    opens = bars.column("timestamp").cast("int64").to_numpy()[::4]
    with liqdata.Market(bars=bars, open_interest=open_interest) as bare:
        usd = bare._source.core.crossed("BTC", 2, opens.tolist(), low.min(1).tolist(), high.max(1).tolist()).reshape(
            -1, 2
        )
    return {"bars": bars, "open_interest": open_interest, "opens": opens, "usd": usd}


def liquidated(crossed: dict[str, Any], noise: Any) -> dict[str, Any]:
    """The same with liquidations that are a share of what was crossed, times noise."""
    usd, opens = crossed["usd"], crossed["opens"]
    known = np.isfinite(usd[:, 0])
    liquidations = {
        "symbol": ["BTC"] * int(known.sum()),
        "timestamp": opens[known],
        "long_usd": SHARE["long"] * (usd * noise)[known, 0],
        "short_usd": SHARE["short"] * (usd * noise)[known, 1],
    }
    return {"bars": crossed["bars"], "open_interest": crossed["open_interest"], "liquidations": liquidations}


@pytest.fixture(scope="module")
def tables(crossed: dict[str, Any]) -> dict[str, Any]:
    return liquidated(crossed, np.random.default_rng(0).exponential(size=crossed["usd"].shape))


@pytest.fixture(scope="module")
def market(tables: dict[str, Any]) -> liqdata.Market:
    return liqdata.Market(**tables)


def test_a_market_with_liquidations_shows_the_fitted_model(market: liqdata.Market) -> None:
    map = market.liqmap("BTC", "7d")
    explain = map.meta["explain"]
    assert (explain["modelNumber"], map.meta["view"]) == (3, "expected")
    fit = explain["fit"]
    assert (fit["state"], fit["from"], fit["periodMs"]) == ("fitted", "liquidations", HOUR)
    assert fit["withLiquidations"] > 600
    for kappa, share in zip(explain["kappa"], SHARE.values(), strict=True):
        assert kappa == pytest.approx(share, rel=0.2)
    for theta, kappa in zip(explain["theta"], explain["kappa"], strict=True):
        assert sum(theta) == pytest.approx(kappa)
    assert all(0.7 < one < 1.4 for one in fit["calibration"])
    assert market.maxpain("BTC")["d7"]["totalLong"] == pytest.approx(float(map.total[map.sides == "long"].sum()))
    assert market.heatmap("BTC", "24h", 2).view == "exposed"
    assert market.liqmap("BTC", "7d", model=2).meta["explain"].get("fit") is None


def test_a_cell_lies_in_its_interval_and_beyond_five_percent_nothing_is_validated(market: liqdata.Market) -> None:
    map = market.liqmap("BTC", "7d")
    low, high = map.low, map.high
    assert low is not None
    assert high is not None
    assert (low <= map.total).all()
    assert (map.total <= high).all()
    distance = np.abs(map.prices / map.current_price - 1.0)
    assert np.isinf(high[distance >= 0.05]).all()
    assert (low[distance >= 0.05] == 0.0).all()
    near = distance < 0.01
    assert np.isfinite(high[near]).all()
    assert (low[near] > 0.0).any()
    assert (high[near] > map.total[near]).all()

    heat = market.heatmap("BTC", "24h", 3)
    assert heat.low is not None
    assert heat.high is not None
    assert heat.low.shape == heat.high.shape == heat.matrix.shape
    assert (heat.low <= heat.matrix).all()
    assert (heat.matrix <= heat.high).all()
    far = np.abs(heat.prices / heat.current_price - 1.0) >= 0.05
    assert np.isinf(heat.high[far, -1]).all()
    assert (heat.low[far, -1] == 0.0).all()


def test_a_fit_without_liquidations_is_marked_as_prior(tables: dict[str, Any]) -> None:
    with liqdata.Market(**{**tables, "liquidations": None}) as silent:
        map = silent.liqmap("BTC", model=3)
        usual = silent.liqmap("BTC")
    assert map.meta["explain"]["fit"]["state"] == "prior"
    assert (map.low, map.high) == (None, None)
    assert usual.meta["explain"]["modelNumber"] == 2


def test_an_answer_as_of_an_instant_uses_no_later_rows(tables: dict[str, Any]) -> None:
    cut = int(tables["liquidations"]["timestamp"][500])
    changed = dict(tables["liquidations"])
    later = changed["timestamp"] >= cut
    changed["long_usd"] = np.where(later, 100.0 * changed["long_usd"], changed["long_usd"])
    with liqdata.Market(**tables) as one, liqdata.Market(**{**tables, "liquidations": changed}) as other:
        assert one.liqmap("BTC", "7d", as_of=cut) == other.liqmap("BTC", "7d", as_of=cut)
        assert one.liqmap("BTC", "7d") != other.liqmap("BTC", "7d")
        instants = [cut - 3 * 24 * HOUR, cut, cut + 26 * HOUR]
        for at, map in zip(instants, one.liqmap("BTC", "7d", as_of=instants), strict=True):
            with liqdata.Market(**tables) as alone:
                assert alone.liqmap("BTC", "7d", as_of=at) == map


def test_an_impossible_share_is_reported(tables: dict[str, Any], market: liqdata.Market) -> None:
    more = dict(tables["liquidations"])
    more["long_usd"] = 40.0 * more["long_usd"]
    with liqdata.Market(**{**tables, "liquidations": more}) as other:
        explain = other.liqmap("BTC", "7d").meta["explain"]
    longs, shorts = explain["kappa"]
    assert longs > 1.0 > shorts
    assert explain["fit"]["doubt"].startswith(f"{longs:.2f} USD of longs were liquidated per USD of the map")
    assert "doubt" not in market.liqmap("BTC", "7d").meta["explain"]["fit"]


def as_orders(tables: dict[str, Any], shares: dict[str, float] | None = None) -> list[dict[str, Any]]:
    """An order of each exchange and side in each hour, with its share of what was liquidated."""
    liquidations = tables["liquidations"]
    return [
        {
            "exchange": exchange,
            "symbol": "BTCUSDT",
            "side": side,
            "price": 100_000.0,
            "qty": round(usd * share / 100_000.0, 8),
            "value_usd": round(usd * share, 2),
            "timestamp": int(at) + 60_000,
        }
        for exchange, share in (shares or {"okx": 1.0}).items()
        for side, name in (("LONG", "long_usd"), ("SHORT", "short_usd"))
        for at, usd in zip(liquidations["timestamp"], liquidations[name], strict=True)
        if round(usd * share, 2) > 0.0
    ]


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_orders_are_used_for_a_fit_without_liquidations(tables: dict[str, Any]) -> None:
    orders = columns(as_orders(tables))
    with liqdata.Market(orders, tables["bars"], tables["open_interest"]) as market:
        explain = market.liqmap("BTC", "7d").meta["explain"]
    assert (explain["fit"]["state"], explain["fit"]["from"]) == ("fitted", "orders")
    assert (explain["fit"]["leftOut"], explain["fit"]["covered"], explain["fit"]["capped"]) == (0, 1.0, 0)
    assert explain["kappa"][0] == pytest.approx(SHARE["long"], rel=0.25)


def test_one_outlier_hour_has_a_bounded_effect_on_the_scale(tables: dict[str, Any]) -> None:
    def kappa(times: float, days_ago: int) -> tuple[float, int]:
        rows = as_orders(tables)
        end = max(row["timestamp"] for row in rows)
        longs = [row["timestamp"] for row in rows if row["side"] == "LONG"]
        hour = max(at for at in longs if at <= end - days_ago * 24 * HOUR)
        for row in rows:
            if row["timestamp"] == hour:
                row["value_usd"] = round(row["value_usd"] * times, 2)
                row["qty"] = float(row["qty"]) * times
        with liqdata.Market(columns(rows), tables["bars"], tables["open_interest"]) as market:
            explain = market.liqmap("BTC", "7d").meta["explain"]
        return explain["kappa"][0], explain["fit"]["capped"]

    for days_ago, most in ((2, 1.9), (15, 1.35)):
        usual, none = kappa(1.0, days_ago)
        absurd, capped = kappa(100_000.0, days_ago)
        assert none == 0
        assert capped > 0
        assert 1.0 < absurd / usual < most


def test_gaps_do_not_lower_the_fitted_share(crossed: dict[str, Any], tmp_path: Path) -> None:
    # So little noise that half of the hours are as good as all.
    tables = liquidated(crossed, np.random.default_rng(0).gamma(20.0, 1 / 20.0, size=crossed["usd"].shape))
    shares = {"okx": 0.7, "bybit": 0.3}
    opens = tables["liquidations"]["timestamp"]

    def is_covered(exchange: str, at: int) -> bool:
        """Half of the hours are not covered, and half of the others by one exchange of the two."""
        return at // HOUR % 4 < {"okx": 2, "bybit": 1}[exchange]

    def explained(folder: Path, *, all_of_it: bool) -> dict[str, Any]:
        rows = as_orders(tables, shares)
        writer = _core.ArchiveWriter(folder)
        writer.append(None, tables["bars"], tables["open_interest"])
        if not all_of_it:
            rows = [row for row in rows if is_covered(row["exchange"], row["timestamp"])]
        writer.append(columns(rows), None, None)
        for exchange in shares:
            writer.run(exchange, "complete", int(opens[0]), int(opens[-1]) + HOUR)
            for at in opens.tolist():
                if not (all_of_it or is_covered(exchange, at)):
                    writer.gap(exchange, at, at + HOUR, "a test")
        writer.close()
        with liqdata.open(folder) as market:
            return market.liqmap("BTC", "7d", model=3).meta["explain"]

    whole, half = (explained(tmp_path / str(all_of_it), all_of_it=all_of_it) for all_of_it in (True, False))
    assert (whole["fit"]["leftOut"], whole["fit"]["covered"]) == (0, 1.0)
    assert half["fit"]["covered"] == pytest.approx(0.85, abs=0.05)
    assert half["fit"]["leftOut"] == pytest.approx(half["fit"]["periods"], abs=4)
    for found, wanted, share in zip(half["kappa"], whole["kappa"], SHARE.values(), strict=True):
        assert wanted == pytest.approx(share, rel=0.25)
        assert found == pytest.approx(wanted, rel=0.2)


def test_a_fitted_model_is_scored_with_the_fit_of_each_day(tables: dict[str, Any]) -> None:
    bare = {name: tables[name] for name in ("bars", "open_interest")}

    def frozen(model: liqdata.Model) -> dict[str, Any]:
        rows = liqdata.score(model, tables["liquidations"], **bare).rows()
        (row,) = [row for row in rows if (row["state"], row["side"]) == ("frozen", "both")]
        return row

    usual, fitted, far = (frozen(liqdata.Model(kappa0=kappa0)) for kappa0 in (None, 0.21, 0.01))
    # There is nothing to score before the first fit, and a prior twenty times off is forgotten by then.
    assert usual["n"] > fitted["n"] == far["n"] > 200
    assert far["ig"] == pytest.approx(fitted["ig"], rel=0.01)
    assert fitted["ig"] != usual["ig"]


def test_a_market_with_liquidations_pickles(market: liqdata.Market) -> None:
    again = pickle.loads(pickle.dumps(market))
    assert again.liqmap("BTC", "7d") == market.liqmap("BTC", "7d")
    assert again.liqmap("BTC", "7d").meta["explain"] == market.liqmap("BTC", "7d").meta["explain"]


@pytest.mark.parametrize(
    "change,words",
    [
        ({"symbol": ["BTC-27NOV26-80000-C", "BTC"]}, r"column 'symbol', row 0.*option"),
        ({"long_usd": [1.0, -1.0]}, r"column 'long_usd', row 1.*-1"),
        ({"short_usd": [1.0, float("nan")]}, r"column 'short_usd', row 1"),
        ({"timestamp": [0, 0]}, r"column 'timestamp', row 1.*before the period of row 0 ends"),
        ({"interval": [timedelta(hours=1), timedelta(hours=2)]}, r"column 'interval', row 1.*one length"),
        ({"interval": ["90s", "90s"]}, r"column 'interval', row 0"),
    ],
)
def test_an_invalid_table_of_liquidations_is_refused(change: dict[str, Any], words: str) -> None:
    table = {
        "symbol": ["BTC", "BTC"],
        "timestamp": [1_780_000_000_000, 1_780_003_600_000],
        "long_usd": [1.0, 2.0],
        "short_usd": [0.0, 0.0],
        "interval": ["1h", "1h"],
    }
    with pytest.raises(liqdata.BadQuery, match=words.replace("'", '"')) as raised:
        liqdata.Market(liquidations={**table, **change})
    assert raised.value.parameter == "liquidations"


@pytest.mark.parametrize(
    "times,words",
    [
        (
            1e6,
            r"USD of BTC liquidated in the .* ms from .* on are .* times the .* USD traded in its bars; give",
        ),
        (1 / 80_000, r"read as units of BTC, they would be .* of the traded volume; multiply"),
    ],
)
def test_amounts_in_a_wrong_unit_are_refused(tables: dict[str, Any], times: float, words: str) -> None:
    liquidations = dict(tables["liquidations"])
    for side in ("long_usd", "short_usd"):
        liquidations[side] = [usd * times for usd in liquidations[side]]
    with pytest.raises(liqdata.BadQuery, match=words) as raised:
        liqdata.Market(**{**tables, "liquidations": liquidations})
    assert raised.value.parameter == "liquidations"


def test_one_absurd_period_is_refused_with_its_row(tables: dict[str, Any]) -> None:
    liquidations = dict(tables["liquidations"])
    liquidations["short_usd"] = list(liquidations["short_usd"])
    liquidations["short_usd"][700] = 1e15
    with pytest.raises(
        liqdata.BadQuery, match=r'column "short_usd", row 700: .* leave out periods with an unknown amount'
    ):
        liqdata.Market(**{**tables, "liquidations": liquidations})


def test_the_interval_can_be_drawn_and_a_missing_one_is_refused(market: liqdata.Market) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    axes = market.liqmap("BTC", "7d").plot(interval=True)
    words = [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
    assert any("interval" in str(artist.get_label()) for artist in axes.collections), words
    heat = market.heatmap("BTC", "24h", 3)
    assert "high end of the interval" in "".join(text.get_text() for text in heat.plot(bound="high").texts) + "".join(
        heat.plot(bound="high").get_title(loc) for loc in ("left", "center", "right")
    )
    plt.close("all")
    with liqdata.demo() as demo:
        with pytest.raises(liqdata.BadQuery, match="has no interval"):
            demo.liqmap("BTC", model=2).plot(interval=True)
        with pytest.raises(liqdata.BadQuery, match="allowed: 'low', 'high'"):
            demo.heatmap("BTC").plot(bound="middle")  # type: ignore[arg-type]


def test_a_market_of_totals_refuses_realised_answers_rather_than_zeros():
    hours = [1_704_067_200_000 + hour * 3_600_000 for hour in range(48)]
    totals = {"symbol": ["1000PEPEUSDT"] * 48, "timestamp": hours, "long_usd": [1e5] * 48, "short_usd": [5e4] * 48}
    market = liqdata.Market(liquidations=totals)
    for ask in (market.overview, market.coins, market.exchanges, market.orders, lambda: market.history("PEPE")):
        with pytest.raises(liqdata.Refused, match="totals by period and no orders"):
            ask()
