"""Parts of all public calls: checks of arguments, progress bars, short tracebacks, the asyncio bridge."""
