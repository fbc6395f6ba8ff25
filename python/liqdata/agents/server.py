"""The MCP server: tools, resources and prompts, on the official Python SDK. Needs ``liqdata[mcp]``."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ConfigDict

from liqdata import __version__
from liqdata.errors import LiqdataError

from .reply import answer
from .texts import GLOSSARY, INSTRUCTIONS, MODEL
from .tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from liqdata import Client, Market

    from .tools import AgentTool

    Source = Client | Market | Callable[[], Client | Market]

__all__ = ["agent_server"]


class Arguments(ArgModelBase):
    """The arguments of a call as they came; :func:`answer` checks them against the table of endpoints."""

    model_config = ConfigDict(extra="allow")

    def model_dump_one_level(self) -> dict[str, Any]:
        """All arguments, as one."""
        return {"given": self.model_extra or {}}


def agent_server(of: Source, *, open_world: bool) -> MCPServer[Any]:
    """Make the server of a source; ``server.run("stdio")`` serves it.

    Parameters
    ----------
    of : Client, Market or callable
        The source of all answers, or a function that waits until it is there. The caller closes it.
    open_world : bool
        Whether the source sends requests to a service.

    Returns
    -------
    mcp.server.mcpserver.MCPServer

    Examples
    --------
    >>> import asyncio
    >>> import liqdata
    >>> server = agent_server(liqdata.demo(), open_world=False)
    >>> [tool.name for tool in asyncio.run(server.list_tools())][:2]
    ['coverage', 'overview']
    """
    with _root_logger_unchanged():
        server: MCPServer[Any] = MCPServer(
            "liqdata",
            instructions=INSTRUCTIONS,
            version=__version__,
            subscriptions=False,  # nothing that it lists changes
            tools=[_made(tool, of, open_world=open_world) for tool in TOOLS.values()],
        )

    @server.resource("liqdata://coverage", mime_type="application/json")
    def coverage() -> str:
        """The coverage of the last 24 hours, by exchange."""
        return answer(TOOLS["coverage"], _there(of), {})[1]

    @server.resource("liqdata://scorecard", mime_type="application/json")
    def scorecard() -> str:
        """How well the estimate did against what happened."""
        return answer(TOOLS["score_note"], _there(of), {})[1]

    @server.resource("liqdata://columns", mime_type="application/json")
    def columns() -> str:
        """The meaning and unit of each column, by tool."""
        return json.dumps({name: tool.meanings for name, tool in TOOLS.items()}, ensure_ascii=False)

    @server.resource("liqdata://model", mime_type="text/markdown")
    def model() -> str:
        """How the estimate is computed, and what it is not."""
        return MODEL

    @server.resource("liqdata://glossary", mime_type="text/markdown")
    def glossary() -> str:
        """The words of this field as this server uses them."""
        return GLOSSARY

    @server.prompt()
    def last_hour(symbol: str = "BTC") -> str:
        """What happened to a coin in the last hour."""
        return (
            f"What happened to {symbol} in the last hour? Call coverage for 1h first. Then call history with "
            "interval 5m by side, cascades, and rankings of the largest orders. Say which exchanges were covered, and "
            "what is unknown."
        )

    @server.prompt()
    def where_liquidations_wait(symbol: str = "BTC") -> str:
        """Where liquidations of a coin would wait, and how sure that is."""
        return (
            f"Where would liquidations of {symbol} wait, and how sure is that? Call coverage, estimate_clusters, "
            "levels_maxpain and score_note. Say that it is an estimate, give its scores including failures, and repeat "
            "the caveats. Do not turn it into a forecast of the price."
        )

    return server


@contextmanager
def _root_logger_unchanged() -> Iterator[None]:
    """Keep the SDK from configuring the logging of the process, which it leaves alone if there is a handler."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _there(of: Source) -> Client | Market:
    return of() if callable(of) else of


def _made(tool: AgentTool, of: Source, *, open_world: bool) -> Tool:
    return Tool(
        fn=partial(_call, tool, of),
        name=tool.name,
        title=None,
        description=tool.description,
        parameters=tool.input_schema,
        fn_metadata=FuncMetadata(arg_model=Arguments, output_schema=tool.output_schema),
        is_async=False,  # the SDK runs it on a worker thread
        context_kwarg=None,
        annotations=ToolAnnotations(
            read_only_hint=True,
            idempotent_hint=True,
            destructive_hint=False,
            open_world_hint=open_world,
        ),
    )


def _call(tool: AgentTool, of: Source, given: dict[str, Any]) -> CallToolResult:
    try:
        reply, text = answer(tool, _there(of), given)
    except LiqdataError as error:
        return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=reply)
