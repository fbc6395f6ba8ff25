"""A service that announces nothing is asked for nothing but the contract: method by method, parameter by parameter."""

import inspect
import json
from pathlib import Path
from urllib.request import urlopen

import pytest
from scripted import answer

from liqdata import AsyncClient, BadQuery, Client, Model
from liqdata.endpoints.contract import endpoints

DATA = Path(__file__).parents[2] / "data"
TABLE = endpoints()
WINDOWS = ("1h", "4h", "12h", "24h")
# The pages of the contract, as it is written: parameters, and their values where it lists them.
CONTRACT = {
    "overview": {},
    "coins": {"range": WINDOWS, "limit": (5,)},
    "exchanges": {"range": WINDOWS},
    "largest": {"range": WINDOWS, "limit": (5,)},
    "orders": {"symbol": ("BTCUSDT",), "exchange": ("okx",), "limit": (5,), "offset": (3,)},
    "chart": {"symbol": ("BTCUSDT",)},
    "heatmap": {"symbol": ("BTC",), "range": ("12h", "24h", "3d", "7d", "1M"), "model": (2, 3)},
    "liqmap": {"symbol": ("BTC",), "range": ("1d", "7d")},
    "levels": {"symbol": ("BTC",)},
    "maxpain": {"symbol": ("BTC",)},
}
# Something to ask of every parameter that the contract does not have.
BEYOND = {
    "as_of": "2026-06-01",
    "bin": 50.0,
    "end": "2026-06-01",
    "exchange": "okx",
    "explain": True,
    "groups": True,
    "min_usd": 5,
    "model": 2,
    "source": "positions",
    "start": "2026-06-01",
    "symbol": "BTC",
    "headline": "strongest",
    "opened": "range",
    "range": "7d",
    "span": "all",
    "view": "blended",
}
# Values of the contract's parameters that are not the contract's.
VALUES = [
    *(
        (method, {"range": name}, f"range={name}")
        for method in ("coins", "exchanges", "largest")
        for name in ("3d", "7d", "1M", "3M", "6M", "1y")
    ),
    *(("heatmap", {"range": name}, f"range={name}") for name in ("3M", "6M", "1y", "all")),
    *(("liqmap", {"range": name}, f"range={name}") for name in ("12h", "3d", "1M", "3M", "6M", "1y", "all")),
    ("heatmap", {"model": Model(tiers=[10, 50])}, "model=Model"),
]
EXTENSIONS = [
    endpoint.name for endpoint in TABLE.values() if endpoint.extension and endpoint.reply in {"rows", "object"}
]
NOWHERE = answer({"success": False}, 404)


def passing_over(index=NOWHERE):
    """A service that answers the contract's questions whatever else they ask, and says ``index`` of itself."""
    replies = {TABLE[name].path: answer((DATA / f"{name}.json").read_bytes()) for name in CONTRACT}

    def play(exchange):
        path = exchange.request.path
        return (index if path == "/api" else replies.get(path, NOWHERE))(exchange)

    return play


def paths(service):
    return {request.path for request in service.requests}


def beyond(name):
    """The parameters of a method that the contract does not have."""
    return [one for one in inspect.signature(getattr(Client, name)).parameters if one not in {"self", *CONTRACT[name]}]


@pytest.mark.parametrize("name", CONTRACT)
def test_an_unannounced_parameter_is_refused(script, connect, name):
    for parameter in beyond(name):
        service = script(passing_over())
        with pytest.raises(BadQuery, match=f"does not announce {parameter} for {name}") as refused:
            getattr(connect(service), name)(**{parameter: BEYOND[parameter]})
        assert refused.value.parameter == parameter
        assert paths(service) == {"/api"}, (name, parameter)


@pytest.mark.parametrize("name,asked,spelled", VALUES, ids=lambda one: str(one)[:30])
def test_an_unannounced_value_is_refused(script, connect, name, asked, spelled):
    ((parameter, value),) = asked.items()
    # A service that has the parameter need not have each of its values.
    listed = [{"name": parameter, "values": ["1d", "2"]}]
    for index in (NOWHERE, answer({"endpoints": [{"name": name, "parameters": listed}]})):
        service = script(passing_over(index))
        with pytest.raises(BadQuery, match=f"does not announce {spelled} for {name}") as refused:
            getattr(connect(service), name)(**asked)
        assert refused.value.parameter == parameter
        assert paths(service) == {"/api"}
    known = next(each for each in TABLE[name].parameters if each.name == parameter)
    assert not isinstance(value, str) or value in known.values


@pytest.mark.parametrize("name", CONTRACT)
def test_parameters_of_the_contract_are_sent_to_any_service(script, connect, name):
    service = script(passing_over())
    client = connect(service)
    for parameter, values in CONTRACT[name].items():
        for value in values:
            sent = {"range": value} if parameter == "range" else {"model": str(value)} if parameter == "model" else {}
            reply = json.loads((DATA / f"{name}.json").read_bytes())
            if name in {"heatmap", "liqmap"}:
                reply |= {key: type(reply[key])(one) for key, one in sent.items() if key in reply}
            service.play(answer(reply))
            getattr(client, name)(**{parameter: value})
    service.play(passing_over())
    getattr(client, name)()
    assert paths(service) == {TABLE[name].path}


def test_our_server_announces_all_extensions(server):
    with urlopen(f"{server.url}/api") as reply:
        listed = json.load(reply)
    everywhere = {one["name"] for one in listed["everywhere"]}
    announced = {
        entry["name"]: {one["name"]: one["values"] for one in entry["parameters"]} for entry in listed["endpoints"]
    }
    announced |= {entry["name"]: {one["name"]: () for one in entry["parameters"]} for entry in listed["extensions"]}
    for name in [*CONTRACT, *EXTENSIONS]:
        taken = set(inspect.signature(getattr(Client, name)).parameters) - {"self"}
        taken |= {"low", "high"} if "span" in taken else set()  # the ends of a span
        assert taken - everywhere == announced[name].keys(), name
    for name, asked, said in VALUES:
        (parameter,) = asked
        assert said.partition("=")[2] in announced[name][parameter]


def test_an_announced_value_is_requested(script, connect):
    reply = json.loads((DATA / "heatmap.json").read_bytes()) | {"range": "3M", "model": 7}
    listed = [{"name": "range", "values": ["3M"]}, {"name": "model", "values": ["2", "Model"]}]
    index = answer({"endpoints": [{"name": "heatmap", "parameters": listed}]})
    service = script(lambda exchange: (index if exchange.request.path == "/api" else answer(reply))(exchange))
    client = connect(service)
    assert client.heatmap(range="3M", model=Model(nu=2.0)).range == "3M"
    client.heatmap(range="3M", model=Model(nu=2.0))
    assert [request.path for request in service.requests] == ["/api", *[TABLE["heatmap"].path] * 2]


@pytest.mark.parametrize("index", [NOWHERE, answer(b"{}"), answer(b"<html>")], ids=["none", "empty", "a page"])
@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_unannounced_extension_is_refused_by_name(script, connect, name, index):
    asked = {"undercount": {"range": "4h"}}.get(name, {})
    for page in (NOWHERE, answer(b"<html>", content_type="text/html")):
        service = script(lambda exchange, page=page: (index if exchange.request.path == "/api" else page)(exchange))
        with pytest.raises(BadQuery, match=f"does not announce {name}; allowed: what GET /api lists") as refused:
            getattr(connect(service), name)(**asked)
        assert refused.value.parameter == name
        assert paths(service) == {TABLE[name].path, "/api"}


def test_every_extension_is_tested_here():
    assert {*EXTENSIONS, "stream", "features"} == {endpoint.name for endpoint in TABLE.values() if endpoint.extension}
    for kind in (Client, AsyncClient):
        assert all(hasattr(kind, name) for name in EXTENSIONS)
