"""Progress of long calls: a tqdm bar, or calls to a function of the caller."""

from __future__ import annotations

import contextlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from liqdata.types import Progress


class ProgressBar(Protocol):
    """A progress bar, or an object with the same methods."""

    total: int | None

    def update(self, n: int) -> object:
        """Add ``n`` to the number of finished items."""

    def close(self) -> object:
        """End the bar."""


class _NoBar:
    total: int | None = None

    def update(self, n: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Callback:
    """Calls the caller's function with the number done and the total."""

    def __init__(self, call: Callable[[int, int | None], object], total: int | None) -> None:
        self._call = call
        self.total = total
        self._done = 0

    def update(self, n: int) -> None:
        """Add ``n`` to the number of finished items."""
        self._done += n
        self._call(self._done, self.total)

    def close(self) -> None:
        """Do nothing."""


def checked_progress(progress: Progress) -> Progress:
    """Check the argument ``progress``; raise :class:`~liqdata.BadQuery` if it is wrong."""
    if isinstance(progress, bool) or callable(progress):
        return progress
    allowed = "True, False, or a function of the number done and of the total"
    msg = f"progress: {progress!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter="progress")


def bar(*, wanted: Progress, total: int | None, what: str = "orders", unit: str = " rows") -> ProgressBar:
    """Return a progress bar, an object that calls the caller's function, or one that does nothing."""
    wanted = checked_progress(wanted)
    if not isinstance(wanted, bool):
        return _Callback(wanted, total)
    if not wanted:
        return _NoBar()
    plain = _in_notebook() and find_spec("ipywidgets") is None
    try:
        if plain:
            # In a notebook without ipywidgets, tqdm.auto only prints a warning.
            from tqdm.std import tqdm
        else:
            from tqdm.auto import tqdm
    except ImportError as error:
        msg = "progress=True needs tqdm: pip install tqdm"
        raise ImportError(msg) from error
    # disable=None: no output if standard error is not a terminal. A notebook counts as a terminal.
    disable = False if plain else None
    shown: ProgressBar = tqdm(total=total, unit=unit, desc=what, disable=disable, miniters=0)
    return shown


@contextlib.contextmanager
def counting(wanted: Progress, what: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function with which the Rust core updates a progress bar.

    Its first call shows the bar.

    Yields
    ------
    callable or None
        Takes the number of finished items and the total; ``None`` if no progress is wanted.
    """
    if checked_progress(wanted) is False:
        yield None
        return
    shown: list[ProgressBar] = []
    before = whole = 0

    def seen(done: int, of: int) -> None:
        nonlocal before, whole
        whole = of or whole
        if not shown:
            shown.append(bar(wanted=wanted, total=of, what=what, unit=unit))
        # The total may grow during the call.
        shown[0].total = whole
        if done > before:
            shown[0].update(done - before)
            before = done
        elif isinstance(wanted, bool):
            # Only refresh the elapsed time.
            shown[0].update(0)

    try:
        yield seen
        if shown:
            seen(whole, whole)
    finally:
        for one in shown:
            one.close()


def delayed_bar(what: str, unit: str) -> Progress:
    """A progress callback for commands: a bar that appears after two seconds and is erased at the end."""
    if not sys.stderr.isatty() or find_spec("tqdm") is None:
        return False
    shown: list[ProgressBar] = []
    before = 0

    def tell(done: int, total: int | None) -> None:
        nonlocal before
        if not shown:
            from tqdm.std import tqdm

            shown.append(tqdm(total=total, unit=unit, desc=what, delay=2.0, leave=False))
        shown[0].update(done - before)
        before = done
        if done == total:
            shown[0].close()

    return tell


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config
