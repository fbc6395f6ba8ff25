"""The live chart where no kernel is: an exported page shows the last state, and says so."""

from pathlib import Path

from chromium import until

MODULE = Path(__file__).parents[2] / "web" / "dist" / "live.js"
PAGE = """<!doctype html><title>exported</title><div id="cell"></div><script type="module">
import live from "./live.js";
const heard = {};
const model = {
    get: (name) => ({ state: "live", label: ["BTC 12h ESTIMATE", "updated 2026-06-01 00:00 UTC"], orders: [], bars: [],
        simulated: true, height: 300 })[name],
    on: (event, callback) => { heard[event] = callback; },
    off: (event) => { delete heard[event]; },
};
globalThis.say = (event) => heard[event]();
globalThis.end = live.render({ model, el: document.getElementById("cell") });
</script>"""


def test_an_exported_chart_says_that_it_is_the_last_state(browser, seen):
    page = browser.new_page()
    seen.watch(page)
    page.route("**/live.js", lambda route: route.fulfill(body=MODULE.read_bytes(), content_type="text/javascript"))
    page.route("**/export.html", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
    page.goto("http://127.0.0.1:9/export.html")
    page.wait_for_selector("[data-liqdata-state=saved]")
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
