"""The pictures of the page in docs/images are what the page looks like."""

import numpy as np
import pytest
from chromium import until
from pictures import FOLDER, SIZES

ALLOWED = 0.02
"""Share of pixels that may differ: versions of Chromium draw letters in slightly different ways."""

IMAGE = pytest.importorskip("PIL.Image")


def _read(file):
    return np.asarray(IMAGE.open(file).convert("RGB")).astype(int)


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width, height", SIZES)
def test_the_page_looks_as_in_its_picture(  # noqa: PLR0917  # fixtures and what varies
    visit, server, tmp_path, width, height, scheme
):
    page = visit(server.url, width=width, height=height, scheme=scheme)
    until(page, "document.querySelector('.map').dataset.map !== undefined")
    until(page, "document.querySelectorAll('.big').length > 0")
    until(page, "document.querySelectorAll('.near td').length > 0")
    wanted = _read(FOLDER / f"page-{width}-{scheme}.png")
    for _ in range(20):
        page.wait_for_timeout(1500)
        page.screenshot(path=tmp_path / "now.png")
        now = _read(tmp_path / "now.png")
        assert now.shape == wanted.shape
        differing = (np.abs(now - wanted).max(axis=2) > 24).mean()
        if differing < ALLOWED:
            return
    pytest.fail(f"{differing:.2%} of the pixels differ: python tests/page/pictures.py")
