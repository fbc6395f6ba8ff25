"""What every public call needs: checked arguments, progress, short tracebacks, the asyncio bridge."""
