"""The command ``replay``: print or serve the orders of an archive as they arrive."""

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

# Filters of the order stream. `last_event_id` is not among them, because the stream starts with the replay.
FILTERS = frozenset({"symbol", "exchange", "min_usd", "coin"})


def command(name: str, sentence: str) -> Command:
    """Build the command ``replay``."""
    folder = click.Argument(["archive"], type=Place(), required=False, metavar="[DIR]")
    options: list[click.Parameter] = [
        folder,
        option(
            "--start", metavar="WHEN", help="Start; earlier data is available immediately.  [default: the first order]"
        ),
        option("--end", metavar="WHEN", help="End; later data does not arrive.  [default: the last order]"),
        option(
            "--speed",
            type=Number(float, "a number above 0"),
            metavar="N",
            help="Speed of the replay clock; 1 is real time.  [default: 60]",
        ),
        flag("--serve", help="Serve the replay over HTTP until Ctrl-C, and print no orders."),
        option("--host", metavar="ADDRESS", help="Address to listen on, with --serve.  [default: 127.0.0.1]"),
        option(
            "--port",
            type=Number(int, "a whole number from 0 to 65535"),
            metavar="N",
            help="Port to listen on, with --serve.  [default: 0, any free one]",
        ),
        *(each for each in parameters("stream") if each.name in FILTERS),
        limit("orders"),
        *forms(),
    ]
    made = Command(name, sentence, _replay, options)
    made.epilog = INSTANTS
    return made


def _replay(**given: Any) -> None:
    from liqdata import replay

    if given["archive"] is None:
        refuse("archive: missing; allowed: the folder of an archive on this machine", "archive")
    printing = ("symbol", "coin", "exchange", "min_usd", "limit", "json", "csv")
    serving = ("host", "port")
    for name in printing if given["serve"] else serving:
        if given[name]:
            how = "without" if given["serve"] else "with"
            refuse(f"{name}: has no effect; allowed: {how} --serve", name)
    chosen = {name: given.pop(name) for name in ("start", "end", "speed")}
    made = replay(given.pop("archive"), **{name: value for name, value in chosen.items() if value is not None})
    host, port, serve = given.pop("host"), given.pop("port"), given.pop("serve")
    with made as market:
        if serve:
            from .serve import serve_until_signal

            serve_until_signal(market, "replay of an archive", {"host": host or "127.0.0.1", "port": port or 0})
        else:
            _print(market, given)


def _print(market: Any, given: dict[str, Any]) -> None:
    """Print the orders as they arrive, until the replay ends."""
    form = Form.taken(given)
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    with market.stream_orders() as now:
        series, _, _ = (now.last_event_id or "").partition("-")
    # Start at the first order of the replay, even if some orders have arrived already.
    with market.stream_orders(**arguments, last_event_id=f"{series}-0") as stream:
        title = f"replay {arguments.get('symbol', '')}".rstrip()
        form.write(stream, "stream", (title, source.origin_of(market, None), "as they arrive"))
