"""What somebody does with the page: compares, measures, finds a coin, asks for an alert, and comes back."""

import re

import pytest
from chromium import until

import liqdata


def _ready(page):
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    until(page, "document.body.dataset.colours.split(',')[2] != 10")
    page.wait_for_timeout(300)


def _compare(page, what):
    page.locator(".choice:has(.name:text-is('compared with')) select").select_option(what)
    until(page, "document.querySelectorAll('.canvas').length === 2")
    until(page, "document.querySelector('.label.second').textContent.includes(', from ')")
    page.wait_for_timeout(500)
    return page.locator(".label.second p").inner_text()


@pytest.mark.parametrize(
    "what, words",
    [
        ("model:3", "BTC ESTIMATE · model 3 · USD expected to be reported"),
        ("exchange:okx", "BTC ESTIMATE · model 2 · okx alone · USD of open interest exposed"),
        ("coin:ETH", "ETH ESTIMATE · model 2 · USD of open interest exposed"),
        ("source:hourly", "BTC AS SERVED BY hourly"),
    ],
)
def test_a_model_an_exchange_a_coin_or_a_recording_is_compared(visit, server, what, words):
    page = visit(server.url)
    _ready(page)
    option = what.removeprefix("source:")
    assert _compare(page, option).startswith(words)
    box = page.locator(".canvas").nth(1).bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    until(page, "document.querySelectorAll('.readout')[1].dataset.value !== undefined")
    readout = page.locator(".readout").nth(1)
    row, column = (int(readout.get_attribute(f"data-{name}")) for name in ("row", "column"))
    kind, value = what.split(":")
    asked = {"symbol": "BTC", {"coin": "symbol"}.get(kind, kind): int(value) if kind == "model" else value}
    with liqdata.Client(server.url) as client:
        wanted = client.heatmap(**asked).matrix[row, column]
    assert float(readout.get_attribute("data-value")) == pytest.approx(wanted, rel=1.01e-4)
    assert page.evaluate("location.hash").endswith(f"compare={option}")


def test_a_drag_with_alt_measures_price_percent_and_usd(visit, server):
    page = visit(server.url)
    _ready(page)
    box = page.locator(".canvas").bounding_box()
    page.keyboard.down("Alt")
    page.mouse.move(box["x"] + 200, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 260, steps=4)
    page.mouse.up()
    page.keyboard.up("Alt")
    until(page, "document.querySelector('.tip').textContent.startsWith('between ')")
    shown = dict(zip(page.locator(".tip dt").all_inner_texts(), page.locator(".tip dd").all_inner_texts(), strict=True))
    title = page.locator(".tip strong").inner_text()
    low, high = (float(text.replace(",", "")) for text in re.findall(r"[\d,]+(?:\.\d+)?", title))
    usd, percent = (float(text.replace(",", "")) for text in re.findall(r"−([\d,.]+)(?: %|, )", shown["price"]))
    assert usd == pytest.approx(high - low, abs=1)
    assert percent == pytest.approx(100 * (1 - low / high), abs=0.01)
    with liqdata.Client(server.url) as client:
        found = client.liqmap("BTC", model=2)
    between = (found.prices >= low) & (found.prices <= high)
    for side in ("long", "short"):
        text = shown[f"estimate, {side}s, now"]
        number, unit = re.fullmatch(r"([\d.]+)\s?([kMB]?) USD", text).groups()
        usd = float(number) * {"": 1, "k": 1e3, "M": 1e6, "B": 1e9}[unit]
        assert usd == pytest.approx(found.total[between & (found.sides == side)].sum(), rel=0.01)
    assert "t=" not in page.url
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.map').textContent.includes('between ')")


def test_a_coin_is_found_with_a_slash(visit, server):
    page = visit(server.url)
    _ready(page)
    page.keyboard.press("/")
    page.keyboard.type("dog")
    page.keyboard.press("Enter")
    until(page, "document.title.includes('DOGE 24h')")
    until(page, "document.querySelector('dialog') === null")


def test_a_right_click_writes_the_command_that_watches(visit, server):
    page = visit(server.url)
    _ready(page)
    box = page.locator(".canvas").bounding_box()
    page.mouse.click(box["x"] + 300, box["y"] + 300, button="right")
    line = page.locator(".command").inner_text().strip()
    found = re.fullmatch(rf"liqdata watch BTC --url {re.escape(server.url)} --alert-cluster-usd (\d+)", line)
    assert found, line
    with liqdata.Client(server.url) as client:
        amounts = client.liqmap("BTC", model=2).clusters()["amount"]
    assert any(0.9 <= float(found[1]) / amount <= 1 for amount in amounts)


def test_the_browser_remembers_the_layout_of_a_coin(visit, server):
    page = visit(server.url)
    _ready(page)
    page.keyboard.press("4")
    page.keyboard.press("l")
    until(page, "document.title.includes('BTC 7d')")
    page.locator("#coin").select_option("ETH")
    until(page, "document.title.includes('ETH 7d')")
    page.keyboard.press("1")
    until(page, "document.title.includes('ETH 12h')")
    page.locator("#coin").select_option("BTC")
    until(page, "document.title.includes('BTC 7d')")
    assert "scale=linear" in page.url
    other = page.context.new_page()
    other.goto(server.url)
    until(other, "document.title.includes('BTC 7d')")
    # A link says what it shows.
    other.goto(f"{server.url}/#range=3d")
    other.reload()
    until(other, "document.title.includes('BTC 3d')")
