"""The MCP server: nine read-only tools for agents, asked with the SDK's own client in process and over stdio."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import anyio
import jsonschema
import pytest
import samples
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

import liqdata
import liqdata.cli
import liqdata.endpoints.contract
from liqdata.agents.greeting import greeting
from liqdata.agents.reply import MOST_BYTES
from liqdata.agents.server import agent_server
from liqdata.agents.texts import SCORES
from liqdata.agents.tools import TOOLS

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "liqdata", "mcp"]


def ask(of, *calls, mode="auto"):
    """The results of calls to a server in this process."""

    async def asked():
        async with Client(agent_server(of, open_world=False), mode=mode) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(asked())


def reply(of, tool, **arguments):
    (found,) = ask(of, (tool, arguments))
    assert not found.is_error, found.content[0].text
    assert json.loads(found.content[0].text) == found.structured_content
    jsonschema.validate(found.structured_content, TOOLS[tool].output_schema, format_checker=jsonschema.FormatChecker())
    return found.structured_content


def refusal(of, tool, **arguments):
    (found,) = ask(of, (tool, arguments))
    assert found.is_error
    return found.content[0].text


def test_nine_read_only_tools_and_coverage_first(market):
    async def listed():
        async with Client(agent_server(market, open_world=False)) as client:
            return client.instructions, (await client.list_tools()).tools

    instructions, tools = asyncio.run(listed())
    assert [tool.name for tool in tools] == [
        "coverage",
        "overview",
        "rankings",
        "orders",
        "history",
        "cascades",
        "estimate_clusters",
        "levels_maxpain",
        "score_note",
    ]
    assert "Call `coverage` first" in instructions
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        hints = tool.annotations
        assert (hints.read_only_hint, hints.idempotent_hint, hints.destructive_hint) == (True, True, False)
        assert hints.open_world_hint is False
        for wanted in tool.input_schema["properties"].values():
            (kind, null) = wanted["type"]  # clients of one type take the first
            assert null == "null"
            assert kind in {"string", "integer", "number"}
            assert None in wanted.get("enum", [None])
    # Every description and schema together fit the attention of an agent.
    assert sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools) < MOST_BYTES


def test_arguments_are_those_of_the_endpoint_table(market):
    del market
    given = TOOLS["cascades"].input_schema["properties"]
    table = {each.name: each for each in liqdata.endpoints.contract.endpoints()["cascades"].parameters}
    assert set(given) == {*table, "as_of", "limit", "offset"}
    assert given["gap"]["default"] == table["gap"].default
    assert TOOLS["estimate_clusters"].input_schema["properties"]["model"]["enum"] == [2, 3, None]


def test_arguments_may_be_null_and_whole_numbers_floats(market):
    (bare, sent) = ask(
        market,
        ("orders", {"limit": 5}),
        ("orders", {"limit": 5.0, "offset": 0.0, "symbol": None, "min_usd": None, "as_of": None}),
    )
    assert sent.structured_content == bare.structured_content
    assert reply(market, "estimate_clusters", model=2.0, range=None)["model"]["number"] == 2
    for more in (1000, 1000.5, "1000.5"):
        assert reply(market, "orders", min_usd=more)["returned"] > 0


@pytest.mark.parametrize(
    "tool, arguments, kind",
    [
        ("coverage", {}, "realised"),
        ("coverage", {"rows": "gaps"}, "realised"),
        ("overview", {}, "realised"),
        ("rankings", {}, "realised"),
        ("rankings", {"kind": "exchanges"}, "realised"),
        ("rankings", {"kind": "largest", "symbol": "BTC", "min_usd": 1000}, "realised"),
        ("orders", {"symbol": "BTC"}, "realised"),
        ("history", {"symbol": "BTC", "by": "exchange,side"}, "realised"),
        ("cascades", {}, "realised"),
        ("estimate_clusters", {}, "estimate"),
        ("levels_maxpain", {}, "estimate"),
        ("score_note", {}, "measured"),
    ],
)
def test_every_reply_has_its_kind_its_gaps_and_its_caveats(market, tool, arguments, kind):
    found = reply(market, tool, **arguments)
    assert found["kind"] == kind
    assert found["rows"]
    assert found["returned"] == len(found["rows"])
    assert list(found)[:4] == ["kind", "simulated", "source", "as_of"]
    assert found["simulated"] is True
    assert found["source"] == market.overview().meta["source"]
    assert found["as_of"] == "2026-06-01T00:00:00.000Z"
    assert found["coverage"]["gaps"] == 1  # the outage of the simulated market
    assert any("Simulated" in said for said in found["caveats"])
    assert "okx: 96.9 % of the last 24h covered, 1 known gap." in found["caveats"]
    assert "Published only in part by binance: realised totals are lower bounds." in found["caveats"]


def test_rows_are_those_of_the_package(market):
    rows = market.orders("ETH", limit=3)
    found = reply(market, "orders", symbol="ETH", limit=3)
    assert [(row["price"], row["qty"], row["value_usd"]) for row in found["rows"]] == [
        tuple(f"{row[name]:f}" for name in ("price", "qty", "value_usd")) for row in rows
    ]
    assert Decimal(found["rows"][0]["price"]) == rows[0]["price"]
    windows = {row["window"]: row["total_usd"] for row in reply(market, "overview")["rows"]}
    assert windows == {name: totals["total_usd"] for name, totals in market.overview().items()}
    pain = {(row["range"], row["side"]): row["price"] for row in reply(market, "levels_maxpain")["rows"]}
    assert pain["d7", "LONG"] == market.maxpain("BTC")["d7"]["long"]["price"]


def test_max_pain_has_an_explanation(market):
    found = reply(market, "levels_maxpain")
    explain = market.maxpain("BTC", explain=True).meta["explain"]
    assert found["model"] == {"number": 3, "version": explain["modelVersion"], "view": "expected"}
    (row,) = [row for row in found["rows"] if (row["range"], row["side"]) == ("d7", "LONG")]
    strongest = explain["strongest"]["d7"]["long"]
    assert row["reach"] == explain["reach"]["d7"]["long"]
    assert row["low_price"] < row["price"] < row["high_price"]
    assert row["strongest_price"] == strongest["price"]
    # The headline has the larger product, which is why it won.
    assert row["reach"] * row["amount"] > row["strongest_reach"] * row["strongest_amount"] > 0


def test_clusters_are_parts_of_the_map_and_never_the_matrix(market):
    found = reply(market, "estimate_clusters", symbol="BTC", range="7d", limit=500)
    map = market.liqmap("BTC", "7d")
    assert found["price"] == map.current_price
    for side in ("long", "short"):
        whole = map.total[map.sides == side].sum()
        rows = [row for row in found["rows"] if row["side"] == side.upper()]
        assert 0 < sum(row["amount"] for row in rows) <= whole
        for row in rows:
            inside = (map.prices > row["low_price"]) & (map.prices < row["high_price"]) & (map.sides == side)
            assert row["amount"] == pytest.approx(map.total[inside].sum())
            assert row["side_share"] == pytest.approx(row["amount"] / whole)
            assert (row["distance_pct"] < 0) == (side == "long")
    assert found["rows"] == sorted(found["rows"], key=lambda row: -row["amount"])
    assert not any(isinstance(value, list) for row in found["rows"] for value in row.values())


@pytest.mark.parametrize(
    "tool, arguments, whole",
    [
        (
            "orders",
            {"symbol": "BTC", "start": "-3h"},
            lambda market: len(market.orders("BTC", start="-3h")),
        ),
        ("history", {"by": "coin,side"}, lambda market: len(market.history(by="coin,side"))),
        ("cascades", {"min_usd": 0}, lambda market: len(market.cascades(min_usd=0))),
    ],
)
@pytest.mark.parametrize("limit", [7, 500])
def test_pages_follow_each_other_and_truncated_is_exact(market, tool, arguments, whole, limit):
    wanted = whole(market)
    rows, more = [], {}
    pages = 0
    while True:
        found = reply(market, tool, limit=limit, **arguments, **more)
        assert len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()) <= MOST_BYTES
        assert found["returned"] <= limit
        rows += found["rows"]
        pages += 1
        assert found["truncated"] == (len(rows) < wanted)
        counted = found["truncated"] is False or tool != "orders"
        assert found["remaining"] == (wanted - len(rows) if counted else None)
        if not found["truncated"] or pages == 5:
            break
        more = found["next"]
        assert more["offset"] == len(rows)
    assert len({json.dumps(row) for row in rows}) == len(rows)
    first = reply(market, tool, limit=5, **arguments)
    assert first["rows"] == rows[:5]


def test_a_page_that_ends_with_the_last_row_is_not_truncated(market):
    coins = len(market.coins())
    assert reply(market, "rankings", limit=coins)["truncated"] is False
    last = reply(market, "rankings", limit=coins - 1)
    assert last["truncated"] is True
    assert reply(market, "rankings", **last["next"])["returned"] == 1


@pytest.mark.parametrize("tool, count", [("orders", 150), ("coverage", 150), ("rankings", 150)])
@pytest.mark.parametrize("name", ["venue{:03}-perpetual-contracts", "{:03}" + "é" * 100])
def test_a_reply_has_room_for_rows_whatever_stands_before_them(tool, count, name):
    order = {"timestamp": 1_767_225_600_000, "symbol": "BTCUSDT", "side": "LONG", "price": "1", "qty": "1"}
    orders = [{**order, "exchange": name.format(place)} for place in range(count)]
    more = {"kind": "exchanges"} if tool == "rankings" else {}
    rows = 0
    with liqdata.Market(orders=orders, new_exchange=True) as market:
        while more is not None:
            found = reply(market, tool, **more)
            assert len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()) <= MOST_BYTES
            assert found["returned"] > 0
            assert f"of {count} exchanges; the tool coverage has all" in " ".join(found["caveats"])
            rows += found["returned"]
            more = None if found["next"] is None else {**more, **found["next"]}
    assert rows == count


def test_the_end_of_a_very_long_name_is_left_out():
    order = {"timestamp": 1_767_225_600_000, "symbol": "BTCUSDT", "side": "LONG", "price": "1", "qty": "1"}
    with liqdata.Market(orders=[{**order, "exchange": "x" * 30_000}], new_exchange=True) as market:
        (row,) = reply(market, "orders")["rows"]
    assert row["exchange"] == "x" * 199 + "…"


def test_next_rows_are_read_as_of_the_same_instant(market):
    early = reply(market, "orders", limit=2, as_of="2026-05-31T12:00Z")
    assert early["next"] == {"offset": 2, "as_of": "2026-05-31T12:00:00.000Z"}
    assert all(row["timestamp"] <= "2026-05-31T12:00:00.000Z" for row in early["rows"])
    assert reply(market, "orders", limit=2)["next"] == {"offset": 2, "as_of": "2026-06-01T00:00:00.000Z"}


@pytest.mark.parametrize(
    "tool, arguments, said",
    [
        ("orders", {"sybol": "BTC"}, r"sybol: orders has no such argument; allowed: symbol, .*did you mean 'symbol'\?"),
        ("orders", {"limit": 501}, r"limit: 501 is not allowed; allowed: a whole number from 1 to 500"),
        ("orders", {"offset": -1}, r"offset: -1 is not allowed; allowed: a whole number from 0 on"),
        ("orders", {"symbol": ["BTC"]}, r"symbol: \['BTC'\] is not allowed; allowed: text"),
        ("orders", {"limit": True}, r"limit: True is not allowed"),
        ("orders", {"limit": 5.5}, r"limit: 5.5 is not allowed; allowed: a whole number"),
        ("orders", {"offset": 1e300}, r"offset: the number has too many digits; allowed: a whole number from 0"),
        ("orders", {"min_usd": "much"}, r"min_usd: 'much' is not allowed; allowed: USD from 0 on"),
        ("rankings", {"range": "2h"}, r'range: "2h" is not allowed; allowed: "1h"'),
        ("rankings", {"kind": "coins", "symbol": "BTC"}, r"symbol: has no effect with kind='coins'"),
        ("coverage", {"rows": "gaps", "range": "1h"}, r"range: has no effect with rows='gaps'"),
        ("estimate_clusters", {"symbol": "NOPE"}, r'symbol: "NOPE" is unknown'),
        ("history", {"interval": "7s"}, r"interval: "),
    ],
)
def test_mistakes_get_the_error_messages_of_the_package(market, tool, arguments, said):
    text = refusal(market, tool, **arguments)
    assert re.match(said, text)
    assert "Traceback" not in text
    assert "Error executing" not in text


def test_an_older_client_is_served(market):
    (found,) = ask(market, ("overview", {}), mode="legacy")
    assert found.structured_content["returned"] == 4


def test_a_market_of_tables_marks_zeros_as_unknown():
    with liqdata.Market(orders=samples.orders(), now="2027-01-01") as market:
        found = reply(market, "overview")
    assert "No part of the period is covered: zeros and missing rows mean unknown." in found["caveats"]
    assert found["simulated"] is False


def test_a_service_answers_like_its_market(market, server):
    with liqdata.Client(server.url) as client:
        for tool in TOOLS:
            there, here = reply(client, tool, limit=5), reply(market, tool, limit=5)
            assert there["rows"] == here["rows"]
            assert there["simulated"] is True
            assert there["coverage"]["exchanges"] == here["coverage"]["exchanges"]
        assert refusal(client, "orders", exchange="nowhere").startswith("exchange:")


def test_an_unreachable_service_is_one_sentence():
    with liqdata.Client("http://127.0.0.1:9", retries=0) as client:
        text = refusal(client, "overview")
    assert "127.0.0.1:9 refused the connection" in text
    assert "Traceback" not in text


def test_resources_and_prompts(market):
    async def read():
        async with Client(agent_server(market, open_world=False)) as client:
            listed = [str(each.uri) for each in (await client.list_resources()).resources]
            texts = {uri: (await client.read_resource(uri)).contents[0].text for uri in listed}
            prompts = [each.name for each in (await client.list_prompts()).prompts]
            prompt = await client.get_prompt("last_hour", {"symbol": "ETH"})
            return texts, prompts, prompt.messages[0].content.text

    texts, prompts, prompt = asyncio.run(read())
    assert set(texts) == {f"liqdata://{name}" for name in ("coverage", "scorecard", "columns", "model", "glossary")}
    meanings = json.loads(texts["liqdata://columns"])
    assert set(meanings) == set(TOOLS)
    assert meanings["orders"]["value_usd"] == "Notional in USD (USD)."
    assert json.loads(texts["liqdata://coverage"])["kind"] == "realised"
    assert prompts == ["last_hour", "where_liquidations_wait"]
    assert "ETH" in prompt


def test_the_score_note_is_that_of_the_scorecard():
    page = (ROOT / "docs/explanation/scorecard.md").read_text()
    table = page.split("## Gates")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in table.splitlines() if line.startswith("| ")][2:]
    plain = [re.sub(r"[\s|*\\]+", " ", " ".join(row)).strip() for row in rows]
    assert plain == [re.sub(r"[\s|]+", " ", " ".join(row)) for row in SCORES]


# As a process


@pytest.fixture
def archive(tmp_path):
    """A small archive on disk."""
    return samples.archive(tmp_path / "archive")


def started(*arguments, **options):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **pipes, **options)


def test_over_stdio_as_a_process(archive):
    async def asked():
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(archive)], env=dict(os.environ))
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            found = await client.call_tool("orders", {"limit": 2})
            with pytest.raises(MCPError):
                await client.read_resource("liqdata://nothing")
            return tools, found

    tools, found = asyncio.run(asked())
    assert len(tools) == 9
    assert found.structured_content["returned"] == 2
    assert found.structured_content["simulated"] is False


def test_the_process_answers_before_its_source_is_open(market):
    opened, waiting = threading.Event(), threading.Event()

    def source():
        waiting.set()
        opened.wait()
        return market

    async def asked():
        async with Client(agent_server(source, open_world=False)) as client:
            call = asyncio.create_task(client.call_tool("overview", {}))
            await asyncio.to_thread(waiting.wait)
            tools = (await client.list_tools()).tools
            assert not call.done()
            opened.set()
            return tools, await call

    tools, found = asyncio.run(asked())
    assert len(tools) == 9
    assert found.structured_content["returned"] == 4


def test_a_source_that_cannot_be_opened_is_named_in_answers_and_at_the_end(tmp_path):
    async def asked():
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(tmp_path)], env=dict(os.environ))
        async with Client(server) as client:
            return [await client.call_tool(name, {}) for name in ("overview", "orders")]

    for found in asyncio.run(asked()):
        assert found.is_error
        assert "is not an archive: there is no journal.sqlite in it" in found.content[0].text
    for folder in (tmp_path, tmp_path / "nowhere"):
        with started(folder) as process:
            said = process.communicate()[1].decode()
        assert process.returncode == 1
        assert re.fullmatch(r"liqdata: .* is not an archive: .*\n", said)


def hello(method, number, version):
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    named = {"name": "test", "version": "1"}
    initialize = {"protocolVersion": version, "capabilities": {}, "clientInfo": named}
    params = initialize if method == "initialize" else {"_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


OPENINGS = [("initialize", 1, version) for version in (*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01")]
OPENINGS += [("server/discover", "first", version) for version in MODERN_PROTOCOL_VERSIONS]


@pytest.mark.parametrize("opening", OPENINGS)
def test_the_first_answer_is_that_of_the_sdk(opening):
    async def asked():
        (client, read), (write, server) = (anyio.create_memory_object_stream(9) for _ in range(2))
        lowlevel = agent_server(liqdata.Market(), open_world=False)._lowlevel_server
        async with client, server, anyio.create_task_group() as tasks:
            tasks.start_soon(lowlevel.run, read, write, lowlevel.create_initialization_options())
            await client.send(SessionMessage(jsonrpc_message_adapter.validate_json(hello(*opening))))
            answer = (await server.receive()).message
            tasks.cancel_scope.cancel()
        return answer

    found = anyio.run(asked)
    assert greeting(hello(*opening)) == found.model_dump(mode="json", by_alias=True, exclude_unset=True)


def test_other_first_messages_are_left_to_the_sdk():
    for line in (b"", b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'):
        assert greeting(line) is None


def test_the_process_answers_before_the_sdk_is_imported(tmp_path, archive):
    (tmp_path / "mcp.py").write_text("raise RuntimeError('imported')\n")
    without = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    with started(archive, env=without) as process:
        said, failed = process.communicate(hello("initialize", 1, "2025-06-18"))
    assert json.loads(said)["result"]["serverInfo"]["name"] == "liqdata"
    assert b"RuntimeError: imported" in failed


@pytest.mark.parametrize("ending", ["eof", "interrupt", "terminate", "pipe"])
def test_the_process_ends_with_its_client(archive, ending):
    with started(archive) as process:
        process.stdin.write(hello("initialize", 1, "2025-06-18"))
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "liqdata"
        assert json.loads(process.stdout.readline()) == {"jsonrpc": "2.0", "id": 2, "result": {}}
        if ending == "interrupt":
            process.send_signal(signal.SIGINT)
        elif ending == "terminate":
            process.terminate()
        elif ending == "pipe":
            process.stdout.close()
            process.stdin.write(b'{"jsonrpc": "2.0", "id": 3, "method": "ping"}\n')
            process.stdin.close()
        else:
            process.stdin.close()
        said = process.stderr.read().decode()
        code = process.wait(60)
    assert "Traceback" not in said
    assert code == {"eof": 0, "pipe": 0, "interrupt": -signal.SIGINT, "terminate": -signal.SIGTERM}[ending]


def test_help_works_without_the_extra_and_names_it(tmp_path):
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n")
    without = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    shown = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, env=without, check=True)
    assert 'pip install "liqdata[mcp]"' in " ".join(shown.stdout.split())
    failed = subprocess.run([*COMMAND, "--demo"], capture_output=True, text=True, env=without, check=False)
    assert failed.returncode == 1
    assert failed.stderr == 'liqdata: mcp needs the MCP SDK: pip install "liqdata[mcp]"\n'
    assert failed.stdout == ""


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((), "source: nothing to answer from; allowed: one of DIR, --url URL and --demo"),
        (("--demo", "--url", "http://a"), "source: --url and --demo are given; allowed: one of"),
        (("--url", "http://a", "--seed", "1"), "seed: selects a simulated market; add --demo"),
        (("--demo", "--timeout", "5"), "timeout: a market in this process sends no requests"),
    ],
)
def test_the_command_requires_one_source(arguments, said, capsys):
    assert liqdata.cli.main(["mcp", *arguments]) == 2
    assert said in capsys.readouterr().err
