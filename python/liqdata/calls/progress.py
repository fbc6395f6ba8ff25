"""How far a long call is: a bar on a terminal or in a notebook, with tqdm, or a function of the caller that is told."""

from __future__ import annotations

import contextlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from liqdata.types import Progress


class Shown(Protocol):
    """What a long call tells of itself."""

    total: int | None

    def update(self, n: int) -> object:
        """Counts ``n`` more."""

    def close(self) -> object:
        """Ends the bar."""


class _Silent:
    total: int | None = None

    def update(self, n: int) -> None:
        """Counts nothing."""

    def close(self) -> None:
        """Ends nothing."""


class _Told:
    """Tells the caller's function how many are done, of how many."""

    def __init__(self, tell: Callable[[int, int | None], object], total: int | None) -> None:
        self._tell = tell
        self.total = total
        self._done = 0

    def update(self, n: int) -> None:
        """Counts ``n`` more."""
        self._done += n
        self._tell(self._done, self.total)

    def close(self) -> None:
        """Ends nothing."""


def checked_progress(progress: Progress) -> Progress:
    """What was given as ``progress``, where it can be checked_progress."""
    if isinstance(progress, bool) or callable(progress):
        return progress
    allowed = "True, False, or a function of how many are done and of how many"
    msg = f"progress: {progress!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter="progress")


def bar(*, wanted: Progress, total: int | None, what: str = "orders", unit: str = " rows") -> Shown:
    """A bar of what is done, the caller's own, or silence."""
    wanted = checked_progress(wanted)
    if not isinstance(wanted, bool):
        return _Told(wanted, total)
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
    disable = False if plain else None
    shown: Shown = tqdm(total=total, unit=unit, desc=what, disable=disable, miniters=0)
    return shown


@contextlib.contextmanager
def counting(wanted: Progress, what: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """What is told how many are done of how many, where somebody looks; the bar begins when the first are."""
    if checked_progress(wanted) is False:
        yield None
        return
    shown: list[Shown] = []
    before = whole = 0

    def seen(done: int, of: int) -> None:
        nonlocal before, whole
        whole = of or whole
        if not shown:
            shown.append(bar(wanted=wanted, total=of, what=what, unit=unit))
        # More may come to be done than was known.
        shown[0].total = whole
        if done > before:
            shown[0].update(done - before)
            before = done
        elif isinstance(wanted, bool):
            # Nothing more is done, and a bar shows that time goes on.
            shown[0].update(0)

    try:
        yield seen
        if shown:
            seen(whole, whole)
    finally:
        for one in shown:
            one.close()


def late(what: str, unit: str) -> Progress:
    """A bar on a terminal that begins where it takes longer than two seconds and is wiped away; for commands."""
    if not sys.stderr.isatty() or find_spec("tqdm") is None:
        return False
    shown: list[Shown] = []
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
    """Whether what runs here is shown by a notebook."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config
