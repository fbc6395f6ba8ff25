"""The live chart of a notebook: in this process, in a real kernel, and as a saved notebook."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import liqdata

pytest.importorskip("anywidget")

# nbclient and its kernel live in a process of their own: their warnings are not ours.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(text) for text in sys.stdin.read().split("# %%\\n")]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, timeout=300, kernel_name="python3", store_widget_state=True).execute()
sys.stdout.write(nbformat.writes(notebook))
"""

CELLS = """
import time, threading, liqdata
market = liqdata.demo(seed=3, live=True, speed=60)
live = market.live("BTC", range="12h", min_usd=0)
live
# %%
first = live.orders[0]["timestamp"]
end = time.monotonic() + 120
while live.orders[0]["timestamp"] == first and time.monotonic() < end:
    time.sleep(0.1)
print(live.orders[0]["timestamp"] > first, live.state)
# %%
live.close()
market.close()
for thread in threading.enumerate():
    if thread.name == "liqdata-live":
        thread.join(30)
print(sum(thread.name == "liqdata-live" for thread in threading.enumerate()), live.state)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Run a notebook in a kernel, and save it."""
    folder = str(tmp_path_factory.mktemp("kernel"))
    own = {"IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder, "PYTHONWARNINGS": ""}
    ran = subprocess.run(
        [sys.executable, "-c", RUN], input=CELLS, capture_output=True, text=True, env=os.environ | own, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


def _text(cell):
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def test_the_chart_follows_the_market_in_a_kernel_and_ends(saved):
    assert _text(saved["cells"][1]) == "True live\n"
    assert _text(saved["cells"][2]) == "0 closed\n"


def test_a_saved_notebook_shows_a_still_picture(saved):
    (output,) = [one for one in saved["cells"][0]["outputs"] if "data" in one]
    assert "application/vnd.jupyter.widget-view+json" in output["data"]
    assert output["data"]["image/png"].startswith("iVBOR")
    assert "ESTIMATE" in "".join(output["data"]["text/plain"])


def test_the_map_is_that_of_the_market(market):
    live = market.live("BTC", range="12h")
    wanted = market.heatmap("BTC", "12h")
    size = int.from_bytes(live.grid[8:12], "little")
    head = json.loads(live.grid[12 : 12 + size])
    numbers = live.grid[-(-(12 + size) // 8) * 8 :]
    prices = np.frombuffer(numbers[: 8 * head["rows"]], "<f8")
    values = np.frombuffer(numbers[8 * head["rows"] :], "<f4").reshape(len(head["times"]), head["rows"]).T
    assert np.array_equal(prices, wanted.prices)
    assert np.array_equal(values, wanted.matrix.astype("f4"), equal_nan=True)
    assert live.snapshot() == wanted
    assert len(live.bars) == len(wanted.price)
    live.close()


@pytest.mark.parametrize("given", [{"source": "positions"}, {"range": "2h"}, {"model": 9}])
def test_a_wrong_parameter_is_refused_by_name(market, given):
    with pytest.raises(liqdata.errors.BadQuery) as refused:
        market.live("BTC", **given)
    assert refused.value.parameter == next(iter(given))


def test_many_charts_leave_no_thread(market):
    for _ in range(20):
        market.live("BTC", range="12h").close()
    end = time.monotonic() + 20
    while any(thread.name == "liqdata-live" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.05)


def followers():
    return [thread for thread in threading.enumerate() if thread.name == "liqdata-live"]


def until(reached):
    """Wait until a condition holds; a chart refreshes every 5 seconds."""
    end = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def service():
    """A service of a market that moves."""
    with liqdata.demo(seed=3, live=True, speed=60) as market, liqdata.serve(market) as server:
        yield server.url


@pytest.fixture
def moving(service):
    """The service of a market that moves; nothing of the test follows it afterwards."""
    yield service
    until(lambda: not followers())


@pytest.mark.parametrize("one_client", [True, False])
def test_equal_charts_of_a_service_share_one_stream(moving, one_client):
    clients = [liqdata.Client(moving) for _ in range(1 if one_client else 5)]
    charts = [clients[place % len(clients)].live("BTC", range="12h", min_usd=0) for place in range(10)]
    other = clients[0].live("ETH", range="12h")
    assert len(followers()) == 4
    with clients[0].stream_orders() as stream:
        assert next(stream)
    newest = charts[0].orders[0]["timestamp"]
    until(lambda: charts[0].orders[0]["timestamp"] > newest)
    until(lambda: charts[-1].orders == charts[0].orders)
    for chart in charts[:-1]:
        chart.close()
    assert (charts[0].state, charts[-1].state) == ("closed", "live")
    assert len(followers()) == 4
    charts[-1].close()
    other.close()
    until(lambda: not followers())
    for client in clients:
        client.close()


def test_charts_of_a_closed_client_say_so_and_those_of_another_go_on(moving, monkeypatch):
    uncaught = []
    monkeypatch.setattr(threading, "excepthook", uncaught.append)
    with liqdata.Client(moving) as other:
        with liqdata.Client(moving) as client:
            closed, open = client.live("BTC", range="12h"), other.live("BTC", range="12h")
            assert len(followers()) == 2
        until(lambda: closed.state == "client is closed")
        newest = open.orders[0]["timestamp"]
        until(lambda: open.orders[0]["timestamp"] > newest)
        assert (open.state, len(followers())) == ("live", 2)
    until(lambda: open.state == "client is closed")
    until(lambda: not followers())
    closed.close()
    assert closed.state == "closed"
    assert uncaught == []


def test_charts_of_a_closed_market_end():
    market = liqdata.demo(seed=3, live=True, speed=60)
    charts = [market.live("BTC", range="12h") for _ in range(2)]
    market.close()
    until(lambda: all(chart.state in {"ended", "market is closed"} for chart in charts))
    until(lambda: not followers())


def test_clients_with_other_tokens_share_nothing(moving):
    clients = [liqdata.Client(moving, token=token) for token in ("one", "two", "one")]
    charts = [client.live("BTC", range="12h") for client in clients]
    assert len(followers()) == 4
    for chart, client in zip(charts, clients, strict=True):
        chart.close()
        client.close()
