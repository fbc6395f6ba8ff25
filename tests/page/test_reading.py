"""What somebody reads off the page: the price, the time of each panel, where the largest amounts are."""

import io
import re

import numpy as np
import pytest
from chromium import until

import liqdata
from liqdata.plot.colours import peaks_of

IMAGE = pytest.importorskip("PIL.Image")


def _ready(page):
    until(page, "document.querySelector('.label').textContent.includes('model')")
    until(
        page, "document.body.dataset.colours.split(',')[2] != 10 && document.querySelectorAll('.ranking tr').length > 3"
    )
    page.wait_for_timeout(500)


def _plot(page):
    """The pixels of the map, without the price axis and the amounts below."""
    box = page.locator(".canvas").first.bounding_box()
    pixels = np.asarray(IMAGE.open(io.BytesIO(page.screenshot())).convert("RGB")) / 255
    top, left = int(box["y"]), int(box["x"])
    return pixels[top + 2 : int(top + 0.72 * box["height"]), left : int(left + 0.92 * box["width"])]


@pytest.mark.parametrize("coin", ["BTC", "ETH", "SOL", "DOGE", "PEPE"])
def test_few_pixels_of_a_map_are_bright(visit, server, coin):
    page = visit(f"{server.url}/#symbol={coin}")
    shares = {}
    for number, name in enumerate(["12h", "24h", "3d", "7d", "1M"], 1):
        if name != "3d":
            page.keyboard.press(str(number))
            until(page, f"document.title.includes('{coin} {name}')")
            _ready(page)
            shares[name] = float((_plot(page) @ [0.2126, 0.7152, 0.0722] > 0.35).mean())
    assert max(shares.values()) <= 0.2, shares


def test_the_page_and_the_plots_have_one_scale(visit, server):
    page = visit(f"{server.url}/#p=94000,106000")
    _ready(page)
    page.get_by_role("button", name="fit colours").click()
    drawn = [float(text) for text in page.evaluate("document.body.dataset.colours").split(",")]
    with liqdata.Client(server.url) as client:
        grid = client.heatmap("BTC")
    assert drawn[:3] == pytest.approx(list(peaks_of(grid.matrix, grid.prices, 94000, 106000)), rel=5e-3)


@pytest.mark.parametrize("fragment", ["", "#range=1M", "#range=all", "#p=90000,95000", "#t=1780200e6,1780230e6"])
def test_the_price_on_the_axis_is_the_price_of_the_map(visit, server, fragment):
    def prepare(page):
        page.add_init_script(
            """globalThis.drawn = []; const fill = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
                globalThis.drawn.push(text); return fill.call(this, text, ...more); };"""
        )

    page = visit(f"{server.url}/{fragment}", prepare=prepare)
    _ready(page)
    with liqdata.Client(server.url) as client:
        price = client.liqmap("BTC").current_price
    drawn = page.evaluate("drawn")
    assert any(re.fullmatch(rf"[↑↓]? ?{price:,.1f}", text) for text in drawn), drawn[-40:]
    assert page.locator("[data-price]").first.get_attribute("data-price") == f"{price:g}"


def test_each_panel_says_the_window_that_it_asked_for(visit, server):
    asked = []
    page = visit(server.url, prepare=lambda page: page.on("response", asked.append))
    for number, name in [(2, "24h"), (4, "7d"), (5, "1M")]:
        page.keyboard.press(str(number))
        until(page, f"document.title.includes('BTC {name}')")
        _ready(page)
        for part, path in [(".totals", "overview"), (".ranking", "coins"), (".coverage", "coverage")]:
            answered = [one.url for one in asked if one.ok and re.search(rf"/{path}(\?|$)", one.url)]
            window = re.search(r"range=(\w+)", answered[-1])
            assert f"{window[1] if window else '24h'}" in page.locator(f"{part} h2").inner_text()
