# /// script
# requires-python = ">=3.11"
# dependencies = ["streamlit==1.67.0", "marimo==0.25.2", "anywidget==0.11.0", "plotly==7.1.0", "matplotlib==3.11.2"]
# ///
"""An app of Streamlit caches by an archive, and a notebook of marimo is run without a browser and shows charts."""

import subprocess
import sys
import tempfile
from pathlib import Path

from common import line
from streamlit.testing.v1 import AppTest

import liqdata

APP = """
import pickle
import streamlit as st
import liqdata

@st.cache_data(hash_funcs={{liqdata.Market: pickle.dumps}})
def counted(market):
    st.session_state["asked"] = st.session_state.get("asked", 0) + 1
    return sum(1 for _ in market.iter_orders())

with liqdata.open({store!r}) as market:
    st.metric("orders", counted(market))
    st.dataframe(market.orders(limit=5).to_pandas())
"""

NOTEBOOK = """
import marimo

app = marimo.App()

@app.cell
def _():
    import liqdata
    market = liqdata.demo(seed=7)
    market.live("BTC", range="12h")
    return (market,)

@app.cell
def _(market):
    market.heatmap("BTC", "12h").plot(backend="plotly")
    return

@app.cell
def _(market):
    market.orders("PEPE", limit=3)
    return

if __name__ == "__main__":
    app.run()
"""


def streamlit(store):
    """Run an app again, with the same rows and with more."""
    rows = list(liqdata.demo(seed=7).iter_orders("BTC", start="2026-05-10", end="2026-05-11"))
    liqdata.ingest(store, orders=rows[100:], source="the demo, simulated")
    app = AppTest.from_string(APP.format(store=str(store)), default_timeout=120)
    for asked, known in ((1, rows[100:]), (1, rows[100:]), (2, rows)):
        if asked == 2:
            liqdata.ingest(store, orders=rows[:100], source="the demo, simulated")
        app.run()
        assert not app.exception, app.exception
        assert (app.metric[0].value, app.session_state["asked"]) == (str(len(known)), asked)
        assert len(app.dataframe[0].value) == 5
    line(
        "Streamlit",
        "`st.cache_data` with an archive as an argument: it asks again after rows were added; tables of frames",
        "`@st.cache_data(hash_funcs={liqdata.Market: pickle.dumps})`",
        "streamlit",
    )


def marimo(folder):
    """Export a notebook, which runs it."""
    notebook, page = folder / "notebook.py", folder / "notebook.html"
    notebook.write_text(NOTEBOOK)
    command = [sys.executable, "-m", "marimo", "export", "html", notebook, "--output", page]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    text = page.read_text()
    (order,) = liqdata.demo(seed=7).orders("PEPE", limit=1)
    for part in ("marimo-anywidget", "marimo-plotly", f"{order['price']:f}"):
        assert part in text, part
    works = "`market.live()`, charts of plotly and rows are outputs; `marimo export` runs a notebook without a browser"
    line("marimo", works, '`heatmap.plot(backend="plotly")`', "marimo")


def main():
    """Run both."""
    with tempfile.TemporaryDirectory() as name:
        streamlit(Path(name, "archive"))
        marimo(Path(name))


if __name__ == "__main__":
    main()
