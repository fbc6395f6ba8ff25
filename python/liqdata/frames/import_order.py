"""pandas beside pyarrow."""

from __future__ import annotations

import contextlib
import sys


def pandas_first() -> None:
    """Import pandas, where it is there, before pyarrow does so by itself: a Ctrl-C meanwhile would be lost in pyarrow.

    For what pyarrow imports it for anyway: whatever makes arrays or scalars of objects, numpy of arrays, or a table of
    what streams Arrow.
    """
    if "pandas" not in sys.modules:
        with contextlib.suppress(Exception):  # as pyarrow, which does without
            import pandas as pd  # noqa: F401 - that it comes in is all
