"""How the tests start the browser and wait for it."""

import time

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]

# As many seconds as no wait takes, but on a machine that does much else.
STUCK = 60


def until(page, expression):
    """Wait until an expression is true. The page's policy forbids it to evaluate text, so the browser's tools do."""
    end = time.monotonic() + STUCK
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)
