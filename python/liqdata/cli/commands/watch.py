"""Repeats a query.

On a terminal the table is updated in place, elsewhere the answers are printed one after another.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from liqdata.cli.asked import ask, print_caveats
from liqdata.cli.output import formats, layout, table
from liqdata.cli.source import origin_of
from liqdata.errors import BadQuery, LiqdataError
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from liqdata.cli.asked import Asked

__all__ = ["repeat"]


def repeat(asked: Asked, seconds: float) -> None:
    """Send the query at an interval until Ctrl-C.

    After a failed query the error is shown and the query is sent again; an invalid query ends the loop.

    Parameters
    ----------
    asked : Asked
        The query.
    seconds : float
        Seconds from the start of a query to the start of the next one.
    """
    screen = _Screen() if asked.form.table and sys.stdout.isatty() and _has_rich() else None
    window: AbstractContextManager[object] = nullcontext() if screen is None else screen.live
    with asked.source.opened() as of, window:
        said = False
        while True:
            began = time.monotonic()
            try:
                answer = ask(asked, of)
                _show(asked, answer, of, screen)
                if not said:
                    print_caveats(asked, of, answer)
                    said = True
            except BadQuery:
                raise
            except BrokenPipeError:
                raise
            except (LiqdataError, OSError) as error:
                _complain(error, screen)
            time.sleep(max(0.0, began + seconds - time.monotonic()))


def _show(asked: Asked, answer: Any, of: Any, screen: _Screen | None) -> None:
    where = origin_of(of, asked.arguments.get("as_of"))
    if asked.form.json:
        formats.as_json(formats.plain(answer))
    elif screen is not None:
        screen.show(table.sheet(asked, answer, where))
    else:
        layout.show(table.sheet(asked, answer, where))
    sys.stdout.flush()


def _complain(error: Exception, screen: _Screen | None) -> None:
    message = printable(str(error))
    if screen is not None:
        screen.fail(f"no answer at {datetime.now(UTC):%H:%M:%S} UTC: {message}")
    else:
        print(f"liqdata: {message}", file=sys.stderr, flush=True)


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401 - import tests whether it is installed
    except ModuleNotFoundError:
        return False
    return True


class _Screen:
    """A live area of the terminal: the last answer, and below it the error if a later query failed."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._sheet: table.Sheet | None = None
        self.live = Live(console=self._console, auto_refresh=False, vertical_overflow="ellipsis")

    def show(self, sheet: table.Sheet) -> None:
        self._sheet = sheet
        self.live.update(layout.drawn(sheet, self._console.width), refresh=True)

    def fail(self, message: str) -> None:
        from rich.console import Group
        from rich.text import Text

        before = [] if self._sheet is None else [layout.drawn(self._sheet, self._console.width), Text()]
        self.live.update(Group(*before, Text(message, style="red")), refresh=True)
