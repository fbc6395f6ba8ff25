"""Base classes of commands: options in sections, and names with dashes or underscores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Command", "Option", "flag", "option"]


class Option(click.Option):
    """An option, with the section of the help text in which it is listed."""

    def __init__(self, names: list[str], *, section: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.section = section


def option(*names: str, section: str = "Options", **settings: Any) -> Option:
    """Make an option with a value, which is ``None`` if the option is absent."""
    return Option(list(names), section=section, **settings)


def flag(*names: str, section: str = "Options", **settings: Any) -> Option:
    """Make an option without a value."""
    return Option(list(names), section=section, is_flag=True, **settings)


class Command(click.Command):
    """A command.

    Parameters
    ----------
    name : str
        Name of the command.
    sentence : str
        What the command does; begins with a lower-case letter and has no full stop.
    run : callable
        The function of the command; it is called with the values of all parameters as keyword arguments.
    parameters : iterable of click.Parameter
        Arguments and options.
    """

    def __init__(
        self, name: str, sentence: str, run: Callable[..., object], parameters: Iterable[click.Parameter]
    ) -> None:
        super().__init__(
            name,
            callback=run,
            params=list(parameters),
            help=f"{sentence[0].upper()}{sentence[1:]}.",
            short_help=sentence,
            # Click accepts surplus words, because `parse_args` of this class reports them.
            context_settings={"allow_extra_args": True, "token_normalize_func": dashed},
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the command; refuse surplus words."""
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            # Click's parser does not always set the context of its errors.
            error.ctx = error.ctx or ctx
            raise
        if rest and not ctx.resilient_parsing:
            # Do not show the words if there is a header: they may be parts of an unquoted header with a secret.
            shown = f"{len(rest)}" if ctx.params.get("header") else ", ".join(map(repr, rest))
            quoted = "; write a header as one word: --header 'Name: value'" if ctx.params.get("header") else ""
            if not quoted and (ctx.params.get("csv") or ctx.params.get("json")):
                quoted = "; --json and --csv print to standard output: append > FILE to the command"
            usage = " ".join(self.collect_usage_pieces(ctx))
            message = f"{ctx.command_path}: too many words: {shown}{quoted}; allowed: {ctx.command_path} {usage}"
            raise click.UsageError(message, ctx)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the help text, by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Help"), []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


def dashed(word: str) -> str:
    """Replace underscores by dashes: ``min_usd`` becomes ``min-usd``."""
    return word.replace("_", "-")
