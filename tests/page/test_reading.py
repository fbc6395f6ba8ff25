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
    until(page, "document.querySelector('.map').dataset.map !== undefined")
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


@pytest.mark.parametrize("coin", ["BTC", "PEPE"])
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

    def prepare(page):
        page.on("response", lambda reply: asked.append((reply.url, reply.ok)))

    page = visit(server.url, prepare=prepare)
    for number, name in [(2, "24h"), (4, "7d"), (5, "1M")]:
        page.keyboard.press(str(number))
        until(page, f"document.title.includes('BTC {name}')")
        _ready(page)
        for part, path in [(".totals", "overview"), (".ranking", "coins"), (".coverage", "coverage")]:
            answered = [url for url, ok in asked if ok and re.search(rf"/{path}(\?|$)", url)]
            window = re.search(r"range=(\w+)", answered[-1])
            assert f"{window[1] if window else '24h'}" in page.locator(f"{part} h2").inner_text()


LABEL = r"(max pain [17]d|\d+×) (long|short) [\d,.]+ [+−][\d.]+ %( [\d.]+ [kMB]?)?"


def test_labels_say_what_where_how_far_and_how_much(visit, server):
    page = visit(server.url)
    _ready(page)
    labels = page.locator("ul[aria-label='levels on the map'] li").all_inner_texts()
    assert len(labels) >= 8
    for text in labels:
        assert re.fullmatch(LABEL, text), text


def _fields(page):
    return dict(zip(page.locator(".tip dt").all_inner_texts(), page.locator(".tip dd").all_inner_texts(), strict=True))


CELL = {"distance", "time", "estimate", "side", "leverage, now", "sum from the price", "candle"}


def test_the_tooltip_reads_a_cell_and_the_map_at_the_right(visit, server):
    page = visit(server.url)
    _ready(page)
    box = page.locator(".canvas").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.15 * box["height"])
    page.wait_for_selector(".tip")
    assert _fields(page).keys() >= CELL
    page.mouse.move(box["x"] + 0.85 * box["width"], box["y"] + 0.15 * box["height"])
    until(page, "document.querySelector('.tip').textContent.includes('map 1d')")
    assert _fields(page).keys() >= {"distance", "time", "estimate", "side", "leverage", "sum from the price"}
    assert "outside the map" not in page.locator(".map").inner_text()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.85 * box["height"])
    until(page, "document.querySelector('.tip').textContent.includes('REALISED')")


def test_a_tap_reads_and_stays_until_the_next(browser, seen, server):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    seen.watch(page)
    page.goto(server.url)
    _ready(page)
    box = page.locator(".canvas").bounding_box()
    page.touchscreen.tap(box["x"] + 100, box["y"] + 40)
    page.wait_for_selector(".tip")
    first = _fields(page)
    assert first.keys() >= CELL
    page.wait_for_timeout(1500)
    assert _fields(page) == first
    page.touchscreen.tap(box["x"] + 160, box["y"] + 200)
    page.wait_for_timeout(500)
    assert _fields(page) != first
    context.close()


def test_a_copied_link_shows_the_same(visit, server):
    page = visit(f"{server.url}/#symbol=ETH&range=7d&model=3")
    _ready(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="more choices").click()
    page.get_by_role("button", name="copy link to this moment").click()
    until(page, "document.querySelector('.said') !== null")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "as_of=" in link
    assert "vmin=" in link
    page.get_by_role("button", name="more choices").click()
    other = visit(link, scheme="light")
    _ready(other)
    for each in (page, other):
        each.mouse.move(2, 2)
        each.wait_for_timeout(300)
    assert np.abs(_plot(page) - _plot(other)).mean() < 0.02


def test_nothing_moves_after_the_page_is_there(visit, server):
    page = visit(server.url)
    _ready(page)
    page.evaluate(
        """() => { globalThis.shift = 0; new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
        }).observe({ type: 'layout-shift' }); }"""
    )
    box = page.locator(".canvas").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 380, box["y"] + 100, steps=4)
    page.mouse.up()
    page.wait_for_selector("button.now")
    page.wait_for_timeout(1000)
    assert page.evaluate("shift") == 0


def test_ranges_before_the_first_bar_are_not_offered(visit, server):
    page = visit(server.url)
    _ready(page)
    until(page, "document.querySelectorAll('option:disabled').length === 3")
    assert "bars begin 2026-05-02" in page.locator("option:disabled").first.inner_text()
