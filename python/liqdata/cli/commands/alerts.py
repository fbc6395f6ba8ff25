"""The command ``watch``: print cascades live, and send alerts for large cascades."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from liqdata.alerts import Rule, Sender, watch
from liqdata.alerts.messages import FORMATS, words_of
from liqdata.cli import source
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.output import formats
from liqdata.cli.output.console import Console
from liqdata.cli.output.table import amount, cell
from liqdata.cli.question import one_symbol, parameters
from liqdata.cli.words import File, Number, OneOf
from liqdata.errors import BadQuery, NotCovered
from liqdata.files.safe_open import read_text
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

__all__ = ["alert_arguments", "alert_options", "command", "rules_and_senders"]

ALERTS = "Alerts"
_SHOWN_FROM = 100_000
"""Smallest cascade that is shown by default, in USD."""


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
        The given options, by name.
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
    return found


def rules_and_senders(
    given: dict[str, Any], symbol: str | list[str] | None, *, gap: Any = None, min_usd: Any = None
) -> dict[str, Any]:
    """Make rules and senders of the options about alerts; errors name the options.

    Parameters
    ----------
    given : dict
        What :func:`alert_arguments` returned.
    symbol : str or list of str, optional
        Coins of all rules.
    gap, min_usd
        Of the cascades to show.

    Returns
    -------
    dict
        Arguments of :func:`liqdata.alerts.watch`.
    """
    least = _SHOWN_FROM if min_usd is None else min_usd
    with _named(usd="alert_usd"):
        rules = [Rule("cascade", given.get("alert_usd", least), symbol=symbol, gap=gap, min_usd=least)]
    if "alert_order_usd" in given:
        with _named(usd="alert_order_usd"):
            rules.append(Rule("order", given["alert_order_usd"], symbol=symbol))
    if "alert_cluster_usd" in given:
        with _named(usd="alert_cluster_usd", distance="alert_distance"):
            usd, distance = given["alert_cluster_usd"], given.get("alert_distance")
            rules.append(Rule("cluster", usd, symbol=symbol, distance=distance))
    if "alert_coverage" in given:
        rules.append(Rule("coverage"))
    senders = []
    if "webhook" in given:
        with _named(format="webhook_format", secret="webhook_secret"):  # noqa: S106 - names of options
            address, secret = given["webhook"], given.get("webhook_secret")
            senders.append(Sender(webhook=address, format=given.get("webhook_format"), secret=secret))
    if "command" in given:
        senders.append(Sender(command=given["command"]))
    return {"rules": rules, "senders": senders}


@contextmanager
def _named(**options: str) -> Iterator[None]:
    """Replace the names of parameters in errors by those of options."""
    try:
        yield
    except BadQuery as error:
        name = options.get(str(error.parameter))
        if name is None:
            raise
        refuse(str(error).replace(str(error.parameter), name, 1), name)


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
    found = alert_arguments(given)
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    # Refuse invalid values before the source opens.
    alerts = rules_and_senders(found, **{name: arguments.pop(name, None) for name in ("symbol", "gap", "min_usd")})

    def show(event: dict[str, Any]) -> None:
        if as_json:
            console.show(formats.json_line(event))
        else:
            console.show(_line(event))

    def report(text: str) -> None:
        console.say(printable(text))

    console = Console()

    with warnings.catch_warnings(), asked_of.opened() as of:
        asked_of.warn_if_static()
        warnings.filterwarnings("once", category=NotCovered)
        warnings.showwarning = lambda message, *_: report(str(message))
        watch(of, show=show, report=report, most=most, after_poll=console.flush, **alerts, **arguments)
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
