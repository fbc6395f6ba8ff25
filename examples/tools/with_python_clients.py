# /// script
# requires-python = ">=3.11"
# dependencies = ["openapi-python-client==0.29.1", "datamodel-code-generator==0.89.0", "pydantic==2.14.4"]
# ///
"""Clients that are generated from ``/openapi.json`` read an order, a heatmap and an error, all typed."""

import contextlib
import importlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from common import line

import liqdata

market = liqdata.demo(seed=7)
(order,) = market.orders("PEPE", limit=1)
grid = market.heatmap("BTC", "12h").to_dict()
assert order["timestamp"] > 2**32


def run(command, *arguments):
    """Run a generator of this environment."""
    subprocess.run([Path(sys.executable).with_name(command), *arguments], check=True, stdout=subprocess.DEVNULL)


def check(reply, heatmap, error):
    """Compare what a client has read with the market's own answers."""
    (row,) = reply.data
    assert (row.price, row.value_usd) == (f"{order['price']:f}", f"{order['value_usd']:f}")
    assert row.timestamp == order["timestamp"]
    assert heatmap.times == grid["times"]
    assert heatmap.matrix == grid["matrix"]
    assert (error.success, error.error.parameter) == (False, "limit")
    assert error.error.allowed == "a whole number from 1 to 1000"


def with_client(url):
    """Ask with the package that openapi-python-client writes."""
    run("openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "made", "--meta", "none")
    made = importlib.import_module("made")
    orders, heatmap = (importlib.import_module(f"made.api.contract.{name}") for name in ("orders", "heatmap"))
    types = importlib.import_module("made.models")
    with made.Client(base_url=url) as client:
        reply = orders.sync(client=client, symbol="PEPE", limit=1)
        shown = heatmap.sync(client=client, symbol="BTC", range_=types.HeatmapRange("12h"))
        refused = orders.sync_detailed(client=client, limit=0)
    assert refused.status_code == 400
    assert isinstance(refused.parsed, types.Refusal)
    check(reply, shown, refused.parsed)
    line(
        "openapi-python-client",
        "a package of functions; replies and errors are classes",
        "`base_url=` of `Client`",
        "openapi-python-client",
    )


def with_models(url):
    """Read replies with the models that datamodel-code-generator writes."""
    kind = "pydantic_v2.BaseModel"
    run("datamodel-codegen", "--input", "openapi.json", "--output", "models.py", "--output-model-type", kind)
    models = importlib.import_module("models")

    def get(path):
        """Return the body of a reply."""
        try:
            with urllib.request.urlopen(url + path, timeout=60) as reply:
                return reply.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.read()

    check(
        models.OrdersReply.model_validate_json(get("/api/liquidations?symbol=PEPE&limit=1")),
        models.HeatmapGrid.model_validate_json(get("/api/liq-heatmap?symbol=BTC&range=12h")),
        models.Refusal.model_validate_json(get("/api/liquidations?limit=0")),
    )
    line(
        "datamodel-code-generator",
        "a Pydantic model for each reply, row and error",
        f"`--output-model-type {kind}`",
        "datamodel-code-generator",
    )


def main():
    """Run both in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, liqdata.serve(market) as server:
        with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=60) as reply:
            document = reply.read()
        with contextlib.chdir(folder):
            sys.path.insert(0, folder)
            Path("openapi.json").write_bytes(document)
            with_client(server.url)
            with_models(server.url)


if __name__ == "__main__":
    main()
