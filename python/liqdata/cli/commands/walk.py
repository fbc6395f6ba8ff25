"""Write all orders of a query page by page, in constant memory."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from liqdata.calls.progress import bar
from liqdata.cli.asked import MORE, Asked, check
from liqdata.cli.mistakes import refuse
from liqdata.cli.output import formats
from liqdata.cli.output.lines import Lines
from liqdata.cli.source import origin_of
from liqdata.endpoints.contract import endpoints
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from liqdata.types import OrderRow
    from liqdata.walk import OrderIterator

__all__ = ["write"]

BATCH = 1024
"""Number of rows between two updates of the progress bar."""


def write(asked: Asked, of: Any, *, everything: bool) -> None:
    """Fetch the orders and write them in the output format.

    Parameters
    ----------
    asked : Asked
        The query. Its ``limit`` is the maximum number of rows; with ``everything`` there is no default limit.
    of
        The client or market that answers.
    everything : bool
        Whether to write the orders one by one as they arrive; otherwise they are written as one answer.
    """
    arguments = dict(asked.arguments)
    if "offset" in arguments:
        refuse("offset: not possible with --all, --start or --end; allowed: without them", "offset")
    table = endpoints()["orders"]
    limit = next(each.default for each in table.parameters if each.name == "limit")
    most = arguments.pop("limit", None if everything else limit)
    check(of.iter_orders, asked._replace(arguments=arguments))
    form = asked.form
    to_file = everything and form.parquet is not None
    # One more shows whether more match.
    asked_rows = most + 1 if most is not None and not everything else most
    walk: OrderIterator = of.iter_orders(**arguments, max_rows=asked_rows, progress=to_file and _shows_bar())
    if not everything:
        rows = walk._rest()  # noqa: SLF001 - the rows without a frame library
        formats.write(asked, rows[:most], origin_of(of, arguments.get("as_of")), of)
        if most is not None and len(rows) > most:
            print(MORE, file=sys.stderr)
    elif form.parquet is not None:
        walk.to_parquet(form.parquet)
        print(f"wrote {form.parquet}", file=sys.stderr)
    else:
        # No progress bar if the rows are printed to the same terminal.
        _lines(asked, of, _counted(walk, most, shown=not sys.stdout.isatty()))
    _exit_if_incomplete(walk)


def _exit_if_incomplete(walk: OrderIterator) -> None:
    """If orders are missing, print the reason and exit with code 1."""
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
            formats.as_json_line(row)
    else:
        first = next(rows, None)
        lines.head(asked.title, origin_of(of, asked.arguments.get("as_of")), "newest first")
        lines.write(() if first is None else chain((first,), rows))


def _shows_bar() -> bool:
    """Whether a progress bar can be shown."""
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def _counted(walk: Iterator[OrderRow], most: int | None, *, shown: bool) -> Iterator[OrderRow]:
    """Yield the rows; with ``shown`` count them on a progress bar."""
    progress = bar(wanted=shown and _shows_bar(), total=most)
    try:
        while rows := list(islice(walk, BATCH)):
            yield from rows
            progress.update(len(rows))
    finally:
        progress.close()
