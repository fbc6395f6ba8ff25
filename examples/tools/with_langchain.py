# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain-mcp-adapters==0.3.2"]
# ///
"""Tools of LangChain ask over standard input and output, and over /mcp with a token; a refusal is an error result.

The adapters need version 1 of the MCP SDK, and `liqdata mcp` version 2: the server runs in an environment of its own.
"""

import asyncio
import json
import os
import subprocess
import sys

from common import line
from langchain_mcp_adapters.client import MultiServerMCPClient

SDK = "mcp==2.3.0"
BEARER = "correct-horse-battery"
SERVE = f"""
import liqdata
with liqdata.serve(liqdata.demo(), token={BEARER!r}) as server:
    print(server.url, flush=True)
    input()
"""


async def ask(connection):
    """Return the reply of a tool, after nine tools were listed and a wrong argument was refused."""
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"liqdata": connection}).get_tools()}
    assert len(tools) == 9

    def called(**arguments):
        """Return a call as a model makes it."""
        return {"type": "tool_call", "name": "orders", "id": "1", "args": arguments}

    refused = await tools["orders"].ainvoke(called(limit=-1))
    assert refused.status == "error", refused
    assert "limit: -1 is not allowed" in str(refused.content)
    assert "limit: -1 is not allowed" in str(await tools["orders"].ainvoke({"limit": -1}))
    assert (await tools["orders"].ainvoke(called(limit=1))).status == "success"
    (part,) = await tools["overview"].ainvoke({})
    return json.loads(part["text"])


def main():
    """Ask both ways."""
    packages = [part for package in ("click", "numpy", SDK) for part in ("--with", package)]
    uv = [os.environ["UV"], "run", "--quiet", "--no-project", "--python", f"{sys.base_prefix}/bin/python3", *packages]
    command, *arguments = [*uv, "python", "-m", "liqdata", "mcp", "--demo"]
    stdio = {"transport": "stdio", "command": command, "args": arguments, "env": dict(os.environ)}
    found = asyncio.run(ask(stdio))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*uv, "python", "-c", SERVE], **pipes) as server:
        url = server.stdout.readline().strip()
        headers = {"Authorization": f"Bearer {BEARER}"}
        over_http = asyncio.run(ask({"transport": "http", "url": f"{url}/mcp", "headers": headers}))
        server.communicate("\n")
    assert over_http == found
    line(
        "LangChain MCP adapters",
        '`MultiServerMCPClient`: nine tools, over stdio and `/mcp`; a call of a model gets `status="error"`',
        "`liqdata` in an environment of its own, because the adapters need version 1 of the MCP SDK",
        "langchain-mcp-adapters",
    )


main()
