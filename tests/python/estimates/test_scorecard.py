"""The page of scores is of the models that the code has, and its sections are made of what was measured."""

import importlib
import math
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import samples

import liqdata
from liqdata import _core
from liqdata.scoring.maps import baselines
from liqdata.scoring.statistics.path import read_bars, read_path
from liqdata.scoring.truth import realised

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "scorecard.md"
FOLDER = str(ROOT / "tests" / "scorecard")


@pytest.fixture(scope="module")
def parts():
    """The generator's own modules."""
    sys.path.insert(0, FOLDER)
    try:
        names = ("tables", "simulated", "measured", "realised", "page", "baseline_maps", "tried")
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(FOLDER)


def test_the_page_has_the_models_of_the_code(parts):
    text = PAGE.read_text(encoding="utf-8")
    models = [liqdata.Model(), liqdata.Model(kappa0=0.21)]
    for version in (*(model.version for model in models), *map(_core.model_version, (2, 3))):
        assert f"`{version}`" in text, (
            f"docs/explanation/scorecard.md is not of {version}: `make scorecard` writes it again"
        )
    assert parts["page"].head() in text


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/known.md"])
def test_figures_of_the_card_on_other_pages_are_correct(page):
    card = PAGE.read_text(encoding="utf-8").split("## Against the true positions")[1]
    row = next(line for line in card.splitlines() if line.startswith("| the model, `Model()` | "))
    near, _, wider, _ = (float(cell.split()[0]) for cell in row.split("|")[4:8])
    text = " ".join((PAGE.parents[2] / page).read_text(encoding="utf-8").split())
    said = f"the map shows {wider:.1f} times the true USD within 5 % of the price, and {near:.1f} times within 1 %"
    assert said in text


def test_the_page_has_the_gates_of_simulated_markets():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    gates = [line for line in lines if line.startswith("| simulated: ")]
    assert len(gates) == 3
    assert all(line.endswith("| pass |") for line in gates), gates


def test_the_share_near_the_price_of_btc_is_the_measured_one(parts):
    folder = os.environ.get("LIQDATA_REAL_DATA")
    if not folder:
        pytest.skip("LIQDATA_REAL_DATA names no folder of recordings")
    found = parts["measured"].Measured(Path(folder) / "market")
    gated: list[tuple[str, ...]] = []
    parts["page"].measured(found.shares(), found.meta(), gated)
    assert [gate[1:] for gate in gated] == [("6 of 6", "6 of 6", "pass")]


def test_sums_of_usd_agree_with_their_ratios(parts):
    simulated = parts["simulated"]
    market = samples.simulated()
    rows = simulated.scored(market, simulated.truth(market), liqdata.Model())
    for near in simulated.NEAR:
        ratio = rows[f"map_{near}pct"] / rows[f"true_{near}pct"]
        # A bin of the map is wholly within or not, and the scorer splits it.
        assert ratio.to_numpy() == pytest.approx(rows[f"ratio_{near}pct"].to_numpy(), rel=0.35 / near)
    scores = simulated.pooled(rows)
    assert scores["ratio_5pct"] == rows["map_5pct"].sum() / rows["true_5pct"].sum()
    assert scores["median_5pct"] == rows["ratio_5pct"].median()


def test_a_fully_observed_market_has_the_score_of_the_original(parts):
    simulated = parts["simulated"]
    market = samples.simulated()
    seen, positions = simulated.Seen(market), simulated.truth(market)
    own = simulated.scored(market, positions, liqdata.Model())
    with seen.market() as same:
        pd.testing.assert_frame_equal(simulated.scored(same, positions, liqdata.Model()), own)
    found = {}
    for quality in ("open interest of one exchange (42 %)", "bars of 1 hour", "no open interest"):
        with simulated.QUALITIES[quality](seen) as worse:
            found[quality] = simulated.scored(worse, positions, liqdata.Model())
    one, coarse, none = found.values()
    # The map is of the venue's open interest alone, and of the same shape.
    assert 0.3 < (one["ratio_10pct"] / own["ratio_10pct"]).mean() < 0.55
    assert one["overlap"].to_numpy() == pytest.approx(own["overlap"].to_numpy(), abs=0.12)
    assert (coarse["overlap"] > 0.4).all()
    # What has no scale still has a shape.
    assert none["overlap"].to_numpy() == pytest.approx(own["overlap"].to_numpy(), abs=0.1)


def test_the_default_trader_habits_are_those_of_the_demo(parts):
    simulated = parts["simulated"]
    demo = samples.simulated()
    usual = simulated._demo(0, simulated.NOW, simulated.USUAL)
    assert usual.true_positions("BTC") == demo.true_positions("BTC")
    assert usual.bars("ETH") == demo.bars("ETH")
    assert usual.orders(limit=200) == demo.orders(limit=200)
    other = simulated._demo(0, simulated.NOW, simulated.HABITS["lower leverage (weights × k^−0.75)"])
    lower, own = (simulated.facts(market)["leverage"] for market in (other, demo))
    assert lower < own
    assert other.simulated


def test_the_true_map_beats_a_uniform_one_by_its_entropy(parts):
    grid = samples.simulated().liqmap("BTC", "7d", model=2)
    count = 60
    curves = parts["tried"].of_map(grid, 0)
    within = [curves.long.over(grid.current_price * (1 - far)) for far in np.linspace(0, 0.3, count + 1)]
    usd = np.diff(within)
    share = usd / usd.sum()
    far = (np.arange(count) + 0.5) * 0.005
    logs, inside, total = parts["tried"]._score(grid, "long", far, usd, reach=0.30)
    floor = parts["tried"].FLOOR
    mixed = (1 - floor) * share + floor / count
    assert logs / inside == pytest.approx((share * np.log(mixed * count)).sum(), rel=1e-9)
    assert logs / inside > 0
    assert inside == total == pytest.approx(usd.sum())
    # Where the map has nothing, the floor is what is left.
    empty = parts["tried"]._score(grid, "long", np.asarray([0.0]), np.asarray([1.0]), reach=0.30)
    assert empty[0] >= math.log(floor) - 1e-9


def test_traders_are_liquidated_at_prices_that_the_bars_reach(parts):
    table = pd.DataFrame(
        {
            "timestamp": pd.date_range("2026-01-01", periods=400, freq="15min", tz="UTC"),
            "low": 100.0,
            "high": 100.1,
            "volume": np.where(np.arange(400) < 200, 1.0, 1e-12),
        }
    )
    calm = parts["realised"].traders(table, 1)
    assert calm[["long_usd", "short_usd"]].to_numpy().sum() == 0
    table.loc[220, "low"] = 90.0
    fall = parts["realised"].traders(table, 1).set_index("timestamp")
    assert fall["short_usd"].sum() == 0
    assert (fall["long_usd"] > 0).sum() == 1
    assert fall["long_usd"].idxmax() == table["timestamp"][220].floor("1h")


def test_numbers_are_formatted_for_readers(parts):
    tables = parts["tables"]
    assert [tables.number(value) for value in (-0.126, -0.001, math.nan)] == ["−0.13", "0.00", "–"]
    assert [tables.signed(value) for value in (0.126, -0.126, 0.001)] == ["+0.13", "−0.13", "0.00"]
    assert [tables.usd(value) for value in (13_900.0, 3.3e7, 1.2e10, 4.0)] == ["13.9 k", "33 m", "12 bn", "4"]


def test_a_current_baseline_map_equals_the_next_crossing():
    market = samples.simulated()
    bars, interest = market.bars("BTC").to_pandas(), market.open_interest("BTC").to_pandas()
    hour = bars["timestamp"].iloc[-12].floor("1h")
    liquidations = pd.DataFrame({"timestamp": [hour], "long_usd": [1.0], "short_usd": [1.0], "interval": ["1h"]})
    path = read_path(realised(liquidations, "BTC", 3_600_000), read_bars(bars, "BTC"))
    before = read_bars(bars[bars["timestamp"] < hour], "BTC")
    cell = np.exp(5e-4)
    for name in baselines.NAMES:
        crossed, _ = baselines.made(name, path, interest, "BTC")
        stands = baselines.standing(name, before, interest, "BTC")
        low, high = float(path.low[0]), float(path.high[0])
        # What is crossed of a baseline is whole cells.
        assert stands.long.over(low) <= crossed[0, 0] * (1 + 1e-9) + 1e-6
        assert crossed[0, 0] <= stands.long.over(low / cell) * (1 + 1e-9) + 1e-6
        assert stands.short.under(high) <= crossed[0, 1] * (1 + 1e-9) + 1e-6
        assert crossed[0, 1] <= stands.short.under(high * cell) * (1 + 1e-9) + 1e-6
        assert stands.long.over(0.0) > 0 or name == "prints"


def test_a_section_replaces_the_previous_one(parts):
    text = "# Page\n\n| a gate | 1 | 2 | pass |\n\n## One\n\nold\n\n## Other\n\nkept\n"
    made = parts["page"].with_section(text, "## One\n\nnew", [("a gate", "1", "0", "**fail**")])
    assert made == "# Page\n\n| a gate | 1 | 0 | **fail** |\n\n## One\n\nnew\n\n## Other\n\nkept\n"


def test_a_map_of_each_exchange_is_compared_with_the_positions(parts):
    found = parts["baseline_maps"].by_venue(samples.simulated())
    assert set(found["source"]) == {"all venues at once", "sum over venues"}
    assert found["overlap"].between(0.3, 1.0).all()
