"""The notebooks of ``examples/notebooks``, made of the scripts there: run in a kernel, with their output.

A script begins with its text, in which the head of the notebook stands; ``# %%`` begins a cell of code and
``# %% [markdown]`` one of text. ``python tests/python/generators/notebooks.py`` makes all of them, or those named.
"""

import base64
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parents[3] / "examples" / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
MARK = "# %%"
MARKDOWN = "# %% [markdown]"

# nbclient and its kernel live in a process of their own: their warnings are not ours.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.reads(sys.stdin.read(), 4)
NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute()
sys.stdout.write(nbformat.writes(notebook))
"""


def cells(script):
    """The cells of a script: what each is, and its source."""
    head, *parts = script.read_text(encoding="utf-8").split(f"\n{MARK}")
    found = [("markdown", head.strip().strip('"').strip())]
    for part in parts:
        mark, _, body = f"{MARK}{part}".partition("\n")
        if mark == MARKDOWN:
            found.append(("markdown", "\n".join(line[2:] for line in body.strip().splitlines())))
        else:
            found.append(("code", body.strip()))
    return found


def bare(script):
    """The notebook of a script before anything was run."""
    made = []
    for place, (kind, source) in enumerate(cells(script)):
        cell = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": source}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def run(notebook, folder):
    """A notebook, each cell run by a kernel after the one before, in a folder."""
    own = {"IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder), "PYTHONWARNINGS": "", "TQDM_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(notebook),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
        env={**os.environ, **own},
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def small(notebook):
    """The same with its pictures in as many colours as one can tell apart."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if picture := output.get("data", {}).get("image/png"):
                fewer = io.BytesIO()
                with Image.open(io.BytesIO(base64.b64decode(picture))) as found:
                    found.convert("RGB").quantize(192).save(fewer, "PNG", optimize=True)
                output["data"]["image/png"] = base64.b64encode(fewer.getvalue()).decode()
    return notebook


def stored(script):
    """The notebook as it is kept."""
    return json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))


def sources(notebook):
    """What the cells of a notebook are made of."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def shown(notebook):
    """What each cell of code shows: its text, and how many pictures."""
    found = []
    for cell in notebook["cells"]:
        texts, pictures, last = [], 0, None
        for output in cell.get("outputs", []):
            before, last = last, output.get("name")
            if output["output_type"] == "stream" and last == before:
                # A kernel sends what is printed in as many pieces as it likes.
                texts[-1] += "".join(output["text"])
            elif output["output_type"] == "stream":
                texts.append(f"{output['name']}: {''.join(output['text'])}")
            elif "image/png" in output["data"]:
                pictures += 1
            else:
                texts.append("".join(output["data"]["text/plain"]))
        found.append(("\n".join(texts), pictures))
    return found


def main(names):
    for script in SCRIPTS:
        if names and script.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = small(run(bare(script), folder))
        notebook["metadata"] = bare(script)["metadata"]  # without the versions of the day
        file = script.with_suffix(".ipynb")
        file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{file.name}: {len(notebook['cells'])} cells, {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
