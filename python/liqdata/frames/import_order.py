"""Import order of pandas and pyarrow."""

from __future__ import annotations

import contextlib
import sys


def pandas_first() -> None:
    """Import pandas, if it is installed, before pyarrow imports it.

    Many conversions of pyarrow import pandas; pyarrow would suppress a Ctrl-C during this import.
    """
    if "pandas" not in sys.modules:
        with contextlib.suppress(Exception):  # pyarrow also works without pandas
            import pandas as pd  # noqa: F401 - imported for its effect
