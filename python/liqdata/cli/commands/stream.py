"""The orders as they arrive, or the cascades as they close, a line each."""

from __future__ import annotations

import json
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
    """The command ``stream``."""
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
    cascades = _events(given) == "cascades"
    arguments = _arguments(given, cascades=cascades)
    with asked_of.opened() as of, _begun(of, cascades=cascades)(**arguments) as stream:
        asked_of.say_of_standstill()
        what, note = ("cascades", "as they close") if cascades else ("stream", "as they arrive")
        title = f"{what} {arguments.get('symbol', '')}".rstrip()
        form.write(stream, "cascades" if cascades else "stream", (title, source.told(of, None), note))


class Form(NamedTuple):
    """How rows are wanted that come one by one, and how many of them."""

    json: bool
    csv: bool
    most: int | None

    @classmethod
    def taken(cls, given: dict[str, Any]) -> Form:
        """Take the options of :func:`forms` out of what was given."""
        form = cls(given.pop("json"), given.pop("csv"), given.pop("limit"))
        if form.json and form.csv:
            refuse("output: --json and --csv are given; allowed: one of them", "output")
        if form.most is not None and form.most < 1:
            refuse(f"limit: {form.most} is not allowed; allowed: a whole number from 1 on", "limit")
        return form

    def write(self, stream: Iterator[Any], name: str, head: tuple[str, source.Told, str]) -> None:
        """Write the rows of an endpoint as they come, below what stands above them."""
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
                sys.stdout.write(json.dumps(row, default=formats.exact, allow_nan=False) + "\n")
            elif self.csv:
                formats.as_csv(lines.names, (row,), header=False)
            else:
                lines.write((row,))
            # Whoever reads a pipe wants a row when it comes.
            sys.stdout.flush()


def limit(what: str) -> click.Parameter:
    """How many are wanted."""
    return option(
        "--limit",
        type=Number(int, "a whole number from 1 on"),
        metavar="N",
        help=f"End behind so many {what}.",
        section=SECTION,
    )


def forms() -> list[click.Parameter]:
    """How they are wanted."""
    return [
        flag("--json", help="Print JSON, a row a line, exact amounts as text.", section=formats.SECTION),
        flag("--csv", help="Print CSV.", section=formats.SECTION),
    ]


def _events(given: dict[str, Any]) -> str:
    """What is to be told of, taken out of what was given."""
    events, cascades = given.pop("events"), given.pop("cascades")
    if events not in {None, "orders", "cascades"}:
        refuse(f'events: {events!r} is not allowed; allowed: "orders" or "cascades"', "events")
    if cascades and events == "orders":
        refuse("events: --events orders and --cascades are given; allowed: one of them", "events")
    return "cascades" if cascades else events or "orders"


def _arguments(given: dict[str, Any], *, cascades: bool) -> dict[str, Any]:
    """What the stream is begun with."""
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    if "gap" in arguments and not cascades:
        refuse("gap: an order has none; allowed: with --cascades", "gap")
    if "exchange" in arguments and cascades:
        refuse("exchange: a cascade has orders of all exchanges; allowed: without --cascades", "exchange")
    return arguments


def _begun(of: Any, *, cascades: bool) -> Callable[..., Any]:
    """What begins the stream."""
    begun: Callable[..., Any] = of.stream_cascades if cascades else of.stream_orders
    return begun
