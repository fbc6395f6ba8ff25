"""The page from published files: drawn without a server, with the live rows of one stream."""

import json
import re
import secrets
import threading
import urllib.request
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from chromium import until

import liqdata
from liqdata import cli

STREAM = "/api/liquidations/stream"


class Site(ThreadingHTTPServer):
    """A static file server, and the paths that were requested."""

    def __init__(self, folder):
        paths = self.paths = []

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *given):
                super().__init__(*given, directory=str(folder))

            def log_message(self, *_):
                paths.append(self.path)

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def site(folder):
    folder.mkdir()
    with Site(folder) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def _publish(folder, server, *options):
    assert cli.main(["publish", str(folder), "--url", server.url, "--coins", "BTC,ETH", "--once", *options]) == 0
    return json.loads((folder / "published.json").read_text())["answers"]


def _requests(server):
    """How often each path of a server was requested, but for its metrics."""
    with urllib.request.urlopen(f"{server.url}/metrics") as reply:
        text = reply.read().decode()
    found = re.findall(r'^liqdata_http_requests_total\{endpoint="([^"]*)"[^}]*\} (\d+)', text, re.MULTILINE)
    counts = {}
    for path, count in found:
        if path != "/metrics":
            counts[path] = counts.get(path, 0) + int(count)
    return counts


def _drawn(page):
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    until(page, "document.querySelectorAll('.ranking tr').length > 3")
    until(page, "document.querySelector('.big') !== null && document.querySelector('.coverage li') !== null")
    assert page.locator(".trouble").all_inner_texts() == []


def test_readers_of_a_published_page_ask_the_server_for_the_stream_alone(visit, tmp_path):
    folder = tmp_path / "site"
    with (
        site(folder) as files,
        liqdata.demo(seed=4, live=True, speed=60) as market,
        liqdata.serve(market, origins=[files.url]) as server,
    ):
        first = _publish(folder, server, "--stream", server.url)
        before = _requests(server)
        pages = [visit(f"{files.url}/#min_usd=0&coin=all") for _ in range(2)]
        for page in pages:
            _drawn(page)
            newest = page.locator(".rows .row").first.inner_text()
            until(page, f"document.querySelector('.rows .row').innerText !== {json.dumps(newest)}")
        pages[0].locator("#coin").select_option("ETH")
        until(pages[0], "document.querySelector('.map').dataset.map?.startsWith('ETH')")
        _drawn(pages[0])
        after = _requests(server)
        assert {path for path in after if after[path] != before.get(path, 0)} <= {STREAM}
        assert after[STREAM] - before[STREAM] >= len(pages)

        # A new publication is drawn without a reload.
        second = _publish(folder, server, "--stream", server.url)
        heatmap = "api/liq-heatmap?explain=1&model=2&range=24h&symbol=BTC&values=u16"
        assert second[heatmap] != first[heatmap]
        files.paths.clear()
        for _ in range(600):
            if f"/{second[heatmap]['file']}" in files.paths:
                break
            pages[1].wait_for_timeout(100)
        assert f"/{second[heatmap]['file']}" in files.paths
        _drawn(pages[1])


def test_what_is_published_is_what_the_server_shows_and_the_rest_is_refused_in_words(visit, server, tmp_path):
    folder = tmp_path / "site"
    with site(folder) as files:
        _publish(folder, server)
        page, other = visit(files.url, live=False), visit(server.url)
        for one in (page, other):
            _drawn(one)
        assert "published files, no live rows" in page.locator(".clock").inner_text()
        for selector in (".big", ".ranking", ".coverage", ".near"):
            shown, known = (one.locator(selector).first.all_inner_texts() for one in (page, other))
            assert shown == known, selector
        for one in (page, other):
            box = one.locator(".canvas").bounding_box()
            one.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5)
            until(one, "document.querySelector('.readout strong') !== null")
        values = [one.locator(".readout").get_attribute("data-value") for one in (page, other)]
        assert values[0] == values[1] is not None

        def refused(name):
            options = page.locator("label.choice").filter(has_text=name).first.locator("option:disabled")
            return options.all_inner_texts()

        assert refused("range") == [f"{name} · not published" for name in ("3M", "6M", "1y", "all")]
        assert "binance · not published" in refused("exchange")
        assert "measured positions · not published" in refused("source")
        for name, value in (("exchange", "binance"), ("as_of", "2026-05-31"), ("source", "blended")):
            page = visit(f"{files.url}/#{name}={value}", live=False)
            sentence = f"Not published: these files have no answer for {name}={value}."
            until(page, f"document.body.textContent.includes('{sentence}')")
            page.get_by_role("button", name=f"reset {name}").first.click()
            _drawn(page)


def test_files_that_are_gone_are_said_and_asked_for_again(visit, server, tmp_path):
    folder = tmp_path / "site"
    with site(folder) as files:
        _publish(folder, server)
        (folder / "data").rename(folder / "away")
        page = visit(files.url, live=False)
        until(page, "document.querySelector('.trouble') !== null")
        (folder / "away").rename(folder / "data")
        _drawn(page)


def test_a_stream_that_needs_a_token_leaves_the_files_readable(visit, market, server, tmp_path):
    folder = tmp_path / "site"
    with site(folder) as files, liqdata.serve(market, token=secrets.token_hex(), origins=[files.url]) as other:
        _publish(folder, server, "--stream", other.url)
        page = visit(files.url, live=False)
        _drawn(page)
        until(page, "document.querySelector('.clock').textContent.includes('token needed')")
