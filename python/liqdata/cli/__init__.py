"""The command line of the package.

Exit codes: 0 success, 1 failure, 2 invalid usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from liqdata.cli.logs import log_to_stderr
from liqdata.errors import BadQuery, LiqdataError
from liqdata.text.printable import printable, shortened

from .encoding import with_fallback_encoding, with_open_outputs

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
        The command-line arguments; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit code.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    with with_open_outputs(), with_fallback_encoding(), log_to_stderr(given):
        return _run(given)


def _run(given: list[str]) -> int:
    try:
        import click
    except ModuleNotFoundError:
        return _complain(['the command line needs click: pip install "click>=8.1"'], FAILED)
    from .completion import VARIABLE, print_completions
    from .menu import Menu
    from .mistakes import Lacking, explain

    try:
        if asked := os.environ.get(VARIABLE):
            return print_completions(Menu(), asked)
        with Menu().make_context("liqdata", given) as context:
            context.command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.UsageError as error:
        code = _complain(explain(error), USAGE)
    except BrokenPipeError:
        # The reader closed the pipe. Redirect the output, so that flushing the rest of the buffer does not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except (LiqdataError, Lacking, OSError) as error:
        lines = [_file_problem(error) or str(error), *getattr(error, "__notes__", ())]
        code = _complain(lines, USAGE if isinstance(error, BadQuery) else FAILED)
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    else:
        code = DONE
    return code


def _file_problem(error: Exception) -> str | None:
    """Describe an operating-system error without its number: the file name and the reason."""
    if not isinstance(error, OSError) or isinstance(error, LiqdataError) or not error.strerror:
        return None
    named = isinstance(error.filename, str | bytes | os.PathLike)
    return f"{os.fsdecode(error.filename)}: {error.strerror}" if named else error.strerror


def _complain(lines: Iterable[str], code: int) -> int:
    # Messages may come from other libraries, so they are escaped and shortened.
    for place, line in enumerate(lines):
        print(f"{'  ' if place else 'liqdata: '}{printable(shortened(line))}", file=sys.stderr)
    return code
