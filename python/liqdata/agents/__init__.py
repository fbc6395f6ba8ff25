"""A read-only MCP server, which answers the questions of agents from any source of this package."""
