# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "httpx==0.28.1", "httpx-sse==0.4.3", "aiohttp==3.14.5", "aiohttp-sse-client==0.2.1", "requests==2.34.2",
#     "requests-sse==0.5.3", "launchdarkly-eventsource==1.7.4", "sseclient-py==1.9.0",
# ]
# ///
"""Readers of server-sent events follow an archive while its server is restarted; lost and doubled orders are counted.

Three orders arrive before the server ends, two while it is away and two after it has come back on the same port.
Some readers connect again by themselves with the id of the last event, others end and are begun again with that id.
Needs npm.
"""

import asyncio
import json
import shutil
import subprocess
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path

import aiohttp_sse_client.client
import httpx
import httpx_sse
import requests
import requests_sse
import sseclient
from common import line
from ld_eventsource import SSEClient
from ld_eventsource.config import ConnectStrategy, ErrorStrategy, RetryDelayStrategy

import liqdata
from liqdata import _core

PACKAGES = {"eventsource": "4.1.1", "eventsource-client": "1.2.0", "@microsoft/fetch-event-source": "2.0.1"}
NOW = 1_780_272_000_000
SOON = timedelta(seconds=0.2)
BEFORE, AWAY, AFTER = (2, 3, 4), (5, 6), (7, 8)
seen: dict[str, list[int]] = {}


def note(reader, name, data):
    """Keep the number of an order; positions are named events."""
    if name in (None, "", "message"):
        seen[reader].append(int(float(json.loads(data)["value_usd"])))
    elif name == "position":
        opened.add(reader)


opened: set[str] = set()


def by_httpx_sse(url):
    """Read again after each end, with the id of the last event."""
    place = {}
    while True:
        try:
            with httpx.Client(timeout=20) as client, httpx_sse.connect_sse(client, "GET", url, headers=place) as source:
                for event in source.iter_sse():
                    note("httpx-sse", event.event, event.data)
                    place = {"Last-Event-ID": event.id}
        except httpx.HTTPError:
            pass
        time.sleep(0.2)


def by_sseclient(url):
    """Read again after each end, with the id of the last event."""
    place = {}
    while True:
        try:
            reply = requests.get(url, headers={"Accept": "text/event-stream", **place}, stream=True, timeout=20)
            for event in sseclient.SSEClient(reply.iter_content(None)).events():
                note("sseclient-py", event.event, event.data)
                place = {"Last-Event-ID": event.id}
        except requests.RequestException:
            pass
        time.sleep(0.2)


def by_requests_sse(url):
    """Follow with requests."""
    with requests_sse.EventSource(url, timeout=20, reconnection_time=SOON, max_connect_retry=100) as source:
        for event in source:
            note("requests-sse", event.type, event.data)


def by_launchdarkly(url):
    """Go on after errors, which it does only when asked."""
    reader = SSEClient(
        ConnectStrategy.http(url),
        error_strategy=ErrorStrategy.always_continue(),
        initial_retry_delay=0.2,
        retry_delay_strategy=RetryDelayStrategy.default(max_delay=0.5),
    )
    for event in reader.events:
        note("launchdarkly-eventsource", event.event, event.data)


def by_aiohttp(url):
    """Follow with aiohttp."""

    async def follow():
        async with aiohttp_sse_client.client.EventSource(url, reconnection_time=SOON, max_connect_retry=100) as source:
            async for event in source:
                note("aiohttp-sse-client", event.type, event.data)

    asyncio.run(follow())


NODE = """
import { EventSource } from "eventsource";
import { createEventSource } from "eventsource-client";
import { fetchEventSource } from "@microsoft/fetch-event-source";
const url = process.argv[2];
const say = (reader, name, data) => console.log(JSON.stringify([reader, name ?? "", data]));
const source = new EventSource(url);
source.addEventListener("message", (event) => say("eventsource", "message", event.data));
source.addEventListener("position", () => say("eventsource", "position", "{}"));
createEventSource({ url, onMessage: (event) => say("eventsource-client", event.event, event.data) });
// It is made for browsers.
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
globalThis.window = { fetch, setTimeout, clearTimeout };
fetchEventSource(url, { onmessage: (event) => say("@microsoft/fetch-event-source", event.event, event.data),
  onclose() { throw new Error("closed"); }, onerror: () => 200 });
process.on("uncaughtException", (error) => console.error(error));
"""


def by_node(folder, url):
    """Follow with the three readers of npm."""
    (folder / "read.mjs").write_text(NODE)
    with subprocess.Popen(["node", "read.mjs", url], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        processes.append(process)
        for text in process.stdout:
            note(*json.loads(text))


# Whether it connects again by itself, and the line that is needed.
AGAIN = 'in a loop: `headers={"Last-Event-ID": event.id}` of the last event'
NEEDED = {
    "httpx-sse": (False, AGAIN),
    "sseclient-py": (False, AGAIN),
    "requests-sse": (True, "`max_connect_retry=` for longer restarts"),
    "launchdarkly-eventsource": (True, "`error_strategy=ErrorStrategy.always_continue()`"),
    "aiohttp-sse-client": (True, "`max_connect_retry=` for longer restarts"),
    "eventsource": (True, "—"),
    "eventsource-client": (True, "—"),
    "@microsoft/fetch-event-source": (
        True,
        "`onclose() { throw new Error() }`, so that it connects again after an end",
    ),
}
processes: list[subprocess.Popen] = []
PYTHON = {
    "httpx-sse": by_httpx_sse,
    "sseclient-py": by_sseclient,
    "requests-sse": by_requests_sse,
    "launchdarkly-eventsource": by_launchdarkly,
    "aiohttp-sse-client": by_aiohttp,
}


def add(writer, *numbers):
    """Store orders as a collector does."""
    size = len(numbers)
    same = {"exchange": ["okx"] * size, "symbol": ["BTCUSDT"] * size, "side": ["LONG"] * size, "qty": ["1"] * size}
    text, times = [str(number) for number in numbers], [NOW + number for number in numbers]
    writer.append({**same, "price": text, "value_usd": text, "timestamp": times, "received_at": times}, None, None)


def wait(done, seconds):
    """Wait until something holds, and return whether it does."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.1)
    return done()


def everywhere(number):
    """Return whether each reader has an order."""
    return all(number in found for found in seen.values())


def main():
    """Run all readers against one server, and restart it."""
    seen.update({name: [] for name in (*PYTHON, *PACKAGES)})
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "package.json").write_text("{}")
        packages = [f"{name}@{number}" for name, number in PACKAGES.items()]
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *packages]
        subprocess.run(install, cwd=folder, check=True)
        store = folder / "archive"
        writer = _core.ArchiveWriter(store)
        add(writer, 1)
        market = liqdata.open(store)
        server = liqdata.serve(market)
        port = int(server.url.rpartition(":")[2])
        url = f"{server.url}/api/liquidations/stream"
        for follow in PYTHON.values():
            threading.Thread(target=follow, args=(url,), daemon=True).start()
        threading.Thread(target=by_node, args=(folder, url), daemon=True).start()
        assert wait(lambda: len(opened) == len(seen), 30), sorted(set(seen) - opened)
        add(writer, *BEFORE)
        assert wait(lambda: everywhere(BEFORE[-1]), 30), seen
        server.close()
        market.close()
        add(writer, *AWAY)
        time.sleep(1)
        with liqdata.open(store) as market, liqdata.serve(market, port=port):
            wait(lambda: everywhere(AWAY[-1]), 30)
            add(writer, *AFTER)
            wait(lambda: everywhere(AFTER[-1]), 30)
            time.sleep(1)
            report()
        writer.close()
    finally:
        for process in processes:
            process.kill()
        shutil.rmtree(folder)


def report():
    """Print a line for each reader, which has each order once."""
    for name, found in seen.items():
        assert found == [*BEFORE, *AWAY, *AFTER], (name, found)
        by_itself, needed = NEEDED[name]
        works = f"{'resumes by itself' if by_itself else 'ends with the connection'}; no order lost, none twice"
        if name in PACKAGES:
            line(f"{name} (npm)", f"{PACKAGES[name]} | {works}", needed)
        else:
            line(name, works, needed, name)


if __name__ == "__main__":
    main()
