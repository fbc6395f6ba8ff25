"""The page for everybody: no serious finding of axe in three sizes and two themes."""

from pathlib import Path

import pytest
from chromium import until

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SIZES = [(1440, 900), (820, 1180), (390, 844)]


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width, height", SIZES)
def test_axe_finds_nothing_serious(visit, server, width, height, scheme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci --ignore-scripts in web")
    page = visit(server.url, width=width, height=height, scheme=scheme)
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    assert serious_findings(page) == []
    page.keyboard.press("x")
    until(page, "document.querySelectorAll('.canvas').length === 2")
    assert serious_findings(page) == []


def serious_findings(page):
    """What axe finds serious or critical, with the elements."""
    # Through the tools of the browser, which the page's policy does not hold.
    page.evaluate(f"() => {{ {AXE.read_text()} ; globalThis.axe = axe; }}")
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)")
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]
