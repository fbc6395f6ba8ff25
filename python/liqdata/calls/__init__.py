"""Shared by all public calls: checked arguments, progress bars, short tracebacks, the asyncio bridge."""
