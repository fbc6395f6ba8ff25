"""``/openapi.json``: sound by the standard, and every reply of a server is what it says."""

import gc
import itertools
import json
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

import liqdata

OPENS = "a-token-of-some-length-0123456789"


def fetch(url, path, token=None, **headers):
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    asked = urllib.request.Request(url + path, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


@pytest.fixture(scope="module")
def description(server):
    return fetch(server.url, "/openapi.json")[1]


@pytest.fixture(scope="module")
def index(server):
    return fetch(server.url, "/api")[1]


def shortened(body):
    """The body with the ends of its lists alone: what is in the middle of a thousand numbers is as they are."""
    if isinstance(body, dict):
        return {name: shortened(value) for name, value in body.items()}
    if isinstance(body, list):
        return [shortened(each) for each in (body if len(body) <= 20 else body[:10] + body[-10:])]
    return body


def queries(description):
    """The paths with their query."""
    return [(path, page["get"]) for path, page in description["paths"].items() if "get" in page]


def check(description, path, status, body):
    """Validate a body against its schema in the description."""
    responses = description["paths"][path]["get"]["responses"]
    pointer = responses[str(status)].get("$ref", f"#/paths/{path.replace('/', '~1')}/get/responses/{status}")
    registry = Registry().with_resource(
        "urn:description", Resource.from_contents(description, default_specification=DRAFT202012)
    )
    schema = {"$ref": f"urn:description{pointer}/content/application~1json/schema"}
    Draft202012Validator(schema, registry=registry).validate(shortened(body))


def test_the_description_is_valid_openapi(description):
    OpenAPIV31SpecValidator(description).validate()
    assert description["openapi"].startswith("3.1")
    assert description["info"]["version"] == liqdata.__version__
    names = [each["operationId"] for page in description["paths"].values() for each in page.values()]
    assert len(names) == len(set(names))


def test_every_endpoint_and_parameter_of_the_list_is_there(description, index):
    entries = index["endpoints"] + index["extensions"]
    assert len(entries) > 15
    for entry in entries:
        get = description["paths"][entry["path"]]["get"]
        assert get["operationId"] == entry["name"]
        known = {each["name"]: each for each in get["parameters"] if each["in"] == "query"}
        everywhere = [] if entry["reply"] in {"events", "csv"} else index["everywhere"]
        # A heatmap in bytes has two parameters of its own.
        of_bytes = ["values", "since"] if entry["name"] == "heatmap" else []
        assert list(known) == [each["name"] for each in entry["parameters"] + everywhere] + of_bytes
        for each in entry["parameters"] + everywhere:
            schema = known[each["name"]]["schema"]
            assert known[each["name"]]["explode"] is False
            (default,) = {one["default"] for one in parts(schema) if "default" in one} or {None}
            assert each["default"] in (default, None if default is None else str(default))
            assert each["allowed"] in known[each["name"]]["description"]
            if each["type"] == "int" and "anyOf" not in schema:
                assert schema["type"] == "integer"
    assert description["paths"]["/api/liquidations/coins"]["get"]["parameters"][0]["schema"]["enum"] == [
        "1h",
        "4h",
        "12h",
        "24h",
        "1d",
        "3d",
        "7d",
        "1w",
        "1M",
        "30d",
        "3M",
        "6M",
        "1y",
    ]
    limit = description["paths"]["/api/liquidations"]["get"]["parameters"][2]["schema"]
    assert limit == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}


QUERIES = {
    "heatmap": ["", "range=12h&model=3", "symbol=ETH&explain=1", "symbol=NOPE", "symbol=ATOM", "model=9"],
    "history": ["", "by=none", "by=coin,symbol,exchange,side&interval=4h", "interval=7s"],
    "cascades": ["", "min_usd=0&symbol=BTC", "gap=2d"],
    "orders": ["", "symbol=PEPE&min_usd=1000&limit=3", "offset=-1", "nothing=1"],
    "largest": ["symbol=BTC&limit=3", "min_usd=x"],
    "bars": ["interval=1h", "interval=61s"],
}


def test_every_reply_matches_its_schema(description, server, index):
    answered = []
    for entry in index["endpoints"] + index["extensions"]:
        if entry["reply"] in {"events", "csv"}:
            continue
        for query in QUERIES.get(entry["name"], ["", "explain=1", "symbol="]):
            status, body = fetch(server.url, f"{entry['path']}?{query}")
            check(description, entry["path"], status, body)
            answered.append(status)
        gc.collect()
    assert {200, 400, 404} <= set(answered)
    for path in ("/", "/api", "/health", "/ready", "/openapi.json"):
        status, body = fetch(server.url, path, Accept="application/json")
        assert status == 200
        check(description, path, status, body)
    assert description["paths"]["/metrics"]
    status, body = fetch(server.url, "/openapi.json?x=1")
    assert (status, body["error"]["parameter"]) == (400, "x")


def resolved(described, schema):
    """The schema, or the one that it refers to."""
    while "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def members(described, value, schema, path=""):
    """Paths of all members of a value as the reference names them, each with whether the schema has it."""
    schema = resolved(described, schema)
    if isinstance(value, list):
        for each in value[:3]:
            yield from members(described, each, schema.get("items", {}), f"{path}[]" if path else "")
    if isinstance(value, dict):
        for name, each in value.items():
            by_key = schema.get("additionalProperties") or None
            inner = schema.get("properties", {}).get(name, by_key)
            known = f"{path}.*" if inner is by_key and by_key else f"{path}.{name}" if path else name
            if known != "explain":
                yield known, inner is not None
                yield from members(described, each, inner or {}, known)


def test_no_member_of_a_reply_is_undocumented(description, server, index):
    page = (Path(__file__).parents[3] / "docs" / "reference" / "endpoints.md").read_text(encoding="utf-8")
    sections = dict(section.split("\n", 1) for section in page.split("\n## ")[1:])
    undocumented, seen = set(), 0
    for entry in index["endpoints"] + index["extensions"]:
        if entry["reply"] in {"events", "csv"}:
            continue
        schema = description["paths"][entry["path"]]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        for query in QUERIES.get(entry["name"], ["", "explain=1"]):
            status, body = fetch(server.url, f"{entry['path']}?{query}")
            if status != 200:
                continue
            value, of = body, schema
            if entry["enveloped"]:
                value, of = body["data"], resolved(description, schema)["properties"]["data"]
            for path, described in members(description, value, of):
                seen += 1
                is_listed = path.endswith("*") or f"| `{path}` |" in sections[entry["name"]]
                if not (described and is_listed):
                    undocumented.add((entry["name"], path))
    assert undocumented == set()
    assert seen > 200


def parts(schema):
    """The schema and all schemas in it."""
    if isinstance(schema, list):
        for each in schema:
            yield from parts(each)
    if isinstance(schema, dict):
        yield schema
        for each in schema.values():
            yield from parts(each)


def test_a_generated_client_gets_wide_numbers_typed_constants_and_named_types(description):
    assert description["servers"] == [{"url": "."}]
    schemas = description["components"]["schemas"]
    assert {"OrdersReply", "CoverageReply", "Fault", "Side", "Units"} <= set(schemas)
    assert schemas["OrdersRow"]["properties"]["timestamp"]["format"] == "int64"
    for one in parts(description):
        if "integer" in one.get("type", ()):
            assert one.get("format") == "int64" or "enum" in one or one["maximum"] < 2**31, one
        if "number" in one.get("type", ()):
            assert one["format"] == "double", one
        # A default next to alternatives becomes Go that does not compile.
        assert not {"anyOf", "default"} <= set(one), one
        assert "const" not in one or one["type"] in ("boolean", "string")
    for _, get in queries(description):
        for media in get["responses"]["200"]["content"].values():
            if "properties" in media["schema"]:
                assert set(media["schema"]["properties"]) == {"event", "id", "data", "retry"}


def test_each_default_and_each_enum_value_is_accepted(description, server):
    asked = 0
    for path, get in queries(description):
        if {"text/event-stream", "text/csv"} & set(get["responses"]["200"]["content"]):
            continue
        for each in get["parameters"]:
            schema = each["schema"]
            bounds = [schema[bound] for bound in ("minimum", "maximum", "default") if bound in schema]
            for value in itertools.chain(schema.get("enum", ()), bounds):
                if path == "/ready" or each["name"] == "values":  # the words of a heatmap in bytes
                    continue
                if str(value) in {"3M", "6M", "1y", "all", "1M", "30d", "positions"}:
                    continue  # a demo that does not reach so far back, or has seen none, refuses them as what they are
                given = {each["name"]: value}
                headers, query = (given, "") if each["in"] == "header" else ({}, urllib.parse.urlencode(given))
                status, body = fetch(server.url, f"{path}?{query}", **headers)
                assert status == 200, (path, query, body)
                asked += 1
    assert asked > 40


# Values by the name of their parameter, and whether the server takes their form.
FORMS = {
    "as_of": {
        "2026-06-11T08:00:00.25Z": True,
        "2026-06-11t10:00:00+02:00": True,
        "2026-06-11": True,
        100_000_000_000: True,
        99_999_999_999_999: True,
        0: False,
        -1: False,
        1_781_136_000: False,
        100_000_000_000_000: False,
        "now": False,
        "2026-02-30": False,
    },
    "interval": {
        "5m": True,
        "366d": True,
        "1M": True,
        "90min": True,
        300_000: True,
        60_001: False,
        "367d": False,
        "0m": False,
    },
    "min_usd": {"0": True, "1000.5": True, "007": True, "-1": False, "1e999": False, "many": False},
    "gap": {"1ms": True, "24h": True, "1000": True, "5": False, "25h": False, "0s": False},
    "by": {"none": True, "side,coin": True, "coin,symbol,exchange,side": True, "coin,coin": False, "none,coin": False},
    "version": {"unknown": True, " ": False},
}
FORMS["start"] = FORMS["end"] = FORMS["as_of"]


def test_accepted_values_match_the_described_format(description, server):
    asked = 0
    for path, get in queries(description):
        if {"text/event-stream", "text/csv"} & set(get["responses"]["200"]["content"]):
            continue
        for each in get["parameters"]:
            validator = Draft202012Validator(each["schema"], format_checker=FormatChecker())
            for value, taken in FORMS.get(each["name"], {}).items():
                assert validator.is_valid(value) == taken, (path, each["name"], value)
                query = urllib.parse.urlencode({each["name"]: value})
                status, body = fetch(server.url, f"{path}?{query}")
                # What is taken may still be out of what a market knows.
                reason = body["error"]["message"] if status == 400 else ""
                if status == 400 and body["error"]["parameter"] != each["name"]:
                    reason = ""  # an interval that has too many periods in this range
                refused = reason != "" and "observation" not in reason
                assert refused != taken, (path, query, body)
                asked += 1
    assert asked > 200


def test_a_small_number_of_milliseconds_is_refused_with_the_bounds(server):
    for path, name in (("/api/liquidations/coins", "as_of"), ("/api/bars", "start"), ("/api/gaps", "end")):
        for value in ("0", "31536000000", "-86400000"):
            status, body = fetch(server.url, f"{path}?{name}={value}")
            assert (status, body["error"]["parameter"]) == (400, name)
            assert "from 100000000000 to 99999999999999" in body["error"]["allowed"]


def test_a_server_with_a_token_describes_its_security():
    with liqdata.serve(liqdata.demo(), token=OPENS) as server:
        assert fetch(server.url, "/openapi.json")[0] == 401
        status, description = fetch(server.url, "/openapi.json", OPENS)
        assert status == 200
        OpenAPIV31SpecValidator(description).validate()
        assert description["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
        assert description["security"] == [{"token": []}]
        check(description, "/api/liquidations/coins", *fetch(server.url, "/api/liquidations/coins"))


def test_a_server_without_a_token_describes_no_security(description):
    assert description["security"] == []
    assert "securitySchemes" not in description["components"]
