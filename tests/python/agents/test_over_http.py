"""Agents over HTTP: the path /mcp of a server, asked with the SDK's client and over plain sockets."""

import asyncio
import contextlib
import http.client
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

import liqdata
from liqdata.agents.server import agent_server
from liqdata.agents.tools import TOOLS

TOKENS = [f"correct-horse-battery-{number}" for number in range(10)]
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture(scope="module")
def guarded(market):
    """A server that needs one of ten tokens, and allows pages of one other origin."""
    with liqdata.serve(market, token=TOKENS, origins=["https://board.example.org"]) as running:
        yield running


def connection(server, timeout=60):
    return http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=timeout)


def message(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(name, number=1, **arguments):
    return message("tools/call", number, name=name, arguments=arguments)


def headers_of(token=TOKENS[0], **more):
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    given |= {"MCP-Protocol-Version": "2025-06-18"}
    return given | ({} if token is None else {"Authorization": f"Bearer {token}"}) | more


def post(server, body, method="POST", token=TOKENS[0], **more):
    """Status, headers and JSON of the reply to one message."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    with contextlib.closing(connection(server)) as http_connection:
        http_connection.request(method, "/mcp", sent, headers_of(token, **more))
        response = http_connection.getresponse()
        text = response.read()
        return response.status, response.headers, json.loads(text) if text else None


def of_client(server, mode, *calls, token=TOKENS[0]):
    """The tools, and the replies to calls, of the SDK's client."""

    async def asked():
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as sender:
            transport = streamable_http_client(f"{server.url}/mcp", http_client=sender)
            async with Client(transport, mode=mode) as client:
                tools = (await client.list_tools()).tools
                return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(asked())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_answers_are_those_of_the_server_in_this_process(market, guarded, mode):
    calls = [(name, {"limit": 3}) for name in TOOLS] + [("orders", {"limit": -1}), ("coverage", {"rows": "gaps"})]

    async def here():
        async with Client(agent_server(market, open_world=False), mode=mode) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    def plain(found):
        return [each.model_dump(exclude={"meta"}) for each in found]

    for ours, theirs in zip(asyncio.run(here()), of_client(guarded, mode, *calls), strict=True):
        assert plain(theirs) == plain(ours)


def test_one_message_is_one_reply_and_a_notification_none(guarded):
    status, headers, body = post(guarded, message("initialize", **HELLO))
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert body["result"]["serverInfo"]["name"] == "liqdata"
    assert "mcp-session-id" not in headers
    assert post(guarded, {"jsonrpc": "2.0", "method": "notifications/initialized"})[::2] == (202, None)
    for method in ("GET", "DELETE", "PUT"):
        status, headers, body = post(guarded, b"", method=method)
        assert (status, headers["Allow"]) == (405, "POST")
        assert body["error"]["message"] == f"{method} is not allowed here; allowed: POST"


@pytest.mark.parametrize("token", TOKENS)
def test_each_token_is_accepted(guarded, token):
    assert post(guarded, call("score_note"), token=token)[0] == 200


@pytest.mark.parametrize(
    "body, more, status, said",
    [
        (call("overview"), {"token": None}, 401, "a token is required"),
        (call("overview"), {"token": "correct-horse-battery-x"}, 401, "a token is required"),
        (call("overview"), {"Origin": "https://evil.example"}, 403, '"https://evil.example" may not ask as an agent'),
        (call("overview"), {"Origin": "null"}, 403, '"null" may not ask as an agent'),
        (call("overview"), {"Host": "evil.example"}, 421, '"evil.example" is not a name of this server'),
        (b"{", {}, 400, "EOF while parsing"),
        (b"x" * 50_000_000, {}, 413, "the message is 50000000 bytes long; allowed: 65536"),
    ],
)
def test_refusals_have_the_form_of_the_server(guarded, body, more, status, said):
    found, _, reply = post(guarded, body, **more)
    assert (found, reply["success"]) == (status, False)
    assert said in reply["error"]["message"]


@pytest.mark.parametrize(
    "body, more, status, code",
    [
        ([], {}, 400, -32602),
        (message("no/such/method"), {}, 200, -32601),
        (message("tools/list"), {"MCP-Protocol-Version": "1999-01-01"}, 400, None),
        (message("subscriptions/listen"), {"MCP-Protocol-Version": "2026-07-28"}, 400, None),
    ],
)
def test_mistakes_in_the_protocol_are_errors_of_the_protocol(guarded, body, more, status, code):
    found, _, reply = post(guarded, body, **more)
    assert found == status
    assert code in {None, reply["error"]["code"]}


def test_a_page_of_an_allowed_origin_may_ask(guarded):
    origin = "https://board.example.org"
    assert post(guarded, call("score_note"), Origin=origin)[1]["Access-Control-Allow-Origin"] == origin
    assert post(guarded, call("score_note"), Origin=guarded.url)[0] == 200
    with contextlib.closing(connection(guarded)) as http_connection:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        http_connection.request("OPTIONS", "/mcp", headers=asked)
        allowed = http_connection.getresponse().headers
    assert allowed["Access-Control-Allow-Methods"] == "POST"
    assert "mcp-protocol-version" in allowed["Access-Control-Allow-Headers"]


def test_calls_about_the_past_have_the_limits_of_the_past(market):
    with liqdata.serve(market, limits={"past": 0}) as server:
        status, _, body = post(server, call("orders", start="-3h"), token=None)
        assert (status, body["error"]["parameter"]) == (400, "start")
        assert "answers no historical queries" in body["error"]["message"]
        assert post(server, call("orders", start=None), token=None)[0] == 200


def resident():
    with open("/proc/self/statm") as pages:  # noqa: PTH123
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_half_of_200_calls_are_cancelled_and_the_next_one_is_answered(guarded):
    assert post(guarded, call("overview"))[0] == 200
    before = resident()
    ready, done = threading.Barrier(200), threading.Barrier(200)

    def ask(number):
        body = json.dumps(call("estimate_clusters", number, symbol="BTC", range="7d")).encode()
        with contextlib.closing(connection(guarded)) as http_connection:
            http_connection.connect()
            ready.wait()
            http_connection.request("POST", "/mcp", body, headers_of(TOKENS[number % 10]))
            # All are sent before the first is closed.
            done.wait()
            if number % 2:
                return None
            response = http_connection.getresponse()
            return response.status, json.loads(response.read())["id"]

    with ThreadPoolExecutor(200) as threads:
        found = list(threads.map(ask, range(200)))
    assert [each for each in found if each] == [(200, number) for number in range(0, 200, 2)]
    assert post(guarded, b"x" * 50_000_000)[0] == 413
    assert post(guarded, call("overview"))[0] == 200
    assert resident() - before < 150 * 2**20


def test_a_cancelled_call_frees_its_place(market):
    # One computation at a time, and one that waits.
    with liqdata.serve(market, limits={"past": 1, "past_queue": 1}) as server:
        asked = json.dumps(call("cascades", as_of="2026-05-31T12:00Z")).encode()
        for _ in range(20):
            with contextlib.closing(connection(server)) as gone:
                gone.request("POST", "/mcp", asked, headers_of(None))
        tries = 0
        while (status := post(server, json.loads(asked), token=None)[0]) == 503:
            tries += 1
            assert tries < 1000
        assert status == 200


def test_agents_are_refused_without_the_sdk(market, monkeypatch):
    monkeypatch.setattr("liqdata.server.find_spec", lambda _: None)
    with liqdata.serve(market) as server:
        status, _, body = post(server, call("overview"), token=None)
    assert status == 501
    assert 'pip install "liqdata[mcp]"' in body["error"]["message"]


def test_the_text_for_language_models_lists_every_endpoint_and_needs_no_token(guarded, server):
    with contextlib.closing(connection(guarded)) as http_connection:
        http_connection.request("GET", "/llms.txt")
        response = http_connection.getresponse()
        text = response.read().decode()
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert not [name for name in response.headers if name.startswith("x-liqdata")]
    assert text.startswith("# liqdata\n\n> ")
    assert "Answers need a token" in text
    with contextlib.closing(connection(server)) as http_connection:
        http_connection.request("GET", "/api")
        listed = json.loads(http_connection.getresponse().read())
    entries = listed["endpoints"] + listed["extensions"]
    for entry in entries:
        (line,) = [line for line in text.splitlines() if line.startswith(f"- [{entry['name']}]({entry['path'][1:]}): ")]
        for parameter in entry["parameters"]:
            assert parameter["name"] in line
    for link in ("openapi.json", "api", "mcp", "docs", "metrics"):
        assert f"]({link}): " in text
