"""A progress bar for walks that take long: on request, on a terminal or in a notebook, and only with tqdm."""

from __future__ import annotations

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
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        msg = "progress=True needs tqdm: pip install tqdm"
        raise ImportError(msg) from error
    # disable=None: no output where standard error is not a terminal; a notebook counts as one.
    shown: Progress = tqdm(total=total, unit=unit, desc=what, disable=None)
    return shown
