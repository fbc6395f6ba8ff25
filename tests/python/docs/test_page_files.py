"""What the page is built of: colours of matplotlib, licences and a list of its packages."""

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

WEB = Path(__file__).parents[3] / "web"


def test_the_colours_are_matplotlibs():
    colormaps = pytest.importorskip("matplotlib").colormaps
    text = (WEB / "src" / "chart" / "palette.ts").read_text()
    tables = dict(re.findall(r'(\w+): "([^"]+)"', text))
    assert list(tables) == ["inferno", "viridis", "cividis", "grey"]
    for name, table in tables.items():
        wanted = colormaps["gray" if name == "grey" else name](np.arange(256))[:, :3] * 255
        assert base64.b64decode(table) == wanted.round().astype("uint8").tobytes()


def test_the_scores_on_the_page_are_those_of_the_scorecard():
    text = (WEB.parent / "docs" / "explanation" / "scorecard.md").read_text()
    script = (WEB / "src" / "view" / "scorecard.ts").read_text()
    for found in (
        'date: "' + re.search(r"Measured on (\S+)\.", text)[1],
        '"2": "' + re.search(r"answered as model 2 \| `(\w+)`", text)[1],
        '"3": "' + re.search(r"answered as model 3 \| `(\w+)`", text)[1],
        "overlap: " + re.search(r"overlap with the true positions \| [^|]+ \| ([\d.]+)", text)[1],
        "within: " + re.search(r"USD within 5 % over the true ones \| [^|]+ \| ([\d.]+)", text)[1],
        "predicted: " + re.search(r"predicted USD are\s+([\d.]+) of the realised USD", text)[1],
    ):
        assert found in script


def test_the_built_files_are_those_of_the_sums():
    lines = (WEB / "dist" / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    built = {path.name for path in (WEB / "dist").iterdir()} - {"SHA256SUMS", "sbom.cdx.json"}
    assert set(sums) == built
    for name, digest in sums.items():
        assert hashlib.sha256((WEB / "dist" / name).read_bytes()).hexdigest() == digest


def test_every_package_of_the_page_has_its_licence_and_is_listed():
    wanted = json.loads((WEB / "package.json").read_text())["dependencies"]
    listed = json.loads((WEB / "dist" / "sbom.cdx.json").read_text())["components"]
    found = {f"{one['group']}/{one['name']}" if one.get("group") else one["name"]: one["version"] for one in listed}
    texts = (WEB / "dist" / "THIRD-PARTY.txt").read_text()
    for name, version in wanted.items():
        assert found[name] == version
        assert f"{name} {version} (" in texts
    assert "Lightweight Charts" in texts


def test_versions_of_packages_are_exact():
    about = json.loads((WEB / "package.json").read_text())
    for name, version in (about["dependencies"] | about["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} {version}"
