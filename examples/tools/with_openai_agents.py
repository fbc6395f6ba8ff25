# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.24.0", "mcp==2.3.0"]
# ///
"""The servers of the OpenAI Agents SDK ask the tools over standard input and output, and over /mcp with a token."""

import asyncio
import os
import sys

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from common import line

import liqdata

BEARER = "correct-horse-battery"


async def ask(server):
    """Return the reply of a tool, after nine tools became functions of an agent and a wrong argument was refused."""
    async with server:
        assert len(await server.list_tools()) == 9
        agent = Agent("analyst", mcp_servers=[server], mcp_config={"convert_schemas_to_strict": True})
        assert len(await agent.get_mcp_tools(RunContextWrapper(None))) == 9
        refused = await server.call_tool("orders", {"limit": -1})
        assert "limit: -1 is not allowed" in refused.content[0].text
        return (await server.call_tool("overview", {})).content[0].text


def main():
    """Ask both ways."""
    with liqdata.serve(liqdata.demo(), token=BEARER) as server:
        headers = {"Authorization": f"Bearer {BEARER}"}
        params = {"url": f"{server.url}/mcp", "headers": headers, "timeout": 30}
        over_http = asyncio.run(ask(MCPServerStreamableHttp(params, client_session_timeout_seconds=60)))
    params = {"command": sys.executable, "args": ["-m", "liqdata", "mcp", "--demo"], "env": dict(os.environ)}
    assert asyncio.run(ask(MCPServerStdio(params, client_session_timeout_seconds=60))) == over_http
    line(
        "OpenAI Agents",
        "`MCPServerStdio`, `MCPServerStreamableHttp`: nine tools",
        "`client_session_timeout_seconds=60` (5 s by default), because estimates of a large archive take longer",
        "openai-agents",
    )


main()
