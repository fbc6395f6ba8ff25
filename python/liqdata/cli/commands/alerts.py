"""The command ``watch``: print cascades live, and send alerts for large cascades."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from liqdata.cli import source
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.output import formats
from liqdata.cli.output.table import amount, cell
from liqdata.cli.question import one_symbol, parameters
from liqdata.cli.watch.cascade_watch import destinations, watch
from liqdata.cli.watch.console import Console
from liqdata.cli.watch.messages import FORMATS, format_of, words_of
from liqdata.cli.words import File, Number, OneOf
from liqdata.errors import NotCovered
from liqdata.files.safe_open import read_text
from liqdata.text.printable import printable

if TYPE_CHECKING:
    import click

__all__ = ["alert_arguments", "alert_options", "command"]

ALERTS = "Alerts"


def alert_options() -> list[click.Parameter]:
    """The options about alerts, of ``watch`` and ``serve``."""
    return [
        option("--alert-usd", metavar="USD", help="Smallest cascade that sends an alert.", section=ALERTS),
        option("--alert-order-usd", metavar="USD", help="Smallest order that sends an alert.", section=ALERTS),
        option(
            "--alert-cluster-usd",
            metavar="USD",
            help="Smallest cluster of the liquidation map that sends an alert when the price is near or goes through.",
            section=ALERTS,
        ),
        option(
            "--alert-distance",
            type=Number(float, "percent"),
            metavar="PERCENT",
            help="How near the price comes to a cluster.  [default: 1]",
            section=ALERTS,
        ),
        flag("--alert-coverage", help="Send an alert when coverage is lost.", section=ALERTS),
        option("--webhook", metavar="URL", help="Address to which each alert is posted.", section=ALERTS),
        option(
            "--webhook-format",
            type=OneOf(tuple(FORMATS)),
            metavar="|".join(FORMATS),
            help="Body to post.  [default: of the service at the address, else json]",
            section=ALERTS,
        ),
        option(
            "--webhook-secret",
            type=File(),
            metavar="FILE",
            help="Sign each body with the key in this file, in the header X-Liqdata-Signature.",
            section=ALERTS,
        ),
        option(
            "--command",
            metavar="PROGRAM",
            help="Program to run for each alert, without a shell: JSON on its input, variables such as LIQDATA_COIN.",
            section=ALERTS,
        ),
    ]


def alert_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options about alerts out of ``given``; refuse invalid receivers.

    Parameters
    ----------
    given : dict
        The options of a command.

    Returns
    -------
    dict
        Arguments of :func:`liqdata.cli.watch.cascade_watch.watch`.
    """
    names = [str(each.name) for each in alert_options()]
    found = {name: value for name in names if (value := given.pop(name)) not in (None, False)}
    if (secret := found.get("webhook_secret")) is not None:
        key = read_text(secret).strip().encode()
        if not key:
            refuse(f"webhook-secret: {secret} is empty; allowed: a file with a key", "webhook_secret")
        found["webhook_secret"] = key
    if "webhook" not in found and (lonely := [name for name in found if name.startswith("webhook_")]):
        refuse(f"{lonely[0].replace('_', '-')}: only for a webhook; add --webhook URL", lonely[0])
    address, _ = destinations(found.get("webhook"), found.get("command"))
    if address is not None:
        format_of(address, found.get("webhook_format"))
    return found


def command(name: str, sentence: str) -> Command:
    """Build the command ``watch``."""
    asked = [each for each in parameters("cascades") if each.name not in {"start", "end", "as_of", "coin"}]
    options: list[click.Parameter] = [
        *asked,
        option("--since", metavar="WHEN", help="Include events from this instant on.  [default: now]"),
        option("--every", type=Number(float, "seconds"), metavar="SECONDS", help="Time between polls.  [default: 1]"),
        option("--limit", type=Number(int, "a whole number from 1 on"), metavar="N", help="Stop after N lines."),
        *alert_options(),
        *source.options(),
        flag("--json", help="Print one JSON object per event, exact amounts as text.", section=formats.SECTION),
    ]
    return Command(name, sentence, _watch, options)


def _watch(**given: Any) -> None:
    asked_of = source.taken(given)
    as_json, most = given.pop("json"), given.pop("limit")
    if most is not None and most < 1:
        refuse(f"limit: {most} is not allowed; allowed: a whole number from 1 on", "limit")
    alerts = alert_arguments(given)  # refuse invalid values before the first poll
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)

    def show(event: dict[str, Any]) -> None:
        if as_json:
            console.show(formats.json_line(event))
        else:
            console.show(_line(event))

    def say(text: str) -> None:
        console.say(printable(text))

    console = Console()

    with warnings.catch_warnings(), asked_of.opened() as of:
        asked_of.warn_if_static()
        warnings.filterwarnings("once", category=NotCovered)
        warnings.showwarning = lambda message, *_: say(str(message))
        watch(of, show=show, say=say, most=most, after_poll=console.flush, **alerts, **arguments)
        console.flush(wait=True)


def _line(event: dict[str, Any]) -> str:
    """One line of the output: cascades in columns, other alerts as a sentence."""
    if event["alert"] != "cascade":
        return words_of(event)
    # The coin follows the columns of fixed width, because the name of a later coin may be longer.
    return printable(
        f"{cell('timestamp', event['start'])}  {event['side']:<5} {amount(event['usd']):>7}  {event['coin']}  "
        f"{event['cnt']} orders, {event['exchanges']} exchanges, {event['state']}"
    )
