"""Every state says what is so, in words."""

import hashlib
import json
import re
import time
from collections import Counter

import pytest
from chromium import until

import liqdata

TOKEN = "correct-horse-battery"  # noqa: S105  # a test's own


def _text(page, selector):
    return page.locator(selector).first.inner_text()


def _answer(path, change):
    """Change what the service answers at a path, given as a regular expression."""

    def prepare(page):
        def handle(route):
            reply = route.fetch(headers=route.request.headers | {"accept-encoding": "gzip"})
            if reply.status == 304:  # what the page has is as it was changed
                route.fulfill(response=reply)
                return
            headers, status, body = dict(reply.headers), reply.status, reply.body()
            headers.pop("content-encoding", None)
            route.fulfill(**change(headers, status, body))

        page.route(re.compile(path + r"(\?|$)"), handle)

    return prepare


def _refused(status, body, **headers):
    def prepare_path(path):
        def prepare(page):
            text = json.dumps({"success": False, "error": body})
            page.route(
                re.compile(path + r"(\?|$)"),
                lambda route: route.fulfill(status=status, body=text, headers=headers, content_type="application/json"),
            )

        return prepare

    return prepare_path


def test_a_server_with_tokens_shows_the_form_and_then_the_data(visit, market):
    with liqdata.serve(market, token=TOKEN) as server:
        page = visit(server.url, live=False)
        page.get_by_label("token").fill(TOKEN)
        page.get_by_role("button", name="show the data").click()
        page.wait_for_selector("[data-liqdata-state=live]")
        page.wait_for_selector(".big")
        assert TOKEN not in page.url
        # The page itself has no data, so it needs no token.
        page.reload()
        page.wait_for_selector(".big")


def _offer(page, token, button="show the data"):
    page.get_by_label("token").fill(token)
    page.get_by_role("button", name=button).click()


def _stored(page):
    return page.evaluate("[sessionStorage.getItem('liqdata.token'), localStorage.length, document.cookie]")


@pytest.mark.parametrize("path,button", [("/", "show the data"), ("/docs", "show the interface")])
def test_a_wrong_token_is_named_and_not_stored(visit, market, path, button):
    with liqdata.serve(market, token=TOKEN) as server:
        page = visit(server.url + path, live=False)
        for wrong in ("wrong-horse-battery", "short", "schlüssel-aus-messing", "two words"):
            _offer(page, wrong, button)
            until(page, "document.querySelector('[role=alert]').textContent.includes('does not accept this token')")
            assert page.get_by_label("token").get_attribute("aria-invalid") == "true"
            assert _stored(page) == [None, 0, ""]
        _offer(page, TOKEN, button)
        page.wait_for_selector(".big" if path == "/" else "main.docs")
        assert _stored(page) == [TOKEN, 0, ""]


def test_a_token_is_forgotten_with_the_session_of_the_browser(visit, market):
    with liqdata.serve(market, token=TOKEN) as server:
        page = visit(server.url, live=False)
        _offer(page, TOKEN)
        page.wait_for_selector(".big")
        # Another tab, and another session, know nothing of it.
        for other in (page.context.new_page(), visit(server.url, live=False)):
            other.goto(server.url)
            other.get_by_label("token").wait_for()
            assert _stored(other) == [None, 0, ""]
            assert other.get_by_role("alert").inner_text() == ""


def test_a_tab_without_a_token_takes_nothing_from_one_that_has_it(visit, market):
    with liqdata.serve(market, token=TOKEN) as server:
        first = visit(server.url, live=False)
        first.get_by_label("token").wait_for()
        second = first.context.new_page()
        second.goto(server.url)
        _offer(second, TOKEN)
        second.wait_for_selector("[data-liqdata-state=live]")
        second.wait_for_selector(".big")
        assert first.get_by_label("token").is_visible()
        _offer(first, TOKEN)
        first.wait_for_selector("[data-liqdata-state=live]")
        assert second.locator(".big").count() > 0


def test_a_token_that_was_removed_is_asked_for_again(visit, market, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    with liqdata.serve(market, token=tokens) as server:
        page = visit(server.url, live=False)
        _offer(page, TOKEN)
        page.wait_for_selector("[data-liqdata-state=live]")
        tokens.write_text("")
        until(page, "document.querySelector('[role=alert]')?.textContent.includes('no longer accepts the token')")
        assert _stored(page) == [None, 0, ""]


def test_a_server_that_is_gone_is_no_wrong_token(visit, market):
    with liqdata.serve(market, token=TOKEN) as server:
        page = visit(server.url, live=False)
        page.get_by_label("token").wait_for()
    _offer(page, TOKEN)
    until(page, "document.querySelector('[role=alert]').textContent.includes('does not answer')")


def test_a_refusal_shows_the_message_of_the_server(visit, server):
    page = visit(f"{server.url}/#symbol=NOPE")
    until(page, "document.body.textContent.includes('is unknown: it was never observed here')")
    page = visit(f"{server.url}/#range=forever")
    assert "range=forever" in _text(page, ".notices")


def test_a_busy_server_is_retried_after_its_retry_after(visit, server):
    busy = {"parameter": None, "message": "busy", "allowed": None}
    prepare = _refused(503, busy, **{"retry-after": "2"})("/api/liquidations/overview")
    page = visit(server.url, prepare=prepare, live=False)
    until(page, "document.body.textContent.includes('server is busy; next try in')")
    page.unroute_all()
    page.wait_for_selector(".big")


def test_totals_without_coverage_are_never_zero(visit, server):
    def change(headers, status, body):
        rows = json.loads(body)
        for row in rows["data"]:
            row["connected_share"] = 0.0
        return {"status": status, "headers": headers, "body": json.dumps(rows)}

    page = visit(server.url, prepare=_answer("/api/coverage", change), live=False)
    page.wait_for_selector(".big")
    until(page, "document.querySelector('.big').textContent.endsWith('listened: no totals.')")


def test_damage_is_reported_everywhere(visit, server):
    def prepare(page):
        def handle(route):
            reply = route.fetch()
            headers = dict(reply.headers) | {"x-liqdata-damaged": "2"}
            headers.pop("content-encoding", None)
            route.fulfill(status=reply.status, headers=headers, body=reply.body())

        page.route(re.compile(r"/(api|ready)\b(?!.*/stream)"), handle)

    page = visit(server.url, prepare=prepare)
    page.wait_for_selector("button.damage")
    assert _text(page, "button.damage") == "2 files damaged: rows are missing"


def test_relative_amounts_are_never_called_usd(visit, server):
    def change(headers, status, body):
        size = int.from_bytes(body[8:12], "little")
        head = json.loads(body[12 : 12 + size]) | {"units": "relative"}
        text = json.dumps(head).encode()
        start = -(-(12 + size) // 8) * 8
        padded = body[:8] + len(text).to_bytes(4, "little") + text
        padded += bytes(-len(padded) % 8)
        return {"status": status, "headers": headers, "body": padded + body[start:]}

    page = visit(server.url, prepare=_answer("/api/liq-heatmap", change))
    until(page, "document.querySelector('.label p').textContent.includes('relative amounts')")
    assert "USD" not in _text(page, ".label p")
    assert "USD" not in _text(page, ".colourbar")


def test_hostile_names_are_text(visit, server):
    name = '<img src=x onerror="document.title=1">'

    def change(headers, status, body):
        rows = json.loads(body)
        for row in rows["data"]:
            row["exchange"] = name
        return {"status": status, "headers": headers, "body": json.dumps(rows)}

    page = visit(server.url, prepare=_answer("/api/coverage", change))
    until(page, "document.querySelector('.coverage .who').textContent.startsWith('<img')")
    assert page.locator(".coverage img").count() == 0


def _until(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_restarted_server_is_followed_without_duplicate_orders(visit):
    with liqdata.demo(seed=3, live=True, speed=120) as market:
        server = liqdata.serve(market)
        address, port = server.url, int(server.url.rsplit(":", 1)[1])
        page = visit(f"{address}/#min_usd=0&coin=all")
        server.close()
        page.wait_for_selector("[data-liqdata-state=offline]")
        assert "offline since" in _text(page, ".clock")
        with liqdata.serve(market, port=port):
            page.wait_for_selector("[data-liqdata-state=live]")
            _until(lambda: page.locator(".rows .row").count() > 10)
            page.locator(".rows").hover()
            shown = Counter(
                page.evaluate(
                    """[...document.querySelectorAll('.rows .row:not(.line, .cascade)')].map((row) => [
                        ...[...row.querySelectorAll('span')].slice(1, 4).map((cell) => cell.textContent),
                        row.querySelector('[title]').title.replace(/[^0-9.]/g, '')].join(' '))"""
                )
            )
            known = Counter(
                f"{row['exchange']} {row['symbol']} {row['side']} {row['value_usd'].normalize():f}"
                for row in market.orders(limit=1000)
            )
            assert shown.total() > 5
            assert shown <= known, shown - known


def test_seven_tabs_share_one_stream(browser, seen):
    with liqdata.demo(seed=4, live=True) as market, liqdata.serve(market) as server:
        context = browser.new_context(viewport={"width": 900, "height": 700})
        pages = [context.new_page() for _ in range(7)]
        for page in pages:
            seen.watch(page)
            page.goto(f"{server.url}/#min_usd=0&coin=all")
        for page in pages:
            page.wait_for_selector("[data-liqdata-state=live]", state="attached", timeout=120_000)
        metrics = context.request.get(f"{server.url}/metrics").text()
        found = re.search(r"^liqdata_streams(?:\{[^}]*\})? (\d+)", metrics, re.MULTILINE)
        assert found is None or int(found[1]) == 1
        # The tab that reads leaves; another takes its place.
        pages[0].close()
        for page in pages[1:]:
            page.wait_for_selector("[data-liqdata-state=live]", state="attached", timeout=120_000)
        context.close()


def test_keys_change_the_view_and_the_url(visit, server):
    page = visit(server.url)
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    for key in ("3", "l", "u", "d", "m", "]"):
        before = page.url
        page.keyboard.press(key)
        until(page, f"location.href !== {json.dumps(before)} && location.hash.length > 4")
    address = page.url
    other = visit(address)
    other.wait_for_timeout(300)
    assert other.url == address


def test_the_crosshair_goes_from_cell_to_cell(visit, server):
    page = visit(server.url)
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    page.keyboard.press("Shift+ArrowUp")
    first = int(page.locator(".readout").get_attribute("data-row"))
    page.keyboard.press("Shift+ArrowUp")
    until(page, f"document.querySelector('.readout').dataset.row == {first + 1}")


def test_only_new_columns_of_a_live_map_are_sent(visit):
    grids = []

    def prepare(page):
        def note(response):
            if "/api/liq-heatmap" in response.url and response.status == 200:
                grids.append(response)

        page.on("response", note)

    def head(response):
        body = response.body()
        return json.loads(body[12 : 12 + int.from_bytes(body[8:12], "little")])

    with liqdata.demo(seed=5, live=True, speed=1200) as market, liqdata.serve(market) as server:
        page = visit(server.url, prepare=prepare)
        _until(lambda: (page.wait_for_timeout(100), len(grids) > 2)[1], 60)
        whole, *others = [head(response) for response in grids[:3]]
    assert "since" not in whole
    for each in others:
        assert each["since"] > each["begin"]
        assert len(each["times"]) < 20
