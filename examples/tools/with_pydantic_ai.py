# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-ai-slim[mcp]==2.68.0", "mcp==2.3.0"]
# ///
"""A toolset of Pydantic AI asks the tools over standard input and output, and over /mcp with a token."""

import asyncio
import os
import sys

from common import line
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel

import liqdata

BEARER = "correct-horse-battery"


async def ask(tools):
    """Return the reply of a tool, after an agent has called one."""
    async with tools:
        assert len(await tools.list_tools()) == 9
        agent = Agent(TestModel(call_tools=["overview"]), toolsets=[tools])
        assert '"kind":"realised"' in (await agent.run("How much was liquidated?")).output
        return await tools.direct_call_tool("overview", {})


def main():
    """Ask both ways."""
    with liqdata.serve(liqdata.demo(), token=BEARER) as server:
        headers = {"Authorization": f"Bearer {BEARER}"}
        over_http = asyncio.run(ask(MCPToolset(f"{server.url}/mcp", headers=headers)))
    command = StdioTransport(sys.executable, ["-m", "liqdata", "mcp", "--demo"], env=dict(os.environ))
    assert asyncio.run(ask(MCPToolset(command, init_timeout=30))) == over_http
    line(
        "Pydantic AI",
        "`MCPToolset`: nine tools, over stdio and `/mcp`",
        "`init_timeout=30` (5 s by default) where a machine is slow to start Python",
        "pydantic-ai-slim",
    )


main()
