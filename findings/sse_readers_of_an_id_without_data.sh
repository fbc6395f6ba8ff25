#!/usr/bin/env bash
# Readers of server-sent events disagree about a block that has an `id` and no `data`.
#
# Seen with httpx-sse 0.4.3, launchdarkly-eventsource 1.7.4 and sseclient-py 1.9.0 on CPython 3.11.7, 2026-11-29. By the HTML
# standard such a block sets the last event id and dispatches nothing, so a service may send its position with it. httpx-sse
# returns an event with empty data, which a reader of JSON cannot parse. launchdarkly-eventsource and sseclient-py drop the block with
# its id: after a reconnect they ask for events from the wrong place. A service has to send positions as named events with data.
#
# Output seen:
#   httpx-sse: id '7', data ''; id '7', data 'a'
#   launchdarkly-eventsource: Last-Event-ID of the second request: None
#   sseclient-py: id None, data 'a'
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    "httpx==0.28.1" "httpx-sse==0.4.3" "launchdarkly-eventsource==1.7.4" "sseclient-py==1.9.0"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import httpx_sse
import sseclient
from ld_eventsource import SSEClient
from ld_eventsource.config import ConnectStrategy, ErrorStrategy, RetryDelayStrategy

asked = []
WITH_ROW, WITHOUT = b"id: 7\n\ndata: a\n\n", b"id: 7\n\n"
body = WITH_ROW


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        asked.append(self.headers["Last-Event-ID"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}/"

with httpx.Client() as client, httpx_sse.connect_sse(client, "GET", url) as source:
    first = "; ".join(f"id {one.id!r}, data {one.data!r}" for one in source.iter_sse())
print("httpx-sse:", first)

with httpx.Client() as client, client.stream("GET", url) as reply:
    third = "; ".join(f"id {one.id!r}, data {one.data!r}" for one in sseclient.SSEClient(reply.iter_bytes()).events())

body = WITHOUT
asked.clear()
reader = SSEClient(
    ConnectStrategy.http(url),
    error_strategy=ErrorStrategy.always_continue(),
    initial_retry_delay=0.01,
    retry_delay_strategy=RetryDelayStrategy.default(max_delay=0.01),
)
waiting = threading.Event()


def follow():
    try:
        for _ in reader.all:
            if len(asked) >= 2:
                break
    except Exception:
        pass
    waiting.set()


threading.Thread(target=follow, daemon=True).start()
waiting.wait(20)
second = asked[1] if len(asked) > 1 else "never asked"
print("launchdarkly-eventsource: Last-Event-ID of the second request:", second)
print("sseclient-py:", third)
expected = ("id '7', data ''; id '7', data 'a'", None, "id None, data 'a'")
sys.exit(0 if (first, second, third) == expected else "this has changed")
PYTHON
