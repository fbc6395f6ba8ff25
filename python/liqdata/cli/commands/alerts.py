"""The command ``watch``: print cascades live, and send alerts for large cascades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liqdata.cli import source
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.output import formats
from liqdata.cli.output.table import amount, cell
from liqdata.cli.question import one_symbol, parameters
from liqdata.cli.watch.cascade_watch import destinations, watch
from liqdata.cli.watch.console import Console
from liqdata.cli.words import Number
from liqdata.text.printable import printable

if TYPE_CHECKING:
    import click

__all__ = ["command"]

ALERTS = "Alerts"


def command(name: str, sentence: str) -> Command:
    """Build the command ``watch``."""
    asked = [each for each in parameters("cascades") if each.name not in {"start", "end", "as_of", "coin"}]
    options: list[click.Parameter] = [
        *asked,
        option("--since", metavar="WHEN", help="Include events from this instant on.  [default: now]"),
        option("--every", type=Number(float, "seconds"), metavar="SECONDS", help="Time between polls.  [default: 1]"),
        option("--limit", type=Number(int, "a whole number from 1 on"), metavar="N", help="Stop after N lines."),
        option("--alert-usd", metavar="USD", help="Smallest event that sends an alert.", section=ALERTS),
        option("--webhook", metavar="URL", help="Post each alert there as JSON.", section=ALERTS),
        option(
            "--command",
            metavar="PROGRAM",
            help="Run it for each alert, without a shell: JSON on standard input, variables such as LIQDATA_COIN.",
            section=ALERTS,
        ),
        *source.options(),
        flag("--json", help="Print one JSON object per event, exact amounts as text.", section=formats.SECTION),
    ]
    return Command(name, sentence, _watch, options)


def _watch(**given: Any) -> None:
    asked_of = source.taken(given)
    as_json, most = given.pop("json"), given.pop("limit")
    if most is not None and most < 1:
        refuse(f"limit: {most} is not allowed; allowed: a whole number from 1 on", "limit")
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    destinations(arguments.get("webhook"), arguments.get("command"))  # refuse invalid values before the first poll

    def show(event: dict[str, Any]) -> None:
        if as_json:
            console.show(formats.json_line(event))
        else:
            # The coin follows the columns of fixed width, because the name of a later coin may be longer.
            line = (
                f"{cell('timestamp', event['start'])}  {event['side']:<5} {amount(event['usd']):>7}  {event['coin']}  "
                f"{event['cnt']} orders, {event['exchanges']} exchanges, {event['state']}"
            )
            console.show(printable(line))

    def say(text: str) -> None:
        console.say(printable(text))

    console = Console()

    with asked_of.opened() as of:
        asked_of.warn_if_static()
        watch(of, show=show, say=say, most=most, after_poll=console.flush, **arguments)
        console.flush(wait=True)
