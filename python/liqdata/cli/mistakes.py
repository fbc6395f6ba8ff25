"""Error messages for wrong command lines, with suggestions."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NoReturn

import click

from liqdata.errors import BadQuery

__all__ = ["Lacking", "explain", "lacking", "nearest", "refuse"]


# Wrong names of options with the option that is meant; the most similar name would be a wrong suggestion.
_SYNONYMS = {
    "--symbols": "--coins",
    "--exchange": "--exchanges",
    "--venues": "--exchanges",
    "--start": "--from",
    "--end": "--to",
    "--from": "--start",
    "--to": "--end",
}


# Options that a query does not have although others of its kind do, and what it has instead.
_FIXED = {
    **dict.fromkeys(
        (("chart", "--range"), ("chart", "--start"), ("chart", "--end"), ("chart", "--interval")),
        "; chart has the last 24 hours by hour; other periods: liqdata history --start -7d --interval 4h --by side",
    ),
    **dict.fromkeys(
        (("levels", "--range"), ("maxpain", "--range")),
        "; it has fixed ranges; other ranges: liqdata liqmap --range 3d",
    ),
}


class Lacking(Exception):
    """A library that an option needs is not installed."""


def lacking(option: str, library: str, extra: str) -> NoReturn:
    """Raise :class:`Lacking` with the command that installs a library.

    Parameters
    ----------
    option : str
        The option that the user gave.
    library : str
        The library that it needs.
    extra : str
        The extra of the package that installs the library.
    """
    raise Lacking(f'{option} needs {library}: pip install "liqdata[{extra}]"')


def refuse(message: str, parameter: str) -> NoReturn:
    """Raise :class:`~liqdata.BadQuery` for a parameter."""
    raise BadQuery(message, parameter=parameter)


def nearest(word: str, known: list[str]) -> str:
    """A suggestion with the most similar known word; empty if no word is similar."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def explain(error: click.UsageError) -> list[str]:
    """Explain a usage error: a line with the problem, and a line that refers to ``--help``.

    Parameters
    ----------
    error : click.UsageError
        The error of the parser.

    Returns
    -------
    list of str
    """
    context = error.ctx
    path = context.command_path if context is not None else "liqdata"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        options = _options(context)
        meant = _SYNONYMS.get(error.option_name)
        command = "" if context is None else str(context.command.name)
        hint = f"; did you mean {meant}?" if meant in options else nearest(error.option_name, options)
        hint = _FIXED.get((command, error.option_name), hint)
        if context is not None and isinstance(context.command, click.Group) and not hint:
            hint = "; options follow the command, such as liqdata coins --demo"
        message = f"{error.option_name} is not an option of {path}{hint}"
    elif isinstance(error, click.BadOptionUsage):
        message = f"{error.option_name} needs a value"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        message = f"{error.param.human_readable_name} is missing: {path} {_pieces(context)}"
    return [message, f"{path} --help lists its options"]


def _options(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    return [name for parameter in context.command.get_params(context) for name in parameter.opts if name[:1] == "-"]


def _pieces(context: click.Context | None) -> str:
    return "" if context is None else " ".join(context.command.collect_usage_pieces(context))
