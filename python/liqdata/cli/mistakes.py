"""Mistakes at the command line, told so that each leads back: what was meant, and where it is written."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NoReturn

import click

from liqdata.errors import BadQuery

__all__ = ["Lacking", "lacking", "nearest", "refuse", "told"]


# What the same thing is called elsewhere in the package, and more alike to other options than to what is meant.
_ELSEWHERE = {
    "--symbols": "--coins",
    "--exchange": "--exchanges",
    "--venues": "--exchanges",
    "--start": "--from",
    "--end": "--to",
    "--from": "--start",
    "--to": "--end",
}


class Lacking(Exception):
    """A library that an option needs is not installed."""


def lacking(option: str, library: str, extra: str) -> NoReturn:
    """Say what to install.

    Parameters
    ----------
    option : str
        What was asked for.
    library : str
        What it needs.
    extra : str
        The package's extra that brings it.
    """
    raise Lacking(f'{option} needs {library}: pip install "liqdata[{extra}]"')


def refuse(message: str, parameter: str) -> NoReturn:
    """Refuse a command before anything is asked."""
    raise BadQuery(message, parameter=parameter)


def nearest(word: str, known: list[str]) -> str:
    """Half a sentence with the known word that is nearest, or nothing."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def told(error: click.UsageError) -> list[str]:
    """What is wrong with a command, in a line, and where to look in another.

    Parameters
    ----------
    error : click.UsageError
        What the parser found.

    Returns
    -------
    list of str
    """
    context = error.ctx
    path = context.command_path if context is not None else "liqdata"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        options = _options(context)
        meant = _ELSEWHERE.get(error.option_name)
        hint = f"; did you mean {meant}?" if meant in options else nearest(error.option_name, options)
        if context is not None and isinstance(context.command, click.Group) and not hint:
            hint = "; the options of a command stand behind it, such as liqdata coins --demo"
        message = f"{error.option_name} is no option of {path}{hint}"
    elif isinstance(error, click.BadOptionUsage):
        message = f"{error.option_name} needs a value"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        message = f"{error.param.human_readable_name} is missing: {path} {_pieces(context)}"
    return [message, f"{path} --help tells what it takes"]


def _options(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    return [name for parameter in context.command.get_params(context) for name in parameter.opts if name[:1] == "-"]


def _pieces(context: click.Context | None) -> str:
    return "" if context is None else " ".join(context.command.collect_usage_pieces(context))
