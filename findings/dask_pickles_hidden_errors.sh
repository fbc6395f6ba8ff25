#!/usr/bin/env bash
# Importing Dask's `distributed` changes how every exception of the process is pickled: the error that `raise ... from
# None` hides is in the pickle, with its texts.
#
# Seen with distributed 2026.8.0 and tblib 3.2.2 on CPython 3.11.7, 2026-11-29. `distributed` calls
# `tblib.pickling_support.install()`, which registers a reducer that keeps `__context__` and `__cause__`. A client that
# masks secrets in the error it raises, and hides the original by `from None`, therefore sends the original, secrets
# included, to schedulers and error trackers, but only where Dask is imported too. Both have to be masked.
#
# Output seen:
#   before: the pickle has the hidden text: False
#   after `import distributed`: the pickle has the hidden text: True
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "distributed==2026.8.0" "tblib==3.2.2"
cd "$work"
venv/bin/python - <<'PYTHON'
import pickle
import sys


def failed():
    try:
        try:
            raise ValueError("the original text")
        except ValueError:
            raise KeyError("the masked text") from None
    except KeyError as error:
        return error


def has_hidden_text():
    return b"the original text" in pickle.dumps(failed())


before = has_hidden_text()
print(f"before: the pickle has the hidden text: {before}")
import distributed  # noqa: E402, F401

after = has_hidden_text()
print(f"after `import distributed`: the pickle has the hidden text: {after}")
sys.exit(0 if (before, after) == (False, True) else "this has changed")
PYTHON
