"""Run liqdata's answers through the programs of this folder: ``python examples/tools/run.py [--write] [NAME ...]``.

Each ``with_NAME.py`` names its packages and versions at its top; `uv` installs them into an environment of its own in
``target/tools``. A script asserts what it says, and prints a line of the table in ``docs/how-to/tools.md`` for each
program. ``--write`` writes these lines into the pages; without it a line that a page does not have is a failure.
"""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HEAD = "| program | version | what works | the line that is needed |\n|---|---|---|---|\n"
PAGES = {"with_stream_readers": ROOT / "docs" / "how-to" / "serving.md"}
OTHERS = ROOT / "docs" / "how-to" / "tools.md"
LIMIT = 15 * 60


def interpreter(script: Path) -> str:
    """Return this Python, or the version that a script needs if this one is older."""
    needed = re.search(r'requires-python = ">=(3\.(\d+))"', script.read_text(encoding="utf-8"))
    return needed[1] if needed and int(needed[2]) > sys.version_info[1] else sys.executable


def run(script: Path) -> tuple[list[str], str]:
    """Run a script in its environment. Return its lines, and what went wrong, or nothing."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    own = [part for package in needed for part in ("--with", package)]
    uv = [sys.executable, "-m", "uv", "run", "--quiet", "--no-project", "--python", interpreter(script)]
    settings = {
        "PYTHONPATH": str(ROOT / "python"),
        "PYTHONWARNINGS": "ignore",
        "UV_CACHE_DIR": str(ROOT / "target" / "tools" / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    try:
        done = subprocess.run(
            [*uv, *own, "--script", script],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], f"no end after {LIMIT} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    if done.returncode:
        return lines, done.stderr.strip() or f"exit code {done.returncode}"
    return lines, "" if lines else "no line printed"


def in_page(page: Path, lines: list[str], *, write: bool) -> list[str]:
    """Write lines into the table of a page, sorted, and return none; or return those that the table does not have."""
    before, head, after = page.read_text(encoding="utf-8").partition(HEAD)
    rows = []
    while after.startswith("|"):
        row, _, after = after.partition("\n")
        rows.append(row)
    missing = [line for line in lines if line not in rows]
    if not (write and missing):
        return missing
    name = {line.split(" | ")[0] for line in lines}
    rows = sorted([*(row for row in rows if row.split(" | ")[0] not in name), *lines], key=str.lower)
    page.write_text("".join([before, head, *(f"{row}\n" for row in rows), after]), encoding="utf-8")
    return []


def main(arguments: list[str]) -> int:
    """Run the scripts that are named, or all, and return whether one failed."""
    names = [f"with_{name}" for name in arguments if name != "--write"]
    scripts = sorted(path for path in HERE.glob("with_*.py") if not names or path.stem in names)
    failed = 0
    for script in scripts:
        begun = time.monotonic()
        lines, error = run(script)
        page = PAGES.get(script.stem, OTHERS)
        if not error:
            missing = in_page(page, lines, write="--write" in arguments)
            error = f"{page.name} does not say: {missing[0]} (--write writes it)" if missing else ""
        took = f"({time.monotonic() - begun:.0f} s)"
        for line in lines:
            print("ok    ", " ".join(line.strip("| ").split(" | ")[:2]), took, flush=True)
        if error:
            failed += 1
            print(f"FAILED {script.name} {took}: {error[-2000:]}", flush=True)
    print(f"{len(scripts) - failed} of {len(scripts)} scripts ok")
    return 1 if failed or not scripts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
