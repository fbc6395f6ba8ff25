"""The commands ``serve`` and ``token``."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from liqdata.calls.progress import delayed_bar
from liqdata.cli.background_alerts import alerting
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.source import seed
from liqdata.cli.words import File, Number, OneOf, Place

from . import collection
from .alerts import ALERTS, alert_arguments, alert_options, rules_and_senders
from .serve_options import append_token, token
from .serve_options import options as served_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from liqdata.market import Market

__all__ = ["command", "serve_until_signal"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``serve`` or ``token``."""
    if name == "token":
        owner = click.Argument(["name"], required=False, default="", metavar="[NAME]")
        add = option(
            "--add", type=File(), metavar="FILE", help="Add the line of the token to the token file of the server."
        )
        made = Command(name, sentence, _token, [owner, add])
        made.epilog = (
            "NAME is the owner of the token; it is written after the digest. FILE is created if it is missing. It "
            "holds only digests, so the token itself is printed once."
        )
        return made
    return Command(name, sentence, _serve, _options())


def _options() -> list[click.Parameter]:
    """The options of ``serve``.

    The ``--config`` file can set options that the command line does not have.
    """
    return [
        click.Argument(["archive"], type=Place(), required=False, metavar="[DIR]"),
        flag("--demo", help="A simulated market."),
        flag("--live", help="The simulated market goes on from now, in real time."),
        flag("--open", default=None, help="Open the page in the browser."),
        flag("--no-page", "page", default=None, flag_value=False, help="Serve no page; / lists the endpoints."),
        seed(),
        flag("--collect", help="Collect into the archive at the same time, like the command collect."),
        *collection.options(),
        option(
            "--keep-maps",
            metavar="QUERY",
            multiple=True,
            help="Store the maps of a query that the server answers, such as 'heatmap?symbol=BTC&range=1d', or levels "
            "for all of them; repeatable.  [default: none]",
        ),
        option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]"),
        option(
            "--port",
            type=Number(int, "a whole number from 0 to 65535"),
            metavar="N",
            help="Port to listen on.  [default: 0, any free one]",
        ),
        option(
            "--log-format",
            type=OneOf(("text", "json")),
            metavar="text|json",
            default="text",
            help="Format of log records.  [default: text]",
        ),
        option(
            "--config",
            type=File(),
            metavar="FILE",
            help="TOML file with options; the command line takes precedence.",
        ),
        option(
            "--token-file",
            type=File(),
            metavar="FILE",
            help="File of accepted token digests, written by `liqdata token --add FILE`.",
        ),
        option(
            "--alert-symbol",
            metavar="COINS",
            help="Coins of the alerts, with commas between them.  [default: all]",
            section=ALERTS,
        ),
        *alert_options(),
        flag("--public", default=None, help="Answer every client without a token."),
        flag("--access-log", default=None, help="Log each answer on standard error."),
        option("--certificate", type=File(), metavar="FILE", help="Certificate chain in PEM; enables TLS."),
        option("--key", type=File(), metavar="FILE", help="Private key of the certificate in PEM."),
        *(
            option(f"--{name}", multiple=True, metavar=metavar, help=f"{meaning}; repeatable.")
            for name, metavar, meaning in (
                ("allow-host", "NAME", "Additional host name that the server accepts"),
                ("origin", "ORIGIN", "Origin allowed by CORS"),
                ("limit", "NAME=VALUE", "Limit of the load of the server or of one client"),
                ("trusted-proxy", "ADDRESS", "Proxy with a trusted X-Forwarded-For header"),
            )
        ),
    ]


def _serve(**given: Any) -> None:
    from liqdata import demo, open

    log: Callable[[str], None] = click.get_current_context().obj
    log(given.pop("log_format"))
    _check(given)
    archive = given["archive"]
    alerts = _alerts(given)
    served = served_options(given)  # refuse invalid options before the market opens
    if given["collect"]:
        from liqdata.cli.output.collect_screen import serve as collect_and_serve

        names = ("exchanges", "coins", "settings", "retention", "keep_maps")
        plan = collection.plan(*(given[name] for name in names))
        collect_and_serve(archive, **plan, positions=given["positions"], served=served, alerts=alerts)
        return
    if archive is None:
        from time import time

        now = int(time() * 1000) if given["live"] else None
        made = demo(seed=given["seed"] or 0, now=now, live=given["live"], progress=delayed_bar("demo", " bars"))
    else:
        made = open(archive)
    with made as market, alerting(market, alerts) as ending:
        what = "a simulated market" if archive is None else f"the archive {archive}"
        serve_until_signal(market, what, served, ending)


def _alerts(given: dict[str, Any]) -> dict[str, Any] | None:
    """Rules and senders of the watch that runs with the server; ``None`` without a receiver."""
    coins = given.pop("alert_symbol")
    found = alert_arguments(given)
    if "webhook" not in found and "command" not in found:
        if found or coins is not None:
            name = next(iter(found), "alert_symbol")
            refuse(f"{name.replace('_', '-')}: alerts have no receiver; add --webhook URL or --command PROGRAM", name)
        return None
    return rules_and_senders(found, None if coins is None else [coin.strip() for coin in coins.split(",")])


def serve_until_signal(
    market: Market, what: str, served: dict[str, Any], ending: threading.Event | None = None
) -> None:
    """Serve a market until SIGINT or SIGTERM, and print the address.

    Parameters
    ----------
    market : Market
        The market to serve.
    what : str
        A short description of the market.
    served : dict
        The arguments of :func:`liqdata.serve`.
    ending : threading.Event, optional
        Set when the server begins to close.
    """
    from liqdata import serve

    enough = threading.Event()
    # The handlers are set before the address is printed, so that no signal is lost. They are restored before the server
    # closes, so that a second Ctrl-C ends the process.
    before = {number: signal.signal(number, lambda *_: enough.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with serve(market, **served) as server:
            print(server.url, flush=True)
            print(f"{what}; Ctrl-C ends it", file=sys.stderr, flush=True)
            # The wait has a timeout, because a signal that another thread receives does not end the wait.
            while not enough.wait(0.1):
                pass
            if ending is not None:
                ending.set()
            for number, handler in before.items():
                signal.signal(number, handler)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check(given: dict[str, Any]) -> None:
    """Refuse invalid combinations, and options that have no effect."""
    archive = given["archive"]
    if archive is not None and given["demo"]:
        refuse("source: an archive and --demo are given; allowed: one of them", "source")
    if given["collect"] and isinstance(archive, str):
        refuse(f"--collect: {archive!r} is an address; allowed: the folder of an archive on this machine", "collect")
    if given["collect"] and archive is None:
        what = "a simulated market is not collected" if given["demo"] else "nothing to collect into"
        refuse(f"--collect: {what}; name the folder of an archive: liqdata serve DIR --collect", "collect")
    if archive is None and not given["demo"]:
        refuse("nothing to serve: name the folder of an archive, or give --demo for a simulated market", "archive")
    for name in ("positions", "exchanges", "coins", "settings", "retention", "keep_maps"):
        if given[name] and not given["collect"]:
            refuse(f"--{name.replace('_', '-')}: only for collecting; add --collect", name)
    if given["live"] and not given["demo"]:
        refuse("live: selects a simulated market; add --demo", "live")
    if given["seed"] is not None and not given["demo"]:
        refuse("seed: selects a simulated market; add --demo", "seed")


def _token(name: str, add: Path | None) -> None:
    made, line = token(name)
    if add is not None:
        append_token(add, line)
    print(made)
    if add is None:
        # The hint begins with a number sign: it is a comment if a user redirects both outputs into the token file.
        print(f"# the line for the server's --token-file, which --add FILE puts there:\n{line}", file=sys.stderr)
