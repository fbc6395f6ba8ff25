"""The command line, a thin face over the package.

Exit codes: 0 done, 1 no (or no good) answer, 2 a question outside the contract, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from liqdata.cli.logs import heard
from liqdata.errors import BadQuery, LiqdataError
from liqdata.text.printable import printable, shortened

from .encoding import encodable, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["main"]

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Its arguments; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    with opened(), encodable():
        return _run(given)


def _run(given: list[str]) -> int:
    try:
        import click
    except ModuleNotFoundError:
        return _complain(['the command line needs click: pip install "click>=8.1"'], FAILED)
    from .completion import VARIABLE, answered
    from .menu import Menu
    from .mistakes import Lacking, told

    try:
        if asked := os.environ.get(VARIABLE):
            return answered(Menu(), asked)
        with heard() as form, Menu().make_context("liqdata", given, obj=form) as context:
            context.command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.UsageError as error:
        code = _complain(told(error), USAGE)
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except (LiqdataError, Lacking, OSError) as error:
        lines = [_of_file(error) or str(error), *getattr(error, "__notes__", ())]
        code = _complain(lines, USAGE if isinstance(error, BadQuery) else FAILED)
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    else:
        code = DONE
    return code


def _of_file(error: Exception) -> str | None:
    """The name of a file and what is wrong with it, without the system's number for that."""
    if not isinstance(error, OSError) or isinstance(error, LiqdataError) or not error.strerror:
        return None
    named = isinstance(error.filename, str | bytes | os.PathLike)
    return f"{os.fsdecode(error.filename)}: {error.strerror}" if named else error.strerror


def _complain(lines: Iterable[str], code: int) -> int:
    # Errors of other libraries come here, too.
    for place, line in enumerate(lines):
        print(f"{'  ' if place else 'liqdata: '}{printable(shortened(line))}", file=sys.stderr)
    return code
