"""A question asked again and again: in place on a terminal, one answer below the other elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from liqdata.errors import BadQuery, LiqdataError

from . import formats, layout, table
from .asked import Asked, ask, beside
from .source import told

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

__all__ = ["repeat"]


def repeat(asked: Asked, seconds: float) -> None:
    """Ask every so many seconds until Ctrl-C.

    An answer that fails is told and asked for again; a question outside the contract ends it.

    Parameters
    ----------
    asked : Asked
        The question.
    seconds : float
        From one question to the next.
    """
    window, show = _screen() if asked.form.table and sys.stdout.isatty() else (nullcontext(), None)
    with asked.source.opened() as of, window:
        first = True
        while True:
            began = time.monotonic()
            try:
                answer = ask(asked, of)
                where = told(of, asked.arguments.get("as_of"))
            except BadQuery:
                raise
            except (LiqdataError, OSError) as error:
                print(f"liqdata: {error}", file=sys.stderr, flush=True)
            else:
                if asked.form.json:
                    formats.as_json(formats.plain(answer))
                elif show is not None:
                    show(table.sheet(asked, answer, where))
                else:
                    layout.show(table.sheet(asked, answer, where))
                sys.stdout.flush()
                if first:
                    beside(asked, of)
                    first = False
            time.sleep(max(0.0, began + seconds - time.monotonic()))


def _screen() -> tuple[AbstractContextManager[object], Callable[[table.Sheet], None] | None]:
    """A place on the terminal that is drawn anew, where rich is installed."""
    try:
        import rich  # noqa: F401 - whether it is there
    except ModuleNotFoundError:
        return nullcontext(), None
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    live = Live(console=console, auto_refresh=False, vertical_overflow="ellipsis")

    def show(sheet: table.Sheet) -> None:
        live.update(layout.drawn(sheet, console.width), refresh=True)

    return live, show
