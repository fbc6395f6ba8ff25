"""A progress bar for walks that take long: on request, on a terminal or in a notebook, and only with tqdm."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Protocol


class Progress(Protocol):
    """What a walk tells of itself."""

    def update(self, n: int) -> object:
        """Counts ``n`` more rows."""

    def close(self) -> object:
        """Ends the bar."""


class _Silent:
    def update(self, n: int) -> None:
        """Counts nothing."""

    def close(self) -> None:
        """Ends nothing."""


def bar(*, wanted: bool, total: int | None, what: str = "orders", unit: str = " rows") -> Progress:
    """A bar of what is walked through, or silence."""
    if not wanted:
        return _Silent()
    plain = _in_notebook() and find_spec("ipywidgets") is None
    try:
        if plain:
            # What picks the kind of bar by itself warns here and then draws none.
            from tqdm.std import tqdm
        else:
            from tqdm.auto import tqdm
    except ImportError as error:
        msg = "progress=True needs tqdm: pip install tqdm"
        raise ImportError(msg) from error
    # disable=None: no output where standard error is not a terminal; a notebook counts as one.
    shown: Progress = tqdm(total=total, unit=unit, desc=what, disable=False if plain else None)
    return shown


def _in_notebook() -> bool:
    """Whether what runs here is shown by a notebook."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config
