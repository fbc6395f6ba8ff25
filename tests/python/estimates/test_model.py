"""``liqdata.Model``: what it takes, what it refuses, and that every source estimates with it."""

import base64
import dataclasses
import json
import pickle
import re
import urllib.request
from datetime import timedelta

import numpy as np
import pytest

import liqdata
from liqdata import BadQuery, Model

OWN = Model(tiers=[10, 50], weights=[3, 1], mmr=0.01, clocks=[(0.5, 0.2), (0.5, 4.0)], name="two")


@pytest.fixture(scope="module")
def market():
    with liqdata.demo() as market:
        yield market


def test_the_default_is_the_documented_model():
    model = Model()
    assert model.tiers == (2, 3, 4, 5, 7, 10, 15, 20, 25, 33, 50, 75, 100, 125)
    weights = np.array(model.tiers) ** -0.75
    np.testing.assert_allclose(model.weights, weights / weights.sum(), rtol=1e-12)
    assert model.clocks == ((0.3, 0.1), (0.7, 16.0))
    assert (model.entries, model.grid, model.phi0, model.kappa0) == (5, 5e-4, 0.05, 0.21)
    assert (model.mmr, model.nu, model.name, model.view) == (None, None, None, "exposed")


@pytest.mark.parametrize(
    "name,value",
    [
        ("tiers", [5, 3]),
        ("tiers", [1, 3]),
        ("tiers", [2.5]),
        ("tiers", []),
        ("tiers", "10"),
        ("weights", [1.0]),
        ("weights", [-1.0] + [1.0] * 13),
        ("weights", [0.0] * 14),
        ("mmr", 0.5),
        ("mmr", [0.1] * 13),
        ("nu", float("inf")),
        ("clocks", []),
        ("clocks", [(1.0,)]),
        ("clocks", [(0.5, 1.0)]),
        ("clocks", [(1.0, -1.0)]),
        ("entries", 0),
        ("entries", 300),
        ("grid", float("nan")),
        ("grid", 1.0),
        ("phi0", 1.5),
        ("kappa0", -0.1),
        ("nu", 0.0),
        ("name", 7),
    ],
)
def test_an_invalid_parameter_is_refused_by_name(name, value):
    with pytest.raises(BadQuery) as refused:
        Model(**{name: value})
    assert refused.value.parameter == name
    message, allowed = str(refused.value).split("; allowed: ")
    assert re.findall(r"[\w.]+", str(value)) == [
        word for word in re.findall(r"[\w.]+", message)[1:] if word in str(value)
    ]
    assert allowed
    assert "column" not in message, "the place in JSON that callers never wrote"


@pytest.mark.parametrize(
    "given,words",
    [
        (
            {"mmr": [0.0] * 13 + [0.1]},
            "entry 13, for leverage 125, is 0.1; allowed: for this entry, from 0 to 0.004 (half",
        ),
        ({"mmr": [0.0] * 13}, "allowed: one rate for all tiers, or 14 rates"),
        ({"weights": [float("inf")] * 14}, "weights: inf is not finite; allowed: a number from 0 to 1e100"),
        ({"kappa0": float("nan")}, "kappa0: nan is not finite"),
        ({"weights": [1e308] * 14}, "14 numbers from 0 to 1e100"),
    ],
)
def test_a_refusal_names_the_remedy(given, words):
    with pytest.raises(BadQuery, match=re.escape(words)):
        Model(**given)


def test_a_model_with_equal_parameters_is_equal():
    for model in (Model(), OWN, Model(tiers=[3, 7, 11], weights=[0.1, 0.2, 0.4]), Model(weights=[1e-300] * 14)):
        same = {key: getattr(model, key) for key in ("tiers", "weights", "clocks", "entries", "grid", "phi0", "mmr")}
        assert Model(**same).version == model.version


def test_versions_differ_exactly_if_cells_differ():
    variants = [
        Model(),
        Model(tiers=[10, 50]),
        Model(weights=[1.0] * 14),
        Model(mmr=0.004),
        Model(clocks=[(1.0, 0.25)]),
        Model(entries=3),
        Model(grid=1e-3),
        Model(phi0=0.1),
        Model(kappa0=0.21),
        Model(kappa0=0.31),
        Model(nu=3.0),
    ]
    assert len({model.version for model in variants}) == len(variants)
    assert Model(name="mine").version == Model().version
    assert Model(clocks=[(0.3, 0.1), (0.7, 16.0)]).version == Model().version
    assert Model(tiers=[10, 50], weights=[2, 2]).version == Model(tiers=[10, 50]).version


def test_a_model_compares_pickles_and_does_not_change():
    assert pickle.loads(pickle.dumps(OWN)) == OWN
    assert hash(OWN) == hash(Model(**{key: getattr(OWN, key) for key in ("tiers", "weights", "mmr", "clocks", "name")}))
    assert Model() != OWN
    assert "tiers=[10, 50]" in repr(OWN)
    assert OWN.version in repr(OWN)
    with pytest.raises(AttributeError, match="does not change"):
        OWN.phi0 = 1
    with pytest.raises(AttributeError, match="does not change"):
        del OWN.phi0


def test_whole_numbers_may_be_floats():
    assert Model(tiers=[10.0, np.float64(50.0)], entries=5.0) == Model(tiers=[10, 50])
    for name, value in {"tiers": [2.5, 10.0], "entries": 5.5}.items():
        with pytest.raises(BadQuery, match=rf"{name}: .*whole"):
            Model(**{name: value})


MODELS = [2, 3, Model(), OWN, Model(kappa0=0.1, grid=1e-3), Model(mmr=[0.01, 0.004], tiers=[20, 125], nu=5, phi0=0.0)]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("coin", ["BTC", "SOL"])
def test_the_model_of_an_answer_can_be_used_again(market, coin, model):
    answer = market.heatmap(coin, "24h", model=model, explain=True)
    explain = answer.meta["explain"]
    again = Model(**explain["model"])
    assert explain["modelNumber"] == answer.model == {"exposed": 2, "expected": 3}[again.view]
    assert again.version == explain["modelVersion"]
    assert again.view == answer.meta["view"]
    assert again == Model(**json.loads(json.dumps(explain["model"])))
    assert (again.name, again.tiers) == (getattr(model, "name", None), getattr(model, "tiers", Model().tiers))
    assert market.heatmap(coin, "24h", model=again) == market.heatmap(coin, "24h", model=model)
    assert ("nu" in explain["model"]) == (answer.model == 3)
    assert ("kappa0" in explain["model"]) == ("kappa0=" in str(model)), "the default depends on the open interest"


def test_numpy_numbers_are_accepted():
    assert Model(tiers=np.array([10, 50]), phi0=np.float64(0.1)) == Model(tiers=(10, 50), phi0=0.1)


def test_the_default_model_gives_the_documented_answers(market):
    assert market.heatmap("BTC", "24h", Model()) == market.heatmap("BTC", "24h")
    assert (
        market.heatmap("BTC", "24h", Model(kappa0=0.11)).matrix.tobytes()
        == market.heatmap("BTC", "24h", 3).matrix.tobytes()
    )
    assert market.levels(model=Model()) == market.levels(model=2)
    assert market.maxpain(model=Model(nu=2.0)) == market.maxpain() != market.maxpain(model=2), "the demo is fitted"


def test_tiers_are_shown_by_the_leverage_near_them(market):
    tiers = [2, 3, 4, 6, 7, 17, 18, 35, 36, 70, 71]
    found = market.liqmap("BTC", "7d", model=Model(tiers=tiers), span="all")
    assert found.leverages.tolist() == [2, 3, 5, 10, 25, 50, 100]
    alone = [market.liqmap("BTC", "7d", model=Model(tiers=[tier]), span="all") for tier in tiers]
    shown = [int(found.leverages[np.flatnonzero(each.tiers.sum(0))[0]]) for each in alone]
    assert shown == [2, 3, 5, 5, 10, 10, 25, 25, 50, 50, 100]
    total = sum(each.total.sum() for each in alone) / len(tiers)
    np.testing.assert_allclose(found.total.sum(), total, rtol=1e-9)


def test_a_custom_model_has_its_version_and_view(market):
    found = market.liqmap("BTC", model=OWN)
    assert found.meta["explain"]["modelVersion"] == OWN.version
    assert found.meta["explain"]["clocks"] == [[0.5, 0.2], [0.5, 4.0]]
    assert found.meta["view"] == "exposed"
    expected = market.heatmap("BTC", "12h", Model(kappa0=0.1))
    assert (expected.model, expected.meta["view"]) == (3, "expected")
    assert expected.meta["explain"]["model"]["kappa0"] == 0.1


def test_our_server_accepts_custom_models(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert (client.heatmap("BTC", "24h", OWN).matrix == market.heatmap("BTC", "24h", OWN).matrix).all()
        assert (client.liqmap("ETH", "7d", model=OWN).tiers == market.liqmap("ETH", "7d", model=OWN).tiers).all()
        assert client.levels("ETH", model=OWN) == market.levels("ETH", model=OWN)
        assert client.maxpain("ETH", model=OWN) == market.maxpain("ETH", model=OWN)
        coded = base64.urlsafe_b64encode(json.dumps({"tiers": [20]}).encode()).decode().rstrip("=")
        with urllib.request.urlopen(f"{server.url}/api/liq-map?model={coded}") as reply:
            bins = json.load(reply)["bins"]
        assert bins
        wrong = base64.urlsafe_b64encode(b'{"phi0": 7}').decode().rstrip("=")
        for text, said in (("4", "4 is not allowed"), ("four", "neither a model number"), (wrong, "phi0")):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{server.url}/api/liq-map?model={text}")
            assert refused.value.code == 400
            assert said in refused.value.read().decode()


@pytest.mark.parametrize("wrong", [4, "2", True, 2.0, object()])
def test_an_argument_that_is_no_model_is_refused(market, wrong):
    with pytest.raises(BadQuery) as refused:
        market.heatmap("BTC", "24h", wrong)
    assert refused.value.parameter == "model"


def test_a_query_of_several_instants_equals_single_queries(market):
    ends = [market.now - timedelta(hours=hours) for hours in (0, 30, 7, 7)]
    for ask in (market.liqmap, market.levels, market.maxpain):
        assert ask("ETH", as_of=ends) == [ask("ETH", as_of=end) for end in ends]
        assert ask(["BTC", "SOL"], as_of=ends[:1]) == {coin: [ask(coin, as_of=ends[0])] for coin in ("BTC", "SOL")}
        assert ask("ETH", as_of=[]) == []
    walked = market.heatmap(
        "ETH", "12h", OWN, as_of=np.array([end.replace(tzinfo=None) for end in ends], dtype="datetime64[ms]")
    )
    assert iter(walked) is walked
    assert list(walked) == [market.heatmap("ETH", "12h", OWN, as_of=end) for end in ends]
    for wrong in (["yesterday"], [None]):
        with pytest.raises(BadQuery) as refused:
            market.liqmap(as_of=wrong)
        assert refused.value.parameter == "as_of"
    with pytest.raises(BadQuery, match="NOPE") as refused:
        market.liqmap("NOPE", as_of=ends)
    assert "as_of" in refused.value.__notes__[0]


@pytest.mark.parametrize("range", ["12h", "7d", "1M"])
def test_the_sides_of_a_heatmap_sum_to_its_cells(market, range):
    found = market.heatmap("SOL", range, opened="range", span="all")
    assert found.long.shape == found.short.shape == found.matrix.shape
    np.testing.assert_allclose(found.long + found.short, found.matrix, rtol=1e-12)
    for column in np.linspace(0, found.times.size - 1, 7).astype(int):
        longs, shorts = np.flatnonzero(found.long[:, column]), np.flatnonzero(found.short[:, column])
        if longs.size and shorts.size:
            assert longs.max() <= shorts.min()
    if range == "7d":
        week = market.liqmap("SOL", "7d", model=2, span="all")
        for side in ("long", "short"):
            np.testing.assert_allclose(
                getattr(found, side)[:, -1].sum(), week.total[week.sides == side].sum(), rtol=1e-9
            )


def test_a_sweep_has_amounts_by_side_and_leverage(market):
    found = market.liqmap("BTC", "7d", span="all")
    price = found.current_price
    still = found.swept()
    assert (still["long_usd"], still["short_usd"]) == (0.0, 0.0)
    assert list(still["long"]) == [2, 3, 5, 10, 25, 50, 100]
    all_of_it = found.swept(low=1e-9, high=1e12)
    for side in ("long", "short"):
        assert all_of_it[f"{side}_usd"] == pytest.approx(found.total[found.sides == side].sum(), rel=1e-9)
        shown = found.tiers[found.sides == side].sum(0)
        np.testing.assert_allclose(list(all_of_it[side].values()), shown, rtol=1e-9)
    low, high = price * 0.97, price * 1.02
    deeper = [found.swept(low=price * (1 - reach))["long_usd"] for reach in (0.01, 0.02, 0.05, 0.1)]
    assert deeper == sorted(deeper)
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        served, mine = client.liqmap("BTC", "7d"), market.liqmap("BTC", "7d")
        assert client.heatmap("BTC").long is None
        ours = found.swept(low, high)
        # The service sends the fine grid of the bins that it shows, so the sums are equal to the last digit.
        assert served.fine[4].size < mine.fine[4].size
        for depth in (0.0005, 0.005, 0.01, 0.02, 0.03):
            ends = (price * (1 - depth), price * (1 + depth))
            assert served.swept(*ends) == mine.swept(*ends) == found.swept(*ends)
    for wrong in (
        {"low": price * 1.01},
        {"high": price * 0.99},
        {"low": 0.0},
        {"low": -1},
        {"high": float("nan")},
        {"high": "x"},
    ):
        with pytest.raises(BadQuery) as refused:
            found.swept(**wrong)
        assert refused.value.parameter == next(iter(wrong))
    assert pickle.loads(pickle.dumps(found)).swept(low, high) == ours


def test_a_map_without_the_fine_grid_counts_its_bins_in_proportion(market):
    found = dataclasses.replace(market.liqmap("BTC", "7d", span="all"), fine=None)
    width, price = found.bin_width, found.current_price
    longs = found.sides == "long"
    nearest = found.prices[longs].max()
    half = found.swept(low=nearest)["long_usd"]
    assert half == pytest.approx(found.total[longs & (found.prices == nearest)].sum() / 2)
    assert found.swept(low=nearest + width / 2)["long_usd"] == pytest.approx(0, abs=1e-6 * half)
    everything = found.swept(low=price / 1e9, high=price * 1e9)
    for side in ("long", "short"):
        whole = found.total[found.sides == side].sum()
        assert everything[f"{side}_usd"] == pytest.approx(whole, rel=1e-9)


def test_clusters_of_a_client_are_those_of_the_market_and_of_the_reply(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        with urllib.request.urlopen(f"{server.url}/api/liq-map?symbol=BTC&range=7d&model=3") as reply:
            sent = json.load(reply)["clusters"]
        theirs, mine = client.liqmap("BTC", "7d", model=3), market.liqmap("BTC", "7d", model=3)
    assert list(theirs.clusters()) == list(mine.clusters()) == sent
    assert sent[0]["amount"] == max(row["amount"] for row in sent)
    assert theirs.clusters().meta is theirs.meta
    np.testing.assert_array_equal(theirs.low, mine.low)
    np.testing.assert_array_equal(theirs.high, mine.high)
    assert np.isinf(mine.high).any()


def test_the_length_of_a_column_is_that_of_the_whole_columns(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        for range, step in (("12h", 5 * 60_000), ("24h", 10 * 60_000), ("7d", 3_600_000)):
            mine = market.heatmap("BTC", range)
            lengths = np.diff(mine.times.astype("int64"))
            assert mine.step == client.heatmap("BTC", range).step == step
            assert set(lengths[:-1].tolist()) == {step}
    few = liqdata.Heatmap(**{**_fields(mine), "times": mine.times[:2], "matrix": mine.matrix[:, :2], "step": None})
    assert few.step is None
    assert few.span[0] == 2 * int(mine.times[0].astype("int64")) - int(mine.times[1].astype("int64"))
    unknown = liqdata.Heatmap(**{**_fields(mine), "step": None})
    assert unknown.step == mine.step


def _fields(grid):
    return {field.name: getattr(grid, field.name) for field in dataclasses.fields(grid)}
