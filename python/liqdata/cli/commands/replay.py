"""An archive told again: its orders as they arrive, or a server of the market in which they do."""

from __future__ import annotations

from typing import Any

import click

from liqdata.cli import source
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import refuse
from liqdata.cli.question import INSTANTS, one_symbol, parameters
from liqdata.cli.words import Number, Place

from .stream import Form, forms, limit

__all__ = ["command"]

# What is asked of a stream of orders; where it goes on is where the replay begins.
ASKED = frozenset({"symbol", "exchange", "min_usd", "coin"})


def command(name: str, sentence: str) -> Command:
    """The command ``replay``."""
    folder = click.Argument(["archive"], type=Place(), required=False, metavar="[DIR]")
    options: list[click.Parameter] = [
        folder,
        option("--start", metavar="WHEN", help="What was received by then is there at once.  [default: the first]"),
        option("--end", metavar="WHEN", help="What was received later does not arrive.  [default: the last]"),
        option(
            "--speed",
            type=Number(float, "a number above 0"),
            metavar="N",
            help="How many times as fast as here time passes.  [default: 60]",
        ),
        flag("--serve", help="Serve it behind the HTTP contract until Ctrl-C, and print no orders."),
        option("--host", metavar="ADDRESS", help="Address to listen on, with --serve.  [default: 127.0.0.1]"),
        option(
            "--port",
            type=Number(int, "a whole number from 0 to 65535"),
            metavar="N",
            help="Port to listen on, with --serve.  [default: 0, any free one]",
        ),
        *(each for each in parameters("stream") if each.name in ASKED),
        limit("orders"),
        *forms(),
    ]
    made = Command(name, sentence, _replay, options)
    made.epilog = INSTANTS
    return made


def _replay(**given: Any) -> None:
    from liqdata import replay

    if given["archive"] is None:
        refuse("archive: none is named; allowed: the folder of an archive on this machine", "archive")
    printing = ("symbol", "coin", "exchange", "min_usd", "limit", "json", "csv")
    serving = ("host", "port")
    for name in printing if given["serve"] else serving:
        if given[name]:
            how = "without" if given["serve"] else "with"
            refuse(f"{name}: is not asked here; allowed: {how} --serve", name)
    told = {name: given.pop(name) for name in ("start", "end", "speed")}
    made = replay(given.pop("archive"), **{name: value for name, value in told.items() if value is not None})
    host, port, serve = given.pop("host"), given.pop("port"), given.pop("serve")
    with made as market:
        if serve:
            from .serve import until_told

            until_told(market, "an archive told again", {"host": host or "127.0.0.1", "port": port or 0})
        else:
            _print(market, given)


def _print(market: Any, given: dict[str, Any]) -> None:
    """Print the orders as they arrive; the end is that of the replay."""
    form = Form.taken(given)
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    with market.stream_orders() as now:
        series, _, _ = (now.last_event_id or "").partition("-")
    # From its beginning, however much has arrived since.
    with market.stream_orders(**arguments, last_event_id=f"{series}-0") as stream:
        title = f"replay {arguments.get('symbol', '')}".rstrip()
        form.write(stream, "stream", (title, source.told(market, None), "as they arrive"))
