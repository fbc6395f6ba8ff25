"""Check that ``THIRD-PARTY.txt`` names every package that is compiled into the module.

Without arguments the packages are those of ``cargo tree``. With a wheel they are those of its list of components, and
the wheel must contain the file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

FILE = Path(__file__).parents[2] / "THIRD-PARTY.txt"
LISTED = re.compile(r"^\* (\S+) (\S+)", re.MULTILINE)


def linked() -> set[tuple[str, str]]:
    """Name and version of each package that a build of the module uses, on any platform."""
    command = ["cargo", "tree", "--locked", "--features", "python", "--edges", "normal,build", "--target", "all"]
    tree = subprocess.run([*command, "--prefix", "none"], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in tree.splitlines() if line]
    return {(name, version.removeprefix("v")) for name, version, *_ in words if not name.startswith("liqdata")}


def faults_of_wheel(wheel: Path, linked_packages: set[tuple[str, str]]) -> list[str]:
    """What is wrong with the licence texts of a wheel."""
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        inside = [name for name in names if name.endswith(f".dist-info/licenses/{FILE.name}")]
        components = [name for name in names if name.endswith(".cyclonedx.json")]
        if not inside or not components:
            return [f"{wheel.name} contains no {FILE.name} or no list of components"]
        if files.read(inside[0]) != FILE.read_bytes():
            return [f"{wheel.name} contains another {FILE.name} than the project"]
        listed = {(part["name"], part["version"]) for part in json.loads(files.read(components[0]))["components"]}
    # The list of components also has packages of optional features that no build uses.
    missing = linked_packages - listed
    return [f"{wheel.name}: its list of components has no {name} {version}" for name, version in sorted(missing)]


def main() -> int:
    """Print what is missing; 1 if anything is."""
    text, packages = FILE.read_text(encoding="utf-8"), linked()
    missing = packages - set(LISTED.findall(text))
    faults = [f"{FILE.name} has no {name} {version}; make licences writes it" for name, version in sorted(missing)]
    for wheel in sys.argv[1:]:
        faults += faults_of_wheel(Path(wheel), packages)
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
