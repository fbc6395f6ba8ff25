"""Questions as commands, made of the table of endpoints and of what the methods take beside it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from liqdata.endpoints.contract import endpoints

from . import source
from .asked import Asked, ask, beside
from .command import Command, Option, flag, option
from .mistakes import refuse
from .output import formats
from .source import told
from .words import Number, Text, Word, vocabulary

if TYPE_CHECKING:
    from liqdata.endpoints.contract import Parameter

__all__ = ["command", "one_symbol", "parameters"]

SECTION = "The question"

# What methods take beside the parameters of their endpoint.
BESIDE = {
    "as_of": ("WHEN", "As if it were then: nothing that was received later counts."),
    "start": ("WHEN", "Only from then on."),
    "end": ("WHEN", "Only before then."),
    "interval": ("SPAN", "Length of a bar, such as 15m, 4h or 1d; as they are where absent."),
    "range": ("RANGE", "Rolling window: 1h, 4h, 12h or 24h.  [default: 24h]"),
    "symbol": ("SYMBOL", "Coin or trading pair."),
    "coin": ("COIN", "Only this coin, in all its pairs."),
    "min_usd": ("USD", "Only orders of at least so many USD."),
    "kind": ("KIND", "heatmap, liqmap, levels or maxpain; all of them where absent."),
    "version": ("VERSION", "Only maps that this version of a model made."),
}
INSTANTS = "Instants are ISO 8601, such as 2026-06-11 or 2026-06-11T08:00Z, or epoch milliseconds; without a zone UTC."


def command(name: str, sentence: str) -> Command:
    """The command of a question.

    Parameters
    ----------
    name : str
        The endpoint's, or a market's method.
    sentence : str
        What it answers.
    """
    options = parameters(name)
    if name == "orders":
        options.append(
            flag("--all", "everything", help="All of them, walked through; not a page alone.", section=SECTION)
        )

    def run(**given: Any) -> None:
        _ask(name, given)

    made = Command(name.replace("_", "-"), sentence, run, [*options, *source.options(), *formats.options(name)])
    if {"as_of", "start", "end"} & {parameter.name for parameter in options}:
        made.epilog = INSTANTS
    return made


def parameters(name: str) -> list[click.Parameter]:
    """What a question takes: the parameters of its endpoint, and what its methods take beside them."""
    endpoint = endpoints().get(name)
    known = {} if endpoint is None else {parameter.name: parameter for parameter in endpoint.parameters}
    options: list[click.Parameter] = [_option(parameter) for parameter in known.values()]
    beside = [each for each in _takes(name) if each not in known]
    options += [_beside(each) for each in beside]
    if "symbol" in {*known, *beside}:
        options.insert(0, click.Argument(["in_place"], required=False, metavar="[SYMBOL]"))
        if "coin" not in {*known, *beside}:
            options.append(_beside("coin"))
    return options


def _takes(name: str) -> list[str]:
    """What the methods take, by name."""
    from liqdata import Market

    methods = {"orders": ("orders", "iter_orders"), "stream": ("stream_orders",)}.get(name, (name,))
    told = dict.fromkeys(each for method in methods for each in inspect.signature(getattr(Market, method)).parameters)
    return [each for each in told if each in BESIDE]


def _option(parameter: Parameter) -> Option:
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


def _beside(name: str) -> Option:
    metavar, meaning = BESIDE[name]
    return option(f"--{name.replace('_', '-')}", metavar=metavar, help=meaning, section=SECTION)


def _ask(name: str, given: dict[str, Any]) -> None:
    asked_of = source.taken(given)
    form = formats.taken(given)
    everything = given.pop("everything", False)
    arguments = {key: value for key, value in given.items() if value is not None}
    one_symbol(arguments)
    if "groups" in arguments:
        arguments["groups"] = arguments["groups"] == "1"
    asked = Asked(name, arguments, asked_of, form)
    _answer(asked, everything=everything)


def one_symbol(arguments: dict[str, Any]) -> None:
    """Make one symbol of what was given in place, by name and as a coin; several only if they are the same."""
    ways = {"in_place": "{!r}", "symbol": "--symbol {!r}", "coin": "--coin {!r}"}
    given = {way: arguments.pop(way) for way in ways if way in arguments}
    if len({text.upper() for text in given.values()}) > 1:
        told = " and ".join(ways[way].format(text) for way, text in given.items())
        refuse(f"symbol: {told} differ; allowed: one symbol, given either way", "symbol")
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
                "watch: a walk over all orders ends by itself; allowed: --watch without --all, --start and --end",
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
            formats.write(asked, found, told(of, asked.arguments.get("as_of")), of)
        beside(asked, of, found)
