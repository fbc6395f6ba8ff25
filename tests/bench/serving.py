"""Requests per second of every endpoint against nginx and FastAPI with the same bytes; part of ``make bench``.

The load comes from ``examples/load.rs``. Where nginx is not installed, it says so and ends.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import floors
import orjson
import report
import serving_fastapi

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dev" / "benchmarks-serving.md"
CONNECTIONS = 16
PEERS = ("nginx", "FastAPI, bytes ready", "FastAPI, encoding")
PATHS = {
    "overview": "/api/liquidations/overview",
    "coins": "/api/liquidations/coins",
    "exchanges": "/api/liquidations/exchanges",
    "largest": "/api/liquidations/largest",
    "orders": "/api/liquidations",
    "chart": "/api/liquidations/chart",
    "heatmap": "/api/liq-heatmap",
    "liqmap": "/api/liq-map",
    "levels": "/api/liq-levels",
    "maxpain": "/api/liq-maxpain",
}
SERVER = """
import sys, liqdata
with liqdata.serve(liqdata.demo()) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
NGINX = """
daemon off;
worker_processes auto;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_requests 100000000;
    default_type application/json;
    open_file_cache max=100;
    gzip_static on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


@dataclass
class Load:
    """Requests per second, and the 99th percentile of an answer in seconds."""

    rate: float
    p99: float


@dataclass
class Peer:
    """A peer's load, and our requests per second over its own: the median of the turns' ratios."""

    load: Load
    ratio: float


@dataclass
class Row:
    """One endpoint in one encoding, and each peer's part, in the order of their columns."""

    title: str
    size: int
    ours: Load
    peers: list[Peer]


@contextlib.contextmanager
def liqdata() -> Iterator[str]:
    """Our server on the demo market."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@contextlib.contextmanager
def nginx(program: str, folder: Path, port: int) -> Iterator[str]:
    """An nginx that serves the files of the folder."""
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
    with subprocess.Popen([program, "-c", configuration, "-p", folder]) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextlib.contextmanager
def fastapi(folder: Path, port: int) -> Iterator[str]:
    """FastAPI on uvicorn with uvloop and httptools, a process for each core, with the files of the folder."""
    command = [sys.executable, "-m", "uvicorn", "serving_fastapi:app", "--app-dir", Path(__file__).parent]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", str(len(os.sched_getaffinity(0)))]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    environment = {**os.environ, serving_fastapi.FOLDER: str(folder)}
    with subprocess.Popen(command, env=environment) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def fetch(url: str, encoding: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept-Encoding": encoding})
    with urllib.request.urlopen(request, timeout=120) as answer:
        body: bytes = answer.read()
    return body


def tag(url: str) -> str:
    """The name of an answer."""
    with urllib.request.urlopen(url, timeout=120) as answer:
        name: str = answer.headers["ETag"]
    return name


def answering(url: str) -> None:
    """Wait until a server that has just been started answers."""
    deadline = time.monotonic() + 30
    while True:
        try:
            fetch(url, "identity")
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def load(program: Path, url: str, seconds: float, *headers: str) -> Load:
    command = [program, url, str(CONNECTIONS), str(seconds), *headers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rate, _, p99 = done.stdout.split()
    return Load(float(rate), float(p99) / 1e6)


@dataclass
class Bench:
    """What measures: the load generator, and how often and how long it runs."""

    load: Path
    rounds: int
    seconds: float

    def compared(self, title: str, size: int, ours: str, peers: list[str], *headers: str) -> Row:
        """Ours and the peers by turns; the ratios are taken within each turn."""
        turns = [[load(self.load, url, self.seconds, *headers) for url in (ours, *peers)] for _ in range(self.rounds)]
        mine, *theirs = (
            Load(statistics.median(one.rate for one in loads), statistics.median(one.p99 for one in loads))
            for loads in zip(*turns, strict=True)
        )
        ratios = [
            statistics.median(turn[0].rate / turn[place].rate for turn in turns) for place in range(1, 1 + len(peers))
        ]
        row = Row(title, size, mine, [Peer(*both) for both in zip(theirs, ratios, strict=True)])
        said = ", ".join(
            f"{name} {peer.load.rate:.0f}/s ({peer.ratio:.2f}x)" for name, peer in zip(PEERS, row.peers, strict=False)
        )
        print(f"{title}: {mine.rate:.0f}/s; {said}", file=sys.stderr)
        return row


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def page(rows: list[Row], nginx_version: str, options: argparse.Namespace) -> str:
    def cells(row: Row) -> list[str]:
        line = [row.title, f"{row.size:,}", f"**{row.ours.rate:,.0f}**", report.took(row.ours.p99)]
        for place in range(len(PEERS)):
            peer = row.peers[place] if place < len(row.peers) else None
            line.append(f"{peer.load.rate:,.0f} (**{peer.ratio:.2f}×**)" if peer else "")
            if place == 0 and peer:
                line.append(report.took(peer.load.p99))
        return line

    nginx_name, *others = PEERS
    table = report.table(
        ["", "bytes", "liqdata, requests/s", "p99", nginx_name, "p99", *others], [cells(row) for row in rows]
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "uvloop", "httptools", "orjson"))
    return f"""# Serving, against nginx and FastAPI

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}; do not edit.

Every endpoint with its defaults on the demo market, against {nginx_version} serving the same bytes as a file, and
against FastAPI: with prepared bytes, and encoding the answer at every request. **(×) is the requests per second of
liqdata over the peer's**: above 1 liqdata is faster. The demo market never changes, so liqdata computes each answer
once and [caches it](../how-to/serving.md#computed-once); "asked again" sends the `ETag` of its copy and gets 304.
nginx serves gzip from a file compressed beforehand; FastAPI neither compresses nor compares tags.

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- {libraries}. As many workers as cores for each: ours threads, the peers' processes.
- {CONNECTIONS} kept connections from `examples/load.rs` for {options.seconds:g} s, {options.rounds} rounds by turns;
  medians, the ratio within each round. Servers and load share the cores.

{table}"""


def measured(bench: Bench, ours: str, static: str, app: str, bodies: dict[str, bytes]) -> list[Row]:
    rows = []
    for endpoint, path in PATHS.items():
        url, file = ours + path, f"{static}/{endpoint}.json"
        peers = [file, f"{app}/ready/{endpoint}", f"{app}/encoded/{endpoint}"]
        assert all(fetch(peer, "identity") == bodies[endpoint] for peer in peers[:2])
        # Another spelling of the same numbers is as good.
        assert orjson.loads(fetch(peers[2], "identity")) == orjson.loads(bodies[endpoint])
        rows.append(bench.compared(endpoint, len(bodies[endpoint]), url, peers))
        if endpoint == "heatmap":
            packed = len(fetch(url, "gzip"))
            rows.append(bench.compared("heatmap, gzip", packed, url, [file], "Accept-Encoding: gzip"))
        if endpoint in {"overview", "heatmap"}:
            again = "If-None-Match: " + ", ".join(map(tag, (url, file)))
            rows.append(bench.compared(f"{endpoint}, asked again", 0, url, [file], again))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--load", type=Path, default=ROOT / "target" / "release" / "examples" / "load")
    parser.add_argument("--print", action="store_true", help="print the page and do not write it")
    options = parser.parse_args()
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        print("nginx is not installed, so serving is not compared with it (Debian: apt-get install nginx-light)")
        return
    # nginx's workers may belong to another user, who must be able to read the files.
    with tempfile.TemporaryDirectory() as name, liqdata() as ours:
        folder = Path(name)
        folder.chmod(0o755)
        files = folder / "files"
        files.mkdir()
        bodies = {}
        for endpoint, path in PATHS.items():
            file = files / f"{endpoint}.json"
            bodies[endpoint] = fetch(ours + path, "identity")
            file.write_bytes(bodies[endpoint])
            if (packed := fetch(ours + path, "gzip")) != bodies[endpoint]:
                file.with_name(f"{endpoint}.json.gz").write_bytes(packed)
        with nginx(program, folder, free_port()) as static, fastapi(files, free_port()) as app:
            answering(f"{static}/overview.json")
            answering(f"{app}/ready/overview")
            rows = measured(Bench(options.load, options.rounds, options.seconds), ours, static, app, bodies)
        floors.keep(
            "serving",
            {
                f"serving {row.title}": {name: peer.ratio for name, peer in zip(PEERS, row.peers, strict=False)}
                for row in rows
            },
        )
        said = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr.strip()
        text = page(rows, said.removeprefix("nginx version: "), options)
    if options.print:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
