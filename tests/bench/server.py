"""The compiled loopback server of ready bytes, ``examples/ready.rs``, and the folder of bodies that it sends.

Below ``/plain`` every body goes out as it is, below ``/gzip`` and ``/zstd`` packed, below ``/feed`` cut from one long
feed of orders.
"""

import contextlib
import gzip
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

import payloads
from backports import zstd
from cases import Case

READY = Path(__file__).parents[2] / "target" / "release" / "examples" / "ready"
PACKERS = {
    "plain": lambda body: body,
    "gzip": lambda body: gzip.compress(body, 6, mtime=0),
    "zstd": lambda body: zstd.compress(body, 3),
}


def fill(folder: Path, cases: Sequence[Case], rows: int) -> None:
    """Write the bodies of the cases and a feed of so many orders."""
    lines = {}
    for case in cases:
        parameters = dict(case.params)
        if "symbol" in parameters:
            # Numbered symbols share one body.
            parameters["symbol"] = parameters["symbol"].rstrip("0123456789")
        query = urlencode(sorted(parameters.items()))
        target = case.path + (f"?{query}" if query else "")
        if (case.coding, target) not in lines:
            name = f"body{len(lines)}"
            (folder / name).write_bytes(PACKERS[case.coding](case.body()))
            lines[case.coding, target] = f"{case.coding} {target} {name}\n"
    (folder / "manifest").write_text("".join(lines.values()), encoding="utf-8")
    (folder / "feed").write_bytes(payloads.feed(rows))


@contextlib.contextmanager
def running(cases: Sequence[Case], rows: int) -> Iterator[str]:
    """The address of a server that ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), cases, rows)
        with subprocess.Popen([READY, folder], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
            finally:
                process.kill()
