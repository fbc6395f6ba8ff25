# /// script
# requires-python = ">=3.11"
# dependencies = ["fastmcp==4.2.3", "mcp==2.3.0"]
# ///
"""The client of FastMCP asks the tools over standard input and output, and over /mcp with a token."""

import asyncio
import os
import sys

from common import line
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

import liqdata

BEARER = "correct-horse-battery"


async def ask(transport):
    """Return the reply of a tool, after nine tools were listed and a wrong argument was refused."""
    async with Client(transport) as client:
        assert len(await client.list_tools()) == 9
        try:
            await client.call_tool("orders", {"limit": -1})
        except ToolError as error:
            assert "limit: -1 is not allowed" in str(error)
        return (await client.call_tool("overview", {})).structured_content


def main():
    """Ask both ways."""
    with liqdata.serve(liqdata.demo(), token=BEARER) as server:
        headers = {"Authorization": f"Bearer {BEARER}"}
        over_http = asyncio.run(ask(StreamableHttpTransport(f"{server.url}/mcp", headers=headers)))
    command = StdioTransport(sys.executable, ["-m", "liqdata", "mcp", "--demo"], env=dict(os.environ))
    assert asyncio.run(ask(command)) == over_http
    line(
        "FastMCP",
        "nine tools, over stdio and `/mcp`",
        "`headers=` of `StreamableHttpTransport` has the token",
        "fastmcp",
    )


main()
