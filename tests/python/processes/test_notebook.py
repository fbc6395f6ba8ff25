"""A real notebook kernel: its event loop runs all the time, and cells may await."""

import json
import os
import subprocess
import sys
import textwrap

import made_once
import notebooks
import pytest

LARGEST = 300_000  # bytes of a notebook
CELLS = [
    """
    import asyncio, liqdata
    assert asyncio.get_running_loop().is_running()
    client = liqdata.Client(URL)
    overview = client.overview()
    overview
    """,
    """
    again = liqdata.AsyncClient(URL)
    assert await again.overview() == overview
    """,
    """
    levels, maps = await asyncio.gather(again.levels(["BTC", "ETH"]), again.heatmap("BTC", "12h"))
    assert levels == client.levels(["BTC", "ETH"])
    assert maps == client.heatmap("BTC", "12h")
    """,
    """
    rows = [row async for row in again.iter_orders(page_size=100, max_rows=250)]
    assert rows == list(client.iter_orders(max_rows=250))
    """,
    """
    with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as own:
        assert own.overview() == overview
    """,
    "client.coins(limit=3)",
    """
    await again.aclose()
    client.close()
    print("to the end")
    """,
]

# nbclient and its kernel live in a process of their own: their warnings are not ours.
RUN = """
    import json, sys
    import nbformat
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    for cell in notebook.cells:
        print(json.dumps(cell.outputs))
"""


PROGRESS = """
    import sys, liqdata
    sys.modules["ipywidgets"] = None
    with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        counted = sum(1 for order in client.iter_orders(max_rows=250, progress=True))
    print(counted)
"""


# The usual simulated market is made once in a kernel, as in the processes of the tests.
HOLD = f"import runpy\nrunpy.run_path({made_once.__file__!r})['hold']()"


def own_cell(source):
    """A cell of the test's own between those of notebooks."""
    return {"cell_type": "code", "metadata": {}, "source": source, "execution_count": None, "outputs": []}


def executed(cells, folder):
    """What each cell of a notebook puts out, run by the kernel after the one before."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN)],
        input=json.dumps([textwrap.dedent(cell).strip() for cell in cells]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def put_out(server, tmp_path_factory):
    """What each of the cells above puts out, in one kernel."""
    cells = [cell.replace("URL", repr(server.url)) for cell in (*CELLS, PROGRESS)]
    return executed(cells, tmp_path_factory.mktemp("cells"))


def test_a_notebook_uses_both_clients(put_out):
    outputs = [output for cell in put_out[: len(CELLS)] for output in cell]
    assert outputs[-1]["text"] == "to the end\n"
    shown = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(shown) == 2  # totals and rows
    assert all("<table>" in html for html in shown)
    assert not [output for output in outputs if output.get("name") == "stderr"]


def test_a_progress_bar_needs_no_widgets_and_no_warnings(put_out):
    outputs = put_out[-1]
    assert "".join(output["text"] for output in outputs if output.get("name") == "stdout") == "250\n"
    said = "".join(output["text"] for output in outputs if output.get("name") == "stderr")
    assert "Warning" not in said
    assert "250/250" in said


@pytest.fixture(scope="module")
def executed_notebooks(tmp_path_factory):
    """Each notebook as it ran, by its script.

    One kernel runs all of them, for its start and imports take longer than most. Each begins in a folder of its own,
    without the names of those before.
    """
    whole = notebooks.bare(notebooks.SCRIPTS[0]) | {"cells": [own_cell(HOLD)]}
    for script in notebooks.SCRIPTS:
        fresh = own_cell(f"%cd -q {tmp_path_factory.mktemp(script.stem)}\n%reset -f")
        whole["cells"] += [fresh, *notebooks.bare(script)["cells"]]
    for place, cell in enumerate(whole["cells"]):
        cell["id"] = f"cell-{place}"
    cells = iter(notebooks.run(whole, tmp_path_factory.mktemp("kernel"))["cells"])
    assert next(cells)["outputs"] == []
    found = {}
    for script in notebooks.SCRIPTS:
        assert next(cells)["outputs"] == []
        found[script] = {"cells": [next(cells) for _ in notebooks.cells(script)]}
    return found


@pytest.mark.parametrize("script", notebooks.SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_has_its_recorded_output(script, executed_notebooks):
    stored = notebooks.stored(script)
    assert notebooks.sources(stored) == notebooks.cells(script), "make notebooks"
    assert script.with_suffix(".ipynb").stat().st_size < LARGEST
    shown = notebooks.shown(executed_notebooks[script])
    assert shown == notebooks.shown(stored), "make notebooks"
    assert not [text for text, _ in shown if "stderr: " in text]


def test_the_page_of_the_notebooks_has_each_of_them():
    page = (notebooks.FOLDER / "README.md").read_text(encoding="utf-8")
    assert [f"({script.stem}.ipynb)" in page for script in notebooks.SCRIPTS] == [True] * 7
    assert sorted(notebooks.FOLDER.glob("*.ipynb")) == [script.with_suffix(".ipynb") for script in notebooks.SCRIPTS]
