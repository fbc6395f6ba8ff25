"""The orders as they arrive, a line each."""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from liqdata._table import endpoints

from . import formats, source
from .command import Command, flag, option
from .lines import Lines
from .mistakes import refuse
from .question import one_symbol, parameters
from .words import Number

if TYPE_CHECKING:
    import click

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """The command ``stream``."""
    options: list[click.Parameter] = [
        *parameters(name),
        option(
            "--limit",
            type=Number(int, "a whole number from 1 on"),
            metavar="N",
            help="End behind so many orders.",
            section="The question",
        ),
        *source.options(),
        flag("--json", help="Print JSON, an order a line, exact amounts as text.", section=formats.SECTION),
        flag("--csv", help="Print CSV.", section=formats.SECTION),
    ]
    return Command(name, sentence, _follow, options)


def _follow(**given: Any) -> None:
    asked_of = source.taken(given)
    as_json, as_csv, most = given.pop("json"), given.pop("csv"), given.pop("limit")
    if as_json and as_csv:
        refuse("output: --json and --csv are given; allowed: one of them", "output")
    if most is not None and most < 1:
        refuse(f"limit: {most} is not allowed; allowed: a whole number from 1 on", "limit")
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    columns = [column["name"] for column in endpoints()["stream"].columns]
    lines = Lines(endpoints()["stream"])
    with asked_of.opened() as of, of.stream_orders(**arguments) as stream:
        if asked_of.demo:
            print("simulated market: nothing arrives in it", file=sys.stderr)
        if as_csv:
            formats.as_csv(columns, ())
        elif not as_json:
            lines.head(f"stream {arguments.get('symbol', '')}".rstrip(), source.told(of, None), "as they arrive")
            lines.write(())
        sys.stdout.flush()
        for row in islice(stream, most):
            if as_json:
                sys.stdout.write(json.dumps(row, default=formats.exact, allow_nan=False) + "\n")
            elif as_csv:
                formats.as_csv(columns, (row,), header=False)
            else:
                lines.write((row,))
            # Whoever reads a pipe wants an order when it comes.
            sys.stdout.flush()
