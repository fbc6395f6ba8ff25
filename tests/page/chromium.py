"""How the tests start the browser and wait for it."""

import time

import matplotlib as mpl
import numpy as np

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


def palette(page, *, paper=False):
    """The ends of the colours of the first map, and the colours between them, 0 to 255."""
    until(page, "document.body.dataset.colours.split(',')[2] != 10")  # until a map is there
    low, knee, high, _ = (float(text) for text in page.evaluate("document.body.dataset.colours").split(","))
    bend = np.log(knee / low) / np.log(high / low)
    share = np.interp(np.arange(256) / 255, [0, bend, 1], [0, 0.53, 1])
    place = np.floor(255 * share**2 + 0.5).astype(int)
    viridis = mpl.colormaps["viridis"](np.arange(256))[:, :3] * 255
    if not paper:
        return low, high, viridis[place]
    white = np.maximum(0, 1 - 2 * share)[:, None]
    return low, high, viridis[255 - place] * (1 - white) + 255 * white


def until(page, expression):
    """Wait until an expression is true. The page's policy forbids it to evaluate text, so the browser's tools do."""
    end = time.monotonic() + STUCK
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)
