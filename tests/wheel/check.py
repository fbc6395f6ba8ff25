"""The release wheel, judged: its size, the systems its tag promises, and the ten questions in every Python found here.

``make wheel`` runs it on the wheel just built. Each Python gets an empty environment of its own, which holds the wheel
and what it depends on, and nothing else; a Python counts as found where it is on ``PATH`` or where the usual managers
of Pythons put theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 15_000_000
"""Largest size of the wheel as it is downloaded."""

NEWEST_GLIBC = (2, 28)
"""Newest C library a system may be asked for."""

OLDEST_PYTHON = (3, 11)

FURTHER_PLACES = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin", "/opt/python/*/bin", "/usr/local/bin")
"""Where Pythons stand that are not on ``PATH``; relative ones below the home folder."""

WHO = "import json, sys, sysconfig; print(json.dumps([sys.implementation.name, *sys.version_info[:3], \
sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sys._base_executable]))"

ALONE = "import importlib.metadata as it; print(*sorted({found.name for found in it.distributions()} - \
{'pip', 'setuptools', 'wheel'}))"


def main() -> int:
    """Judge the wheel named on the command line; 0 where nothing is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args().wheel.resolve()
    faults = [*_size(wheel), *_tag(wheel)]
    found = _pythons()
    if not found:
        faults.append("no Python of {}.{} or newer was found".format(*OLDEST_PYTHON))
    for version, candidates in found.items():
        fault = _ask_in(candidates, wheel)
        print(f"Python {version}: {fault or 'the ten questions are answered'}", flush=True)
        if fault:
            faults.append(f"Python {version}: {fault}")
    for fault in faults:
        print(f"FAULT: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _size(wheel: Path) -> list[str]:
    packed = wheel.stat().st_size
    with zipfile.ZipFile(wheel) as files:
        unpacked = sum(file.file_size for file in files.infolist())
    print(f"{wheel.name}: {packed / 1e6:.2f} MB, {unpacked / 1e6:.1f} MB unpacked")
    return [f"the wheel has {packed:,} bytes, more than {MOST_BYTES:,}"] if packed > MOST_BYTES else []


def _tag(wheel: Path) -> list[str]:
    platform = wheel.stem.rsplit("-", 1)[-1]
    asked = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", platform)]
    if asked and max(asked) <= NEWEST_GLIBC:
        return []
    return ["the tag {} is not manylinux_{}_{} or lower".format(platform, *NEWEST_GLIBC)]


def _pythons() -> dict[str, list[str]]:
    """CPythons that are new enough and have their lock, by version; a version may stand in several places."""
    home = Path.home()
    places = [Path(place) for place in os.get_exec_path()]
    for pattern in FURTHER_PLACES:
        root = Path("/") if pattern.startswith("/") else home
        places += sorted(root.glob(pattern.lstrip("/")))
    found: dict[str, list[str]] = {}
    for place in places:
        for program in sorted(place.glob("python3*")):
            if not re.fullmatch(r"python3(\.\d+)?", program.name):
                continue
            asked = _run([program, "-I", "-c", WHO])
            if asked.returncode != 0:
                continue  # a manager's stand-in for a version that is not chosen
            name, *version, unlocked, base = json.loads(asked.stdout)
            if name == "cpython" and tuple(version[:2]) >= OLDEST_PYTHON and not unlocked:
                known = found.setdefault(".".join(map(str, version)), [])
                if base not in known:
                    known.append(base)
    return dict(sorted(found.items(), key=lambda pair: [int(part) for part in pair[0].split(".")]))


def _ask_in(candidates: list[str], wheel: Path) -> str | None:
    """Ask the ten questions in an empty environment; what went wrong, if anything."""
    with tempfile.TemporaryDirectory(prefix="liqdata-wheel-") as folder:
        python = Path(folder, "env", "bin", "python")
        # A distribution's own Python may come without what makes environments.
        for candidate in candidates:
            made = _run([candidate, "-m", "venv", "--clear", python.parent.parent])
            if made.returncode == 0:
                break
        else:
            return f"no environment: {_last(made)}"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (
            [*install, "--only-binary", ":all:", wheel],
            [python, "-I", "-W", "error", Path(__file__).with_name("ten.py")],
        ):
            done = _run(command, cwd=folder)
            if done.returncode != 0:
                return _last(done)
        alone = _run([python, "-I", "-c", ALONE]).stdout.split()
        return None if alone == ["click", "liqdata", "numpy"] else f"more came along: {' '.join(alone)}"


def _run(command: list[str | Path], cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
