"""The live chart where no kernel is: an exported page shows the last state, and says so."""

import base64
import json
from pathlib import Path

from chromium import until

import liqdata

MODULE = Path(__file__).parents[2] / "web" / "dist" / "live.js"
PAGE = """<!doctype html><title>exported</title><div id="cell"></div><script type="module">
import live from "./live.js";
const heard = {};
const bytes = Uint8Array.from(atob("GRID"), (code) => code.charCodeAt(0));
const model = {
    get: (name) => ({ state: "live", label: ["BTC 12h ESTIMATE", "updated 2026-06-01 00:00 UTC"], orders: [],
        bars: BARS, grid: new DataView(bytes.buffer), simulated: true, height: 300 })[name],
    on: (event, callback) => { heard[event] = callback; },
    off: (event) => { delete heard[event]; },
};
globalThis.say = (event) => heard[event]();
globalThis.end = live.render({ model, el: document.getElementById("cell") });
</script>"""


def test_an_exported_chart_says_that_it_is_the_last_state(browser, seen):
    with liqdata.demo() as market:
        live = market.live("BTC")
        grid, bars = base64.b64encode(live.grid).decode(), json.dumps(live.bars)
        columns = len(live.snapshot().times)
        live.close()
    body = PAGE.replace("BARS", bars).replace("GRID", grid)
    page = browser.new_page()
    seen.watch(page)
    page.route("**/live.js", lambda route: route.fulfill(body=MODULE.read_bytes(), content_type="text/javascript"))
    page.route("**/export.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto("http://127.0.0.1:9/export.html")
    page.wait_for_selector("[data-liqdata-state=saved]")
    assert page.locator("[data-liqdata-state]").get_attribute("data-columns") == str(columns)
    # A map is drawn: its colours are many.
    drawn = page.evaluate("""[...document.querySelectorAll('canvas')].map((one) => {
        const { width, height } = one;
        if (!width || !height) return 0;
        const pixels = one.getContext('2d').getImageData(0, 0, width, height).data;
        return new Set(new Uint32Array(pixels.buffer)).size;
    })""")
    assert max(drawn) > 100
    words = page.locator("#cell").inner_text()
    assert "SIMULATED MARKET · BTC 12h ESTIMATE · updated 2026-06-01 00:00 UTC" in words
    assert "saved: this is the last state, and no kernel is heard" in words
    page.evaluate("say('change:beat')")
    page.wait_for_selector("[data-liqdata-state=live]")
    page.evaluate("say('comm_live_update')")
    page.wait_for_selector("[data-liqdata-state=disconnected]")
    page.evaluate("end()")
    until(page, "document.getElementById('cell').textContent === ''")
    page.close()
