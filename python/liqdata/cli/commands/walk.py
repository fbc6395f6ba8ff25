"""Walks over all orders: written as they come, in memory that does not grow."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from liqdata.calls.progress import bar
from liqdata.cli.asked import Asked, check
from liqdata.cli.mistakes import refuse
from liqdata.cli.output import formats
from liqdata.cli.output.lines import Lines
from liqdata.cli.source import told
from liqdata.endpoints.contract import endpoints
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from liqdata.types import OrderRow
    from liqdata.walk import OrderIterator

__all__ = ["write"]

AT_ONCE = 1024
"""Rows between two looks at the bar."""


def write(asked: Asked, of: Any, *, everything: bool) -> None:
    """Walk the orders and write them as they are wanted.

    Parameters
    ----------
    asked : Asked
        The question. Its ``limit`` is the most rows; of a walk over everything there is none unless it is given.
    of
        Who is asked.
    everything : bool
        Whether all of them are wanted, as they come; else they are an answer as any other.
    """
    arguments = dict(asked.arguments)
    if "offset" in arguments:
        refuse("offset: a walk begins at the newest order; leave it out, or --all, --start and --end", "offset")
    table = endpoints()["orders"]
    limit = next(each.default for each in table.parameters if each.name == "limit")
    most = arguments.pop("limit", None if everything else limit)
    check(of.iter_orders, asked._replace(arguments=arguments))
    form = asked.form
    to_file = everything and form.parquet is not None
    walk: OrderIterator = of.iter_orders(**arguments, max_rows=most, progress=to_file and _seen())
    if not everything:
        rows = walk._rest()  # noqa: SLF001 - the same rows without a frame library
        formats.write(asked, rows, told(of, arguments.get("as_of")), of)
    elif form.parquet is not None:
        walk.to_parquet(form.parquet)
        print(f"wrote {form.parquet}", file=sys.stderr)
    else:
        # A bar between rows on the same terminal would be read by nobody.
        _lines(asked, of, _counted(walk, most, shown=not sys.stdout.isatty()))
    _whole(walk)


def _whole(walk: OrderIterator) -> None:
    """End with 1 where not everything was given that was asked for, and say why."""
    if walk.complete is False:
        why = walk.meta.get("why", "the service has no more")
        print(f"liqdata: incomplete: {printable(str(why))}", file=sys.stderr)
        sys.stdout.flush()
        raise click.exceptions.Exit(1)


def _lines(asked: Asked, of: Any, rows: Iterator[OrderRow]) -> None:
    lines = Lines(endpoints()["orders"], asked.arguments)
    if asked.form.csv:
        formats.as_csv(lines.names, rows)
    elif asked.form.json:
        for row in rows:
            sys.stdout.write(json.dumps(row, default=formats.exact, allow_nan=False) + "\n")
    else:
        first = next(rows, None)
        lines.head(asked.title, told(of, asked.arguments.get("as_of")), "newest first")
        lines.write(() if first is None else chain((first,), rows))


def _seen() -> bool:
    """Whether somebody would see a bar."""
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def _counted(walk: Iterator[OrderRow], most: int | None, *, shown: bool) -> Iterator[OrderRow]:
    """The same rows, counted by a bar on standard error where that is a terminal."""
    progress = bar(wanted=shown and _seen(), total=most)
    try:
        while rows := list(islice(walk, AT_ONCE)):
            yield from rows
            progress.update(len(rows))
    finally:
        progress.close()
