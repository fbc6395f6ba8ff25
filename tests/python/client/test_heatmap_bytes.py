"""Heatmaps in bytes, which a client asks for: the same as those in JSON."""

import http.server
import threading
import urllib.request

import pytest

import liqdata

GRIDS = [
    {},
    {"explain": True},
    {"span": "all", "range": "7d"},
    {"model": 3, "exchange": "okx"},
    {"as_of": "2026-05-31"},
]


@pytest.mark.parametrize("asked", GRIDS)
def test_a_binary_heatmap_equals_the_json_one_bit_for_bit(server, asked):
    with (
        liqdata.Client(server.url) as client,
        liqdata.Client(server.url, headers={"Accept": "application/json"}) as plain,
    ):
        found, wanted = client.heatmap("BTC", **asked), plain.heatmap("BTC", **asked)
    for name in ("matrix", "prices", "times"):
        assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes()
    assert found == wanted
    assert found.meta.keys() == wanted.meta.keys()
    assert found.meta["simulated"]
    for side in ("long_usd", "short_usd"):
        assert found.outside[side].tobytes() == wanted.outside[side].tobytes()


def test_a_client_requests_bytes_and_reads_any_format(server):
    kinds = []

    class Between(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked = urllib.request.Request(server.url + self.path)
            if "heatmap" in self.path:
                asked.add_header("Accept", self.headers["Accept"])
            with urllib.request.urlopen(asked) as reply:
                body = reply.read()
                kinds.append(reply.headers["Content-Type"])
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between) as between:
        threading.Thread(target=between.serve_forever).start()
        with liqdata.Client(f"http://127.0.0.1:{between.server_port}") as client:
            found = client.heatmap("BTC")
        between.shutdown()
    assert kinds == ["application/vnd.liqdata.grid"]
    assert found.matrix.shape == (found.prices.size, found.times.size)
