"""The live page in a browser: bytes and time of the first picture, frames while panning, and bytes of an update.

``python tests/bench/page.py`` writes docs/dev/benchmarks-page.md. The extension has to be built for release.
"""

import gzip
import shutil
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import liqdata

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "page"))

from chromium import ARGUMENTS, until  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks-page.md"
# Frames while the mouse pans, in milliseconds between them.
FRAMES = """() => {
  globalThis.frames = [];
  let last = performance.now();
  const next = (now) => { globalThis.frames.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""
SHOWN = "document.querySelector('.map').dataset.map !== undefined"
MOST = 2.0  # times the frames of candles alone


def _sized(page):
    sizes = []
    tools = page.context.new_cdp_session(page)
    tools.send("Network.enable")
    tools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    return sizes


def first_picture(browser, url):
    """Bytes on the wire, and milliseconds until the map is drawn."""
    times, sizes = [], []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        sizes = _sized(page)
        begun = time.monotonic()
        page.goto(url)
        until(page, SHOWN)
        times.append(1000 * (time.monotonic() - begun))
        page.wait_for_timeout(1500)
        context.close()
    return sum(sizes), statistics.median(times)


def panning(browser, url, *, alone):
    """The 50th and 95th percentile of the time between frames while the mouse pans."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    if alone:
        page.route("**/api/liq-*", lambda route: route.abort())
    page.goto(url)
    page.wait_for_timeout(1000)
    if not alone:
        until(page, SHOWN)
    page.wait_for_timeout(1500)
    box = page.locator(".canvas").bounding_box()
    x, y = box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.3
    page.evaluate(FRAMES)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(200):
        page.mouse.move(x - 250 * (1 - abs((step % 80) / 40 - 1)), y)
        page.wait_for_timeout(10)
    page.mouse.up()
    frames = sorted(page.evaluate("globalThis.frames"))[1:]
    page.wait_for_timeout(1000)
    moved = page.evaluate("location.hash")
    if "t=" not in moved:
        message = f"the mouse did not pan: {moved!r}"
        raise RuntimeError(message)
    context.close()
    return frames[len(frames) // 2], frames[int(len(frames) * 0.95)]


def update(browser):
    """The mean number of bytes of an update: all that is requested again with a map."""
    with liqdata.demo(seed=5, live=True, speed=60) as market, liqdata.serve(market) as server:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(f"{server.url}/#min_usd=1e15")
        until(page, SHOWN)
        page.wait_for_timeout(5000)
        sizes, maps = _sized(page), []
        page.on("response", lambda response: "/api/liq-heatmap" in response.url and maps.append(response.status))
        page.wait_for_timeout(20_000)
        context.close()
    return sum(sizes) / len(maps)


def table(rows):
    """A table in Markdown. The module of the other benchmarks needs the packages of all peers."""
    lines = [["", "measured", "limit"], ["---"] * 3, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
    """Measure, and write the page."""
    rows = []
    code = sum(len(gzip.compress((ROOT / "web/dist" / name).read_bytes(), 9)) for name in ("app.js", "app.css"))
    rows.append(["code, gzip", f"{code / 1000:.0f} kB", "130 kB"])
    failed = code > 130_000
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        with liqdata.demo(seed=7) as market, liqdata.serve(market) as server:
            size, took = first_picture(browser, server.url)
            rows.extend(
                (
                    ["first picture, on the wire", f"{size / 1000:.0f} kB", "300 kB"],
                    ["first picture, time", f"{took:.0f} ms", "aim: 500 ms"],
                )
            )
            failed |= size > 300_000
            for span in ("24h", "1M"):
                address = f"{server.url}/#range={span}"
                half, most = panning(browser, address, alone=True)
                rows.append([f"panning {span}, candles alone, p50 / p95", f"{half:.1f} / {most:.1f} ms", ""])
                half, with_map = panning(browser, address, alone=False)
                rows.append(
                    [
                        f"panning {span} with the map, p50 / p95",
                        f"{half:.1f} / {with_map:.1f} ms",
                        "p95 at most twice",
                    ]
                )
                failed |= with_map > MOST * most
        cost = update(browser)
        rows.append(["an update of a live market, BTC 24h", f"{cost / 1000:.0f} kB", "150 kB"])
        failed |= cost > 150_000
        browser.close()
    text = table(rows)
    PAGE.write_text(f"# Benchmarks: the live page\n\nChromium without a GPU, 1440 × 900, on the loopback.\n\n{text}\n")
    print(text)
    sys.exit(failed)


if __name__ == "__main__":
    main()
