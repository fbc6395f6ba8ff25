"""A real notebook kernel: its event loop runs all the time, and cells may await."""

import json
import os
import subprocess
import sys
import textwrap

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
        for output in cell.outputs:
            print(json.dumps(output))
"""


def test_a_notebook_uses_both_clients(server, tmp_path):
    cells = [textwrap.dedent(cell).strip().replace("URL", repr(server.url)) for cell in CELLS]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN)],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    outputs = [json.loads(line) for line in done.stdout.splitlines()]
    assert outputs[-1]["text"] == "to the end\n"
    shown = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(shown) == 1
    assert "<table>" in shown[0]
    assert not [output for output in outputs if output.get("name") == "stderr"]
