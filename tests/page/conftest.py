"""A browser for the tests of the page, and what every page must keep to."""

import os
import shutil
from urllib.parse import urlsplit

import pytest
from chromium import ARGUMENTS, STUCK, until

import liqdata


@pytest.fixture(scope="module")
def browser():
    """Start Debian's Chromium; for one file, because other tests need a thread without an event loop."""
    program = shutil.which("chromium")
    if program is None and not os.environ.get("CI"):
        pytest.skip("there is no chromium: apt-get install chromium fonts-dejavu-core")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def market():
    """One simulated market that stands still."""
    return liqdata.demo(seed=7)


@pytest.fixture(scope="session")
def server(market):
    with liqdata.serve(market) as running:
        yield running


class Seen:
    """What a page must not do."""

    def __init__(self):
        self.faults = []
        self.hosts = set()

    def watch(self, page):
        page.on("console", lambda message: message.type == "error" and self.note(message.text))
        page.on("pageerror", lambda error: self.note(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def note(self, text):
        # The browser reports every refusal that a test asks for; the page says it in its own words.
        if "Failed to load resource" not in text:
            self.faults.append(text)


@pytest.fixture
def seen():
    """Hold each page to this: no error, no violation of its policy, no other host."""
    found = Seen()
    yield found
    assert found.faults == []
    assert found.hosts <= {"127.0.0.1", "", None}


@pytest.fixture
def visit(browser, seen):
    """Open an address in a context of its own."""
    contexts = []
    others = []

    def opened(url, *, width=1440, height=900, scheme="dark", ratio=1, prepare=None, live=True):
        screen = {"viewport": {"width": width, "height": height}}
        user = browser
        if ratio != 1:
            # The ratio that a context emulates does not reach the sizes that canvases observe, so a screen has it.
            factor = [f"--force-device-scale-factor={ratio}", f"--window-size={width},{height}"]
            kind = browser.browser_type
            user = kind.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS + factor)
            others.append(user)
            screen = {"no_viewport": True}
        context = user.new_context(**screen, color_scheme=scheme, reduced_motion="reduce", timezone_id="Europe/Berlin")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * STUCK)
        seen.watch(page)
        if prepare:
            prepare(page)
        page.goto(url)
        if live:
            page.wait_for_selector("[data-liqdata-state=live]")
            until(page, "document.querySelector('.coverage li, .big') !== null")
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")
        context.close()
    for other in others:
        other.close()
