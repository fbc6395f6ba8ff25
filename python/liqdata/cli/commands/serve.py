"""Serving, and the tokens that open a server, as commands."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from liqdata.calls.progress import delayed_bar
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.source import seed
from liqdata.cli.words import File, Number, OneOf, Place

from . import collection
from .serve_options import added, token
from .serve_options import options as served_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from liqdata.market import Market

__all__ = ["command", "until_told"]


def command(name: str, sentence: str) -> Command:
    """The commands ``serve`` and ``token``."""
    if name == "token":
        whose = click.Argument(["name"], required=False, default="", metavar="[NAME]")
        add = option("--add", type=File(), metavar="FILE", help="Add its line to the server's file.")
        made = Command(name, sentence, _token, [whose, add])
        made.epilog = (
            "NAME says whose it is; it is noted behind the digest. FILE is made where it is missing, and has digests "
            "alone: a token is printed once."
        )
        return made
    return Command(name, sentence, _serve, _options())


def _options() -> list[click.Parameter]:
    """Of a server; those that are left out come from its file."""
    return [
        click.Argument(["archive"], type=Place(), required=False, metavar="[DIR]"),
        flag("--demo", help="A simulated market."),
        seed(),
        flag("--collect", help="Fill the archive meanwhile, as the command collect does."),
        *collection.options(),
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
            help="How log records are written.  [default: text]",
        ),
        option("--config", type=File(), metavar="FILE", help="These options as TOML; the command line wins."),
        option(
            "--token-file",
            type=File(),
            metavar="FILE",
            help="Digests of the tokens that open it, as `liqdata token --add FILE` writes them.",
        ),
        flag("--public", default=None, help="Everybody who can reach it may ask, without a token."),
        flag("--access-log", default=None, help="Log each answer on standard error."),
        option("--certificate", type=File(), metavar="FILE", help="Certificate chain in PEM: speak TLS."),
        option("--key", type=File(), metavar="FILE", help="Its private key in PEM."),
        *(
            option(f"--{name}", multiple=True, metavar=metavar, help=f"{meaning}; again for more.")
            for name, metavar, meaning in (
                ("allow-host", "NAME", "A name it answers to beside its addresses"),
                ("origin", "ORIGIN", "An origin whose pages may read its answers"),
                ("limit", "NAME=VALUE", "What one client can cost the others"),
                ("trusted-proxy", "ADDRESS", "A proxy whose X-Forwarded-For counts"),
            )
        ),
    ]


def _serve(**given: Any) -> None:
    from liqdata import demo, open

    log: Callable[[str], None] = click.get_current_context().obj
    log(given.pop("log_format"))
    _check(given)
    archive = given["archive"]
    served = served_options(given)  # refused before a market is made
    if given["collect"]:
        from liqdata.cli.output.collect_screen import serve as collect_and_serve

        plan = collection.plan(*(given[name] for name in ("exchanges", "coins", "settings")))
        collect_and_serve(archive, **plan, positions=given["positions"], served=served)
        return
    made = demo(seed=given["seed"] or 0, progress=delayed_bar("demo", " bars")) if archive is None else open(archive)
    with made as market:
        until_told(market, "a simulated market" if archive is None else f"the archive {archive}", served)


def until_told(market: Market, what: str, served: dict[str, Any]) -> None:
    """Serve a market until Ctrl-C, and say where.

    Parameters
    ----------
    market : Market
        What is served.
    what : str
        What it is, in a few words.
    served : dict
        The arguments of :func:`liqdata.serve`.
    """
    from liqdata import serve

    enough = threading.Event()
    # Set before anything is announced, so that no signal falls between; put back for a second Ctrl-C while closing.
    before = {number: signal.signal(number, lambda *_: enough.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with serve(market, **served) as server:
            print(server.url, flush=True)
            print(f"{what}; Ctrl-C ends it", file=sys.stderr, flush=True)
            # A signal that the system hands to another thread wakes nobody here.
            while not enough.wait(0.1):
                pass
            for number, handler in before.items():
                signal.signal(number, handler)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check(given: dict[str, Any]) -> None:
    """Refuse what cannot be served, and options that would be passed over."""
    archive = given["archive"]
    if archive is not None and given["demo"]:
        refuse("source: an archive and --demo are given; allowed: one of them", "source")
    if given["collect"] and isinstance(archive, str):
        refuse(f"--collect: {archive!r} is an address; allowed: the folder of an archive on this machine", "collect")
    if given["collect"] and archive is None:
        what = "a simulated market is not collected" if given["demo"] else "nothing to collect into"
        refuse(f"--collect: {what}; name the folder of an archive: liqdata serve DIR --collect", "collect")
    if archive is None and not given["demo"]:
        refuse("nothing to serve: name the folder of an archive, or say --demo for a simulated market", "archive")
    for name in ("positions", "exchanges", "coins", "settings"):
        if given[name] and not given["collect"]:
            refuse(f"--{name}: says what to collect; say --collect, too", name)
    if given["seed"] is not None and not given["demo"]:
        refuse("seed: says which simulated market; say --demo, too", "seed")


def _token(name: str, add: Path | None) -> None:
    made, line = token(name)
    if add is not None:
        added(add, line)
    print(made)
    if add is None:
        # All of it may be put into the file: what is said is a remark there.
        print(f"# the line for the server's --token-file, which --add FILE puts there:\n{line}", file=sys.stderr)
