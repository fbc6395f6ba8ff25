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
