"""What the page draws is what the service answers."""

import io
import random

import numpy as np
import pytest
from chromium import palette, until

import liqdata

IMAGE = pytest.importorskip("PIL.Image")


def _drawn(page):
    """Wait for the map, and give the box of the chart."""
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    until(page, "document.querySelectorAll('.ranking tr').length > 3")
    page.wait_for_timeout(400)
    return page.locator(".canvas").bounding_box()


def _pixels(page):
    return np.asarray(IMAGE.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def _read(page, x, y):
    page.mouse.move(x, y)
    until(page, "document.querySelector('.readout strong') !== null")
    readout = page.locator(".readout")
    row = readout.get_attribute("data-row")
    if row is None:
        return None
    return int(row), int(readout.get_attribute("data-column")), readout.get_attribute("data-value")


@pytest.fixture(scope="module")
def heatmap(server):
    with liqdata.Client(server.url) as client:
        return client.heatmap("BTC")


def test_the_readout_shows_what_the_service_answers(visit, server, heatmap):
    page = visit(server.url)
    box = _drawn(page)
    pick = random.Random(5)
    read = 0
    for _ in range(120):
        x = box["x"] + pick.uniform(0.02, 0.7) * box["width"]
        y = box["y"] + pick.uniform(0.02, 0.7) * box["height"]
        found = _read(page, x, y)
        if found is None:
            continue
        row, column, value = found
        read += 1
        assert float(value) == pytest.approx(heatmap.matrix[row, column], rel=1.01e-4)
    assert read > 90


@pytest.mark.parametrize("scale, ratio, scheme", [("log", 1, "dark"), ("linear", 2, "light")])
def test_a_pixel_has_the_colour_of_its_cell(  # noqa: PLR0917  # fixtures and what varies
    visit, server, heatmap, scale, ratio, scheme
):
    # So few prices that every row is several pixels high, and away from the candles.
    price = heatmap.current_price
    seen = f"p={price * 0.93:.1f},{price * 0.945:.1f}"
    page = visit(f"{server.url}/#scale={scale}&min_usd=1e12&thr=0&{seen}", ratio=ratio, scheme=scheme)
    box = _drawn(page)
    low, high, table = palette(page, paper=scheme == "light")
    pick = random.Random(8)
    points = []
    for _ in range(50):
        x = int(box["x"] + pick.uniform(0.05, 0.45) * box["width"])
        y = int(box["y"] + pick.uniform(0.12, 0.5) * box["height"])
        if (found := _read(page, x, y)) is not None:
            points.append((x, y, *found[:2]))
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] + 60)
    page.wait_for_timeout(200)
    pixels = _pixels(page)
    drawn = 0
    for x, y, row, column in points:
        value = heatmap.matrix[row, column]
        around = pixels[(y - 1) * ratio : (y + 2) * ratio, (x - 1) * ratio : (x + 2) * ratio]
        # A candle, or the edge of a cell, may lie on a point.
        if value <= 0 or (around != around[0, 0]).any():
            continue
        drawn += 1
        index = min(255, max(0, round(255 * np.log(value / low) / np.log(high / low))))
        near = table[max(0, index - 2) : index + 3]
        assert np.abs(near - around[0, 0]).sum(axis=1).min() <= 6, (x, y)
    assert drawn > 15


def test_texts_are_in_the_document_and_in_the_picture(visit, server):
    page = visit(server.url)
    _drawn(page)
    label = page.locator(".label p").inner_text()
    assert label.startswith("BTC ESTIMATE · model 2 · ")
    assert "USD of open interest exposed" in label
    assert page.locator(".simulated").inner_text().startswith("SIMULATED MARKET")
    assert page.title().startswith("SIM · BTC 24h")
    with page.expect_download() as saved:
        page.get_by_role("button", name="picture").click()
    assert saved.value.suggested_filename == "liqdata-BTC-24h-simulated.png"
    picture = np.asarray(IMAGE.open(saved.value.path()).convert("RGB"))
    assert picture.std() > 20
    assert page.locator(".big").inner_text().startswith("≥ ")


def test_the_table_has_the_largest_clusters_of_the_map(visit, server):
    page = visit(server.url)
    _drawn(page)
    page.keyboard.press("t")
    cells = page.locator("dialog tbody").first.locator("td:last-child").all()
    with liqdata.Client(server.url) as client:
        amounts = client.liqmap("BTC", model=2).clusters()["amount"]  # the model of the heatmap on the page
    assert [float(cell.get_attribute("title")) for cell in cells] == amounts.tolist()[:20]
    page.keyboard.press("Escape")
    until(page, "document.querySelector('dialog') === null")


def test_the_first_picture_is_light(visit, server):
    sizes = []

    def prepare(page):
        tools = page.context.new_cdp_session(page)
        tools.send("Network.enable")
        tools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))

    page = visit(server.url, prepare=prepare)
    _drawn(page)
    assert sum(sizes) < 310_000


def test_the_largest_order_of_each_day_in_view_can_be_read(visit, server):
    page = visit(f"{server.url}/#range=7d")
    box = _drawn(page)
    page.wait_for_timeout(1000)
    with liqdata.Client(server.url) as client:
        grid = client.heatmap("BTC", "7d")
        days = [
            (grid.times[0] + np.timedelta64(day, "D"), grid.times[0] + np.timedelta64(day + 1, "D")) for day in range(7)
        ]
        largest = [
            client.largest(symbol="BTC", limit=1, start=start.astype(object), end=end.astype(object))[0]
            for start, end in days
        ]
    # Two places tell where every column and row is.
    corners = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in ((0.1, 0.1), (0.65, 0.6))]
    (row, column, _), (other_row, other_column, _) = (_read(page, *corner) for corner in corners)
    wide = (corners[1][0] - corners[0][0]) / (other_column - column)
    high = (corners[1][1] - corners[0][1]) / (other_row - row)
    read = 0
    for order in largest:
        slot = np.interp(order["timestamp"], grid.times.astype("int64"), np.arange(len(grid.times)))
        level = np.interp(float(order["price"]), grid.prices, np.arange(len(grid.prices)))
        x, y = corners[0][0] + (slot - column) * wide, corners[0][1] + (level - row) * high
        if not box["y"] + 10 < y < box["y"] + 0.7 * box["height"]:
            continue
        page.mouse.move(x, y)
        # Of discs that overlap the smallest is read.
        until(page, "document.querySelector('.tip').textContent.includes('REALISED order')")
        read += 1
    assert read >= 5
