"""Commands that each send one query; they are built from the table of endpoints."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from liqdata.endpoints.contract import endpoints

from . import source
from .asked import Asked, ask, print_caveats
from .command import Command, Option, flag, option
from .mistakes import refuse
from .output import formats
from .source import origin_of
from .words import Number, Text, Word, vocabulary

if TYPE_CHECKING:
    from liqdata.endpoints.contract import Parameter

__all__ = ["command", "one_symbol", "parameters"]

SECTION = "Query"

# Parameters of the Python methods that their endpoints do not have: the placeholder of the value, and the help text.
EXTRA = {
    "as_of": ("WHEN", "Point in time: use only data received up to this instant."),
    "start": ("WHEN", "Only from this instant on."),
    "end": ("WHEN", "Only before this instant."),
    "interval": ("SPAN", "Length of a bar, such as 15m, 4h or 1d.  [default: as stored]"),
    "range": ("RANGE", "Rolling window: 1h, 4h, 12h, 24h, 3d, 7d, 1M, 3M, 6M or 1y.  [default: 24h]"),
    "symbol": ("SYMBOL", "Coin or trading pair."),
    "coin": ("COIN", "Only this coin, in all its pairs."),
    "min_usd": ("USD", "Only orders of at least this many USD."),
    "kind": ("KIND", "heatmap, liqmap, levels or maxpain.  [default: all]"),
    "version": ("VERSION", "Only maps computed by this model version."),
}
_FLAGS = {
    "running": "Add the bar of the period that has not ended, if --interval is given.",
    "sparse": "Leave out periods without orders.",
}
INSTANTS = (
    "Instants are ISO 8601, such as 2026-06-11 or 2026-06-11T08:00Z, or epoch milliseconds; the default zone is UTC. "
    "--start and --end also take a time before now, such as -7d."
)


def command(name: str, sentence: str) -> Command:
    """Build the command of a query.

    Parameters
    ----------
    name : str
        Name of the endpoint, or of a method of :class:`~liqdata.Market`.
    sentence : str
        What the query returns.
    """
    options = parameters(name)
    if name == "orders":
        options.append(flag("--all", "everything", help="All orders instead of one page.", section=SECTION))

    def run(**given: Any) -> None:
        _ask(name, given)

    made = Command(name.replace("_", "-"), sentence, run, [*options, *source.options(), *formats.options(name)])
    if {"as_of", "start", "end"} & {parameter.name for parameter in options}:
        made.epilog = INSTANTS
    return made


def parameters(name: str) -> list[click.Parameter]:
    """The options of a query: the parameters of its endpoint, and further parameters of its Python methods."""
    endpoint = endpoints().get(name)
    known = {} if endpoint is None else {parameter.name: parameter for parameter in endpoint.parameters}
    options: list[click.Parameter] = [_option(parameter) for parameter in known.values()]
    extra = [each for each in _takes(name) if each not in known]
    options += [_extra_option(each) for each in extra]
    if "symbol" in {*known, *extra}:
        options.insert(0, click.Argument(["in_place"], required=False, metavar="[SYMBOL]"))
        if "coin" not in {*known, *extra}:
            options.append(_extra_option("coin"))
    return options


def _takes(name: str) -> list[str]:
    """The parameters in :data:`EXTRA` that the Python methods of a query have."""
    from liqdata import Market

    methods = {"orders": ("orders", "iter_orders"), "stream": ("stream_orders",)}.get(name, (name,))
    signatures = (inspect.signature(getattr(Market, method)) for method in methods)
    accepted = dict.fromkeys(each for signature in signatures for each in signature.parameters)
    return [each for each in accepted if each in EXTRA]


def _option(parameter: Parameter) -> Option:
    if parameter.name in _FLAGS:
        return flag(f"--{parameter.name}", help=_FLAGS[parameter.name], section=SECTION)
    allowed = vocabulary(parameter.allowed)
    kind: Word = {
        "int": Number(int, parameter.allowed, ("2", "3") if parameter.name == "model" else ()),
        "float": Number(float, parameter.allowed),
    }.get(parameter.type, Text(allowed))
    default = "" if parameter.default is None else f"  [default: {parameter.default}]"
    meaning = parameter.meaning
    return option(
        f"--{parameter.name.replace('_', '-')}",
        type=kind,
        metavar=parameter.name.upper(),
        help=f"{meaning[0].upper()}{meaning[1:]}.{default}",
        section=SECTION,
    )


def _extra_option(name: str) -> Option:
    metavar, meaning = EXTRA[name]
    return option(f"--{name.replace('_', '-')}", metavar=metavar, help=meaning, section=SECTION)


def _ask(name: str, given: dict[str, Any]) -> None:
    asked_of = source.taken(given)
    form = formats.taken(given)
    everything = given.pop("everything", False)
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    if name in {"levels", "maxpain"} and "," in arguments.get("symbol", ""):
        arguments["symbol"] = [each.strip() for each in arguments["symbol"].split(",")]
        if form.png is not None:
            refuse("png: a picture shows one symbol; allowed: one symbol, or without --png", "png")
    if "groups" in arguments:
        arguments["groups"] = arguments["groups"] == "1"
    asked = Asked(name, arguments, asked_of, form)
    _answer(asked, everything=everything)


def one_symbol(arguments: dict[str, Any]) -> None:
    """Merge the positional symbol, ``--symbol`` and ``--coin`` into one; refuse different values."""
    ways = {"in_place": "{!r}", "symbol": "--symbol {!r}", "coin": "--coin {!r}"}
    given = {way: arguments.pop(way) for way in ways if way in arguments}
    if len({text.upper() for text in given.values()}) > 1:
        named = " and ".join(ways[way].format(text) for way, text in given.items())
        refuse(f"symbol: {named} differ; allowed: one symbol, given either way", "symbol")
    if "coin" in given:
        from liqdata import _core

        arguments["symbol"] = _core.coin(given["coin"])
    elif given:
        arguments["symbol"] = next(iter(given.values()))


def _answer(asked: Asked, *, everything: bool) -> None:
    walked = {"start", "end"} & asked.arguments.keys() if asked.name == "orders" else set()
    if asked.form.watch is not None:
        from .commands import watch

        if everything or walked:
            refuse(
                "watch: a query for all orders runs once; allowed: --watch without --all, --start and --end",
                "watch",
            )
        watch.repeat(asked, asked.form.watch)
        return
    with asked.source.opened() as of:
        found = None
        if everything or walked:
            from .commands import walk

            walk.write(asked, of, everything=everything)
        else:
            found = ask(asked, of)
            formats.write(asked, found, origin_of(of, asked.arguments.get("as_of")), of)
        print_caveats(asked, of, found)
