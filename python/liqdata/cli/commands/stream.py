"""The command ``stream``: print orders as they arrive, or cascades as they end."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.cli import source
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.output import formats
from liqdata.cli.output.lines import Lines
from liqdata.cli.question import SECTION, one_symbol, parameters
from liqdata.cli.words import Number
from liqdata.endpoints.contract import endpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

__all__ = ["Form", "command", "forms", "limit"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``stream``."""
    options: list[click.Parameter] = [
        *parameters(name),
        flag("--cascades", help="The same as --events cascades.", section=SECTION),
        limit("orders or cascades"),
        *source.options(),
        *forms(),
    ]
    return Command(name, sentence, _follow, options)


def _follow(**given: Any) -> None:
    asked_of = source.taken(given)
    form = Form.taken(given)
    cascades = _event_kind(given) == "cascades"
    arguments = _arguments(given, cascades=cascades)
    with asked_of.opened() as of, _stream_method(of, cascades=cascades)(**arguments) as stream:
        asked_of.warn_if_static()
        what, note = ("cascades", "as they close") if cascades else ("stream", "as they arrive")
        title = f"{what} {arguments.get('symbol', '')}".rstrip()
        form.write(stream, "cascades" if cascades else "stream", (title, source.origin_of(of, None), note))


class Form(NamedTuple):
    """Output format and row limit of a stream."""

    json: bool
    csv: bool
    most: int | None

    @classmethod
    def taken(cls, given: dict[str, Any]) -> Form:
        """Remove the options of :func:`forms` from ``given``."""
        form = cls(given.pop("json"), given.pop("csv"), given.pop("limit"))
        if form.json and form.csv:
            refuse("output: --json and --csv are given; allowed: one of them", "output")
        if form.most is not None and form.most < 1:
            refuse(f"limit: {form.most} is not allowed; allowed: a whole number from 1 on", "limit")
        return form

    def write(self, stream: Iterator[Any], name: str, head: tuple[str, source.Origin, str]) -> None:
        """Write the heading, then each row as it arrives."""
        endpoint = endpoints()[name]
        lines = Lines(endpoint)
        if self.csv:
            formats.as_csv(lines.names, ())
        elif not self.json:
            lines.head(*head)
            lines.write(())
        sys.stdout.flush()
        for row in islice(stream, self.most):
            if self.json:
                formats.as_json_line(row)
            elif self.csv:
                formats.as_csv(lines.names, (row,), header=False)
            else:
                lines.write((row,))
            # Flush after each row, so that the reader of a pipe receives it immediately.
            sys.stdout.flush()


def limit(what: str) -> click.Parameter:
    """The option ``--limit``."""
    return option(
        "--limit",
        type=Number(int, "a whole number from 1 on"),
        metavar="N",
        help=f"Stop after N {what}.",
        section=SECTION,
    )


def forms() -> list[click.Parameter]:
    """The options of the output format."""
    return [
        flag("--json", help="Print one JSON object per row, exact amounts as text.", section=formats.SECTION),
        flag("--csv", help="Print CSV; a text like a formula gets an apostrophe.", section=formats.SECTION),
    ]


def _event_kind(given: dict[str, Any]) -> str:
    """Remove the options that select orders or cascades, and return the selected kind."""
    events, cascades = given.pop("events"), given.pop("cascades")
    if events not in {None, "orders", "cascades"}:
        refuse(f'events: {events!r} is not allowed; allowed: "orders" or "cascades"', "events")
    if cascades and events == "orders":
        refuse("events: --events orders and --cascades are given; allowed: one of them", "events")
    return "cascades" if cascades else events or "orders"


def _arguments(given: dict[str, Any], *, cascades: bool) -> dict[str, Any]:
    """The arguments of the stream method."""
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    if "gap" in arguments and not cascades:
        refuse("gap: only for cascades; allowed: with --cascades", "gap")
    if "exchange" in arguments and cascades:
        refuse("exchange: a cascade covers all exchanges; allowed: without --cascades", "exchange")
    return arguments


def _stream_method(of: Any, *, cascades: bool) -> Callable[..., Any]:
    """The method that opens the stream."""
    begun: Callable[..., Any] = of.stream_cascades if cascades else of.stream_orders
    return begun
