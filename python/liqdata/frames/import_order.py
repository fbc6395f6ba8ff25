"""Import order of pandas and pyarrow."""

from __future__ import annotations

import contextlib
import sys


def pandas_first() -> None:
    """Import pandas, if it is installed, before pyarrow imports it.

    pyarrow would swallow a Ctrl-C during its own import of pandas, which many conversions trigger.
    """
    if "pandas" not in sys.modules:
        with contextlib.suppress(Exception):  # pyarrow works without pandas, too
            import pandas as pd  # noqa: F401 - imported for its effect
