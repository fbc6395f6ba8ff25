"""Recorded maps of other services on the page: as served, in their own unit, and compared with the estimate."""

import io
import math
import random
import shutil
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from chromium import palette, until

import liqdata
from liqdata import vendors
from liqdata.recording.recorder import SourceRecorder
from liqdata.recording.sources import questions_of, sources_of
from liqdata.recording.store import Store

sys.path.append(str(Path(__file__).parents[1] / "python" / "support"))
import vendor_replies as replies
from vendor_double import Script, serving

IMAGE = pytest.importorskip("PIL.Image")
ROOT = "/api/futures/liquidation/"
HEAT, MAP = f"{ROOT}aggregated-heatmap/model2", f"{ROOT}aggregated-map"
MINUTE = 60_000
# Two frames: what follows a move of the pointer was painted.
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 10))))"


def _heatmap(bars, factor):
    """A heatmap of the vendor: 60 prices with unequal steps, a column for each of the last bars."""
    close = bars[-1]["close"]
    prices = [round(close * (0.95 + 0.1 * (row / 60) ** 1.1), 2) for row in range(60)]
    candles = [
        [bar["timestamp"] // 1000, *(str(bar[name]) for name in ("open", "high", "low", "close")), "1000"]
        for bar in bars
    ]
    pick = random.Random(3)
    cells = [
        [column, row, factor * math.exp(pick.uniform(0, 6))]
        for column in range(len(bars))
        for row in range(60)
        if pick.random() < 0.9
    ]
    return replies.glass({"y_axis": prices, "liquidation_leverage_data": cells, "price_candlesticks": candles})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, market):
    """An archive of the simulated market, with recorded maps of a vendor in its folder."""
    folder = str(tmp_path_factory.mktemp("page") / "archive")
    now = market.now
    bars = list(market.bars("BTC", start=now - timedelta(days=3), interval="5m"))
    readings = list(market.open_interest("BTC", start=now - timedelta(days=3)))
    orders = list(market.iter_orders("BTC", start=now - timedelta(hours=20)))
    liqdata.ingest(folder, orders=orders, bars=bars, open_interest=readings, exchange="binance")
    last = bars[-1]["closes_at"]
    close = bars[-1]["close"]
    first = close - 8 * 50
    levels = {first + 50 * step: 10.0 + step for step in range(17)}
    paths = {
        HEAT: Script(_heatmap(bars[-288:-12], 1), _heatmap(bars[-288:], 2)),
        MAP: replies.glass({"data": [replies.instrument("Binance", levels)], "last_price": close}),
    }
    with serving(paths) as double:
        for at in (last - 60 * MINUTE, last):
            (source,) = sources_of(vendors.CoinGlass("k3y-that-no-one-sees", base_url=double.url, retries=0))
            questions = questions_of(source, ["BTC"], ["heatmap", "liqmap"])
            part = SourceRecorder(source, questions, Store(folder, source.name), 30 * MINUTE)
            part.round(at)
            assert part.trouble == {}
            part.close()
    return folder


@pytest.fixture(scope="module")
def recorded(folder):
    with liqdata.open(folder) as market:
        return market.maps("BTC", kind="heatmap", source="coinglass")


@pytest.fixture(scope="module")
def url(folder):
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        yield server.url


def _read(page, box, x, y, place=0):
    page.mouse.move(int(box["x"] + x * box["width"]), int(box["y"] + y * box["height"]))
    page.evaluate(PAINTED)
    readout = page.locator(".readout").nth(place)
    row = readout.get_attribute("data-row")
    if row is None:
        return None
    column, value = readout.get_attribute("data-column"), float(readout.get_attribute("data-value"))
    return int(row), int(column), value, readout.inner_text()


def _shown(page, words):
    until(page, f"document.querySelector('.map').textContent.includes('{words}')")
    page.wait_for_timeout(500)


def _loaded(page, map, place=0, count=60):
    """Point at many places; the readout has the numbers of the recording, without a currency."""
    box = page.locator(".canvas").nth(place).bounding_box()
    pick = random.Random(6)
    known = 0
    for _ in range(count):
        found = _read(page, box, pick.uniform(0.05, 0.7), pick.uniform(0.05, 0.7), place)
        if found is None:
            continue
        row, column, value, text = found
        known += 1
        assert value == pytest.approx(map.matrix[row, column], rel=1.01e-4)
        assert "USD" not in text
    assert known > count / 2
    return known


def test_a_recorded_source_can_be_selected_and_shows_its_instant(visit, url, recorded):
    page = visit(url)
    choice = page.locator(".choice:has(.name:text-is('source')) select")
    assert choice.locator("option").all_inner_texts()[-1] == "as served by coinglass"
    choice.select_option("coinglass")
    _shown(page, "AS SERVED BY coinglass")
    assert "source=coinglass" in page.url
    newest = recorded[-1]
    label = page.locator(".label p").inner_text()
    assert label.startswith("BTC AS SERVED BY coinglass · ")
    assert " · relative amounts of coinglass · " in label
    assert f"as served at {newest.meta['recorded_at']:%Y-%m-%d %H:%M} UTC" in label
    for part in (".label p", ".colourbar"):
        assert "USD" not in page.locator(part).inner_text()
    _loaded(page, newest)
    page.keyboard.press("t")
    assert "USD" not in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    assert "as served by coinglass" in page.title()


def test_the_map_of_an_instant_is_the_last_one_recorded_before(visit, url, recorded):
    at = recorded[0].meta["recorded_at"] + timedelta(minutes=20)
    page = visit(f"{url}/#source=coinglass&as_of={at:%Y-%m-%dT%H:%MZ}")
    _shown(page, f"{recorded[0].meta['recorded_at']:%Y-%m-%d %H:%M} UTC")
    _loaded(page, recorded[0], count=20)


def test_a_pixel_of_an_uneven_map_has_the_colour_of_its_cell(visit, url, recorded):
    map = recorded[-1]
    prices = f"p={map.current_price * 0.955},{map.current_price * 0.985}"
    # So few columns that each is several pixels wide.
    end = map.times[-1].astype("int64")
    page = visit(f"{url}/#source=coinglass&thr=0&min_usd=1e12&{prices}&t={end - 360 * MINUTE},{end}")
    _shown(page, "AS SERVED BY coinglass")
    low, high, table = palette(page)
    if page.locator(".clock.late").count():
        table = (table + np.array([11, 13, 18])) / 2  # the market stands still: what is old is dim
    box = page.locator(".canvas").bounding_box()
    pick = random.Random(8)
    points = []
    for _ in range(60):
        x, y = pick.uniform(0.05, 0.6), pick.uniform(0.15, 0.55)
        if (found := _read(page, box, x, y)) is not None:
            points.append((int(box["x"] + x * box["width"]), int(box["y"] + y * box["height"]), *found[:2]))
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] + 60)
    page.wait_for_timeout(200)
    pixels = np.asarray(IMAGE.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    known = drawn = 0
    for x, y, row, column in points:
        value = map.matrix[row, column]
        if value <= 0:
            continue
        index = min(255, max(0, round(255 * np.log(value / low) / np.log(high / low))))
        near = table[max(0, index - 2) : index + 3]
        drawn += 1
        known += bool(np.abs(near - pixels[y, x]).sum(axis=1).min() <= 6)
    assert drawn > 25
    assert known >= 0.9 * drawn


@pytest.mark.parametrize("width, height", [(1440, 900), (820, 1180), (390, 844)])
def test_two_sources_are_shown_with_a_label_each(visit, url, recorded, width, height):
    page = visit(f"{url}/#compare=coinglass", width=width, height=height)
    _shown(page, "AS SERVED BY coinglass")
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    first, second = page.locator(".map .label p").all_inner_texts()
    assert first.startswith("BTC ESTIMATE · model 2")
    assert second.startswith("BTC AS SERVED BY coinglass")
    assert "USD" not in second
    boxes = [page.locator(".canvas").nth(place).bounding_box() for place in (0, 1)]
    if width > 1000:
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["height"] == boxes[1]["height"]
        assert boxes[1]["x"] >= boxes[0]["x"] + boxes[0]["width"]
        # The same height is the same price.
        prices = []
        for place in (0, 1):
            found = _read(page, boxes[place], 0.3, 0.3, place)
            assert found is not None
            band = page.locator(".readout").nth(place).locator("span").first.inner_text().split(" · ")[0]
            low, high = (float(text.replace(",", "")) for text in band.split("–"))
            prices.append((low, high))
        assert max(prices[0][0], prices[1][0]) < min(prices[0][1], prices[1][1])
    else:
        assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
    if width > 600:
        page.locator(".canvas").nth(1).scroll_into_view_if_needed()
        _loaded(page, recorded[-1], place=1, count=20)
    page.keyboard.press("t")
    captions = page.locator("dialog caption").all_inner_texts()
    assert [caption.split(" · ")[0] for caption in captions[:2]] == ["ESTIMATE", "AS SERVED BY coinglass"]
    second = page.locator("dialog table").nth(1)
    assert "USD" not in second.inner_text()
    amounts = [float(cell.get_attribute("title")) for cell in second.locator("tbody td:last-child").all()]
    with liqdata.Client(url) as client:
        clusters = client.liqmap("BTC", source="coinglass").clusters()
    assert amounts == clusters["amount"].tolist()


def test_a_comparison_is_opened_and_closed_by_key(visit, url):
    page = visit(url)
    for _ in range(4):
        page.keyboard.press("x")
    _shown(page, "AS SERVED BY coinglass")
    assert "compare=coinglass" in page.url
    # Models, exchanges and coins follow, and then nothing.
    for _ in range(page.locator(".choice:has(.name:text-is('compared with')) option").count() - 4):
        page.keyboard.press("x")
    until(page, "document.querySelectorAll('.canvas').length === 1")
    assert "compare" not in page.url


def test_a_missing_recording_shows_the_message_of_the_server(visit, url):
    page = visit(f"{url}/#source=coinglass&range=7d")
    _shown(page, "coinglass has no recorded heatmap BTC 7d; it has heatmap BTC 24h, liqmap BTC 1d")


def test_an_archive_of_recordings_only_is_shown(visit, folder, tmp_path):
    Store(str(tmp_path / "archive"), "other").close()
    shutil.copytree(Path(folder) / "recorded/coinglass", tmp_path / "archive/recorded/coinglass")
    with liqdata.open(tmp_path / "archive") as market, liqdata.serve(market) as server:
        recorded = market.maps("BTC", kind="heatmap", source="coinglass")
        page = visit(f"{server.url}/#source=coinglass", live=False)
        _shown(page, "AS SERVED BY coinglass")
        assert page.locator("#coin option").all_inner_texts() == ["BTC"]
        assert "1970" not in page.locator(".page").inner_text()
        _loaded(page, recorded[-1], count=20)
