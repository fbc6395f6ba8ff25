"""The six pictures of the page in docs/images, of a market that stands still: ``python tests/page/pictures.py``."""

import shutil
from pathlib import Path

from chromium import ARGUMENTS, until
from playwright.sync_api import sync_playwright

import liqdata

FOLDER = Path(__file__).parents[2] / "docs" / "images"
SIZES = [(1440, 900), (820, 1180), (390, 844)]


def write(folder):
    """Write a picture for each size and theme."""
    folder.mkdir(parents=True, exist_ok=True)
    with liqdata.demo(seed=7) as market, liqdata.serve(market) as server, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for width, height in SIZES:
            for scheme in ("dark", "light"):
                size = {"width": width, "height": height}
                page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
                page.set_default_timeout(120_000)
                page.goto(server.url)
                until(page, "document.querySelector('.map').dataset.map !== undefined")
                until(page, "document.querySelectorAll('.big').length > 0")
                until(page, "document.querySelectorAll('.near td').length > 0")
                page.wait_for_timeout(3000)
                page.screenshot(path=folder / f"page-{width}-{scheme}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    write(FOLDER)
